"""The brain that asks a model by the Messages protocol."""

from collections.abc import Generator, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from clawperator.agent.brains.model_config import ModelConfig
from clawperator.agent.brains.model_http import Asked, Event, ask, not_an_answer, stream_error
from clawperator.agent.brains.model_prompt import SYSTEM_TEXT
from clawperator.agent.brains.model_turn import (
    MadeCall,
    OfferedTool,
    Reply,
    check_call_count,
    converse,
    gather_calls,
    remembered,
)
from clawperator.agent.brains.model_wire import Patience
from clawperator.agent.foreign_json import Pieces, read_raw_json
from clawperator.agent.ports import Answer, Request, ToolCall, ToolResult, Usage
from clawperator.contract.text import encodable

_HEADERS = {"anthropic-version": "2023-06-01"}
# The protocol wants a limit to each reply. Every model can write so much.
_MOST_TOKENS = 4_096
_NOT_BY_ITSELF = ("max_tokens", "refusal", "model_context_window_exceeded", "pause_turn")


class AnthropicBrain:
    """Thinks by asking the model of ``config``. It keeps nothing between two turns."""

    def __init__(self, config: ModelConfig, *, patience: Patience | None = None) -> None:
        self._dialect = _Messages(config, patience or Patience())
        self._config = config

    @property
    def name(self) -> str:
        return "anthropic"

    def think(self, request: Request) -> Generator[ToolCall, ToolResult, Answer]:
        return converse(self._dialect, self._config, request)


class _Messages:
    def __init__(self, config: ModelConfig, patience: Patience) -> None:
        self._config = config
        self._patience = patience
        self._path = "/messages" if config.address.path.endswith("/v1") else "/v1/messages"

    def opening(self, request: Request) -> list[dict[str, Any]]:
        messages = []
        for exchange in request.history:
            messages.append({"role": "user", "content": remembered(exchange.prompt)})
            messages.append({"role": "assistant", "content": remembered(exchange.output)})
        messages.append({"role": "user", "content": remembered(request.prompt)})
        return messages

    def ask(self, messages: Sequence[dict[str, Any]], tools: Sequence[OfferedTool], request: Request) -> Reply:
        body: dict[str, Any] = {
            "model": self._config.model,
            "max_tokens": _MOST_TOKENS,
            "system": SYSTEM_TEXT,
            "messages": messages,
            "stream": True,
        }
        if tools:
            body["tools"] = [
                {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
                for tool in tools
            ]
        asked = Asked(self._config, self._path, _HEADERS, msgspec.json.encode(encodable(body)), self._patience)
        reading = _Reading(self._config, request)
        ask(asked, request.watch, reading)
        return reading.reply()

    def told(self, reply: Reply, made: Sequence[MadeCall]) -> list[dict[str, Any]]:
        said: list[dict[str, Any]] = [{"type": "text", "text": reply.text}] if reply.text.strip() else []
        said += [{"type": "tool_use", "id": call.id, "name": call.name, "input": call.params} for call in made]
        results = [
            {"type": "tool_result", "tool_use_id": call.id, "content": call.content, "is_error": call.failed}
            for call in made
        ]
        return [{"role": "assistant", "content": said}, {"role": "user", "content": results}]


class _Block(Struct):
    type: str
    id: str = ""
    name: str = ""
    text: str = ""
    input: Any = None


class _Delta(Struct):
    type: str = ""
    text: str = ""
    partial_json: str = ""
    stop_reason: str | None = None


class _Counted(Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None


class _Message(Struct):
    content: list[_Block] = []
    stop_reason: str | None = None
    usage: _Counted | None = None


class _Happening(Struct):
    type: str
    index: int = 0
    message: _Message | None = None
    content_block: _Block | None = None
    delta: _Delta | None = None
    usage: _Counted | None = None


class _Wanted:
    """A call while it is put together."""

    def __init__(self, block: _Block) -> None:
        self.id = block.id
        self.name = block.name
        self._whole = block.input
        self.pieces = Pieces()

    @property
    def arguments(self) -> str:
        if self.pieces.text or not self._whole:
            return self.pieces.text
        return msgspec.json.encode(encodable(self._whole)).decode()


class _Reading:
    """A reply while it comes."""

    def __init__(self, config: ModelConfig, request: Request) -> None:
        self._config = config
        self._say = request.say
        self._text = Pieces()
        self._calls: dict[int, _Wanted] = {}
        self._stop = ""
        self._input: int | None = None
        self._output: int | None = None
        self.is_complete = False

    def take(self, event: Event) -> bool:
        """Take in what came. True when it was the last."""
        try:
            document = read_raw_json(event.data)
            if isinstance(document, dict) and (document.get("type") == "error" or "error" in document):
                raise stream_error(self._config, document)
            if event.is_whole:
                self._take_whole(msgspec.convert(document, _Message))
                return True
            happening = msgspec.convert(document, _Happening)
        except ValueError as e:
            raise not_an_answer(self._config, str(e), event.data) from None
        return self._take(happening)

    def _take_whole(self, message: _Message) -> None:
        if not message.content and message.stop_reason is None:
            raise ValueError("it is no message")
        for index, block in enumerate(message.content):
            self._take_block(index, block)
        self._count(message.usage)
        self._stop, self.is_complete = message.stop_reason or "", True

    def _take(self, happening: _Happening) -> bool:
        if happening.type == "message_start" and happening.message is not None:
            self._count(happening.message.usage)
        elif happening.type == "content_block_start" and happening.content_block is not None:
            self._take_block(happening.index, happening.content_block)
        elif happening.type == "content_block_delta" and happening.delta is not None:
            self._take_delta(happening.index, happening.delta)
        elif happening.type == "message_delta":
            self._count(happening.usage)
            if happening.delta is not None and happening.delta.stop_reason:
                self._stop, self.is_complete = happening.delta.stop_reason, True
        elif happening.type == "message_stop":
            self.is_complete = True
            return True
        return False

    def _take_block(self, index: int, block: _Block) -> None:
        if block.type == "text" and block.text:
            self._say(self._text.add(block.text))
        elif block.type == "tool_use":
            check_call_count(self._config, len(self._calls) + 1)
            self._calls[index] = _Wanted(block)

    def _take_delta(self, index: int, delta: _Delta) -> None:
        if delta.type == "text_delta":
            self._say(self._text.add(delta.text))
        elif delta.type == "input_json_delta":
            if index not in self._calls:
                raise not_an_answer(self._config, "it holds arguments of a call that was not begun")
            self._calls[index].pieces.add(delta.partial_json)

    def _count(self, counted: _Counted | None) -> None:
        """Both numbers are totals of the reply so far. What was cached is input too."""
        if counted is None:
            return
        if counted.input_tokens is not None:
            cached = (counted.cache_creation_input_tokens or 0) + (counted.cache_read_input_tokens or 0)
            self._input = counted.input_tokens + cached
        if counted.output_tokens is not None:
            self._output = counted.output_tokens

    def reply(self) -> Reply:
        calls = [call for _, call in sorted(self._calls.items())]
        wanted = [(encodable(call.id), encodable(call.name), call.arguments) for call in calls]
        known = self._input is not None or self._output is not None
        usage = Usage(self._input or 0, self._output or 0) if known else None
        stopped = self._stop if self._stop in _NOT_BY_ITSELF else ""
        return Reply(self._text.text, gather_calls(self._config, wanted), stopped, usage)
