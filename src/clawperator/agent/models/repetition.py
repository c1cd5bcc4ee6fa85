"""Detect a model that repeats the same call: it is warned first, then the turn fails."""

import msgspec

from clawperator._base.text import encodable
from clawperator.agent.ports import ToolCall
from clawperator.contract.actions import ACTIONS
from clawperator.errors import ClawError

_WARNED_AT = 3
_FAILED_AT = 5
# Repeating these is ordinary work.
_REPEATABLE = frozenset(name for name in ACTIONS if name.startswith(("wait", "sleep", "scroll", "press")))


class Repetition:
    """Counts identical calls in a row."""

    def __init__(self) -> None:
        self._last = b""
        self._count = 0

    def add(self, call: ToolCall) -> str:
        """Count a call before it is made. Returns a note for its result, or raises ``TURN_CALL_REPEATED``."""
        if call.problem is not None:  # counted by the brain
            self._last = b""
            return ""
        key = msgspec.json.encode(encodable([call.name, call.params]), order="sorted", enc_hook=str)
        self._count = self._count + 1 if key == self._last else 1
        self._last = key
        if call.name in _REPEATABLE or self._count < _WARNED_AT:
            return ""
        if self._count >= _FAILED_AT:
            raise ClawError(
                "TURN_CALL_REPEATED",
                f"the model requested {call.name} {self._count} times in a row with the same parameters",
                operation="call",
                target=call.name,
            )
        return (
            f"This is the same call {self._count} times in a row; the turn fails at the {_FAILED_AT}th. "
            f"Try another way, or end the turn and report why."
        )
