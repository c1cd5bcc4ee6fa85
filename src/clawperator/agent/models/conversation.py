"""The conversation of a turn as it is sent: earlier turns, the prompt, replies and the results of their calls.

Only the last whole screen and the last images are sent in full. When a later one arrives, the one before it is
replaced by a line, once and for good. A service caches what a request has in common with the one before it, from
its start. So a replaced screen costs the cache from that screen on, which is a few short messages: everything
before it was settled earlier and stays the same. Replacing screens only at certain sizes would keep the cache a
little longer, but send every whole screen several times more. Lists of changes are short and are never replaced.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from clawperator._base.text import printable
from clawperator._base.typed import compact_json
from clawperator.agent.model_tools import REPLACED, ResultImage
from clawperator.agent.models.config import ModelConfig
from clawperator.agent.models.http import invalid_reply
from clawperator.agent.ports import BrainRequest
from clawperator.agent.sessions.records import Usage

IMAGE_REPLACED = "[image replaced by a later one]"

Message = dict[str, Any]
MOST_CALLS = 64
_MOST_TOKENS = 10**12
_BYTES_PER_TOKEN = 4
_LONGEST_REASON = 80


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


def stop_reason(reason: str, ended: Sequence[str]) -> str:
    """Why the service stopped a reply; empty for the reasons with which the model itself ends one."""
    return "" if reason.casefold() in ("", *ended) else printable(reason[:_LONGEST_REASON])


def token_count(usage: Any, name: str) -> int | None:
    """A token count of a service, if it is valid. An invalid count must not lose the reply."""
    count = usage.get(name) if isinstance(usage, dict) else None
    if isinstance(count, bool) or not isinstance(count, int | float) or not 0 <= count < _MOST_TOKENS:
        return None
    return int(count)


def _token_estimate(text: str) -> int:
    return -(-len(text.encode("utf-8", "replace")) // _BYTES_PER_TOKEN)


class FinishedCall(Struct, frozen=True):
    """A call with its result, as it is sent to the model.

    ``screen`` is the part of ``content`` that a later whole screen replaces.
    """

    id: str
    name: str
    params: Mapping[str, Any]
    content: str
    failed: bool
    screen: str = ""
    images: tuple[ResultImage, ...] = ()

    def sent(self, *, with_screen: bool, with_images: bool) -> "SentResult":
        """The result for one request, with the screen and the images or a line in their place."""
        text = self.content
        if self.screen:
            text = f"{text}\n{self.screen if with_screen else REPLACED}".lstrip("\n")
        if self.images and not with_images:
            return SentResult(self, f"{text}\n{IMAGE_REPLACED}", ())
        return SentResult(self, text, self.images)


class SentResult(Struct, frozen=True):
    """The result of a call as one request contains it."""

    call: FinishedCall
    text: str
    images: tuple[ResultImage, ...]


WriteMessages = Callable[[Reply, Sequence[SentResult]], list[Message]]


class Conversation:
    """The messages of a turn, in the protocol's own form."""

    def __init__(self, initial: list[Message], write: WriteMessages) -> None:
        self._initial = initial
        self._write = write
        self._rounds: list[tuple[Reply, tuple[FinishedCall, ...]]] = []

    def add(self, reply: Reply, calls: Sequence[FinishedCall]) -> None:
        self._rounds.append((reply, tuple(calls)))

    def messages(self) -> tuple[list[Message], int]:
        """The messages to send, and how many of the first ones no later request will change."""
        calls = [call for _, finished in self._rounds for call in finished]
        last_screen = max((at for at, call in enumerate(calls) if call.screen), default=-1)
        last_image = max((at for at, call in enumerate(calls) if call.images), default=-1)
        messages, settled, at = list(self._initial), len(self._initial), 0
        is_settled = True
        for reply, finished in self._rounds:
            is_settled = is_settled and not {last_screen, last_image} & set(range(at, at + len(finished)))
            sent = [
                call.sent(with_screen=number >= last_screen, with_images=number >= last_image)
                for number, call in enumerate(finished, at)
            ]
            at += len(finished)
            messages += self._write(reply, sent)
            settled = len(messages) if is_settled else settled
        return messages, settled


def conversation_messages(request: BrainRequest) -> list[dict[str, Any]]:
    """The earlier turns and the prompt, the same in both protocols."""
    messages = []
    for exchange in request.history:
        messages.append({"role": "user", "content": _not_blank(exchange.prompt)})
        messages.append({"role": "assistant", "content": _not_blank(exchange.output)})
    return [*messages, {"role": "user", "content": _not_blank(request.prompt)}]


def _not_blank(text: str) -> str:
    """Services reject blank messages."""
    return text if text.strip() else "(nothing)"
