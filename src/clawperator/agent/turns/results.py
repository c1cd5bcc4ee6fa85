"""Results of turns, and constructors for the turns that did not complete."""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from clawperator.agent.ports import Denial, Outcome, Usage
from clawperator.agent.sessions.records import EvidenceLink
from clawperator.errors import ClawError

StopReason = Literal["completed", "timeout", "cancelled", "max_budget_reached", "max_turns_reached"]

_TIMED_OUT = "The time limit of the turns was reached before this turn completed."
_INTERRUPTED = "Interrupted before this turn completed."


class ToolCallSummary(Struct, frozen=True):
    """A tool call and its outcome, as the documents show it."""

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
    tool_calls: tuple[ToolCallSummary, ...] = ()
    evidence: tuple[EvidenceLink, ...] = ()
    usage: Usage = Usage()
    spent: Usage = Usage()
    compacted_turns: int = 0
    duration_ms: int = 0
    error: ClawError | None = None


def cancelled(prompt: str, output: str = "", error: ClawError | None = None) -> TurnResult:
    """A turn that stopped before its commit. With an ``error`` it failed."""
    return TurnResult(
        prompt=prompt,
        output=output,
        stop_reason="cancelled",
        cancel_observed=True,
        outcome="failed" if error else "done",
        error=error,
    )


def timed_out(prompt: str, *, observed: bool) -> TurnResult:
    """A turn that reached the deadline.

    ``observed`` means that the work was seen to stop: nothing of it is in the session, which may be used again.
    """
    return TurnResult(
        prompt=prompt,
        output=_TIMED_OUT,
        stop_reason="timeout",
        cancel_observed=observed,
        outcome="failed",
        error=ClawError("TURN_TIMEOUT", _TIMED_OUT, operation="turn", target=prompt[:80]),
    )


def interrupted(prompt: str, *, observed: bool) -> TurnResult:
    """A turn that the user stopped, by keyboard or by a signal."""
    return TurnResult(
        prompt=prompt,
        output=_INTERRUPTED,
        stop_reason="cancelled",
        cancel_observed=observed,
        outcome="failed",
        error=ClawError("INTERRUPTED", "the turn was interrupted", operation="turn", target=prompt[:80]),
    )


def limit_reached(prompt: str, output: str, reason: StopReason, usage: Usage) -> TurnResult:
    """A turn over a limit of the session. Nothing of it is kept; ``usage`` is the session's, unchanged."""
    return TurnResult(prompt=prompt, output=output, stop_reason=reason, outcome="failed", usage=usage)
