"""Assembly of an agent: settings, tools and policy, shared by every command that acts."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from clawperator._base.config import read_config
from clawperator._base.environment import check_names
from clawperator._base.text import nearest
from clawperator.agent.cancellation import TurnCancelledError, TurnDeadline, timeout_error
from clawperator.agent.ports import AgentPlace, Tool, ToolContext
from clawperator.agent.settings import AgentSettings, McpServer, Permissions, read_settings
from clawperator.agent.tool_registry import ToolRegistry
from clawperator.agent.tools.builtin import builtin_tools
from clawperator.agent.turns.events import EventStream
from clawperator.contract.fields import LEVELS, Level
from clawperator.errors import ClawError
from clawperator.operations.servers import AgentPermissions
from clawperator.policy.gate import PolicyGate, enforcing, inherited_policy
from clawperator.policy.rules import DEFAULT_MODE, Asker, Policy, PolicyRule, read_rule, restricted

# The prefix of every MCP tool's name.
MCP_PREFIX = "mcp__"


class AgentOptions(AgentPlace, frozen=True, kw_only=True):
    """The caller's options: folder, phone, and permissions."""

    mode: Level | None = None
    allow_tools: tuple[str, ...] = ()
    deny_tools: tuple[str, ...] = ()
    deny_prefixes: tuple[str, ...] = ()
    ask_tools: tuple[str, ...] = ()
    include_mcp: bool = True
    asker: Asker | None = None

    def tool_context(self, deadline: TurnDeadline) -> ToolContext:
        return ToolContext(deadline, **{name: getattr(self, name) for name in AgentPlace.__struct_fields__})


def agent_options(params: AgentPermissions, **more: Any) -> AgentOptions:
    """The options of an agent with these permissions."""
    return AgentOptions(
        mode=params.permission_mode or None,
        allow_tools=tuple(params.allow_tool),
        deny_tools=tuple(params.deny_tool),
        deny_prefixes=tuple(params.deny_prefix),
        ask_tools=tuple(params.ask_tool),
        allow_schemes=tuple(params.allow_scheme),
        pass_env=check_names(params.pass_env),
        **more,
    )


class Assembly(Struct, frozen=True, kw_only=True):
    """The parts of an agent, valid inside the ``assemble`` block."""

    policy: Policy
    registry: ToolRegistry
    mcp_servers: list[dict[str, Any]]
    warnings: tuple[str, ...]


class ToolPool(Struct, frozen=True):
    """The available tools and the status of the MCP servers."""

    tools: tuple[Tool, ...] = ()
    servers: list[dict[str, Any]] = []
    warnings: tuple[str, ...] = ()


@contextmanager
def assemble(
    options: AgentOptions, deadline: TurnDeadline, events: EventStream, *, with_mcp: bool, tool: str | None = None
) -> Iterator[Assembly]:
    """Assemble all parts. MCP servers are started only ``with_mcp``, and stopped at the end of the block.

    The policy is in force in the block, restricted by an inherited one.

    With the name of a single ``tool``, only servers that can provide it are started.
    """
    events.emit("stage", stage="settings")
    settings = read_settings(options.folder)
    policy = agent_policy(options, settings)
    events.emit("stage", stage="inventory")
    servers = _servers(settings, options.pass_env) if with_mcp and options.include_mcp else {}
    gate = PolicyGate(policy, options.asker)
    with enforcing(gate), _mcp_tools(servers, deadline, tool) as pool:
        events.emit("stage", stage="policy")
        yield Assembly(
            policy=policy,
            registry=ToolRegistry((*builtin_tools(), *pool.tools), policy, asker=options.asker),
            mcp_servers=pool.servers,
            warnings=(*settings.warnings, *_config_warnings(), *pool.warnings, *rule_warnings(policy)),
        )


def agent_policy(options: AgentOptions, settings: AgentSettings | None = None) -> Policy:
    """The policy of an agent with these options: settings and flags, restricted by an inherited policy.

    Without ``settings`` they are those of the user and of the working folder.
    """
    settings = read_settings(options.folder) if settings is None else settings
    policy = make_policy(settings.permissions, options)
    outer = inherited_policy()
    return policy if outer is None else restricted(policy, outer)


