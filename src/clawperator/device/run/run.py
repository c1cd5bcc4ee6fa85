"""Run a plan on a device: take the lease, choose the backend, write the host log, finish the envelope."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from clawperator._base.deadline import Deadline, limited
from clawperator._base.home import has_config
from clawperator._base.notes import trace
from clawperator.contract.action_params import SESSION_ID, is_snapshot
from clawperator.contract.actions import ACTIONS
from clawperator.contract.commands import BackendName
from clawperator.contract.execution import Action, Plan, needs_host
from clawperator.contract.limits import HOST_GRACE_MS, MIN_EXECUTION_TIMEOUT_MS
from clawperator.contract.results import (
    ExecutionResult,
    ResultEnvelope,
    StepResult,
    outcome_of,
    snapshot_id,
    step_mismatch,
)
from clawperator.contract.selectors import NodeSelector
from clawperator.contract.wire import OPERATOR_PACKAGE
from clawperator.device.adb.client import Device, command_line, device_flag
from clawperator.device.backends.backend import Backend, RunWatch
from clawperator.device.run.host_log import Level, log_event
from clawperator.device.run.lease import Holder, lease
from clawperator.device.settings import OperatorChoice
from clawperator.errors import CODES, ClawError, default_hint
from clawperator.policy.gate import ApprovedPlan, policy_in_force

# Type checkers know this name; importing it from typing would cost every command some milliseconds.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from clawperator.device.run.references import References
    from clawperator.device.run.secrets import SecretReader
    from clawperator.ui.node import Node

# Failures caused by an active recording, and the purpose of stopping it.
_STOP_PURPOSE = {
    "RECORDING_ALREADY_IN_PROGRESS": "before starting a new recording",
    "RECORDING_NOT_IN_PROGRESS": "to stop that one",
}
_RECORDING_FIELDS = ("sessionId", "filePath")
_NOTICEABLE_SECONDS = 0.25
# How long before the host's end the device must end, so that its result still arrives.
_RESULT_SECONDS = 1.0


def run_plan(  # noqa: PLR0913 - the facts of one run
    approved: ApprovedPlan,
    device: Device,
    *,
    package: str | None,
    backend: BackendName | Backend = "auto",
    timeout_ms: float | None = None,
    stop: Callable[[], bool] | None = None,
    allow_schemes: tuple[str, ...] = (),
    lease_seconds: float | None = None,
) -> ExecutionResult:
    """Run a plan while holding the device's lease. The host log gets its ids and status, not its content.

    The host ends within the plan's timeout, or within ``timeout_ms`` when that is shorter, and a grace; waiting
    for the lease counts. ``lease_seconds`` is the longest wait for a busy device, by default all of that time.
    A plan that could run longer than the host is sent with a shorter timeout.
    When ``stop`` returns True, nothing more is sent to the device, and the result or error follows as soon as the
    backend can. ``still_running`` lists what the device has not finished.
    ``allow_schemes`` are the URI schemes that it may open besides http and https; nothing is sent when one of its
    URIs may not be opened, or when the device has no user that it names.
    Without a ``package``, ``auto`` is the Operator that is enabled on the device, or plain adb when none is.
    """
    plan = approved.plan
    if any(ACTIONS[action.type].uri_param for action in plan.execution.actions):
        from clawperator.device.uri_schemes import check_uri_schemes

        check_uri_schemes(plan, allow_schemes)
    _require_users(plan, device)
    asked, plan = plan, with_captures(plan)
    ids = {"commandId": plan.document["commandId"], "taskId": plan.document["taskId"], "deviceId": device.serial}
    log_event("execution.started", **ids)
    started = time.monotonic()
    seconds = min(plan.execution.timeoutMs, timeout_ms or plan.execution.timeoutMs) / 1000
    action, finished = _actions(plan), partial(_has_finished, device)
    wait = seconds if lease_seconds is None else min(seconds, lease_seconds)
    try:
        with (
            limited(seconds + HOST_GRACE_MS / 1000),
            lease(device.serial, ids["commandId"], wait, action=action, finished=finished, stop=stop) as held,
        ):
            waited = time.monotonic() - started
            timed = _with_time_left(plan, waited)
            name = backend if isinstance(backend, str) else _backend_name(backend)
            trace(f"lease of {device.serial} after {waited * 1000:.0f} ms; backend {name}")
            trace(f"run {ids['commandId']}: {action}, timeout {timed.execution.timeoutMs:g} ms")
            secrets = _secrets(plan, device)
            watch = RunWatch(stop, held, _references(plan, device), _target_check(plan), secrets)
            chosen = choose_backend(backend, device, package, watch)
            try:
                envelope = chosen.run(timed)
            except ClawError as e:
                raise e if secrets is None else secrets.mask_error(e) from e.__cause__
        if secrets is not None:
            envelope = secrets.mask(envelope)
        _check_steps(backend, plan, envelope, device)
    except ClawError as e:
        log_event("execution.failed", level="error", code=e.code, durationMs=_elapsed_ms(started), **ids)
        raise
    except KeyboardInterrupt:
        log_event("execution.interrupted", level="warn", durationMs=_elapsed_ms(started), **ids)
        raise
    ran_by, operator = _backend_name(chosen), _operator_of(chosen)
    viewed = add_views(asked, envelope, partial(_references_of, device.serial))
    envelope = reconcile(viewed, device.serial, package or operator or OPERATOR_PACKAGE)
    for step in envelope.stepResults:
        trace(f"step {step.id} ({step.actionType}): {'success' if step.success else step.data.get('error')}")
    if any(ACTIONS[action.type].family == "recording" for action in plan.execution.actions):
        from clawperator.device.run.secrets import note_recordings

        note_recordings(device.serial, envelope.stepResults)
    status, elapsed, code = envelope.status, _elapsed_ms(started), envelope.errorCode or None
    trace(f"{status} after {elapsed} ms by {ran_by}")
    level: Level = "info" if status == "success" else "warn"
    log_event("execution.finished", level=level, status=status, code=code, durationMs=elapsed, **ids)
    if package is not None or operator in (None, OPERATOR_PACKAGE):
        operator = None
    return ExecutionResult(envelope, device.serial, ran_by, operator or UNSET).with_code()


def _backend_name(backend: Backend) -> str:
    name: str = getattr(backend, "name", type(backend).__name__)
    return name


def _operator_of(backend: Backend) -> str | None:
    """The Operator that ran the plan, if one did."""
    choice = getattr(backend, "operator", None)
    return choice.package if isinstance(choice, OperatorChoice) else None


def _require_users(plan: Plan, device: Device) -> None:
    users = {getattr(action.params, "user", None) for action in plan.execution.actions}
    for user in users:
        if isinstance(user, int):
            from clawperator.device.users import require_user

            require_user(device, user)


def _secrets(plan: Plan, device: Device) -> "SecretReader | None":
    """The reader of secrets, when the plan has one or the user may have declared some.

    ``CONFIG_INVALID`` when it is not known which ones are declared.
    """
    actions = plan.execution.actions
    if all(getattr(action.params, "textFrom", UNSET) is UNSET for action in actions) and not has_config():
        return None
    from clawperator._base.secrets import declared_texts
    from clawperator.device.run.secrets import SecretReader, is_unmasked

    return SecretReader(device.serial, () if is_unmasked.get() else declared_texts())


def _references(plan: Plan, device: Device) -> "References | None":
    """The references of the device, when the plan has one or lists elements."""
    for action in plan.execution.actions:
        if action.type == "query" or any(isinstance(one.ref, str) for one in _selectors(action)):
            return _references_of(device.serial)
    return None


def _target_check(plan: Plan) -> "Callable[[Action, Node], None] | None":
    """The policy's check of nodes that the host chooses, when a policy is in force and the host chooses one."""
    if not policy_in_force() or not any(needs_host(action) for action in plan.execution.actions):
        return None
    from clawperator.engine.targets import check_target

    return check_target


