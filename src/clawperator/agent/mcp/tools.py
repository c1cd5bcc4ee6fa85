"""The tools of MCP servers, as tools like any other: ``mcp__<server>__<tool>``.

What a tool may do is taken from what its server says of it: one that only reads is read-only, one that destroys or
reaches out into the world needs the full level, and any other acts. A server is a program the person chose to run;
who does not believe its word denies it by its name.
"""

import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from types import TracebackType
from typing import Any, Literal, Self

from msgspec import Struct

from clawperator._text import printable
from clawperator.agent.cancellation import TurnCancelledError, TurnDeadline
from clawperator.agent.mcp.client import McpServerClient, tool_failed
from clawperator.agent.mcp.content import cut, headline
from clawperator.agent.ports import Level, Tool, ToolContext, ToolResult
from clawperator.agent.settings import McpServer
from clawperator.errors import ClawError

_NOT_OF_A_NAME = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_NAME = 256
_LONGEST_DESCRIPTION = 1_000
_MOST_AT_ONCE = 8
_LOOK_SECONDS = 0.1

_Listed = list[dict[str, Any]]


class ServerReport(Struct, frozen=True):
    """How it went with one server. ``error`` and what follows are of one that failed."""

    name: str
    status: Literal["ready", "failed"]
    tool_count: int = 0
    error: str | None = None
    code: str | None = None
    hint: str | None = None
    details: Mapping[str, Any] | None = None


class Discovered(Struct, frozen=True):
    """The tools of all servers that answered, a report of each, and what is odd about the names."""

    tools: tuple[Tool, ...]
    servers: tuple[ServerReport, ...]
    warnings: tuple[str, ...] = ()


class _Seat:
    """The place of one server in a pool."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.client: McpServerClient | None = None


class McpPool:
    """Servers that stay up between calls, until the ``with`` block ends. Calls to one server take turns."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seats: dict[str, _Seat] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def client(self, name: str, server: McpServer, deadline: TurnDeadline) -> Iterator[McpServerClient]:
        """The server's client, for nobody else meanwhile. One that has ended since is started again."""
        with self._lock:
            seat = self._seats.setdefault(name, _Seat())
        while not seat.lock.acquire(timeout=_LOOK_SECONDS):
            deadline.check()
        try:
            if seat.client is None or not seat.client.is_alive:
                if seat.client is not None:
                    seat.client.close()
                seat.client = McpServerClient(name, server, deadline)
                seat.client.open()
            yield seat.client
        finally:
            seat.lock.release()

    def close(self) -> None:
        """End all servers, at once."""
        with self._lock:
            seats, self._seats = list(self._seats.values()), {}
        clients = [seat.client for seat in seats if seat.client is not None]
        _at_once([client.close for client in clients])


def discover(
    servers: Mapping[str, McpServer], deadline: TurnDeadline, *, pool: McpPool | None = None
) -> Discovered:
    """Ask all servers for their tools, at the same time. One that fails hides no other.

    With a pool the servers stay up in it, and the tools use them there. Without one, each call starts its server.
    """
    found: dict[str, _Listed | ClawError] = {}

    def ask(name: str, server: McpServer) -> None:
        try:
            with _Origin(name, server, pool).client(deadline) as client:
                found[name] = client.list_tools(deadline)
        except ClawError as e:
            found[name] = e
        except TurnCancelledError:
            pass  # the one who waits for all of them looks at the deadline too
        except Exception as e:  # noqa: BLE001 - a fault with one server must not hide the others
            message = cut(f"the MCP server {name} failed: {type(e).__name__}: {e}")
            found[name] = ClawError("UNKNOWN", message, operation="mcp.tool_discovery", target=name)

    try:
        _at_once([partial(ask, name, server) for name, server in servers.items()])
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
        own = [_tool(called, origin, entry) for called, entry in names[name]]
        reports.append(ServerReport(name, "ready", len(own)))
        tools += own
    return Discovered(tuple(tools), tuple(reports), tuple(warnings))


