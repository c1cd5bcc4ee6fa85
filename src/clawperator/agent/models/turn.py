"""A turn with a model, in whatever dialect its service speaks: ask, have its calls made, tell it, and so on.

The text of the answer is all that the model said during the turn, word for word what went to ``say``. A turn is
``done`` when the model ended it by itself. A service that fails before its first reply is raised; one that fails
later leaves an answer that is ``failed``, so that what was said, done and used until then is not lost.
"""

import os
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from clawperator._text import encodable
from clawperator.agent.foreign_json import read_json
from clawperator.agent.models.config import ModelConfig
from clawperator.agent.models.http import invalid_reply, stopped_reply
from clawperator.agent.models.tools import ToolDefinition, define_tool, wire_name, wire_names
from clawperator.agent.ports import Answer, BrainRequest, Tool, ToolCall, ToolResult, Usage
from clawperator.errors import ClawError

MOST_CALLS = 64
LONGEST_RESULT = 20_000
_MOST_USELESS_REPLIES = 5
_MOST_TOKENS = 10**12
_PARAGRAPH = "\n\n"


class RequestedCall(Struct, frozen=True):
    """A call as the model wrote it. ``arguments`` should be the text of a JSON object."""

    id: str
    name: str
    arguments: str


class Reply(Struct, frozen=True):
    """One reply of a model. ``stopped`` names the reason when it did not end by itself.

    ``memory`` is what its dialect needs to tell the reply again: services want their thoughts back with the calls.
    """

    text: str
    calls: tuple[RequestedCall, ...] = ()
    stopped: str = ""
    usage: Usage | None = None
    memory: Any = None


class FinishedCall(Struct, frozen=True):
    """A call that was dealt with, as it is remembered, and what the model is told of it."""

    id: str
    name: str
    params: Mapping[str, Any]
    content: str
    failed: bool


class Dialect(Protocol):
    """How a service is spoken to. Messages are the dialect's own objects."""

    def opening(self, request: BrainRequest) -> list[dict[str, Any]]: ...

    def ask(
        self, messages: Sequence[dict[str, Any]], tools: Sequence[ToolDefinition], request: BrainRequest
    ) -> Reply: ...

    def told(self, reply: Reply, made: Sequence[FinishedCall]) -> list[dict[str, Any]]: ...


class ModelBrain:
    """Thinks by asking a model in a dialect. It keeps nothing between two turns."""

    def __init__(self, name: str, dialect: Dialect, config: ModelConfig) -> None:
        self.name = name
        self._dialect = dialect
        self._config = config

    def respond(self, request: BrainRequest) -> Generator[ToolCall, ToolResult, Answer]:
        return converse(self._dialect, self._config, request)


def converse(
    dialect: Dialect, config: ModelConfig, request: BrainRequest
) -> Generator[ToolCall, ToolResult, Answer]:
    """The turn, as the port for brains wants it."""
    names = wire_names(request.tools)
    offered = [define_tool(name, tool) for name, tool in names.items()]
    talk = _Talk(request.on_text)
    messages = dialect.opening(request)
    useless = 0
    while True:
        request.deadline.check()
        talk.begin()
        try:
            if useless >= _MOST_USELESS_REPLIES:
                raise invalid_reply(config, f"{useless} replies in a row held no call that could be made")
            reply = dialect.ask(messages, offered, msgspec.structs.replace(request, on_text=talk.say))
            talk.end(reply)
            request.on_usage(reply.usage or Usage())
        except ClawError as e:
            if not talk.replies:
                raise
            talk.begin()
            talk.say(f"[Broken off: {e.message}]")
            return Answer(talk.text, "failed", e, talk.usage)
        if not reply.calls:
            return _answer(config, reply, talk)
        made: list[FinishedCall] = []
        useless += 1
        for call in reply.calls:
            request.deadline.check()
            wanted = _read_call(call, names)
            if isinstance(wanted, ToolCall):
                useless = 0
                result = yield wanted
                made.append(_made(call, wanted.params, result, is_mcp=names[call.name].family == "mcp"))
            else:
                made.append(_made(call, {}, ToolResult(False, wanted.message, error=wanted)))
        messages += dialect.told(reply, made)


def _answer(config: ModelConfig, reply: Reply, talk: "_Talk") -> Answer:
    """The end of a turn. One that the service stopped is not what the model had to say."""
    if not talk.text.strip():
        talk.say("[The model ended its turn without a word.]")
    if not reply.stopped:
        return Answer(talk.text, usage=talk.usage)
    return Answer(talk.text, "failed", stopped_reply(config, reply.stopped), talk.usage)


