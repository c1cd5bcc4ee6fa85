"""Brain for the Anthropic Messages protocol."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from clawperator._base.text import encodable
from clawperator._base.typed import read_raw_json
from clawperator.agent.model_tools import ToolDefinition
from clawperator.agent.models.brain import SYSTEM_PROMPT, ModelBrain
from clawperator.agent.models.config import ModelConfig
from clawperator.agent.models.conversation import (
    Message,
    Reply,
    SentResult,
    StreamedText,
    check_call_count,
    requested_calls,
    stop_reason,
    token_count,
)
from clawperator.agent.models.http import ServerEvent, invalid_reply, stream_error
from clawperator.agent.ports import BrainRequest
from clawperator.agent.sessions.records import Usage

_CACHE = {"type": "ephemeral"}
_HEADERS = {"anthropic-version": "2023-06-01"}
# The protocol requires a limit for each reply, thinking included. Every model supports this many tokens.
_MOST_TOKENS = 4_096
# Stop reasons with which the model itself ends a reply. With any other reason the service stopped it.
_ENDED = ("end_turn", "tool_use", "stop_sequence")


class AnthropicBrain(ModelBrain):
    name = "anthropic"

    def _ask(
        self, messages: Sequence[Message], settled: int, tools: Sequence[ToolDefinition], request: BrainRequest
    ) -> Reply:
        options = self._config.options
        body: dict[str, Any] = {
            "model": self._config.model,
            "max_tokens": options.max_tokens or _MOST_TOKENS + options.thinking_tokens,
            "system": [{"type": "text", "text": SYSTEM_PROMPT, "cache_control": _CACHE}],
            "messages": _with_markers(messages, settled),
            "stream": True,
        }
        if options.thinking_tokens:
            body["thinking"] = {"type": "enabled", "budget_tokens": options.thinking_tokens}
        if options.temperature is not None:
            body["temperature"] = options.temperature
        if tools:
            body["tools"] = [tool.anthropic_form for tool in tools]
        path = "/messages" if self._config.base_url.path.endswith("/v1") else "/v1/messages"
        return self._send(path, body, lambda: _Reader(self._config, request), request, _HEADERS).reply()

    def _result_messages(self, reply: Reply, results: Sequence[SentResult]) -> list[Message]:
        calls = (result.call for result in results)
        uses = ({"type": "tool_use", "id": call.id, "name": call.name, "input": call.params} for call in calls)
        content = [next(uses) if block is None else block for block in reply.memory]
        answers = [
            {
                "type": "tool_result",
                "tool_use_id": result.call.id,
                "content": _content(result),
                "is_error": result.call.failed,
            }
            for result in results
        ]
        return [{"role": "assistant", "content": content}, {"role": "user", "content": answers}]


def _content(result: SentResult) -> str | list[dict[str, Any]]:
    images = [
        {"type": "image", "source": {"type": "base64", "media_type": image.media_type, "data": image.data}}
        for image in result.images
    ]
    return [{"type": "text", "text": result.text}, *images] if images else result.text


def _with_markers(messages: Sequence[Message], settled: int) -> list[Message]:
    """The messages with cache markers: where the part ends that never changes, and at the end of all.

    With the one after the system prompt, which also covers the tools, these are three of the four that a request
    may have. The last one pays off while no new screen replaces an old one.
    """
    marked = list(messages)
    for at in {settled - 1, len(messages) - 1}:
        content = marked[at]["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
        if marked[at]["role"] == "user" and blocks:
            marked[at] = {**marked[at], "content": [*blocks[:-1], {**blocks[-1], "cache_control": _CACHE}]}
    return marked


class _Kind(Struct):
    type: str


class _Block(Struct):
    """A content block of a reply. Of an unknown kind only the type is read."""

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


class _StreamEvent(Struct):
    type: str
    index: int = 0
    message: Any = None
    content_block: Any = None
    delta: Any = None
    usage: Any = None


_BLOCKS = ("text", "tool_use", "thinking", "redacted_thinking")
# The kind of block that each kind of delta extends.
_DELTAS = {
    "text_delta": "text",
    "input_json_delta": "tool_use",
    "thinking_delta": "thinking",
    "signature_delta": "thinking",
}
_USAGE_FIELDS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")


def _read_block(given: Any) -> _Block:
    kind = msgspec.convert(given, _Kind).type
    return msgspec.convert(given, _Block) if kind in _BLOCKS else _Block(kind)


class _BlockBuilder:
    """A content block that is being received."""

    def __init__(self, block: _Block) -> None:
        self.block = block
        self.content = StreamedText()
        self.signature = block.signature

    @property
    def is_call(self) -> bool:
        return self.block.type == "tool_use"

    @property
    def arguments(self) -> str:
        """The streamed text, or the input that came with the start of the block."""
        if self.content.text:
            return self.content.text
        initial = self.block.input
        return msgspec.json.encode(encodable(initial)).decode() if initial else ""

    def to_memory(self) -> list[dict[str, Any] | None]:
        """The block as the service expects it back; None in place of a call."""
        kind, text = self.block.type, self.content.text
        if self.is_call:
            return [None]
        if kind == "thinking":
            return [{"type": kind, "thinking": text, "signature": self.signature}]
        if kind == "redacted_thinking":
            return [{"type": kind, "data": self.block.data}]
        return [{"type": kind, "text": text}] if kind == "text" and text.strip() else []


class _Reader:
    """A reply that is being received."""

    def __init__(self, config: ModelConfig, request: BrainRequest) -> None:
        self._config = config
        self._on_text = request.on_text
        self._text: list[str] = []
        self._parts: dict[int, _BlockBuilder] = {}
        self._stop = ""
        self._usage: dict[str, int] = {}
        self.is_complete = False

    def add(self, event: ServerEvent) -> bool:
        """Add an event. True when it was the last."""
        try:
            document = read_raw_json(event.data)
            if isinstance(document, dict) and (document.get("type") == "error" or "error" in document):
                raise stream_error(self._config, document)
            return self._add_message(document) if event.is_whole else self._add_event(document)
        except ValueError as e:
            raise invalid_reply(self._config, str(e), event.data) from None

    def _add_event(self, document: Any) -> bool:
        """Unknown events are ignored."""
        kind = msgspec.convert(document, _Kind).type
        if kind == "message_stop":
            self.is_complete = True
            return True
        if kind not in ("message_start", "content_block_start", "content_block_delta", "message_delta"):
            return False
        event = msgspec.convert(document, _StreamEvent)
        if kind == "message_start" and isinstance(event.message, dict):
            self._end("", event.message.get("usage"))
        elif kind == "message_delta":
            self._end(msgspec.convert(event.delta or {}, _Delta).stop_reason, event.usage)
        elif kind == "content_block_start":
            self._start(event.index, _read_block(event.content_block))
        elif kind == "content_block_delta" and msgspec.convert(event.delta, _Kind).type in _DELTAS:
            self._extend(event.index, msgspec.convert(event.delta, _Delta))
        return False

    def _add_message(self, document: Any) -> bool:
        message = msgspec.convert(document, _Message)
        if not message.content and message.stop_reason is None:
            raise ValueError("not a message")
        for index, block in enumerate([_read_block(block) for block in message.content]):
            self._start(index, block)
        self._end(message.stop_reason, message.usage)
        self.is_complete = True
        return True

    def _start(self, index: int, block: _Block) -> None:
        part = self._parts[index] = _BlockBuilder(block)
        check_call_count(self._config, sum(part.is_call for part in self._parts.values()))
        self._append(part, block.thinking or block.text)

    def _end(self, reason: str | None, usage: Any) -> None:
        """Set the stop reason and the usage, as far as they are given. Each count is a total."""
        counts = {name: token_count(usage, name) for name in _USAGE_FIELDS}
        self._usage |= {name: count for name, count in counts.items() if count is not None}
        self._stop = reason or self._stop
        self.is_complete |= bool(reason)

    def _extend(self, index: int, delta: _Delta) -> None:
        if index not in self._parts:
            if delta.type != "text_delta":
                raise invalid_reply(self._config, "a delta of a block that was not started")
            self._parts[index] = _BlockBuilder(_Block("text"))
        part = self._parts[index]
        if part.block.type == _DELTAS[delta.type]:
            part.signature += delta.signature
            self._append(part, delta.text or delta.partial_json or delta.thinking)

    def _append(self, part: _BlockBuilder, text: str) -> None:
        piece = part.content.add(text)
        if part.block.type == "text" and piece:
            self._text.append(piece)
            self._on_text(piece)

    def reply(self) -> Reply:
        parts = [part for _, part in sorted(self._parts.items())]
        calls = [part for part in parts if part.is_call]
        given = [(encodable(call.block.id), encodable(call.block.name), call.arguments) for call in calls]
        plain, written, cached, output = (self._usage.get(name, 0) for name in _USAGE_FIELDS)
        return Reply(
            "".join(self._text),
            requested_calls(self._config, given),
            stop_reason(self._stop, _ENDED),
            Usage(plain + written + cached, output, cached, written, 1) if self._usage else None,
            [block for part in parts for block in part.to_memory()],
        )
