"""MCP tools as tools of the agent: ``mcp__<server>__<tool>``.

The level of a tool comes from its annotations: a read-only tool is read-only, a destructive or open-world tool
requires full, any other requires act. The user chose to run the server; to distrust it, deny its tools by name.

A result is a list of content blocks, often repeated as one JSON document. Models get all text once; images, audio
and other binary data are only named.
"""

import asyncio
import re
import threading
from collections import Counter
from collections.abc import Coroutine, Mapping
from concurrent.futures import CancelledError, Future, wait
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

import msgspec
from msgspec import Struct

from clawperator._base.text import printable
from clawperator._base.typed import compact_json, read_json
from clawperator.agent.cancellation import TurnCancelledError, TurnDeadline
from clawperator.agent.ports import Tool, ToolContext, ToolResult, failed_result
from clawperator.agent.settings import McpServer
from clawperator.contract.fields import Level
from clawperator.errors import ClawError, RefusedError, extra

if TYPE_CHECKING:  # the module needs the extra
    from clawperator.agent.mcp.client import ServerConnection


T = TypeVar("T")

_INVALID_IN_NAME = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_NAME = 256
_LONGEST_DESCRIPTION = 1_000
_LARGEST_SCHEMA = 64 * 1024
_MOST_AT_ONCE = 8
_POLL_SECONDS = 0.1
_CLOSE_SECONDS = 10.0

_Listed = list[dict[str, Any]]
_LONGEST_LINE = 300
_LONGEST_DOCUMENT = 1_000_000
_KILOBYTE = 1_000


class ServerReport(Struct, frozen=True):
    """The status of one server. ``error`` and the fields after it are set when it failed."""

    name: str
    status: Literal["ready", "failed"]
    tool_count: int = 0
    error: str | None = None
    code: str | None = None
    hint: str | None = None
    details: Mapping[str, Any] | None = None


class Discovery(Struct, frozen=True):
    """The tools of all working servers, a report of each server, warnings about tools, and the failures."""

    tools: tuple[Tool, ...]
    servers: tuple[ServerReport, ...]
    warnings: tuple[str, ...] = ()
    failures: tuple[ClawError, ...] = ()


