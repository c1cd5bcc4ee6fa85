"""Run the actions of a tool as one execution, and report the result."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from clawperator.agent.cancellation import timeout_error
from clawperator.agent.confinement import WorkingFolder, confine
from clawperator.agent.ports import Evidence, ScreenView, ToolCall, ToolContext, ToolResult, failed_result
from clawperator.agent.tools.messages import describe_steps
from clawperator.api.results import only_step
from clawperator.contract.action_params import TextSource, is_snapshot
from clawperator.contract.actions import ACTION_ALIASES, ACTIONS, PARAM_ALIASES
from clawperator.contract.execution import Action, Plan, new_command_id, new_execution, validate, waiting_timeout
from clawperator.contract.limits import MAX_EXECUTION_TIMEOUT_MS, MIN_EXECUTION_TIMEOUT_MS
from clawperator.contract.results import ExecutionResult, ResultEnvelope, StepResult
from clawperator.contract.selectors import NodeSelector
from clawperator.device.adb.client import Device, device_flag
from clawperator.device.discovery import resolve_device
from clawperator.device.run.run import run_plan
from clawperator.device.run.secrets import is_declared, mask_envelope
from clawperator.device.settings import named_operator
from clawperator.errors import ClawError
from clawperator.policy.gate import ApprovedPlan, approve, check_actions
from clawperator.ui.node import HIDDEN
from clawperator.ui.privacy import mask

# The only action that types, by name and aliases, and the parameters that hold the text.
_TYPING = frozenset(name for row in ACTIONS.values() if row.typed_param for name in (row.name, *row.aliases))
_TYPED_PARAMS = {row.typed_param for row in ACTIONS.values() if row.typed_param}
_TEXT_FIELDS = (*_TYPED_PARAMS, *(alias for alias, name in PARAM_ALIASES.items() if name in _TYPED_PARAMS))


def mask_typed_text(call: ToolCall) -> dict[str, Any]:
    """The parameters to show and keep: typed text, which may be secret, is replaced by its length."""
    params = dict(call.params)
    if _types(call.name):
        return _masked(params)
    actions = params.get("actions")
    if isinstance(actions, list):
        params["actions"] = [_masked_action(action) for action in actions]
    return params


def typed_texts(call: ToolCall) -> list[str]:
    """The texts that a call types, alone or in a plan."""
    actions = call.params.get("actions")
    pairs: list[tuple[object, object]] = [(call.name, call.params)]
    if isinstance(actions, list):
        pairs += [(a.get("type"), a.get("params")) for a in actions if isinstance(a, dict)]
    typing = [params for name, params in pairs if _types(name) and isinstance(params, Mapping)]
    texts = [params.get(field) for params in typing for field in _TEXT_FIELDS]
    return [text for text in texts if isinstance(text, str) and text]


def _types(name: object) -> bool:
    return isinstance(name, str) and name.strip().casefold() in _TYPING


def _masked(params: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: f"({len(value)} characters)" if name in _TEXT_FIELDS and isinstance(value, str) else value
        for name, value in params.items()
    }


def _masked_action(action: Any) -> Any:
    params = action.get("params") if isinstance(action, dict) and _types(action.get("type")) else None
    return {**action, "params": _masked(params)} if isinstance(params, dict) else action


def is_password_field(action: Action, snapshot: ExecutionResult) -> bool | None:
    """Whether an ``enter_text`` targets a password field, by a snapshot; None when the field is not visible."""
    from clawperator.api.snapshot import read_snapshot
    from clawperator.engine.targets import nearest_self_or_ancestor
    from clawperator.ui.select import find_nodes

    step = next(iter(snapshot.envelope.stepResults), None)
    if step is None or not step.success:
        return None
    try:
        screen = read_snapshot(step)
        matcher = getattr(action.params, "matcher", UNSET)
        if matcher is UNSET:
            matcher = NodeSelector(role="textfield", focused=True)
        elif isinstance(matcher, NodeSelector) and isinstance(matcher.ref, str):
            return None  # only the references of the device know its field
        found = find_nodes(screen.hierarchy, matcher, screen.frame)
    except ClawError:
        return None
    if not found:
        return None
    return nearest_self_or_ancestor(found[0], lambda node: node.flag("password")) is not None


def plan_secrets(plan: Plan, envelope: ResultEnvelope | None, known: bool | None) -> tuple[str, ...]:  # noqa: FBT001 - the answer of is_password_field
    """The texts of a plan to mask. Without an envelope it is unknown how far the plan ran."""
    typed = [
        text
        for action in plan.execution.actions
        if (param := ACTIONS[action.type].typed_param)
        and isinstance(text := getattr(action.params, param), str)
        and text
        and (known or _may_be_secret(action.id, envelope, known))
    ]
    return tuple(dict.fromkeys(typed))


def _may_be_secret(action_id: str, envelope: ResultEnvelope | None, known: bool | None) -> bool:  # noqa: FBT001 - as above
    steps = [] if envelope is None else envelope.stepResults
    step = next((step for step in steps if step.id == action_id), None)
    if step is not None and step.data.get("text") == HIDDEN:
        return True
    if known is not None:
        return known
    # A field that was not found may be a password field, too. Our own Operator reports how it typed, and would
    # have reported dots.
    return step is None or not step.success or "dispatch_method" not in step.data


def mask_result(result: ExecutionResult, secrets: tuple[str, ...]) -> ExecutionResult:
    """The result with dots in place of each secret."""
    return replace(result, envelope=mask_envelope(result.envelope, secrets))


_SOURCE = "claw"
_DEFAULT_MS = 30_000
# The params that hold how long an action may wait.
_WAIT_PARAMS = ("timeoutMs", "durationMs", "maxDurationMs")
# The formats of views, and whether each is the whole screen.
_VIEWS = {"outline": True, "outline_changes": False}
# With these errors the execution never started.
_NOT_BEGUN = ("EXECUTION_CONFLICT_IN_FLIGHT", "PRODUCT_HOME_UNAVAILABLE", "TURN_TIMEOUT")
# Hints for failed steps that have none.
_SNAPSHOT = "Run 'clawperator snapshot {device}' to see the screen."
_DOCTOR = "Run 'clawperator doctor {device}' to check the device."
_HINTS: Mapping[str, str] = {
    **dict.fromkeys(("NODE_NOT_FOUND", "NODE_NOT_CLICKABLE", "TARGET_NOT_FOUND", "TEXT_NOT_ACCEPTED"), _SNAPSHOT),
    **dict.fromkeys(("CONTAINER_NOT_FOUND", "CONTAINER_NOT_SCROLLABLE", "CONTAINER_LOST"), _SNAPSHOT),
    **dict.fromkeys(("VALUE_NODE_NOT_FOUND", "VALIDATOR_MISMATCH", "NAVIGATION_TIMEOUT"), _SNAPSHOT),
    **dict.fromkeys(("COMMAND_TIMEOUT", "URI_NOT_HANDLED", "GESTURE_FAILED"), _SNAPSHOT),
    "APP_NOT_FOUND": "Run 'clawperator packages list {device}' for the installed apps.",
}


def run_actions(
    tool: str, actions: Sequence[Mapping[str, Any]], context: ToolContext, *, timeout_ms: int | float | None = None
) -> ToolResult:
    """Run actions as one execution; it is handled when every step succeeded.

    Invalid actions raise before a device is resolved. Errors on the device are part of the result.
    """
    whole = None if tool in ACTIONS else (tool, "")
    try:
        plan = make_plan(tool, actions, context.working_folder)
    except ClawError as e:
        names = (ACTION_ALIASES.get(name := action["type"].strip().lower(), name) for action in actions)
        known = [{**action, "type": name} for action, name in zip(actions, names, strict=True) if name in ACTIONS]
        check_actions(known, whole=whole)
        raise naming_params(e) if whole is None else e from None  # it is allowed, but invalid
    return run_approved(approve(plan, whole=whole), context, timeout_ms=timeout_ms)


def naming_params(error: ClawError) -> ClawError:
    """The error of an invalid action by the names of its parameters, without their place in an execution."""
    return error.with_(message=error.message.removeprefix("actions.0.params").removeprefix(".").removeprefix(": "))


def run_approved(
    approved: ApprovedPlan, context: ToolContext, *, timeout_ms: int | float | None = None
) -> ToolResult:
    """Run an approved plan. Errors on the device are part of the result."""
    plan = approved.plan
    first, *others = plan.execution.actions
    device = resolve_device(context.device)
    known = None
    if not others and ACTIONS[first.type].typed_param:  # afterwards the kind of field cannot be seen
        known = _is_password_field(first, device, context)
    try:
        result = _run(approved, device, context, timeout_ms)
    except ClawError as e:
        secrets = () if e.code in _NOT_BEGUN and not known else plan_secrets(plan, None, known)
        done = mask(e.extra.get("stepResults", []), secrets)
        if not done:
            return failed_result(e, secrets=secrets)
        steps = msgspec.to_builtins(done)
        error = e.with_(extra={**e.extra, "stepResults": steps})
        return failed_result(error, result={"stepResults": steps, "deviceId": device.serial}, secrets=secrets)
    secrets = plan_secrets(plan, result.envelope, known)
    report = _report(plan, mask_result(result, secrets), secrets)
    if context.observe is None:
        return report
    return replace(report, screen=_look(plan, result, device, context, secrets))


def _look(
    plan: Plan, result: ExecutionResult, device: Device, context: ToolContext, secrets: tuple[str, ...]
) -> ScreenView | None:
    """The screen after a plan: that of its last action, or of a snapshot now. None when there is none."""
    try:
        if not is_snapshot(plan.execution.actions[-1].type):
            result = _snapshot(device, context, context.observe)
        return read_view(mask_result(result, secrets).envelope.stepResults[-1])
    except ClawError:  # the action itself was done, or has an error of its own
        return None


def read_view(step: StepResult) -> ScreenView | None:
    """The view of a snapshot step; None for one that failed, and for XML."""
    form = step.data.get("actual_format", "")
    if not step.success or form not in _VIEWS:
        return None
    data = step.data
    return ScreenView(
        data.get("snapshot_id", ""), data.get("foreground_package"), data.get("text", ""), _VIEWS[form]
    )


def make_plan(tool: str, actions: Sequence[Mapping[str, Any]], folder: WorkingFolder) -> Plan:
    """The validated plan of these actions, with its files inside the folder."""
    command_id = new_command_id("claw-")
    document = new_execution(actions, command_id=command_id, source=_SOURCE, timeout_ms=_DEFAULT_MS)
    return confine_plan(validate(document), folder, tool)


def confine_plan(plan: Plan, folder: WorkingFolder, operation: str) -> Plan:
    """The plan with resolved paths inside the folder; ``PERMISSION_DENIED`` for any other path."""
    confined = [_confined(action, folder, operation) for action in plan.document["actions"]]
    if confined == plan.document["actions"]:
        return plan
    return validate({**plan.document, "actions": confined})


def _confined(action: dict[str, Any], folder: WorkingFolder, operation: str) -> dict[str, Any]:
    row, params = ACTIONS[action["type"]], dict(action.get("params", {}))
    if row.path_param in params:
        params[row.path_param] = confine(folder, params[row.path_param], operation, "write")
    if row.input_path_param in params:
        params[row.input_path_param] = confine(folder, params[row.input_path_param], operation, "read")
    if isinstance(source := params.get("textFrom"), dict) and "file" in source:
        params["textFrom"] = {**source, "file": _secret_file(folder, source["file"], operation)}
    return {**action, "params": params} if "params" in action else action


def _secret_file(folder: WorkingFolder, path: str, operation: str) -> str:
    """The path of a secret: a file that the user's settings name, or one inside the folder."""
    whole = os.path.join(folder.root, path)
    if "\0" not in path and is_declared(TextSource(file=whole)):
        return whole
    return confine(folder, path, operation, "read")


