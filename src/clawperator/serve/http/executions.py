"""Executions on devices: run a plan, answer with its envelope, publish both as events."""

from typing import Any

import msgspec
from msgspec import UNSET, Raw

from clawperator._base.secret_text import literal_pattern
from clawperator.agent.redaction import map_strings
from clawperator.agent.tools.plans import confine_plan
from clawperator.agent.tools.privacy import mask_steps, plan_secrets
from clawperator.contract.action_types import changes_device
from clawperator.contract.actions import ACTIONS
from clawperator.contract.execution import Plan, single_action, validate
from clawperator.contract.results import ExecutionResult, ResultEnvelope
from clawperator.device.discovery import resolve_device
from clawperator.device.run.run import run_plan
from clawperator.errors import ClawError
from clawperator.policy.gate import approve
from clawperator.serve.http.calls import HttpCall
from clawperator.serve.http.documents import (
    ExecuteRequest,
    OnDevice,
    RanExecution,
    RecordingRequest,
    ScreenshotRequest,
)
from clawperator.serve.http.errors import DeviceFailure, error_document
from clawperator.serve.http.sse import EXECUTION, RESULT
from clawperator.ui.node import HIDDEN

# A request that acts does not wait for a device in use. This is only for readers that hold its lease for a moment.
_LEASE_SECONDS = 0.05


def execute(request: ExecuteRequest, call: HttpCall) -> RanExecution:
    if request.execution is None:
        raise ClawError("MISSING_EXECUTION", "the body has no execution", operation="execute")
    return _run(request.execution, request, call)


def snapshot(request: OnDevice, call: HttpCall) -> RanExecution:
    return _run(single_action("snapshot_ui"), request, call)


def screenshot(request: ScreenshotRequest, call: HttpCall) -> RanExecution:
    params = {} if request.path is UNSET else {"path": request.path}
    return _run(single_action("take_screenshot", params), request, call)


def start_recording(request: RecordingRequest, call: HttpCall) -> RanExecution:
    return _run(single_action("start_recording", _session(request)), request, call)


def stop_recording(request: RecordingRequest, call: HttpCall) -> RanExecution:
    return _run(single_action("stop_recording", _session(request)), request, call)


def read_seconds(request: OnDevice) -> float | None:
    """How long an execution that only reads may wait for its turn: its own timeout. None when it acts."""
    try:
        plan = validate(request.execution if isinstance(request, ExecuteRequest) else single_action("snapshot_ui"))
    except ClawError:  # the call reports it
        return None
    if any(changes_device(action.type) for action in plan.execution.actions):
        return None
    return plan.execution.timeoutMs / 1000


def _session(request: RecordingRequest) -> dict[str, str]:
    return {} if request.sessionId is UNSET else {"sessionId": request.sessionId}


def _run(document: Any, request: OnDevice, call: HttpCall) -> RanExecution:
    """Run an execution. Its events are published before the response is sent."""
    options = call.access.options
    plan = confine_plan(validate(document), call.services.folder, "execute")
    named = call.serial(request.deviceId)
    try:
        device = resolve_device(named)
    except ClawError as e:
        if named is not None:
            _publish_failure(plan, e, named, call)
        raise
    left = None if call.turn is None else call.turn.within(plan.execution.timeoutMs / 1000)
    try:
        ran = run_plan(
            approve(plan),
            device,
            package=call.package(request.operatorPackage),
            backend=options.backend,
            allow_schemes=options.allow_schemes,
            stop=call.is_stopping,
            timeout_ms=None if left is None else left * 1000,
            lease_seconds=_LEASE_SECONDS if left is None else max(left, _LEASE_SECONDS),
        )
    except ClawError as e:
        _publish_failure(plan, e, device.serial, call)
        raise DeviceFailure(e, device.serial) from e
    _publish_result(plan, ran, call)
    return RanExecution(ran.envelope, device.serial, ran.backend, ran.operatorPackage)


def _publish_result(plan: Plan, ran: ExecutionResult, call: HttpCall) -> None:
    envelope, serial = ran.envelope, ran.deviceId
    secrets = _secrets(plan, envelope)
    if secrets:
        steps = mask_steps(envelope.stepResults, secrets)
        envelope = msgspec.structs.replace(envelope, stepResults=steps)
    encoded = Raw(msgspec.json.encode(envelope))  # an envelope may hold a whole screen: encode it once
    answer = {
        "ok": True,
        "envelope": encoded,
        "deviceId": serial,
        "backend": ran.backend,
        "terminalSource": "clawperator_result",
    }
    _publish(call, serial, _masked_input(plan, secrets), encoded, answer)


def _publish_failure(plan: Plan, error: ClawError, serial: str, call: HttpCall) -> None:
    secrets = _secrets(plan, None)
    envelope = ResultEnvelope(plan.execution.commandId, plan.execution.taskId, "failed", [], error.code)
    failure = _masked_error(error, serial, secrets)
    _publish(call, serial, _masked_input(plan, secrets), Raw(msgspec.json.encode(envelope)), failure)


def _publish(call: HttpCall, serial: str, document: dict[str, Any], envelope: Raw, result: Any) -> None:
    call.services.events.publish(
        {
            RESULT: {"deviceId": serial, "envelope": envelope},
            EXECUTION: {"deviceId": serial, "input": document, "result": result},
        }
    )


def _secrets(plan: Plan, envelope: ResultEnvelope | None) -> tuple[str, ...]:
    """Texts that may have gone into a password field: other clients must not see them."""
    if not any(ACTIONS[action.type].typed_param for action in plan.execution.actions):
        return ()
    return plan_secrets(plan, envelope, None)


def _masked_input(plan: Plan, secrets: tuple[str, ...]) -> dict[str, Any]:
    """The plan with dots in place of each secret text that it types."""
    if not secrets:
        return plan.document
    return {**plan.document, "actions": [_masked_action(action, secrets) for action in plan.document["actions"]]}


def _masked_action(action: dict[str, Any], secrets: tuple[str, ...]) -> dict[str, Any]:
    param = ACTIONS[action["type"]].typed_param
    params = action.get("params", {})
    if not param or params.get(param) not in secrets:
        return action
    return {**action, "params": {**params, param: HIDDEN}}


def _masked_error(error: ClawError, serial: str, secrets: tuple[str, ...]) -> dict[str, Any]:
    document = error_document(error, serial)
    pattern = literal_pattern(secrets)
    if pattern is None:
        return document
    masked: dict[str, Any] = map_strings(document, lambda text, name: pattern.sub(HIDDEN, text) if name else text)
    return masked
