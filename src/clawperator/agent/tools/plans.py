"""Carrying out the actions of a tool on the phone, and telling what came of them."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from clawperator.agent.cancellation import timeout_error
from clawperator.agent.ports import Evidence, ToolContext, ToolResult
from clawperator.agent.tools.messages import tell_plan
from clawperator.agent.tools.privacy import field_is_secret, secrets_of, steps_without, without_secrets
from clawperator.agent.tools.row import failed, inside
from clawperator.connection.results import only_step
from clawperator.contract.builders import LITERALS, Literals, waiting_timeout
from clawperator.contract.execution import Action, Plan, validate
from clawperator.contract.limits import EXPECTED_FORMAT, MAX_EXECUTION_TIMEOUT_MS, MIN_EXECUTION_TIMEOUT_MS
from clawperator.contract.results import ExecutionResult
from clawperator.device.adb.client import Device
from clawperator.device.discovery import resolve
from clawperator.device.run import operator_package, run_plan
from clawperator.errors import ClawError

_WORDS = Literals("", "claw-", "claw", 30_000, "a1")
_USUAL_MS: Mapping[str, int] = {words.action: words.timeout_ms for words in LITERALS.values()}
# What an action may wait for by itself.
_WAITS = ("timeoutMs", "durationMs", "maxDurationMs")
# With these the phone was never told what to do.
_NOT_BEGUN = ("EXECUTION_CONFLICT_IN_FLIGHT", "PRODUCT_HOME_UNAVAILABLE", "TURN_TIMEOUT")
# What helps when a step failed and says nothing about it.
_LOOK = "Run 'clawperator snapshot --device {serial}' to see what is on the screen."
_EXAMINE = "Run 'clawperator doctor --device {serial}' to see what is wrong with the phone."
_HINTS: Mapping[str, str] = {
    **dict.fromkeys(("NODE_NOT_FOUND", "NODE_NOT_CLICKABLE", "TARGET_NOT_FOUND", "TEXT_NOT_ACCEPTED"), _LOOK),
    **dict.fromkeys(("CONTAINER_NOT_FOUND", "CONTAINER_NOT_SCROLLABLE", "CONTAINER_LOST"), _LOOK),
    **dict.fromkeys(("VALUE_NODE_NOT_FOUND", "VALIDATOR_MISMATCH", "NAVIGATION_TIMEOUT"), _LOOK),
    **dict.fromkeys(("COMMAND_TIMEOUT", "URI_NOT_HANDLED", "GESTURE_FAILED"), _LOOK),
    "APP_NOT_FOUND": "Run 'clawperator packages list --device {serial}' for the apps there are.",
}


def carry_out(
    tool: str, actions: Sequence[Mapping[str, Any]], context: ToolContext, *, timeout_ms: int | float | None = None
) -> ToolResult:
    """Run these actions as one execution. It is handled when every step succeeded.

    What is wrong with them is raised before a phone is looked for. What goes wrong on the phone is the answer.
    """
    plan = make_plan(tool, actions, context.folder)
    device = resolve(context.device)
    known = None
    if tool == "enter_text":  # nobody can see afterwards what kind of field it was
        known = field_is_secret(plan.execution.actions[0], _look(device, context))
    try:
        result = _run(plan, device, context, timeout_ms)
    except ClawError as e:
        secrets = () if e.code in _NOT_BEGUN and not known else secrets_of(plan, None, known)
        done = steps_without(e.extra.get("stepResults", []), secrets)
        if not done:
            return failed(e, secrets=secrets)
        told = msgspec.to_builtins(done)  # what was done before it failed is done
        error = e.with_(extra={**e.extra, "stepResults": told})
        return failed(error, result={"stepResults": told, "deviceId": device.serial}, secrets=secrets)
    secrets = secrets_of(plan, result.envelope, known)
    return _told(plan, without_secrets(result, secrets), secrets)


def make_plan(tool: str, actions: Sequence[Mapping[str, Any]], folder: str) -> Plan:
    """The plan of these actions, valid, its files inside the folder."""
    command_id = _WORDS.command_id()
    document: dict[str, Any] = {
        "commandId": command_id,
        "taskId": command_id,
        "source": _WORDS.source,
        "expectedFormat": EXPECTED_FORMAT,
        "timeoutMs": _WORDS.timeout_ms,
        "actions": list(actions),
    }
    plan = validate(document)
    confined = [_confined(action, folder, tool) for action in plan.document["actions"]]
    if confined == plan.document["actions"]:
        return plan
    return validate({**plan.document, "actions": confined})


def _confined(action: dict[str, Any], folder: str, tool: str) -> dict[str, Any]:
    params = action.get("params", {})
    if action["type"] != "take_screenshot" or "path" not in params:
        return action
    return {**action, "params": {**params, "path": inside(folder, params["path"], tool)}}


def _look(device: Device, context: ToolContext) -> ExecutionResult:
    """The screen before something is typed."""
    return _run(make_plan("snapshot_ui", [{"id": "a1", "type": "snapshot_ui"}], context.folder), device, context)


def _run(
    plan: Plan, device: Device, context: ToolContext, timeout_ms: int | float | None = None
) -> ExecutionResult:
    """Run the plan for as long as it usually takes, or as there is time left."""
    context.deadline.check()
    limit = _usual_ms(plan.execution.actions) if timeout_ms is None else timeout_ms
    left = context.deadline.remaining
    if left is not None and left * 1000 < limit:
        limit = int(left * 1000)
        if limit < MIN_EXECUTION_TIMEOUT_MS:
            raise timeout_error(plan.execution.actions[0].type, device.serial)
    timed = Plan(replace(plan.execution, timeoutMs=limit), {**plan.document, "timeoutMs": limit})
    return run_plan(timed, device, package=operator_package(context.operator_package), backend=context.backend)


def _usual_ms(actions: Sequence[Action]) -> int | float:
    return min(sum(_usual_time(action) for action in actions), MAX_EXECUTION_TIMEOUT_MS)


def _usual_time(action: Action) -> int | float:
    waits = [value for name in _WAITS if isinstance(value := getattr(action.params, name, None), int | float)]
    usual = _USUAL_MS[action.type]
    return max(usual, waiting_timeout(max(waits))) if waits else usual


def _told(plan: Plan, result: ExecutionResult, secrets: tuple[str, ...]) -> ToolResult:
    document = msgspec.to_builtins(result)
    evidence = tuple(_evidence(plan, result, document))
    try:
        only_step(result.envelope, result.deviceId)
    except ClawError as e:
        hint = e.hint or _HINTS.get(e.code, _EXAMINE).format(serial=result.deviceId)
        return failed(e.with_(hint=hint), result=document, evidence=evidence, secrets=secrets)
    return ToolResult(
        handled=True,
        message=tell_plan(plan.execution.actions, result.envelope.stepResults, is_secret=bool(secrets)),
        result=document,
        evidence=evidence,
        secrets=secrets,
    )


def _evidence(plan: Plan, result: ExecutionResult, document: Any) -> list[Evidence]:
    steps = result.envelope.stepResults
    command, serial = result.envelope.commandId, result.deviceId
    pictures = [
        Evidence("screenshot", command, serial, path=step.data["path"])
        for step in steps
        if step.actionType == "take_screenshot" and step.success and "path" in step.data
    ]
    types = [action.type for action in plan.execution.actions]
    if types == ["take_screenshot"] and pictures:
        return pictures
    kind = "snapshot" if types == ["snapshot_ui"] and steps and steps[0].success else "execution"
    return [Evidence(kind, command, serial, document=document), *pictures]
