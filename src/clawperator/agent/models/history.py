"""The conversation of a turn as it is sent: earlier turns, the prompt, replies and the results of their calls.

Only the last whole screen and the last images are sent in full. When a later one arrives, the one before it is
replaced by a line, once and for good. A service caches what a request has in common with the one before it, from
its start. So a replaced screen costs the cache from that screen on, which is a few short messages: everything
before it was settled earlier and stays the same. Replacing screens only at certain sizes would keep the cache a
little longer, but send every whole screen several times more. Lists of changes are short and are never replaced.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from clawperator.agent.compact.images import ResultImage
from clawperator.agent.compact.screens import REPLACED
from clawperator.agent.models.replies import Reply
from clawperator.agent.ports import BrainRequest

IMAGE_REPLACED = "[image replaced by a later one]"

Message = dict[str, Any]


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

    def text(self, *, with_screen: bool) -> str:
        """The content, with the screen or a line in its place."""
        if not self.screen:
            return self.content
        return f"{self.content}\n{self.screen if with_screen else REPLACED}".lstrip("\n")


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
                _sent(call, with_screen=number >= last_screen, with_images=number >= last_image)
                for number, call in enumerate(finished, at)
            ]
            at += len(finished)
            messages += self._write(reply, sent)
            settled = len(messages) if is_settled else settled
        return messages, settled


def _sent(call: FinishedCall, *, with_screen: bool, with_images: bool) -> SentResult:
    text = call.text(with_screen=with_screen)
    if not call.images or with_images:
        return SentResult(call, text, call.images)
    return SentResult(call, f"{text}\n{IMAGE_REPLACED}", ())


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
