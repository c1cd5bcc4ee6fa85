"""``show-command``, ``show-tool``, ``command-graph``, ``tool-pool``, ``bootstrap-graph`` and ``route``."""

from typing import Any

import msgspec

from clawperator.agent.inventory.inventory import InventoryEntry, commands, graph, tools
from clawperator.cli.claw.parsing import Read
from clawperator.cli.claw.response import Told, failure
from clawperator.errors import ClawError

_SHOWN_TOOLS = 15


def answer(asked: Read) -> Told:
    match asked.name:
        case "show-command":
            return _show_command(asked)
        case "show-tool":
            return _show_tool(asked)
        case "command-graph":
            return _command_graph()
        case "tool-pool":
            return _tool_pool(asked)
        case "bootstrap-graph":
            return _bootstrap_graph()
        case _:
            return _route(asked)


def _show_command(asked: Read) -> Told:
    inventory = commands()
    try:
        entry = inventory.find(asked.words[0])
    except ClawError as e:
        return _not_found(e, asked, "Command", inventory.warnings)
    return Told(_shown(entry), _three_lines(entry), warnings=inventory.warnings)


def _show_tool(asked: Read) -> Told:
    from clawperator.agent.turns.assembly import tool_pool

    name = asked.words[0]
    try:
        with tool_pool(name=name) as pool:
            entry = tools(pool.tools).find(name)
            schema = next(tool.schema() for tool in pool.tools if tool.name == entry.name)
    except ClawError as e:
        return _not_found(e, asked, "Tool", ())
    return Told({**_shown(entry), "schema": schema}, _three_lines(entry), warnings=pool.warnings)


def _shown(entry: InventoryEntry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "found": True,
        "source_hint": entry.source_hint,
        "responsibility": entry.responsibility,
        "family": entry.family,
        "level": entry.level,
        "aliases": list(entry.aliases),
    }


def _three_lines(entry: InventoryEntry) -> str:
    return f"{entry.name}\n{entry.source_hint}\n{entry.responsibility}"


def _not_found(error: ClawError, asked: Read, what: str, warnings: tuple[str, ...]) -> Told:
    if error.code not in ("COMMAND_NOT_FOUND", "TOOL_NOT_FOUND"):
        raise error
    told = failure(error, asked.name, {"name": asked.words[0], "found": False}, warnings=warnings)
    return msgspec.structs.replace(told, text=f"{what} not found: {asked.words[0]}")


def _row(entry: InventoryEntry) -> dict[str, str]:
    return {"name": entry.name, "source_hint": entry.source_hint}


def _command_graph() -> Told:
    inventory = commands()
    by_origin = graph(inventory)
    payload = {
        "builtins_count": len(by_origin.builtins),
        "plugin_like_count": len(by_origin.plugin_like),
        "skill_like_count": len(by_origin.skill_like),
        "total_count": by_origin.total,
        "builtins": [_row(entry) for entry in by_origin.builtins],
        "plugin_like": [_row(entry) for entry in by_origin.plugin_like],
        "skill_like": [_row(entry) for entry in by_origin.skill_like],
    }
    lines = (
        "# Command Graph",
        "",
        f"Builtins: {len(by_origin.builtins)}",
        f"Plugin-like commands: {len(by_origin.plugin_like)}",
        f"Skill-like commands: {len(by_origin.skill_like)}",
    )
    return Told(payload, "\n".join(lines), warnings=inventory.warnings)


def _tool_pool(asked: Read) -> Told:
    from clawperator.agent.tool_registry import filter_tools
    from clawperator.agent.turns.assembly import tool_pool

    simple, include_mcp = asked.has("--simple-mode"), not asked.has("--no-mcp")
    with tool_pool(include_mcp=include_mcp and not simple) as pool:
        kept = filter_tools(
            pool.tools,
            simple_mode=simple,
            include_mcp=include_mcp,
            deny_tools=asked.all("--deny-tool"),
            deny_prefixes=asked.all("--deny-prefix"),
        )
    inventory = tools(kept)
    payload = {
        "simple_mode": simple,
        "include_mcp": include_mcp,
        "tool_count": len(inventory.entries),
        "tools": [_row(entry) for entry in inventory.entries],
        "mcp_servers": pool.servers,
    }
    lines = ["# Tool Pool", "", f"Simple mode: {simple}", f"Include MCP: {include_mcp}"]
    lines += [f"Tool count: {len(inventory.entries)}", ""]
    lines += [f"- {entry.name}: {entry.source_hint}" for entry in inventory.entries[:_SHOWN_TOOLS]]
    return Told(payload, "\n".join(lines), warnings=(*pool.warnings, *inventory.warnings))


def _bootstrap_graph() -> Told:
    from clawperator.agent.turns.events import NOTE, STAGES

    payload = {
        "stages": [stage.label for stage in STAGES],
        "note": NOTE,
        "stage_details": msgspec.to_builtins(STAGES),
    }
    lines = ["# Bootstrap Graph", "", *(f"{s.order}. {s.label}: {s.description}" for s in STAGES), "", NOTE]
    return Told(payload, "\n".join(lines))


def _route(asked: Read) -> Told:
    from clawperator.agent.inventory.routing import Router
    from clawperator.agent.tools import builtin_tools
    from clawperator.cli.claw.inputs import text_of

    prompt, limit = text_of(asked.words[0]), asked.whole("--limit", 5)
    inventory = commands()
    matches = Router((*inventory.entries, *tools(builtin_tools()).entries)).route(prompt, limit)
    rows = [msgspec.to_builtins(match) for match in matches]
    payload = {"prompt": prompt, "limit": limit, "match_count": len(rows), "matches": rows}
    lines = [f"{m.kind}\t{m.name}\t{m.score}\t{m.source_hint}" for m in matches]
    return Told(payload, "\n".join(lines) or "No command or tool matches.", warnings=inventory.warnings)
