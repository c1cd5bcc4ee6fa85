"""Putting the parts together: settings, tools, policy. Every way to act begins here."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from msgspec import Struct

from clawperator.agent.cancellation import TurnCancelledError, TurnDeadline, out_of_time
from clawperator.agent.policy import Policy, make_policy
from clawperator.agent.ports import Level, Tool, ToolContext
from clawperator.agent.settings import AgentSettings, read_settings
from clawperator.agent.tool_registry import Asker, ToolRegistry
from clawperator.agent.tools import builtin_tools
from clawperator.agent.turns.events import EventStream
from clawperator.commands.model import BackendName

# What the name of every tool of a server for MCP begins with.
MCP_MARK = "mcp__"


class AgentOptions(Struct, frozen=True, kw_only=True):
    """What a caller decides: where, on which phone, and what may run."""

    folder: str = "."
    device: str | None = None
    operator_package: str | None = None
    mode: Level | None = None
    allow_tools: tuple[str, ...] = ()
    deny_tools: tuple[str, ...] = ()
    deny_prefixes: tuple[str, ...] = ()
    ask_tools: tuple[str, ...] = ()
    include_mcp: bool = True
    asker: Asker | None = None
    backend: BackendName = "auto"

    def tool_context(self, deadline: TurnDeadline) -> ToolContext:
        """Where tools do their work."""
        return ToolContext(deadline, self.folder, self.device, self.operator_package, self.backend)


class Assembly(Struct, frozen=True, kw_only=True):
    """The parts, ready to be used while the block of ``assemble`` runs."""

    policy: Policy
    registry: ToolRegistry
    deadline: TurnDeadline
    mcp_servers: list[dict[str, Any]]
    warnings: tuple[str, ...]


@contextmanager
def assemble(
    options: AgentOptions, deadline: TurnDeadline, events: EventStream, *, with_mcp: bool, tool: str | None = None
) -> Iterator[Assembly]:
    """All parts. Servers for MCP are started only ``with_mcp``, and ended with the block.

    With the name of the one ``tool`` that is wanted, only a server is started that can have it.
    """
    events.emit("stage", stage="settings")
    settings = read_settings(options.folder)
    events.emit("stage", stage="inventory")
    with _mcp_tools(settings, deadline, wanted=with_mcp and options.include_mcp, name=tool) as found:
        events.emit("stage", stage="policy")
        policy = make_policy(
            settings.permissions,
            mode=options.mode,
            allow_tools=options.allow_tools,
            deny_tools=options.deny_tools,
            deny_prefixes=options.deny_prefixes,
            ask_tools=options.ask_tools,
        )
        yield Assembly(
            policy=policy,
            registry=ToolRegistry((*builtin_tools(), *found.tools), policy, asker=options.asker),
            deadline=deadline,
            mcp_servers=found.servers,
            warnings=(*settings.warnings, *found.warnings),
        )


class ToolPool(Struct, frozen=True):
    """The tools there are, and how the servers for MCP do."""

    tools: tuple[Tool, ...] = ()
    servers: list[dict[str, Any]] = []
    warnings: tuple[str, ...] = ()


@contextmanager
def tool_pool(folder: str = ".", *, name: str | None = None, include_mcp: bool = True) -> Iterator[ToolPool]:
    """Every tool. With the ``name`` of one, no server is started that cannot have it."""
    settings = read_settings(folder)
    wanted = include_mcp and (name is None or is_foreign(name))
    with _mcp_tools(settings, TurnDeadline(), wanted=wanted, name=name) as found:
        tools = (*builtin_tools(), *found.tools)
        yield ToolPool(tools, found.servers, (*settings.warnings, *found.warnings))


def is_foreign(name: str) -> bool:
    """Whether a tool of this name is one of a server for MCP."""
    return name.strip().casefold().startswith(MCP_MARK)


@contextmanager
def _mcp_tools(
    settings: AgentSettings, deadline: TurnDeadline, *, wanted: bool, name: str | None
) -> Iterator[ToolPool]:
    """The tools of the servers that are configured. One that fails is told, and hides no other.

    When the tool of the ``name`` is not there, and a server that could have it failed, that is the error.
    """
    if not wanted or not settings.mcp_servers:
        yield ToolPool()
        return
    from clawperator.agent.mcp.tools import McpPool, discover, failure_of, may_have

    servers = {
        server: program
        for server, program in settings.mcp_servers.items()
        if name is None or may_have(server, name)
    }
    with McpPool() as pool:
        try:
            found = discover(servers, deadline, pool=pool)
        except TurnCancelledError:
            if deadline.remaining != 0:
                raise
            raise out_of_time("mcp.tool_discovery", ", ".join(servers)) from None
        failed = [report for report in found.servers if report.status != "ready"]
        if name is not None and failed and not any(_is_called(tool, name) for tool in found.tools):
            raise failure_of(failed[0])
        told = (report.error or report.name for report in failed)
        yield ToolPool(
            found.tools, [msgspec.to_builtins(report) for report in found.servers], (*told, *found.notes)
        )


def _is_called(tool: Tool, name: str) -> bool:
    return tool.name.casefold() == name.strip().casefold()
