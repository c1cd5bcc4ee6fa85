"""What the methods of a connected phone give back, and the error a failed step becomes."""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from clawperator.contract.results import Effect, ResultEnvelope, StepResult
from clawperator.errors import CODES, ClawError

T = TypeVar("T")

_EFFECTS: Mapping[str, Effect] = {"changed": "changed", "unchanged": "unchanged"}


class Done(Struct, frozen=True, kw_only=True):
    """An action that was carried out: what it was aimed at, how it was done, and what came of it.

    What the phone did not tell is empty or 0, and its effect is ``unknown``. ``data`` is all the step told.
    """

    effect: Effect
    matched_target: Mapping[str, str]
    candidate_count: int
    dispatch_method: str
    settled_ms: int
    data: Mapping[str, str]


class Scrolled(Done, frozen=True, kw_only=True):
    """A scroll: why it ended, and how many swipes it took."""

    outcome: str
    scrolls: int

    @property
    def at_edge(self) -> bool:
        """Whether there was nothing more to scroll to."""
        return self.outcome.lower() == "edge_reached"


class Found(Struct, frozen=True):
    """A node that was waited for."""

    resource_id: str
    label: str


class Arrived(Struct, frozen=True):
    """A screen that was waited for: the app in front, if the phone told, and how long it took."""

    package: str | None
    elapsed_ms: int


class Pair(Struct, frozen=True):
    """A label and the value beside it."""

    label: str
    value: str


class Recorded(Struct, frozen=True):
    """A recording on the phone. ``events`` is known when it is finished."""

    session_id: str
    file_path: str
    events: int | None = None


def done(step: StepResult) -> Done:
    return Done(**_evidence(step))


def scrolled(step: StepResult) -> Scrolled:
    data = step.data
    outcome = data.get("termination_reason") or data.get("scroll_outcome", "")
    swipes = number(data, "scrolls_executed") if "scrolls_executed" in data else 1
    return Scrolled(outcome=outcome, scrolls=swipes, **_evidence(step))


def recorded(step: StepResult) -> Recorded:
    events = number(step.data, "eventCount") if "eventCount" in step.data else None
    return Recorded(told(step, "sessionId"), step.data.get("filePath", ""), events)


def told(step: StepResult, name: str) -> str:
    """What a successful step must have told; ``RESULT_ENVELOPE_MALFORMED`` when it did not."""
    if name not in step.data:
        raise _malformed(step, f"it has no {name}")
    return step.data[name]


def told_json(step: StepResult, name: str, kind: type[T]) -> T:
    """The same, for a value that is JSON."""
    try:
        return msgspec.json.decode(told(step, name), type=kind)
    except msgspec.DecodeError as e:
        raise _malformed(step, f"{name}: {e}") from e


def number(data: Mapping[str, str], name: str) -> int:
    """A count among a step's data; 0 when there is none."""
    written = data.get(name, "")
    return int(written) if written.isascii() and written.isdecimal() and len(written) < 19 else 0


def only_step(envelope: ResultEnvelope, serial: str) -> StepResult:
    """The step of an execution with one action. When that failed, its error is raised."""
    failed = next((step for step in envelope.stepResults if not step.success), None)
    if failed is not None:
        raise _failure(failed, serial)
    if envelope.status == "failed" or not envelope.stepResults:
        code = envelope.errorCode if isinstance(envelope.errorCode, str) else "UNKNOWN"
        raise ClawError(
            code if code in CODES else "UNKNOWN",
            envelope.error or "the phone told of no step",
            hint=envelope.hint if isinstance(envelope.hint, str) else None,
            details={"commandId": envelope.commandId, "errorCode": code},
            operation="execute",
            target=serial,
        )
    return envelope.stepResults[0]


def _failure(step: StepResult, serial: str) -> ClawError:
    """A code this version does not know is told as ``UNKNOWN``; the step in the details has it as it came."""
    code = step.data.get("error", "UNKNOWN")
    return ClawError(
        code if code in CODES else "UNKNOWN",
        step.data.get("message") or f"{step.actionType} failed: {code}",
        hint=step.data.get("hint"),
        details={"step": msgspec.to_builtins(step)},
        operation=step.actionType,
        target=serial,
    )


def _malformed(step: StepResult, reason: str) -> ClawError:
    return ClawError(
        "RESULT_ENVELOPE_MALFORMED",
        f"the result of {step.actionType} breaks its contract: {reason}",
        hint="Run 'clawperator version --check-compat'.",
        details={"step": msgspec.to_builtins(step)},
        operation=step.actionType,
    )


def _evidence(step: StepResult) -> dict[str, Any]:
    data = step.data
    try:
        target = msgspec.json.decode(data.get("matched_target", "{}"), type=dict[str, str])
    except msgspec.DecodeError:
        target = {}
    return {
        "effect": _EFFECTS.get(data.get("effect", ""), "unknown"),
        "matched_target": target,
        "candidate_count": number(data, "candidate_count"),
        "dispatch_method": data.get("dispatch_method", ""),
        "settled_ms": number(data, "settled_ms"),
        "data": data,
    }
