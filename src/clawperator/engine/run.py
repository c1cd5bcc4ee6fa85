"""The engine: runs a validated execution on a phone and reports every step, whatever happens.

An action is a function of the scene and its parameters. It returns the data of its step or raises. A step
that raised ends the execution; one whose data holds ``error`` has failed too, but the next one runs. Either
way the steps before it stay in the result.
"""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from clawperator._deadline import Deadline
from clawperator.contract.execution import Action, Execution
from clawperator.contract.results import ResultEnvelope, StepResult, outcome_of
from clawperator.engine import apps, clicks, observe, reads, scrolls, text_entry, waits
from clawperator.engine.context import SaveScreenshot, Scene, StepData, failure, plain, sound
from clawperator.engine.driver import Clock, Driver
from clawperator.errors import ClawError

RUNNERS: Mapping[str, Callable[[Scene, Any], StepData]] = {
    "open_app": apps.open_app,
    "open_uri": apps.open_uri,
    "close_app": apps.close_app,
    "start_recording": observe.start_recording,
    "stop_recording": observe.stop_recording,
    "wait_for_node": waits.wait_for_node,
    "click": clicks.click,
    "scroll_and_click": scrolls.scroll_and_click,
    "scroll": scrolls.scroll,
    "scroll_until": scrolls.scroll_until,
    "read_text": reads.read_text,
    "enter_text": text_entry.enter_text,
    "snapshot_ui": observe.snapshot_ui,
    "take_screenshot": observe.take_screenshot,
    "sleep": waits.sleep,
    "press_key": apps.press_key,
    "wait_for_navigation": waits.wait_for_navigation,
    "read_key_value_pair": reads.read_key_value_pair,
}
WEB_SCHEMES = ("http", "https")


class Engine:
    """Runs executions on one phone, one at a time.

    ``random`` decides the jitter of pauses. ``save_screenshot`` takes the path that was asked for, if any,
    and the PNG, and gives the path it was written to; without it there are no screenshots. ``uri_schemes``
    may be opened beside http and https.
    """

    def __init__(
        self,
        driver: Driver,
        clock: Clock,
        *,
        random: Random | None = None,
        save_screenshot: SaveScreenshot | None = None,
        uri_schemes: tuple[str, ...] = (),
    ) -> None:
        self._driver = driver
        self._clock = clock
        self._random = random or Random()  # noqa: S311 - jitter, not a secret
        self._save_screenshot = save_screenshot
        self._uri_schemes = frozenset(scheme.lower() for scheme in (*WEB_SCHEMES, *uri_schemes))

    def run(self, execution: Execution) -> ResultEnvelope:
        """The outcome of every action up to the one that ended the execution. Never raises an ``Exception``."""
        deadline = Deadline(execution.timeoutMs / 1000, self._clock.monotonic)
        steps: list[StepResult] = []
        previous: str | None = None
        for action in execution.actions:
            scene = Scene(
                self._driver,
                self._clock,
                self._random,
                deadline,
                previous,
                self._save_screenshot,
                self._uri_schemes,
            )
            step, goes_on = _run_action(scene, action)
            steps.append(step)
            if not goes_on:
                break
            previous = action.type
        return _envelope(execution, steps)


def _run_action(scene: Scene, action: Action) -> tuple[StepResult, bool]:
    """The step, and whether the next action may run."""
    try:
        data = {name: sound(value) for name, value in _act(scene, action).items()}
    except ClawError as e:
        return StepResult(action.id, action.type, False, _failed(e)), False
    except Exception as e:  # noqa: BLE001 - a defect of a driver must not cost the steps before it
        unforeseen = ClawError("UNKNOWN", f"{type(e).__name__}: {e}")
        return StepResult(action.id, action.type, False, _failed(unforeseen)), False
    return StepResult(action.id, action.type, "error" not in data, data), True


def _act(scene: Scene, action: Action) -> StepData:
    if action.type not in RUNNERS:
        raise ClawError("EXECUTION_ACTION_UNSUPPORTED", f'there is no action type "{action.type}"')
    scene.hand()  # no action begins after the deadline
    return RUNNERS[action.type](scene, action.params)


def _failed(e: ClawError) -> StepData:
    """What a step that raised tells: code, message, hint, and the plain ones of the error's details."""
    data = failure(e.code, e.message, plain(e.details))
    if e.hint is not None:
        data["hint"] = sound(e.hint)
    return data


def _envelope(execution: Execution, steps: list[StepResult]) -> ResultEnvelope:
    outcome = outcome_of(steps)
    return ResultEnvelope(
        execution.commandId,
        execution.taskId,
        outcome.status,
        steps,
        outcome.error,
        outcome.errorCode,
        outcome.hint,
    )