class McpPool:
    """Servers that run until the ``with`` block ends, connected on an event loop in a thread of its own.

    Its methods are for other threads, and raise ``TurnCancelledError`` after the deadline that they are given.
    """

    def __init__(self, deadline: TurnDeadline) -> None:
        self._deadline = deadline
        self._connections: dict[str, ServerConnection] = {}
        self._loop = asyncio.new_event_loop()
        self._end = asyncio.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True, name="mcp")
        self._has_ended = threading.Event()  # an interrupted join takes a running thread for one that has ended

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop all servers, with a shorter grace after the deadline. A second interrupt kills them."""
        self._loop.call_soon_threadsafe(self._end.set)
        try:
            self._has_ended.wait(_CLOSE_SECONDS)
        finally:
            if not self._has_ended.is_set():
                for connection in list(self._connections.values()):
                    connection.kill()
        self._thread.join(_CLOSE_SECONDS)

    def list_tools(
        self, servers: Mapping[str, McpServer], deadline: TurnDeadline
    ) -> dict[str, _Listed | ClawError]:
        """Start the servers, a few at the same time, and list their tools, or why there are none."""
        limit = asyncio.Semaphore(_MOST_AT_ONCE)

        async def list_tools(name: str, server: McpServer) -> _Listed | ClawError:
            try:
                with extra("mcp"):
                    from clawperator.agent.mcp.client import ServerConnection
                async with limit:
                    connection = self._connections[name] = ServerConnection(name, server)
                    return await connection.list_tools()
            except ClawError as e:
                return e
            except Exception as e:  # noqa: BLE001 - servers fail independently
                message = _cut(f"MCP server {name} failed: {type(e).__name__}: {e}")
                return ClawError("UNKNOWN", message, operation="mcp.tool_discovery", target=name)

        async def list_all() -> list[_Listed | ClawError]:
            return await asyncio.gather(*map(list_tools, servers, servers.values()))

        return dict(zip(servers, self._result(list_all(), deadline), strict=True))

    def call(self, server: str, tool: str, params: Mapping[str, Any], deadline: TurnDeadline) -> dict[str, Any]:
        """Call a tool of a server. ``TurnCancelledError`` after the deadline; the server is stopped then."""
        connection = self._connections[server]
        deadline.check()
        try:
            return self._result(connection.call(tool, params), deadline)
        except TurnCancelledError:
            if not self._has_ended.is_set():
                wait([self._start(connection.close(is_quick=True))], _CLOSE_SECONDS)
            raise

    def _start(self, request: Coroutine[Any, Any, T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(request, self._loop)

    def _result(self, request: Coroutine[Any, Any, T], deadline: TurnDeadline) -> T:
        future = self._start(request)
        while not future.done():
            deadline.check()
            wait([future], deadline.within(_POLL_SECONDS))
        try:
            return future.result()
        except CancelledError:  # the pool was closed
            raise TurnCancelledError from None

    def _serve(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._run())
        self._has_ended.set()

    async def _run(self) -> None:
        await self._end.wait()
        is_quick = self._deadline.is_over
        await asyncio.gather(*(connection.close(is_quick=is_quick) for connection in self._connections.values()))


def discover(servers: Mapping[str, McpServer], deadline: TurnDeadline, pool: McpPool) -> Discovery:
    """List the tools of all servers in parallel. They fail independently, and keep running for later calls."""
    found = pool.list_tools(servers, deadline)
    named, warnings = _name_tools(found)
    counts = Counter(server for _, server, _ in named)
    failures = tuple(error for error in found.values() if isinstance(error, ClawError))
    return Discovery(
        tuple(_tool(name, pool, server, entry) for name, server, entry in named),
        tuple(_report(name, counts[name], listed) for name, listed in found.items()),
        tuple(warnings),
        failures,
    )


def may_provide(server: str, tool: str) -> bool:
    """Whether a tool of this name can belong to the server."""
    return tool.strip().casefold().startswith(_prefix(server).casefold())


def _report(name: str, count: int, listed: _Listed | ClawError) -> ServerReport:
    if isinstance(listed, list):
        return ServerReport(name, "ready", count)
    hint = f"{listed.hint.removesuffix('.')}, or add --no-mcp." if listed.hint else None
    return ServerReport(name, "failed", 0, listed.message, listed.code, hint, listed.details)


def _name_tools(
    found: Mapping[str, _Listed | ClawError],
) -> tuple[list[tuple[str, str, dict[str, Any]]], list[str]]:
    """The name, the server and the description of each tool, with warnings.

    Names are case-insensitive and unique. Valid names are assigned before changed ones, so that a rule for a name
    applies to the tool that really has it.
    """
    warnings: list[str] = []
    entries: dict[tuple[str, str], dict[str, Any]] = {}
    for server, listed in found.items():
        for entry in listed if isinstance(listed, list) else ():
            if problem := _problem(entry):
                warnings.append(f"MCP server {server}: {problem}")
            elif (server, entry["name"]) in entries:
                name = printable(entry["name"])
                warnings.append(f"MCP server {server}: duplicate tool {name}; the first one is used")
            else:
                entries[server, entry["name"]] = entry
    names: dict[tuple[str, str], str] = {}
    taken: set[str] = set()
    for server, tool in sorted(entries, key=lambda key: _clean("".join(key)) != "".join(key)):
        plain = name = f"{_prefix(server)}{_clean(tool)}"
        number = 1
        while name.casefold() in taken:
            number += 1
            name = f"{plain}_{number}"
        if number > 1:
            warnings.append(f"MCP server {server}: tool {printable(tool)} is available as {name}")
        taken.add(name.casefold())
        names[server, tool] = name
    return [(names[key], key[0], entry) for key, entry in entries.items()], warnings


def _problem(entry: dict[str, Any]) -> str:
    """Why a tool cannot be used; empty for a usable one."""
    tool = entry.get("name")
    if not isinstance(tool, str) or not 0 < len(tool) <= _LONGEST_NAME:
        return "tool without a valid name; ignored"
    if len(msgspec.json.encode(entry.get("inputSchema"))) > _LARGEST_SCHEMA:
        return f"tool {printable(tool)} has a schema over 64 kB; ignored"
    execution = entry.get("execution")
    if isinstance(execution, dict) and execution.get("taskSupport") == "required":
        return f"tool {printable(tool)} requires task support; ignored"
    return ""


def _prefix(server: str) -> str:
    return f"mcp__{_clean(server)}__"


def _clean(text: str) -> str:
    return _INVALID_IN_NAME.sub("_", text)


def _tool(name: str, pool: McpPool, server: str, entry: dict[str, Any]) -> Tool:
    tool: str = entry["name"]
    schema = entry.get("inputSchema")
    return Tool(
        name=name,
        responsibility=_description(entry) or f"Tool {printable(tool)} of MCP server {server}.",
        source_hint=f"mcp/{server}/{printable(tool)}",
        level=level_of(entry.get("annotations")),
        schema=lambda: dict(schema) if isinstance(schema, dict) else {"type": "object"},
        run=partial(_run, pool, server, tool),
        family="mcp",
    )


def _description(entry: dict[str, Any]) -> str:
    for name in ("description", "title"):
        text = entry.get(name)
        if isinstance(text, str) and text.strip():
            return printable(" ".join(text.split()))[:_LONGEST_DESCRIPTION]
    return ""


def level_of(annotations: Any) -> Level:
    """The level of a tool by its annotations."""
    hints = annotations if isinstance(annotations, dict) else {}
    if hints.get("destructiveHint") is True or hints.get("openWorldHint") is True:
        return "full"
    return "read-only" if hints.get("readOnlyHint") is True else "act"


def _run(pool: McpPool, server: str, tool: str, params: Mapping[str, Any], context: ToolContext) -> ToolResult:
    try:
        result = pool.call(server, tool, params, context.deadline)
    except ClawError as e:
        return failed_result(e)
    except RefusedError as e:
        return failed_result(_tool_failed(server, tool, str(e)))
    message = headline(tool, result)
    if result.get("isError") is True:
        return ToolResult(False, message, result, _tool_failed(server, tool, message))
    return ToolResult(True, message, result)


def _tool_failed(server: str, tool: str, message: str) -> ClawError:
    message = f"tool {tool} of MCP server {server} failed: {message}"
    details, target = {"server": server, "tool": tool, "phase": "invocation"}, f"{server}/{tool}"
    return ClawError("MCP_TOOL_FAILED", message, details=details, operation="mcp.invocation", target=target)


# Results


def headline(tool: str, result: dict[str, Any]) -> str:
    """One line: the first line of the text, or for an error or a JSON document all of it."""
    text = "\n".join(text for text in map(_block_text, _blocks(result)) if text).strip()
    if not text and result.get("structuredContent") is not None:
        text = compact_json(result["structuredContent"])
    if not text:
        summary = ", ".join(filter(None, map(_describe, _blocks(result))))
        return _cut(f"{printable(tool)} returned {summary}" if summary else f"{printable(tool)} returned no text")
    if result.get("isError") is True or text.startswith(("{", "[")):
        return _cut(printable(" ".join(text.split())))
    return _cut(printable(text.split("\n", 1)[0].strip()))


def _cut(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else line[:_LONGEST_LINE] + "…"


def model_text(result: dict[str, Any]) -> str:
    lines: list[str] = []
    texts: list[Any] = []
    for block in _blocks(result):
        if block.get("type") != "text":
            lines.append(f"[{_describe(block)}]")
        text = _block_text(block)
        if text is not None:
            texts.append(_read(text))
            lines.append(_plain(texts[-1]))
    structured = result.get("structuredContent")
    if structured is not None and not _is_repeated(structured, texts):
        lines.append(compact_json(structured))
    return "\n".join(lines) or "(nothing)"


def _blocks(result: dict[str, Any]) -> list[dict[str, Any]]:
    content = result.get("content")
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _block_text(block: dict[str, Any]) -> str | None:
    """The text of a block, or of the resource it holds."""
    holder = block.get("resource") if block.get("type") == "resource" else block
    text = holder.get("text") if isinstance(holder, dict) and block.get("type") in ("text", "resource") else None
    return text if isinstance(text, str) else None


def _describe(block: dict[str, Any]) -> str:
    """The kind and properties of a block without text."""
    kind = block.get("type")
    if kind in ("image", "audio"):
        return _label("an image" if kind == "image" else "audio", block.get("mimeType"), _size(block.get("data")))
    if kind == "resource":
        held = block.get("resource")
        held = held if isinstance(held, dict) else {}
        return _label("a resource", held.get("uri"), held.get("mimeType"), _size(held.get("blob")))
    if kind == "resource_link":
        return _label("a link", block.get("name"), block.get("uri"), block.get("description"))
    return "" if kind == "text" else _label("content", kind)


def _label(kind: str, *facts: Any) -> str:
    known = [_cut(printable(" ".join(fact.split()))) for fact in facts if isinstance(fact, str) and fact.strip()]
    return f"{kind} ({', '.join(known)})" if known else kind


def _size(data: Any) -> str:
    """The size of base64 data."""
    size = len(data) * 3 // 4 if isinstance(data, str) else 0
    return f"{max(size // _KILOBYTE, 1)} kB" if size else ""


def _read(text: str) -> Any:
    """The object or list that a text encodes, or the text itself."""
    if len(text) <= _LONGEST_DOCUMENT and text.lstrip().startswith(("{", "[")):
        with suppress(ValueError):
            return read_json(text)
    return text


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else compact_json(value)


def _is_repeated(structured: Any, texts: list[Any]) -> bool:
    """Whether the texts repeat the document. Servers wrap other values as ``{"result": ...}``."""
    values = list(structured.values()) if isinstance(structured, dict) else []
    wrapped = values[0] if len(values) == 1 else structured
    items = wrapped if isinstance(wrapped, list) else [wrapped]
    return structured in texts or wrapped in texts or list(map(_plain, items)) == list(map(_plain, texts))