def may_provide(server: str, tool: str) -> bool:
    """Whether a tool of that name can be one of the server."""
    return tool.strip().casefold().startswith(_prefix(server).casefold())


def server_error(report: ServerReport) -> ClawError:
    """Why a server failed, for one who needs that very server."""
    details = dict(report.details or {})
    hint = (report.hint or "").replace(", or add --no-mcp", "")
    return ClawError(
        report.code or "MCP_SERVER_FAILED",
        report.error or f"the MCP server {report.name} failed",
        hint=hint or None,
        details=details,
        operation=f"mcp.{details.get('phase', 'tool_discovery')}",
        target=report.name,
    )


def _report(name: str, error: ClawError) -> ServerReport:
    return ServerReport(name, "failed", 0, error.message, error.code, error.hint, error.details)


class _Origin(Struct, frozen=True):
    """The server a tool comes from, and the pool it may stay up in."""

    name: str
    server: McpServer
    pool: McpPool | None

    def client(self, deadline: TurnDeadline) -> AbstractContextManager[McpServerClient]:
        if self.pool is None:
            return McpServerClient(self.name, self.server, deadline)
        return self.pool.client(self.name, self.server, deadline)


def _at_once(jobs: list[Callable[[], None]]) -> None:
    """Do all jobs, some at a time, and wait for them. Each limits its own time."""
    waiting = list(reversed(jobs))

    def work() -> None:
        while waiting:
            try:
                job = waiting.pop()
            except IndexError:
                return
            job()

    workers = [
        threading.Thread(target=work, daemon=True, name="mcp") for _ in range(min(len(jobs), _MOST_AT_ONCE))
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        while worker.is_alive():
            worker.join(_LOOK_SECONDS)


_Named = list[tuple[str, dict[str, Any]]]


def _name_tools(found: Mapping[str, _Listed | ClawError]) -> tuple[dict[str, _Named], list[str]]:
    """Names for the tools of each server, and what is odd about them.

    Names are found in any case, so they must differ in more than that. A tool whose name fits goes before those
    whose name has to be changed: what is denied by a name is what is meant by it.
    """
    warnings: list[str] = []
    entries: list[tuple[str, str, dict[str, Any]]] = []
    for server, listed in found.items():
        seen: set[str] = set()
        for entry in listed if isinstance(listed, list) else ():
            tool = entry.get("name")
            if not isinstance(tool, str) or not 0 < len(tool) <= _LONGEST_NAME:
                warnings.append(f"MCP server {server}: tool without a valid name; ignored")
            elif tool in seen:
                warnings.append(f"MCP server {server}: duplicate tool {printable(tool)}; the first one is used")
            elif _needs_a_task(entry):
                warnings.append(f"MCP server {server}: tool {printable(tool)} requires task support; ignored")
            else:
                seen.add(tool)
                entries.append((server, tool, entry))
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


def _needs_a_task(entry: dict[str, Any]) -> bool:
    """Whether a tool is one to be called now and asked about later. We do not do that."""
    execution = entry.get("execution")
    return isinstance(execution, dict) and execution.get("taskSupport") == "required"


def _prefix(server: str) -> str:
    return f"mcp__{_clean(server)}__"


def _clean(text: str) -> str:
    return _NOT_OF_A_NAME.sub("_", text)


def _tool(called: str, origin: _Origin, entry: dict[str, Any]) -> Tool:
    tool: str = entry["name"]
    schema = entry.get("inputSchema")
    return Tool(
        name=called,
        responsibility=_description(entry) or f"The tool {printable(tool)} of the MCP server {origin.name}.",
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
    """What a tool may do, by what its server says of it."""
    said = annotations if isinstance(annotations, dict) else {}
    if said.get("destructiveHint") is True or said.get("openWorldHint") is True:
        return "full"
    return "read-only" if said.get("readOnlyHint") is True else "act"


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