def _selectors(action: Action) -> list[NodeSelector]:
    values = (getattr(action.params, name) for name in action.params.__struct_fields__)
    several = (value if isinstance(value, tuple) else (value,) for value in values)
    return [one for values in several for one in values if isinstance(one, NodeSelector)]


def _actions(plan: Plan) -> str:
    """The actions of a plan in a few words."""
    first, *others = (action.type for action in plan.execution.actions)
    return f"{first} and {len(others)} more" if others else first


def _has_finished(device: Device, holder: Holder, seconds: float) -> bool:
    from clawperator.device.backends.operator_link import has_finished

    return has_finished(device, holder, seconds)


def _with_time_left(plan: Plan, waited: float) -> Plan:
    """The plan with the rest of its time, and at most that of its command.

    The device must not run longer than the host. Only the shortest timeout of the contract may be longer.
    """
    given = plan.execution.timeoutMs / 1000
    seconds = min(given - waited, Deadline(None).within(float("inf")) - _RESULT_SECONDS)
    if given - seconds < _NOTICEABLE_SECONDS:
        return plan
    left = max(MIN_EXECUTION_TIMEOUT_MS, round(seconds * 1000))
    return Plan(replace(plan.execution, timeoutMs=left), {**plan.document, "timeoutMs": left})


