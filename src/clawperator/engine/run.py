"""The engine: runs a validated execution on a device and reports every step, whatever happens.

An action is a function of its context and parameters. It returns the data of its step or raises. A step that
raised ends the execution; one whose data has ``error`` failed too, but the next one runs. Earlier steps stay.
"""

from collections.abc import Callable, Mapping
from functools import partial
from random import Random
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from clawperator._base.deadline import Deadline
from clawperator._base.notes import trace
from clawperator.contract.action_params import Expectation
from clawperator.contract.actions import ACTIONS
from clawperator.contract.execution import Action, Execution
from clawperator.contract.results import DISPATCHED, ResultEnvelope, StepResult, outcome_of
from clawperator.contract.selectors import NodeSelector
from clawperator.engine import apps, clicks, gestures, observe, scrolls, text_entry, waits
from clawperator.engine.context import (
    ActionContext,
    ActionProgress,
    ExecutionProgress,
    SaveScreenshot,
    SecretSource,
    StepData,
    failure,
    string_details,
    unsupported,
    valid_text,
)
from clawperator.engine.driver import CaptureCost, Clock, Driver, UserControl
from clawperator.engine.waits import check_expectation
from clawperator.errors import ClawError
from clawperator.ui.node import Node

# Type checkers know this name; importing it from typing would cost every command some milliseconds.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from clawperator.engine.selection import ReferenceLookup

_MODULES = (apps, clicks, gestures, observe, scrolls, text_entry, waits)
Runner = Callable[[ActionContext, Any], StepData]
# The function that runs an action has its name.
RUNNERS: Mapping[str, Runner] = {
    name: getattr(module, name) for name in ACTIONS for module in _MODULES if hasattr(module, name)
}


class Engine:
    """Runs executions on one device, one at a time.

    ``random`` decides the jitter of delays. ``save_screenshot`` takes the requested path, if any, and the PNG, and
    returns the path it wrote; without it there are no screenshots. ``more_runners`` run actions that only this
    device has. ``references`` are those of the device; ``check_target`` raises when the policy denies an action on
    a node that only the host could choose; ``secrets`` reads texts that no document holds. With ``backtracking`` a
    validator may be a pattern that only a backtracking engine can run, as on a phone.
    """

    def __init__(  # noqa: PLR0913 - what one engine works with
        self,
        driver: Driver,
        clock: Clock,
        *,
        random: Random | None = None,
        save_screenshot: SaveScreenshot | None = None,
        more_runners: Mapping[str, Runner] | None = None,
        references: "ReferenceLookup | None" = None,
        check_target: Callable[[Action, Node], None] | None = None,
        secrets: SecretSource | None = None,
        backtracking: bool = False,
    ) -> None:
        self._runners = {**RUNNERS, **(more_runners or {})}
        self._check_target = check_target
        # That of each action has its own deadline and progress.
        self._context = ActionContext(
            driver,
            clock,
            random or Random(),  # noqa: S311 - jitter, not a secret
            Deadline(None),
            None,
            save_screenshot,
            ActionProgress(),
            references,
            secrets=secrets,
            backtracking=backtracking,
            has_slow_captures=isinstance(driver, CaptureCost) and driver.slow_captures,
        )

    def run(self, execution: Execution) -> ResultEnvelope:
        """Run the actions until one ends the execution. Never raises an ``Exception``."""
        deadline = Deadline(execution.timeoutMs / 1000, self._context.clock.monotonic)
        self._context = replace(self._context, execution=ExecutionProgress())
        steps: list[StepResult] = []
        previous: str | None = None
        for action in execution.actions:
            step, may_continue = self.run_action(action, deadline, previous)
            steps.append(step)
            if not may_continue:
                break
            previous = action.type
        end = outcome_of(steps)
        ids = execution.commandId, execution.taskId
        return ResultEnvelope(*ids, end.status, steps, end.error, end.errorCode, end.hint)

    def run_action(self, action: Action, deadline: Deadline, previous: str | None) -> tuple[StepResult, bool]:
        """Run one action. Returns its step, and whether the next action may run. Never raises an ``Exception``.

        ``deadline`` is that of the execution, ``previous`` the type of the action before.
        """
        context = self._context_of(action, deadline, previous, ActionProgress())
        began = context.clock.monotonic()
        step, may_continue = _run_action(context, action, self._runners)
        trace(f"engine: {action.type} {'done' if step.success else 'failed'} in {context.since_ms(began):.0f} ms")
        return step, may_continue

    def run_expectation(self, action: Action, step: StepResult, deadline: Deadline) -> tuple[StepResult, bool]:
        """Check what an action expects after its step, which succeeded elsewhere. Returns as ``run_action``."""
        context = self._context_of(action, deadline, action.type, ActionProgress(dispatched=True))
        return _run_action(context, action, {action.type: lambda _context, _params: step.data})

    def _context_of(
        self, action: Action, deadline: Deadline, previous: str | None, progress: ActionProgress
    ) -> ActionContext:
        return replace(
            self._context,
            deadline=deadline,
            previous=previous,
            progress=progress,
            check_target=None if self._check_target is None else partial(self._check_target, action),
            settle=getattr(action.params, "settle", False) is True,
        )


def _run_action(context: ActionContext, action: Action, runners: Mapping[str, Runner]) -> tuple[StepResult, bool]:
    """The step, and whether the next action may run."""
    try:
        data = {name: valid_text(value) for name, value in _act(context, action, runners).items()}
        expect = getattr(action.params, "expect", UNSET)
        if isinstance(expect, Expectation) and "error" not in data:
            data = check_expectation(context, expect, data)
    except ClawError as e:
        return _failed(context, action, _error_data(e)), False
    except Exception as e:  # noqa: BLE001 - a defect of a driver must not lose the earlier steps
        return _failed(context, action, _error_data(ClawError("UNKNOWN", f"{type(e).__name__}: {e}"))), False
    if "error" in data:
        return _failed(context, action, data), True
    return StepResult(action.id, action.type, True, data), True


def _failed(context: ActionContext, action: Action, data: StepData) -> StepResult:
    """A failed step, which reports whether the device accepted a part of it."""
    dispatched = {DISPATCHED: "true"} if context.progress.dispatched else {}
    return StepResult(action.id, action.type, False, {**data, **dispatched})


def _act(context: ActionContext, action: Action, runners: Mapping[str, Runner]) -> StepData:
    if action.type not in runners:
        raise ClawError("EXECUTION_ACTION_UNSUPPORTED", f"unknown action type {action.type!r}")
    context.driver_or_timeout()  # no action begins after the deadline
    _check_references(context, action)
    user = getattr(action.params, "user", UNSET)
    if user is UNSET:
        return runners[action.type](context, action.params)
    if not isinstance(context.driver, UserControl):
        raise unsupported("act for a user of the device")
    context.driver.choose_user(user)
    try:
        return runners[action.type](context, action.params)
    finally:
        context.driver.choose_user(None)


def _check_references(context: ActionContext, action: Action) -> None:
    """``REF_STALE`` at once for a reference that no capture could make valid."""
    for name in action.params.__struct_fields__:
        value = getattr(action.params, name)
        if context.references is not None and isinstance(value, NodeSelector) and isinstance(value.ref, str):
            context.references.lookup(value.ref)


def _error_data(e: ClawError) -> StepData:
    """The data of a step that raised: code, message, hint and the simple values of the error's details."""
    data = failure(e.code, e.message, string_details(e.details))
    if e.own_hint is not None:  # the host adds that of the code
        data["hint"] = valid_text(e.own_hint)
    return data
