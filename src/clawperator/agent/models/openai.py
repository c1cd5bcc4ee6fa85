"""The brain that asks a model by the Chat Completions protocol, which most services and local servers speak."""

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

# Besides those of the protocol, what services of other makes say.
_NOT_BY_ITSELF = (
    *("length", "max_tokens", "model_length", "content_filter", "safety", "recitation"),
    *("error", "abort", "insufficient_system_resource"),
)


class OpenAIBrain(ModelBrain):
    def __init__(self, config: ModelConfig, *, timeouts: ModelTimeouts | None = None) -> None:
        super().__init__("openai", _ChatCompletions(config, timeouts or ModelTimeouts()), config)


class _ChatCompletions:
    def __init__(self, config: ModelConfig, timeouts: ModelTimeouts) -> None:
        self._config = config
        self._timeouts = timeouts
        # Servers are named with and without their /v1. Another path is taken as it is.
        self._path = "/chat/completions" if config.base_url.path else "/v1/chat/completions"

    def opening(self, request: BrainRequest) -> list[dict[str, Any]]:
        return [{"role": "system", "content": SYSTEM_PROMPT}, *conversation_messages(request)]

    def ask(
        self, messages: Sequence[dict[str, Any]], tools: Sequence[ToolDefinition], request: BrainRequest
    ) -> Reply:
        body: dict[str, Any] = {
            "model": self._config.model,
            "messages": messages,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if tools:
            body["tools"] = [{"type": "function", "function": _function(tool)} for tool in tools]
        asked = ModelRequest(self._config, self._path, {}, msgspec.json.encode(encodable(body)), self._timeouts)
        reading = _Reader(self._config, request)
        ask(asked, request.deadline, reading)
        return reading.reply()

    def told(self, reply: Reply, made: Sequence[FinishedCall]) -> list[dict[str, Any]]:
        memory: _Memory = reply.memory
        calls = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": _json(call.params)},
                **({"extra_content": extra} if extra else {}),
            }
            for call, extra in zip(made, memory.extras, strict=True)
        ]
        said = {"role": "assistant", "content": reply.text or None, "tool_calls": calls}
        if memory.thoughts:
            said["reasoning_content"] = memory.thoughts
        results = [{"role": "tool", "tool_call_id": call.id, "content": call.content} for call in made]
        return [said, *results]


def _function(tool: ToolDefinition) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "parameters": tool.parameters}


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


class _Memory(Struct, frozen=True):
    """What some services refuse to go on without, once they have sent it: thoughts, and what comes with a call."""

    thoughts: str
    extras: tuple[Any, ...]


class _FunctionPiece(Struct):
    name: str | None = None
    arguments: str | dict[str, Any] | None = None


class _CallPiece(Struct):
    index: int | None = None
    id: str | None = None
    function: _FunctionPiece | None = None
    extra_content: Any = None


class _Delta(Struct):
    content: str | list[Any] | None = None
    refusal: str | None = None
    reasoning_content: Any = None
    tool_calls: list[_CallPiece] | None = None


class _Choice(Struct):
    index: int | None = None
    delta: _Delta | None = None
    message: _Delta | None = None
    finish_reason: str | None = None


class _Chunk(Struct):
    choices: list[_Choice] | None = None
    usage: Any = None
    error: Any = None


class _Slot:
    """A call while it is put together."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.id = ""
        self.name = ""
        self.arguments = Pieces()
        self.extra: Any = None


class _Reader:
    """A reply while it comes."""

    def __init__(self, config: ModelConfig, request: BrainRequest) -> None:
        self._config = config
        self._say = request.on_text
        self._text = Pieces()
        self._thoughts = Pieces()
        self._slots: list[_Slot] = []
        self._finish = ""
        self._usage: Usage | None = None
        self.is_complete = False

    def take(self, event: ServerEvent) -> bool:
        """Take in what came. True when it was the last."""
        if event.data.strip() == b"[DONE]":
            self.is_complete = True
            return True
        try:
            chunk = msgspec.convert(read_raw_json(event.data), _Chunk)
        except ValueError as e:
            raise invalid_reply(self._config, str(e), event.data) from None
        if chunk.error is not None:
            raise stream_error(self._config, {"error": chunk.error})
        counted = (token_count(chunk.usage, "prompt_tokens"), token_count(chunk.usage, "completion_tokens"))
        if counted != (None, None):
            self._usage = Usage(counted[0] or 0, counted[1] or 0)
        if event.is_whole and not chunk.choices:
            raise invalid_reply(self._config, "it holds no choices", event.data)
        for choice in chunk.choices or ():
            if not choice.index:  # we ask for one, and read the first
                self._take_choice(choice)
        self.is_complete |= event.is_whole
        return event.is_whole

    def _take_choice(self, choice: _Choice) -> None:
        said = choice.delta or choice.message
        if said is not None:
            self._take_words(said)
            for piece in said.tool_calls or ():
                self._take_call(piece)
        if choice.finish_reason:
            self._finish, self.is_complete = choice.finish_reason, True

    def _take_words(self, said: _Delta) -> None:
        content = said.content
        if isinstance(content, list):
            parts = (part.get("text") for part in content if isinstance(part, dict))
            content = "".join(part for part in parts if isinstance(part, str))
        if isinstance(said.reasoning_content, str):
            self._thoughts.add(said.reasoning_content)
        for piece in (content, said.refusal):
            if piece:
                self._say(self._text.add(piece))

    def _take_call(self, piece: _CallPiece) -> None:
        function = piece.function or _FunctionPiece()
        slot = self._slot(piece, function.name)
        if piece.id and piece.id != slot.id:
            slot.id += piece.id
        if function.name and function.name != slot.name:  # some servers repeat it in each piece
            slot.name += function.name
        slot.extra = piece.extra_content or slot.extra
        arguments = function.arguments
        if arguments:
            slot.arguments.add(_json(encodable(arguments)) if isinstance(arguments, dict) else arguments)

    def _slot(self, piece: _CallPiece, name: str | None) -> _Slot:
        """Where a piece belongs: to the call of its index. Some servers give none, or the same to every call."""
        index = piece.index if piece.index is not None else self._guess(piece)
        for slot in reversed(self._slots):
            if slot.index == index:
                is_another = piece.id and name and slot.id and piece.id != slot.id
                if not is_another:
                    return slot
                break
        check_call_count(self._config, len(self._slots) + 1)
        self._slots.append(_Slot(index))
        return self._slots[-1]

    def _guess(self, piece: _CallPiece) -> int:
        last = self._slots[-1] if self._slots else None
        is_new = last is None or (piece.id and piece.id != last.id) or (piece.function and piece.function.name)
        return (0 if last is None else last.index) + (1 if is_new else 0)

    def reply(self) -> Reply:
        slots = sorted(self._slots, key=lambda slot: slot.index)
        wanted = [(encodable(slot.id), encodable(slot.name), slot.arguments.text) for slot in slots]
        stopped = self._finish if self._finish.casefold() in _NOT_BY_ITSELF else ""
        memory = _Memory(self._thoughts.text, tuple(slot.extra for slot in slots))
        return Reply(self._text.text, requested_calls(self._config, wanted), stopped, self._usage, memory)
