"""Executions on devices: run a plan, answer with its envelope, publish both as events."""

from typing import Any

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from clawperator._base.secrets import known_secrets
from clawperator.agent.tools.plans import confine_plan, naming_params, plan_secrets
from clawperator.contract.action_params import changes_device
from clawperator.contract.actions import ACTIONS
from clawperator.contract.execution import Plan, new_command_id, new_execution, single_action, validate
from clawperator.contract.results import ExecutionResult, ResultEnvelope
from clawperator.device.discovery import resolve_device
from clawperator.device.run.run import run_plan
from clawperator.device.run.secrets import mask_envelope
from clawperator.errors import ClawError
from clawperator.operations.hints import translate
from clawperator.operations.model import copied_fields
from clawperator.policy.gate import approve
from clawperator.serve.http.calls import HttpCall
from clawperator.serve.http.documents import ExecuteRequest, OnDevice, RanExecution
from clawperator.serve.http.errors import DeviceFailure, describe_request, error_document
from clawperator.serve.http.sse import EXECUTION, RESULT
from clawperator.ui.privacy import mask

# A request that acts does not wait for a device in use. This is only for readers that hold its lease for a moment.
_LEASE_SECONDS = 0.05
# Fields of an execution that has none.
_SOURCE, _DEFAULT_MS = "clawperator-http", 30_000


def execute(request: ExecuteRequest, call: HttpCall) -> RanExecution:
    if request.execution is None:
        raise ClawError("MISSING_EXECUTION", "the body has no execution", operation="execute")
    return _run(_completed(request.execution), request, call, whole=("exec", ""))


def _completed(document: Any) -> Any:
    """The execution with the fields that a client may leave out: all but its actions, and their ids."""
    if not isinstance(document, dict):
        return document  # which is refused
    given = document.get("actions")
    actions = given if isinstance(given, list) and all(isinstance(action, dict) for action in given) else None
    made = new_execution(
        actions or [],
        command_id=document.get("commandId", new_command_id("http-")),
        source=_SOURCE,
        timeout_ms=_DEFAULT_MS,
    )
    own = made.pop("actions")
    return {**made, **document} if actions is None else {**made, **document, "actions": own}


def action_request(name: str, action: str, **types: Any) -> type[Struct]:
    """The request of a route that runs one action: the device, its Operator and the parameters of the action.

    ``types`` are other types of parameters, whose errors have codes of their own.
    """
    fields = [
        (own, types.get(own, type_), default) for own, type_, default in copied_fields(ACTIONS[action].params)
    ]
    return msgspec.defstruct(name, fields, bases=(OnDevice,), frozen=True, kw_only=True, omit_defaults=True)


def run_action(action: str, request: OnDevice, call: HttpCall) -> RanExecution:
    try:
        return _run(_action_document(action, request), request, call)
    except ClawError as e:
        raise naming_params(e) from e.__cause__


def _action_document(action: str, request: OnDevice) -> dict[str, Any]:
    given: dict[str, Any] = msgspec.to_builtins(request)
    params = {name: value for name, value in given.items() if name not in OnDevice.__struct_fields__}
    return single_action(action, params or None)


def action_seconds(action: str, request: OnDevice) -> float | None:
    return _read_seconds(_action_document(action, request))


def execution_seconds(request: ExecuteRequest) -> float | None:
    return _read_seconds(_completed(request.execution))


def _read_seconds(document: Any) -> float | None:
    """How long an execution that only reads may wait for its turn: its own timeout. None when it acts."""
    try:
        plan = validate(document)
    except ClawError:  # the call reports it
        return None
    if any(changes_device(action.type) for action in plan.execution.actions):
        return None
    return plan.execution.timeoutMs / 1000


def _run(document: Any, request: OnDevice, call: HttpCall, whole: tuple[str, str] | None = None) -> RanExecution:
    """Run an execution. Its events are published before the response is sent."""
    options = call.access.options
    approved = approve(confine_plan(validate(document), call.services.folder, "execute"), whole=whole)
    plan = approved.plan
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
            approved,
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


def naming_requests(answer: RanExecution) -> RanExecution:
    """The answer of an execution with requests in its hints."""
    envelope = answer.envelope
    hint = translate(envelope.hint, describe_request) if isinstance(envelope.hint, str) else envelope.hint
    hints = [translate(step.data.get("hint", ""), describe_request) for step in envelope.stepResults]
    steps = [
        replace(step, data={**step.data, "hint": own}) if own else step
        for step, own in zip(envelope.stepResults, hints, strict=True)
    ]
    return replace(answer, envelope=replace(envelope, hint=hint, stepResults=steps))


def _publish_result(plan: Plan, ran: ExecutionResult, call: HttpCall) -> None:
    serial, secrets = ran.deviceId, _secrets(plan, ran.envelope)
    # An envelope may hold a whole screen: encode it once.
    encoded = Raw(msgspec.json.encode(mask_envelope(ran.envelope, secrets)))
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
    failure = mask(error_document(error, serial), secrets)
    _publish(call, serial, _masked_input(plan, secrets), Raw(msgspec.json.encode(envelope)), failure)


def _publish(call: HttpCall, serial: str, document: dict[str, Any], envelope: Raw, result: Any) -> None:
    execution = {"deviceId": serial, "input": document, "result": result}
    call.services.events.publish({RESULT: {"deviceId": serial, "envelope": envelope}, EXECUTION: execution})


def _secrets(plan: Plan, envelope: ResultEnvelope | None) -> tuple[str, ...]:
    """The declared secrets, and texts that may have gone into a password field: no other client may see them."""
    typed = plan_secrets(plan, envelope, None)
    return (*typed, *known_secrets())


def _masked_input(plan: Plan, secrets: tuple[str, ...]) -> dict[str, Any]:
    """The plan with dots for each secret in the parameters of its actions."""
    actions = [
        {**action, "params": mask(action["params"], secrets)} if "params" in action else action
        for action in plan.document["actions"]
    ]
    return {**plan.document, "actions": actions}