def _is_password_field(action: Action, device: Device, context: ToolContext) -> bool | None:
    """Whether the text goes into a password field; None when that cannot be seen, or may not be looked at."""
    try:
        return is_password_field(action, _snapshot(device, context))
    except ClawError as e:
        if e.code != "PERMISSION_DENIED":
            raise
        return None


def _snapshot(device: Device, context: ToolContext, params: Mapping[str, Any] | None = None) -> ExecutionResult:
    """The screen now."""
    action = {"type": "snapshot_ui", "params": params or {}}
    return _run(approve(make_plan("snapshot_ui", [action], context.working_folder)), device, context)


def _run(
    approved: ApprovedPlan, device: Device, context: ToolContext, timeout_ms: int | float | None = None
) -> ExecutionResult:
    """Run the plan with its usual timeout, or with the time that is left."""
    plan = approved.plan
    usual = min(sum(map(_usual_time, plan.execution.actions)), MAX_EXECUTION_TIMEOUT_MS)
    limit = usual if timeout_ms is None else timeout_ms
    left = context.deadline.remaining
    if left is not None and left * 1000 < limit:
        limit = int(left * 1000)
        if limit < MIN_EXECUTION_TIMEOUT_MS:
            raise timeout_error(plan.execution.actions[0].type, device.serial)
    context.deadline.check()
    return run_plan(
        approved.within(limit),
        device,
        package=named_operator(context.operator_package),
        backend=context.backend,
        stop=lambda: context.deadline.is_cancelled,
        allow_schemes=context.allow_schemes,
    )


