"""``show-command``, ``show-tool``, ``command-graph``, ``tool-pool``, ``bootstrap-graph`` and ``route``."""

from typing import Any

import msgspec

from clawperator.agent.inventory.inventory import (
    InventoryEntry,
    command_inventory,
    group_by_origin,
    tool_inventory,
)
from clawperator.cli.claw.readable import describe_parameters
from clawperator.cli.claw.response import Response, failure
from clawperator.cli.parsing import ParsedArguments
from clawperator.errors import ClawError

_SHOWN_TOOLS = 15


def show_command(arguments: ParsedArguments) -> Response:
    inventory = command_inventory()
    try:
        entry = inventory.find(arguments.words[0])
    except ClawError as e:
        return _not_found(e, arguments, "Command", inventory.warnings)
    return Response(_entry_members(entry), _entry_text(entry), warnings=inventory.warnings)


def show_tool(arguments: ParsedArguments) -> Response:
    from clawperator.agent.turns.assembly import tool_pool

    name = arguments.words[0]
    try:
        with tool_pool(name=name) as pool:
            entry = tool_inventory(pool.tools).find(name)
            schema = next(tool.schema() for tool in pool.tools if tool.name == entry.name)
    except ClawError as e:
        return _not_found(e, arguments, "Tool", ())
    parameters = describe_parameters(schema)
    text = "\n".join(
        [_entry_text(entry), "", *(["Parameters:", *parameters] if parameters else ["No parameters."])]
    )
    return Response({**_entry_members(entry), "schema": schema}, text, warnings=pool.warnings)


def _entry_members(entry: InventoryEntry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "found": True,
        "source_hint": entry.source_hint,
        "responsibility": entry.responsibility,
        "family": entry.family,
        "level": entry.level,
        "aliases": list(entry.aliases),
    }


def _entry_text(entry: InventoryEntry) -> str:
    return f"{entry.name}\n{entry.source_hint}\n{entry.responsibility}"


def _not_found(error: ClawError, arguments: ParsedArguments, what: str, warnings: tuple[str, ...]) -> Response:
    if error.code not in ("COMMAND_NOT_FOUND", "TOOL_NOT_FOUND"):
        raise error
    response = failure(error, arguments.name, {"name": arguments.words[0], "found": False}, warnings=warnings)
    return msgspec.structs.replace(response, text=f"{what} not found: {arguments.words[0]}")


def _row(entry: InventoryEntry) -> dict[str, str]:
    return {"name": entry.name, "source_hint": entry.source_hint}


def command_graph(_: ParsedArguments) -> Response:
    inventory = command_inventory()
    by_origin = group_by_origin(inventory)
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
    return Response(payload, "\n".join(lines), warnings=inventory.warnings)


def list_tool_pool(arguments: ParsedArguments) -> Response:
    from clawperator.agent.tool_registry import filter_tools
    from clawperator.agent.turns.assembly import tool_pool

    simple, include_mcp = arguments.has("--simple-mode"), not arguments.has("--no-mcp")
    with tool_pool(include_mcp=include_mcp and not simple, pass_env=arguments.all("--pass-env")) as pool:
        kept = filter_tools(
            pool.tools,
            simple_mode=simple,
            include_mcp=include_mcp,
            deny_tools=arguments.all("--deny-tool"),
            deny_prefixes=arguments.all("--deny-prefix"),
        )
    inventory = tool_inventory(kept)
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
    return Response(payload, "\n".join(lines), warnings=(*pool.warnings, *inventory.warnings))


def bootstrap_graph(_: ParsedArguments) -> Response:
    from clawperator.agent.turns.events import NOTE, STAGES

    payload = {
        "stages": [stage.label for stage in STAGES],
        "note": NOTE,
        "stage_details": msgspec.to_builtins(STAGES),
    }
    lines = ["# Bootstrap Graph", "", *(f"{s.order}. {s.label}: {s.description}" for s in STAGES), "", NOTE]
    return Response(payload, "\n".join(lines))


def route(arguments: ParsedArguments) -> Response:
    from clawperator.agent.inventory.routing import Router
    from clawperator.agent.tools.builtin import builtin_tools
    from clawperator.cli.claw.inputs import text_of

    prompt, limit = text_of(arguments.words[0]), arguments.whole("--limit", 5)
    inventory = command_inventory()
    matches = Router((*inventory.entries, *tool_inventory(builtin_tools()).entries)).route(prompt, limit)
    rows = [msgspec.to_builtins(match) for match in matches]
    payload = {"prompt": prompt, "limit": limit, "match_count": len(rows), "matches": rows}
    lines = [f"{m.kind}\t{m.name}\t{m.score}\t{m.source_hint}" for m in matches]
    return Response(payload, "\n".join(lines) or "No command or tool matches.", warnings=inventory.warnings)
