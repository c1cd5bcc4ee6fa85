"""Results of turns, and constructors for the turns that did not complete."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct

from clawperator.agent.ports import Outcome
from clawperator.agent.sessions.records import Denial, EvidenceLink, Usage
from clawperator.errors import ClawError

if TYPE_CHECKING:
    from clawperator.device.run.running import RunningExecution

StopReason = Literal["completed", "timeout", "cancelled", "max_budget_reached", "max_turns_reached"]

_TIMED_OUT = "The time limit of the turns was reached before this turn completed."
_INTERRUPTED = "Interrupted before this turn completed."
_STILL_RUNNING = (
    "The next command for this phone waits until it has finished. "
    "Run 'claw bootstrap \"what is on the screen\"' to see what was done."
)


class StoppedWork(Struct, frozen=True):
    """Work after a deadline or an interrupt. ``observed`` means that it ended here and on the phone.

    ``running`` is what a phone may still run: an Operator cannot be stopped.
    """

    observed: bool
    running: "tuple[RunningExecution, ...]" = ()

    def error(self, code: str, message: str, **fields: Any) -> ClawError:
        """The error of the stopped work, with what still runs. ``fields`` are those of a ``ClawError``."""
        error = ClawError(code, message, **fields)
        if not self.running:
            return error
        message = "; ".join((message, *(execution.describe() for execution in self.running)))
        details = {**(error.details or {}), "running": msgspec.to_builtins(self.running)}
        return error.with_(message=message, hint=_STILL_RUNNING, details=details, after_effect=True)


def observe_stop(*, ended: bool) -> StoppedWork:
    """Look at what was stopped. ``ended`` means that the work ended on this computer."""
    from clawperator.device.run.running import still_running

    running = still_running()
    return StoppedWork(ended and not running, running)


class ToolCallSummary(Struct, frozen=True):
    """A tool call and its outcome, as the documents show it."""

    name: str
    params: Mapping[str, Any]
    handled: bool
    message: str
    code: str | None = None
    effect: str | None = None


class TurnResult(Struct, frozen=True, kw_only=True):
    """The ``turn`` of a document. ``usage`` is what the session counts, ``spent`` what was used, stored or not."""

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


def stopped_turn(prompt: str, stopped: StoppedWork, *, by_user: bool) -> TurnResult:
    """A turn that the user stopped, by keyboard or by a signal; or one that reached the deadline.

    When the stop was observed, nothing of it is in the session, which may be used again, and the phone is free.
    """
    code, message = ("INTERRUPTED", "the turn was interrupted") if by_user else ("TURN_TIMEOUT", _TIMED_OUT)
    return TurnResult(
        prompt=prompt,
        output=_INTERRUPTED if by_user else _TIMED_OUT,
        stop_reason="cancelled" if by_user else "timeout",
        cancel_observed=stopped.observed,
        outcome="failed",
        error=stopped.error(code, message, operation="turn", target=prompt[:80]),
    )