def make_policy(permissions: Permissions, options: AgentOptions) -> Policy:
    """Combine settings and flags. A mode flag overrides the files; the rules of both apply.

    ``ARGUMENTS_INVALID`` for a flag whose value is not a rule.
    """
    chosen, source = DEFAULT_MODE, "default"
    if options.mode is not None:
        chosen, source = options.mode, "flag"
    elif permissions.unreadable:
        chosen, source = LEVELS[0], permissions.unreadable
    elif permissions.default_mode is not None:
        chosen, source = permissions.default_mode, permissions.mode_source
    # An empty prefix would deny every tool: reject it as a mistake.
    prefixes = (f"{prefix.strip()}*" if prefix.strip() else "" for prefix in options.deny_prefixes)
    denied = (*_flag_rules(options.deny_tools, "--deny-tool"), *_flag_rules(prefixes, "--deny-prefix"))
    return Policy(
        chosen,
        allow=(*permissions.allow, *_flag_rules(options.allow_tools, "--allow-tool")),
        deny=(*permissions.deny, *denied),
        ask=(*permissions.ask, *_flag_rules(options.ask_tools, "--ask-tool")),
        mode_source=source,
    )


def rule_warnings(policy: Policy) -> Iterator[str]:
    """A warning for each deny or ask rule that names nothing: a misspelled one protects nothing.

    Names of skills, of MCP tools and of plugins may be unknown here.
    """
    rules = [rule for rule in (*policy.deny, *policy.ask) if "." not in rule.name and "__" not in rule.name]
    if not rules:
        return
    from clawperator.operations.call import listed_entry
    from clawperator.operations.claw import CLAW
    from clawperator.operations.model import all_operations

    entries = [tool.entry for tool in builtin_tools()]
    entries += [listed_entry(row) for row in all_operations() if row.is_cli_only]
    names = [name for one in entries for name in (one.name, *(one.performs({}) if one.performs else ()))]
    known = [*dict.fromkeys(names), *CLAW, "shell"]
    for rule in rules:
        if rule.matches_name(*known) or rule.name.casefold() in map(str.casefold, _plugin_names()):
            continue
        near = nearest(rule.name, known, max(2, len(rule.name) // 3))
        yield f"the rule {rule} matches no tool, command or action" + (f"; did you mean {near}?" if near else "")


def _plugin_names() -> Iterator[str]:
    from clawperator.agent.inventory.inventory import discover_plugins

    return (plugin.name for plugin in discover_plugins().plugins)


def _flag_rules(texts: Iterable[str], flag: str) -> tuple[PolicyRule, ...]:
    try:
        return tuple(read_rule(text, flag) for text in texts)
    except ValueError as e:
        message, hint = f"argument {flag}: {e}", f"Pass a tool name, as in '{flag} click'."
        raise ClawError("ARGUMENTS_INVALID", message, hint=hint, operation="argparse", target=flag) from None


@contextmanager
def tool_pool(
    folder: str = ".", *, name: str | None = None, include_mcp: bool = True, pass_env: tuple[str, ...] = ()
) -> Iterator[ToolPool]:
    """All tools. With the ``name`` of one, only servers that can provide it are started."""
    settings = read_settings(folder)
    start = include_mcp and (name is None or is_mcp_name(name))
    with _mcp_tools(_servers(settings, pass_env) if start else {}, TurnDeadline(), name) as pool:
        tools = (*builtin_tools(), *pool.tools)
        yield ToolPool(tools, pool.servers, (*settings.warnings, *pool.warnings))


def _config_warnings() -> tuple[str, ...]:
    """Warnings about the user's configuration. Calls that need an invalid one report the error."""
    try:
        return read_config().warnings
    except ClawError as e:
        return (e.message,)


def _servers(settings: AgentSettings, pass_env: tuple[str, ...]) -> Mapping[str, McpServer]:
    """The servers of the settings, with further variables that they receive."""
    return {name: replace(server, pass_env=pass_env) for name, server in settings.mcp_servers.items()}


def is_mcp_name(name: str) -> bool:
    return name.strip().casefold().startswith(MCP_PREFIX)


@contextmanager
def _mcp_tools(
    configured: Mapping[str, McpServer], deadline: TurnDeadline, name: str | None
) -> Iterator[ToolPool]:
    """The tools of these servers, which are started. A failed server is a warning and does not affect the others.

    If the tool called ``name`` is missing because its server failed, that failure is raised.
    """
    if not configured:
        yield ToolPool()
        return
    from clawperator.agent.mcp.tools import McpPool, discover, may_provide

    servers = {
        server: program for server, program in configured.items() if name is None or may_provide(server, name)
    }
    with McpPool(deadline) as pool:
        try:
            found = discover(servers, deadline, pool)
        except TurnCancelledError:
            if deadline.remaining != 0:
                raise
            raise timeout_error("mcp.tool_discovery", ", ".join(servers)) from None
        if name is not None and found.failures:
            wanted = name.strip().casefold()
            if not any(tool.name.casefold() == wanted for tool in found.tools):
                raise found.failures[0]
        errors = dict.fromkeys(error.message for error in found.failures)
        reports = [msgspec.to_builtins(report) for report in found.servers]
        yield ToolPool(found.tools, reports, (*errors, *found.warnings))