def _check_steps(backend: BackendName | Backend, plan: Plan, envelope: ResultEnvelope, device: Device) -> None:
    """``RESULT_ENVELOPE_MALFORMED`` for a success without one step per action.

    Only for a backend that the caller passed in: the others check what the device answers.
    """
    if isinstance(backend, str) or envelope.status != "success":
        return
    problem = step_mismatch(envelope.stepResults, [(a.id, a.type) for a in plan.execution.actions])
    if problem is not None:
        raise ClawError(
            "RESULT_ENVELOPE_MALFORMED",
            f"the result of the execution is malformed: {problem}",
            hint="Run 'clawperator snapshot' before retrying: the plan may have run.",
            details={"commandId": plan.execution.commandId},
            operation="execute",
            target=device.serial,
            after_effect=True,
        )


def with_captures(plan: Plan) -> Plan:
    """The plan with the captures that marks on its screenshots need."""
    if not _has_marks(plan):
        return plan
    from clawperator.device.screen.marks import plan_with_captures

    return plan_with_captures(plan)


def add_views(plan: Plan, envelope: ResultEnvelope, references: "Callable[[], References]") -> ResultEnvelope:
    """The envelope with the id of each snapshot, and with the views and marks that the plan asks for."""
    steps = [_with_snapshot_id(step) for step in envelope.stepResults]
    if any(_has_view(action) for action in plan.document["actions"]):
        from clawperator.device.screen.snapshot_views import with_views

        steps = with_views(plan, steps, references())
    if _has_marks(plan):
        from clawperator.device.screen.marks import with_marks

        steps = with_marks(plan, steps, references())
    return replace(envelope, stepResults=steps)


def _references_of(serial: str) -> "References":
    from clawperator.device.run.references import References

    return References(serial)


def _has_marks(plan: Plan) -> bool:
    return any(action.get("params", {}).get("marks") for action in plan.document["actions"])


def _has_view(action: dict[str, Any]) -> bool:
    params = action.get("params", {})
    return any(name in params for name in ACTIONS[action["type"]].result_params)


def _with_snapshot_id(step: StepResult) -> StepResult:
    if not is_snapshot(step.actionType) or "text" not in step.data:
        return step
    return replace(step, data={**step.data, "snapshot_id": snapshot_id(step.data["text"])})


def _elapsed_ms(started: float) -> int:
    return round((time.monotonic() - started) * 1000)


def reconcile(envelope: ResultEnvelope, serial: str, package: str) -> ResultEnvelope:
    """The envelope with the outcome of its steps, and with hints that name this device."""
    steps = [_with_stop_command(step, serial, package) for step in envelope.stepResults]
    outcome = outcome_of(steps)
    if outcome.status == "failed" or envelope.status == "success":
        return replace(
            envelope,
            status=outcome.status,
            stepResults=steps,
            error=outcome.error,
            errorCode=outcome.errorCode,
            hint=_hint(outcome.hint, outcome.errorCode),
            **_recording_fields(steps, outcome.errorCode),
        )
    if envelope.errorCode == "SERVICE_UNAVAILABLE":
        command = f"clawperator doctor --fix {device_flag(serial)}"
        hint = f"Run '{command}' to turn the Operator's accessibility service on."
        return replace(envelope, hint=hint)
    return envelope


def _hint(hint: str | UnsetType, code: str | UnsetType) -> str | UnsetType:
    """The hint of the failed step, or else that of its code."""
    return default_hint(code) if hint is UNSET and isinstance(code, str) and code in CODES else hint


def _recording_fields(steps: list[StepResult], code: object) -> dict[str, str]:
    """Which recording is active, when the first failure was caused by it."""
    if code not in _STOP_PURPOSE:
        return {}
    data = next(step.data for step in steps if not step.success)
    return {name: data[name] for name in _RECORDING_FIELDS if name in data}


def _with_stop_command(step: StepResult, serial: str, package: str) -> StepResult:
    """A step that failed because of an active recording gets the command that stops it on this device."""
    purpose = _STOP_PURPOSE.get(step.data.get("error", "")) if not step.success else None
    session = step.data.get("sessionId", "")
    if purpose is None or not SESSION_ID.fullmatch(session):
        return step
    where = ("--device", serial, "--operator-package", package)
    command = command_line("clawperator", "recording", "stop", "--session-id", session, *where, "--json")
    return replace(step, data={**step.data, "hint": f"Run '{command}' {purpose}."})


def choose_backend(
    backend: BackendName | Backend, device: Device, package: str | None, watch: RunWatch | None = None
) -> Backend:
    """The backend of this name, or the given one.

    ``auto`` is the Operator ``package``; without a package, the enabled Operator or else plain adb.
    """
    if not isinstance(backend, str):
        return backend
    if backend == "adb":
        from clawperator.device.backends.adb import AdbBackend

        return AdbBackend(device, watch)
    if backend == "auto" and package is None:
        from clawperator.device.backends.operator import AutoBackend

        return AutoBackend(device, watch)
    from clawperator.device.backends.operator import OperatorBackend

    return OperatorBackend(device, package, watch)