class _Talk:
    """What was said and used in a turn. Replies are paragraphs."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._said: list[str] = []
        self._is_fresh = False
        self.replies = 0
        self.usage: Usage | None = None

    @property
    def text(self) -> str:
        return "".join(self._said)

    def begin(self) -> None:
        self._is_fresh = bool(self._said)

    def say(self, piece: str) -> None:
        if not piece:
            return
        if self._is_fresh:
            piece = _PARAGRAPH + piece
            self._is_fresh = False
        self._said.append(piece)
        self._say(piece)

    def end(self, reply: Reply) -> None:
        self.replies += 1
        if reply.stopped:
            self._is_fresh = bool(self._said)
            self.say(f"[The reply is not complete: the service stopped it ({reply.stopped}).]")
        if reply.usage is not None:
            used = self.usage or Usage()
            self.usage = Usage(
                used.input_tokens + reply.usage.input_tokens, used.output_tokens + reply.usage.output_tokens
            )


def requested_calls(config: ModelConfig, wanted: Sequence[tuple[str, str, str]]) -> tuple[RequestedCall, ...]:
    """The calls of a reply: id, name and arguments of each. One without an id of its own is given one."""
    check_call_count(config, len(wanted))
    calls: list[RequestedCall] = []
    seen: set[str] = set()
    for given, name, arguments in wanted:
        own = given if given and given not in seen else f"call_{os.urandom(8).hex()}"
        seen.add(own)
        calls.append(RequestedCall(own, name, arguments))
    return tuple(calls)


def check_call_count(config: ModelConfig, count: int) -> None:
    if count > MOST_CALLS:
        raise invalid_reply(config, f"it holds more than {MOST_CALLS} calls")


def token_count(usage: Any, name: str) -> int | None:
    """A number of tokens, if it is told. What a service counts is no reason to lose its reply."""
    counted = usage.get(name) if isinstance(usage, dict) else None
    if isinstance(counted, bool) or not isinstance(counted, int | float) or not 0 <= counted < _MOST_TOKENS:
        return None
    return int(counted)


def conversation_messages(request: BrainRequest) -> list[dict[str, Any]]:
    """The earlier turns and the prompt, as both dialects tell them."""
    told = []
    for exchange in request.history:
        told.append({"role": "user", "content": _remembered(exchange.prompt)})
        told.append({"role": "assistant", "content": _remembered(exchange.output)})
    return [*told, {"role": "user", "content": _remembered(request.prompt)}]


def _remembered(text: str) -> str:
    """A text of the conversation. Services refuse one that is blank."""
    return text if text.strip() else "(nothing)"


def _read_call(call: RequestedCall, names: Mapping[str, Tool]) -> ToolCall | ClawError:
    tool = names.get(call.name)
    if tool is None:
        said = f"there is no tool {call.name[:100]!r}"
        return ClawError(
            "TOOL_NOT_FOUND", said, hint="Use a tool you were given.", operation="call", target=call.name
        )
    problem = "they are no object"
    try:
        params = read_json(call.arguments) if call.arguments.strip() else {}
        if isinstance(params, dict):
            return ToolCall(tool.name, params, call.id)
    except ValueError as e:
        problem = str(e)
    return ClawError(
        "TOOL_PAYLOAD_INVALID",
        f"the arguments are not a JSON object ({problem}): {call.arguments[:200]}",
        hint="Make the call again, its arguments one complete JSON object.",
        operation="call",
        target=tool.name,
    )


def _made(
    call: RequestedCall, params: Mapping[str, Any], result: ToolResult, *, is_mcp: bool = False
) -> FinishedCall:
    content = _foreign_content(result) if is_mcp and isinstance(result.result, dict) else _content(result)
    return FinishedCall(call.id, wire_name(call.name), params, _limited(content), failed=not result.handled)


def _content(result: ToolResult) -> str:
    """What a model is told of a call: the message, why it failed, and the whole result."""
    lines = [result.message]
    if not result.handled:
        lines = [f"Not done: {result.message}"]
        if result.error is not None:
            told = {"code": result.error.code, "message": result.error.message, "hint": result.error.hint}
            lines.append(_compact({name: value for name, value in told.items() if value}))
    if result.result is not None:
        lines.append(_compact(result.result))
    return "\n".join(lines)


def _foreign_content(result: ToolResult) -> str:
    """The result of a tool of an MCP server says itself what its message and its error say."""
    from clawperator.agent.mcp.content import for_model

    return f"{'' if result.handled else 'Not done: '}{for_model(result.result)}"


def _limited(text: str) -> str:
    if len(text) <= LONGEST_RESULT:
        return text
    return f"{text[:LONGEST_RESULT]}\n[cut off: {len(text) - LONGEST_RESULT} more characters are not shown]"


def _compact(value: Any) -> str:
    try:
        return msgspec.json.encode(encodable(value), enc_hook=str).decode()
    except (TypeError, ValueError, RecursionError):  # nothing a tool returns may end the turn
        return str(encodable(repr(value)))
