"""Results of the methods of a connected device, and the error of a failed step."""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from clawperator._base.text import one_line
from clawperator.contract.results import Effect, ResultEnvelope, StepResult, may_have_changed
from clawperator.errors import CODES, ClawError

T = TypeVar("T")

# What names the target of an action, best first.
_TARGET_NAMES = ("label", "resourceId", "package", "uri", "key", "class")
_EFFECTS: Mapping[str, Effect] = {"changed": "changed", "unchanged": "unchanged"}


class ActionResult(Struct, frozen=True, kw_only=True):
    """A completed action: its target, dispatch method and effect.

    Values that the device did not report are empty or 0, and the effect is ``unknown``. ``data`` is all step data.
    """

    effect: Effect
    matched_target: Mapping[str, str]
    candidate_count: int
    dispatch_method: str
    settled_ms: int
    data: Mapping[str, str]

    def __repr__(self) -> str:
        """The effect and the target, without all data."""
        target = next((self.matched_target[name] for name in _TARGET_NAMES if self.matched_target.get(name)), "")
        return f"<{type(self).__name__} {self._summary()}{f', {one_line(target, 60)!r}' if target else ''}>"

    def _summary(self) -> str:
        return self.effect


class Scrolled(ActionResult, frozen=True, kw_only=True):
    """A scroll: the reason it ended, and its number of swipes."""

    outcome: str
    scrolls: int

    def _summary(self) -> str:
        return f"{self.effect}, {one_line(self.outcome, 40)} after {self.scrolls}"

    @property
    def at_edge(self) -> bool:
        """Whether the end of the content was reached."""
        return self.outcome.lower() == "edge_reached"


class FoundNode(Struct, frozen=True):
    """The node that appeared."""

    resource_id: str
    label: str


class Arrived(Struct, frozen=True):
    """The screen that appeared: the package in front, if reported, and the time it took."""

    package: str | None
    elapsed_ms: int


class LabelValue(Struct, frozen=True):
    """A label and the value beside it."""

    label: str
    value: str


class Recorded(Struct, frozen=True):
    """A recording on the device. ``events`` is known when it is finished."""

    session_id: str
    file_path: str
    events: int | None = None


def action_result(step: StepResult) -> ActionResult:
    return ActionResult(**_evidence(step))


def read_scrolled(step: StepResult) -> Scrolled:
    data = step.data
    outcome = data.get("termination_reason") or data.get("scroll_outcome", "")
    swipes = read_count(data, "scrolls_executed") if "scrolls_executed" in data else 1
    return Scrolled(outcome=outcome, scrolls=swipes, **_evidence(step))


def recorded(step: StepResult) -> Recorded:
    events = read_count(step.data, "eventCount") if "eventCount" in step.data else None
    return Recorded(required_value(step, "sessionId"), step.data.get("filePath", ""), events)


def required_value(step: StepResult, name: str) -> str:
    """A value that a successful step must have; ``RESULT_ENVELOPE_MALFORMED`` without it."""
    if name not in step.data:
        raise _malformed(step, f"{name} is missing")
    return step.data[name]


def json_value(step: StepResult, name: str, kind: type[T]) -> T:
    """Like ``required_value``, for a JSON value."""
    try:
        return msgspec.json.decode(required_value(step, name), type=kind)
    except msgspec.DecodeError as e:
        raise _malformed(step, f"{name}: {e}") from e


def read_count(data: Mapping[str, str], name: str) -> int:
    """A count in a step's data; 0 when it is missing."""
    written = data.get(name, "")
    return int(written) if written.isascii() and written.isdecimal() and len(written) < 19 else 0


def only_step(envelope: ResultEnvelope, serial: str) -> StepResult:
    """The step of an execution with one action. Raises the error of a failed step."""
    failed = next((step for step in envelope.stepResults if not step.success), None)
    if failed is not None:
        raise _failure(failed, serial, after_effect=may_have_changed(envelope.stepResults))
    if envelope.status == "failed" or not envelope.stepResults:
        code = envelope.errorCode if isinstance(envelope.errorCode, str) else "UNKNOWN"
        raise ClawError(
            code if code in CODES else "UNKNOWN",
            envelope.error or "the result has no step",
            hint=envelope.hint if isinstance(envelope.hint, str) else None,
            details={"commandId": envelope.commandId, "errorCode": code},
            operation="execute",
            target=serial,
            # Without steps nothing is known of what ran, except that the service never did.
            after_effect=code != "SERVICE_UNAVAILABLE",
        )
    return envelope.stepResults[0]


def _failure(step: StepResult, serial: str, *, after_effect: bool) -> ClawError:
    """The error of a failed step. An unknown code becomes ``UNKNOWN``; the step in the details keeps it."""
    code = step.data.get("error", "UNKNOWN")
    known = code if code in CODES else "UNKNOWN"
    # The file, not the device, is what failed.
    path = step.data.get("path") if CODES[known].kind == "filesystem" else None
    return ClawError(
        known,
        step.data.get("message") or f"{step.actionType} failed: {code}",
        hint=step.data.get("hint"),
        details={"step": msgspec.to_builtins(step)},
        operation=step.actionType if path is None else "write",
        target=serial if path is None else path,
        after_effect=after_effect,
    )


def _malformed(step: StepResult, reason: str) -> ClawError:
    message = f"the result of {step.actionType} is malformed: {reason}"
    hint = "Run 'clawperator version --check-compat'."
    details = {"step": msgspec.to_builtins(step)}
    return ClawError("RESULT_ENVELOPE_MALFORMED", message, hint=hint, details=details, operation=step.actionType)


def _evidence(step: StepResult) -> dict[str, Any]:
    data = step.data
    try:
        target = msgspec.json.decode(data.get("matched_target", "{}"), type=dict[str, str])
    except msgspec.DecodeError:
        target = {}
    return {
        "effect": _EFFECTS.get(data.get("effect", ""), "unknown"),
        "matched_target": target,
        "candidate_count": read_count(data, "candidate_count"),
        "dispatch_method": data.get("dispatch_method", ""),
        "settled_ms": read_count(data, "settled_ms"),
        "data": data,
    }
