"""The work of a turn so far, and what its calls may have changed."""

import time
from collections.abc import Iterator

from msgspec.structs import replace

from clawperator.agent.ports import Denial, Evidence, ToolResult, Usage
from clawperator.agent.sessions.files import now_ms
from clawperator.agent.turns.results import ToolCallSummary
from clawperator.errors import ClawError

# Errors of these kinds are found before anything is done.
_NOTHING_DONE = ("policy", "usage", "parse")


class TurnProgress:
    """The work of the current turn so far."""

    def __init__(self) -> None:
        self.calls: list[ToolCallSummary] = []
        self.running: ToolCallSummary | None = None
        self.denials: list[Denial] = []
        self.evidence: list[Evidence] = []
        self.secrets: list[str] = []
        self.typed: set[str] = set()  # into fields other than password fields
        self.may_have_effect = False  # on the phone or elsewhere; also while a call that acts is being made
        self.usage = Usage()
        self.started_at_ms = now_ms()
        self._started = time.monotonic()

    @property
    def duration_ms(self) -> int:
        """Measured with the monotonic clock: the system clock may be set back."""
        return round((time.monotonic() - self._started) * 1000)

    @property
    def has_acted(self) -> bool:
        return any(call.handled for call in self.calls)

    def add_usage(self, usage: Usage) -> None:
        self.usage = self.usage.plus(usage)


def unfinished_call(call: ToolCallSummary | None, error: ClawError | None) -> Iterator[ToolCallSummary]:
    """The call that was running when the turn was stopped."""
    if call is not None and error is not None:
        yield replace(call, code=error.code)


def may_have_acted(result: ToolResult) -> bool:
    """Whether a call of a tool that acts may have changed something. In doubt it has."""
    if result.error is None:
        return True
    return result.error.after_effect or not (result.error.retryable or result.error.kind in _NOTHING_DONE)
