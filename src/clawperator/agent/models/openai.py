"""Brain for the OpenAI Chat Completions protocol, which most services and local servers speak."""

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

# Finish reasons with which the model itself ends a reply: of the protocol, and of other services. With any other
# reason the service stopped it.
_ENDED = ("stop", "tool_calls", "function_call", "end_turn", "stop_sequence", "eos", "eos_token", "complete")


class OpenAIBrain(ModelBrain):
    name = "openai"

    def _initial_messages(self, request: BrainRequest) -> list[Message]:
        return [{"role": "system", "content": SYSTEM_PROMPT}, *super()._initial_messages(request)]

    def _ask(
        self, messages: Sequence[Message], settled: int, tools: Sequence[ToolDefinition], request: BrainRequest
    ) -> Reply:
        del settled  # these services find by themselves what they have cached
        body: dict[str, Any] = {
            "model": self._config.model,
            "messages": messages,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        options = self._config.options
        if options.thinking is not None:
            body["reasoning_effort"] = options.thinking
        if options.max_tokens is not None:
            # Models that reason accept only the new name; many local servers know only the old one.
            name = "max_tokens" if options.thinking is None else "max_completion_tokens"
            body[name] = options.max_tokens
        if options.temperature is not None:
            body["temperature"] = options.temperature
        if tools:
            body["tools"] = [tool.openai_form for tool in tools]
        # Base URLs are given with and without /v1. Another path is used as it is.
        path = "/chat/completions" if self._config.base_url.path else "/v1/chat/completions"
        return self._send(path, body, lambda: _Reader(self._config, request), request).reply()

    def _result_messages(self, reply: Reply, results: Sequence[SentResult]) -> list[Message]:
        reasoning, extras = reply.memory  # which some services require back
        calls = [result.call for result in results]
        tool_calls = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": _json(call.params)},
                **({"extra_content": extra} if extra else {}),
            }
            for call, extra in zip(calls, extras, strict=True)
        ]
        message = {"role": "assistant", "content": reply.text or None, "tool_calls": tool_calls}
        if reasoning:
            message["reasoning_content"] = reasoning
        answers = [{"role": "tool", "tool_call_id": result.call.id, "content": result.text} for result in results]
        return [message, *answers, *_images(results)]


def _images(results: Sequence[SentResult]) -> list[Message]:
    """A message with the images: a tool message holds only text."""
    parts: list[dict[str, Any]] = []
    for result in results:
        for image in result.images:
            url = f"data:{image.media_type};base64,{image.data}"
            parts += [
                {"type": "text", "text": f"Image of the result of {result.call.name}, call {result.call.id}:"},
                {"type": "image_url", "image_url": {"url": url}},
            ]
    return [{"role": "user", "content": parts}] if parts else []


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


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


class _CallBuilder:
    """A call that is being received."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.id = ""
        self.name = ""
        self.arguments = StreamedText()
        self.extra: Any = None


class _Reader:
    """A reply that is being received."""

    def __init__(self, config: ModelConfig, request: BrainRequest) -> None:
        self._config = config
        self._on_text = request.on_text
        self._text = StreamedText()
        self._reasoning = StreamedText()
        self._calls: list[_CallBuilder] = []
        self._finish = ""
        self._refused = False
        self._usage: Usage | None = None
        self.is_complete = False

    def add(self, event: ServerEvent) -> bool:
        """Add an event. True when it was the last."""
        if event.data.strip() == b"[DONE]":
            self.is_complete = True
            return True
        try:
            chunk = msgspec.convert(read_raw_json(event.data), _Chunk)
        except ValueError as e:
            raise invalid_reply(self._config, str(e), event.data) from None
        if chunk.error is not None:
            raise stream_error(self._config, {"error": chunk.error})
        counts = (token_count(chunk.usage, "prompt_tokens"), token_count(chunk.usage, "completion_tokens"))
        if counts != (None, None):
            details = chunk.usage.get("prompt_tokens_details")
            cached = token_count(details, "cached_tokens") or 0
            self._usage = Usage(counts[0] or 0, counts[1] or 0, min(cached, counts[0] or 0), requests=1)
        if event.is_whole and not chunk.choices:
            raise invalid_reply(self._config, "no choices", event.data)
        for choice in chunk.choices or ():
            if not choice.index:  # one is requested; read the first
                self._add_choice(choice)
        self.is_complete |= event.is_whole
        return event.is_whole

    def _add_choice(self, choice: _Choice) -> None:
        delta = choice.delta or choice.message
        if delta is not None:
            self._add_text(delta)
            for piece in delta.tool_calls or ():
                self._add_call(piece)
        if choice.finish_reason:
            self._finish, self.is_complete = choice.finish_reason, True

    def _add_text(self, delta: _Delta) -> None:
        content = delta.content
        if isinstance(content, list):
            parts = (part.get("text") for part in content if isinstance(part, dict))
            content = "".join(part for part in parts if isinstance(part, str))
        if isinstance(delta.reasoning_content, str):
            self._reasoning.add(delta.reasoning_content)
        if delta.refusal:
            self._refused = True
        for piece in (content, delta.refusal):
            if piece:
                self._on_text(self._text.add(piece))

    def _add_call(self, piece: _CallPiece) -> None:
        function = piece.function or _FunctionPiece()
        call = self._builder(piece, function.name)
        if piece.id and piece.id != call.id:
            call.id += piece.id
        if function.name and function.name != call.name:  # some servers repeat it in each piece
            call.name += function.name
        call.extra = piece.extra_content or call.extra
        arguments = function.arguments
        if arguments:
            call.arguments.add(_json(encodable(arguments)) if isinstance(arguments, dict) else arguments)

    def _builder(self, piece: _CallPiece, name: str | None) -> _CallBuilder:
        """The call a piece belongs to, by its index. Some servers send none, or the same one for every call."""
        index = piece.index if piece.index is not None else self._guess_index(piece)
        for call in reversed(self._calls):
            if call.index == index:
                is_another = piece.id and name and call.id and piece.id != call.id
                if not is_another:
                    return call
                break
        check_call_count(self._config, len(self._calls) + 1)
        self._calls.append(_CallBuilder(index))
        return self._calls[-1]

    def _guess_index(self, piece: _CallPiece) -> int:
        last = self._calls[-1] if self._calls else None
        is_new = last is None or (piece.id and piece.id != last.id) or (piece.function and piece.function.name)
        return (0 if last is None else last.index) + (1 if is_new else 0)

    def reply(self) -> Reply:
        calls = sorted(self._calls, key=lambda call: call.index)
        given = [(encodable(call.id), encodable(call.name), call.arguments.text) for call in calls]
        stopped = "refusal" if self._refused else stop_reason(self._finish, _ENDED)
        memory = (self._reasoning.text, [call.extra for call in calls])
        return Reply(self._text.text, requested_calls(self._config, given), stopped, self._usage, memory)