def _usual_time(action: Action) -> int | float:
    waits = [
        value for name in _WAIT_PARAMS if isinstance(value := getattr(action.params, name, None), int | float)
    ]
    usual = ACTIONS[action.type].template.timeout_ms
    return max(usual, waiting_timeout(max(waits))) if waits else usual


def _report(plan: Plan, result: ExecutionResult, secrets: tuple[str, ...]) -> ToolResult:
    document = msgspec.to_builtins(result)
    evidence = tuple(_evidence(plan, result, document))
    try:
        only_step(result.envelope, result.deviceId)
    except ClawError as e:
        hint = e.own_hint or _HINTS.get(e.code, _DOCTOR).format(device=device_flag(result.deviceId))
        return failed_result(e.with_(hint=hint), result=document, evidence=evidence, secrets=secrets)
    return ToolResult(
        handled=True,
        message=describe_steps(plan.execution.actions, result.envelope.stepResults, is_secret=bool(secrets)),
        result=document,
        evidence=evidence,
        secrets=secrets,
    )


def _evidence(plan: Plan, result: ExecutionResult, document: Any) -> list[Evidence]:
    steps = result.envelope.stepResults
    command, serial = result.envelope.commandId, result.deviceId
    kinds = [ACTIONS[action.type].evidence for action in plan.execution.actions]
    screenshots = [
        Evidence("screenshot", command, serial, path=step.data["path"])
        for step in steps
        if step.actionType in ACTIONS and ACTIONS[step.actionType].evidence == "screenshot"
        if step.success and "path" in step.data
    ]
    if kinds == ["screenshot"] and screenshots:
        return screenshots
    kind = "snapshot" if kinds == ["snapshot"] and steps and steps[0].success else "execution"
    return [Evidence(kind, command, serial, document=document), *screenshots]
