"""``show-command``, ``show-tool``, ``command-graph``, ``tool-pool``, ``bootstrap-graph`` and ``route``."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from clawperator._base.text import printable
from clawperator.agent.inventory.inventory import InventoryEntry, command_inventory, filter_tools, tool_inventory
from clawperator.cli.claw.command_line import text_of
from clawperator.cli.claw.dispatch import Response, failure
from clawperator.cli.parsing import ParsedArguments
from clawperator.cli.text.values import scalar
from clawperator.errors import ClawError
from clawperator.operations.model import NoParams
from clawperator.operations.sessions import NameParams, RouteParams
from clawperator.operations.turns import ToolPoolParams

_SHOWN_TOOLS = 15
_MOST_PARAMETERS = 400


def show_command(arguments: ParsedArguments, params: NameParams) -> Response:
    inventory = command_inventory()
    try:
        entry = inventory.find(params.name)
    except ClawError as e:
        return _not_found(e, arguments, "Command", inventory.warnings)
    return Response(_entry_members(entry), _entry_text(entry), warnings=inventory.warnings)


def show_tool(arguments: ParsedArguments, params: NameParams) -> Response:
    from clawperator.agent.turns.assembly import tool_pool

    try:
        with tool_pool(name=params.name) as pool:
            entry = tool_inventory(pool.tools).find(params.name)
            schema = next(tool.schema() for tool in pool.tools if tool.name == entry.name)
    except ClawError as e:
        return _not_found(e, arguments, "Tool", ())
    parameters = describe_parameters(schema)
    listed = ["Parameters:", *parameters] if parameters else ["No parameters."]
    text = "\n".join([_entry_text(entry), "", *listed])
    return Response({**_entry_members(entry), "schema": schema}, text, warnings=pool.warnings)


def _entry_members(entry: InventoryEntry) -> dict[str, Any]:
    names = ("source_hint", "responsibility", "family", "level", "aliases")
    return {"name": entry.name, "found": True, **{name: getattr(entry, name) for name in names}}


def _entry_text(entry: InventoryEntry) -> str:
    return f"{entry.name}\n{entry.source_hint}\n{entry.responsibility}"


def _not_found(error: ClawError, arguments: ParsedArguments, what: str, warnings: tuple[str, ...]) -> Response:
    if error.code not in ("COMMAND_NOT_FOUND", "TOOL_NOT_FOUND"):
        raise error
    response = failure(error, arguments.name, {"name": arguments.words[0], "found": False}, warnings=warnings)
    return msgspec.structs.replace(response, text=f"{what} not found: {arguments.words[0]}")


def _row(entry: InventoryEntry) -> dict[str, str]:
    return {"name": entry.name, "source_hint": entry.source_hint}


def command_graph(_: ParsedArguments, __: NoParams) -> Response:
    inventory = command_inventory()
    families = {"builtins": "builtin", "plugin_like": "plugin", "skill_like": "skill"}
    groups = {name: [_row(entry) for entry in inventory.of(family)] for name, family in families.items()}
    counts = {f"{name}_count": len(rows) for name, rows in groups.items()}
    payload = {**counts, "total_count": sum(counts.values()), **groups}
    titles = ("Builtins", "Plugin-like commands", "Skill-like commands")
    lines = (f"{title}: {number}" for title, number in zip(titles, counts.values(), strict=True))
    return Response(payload, "\n".join(("# Command Graph", "", *lines)), warnings=inventory.warnings)


def list_tool_pool(_: ParsedArguments, params: ToolPoolParams) -> Response:
    from clawperator.agent.turns.assembly import tool_pool

    simple, include_mcp = params.simple_mode, not params.no_mcp
    with tool_pool(include_mcp=include_mcp and not simple, pass_env=tuple(params.pass_env)) as pool:
        kept = filter_tools(
            pool.tools,
            simple_mode=simple,
            include_mcp=include_mcp,
            deny_tools=params.deny_tool,
            deny_prefixes=params.deny_prefix,
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


def bootstrap_graph(_: ParsedArguments, __: NoParams) -> Response:
    from clawperator.agent.turns.events import NOTE, STAGES

    payload = {
        "stages": [stage.label for stage in STAGES],
        "note": NOTE,
        "stage_details": msgspec.to_builtins(STAGES),
    }
    lines = ["# Bootstrap Graph", "", *(f"{s.order}. {s.label}: {s.description}" for s in STAGES), "", NOTE]
    return Response(payload, "\n".join(lines))


def route(_: ParsedArguments, params: RouteParams) -> Response:
    from clawperator.agent.inventory.routing import Router
    from clawperator.agent.tools.builtin import builtin_tools

    prompt, limit = text_of(params.prompt), params.limit
    inventory = command_inventory()
    matches = Router((*inventory.entries, *tool_inventory(builtin_tools()).entries)).route(prompt, limit)
    rows = [msgspec.to_builtins(match) for match in matches]
    payload = {"prompt": prompt, "limit": limit, "match_count": len(rows), "matches": rows}
    lines = [f"{m.kind}\t{m.name}\t{m.score}\t{m.source_hint}" for m in matches]
    return Response(payload, "\n".join(lines) or "No command or tool matches.", warnings=inventory.warnings)


def describe_parameters(schema: Mapping[str, Any]) -> list[str]:
    """The parameters of a tool, one on each line: name, type, whether it is required, and its meaning.

    Parameters of an object are listed below it. The schema may come from an MCP server, so nothing in it is
    taken for granted.
    """
    definitions = schema.get("$defs")
    lines = list(_parameters(schema, definitions if isinstance(definitions, Mapping) else {}, "  ", 2))
    if len(lines) > _MOST_PARAMETERS:
        lines = [*lines[:_MOST_PARAMETERS], f"  … {len(lines) - _MOST_PARAMETERS} more"]
    return lines


def _parameters(
    schema: Mapping[str, Any], definitions: Mapping[str, Any], indent: str, depth: int
) -> Iterator[str]:
    members, required = schema.get("properties"), schema.get("required")
    if not isinstance(members, Mapping) or not depth:
        return
    needed = required if isinstance(required, list) else []
    for name, member in members.items():
        own = _resolved(member, definitions)
        facts = _kind(own) + (", required" if name in needed else "")
        about = own.get("description")
        meaning = f": {printable(about)[:200]}" if isinstance(about, str) else ""
        yield f"{indent}{printable(f'{name} ({facts})')}{meaning}"
        items = own.get("items")
        inner = _resolved(items, definitions) if isinstance(items, Mapping) else own
        yield from _parameters(inner, definitions, f"{indent}  ", depth - 1)


def _resolved(member: Any, definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    """A parameter's schema with the definition it refers to; its own description takes precedence."""
    own = member if isinstance(member, Mapping) else {}
    reference = own.get("$ref")
    found = definitions.get(reference.rpartition("/")[2]) if isinstance(reference, str) else None
    return {**found, **own} if isinstance(found, Mapping) else own


def _kind(schema: Mapping[str, Any]) -> str:
    choices = schema.get("enum")
    if isinstance(choices, list) and choices:
        return "one of " + ", ".join(scalar(choice) for choice in choices)
    kinds = schema.get("type")
    options = schema.get("anyOf")
    if kinds is None and isinstance(options, list):
        named = dict.fromkeys(_kind(option) for option in options if isinstance(option, Mapping))
        return " or ".join(named) or "any"
    if isinstance(kinds, list):
        return " or ".join(scalar(kind) for kind in kinds)
    return scalar(kinds) if isinstance(kinds, str) else "any"
