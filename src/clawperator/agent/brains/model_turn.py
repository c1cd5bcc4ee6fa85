"""A turn with a model, in whatever dialect its service speaks: ask, have its calls made, tell it, and so on.

The text of the answer is all that the model said during the turn, word for word what went to ``say``. A turn is
``done`` when the model ended it by itself. A service that fails before its first reply is raised; one that fails
later leaves an answer that is ``failed``, so that what was said, done and used until then is not lost.
"""

import os
import re
import zlib
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from clawperator.agent.brains.model_config import ModelConfig
from clawperator.agent.brains.model_http import not_an_answer
from clawperator.agent.foreign_json import read_json
from clawperator.agent.ports import Answer, Request, Tool, ToolCall, ToolResult, Usage
from clawperator.contract.errors import ClawError
from clawperator.contract.text import encodable

MOST_CALLS = 64
LONGEST_RESULT = 20_000
_LONGEST_NAME = 64
_MOST_USELESS_REPLIES = 5
_NOT_OF_A_NAME = re.compile(r"[^A-Za-z0-9_-]")
_PARAGRAPH = "\n\n"


class WantedCall(Struct, frozen=True):
    """A call as the model wrote it. ``arguments`` should be the text of a JSON object."""

    id: str
    name: str
    arguments: str


class Reply(Struct, frozen=True):
    """One reply of a model. ``stopped`` names the reason when it did not end by itself."""

    text: str
    calls: tuple[WantedCall, ...] = ()
    stopped: str = ""
    usage: Usage | None = None


class OfferedTool(Struct, frozen=True):
    """A tool under the name that services accept."""

    name: str
    description: str
    parameters: dict[str, Any]


class MadeCall(Struct, frozen=True):
    """A call that was dealt with, as it is remembered, and what the model is told of it."""

    id: str
    name: str
    params: Mapping[str, Any]
    content: str
    failed: bool


class Dialect(Protocol):
    """How a service is spoken to. Messages are the dialect's own objects."""

    def opening(self, request: Request) -> list[dict[str, Any]]: ...

    def ask(self, messages: Sequence[dict[str, Any]], tools: Sequence[OfferedTool], request: Request) -> Reply: ...

    def told(self, reply: Reply, made: Sequence[MadeCall]) -> list[dict[str, Any]]: ...


def converse(dialect: Dialect, config: ModelConfig, request: Request) -> Generator[ToolCall, ToolResult, Answer]:
    """The turn, as the port for brains wants it."""
    names = wire_names(request.tools)
    offered = [_offer(name, tool) for name, tool in names.items()]
    talk = _Talk(request.say)
    messages = dialect.opening(request)
    useless = 0
    while True:
        request.watch.check()
        talk.begin()
        try:
            if useless >= _MOST_USELESS_REPLIES:
                raise not_an_answer(config, f"{useless} replies in a row held no call that could be made")
            reply = dialect.ask(messages, offered, msgspec.structs.replace(request, say=talk.say))
            talk.end(reply)
        except ClawError as e:
            if not talk.replies:
                raise
            talk.begin()
            talk.say(f"[Broken off: {e.message}]")
            return Answer(talk.text, "failed", e, talk.usage)
        if not reply.calls:
            return Answer(talk.text, usage=talk.usage)
        made: list[MadeCall] = []
        useless += 1
        for call in reply.calls:
            request.watch.check()
            wanted = _read_call(call, names)
            if isinstance(wanted, ToolCall):
                useless = 0
                result = yield wanted
                made.append(_made(call, wanted.params, result))
            else:
                made.append(_made(call, {}, ToolResult(False, wanted.message, error=wanted)))
        messages += dialect.told(reply, made)


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


def gather_calls(config: ModelConfig, wanted: Sequence[tuple[str, str, str]]) -> tuple[WantedCall, ...]:
    """The calls of a reply: id, name and arguments of each. One without an id of its own is given one."""
    check_call_count(config, len(wanted))
    calls: list[WantedCall] = []
    seen: set[str] = set()
    for given, name, arguments in wanted:
        own = given if given and given not in seen else f"call_{os.urandom(8).hex()}"
        seen.add(own)
        calls.append(WantedCall(own, name, arguments))
    return tuple(calls)


def check_call_count(config: ModelConfig, count: int) -> None:
    if count > MOST_CALLS:
        raise not_an_answer(config, f"it holds more than {MOST_CALLS} calls")


def remembered(text: str) -> str:
    """A text of the conversation. Services refuse one that is blank."""
    return text if text.strip() else "(nothing)"


def wire_names(tools: Sequence[Tool]) -> dict[str, Tool]:
    """Each tool under a name of letters, digits, _ and -, 64 at most. Names that fit stay as they are."""
    names = {tool.name: tool for tool in reversed(tools) if wire_name(tool.name) == tool.name}
    for tool in tools:
        if wire_name(tool.name) == tool.name:
            continue
        name = wire_name(tool.name)
        if name in names or len(tool.name) > _LONGEST_NAME:
            # The sum keeps apart what looks alike once it is cut, and is the same in every turn.
            name = f"{name[: _LONGEST_NAME - 9]}_{zlib.crc32(tool.name.encode('utf-8', 'replace')):08x}"
        names.setdefault(name, tool)
    order = {id(tool): at for at, tool in enumerate(tools)}
    return dict(sorted(names.items(), key=lambda item: order[id(item[1])]))


def wire_name(name: str) -> str:
    return _NOT_OF_A_NAME.sub("_", name)[:_LONGEST_NAME] or "_"


def _offer(name: str, tool: Tool) -> OfferedTool:
    return OfferedTool(name, tool.responsibility, _object_schema(tool.schema()))


def _object_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with the object itself at its top, where services look for it, and not a reference to it."""
    top = dict(schema)
    reference = top.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/$defs/"):
        target = top.get("$defs", {}).get(reference.removeprefix("#/$defs/"))
        if isinstance(target, dict):
            del top["$ref"]
            top = {**target, **top}
    top.pop("$schema", None)
    return {**top, "type": "object", "properties": top.get("properties", {})}


def _read_call(call: WantedCall, names: Mapping[str, Tool]) -> ToolCall | ClawError:
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


def _made(call: WantedCall, params: Mapping[str, Any], result: ToolResult) -> MadeCall:
    return MadeCall(call.id, wire_name(call.name), params, _content(result), failed=not result.handled)


def _content(result: ToolResult) -> str:
    """What a model is told of a call: the message, why it failed, and the whole result if it is not too long."""
    lines = [result.message]
    if not result.handled:
        lines = [f"Not done: {result.message}"]
        if result.error is not None:
            told = {"code": result.error.code, "message": result.error.message, "hint": result.error.hint}
            lines.append(_compact({name: value for name, value in told.items() if value}))
    if result.result is not None:
        lines.append(_compact(result.result))
    text = "\n".join(lines)
    if len(text) <= LONGEST_RESULT:
        return text
    return f"{text[:LONGEST_RESULT]}\n[cut off: {len(text) - LONGEST_RESULT} more characters are not shown]"


def _compact(value: Any) -> str:
    try:
        return msgspec.json.encode(encodable(value), enc_hook=str).decode()
    except (TypeError, ValueError, RecursionError):  # nothing a tool returns may end the turn
        return str(encodable(repr(value)))
