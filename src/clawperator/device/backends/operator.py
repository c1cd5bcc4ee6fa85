"""The Operator backend: the Operator on the device runs the plan, the host runs what the Operator cannot.

A plan is sent in parts: each run of actions for the Operator is one delivery, and the host's actions run between
them, each in its place. The host runs its actions with its own engine, which reads the screen by the Operator.
"""

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from msgspec import UNSET
from msgspec.structs import replace

from clawperator._base.deadline import Deadline
from clawperator._base.notes import note
from clawperator.contract.action_params import UNSETTLED, is_snapshot, unsettles
from clawperator.contract.actions import ACTIONS
from clawperator.contract.execution import Action, Plan, needs_host, operator_action
from clawperator.contract.limits import MIN_EXECUTION_TIMEOUT_MS
from clawperator.contract.results import ResultEnvelope, StepResult, may_have_changed, outcome_of
from clawperator.contract.selectors import NodeSelector
from clawperator.contract.wire import TEXT_BYTES, TEXT_SUM
from clawperator.device.adb.client import Device
from clawperator.device.backends.backend import RunWatch, beyond_adb
from clawperator.device.backends.host_actions import run_host_action
from clawperator.device.backends.operator_link import (
    Delivered,
    deliver,
    known_code,
    operator_not_installed,
    plausible_text,
    verified_text,
)
from clawperator.device.settings import OperatorChoice, enabled_operator
from clawperator.errors import ClawError

if TYPE_CHECKING:
    from clawperator.device.backends.operator_driver import OperatorDriver
    from clawperator.engine.run import Engine


# A hierarchy that was lost is too large for the log from this size on. The smallest usual log has 256 KiB.
_LARGE_BYTES = 200_000
# The least time for a capture that only improves an error.
_CAPTURE_SECONDS = 1.0


class OperatorBackend:
    """Runs plans with an Operator on one device: the named one, or the one that is enabled on the device."""

    name = "operator"

    def __init__(self, device: Device, operator: str | None = None, watch: RunWatch | None = None) -> None:
        self._device = device
        self.operator = OperatorChoice(operator)
        self._watch = watch or RunWatch()

    def run(self, plan: Plan) -> ResultEnvelope:
        return OperatorRun(self._device, self.operator, plan, self._watch).run()


