"""What comes of a turn, and the turns that somebody else had to end."""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from clawperator.agent.ports import Denial, Outcome, Usage
from clawperator.agent.sessions.records import EvidenceLink
from clawperator.errors import ClawError

StopReason = Literal["completed", "timeout", "cancelled", "max_budget_reached", "max_turns_reached"]

_TIMED_OUT = "The time for all turns ran out before this turn was complete."


class Called(Struct, frozen=True):
    """A call of a turn and what came of it, as documents show it."""

    name: str
    params: Mapping[str, Any]
    handled: bool
    message: str
    code: str | None = None
    effect: str | None = None


class TurnResult(Struct, frozen=True, kw_only=True):
    """The ``turn`` of a document. ``usage`` is what the session counts, ``spent`` what was used in any case."""

    prompt: str
    output: str
    stop_reason: StopReason
    cancel_observed: bool = False
    outcome: Outcome = "done"
    committed: bool = False
    turn: int | None = None
    matched_commands: tuple[str, ...] = ()
    matched_tools: tuple[str, ...] = ()
    permission_denials: tuple[Denial, ...] = ()
    tool_calls: tuple[Called, ...] = ()
    evidence: tuple[EvidenceLink, ...] = ()
    usage: Usage = Usage()
    spent: Usage = Usage()
    compacted_turns: int = 0
    duration_ms: int = 0
    error: ClawError | None = None


def timed_out(prompt: str, *, observed: bool) -> TurnResult:
    """The turn of which nobody knows more than that its time ran out.

    ``observed`` says that the work was seen to stop: the session holds nothing of it and may be used again.
    """
    return TurnResult(
        prompt=prompt,
        output=_TIMED_OUT,
        stop_reason="timeout",
        cancel_observed=observed,
        outcome="failed",
        error=ClawError("TURN_TIMEOUT", _TIMED_OUT, operation="turn", target=prompt[:80]),
    )


def stopped(prompt: str, *, observed: bool) -> TurnResult:
    """The turn that somebody stopped: by the keyboard, or by a signal."""
    error = ClawError("INTERRUPTED", "the turn was stopped", operation="turn", target=prompt[:80])
    return TurnResult(
        prompt=prompt,
        output="Stopped before this turn was complete.",
        stop_reason="cancelled",
        cancel_observed=observed,
        outcome="failed",
        error=error,
    )
