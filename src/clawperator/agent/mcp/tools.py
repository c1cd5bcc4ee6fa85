"""MCP tools as tools of the agent: ``mcp__<server>__<tool>``.

The level of a tool comes from its annotations: a read-only tool is read-only, a destructive or open-world tool
requires full, any other requires act. The user chose to run the server; to distrust it, deny its tools by name.
"""

import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import copy_context
from functools import partial
from types import TracebackType
from typing import Any, Literal, Self

import msgspec
from msgspec import Struct

from clawperator._base.text import printable
from clawperator.agent.cancellation import TurnCancelledError, TurnDeadline
from clawperator.agent.mcp.client import McpServerClient, tool_failed
from clawperator.agent.mcp.content import cut, headline
from clawperator.agent.ports import Level, Tool, ToolContext, ToolResult
from clawperator.agent.settings import McpServer
from clawperator.errors import ClawError

_INVALID_IN_NAME = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_NAME = 256
_LONGEST_DESCRIPTION = 1_000
_LARGEST_SCHEMA = 64 * 1024
_MOST_AT_ONCE = 8
_POLL_SECONDS = 0.1

_Listed = list[dict[str, Any]]


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
    """The tools of all working servers, a report of each server, and warnings about tools."""

    tools: tuple[Tool, ...]
    servers: tuple[ServerReport, ...]
    warnings: tuple[str, ...] = ()


class _PooledServer:
    """A server of a pool with its lock."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.client: McpServerClient | None = None


class McpPool:
    """Servers that keep running until the ``with`` block ends. Calls to one server are serialized."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._servers: dict[str, _PooledServer] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def client(self, name: str, server: McpServer, deadline: TurnDeadline) -> Iterator[McpServerClient]:
        """The client of a server, exclusively. A server that has exited is restarted."""
        with self._lock:
            pooled = self._servers.setdefault(name, _PooledServer())
        while not pooled.lock.acquire(timeout=_POLL_SECONDS):
            deadline.check()
        try:
            if pooled.client is None or not pooled.client.is_alive:
                if pooled.client is not None:
                    pooled.client.close()
                pooled.client = McpServerClient(name, server, deadline)
                pooled.client.open()
            yield pooled.client
        finally:
            pooled.lock.release()

    def close(self) -> None:
        """Stop all servers in parallel."""
        with self._lock:
            servers, self._servers = list(self._servers.values()), {}
        clients = [pooled.client for pooled in servers if pooled.client is not None]
        _run_parallel([client.close for client in clients])


def discover(
    servers: Mapping[str, McpServer], deadline: TurnDeadline, *, pool: McpPool | None = None
) -> Discovery:
    """List the tools of all servers in parallel. They fail independently.

    With a pool the servers keep running for later calls. Without one, each call starts its server.
    """
    found: dict[str, _Listed | ClawError] = {}

    def list_tools(name: str, server: McpServer) -> None:
        try:
            with _Origin(name, server, pool).client(deadline) as client:
                found[name] = client.list_tools(deadline)
        except ClawError as e:
            found[name] = e
        except TurnCancelledError:
            pass  # the waiting thread checks the deadline, too
        except Exception as e:  # noqa: BLE001 - servers fail independently
            message = cut(f"MCP server {name} failed: {type(e).__name__}: {e}")
            found[name] = ClawError("UNKNOWN", message, operation="mcp.tool_discovery", target=name)

    try:
        _run_parallel([partial(list_tools, name, server) for name, server in servers.items()])
    except BaseException:
        deadline.cancel()
        raise
    deadline.check()
    names, warnings = _name_tools({name: found[name] for name in servers})
    tools: list[Tool] = []
    reports: list[ServerReport] = []
    for name, server in servers.items():
        listed = found[name]
        if isinstance(listed, ClawError):
            reports.append(_report(name, listed))
            continue
        origin = _Origin(name, server, pool)
        own = [_tool(tool_name, origin, entry) for tool_name, entry in names[name]]
        reports.append(ServerReport(name, "ready", len(own)))
        tools += own
    return Discovery(tuple(tools), tuple(reports), tuple(warnings))


def may_provide(server: str, tool: str) -> bool:
    """Whether a tool of this name can belong to the server."""
    return tool.strip().casefold().startswith(_prefix(server).casefold())


def server_error(report: ServerReport) -> ClawError:
    """The error of a failed server, for a caller that needs it."""
    details = dict(report.details or {})
    hint = (report.hint or "").replace(", or add --no-mcp", "")
    return ClawError(
        report.code or "MCP_SERVER_FAILED",
        report.error or f"MCP server {report.name} failed",
        hint=hint or None,
        details=details,
        operation=f"mcp.{details.get('phase', 'tool_discovery')}",
        target=report.name,
    )