class OperatorRun:
    """One plan while it runs. ``steps`` are those that have ended."""

    def __init__(self, device: Device, operator: OperatorChoice, plan: Plan, watch: RunWatch) -> None:
        self._device = device
        self._operator = operator
        self._document = plan.document
        self._actions = plan.execution.actions
        self._watch = watch
        self._deadline = Deadline(plan.document["timeoutMs"] / 1000)
        self.steps: list[StepResult] = []
        self._deliveries = 0
        self._driver: OperatorDriver | None = None
        self._marker = "goes-on"
        while any(action.id == self._marker for action in self._actions):
            self._marker += "-"

    def run(self) -> ResultEnvelope:
        actions: list[dict[str, Any]] = self._document["actions"]
        on_host = [needs_host(action) for action in self._actions]
        at = 0
        last: ResultEnvelope | None = None
        while at < len(actions):
            self._watch.check_stop(after_effect=may_have_changed(self.steps))
            if on_host[at]:
                if not self._run_on_host(at):
                    break
                at += 1
                continue
            stop = self._end_of_part(at, on_host)
            last, may_continue = self._send(actions[at:stop], first=at == 0, more=stop < len(actions))
            if not may_continue or not self._meets_expectation(self._actions[stop - 1]):
                break
            at = stop
        self._warn_of_unsettled_snapshots(actions)
        self._name_near_matches()
        error = last.error if last is not None else None
        code = last.errorCode if last is not None else UNSET
        status = last.status if last is not None else "success"
        if any(not step.success for step in self.steps):
            status = "failed"
        ids = self._document["commandId"], self._document["taskId"]
        return ResultEnvelope(*ids, status, self.steps, error, code)

    def _end_of_part(self, at: int, on_host: list[bool]) -> int:
        """Where the part from ``at`` ends: before an action of the host, or after one with an expectation."""
        for i in range(at, len(self._actions)):
            if on_host[i]:
                return i
            if _expects(self._actions[i]):
                return i + 1
        return len(self._actions)

    def _meets_expectation(self, action: Action) -> bool:
        """Check what an action expects after its step. Returns whether the next action may run."""
        step = self.steps[-1] if self.steps else None
        if not _expects(action) or step is None or step.id != action.id or not step.success:
            return True
        checked, may_continue = self._host_engine().run_expectation(action, step, self._deadline)
        self._raise_link_error(checked)
        self.steps[-1] = checked
        return may_continue

    def _name_near_matches(self) -> None:
        """Add near matches to a last step that found no node, if the command has time for a capture.

        A search may have taken all the time of the plan; the time in which its result may arrive counts too.
        """
        if not self.steps or self.steps[-1].success:
            return
        from clawperator.device.backends.near_matches import is_failed_search, with_near_matches

        last = self.steps[-1]
        action = next((action for action in self._actions if action.id == last.id), None)
        has_time = Deadline(None).within(_CAPTURE_SECONDS) == _CAPTURE_SECONDS
        if action is None or not is_failed_search(last) or not has_time:
            return
        from clawperator.ui.parse import parse_hierarchy

        try:
            (snapshot,) = self._deliver_alone([{"id": "near", "type": "snapshot_ui", "params": {"retry": {}}}])
            screen = parse_hierarchy(snapshot.data["text"])
            self.steps[-1] = with_near_matches(last, action, screen, self._device.serial)
        except (ClawError, KeyError, ValueError):
            return  # the failure is reported as it is

    def _run_on_host(self, at: int) -> bool:
        """Run an action on the host, in its place. Returns whether the next action may run."""
        action = self._actions[at]
        if ACTIONS[action.type].without_screen:
            if _expects(action):
                self.require_operator()
            document = self._document
            self.steps.append(run_host_action(self._device, document["actions"][at], document["commandId"]))
            return self._meets_expectation(action)
        if not _looks_first(action):
            self.require_operator()
        # The action before matters only for a snapshot that does not wait: the Operator takes those.
        step, may_continue = self._host_engine().run_action(action, self._deadline, None)
        self._raise_link_error(step)
        self.steps.append(step)
        return may_continue

    def require_operator(self) -> None:
        """Before an action that touches the device by adb: the choice of an Operator must be certain."""
        choice = self._operator
        if choice.package is None and choice.may_be_absent:
            choice.package = enabled_operator(self._device)
            if choice.package is None:
                choice.is_absent = True
                raise self._with_steps(operator_not_installed(choice.name, self._device, variants=False))

    def _host_engine(self) -> "Engine":
        from clawperator.device.backends.adb import host_engine
        from clawperator.device.backends.operator_driver import OperatorDriver

        if self._driver is not None:
            self._driver.link_error = None
        else:
            self._driver = OperatorDriver(self._device, self._deliver_alone, self._deadline, self._watch)
        return host_engine(self._driver, self._watch, self._document["commandId"])

    def _raise_link_error(self, step: StepResult) -> None:
        """Raise the error of a delivery that made a step of the host's engine fail."""
        error = self._driver.link_error if self._driver is not None else None
        if error is not None and not step.success and step.data.get("error") == error.code:
            raise self._with_steps(error)

    def _deliver_alone(self, actions: list[dict[str, Any]]) -> list[StepResult]:
        """Deliver actions that the host runs for one of its own. The envelope's error becomes an exception."""
        document = self._part(actions)
        delivered = deliver(self._device, self._operator, document, lease=self._watch.lease)
        envelope = delivered.envelope
        if envelope.status == "failed" and not envelope.stepResults:
            code = known_code(envelope.errorCode)
            raise ClawError(code, envelope.error or "the Operator failed", operation="execute")
        return attach_hierarchies(delivered)

    def _part(self, actions: list[dict[str, Any]]) -> dict[str, Any]:
        """An execution of its own for a part of the plan, with the time that is left."""
        self._deliveries += 1
        left = round((self._deadline.remaining or 0) * 1000)
        return {
            **self._document,
            "actions": [operator_action(action) for action in actions],
            "commandId": f"{self._document['commandId'][:120]}.{self._deliveries}",
            "timeoutMs": max(MIN_EXECUTION_TIMEOUT_MS, left),
        }

    def _send(self, actions: list[dict[str, Any]], *, first: bool, more: bool) -> tuple[ResultEnvelope, bool]:
        """Deliver actions to the Operator. Also returns whether the remaining actions may run."""
        if more:
            # Only the Operator knows which failures end a plan: a marker step at the end shows that it went on.
            actions = [*actions, {"id": self._marker, "type": "sleep", "params": {"durationMs": 0}}]
        if more or not first:
            document = self._part(actions)
        else:
            document = {**self._document, "actions": [operator_action(action) for action in actions]}
        try:
            delivered = deliver(self._device, self._operator, document, lease=self._watch.lease)
        except ClawError as e:
            raise self._with_steps(e) from e.__cause__
        steps = attach_hierarchies(delivered)
        self.steps += [step for step in steps if not more or step.id != self._marker]
        return delivered.envelope, not more or any(step.id == self._marker and step.success for step in steps)

    def _with_steps(self, error: ClawError) -> ClawError:
        """The error with the steps before it, which have had their effect."""
        if not self.steps:
            return error
        changed = error.after_effect or may_have_changed(self.steps)
        return error.with_(extra={**error.extra, "stepResults": self.steps}, after_effect=changed)

    def _warn_of_unsettled_snapshots(self, actions: list[dict[str, Any]]) -> None:
        """A snapshot right after a click may show the screen before the click, unless it waited."""
        previous = {
            action["id"]: before["type"]
            for before, action in pairwise(actions)
            if not action.get("params", {}).get("settle")
        }
        for i, step in enumerate(self.steps):
            unsettled = unsettles(previous.get(step.id))
            if is_snapshot(step.actionType) and step.success and unsettled and "warn" not in step.data:
                self.steps[i] = replace(step, data={**step.data, "warn": UNSETTLED})


