"""The brain that asks a model by the Messages protocol."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from clawperator._text import encodable
from clawperator.agent.foreign_json import Pieces, read_raw_json
from clawperator.agent.models.config import ModelConfig
from clawperator.agent.models.http import ModelRequest, ServerEvent, ask, invalid_reply, stream_error
from clawperator.agent.models.prompt import SYSTEM_PROMPT
from clawperator.agent.models.tools import ToolDefinition
from clawperator.agent.models.turn import (
    FinishedCall,
    ModelBrain,
    Reply,
    check_call_count,
    conversation_messages,
    requested_calls,
    token_count,
)
from clawperator.agent.models.wire import ModelTimeouts
from clawperator.agent.ports import BrainRequest, Usage

_HEADERS = {"anthropic-version": "2023-06-01"}
# The protocol wants a limit to each reply. Every model can write so much.
_MOST_TOKENS = 4_096
_NOT_BY_ITSELF = ("max_tokens", "refusal", "model_context_window_exceeded", "pause_turn")


class AnthropicBrain(ModelBrain):
    def __init__(self, config: ModelConfig, *, timeouts: ModelTimeouts | None = None) -> None:
        super().__init__("anthropic", _Messages(config, timeouts or ModelTimeouts()), config)


class _Messages:
    def __init__(self, config: ModelConfig, timeouts: ModelTimeouts) -> None:
        self._config = config
        self._timeouts = timeouts
        self._path = "/messages" if config.base_url.path.endswith("/v1") else "/v1/messages"

    def opening(self, request: BrainRequest) -> list[dict[str, Any]]:
        return conversation_messages(request)

    def ask(
        self, messages: Sequence[dict[str, Any]], tools: Sequence[ToolDefinition], request: BrainRequest
    ) -> Reply:
        body: dict[str, Any] = {
            "model": self._config.model,
            "max_tokens": _MOST_TOKENS,
            "system": SYSTEM_PROMPT,
            "messages": messages,
            "stream": True,
        }
        if tools:
            body["tools"] = [
                {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
                for tool in tools
            ]
        asked = ModelRequest(
            self._config, self._path, _HEADERS, msgspec.json.encode(encodable(body)), self._timeouts
        )
        reading = _Reader(self._config, request)
        ask(asked, request.deadline, reading)
        return reading.reply()

    def told(self, reply: Reply, made: Sequence[FinishedCall]) -> list[dict[str, Any]]:
        calls = iter(made)
        said = [_tool_use(next(calls)) if block is None else block for block in reply.memory]
        results = [
            {"type": "tool_result", "tool_use_id": call.id, "content": call.content, "is_error": call.failed}
            for call in made
        ]
        return [{"role": "assistant", "content": said}, {"role": "user", "content": results}]


def _tool_use(call: FinishedCall) -> dict[str, Any]:
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": call.params}


class _Kind(Struct):
    type: str


class _Block(Struct):
    """A part of a reply. Of one that is nothing to us only the type is read."""

    type: str
    id: str = ""
    name: str = ""
    text: str = ""
    input: Any = None
    thinking: str = ""
    signature: str = ""
    data: str = ""


class _Delta(Struct):
    type: str = ""
    text: str = ""
    partial_json: str = ""
    thinking: str = ""
    signature: str = ""
    stop_reason: str | None = None


class _Message(Struct):
    content: list[Any] = []
    stop_reason: str | None = None
    usage: Any = None


class _Happening(Struct):
    type: str
    index: int = 0
    message: Any = None
    content_block: Any = None
    delta: Any = None
    usage: Any = None


class _Step(Struct, frozen=True):
    """One thing that happens in a reply: a block begins, grows, or something is said of the whole."""

    index: int = 0
    block: _Block | None = None
    delta: _Delta | None = None
    stop_reason: str = ""
    usage: Any = None
    is_last: bool = False


_BLOCKS = ("text", "tool_use", "thinking", "redacted_thinking")
# What a block of each kind grows by.
_DELTAS = {
    "text_delta": "text",
    "input_json_delta": "tool_use",
    "thinking_delta": "thinking",
    "signature_delta": "thinking",
}
_COUNTED = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")


def _steps_of_event(document: Any) -> list[_Step]:
    """What an event says. One that is not known yet says nothing, whatever it holds."""
    kind = msgspec.convert(document, _Kind).type
    if kind == "message_stop":
        return [_Step(is_last=True)]
    if kind not in ("message_start", "content_block_start", "content_block_delta", "message_delta"):
        return []
    event = msgspec.convert(document, _Happening)
    if kind == "message_start":
        return [_Step(usage=event.message.get("usage"))] if isinstance(event.message, dict) else []
    if kind == "message_delta":
        ended = msgspec.convert(event.delta or {}, _Delta)
        return [_Step(stop_reason=ended.stop_reason or "", usage=event.usage)]
    if kind == "content_block_start":
        return [_Step(event.index, block=_read_block(event.content_block))]
    known = msgspec.convert(event.delta, _Kind).type in _DELTAS
    return [_Step(event.index, delta=msgspec.convert(event.delta, _Delta))] if known else []


def _steps_of_message(document: Any) -> list[_Step]:
    message = msgspec.convert(document, _Message)
    if not message.content and message.stop_reason is None:
        raise ValueError("it is no message")
    steps = [_Step(index, block=_read_block(block)) for index, block in enumerate(message.content)]
    return [*steps, _Step(stop_reason=message.stop_reason or "", usage=message.usage, is_last=True)]


def _read_block(given: Any) -> _Block:
    kind = msgspec.convert(given, _Kind).type
    return msgspec.convert(given, _Block) if kind in _BLOCKS else _Block(kind)


class _Part:
    """A block while it is put together."""

    def __init__(self, block: _Block) -> None:
        self.block = block
        self.pieces = Pieces()
        self.signature = block.signature

    @property
    def is_call(self) -> bool:
        return self.block.type == "tool_use"

    @property
    def arguments(self) -> str:
        """The pieces, or what was there from the beginning."""
        if self.pieces.text:
            return self.pieces.text
        whole = self.block.input
        return msgspec.json.encode(encodable(whole)).decode() if whole else ""

    def remembered(self) -> list[dict[str, Any] | None]:
        """The block as the service wants to be told it again; None in place of a call."""
        kind, text = self.block.type, self.pieces.text
        if self.is_call:
            return [None]
        if kind == "thinking":
            return [{"type": kind, "thinking": text, "signature": self.signature}]
        if kind == "redacted_thinking":
            return [{"type": kind, "data": self.block.data}]
        return [{"type": kind, "text": text}] if kind == "text" and text.strip() else []


class _Reader:
    """A reply while it comes."""

    def __init__(self, config: ModelConfig, request: BrainRequest) -> None:
        self._config = config
        self._say = request.on_text
        self._said: list[str] = []
        self._parts: dict[int, _Part] = {}
        self._stop = ""
        self._counted: dict[str, int] = {}
        self.is_complete = False

    def take(self, event: ServerEvent) -> bool:
        """Take in what came. True when it was the last."""
        try:
            document = read_raw_json(event.data)
            if isinstance(document, dict) and (document.get("type") == "error" or "error" in document):
                raise stream_error(self._config, document)
            steps = _steps_of_message(document) if event.is_whole else _steps_of_event(document)
        except ValueError as e:
            raise invalid_reply(self._config, str(e), event.data) from None
        for step in steps:
            self._take(step)
        return any(step.is_last for step in steps)

    def _take(self, step: _Step) -> None:
        if step.block is not None:
            self._begin(step.index, step.block)
        if step.delta is not None:
            self._grow(step.index, step.delta)
        for name in _COUNTED:  # each is the total so far, and what is not told again stays as it is
            counted = token_count(step.usage, name)
            if counted is not None:
                self._counted[name] = counted
        self._stop = step.stop_reason or self._stop
        self.is_complete |= bool(step.stop_reason) or step.is_last

    def _begin(self, index: int, block: _Block) -> None:
        self._parts[index] = _Part(block)
        check_call_count(self._config, sum(part.is_call for part in self._parts.values()))
        self._add(self._parts[index], block.thinking or block.text)

    def _grow(self, index: int, delta: _Delta) -> None:
        if index not in self._parts:
            if delta.type != "text_delta":
                raise invalid_reply(self._config, "it holds a piece of something that was not begun")
            self._parts[index] = _Part(_Block("text"))
        part = self._parts[index]
        if part.block.type == _DELTAS[delta.type]:
            part.signature += delta.signature
            self._add(part, delta.text or delta.partial_json or delta.thinking)

    def _add(self, part: _Part, text: str) -> None:
        piece = part.pieces.add(text)
        if part.block.type == "text" and piece:
            self._said.append(piece)
            self._say(piece)

    def reply(self) -> Reply:
        parts = [part for _, part in sorted(self._parts.items())]
        calls = [part for part in parts if part.is_call]
        wanted = [(encodable(call.block.id), encodable(call.block.name), call.arguments) for call in calls]
        *inputs, output = (self._counted.get(name, 0) for name in _COUNTED)  # what was cached is input too
        return Reply(
            "".join(self._said),
            requested_calls(self._config, wanted),
            self._stop if self._stop in _NOT_BY_ITSELF else "",
            Usage(sum(inputs), output) if self._counted else None,
            [block for part in parts for block in part.remembered()],
        )
