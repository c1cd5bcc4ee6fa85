"""Replies of model services: text, calls and usage, the same for both protocols."""

import os
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from clawperator.agent.compact.results import compact_json
from clawperator.agent.models.config import ModelConfig
from clawperator.agent.models.errors import invalid_reply
from clawperator.agent.ports import Usage

MOST_CALLS = 64
_MOST_TOKENS = 10**12
_BYTES_PER_TOKEN = 4


class RequestedCall(Struct, frozen=True):
    """A call as the model wrote it. ``arguments`` should be the text of a JSON object."""

    id: str
    name: str
    arguments: str


class Reply(Struct, frozen=True):
    """One reply of a model. ``stopped`` is the reason when the service ended it early.

    ``memory`` is what the protocol needs to repeat the reply: services want their reasoning back with the calls.
    """

    text: str
    calls: tuple[RequestedCall, ...] = ()
    stopped: str = ""
    usage: Usage | None = None
    memory: Any = None

    def estimate_usage(self, sent: object) -> Usage:
        """The usage of a reply whose service counts no tokens, by the bytes sent and received."""
        received = [self.text, *(call.name + call.arguments for call in self.calls)]
        return Usage(_token_estimate(compact_json(sent)), sum(map(_token_estimate, received)), requests=1)


class StreamedText:
    """A text that arrives in pieces. A piece may end in the middle of a surrogate pair."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._half = ""

    @property
    def text(self) -> str:
        return "".join(self._parts)

    def add(self, piece: str) -> str:
        """Add a piece; returns what can be shown now, without half a character at the end."""
        piece = self._half + piece
        self._half = ""
        if piece and "\ud800" <= piece[-1] <= "\udbff":
            piece, self._half = piece[:-1], piece[-1]
        if not piece.isascii():
            piece = piece.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        self._parts.append(piece)
        return piece


def requested_calls(config: ModelConfig, given: Sequence[tuple[str, str, str]]) -> tuple[RequestedCall, ...]:
    """The calls of a reply from id, name and arguments of each. A missing or repeated id is replaced."""
    check_call_count(config, len(given))
    calls: list[RequestedCall] = []
    seen: set[str] = set()
    for call_id, name, arguments in given:
        unique = call_id if call_id and call_id not in seen else f"call_{os.urandom(8).hex()}"
        seen.add(unique)
        calls.append(RequestedCall(unique, name, arguments))
    return tuple(calls)


def check_call_count(config: ModelConfig, count: int) -> None:
    if count > MOST_CALLS:
        raise invalid_reply(config, f"more than {MOST_CALLS} calls")


def token_count(usage: Any, name: str) -> int | None:
    """A token count of a service, if it is valid. An invalid count must not lose the reply."""
    count = usage.get(name) if isinstance(usage, dict) else None
    if isinstance(count, bool) or not isinstance(count, int | float) or not 0 <= count < _MOST_TOKENS:
        return None
    return int(count)


def _token_estimate(text: str) -> int:
    return -(-len(text.encode("utf-8", "replace")) // _BYTES_PER_TOKEN)