def _expects(action: Action) -> bool:
    return getattr(action.params, "expect", UNSET) is not UNSET


def _looks_first(action: Action) -> bool:
    """Whether an action begins with a capture of the screen."""
    if ACTIONS[action.type].read_only:
        return True
    values = (getattr(action.params, name) for name in action.params.__struct_fields__)
    return any(isinstance(value, NodeSelector) for value in values)


def attach_hierarchies(delivered: Delivered) -> list[StepResult]:
    """The steps, each successful snapshot with its hierarchy. A snapshot without one fails."""
    steps = list(delivered.envelope.stepResults)
    snapshots = [
        i for i, s in enumerate(steps) if is_snapshot(s.actionType) and s.success and "text" not in s.data
    ]
    # Without checksums, match hierarchies to snapshots from the end.
    by_position = dict(zip(reversed(snapshots), reversed(delivered.hierarchies), strict=False))
    for i in snapshots:
        data = dict(steps[i].data)
        size, checksum = data.pop(TEXT_BYTES, ""), data.pop(TEXT_SUM, "")
        if size.isdecimal() and checksum.isdecimal():
            verified = (verified_text(tree, (int(size), int(checksum))) for tree in delivered.hierarchies)
            text = next((found for found in verified if found is not None), None)
        else:
            text = plausible_text(by_position[i]) if i in by_position else None
            data["complete"] = "unverified"
        if text is None:
            seen = by_position[i].size if i in by_position else delivered.orphaned
            data.pop("complete", None)
            data |= _lost_hierarchy(max(int(size) if size.isdecimal() else 0, seen))
            steps[i] = replace(steps[i], success=False, data=data)
        else:
            steps[i] = replace(steps[i], data={**data, "text": text})
    return steps


def _lost_hierarchy(size: int) -> dict[str, str]:
    """The failure of a snapshot whose hierarchy of about this size did not arrive."""
    if size >= _LARGE_BYTES:
        return {
            "error": "SNAPSHOT_TOO_LARGE",
            "message": f"the hierarchy of this screen has about {size // 1000} kB, more than the device log holds",
            "hint": "Use the backend adb: run 'clawperator snapshot --backend adb'.",
        }
    message = "UI hierarchy extraction produced no output for this step. "
    message += "Check clawperator version compatibility and logcat extraction health."
    return {"error": "SNAPSHOT_EXTRACTION_FAILED", "message": message}


class AutoBackend:
    """Runs plans with the enabled Operator, or with plain adb."""

    def __init__(self, device: Device, watch: RunWatch | None = None) -> None:
        self._device = device
        self._watch = watch or RunWatch()
        self.operator = OperatorChoice(may_be_absent=True)

    @property
    def name(self) -> str:
        """The backend that ran the plan. Without a delivery the host did everything by adb."""
        return "adb" if self.operator.package is None else "operator"

    def run(self, plan: Plan) -> ResultEnvelope:
        run = OperatorRun(self._device, self.operator, plan, self._watch)
        refusal = beyond_adb(plan.execution.actions)
        try:
            if refusal is not None and needs_host(plan.execution.actions[0]):
                run.require_operator()
            envelope = run.run()
        except ClawError as e:
            if not self.operator.is_absent:
                raise
            return self._run_by_adb(plan, run, e, refusal)
        if self.operator.is_unusual:
            note(f"device {self._device.serial} has the Operator {self.operator.name} enabled; using it")
        return envelope

    def _run_by_adb(
        self, plan: Plan, run: OperatorRun, missing: ClawError, refusal: ClawError | None
    ) -> ResultEnvelope:
        """Run the actions that have not run yet. ``missing`` is the error of the Operator."""
        from clawperator.device.backends.adb import AdbBackend

        if refusal is not None:
            raise _refused(refusal, missing)
        note(f"no Operator is enabled on {self._device.serial}; using plain adb")
        done = list(run.steps)
        rest = plan.execution.actions[len(done) :]
        document = {**plan.document, "actions": plan.document["actions"][len(done) :]}
        envelope = AdbBackend(self._device, self._watch).run(Plan(replace(plan.execution, actions=rest), document))
        if not done:
            return envelope
        steps = [*done, *envelope.stepResults]
        outcome = outcome_of(steps)
        return replace(envelope, stepResults=steps, status=outcome.status)


def _refused(refusal: ClawError, missing: ClawError) -> ClawError:
    """The error of a plan that plain adb cannot run, on a device without an Operator."""
    details = {**(refusal.details or {}), **(missing.details or {})}
    return missing.with_(
        message=f"{refusal.message}, and {missing.message}",
        hint=f"Install an Operator with '{details['installCommand']}'.",
        details=details,
        operation="execute",
    )