def _report(name: str, error: ClawError) -> ServerReport:
    return ServerReport(name, "failed", 0, error.message, error.code, error.hint, error.details)


class _Origin(Struct, frozen=True):
    """The server of a tool, and its pool if there is one."""

    name: str
    server: McpServer
    pool: McpPool | None

    def client(self, deadline: TurnDeadline) -> AbstractContextManager[McpServerClient]:
        if self.pool is None:
            return McpServerClient(self.name, self.server, deadline)
        return self.pool.client(self.name, self.server, deadline)


def _run_parallel(jobs: list[Callable[[], None]]) -> None:
    """Run all jobs in a few threads and wait for them. Each limits its own time."""
    waiting = list(reversed(jobs))

    def work() -> None:
        while waiting:
            try:
                job = waiting.pop()
            except IndexError:
                return
            job()

    workers = [
        threading.Thread(target=copy_context().run, args=(work,), daemon=True, name="mcp")
        for _ in range(min(len(jobs), _MOST_AT_ONCE))
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        while worker.is_alive():
            worker.join(_POLL_SECONDS)


_Named = list[tuple[str, dict[str, Any]]]


def _name_tools(found: Mapping[str, _Listed | ClawError]) -> tuple[dict[str, _Named], list[str]]:
    """Assign names to the tools of each server, with warnings.

    Names are case-insensitive and unique. Valid names are assigned before changed ones, so that a rule for a name
    applies to the tool that really has it.
    """
    warnings: list[str] = []
    entries: list[tuple[str, str, dict[str, Any]]] = []
    for server, listed in found.items():
        seen: set[str] = set()
        for entry in listed if isinstance(listed, list) else ():
            if problem := _problem(entry, seen):
                warnings.append(f"MCP server {server}: {problem}")
            else:
                seen.add(entry["name"])
                entries.append((server, entry["name"], entry))
    names: dict[tuple[str, str], str] = {}
    taken: set[str] = set()
    for server, tool, _ in sorted(entries, key=lambda entry: _clean(entry[0] + entry[1]) != entry[0] + entry[1]):
        plain = name = f"{_prefix(server)}{_clean(tool)}"
        number = 1
        while name.casefold() in taken:
            number += 1
            name = f"{plain}_{number}"
        if number > 1:
            warnings.append(f"MCP server {server}: tool {printable(tool)} is available as {name}")
        taken.add(name.casefold())
        names[server, tool] = name
    named: dict[str, _Named] = {server: [] for server in found}
    for server, tool, entry in entries:
        named[server].append((names[server, tool], entry))
    return named, warnings


def _problem(entry: dict[str, Any], seen: set[str]) -> str:
    """Why a tool cannot be used; empty for a usable one."""
    tool = entry.get("name")
    if not isinstance(tool, str) or not 0 < len(tool) <= _LONGEST_NAME:
        return "tool without a valid name; ignored"
    if tool in seen:
        return f"duplicate tool {printable(tool)}; the first one is used"
    if len(msgspec.json.encode(entry.get("inputSchema"))) > _LARGEST_SCHEMA:
        return f"tool {printable(tool)} has a schema over 64 kB; ignored"
    if _requires_task(entry):
        return f"tool {printable(tool)} requires task support; ignored"
    return ""


def _requires_task(entry: dict[str, Any]) -> bool:
    """Whether a tool requires task-augmented calls, which are not supported."""
    execution = entry.get("execution")
    return isinstance(execution, dict) and execution.get("taskSupport") == "required"


def _prefix(server: str) -> str:
    return f"mcp__{_clean(server)}__"


def _clean(text: str) -> str:
    return _INVALID_IN_NAME.sub("_", text)


def _tool(name: str, origin: _Origin, entry: dict[str, Any]) -> Tool:
    tool: str = entry["name"]
    schema = entry.get("inputSchema")
    return Tool(
        name=name,
        responsibility=_description(entry) or f"Tool {printable(tool)} of MCP server {origin.name}.",
        source_hint=f"mcp/{origin.name}/{printable(tool)}",
        level=level_of(entry.get("annotations")),
        schema=lambda: dict(schema) if isinstance(schema, dict) else {"type": "object"},
        run=partial(_run, origin, tool),
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


def _run(origin: _Origin, tool: str, params: Mapping[str, Any], context: ToolContext) -> ToolResult:
    try:
        with origin.client(context.deadline) as client:
            result = client.call(tool, params, context.deadline)
    except ClawError as e:
        return ToolResult(handled=False, message=e.message, error=e)
    message = headline(tool, result)
    if result.get("isError") is True:
        return ToolResult(False, message, result, tool_failed(origin.name, tool, message))
    return ToolResult(True, message, result)
