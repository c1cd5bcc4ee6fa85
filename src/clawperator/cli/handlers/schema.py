"""``schema``: JSON Schemas of documents and tools."""

from typing import Any

from clawperator.cli.command_line import Call, CommandResult
from clawperator.cli.parsing import usage

_TOOLS = "tools"


def print_schema(call: Call) -> CommandResult:
    from clawperator.schemas import list_schemas, schema

    words = call.arguments.words
    if words == (_TOOLS,):
        return CommandResult(_tool_schemas(call))
    for flag in ("--form", "--all"):
        if call.arguments.has(flag):
            raise usage(f"{flag} needs the name {_TOOLS}", f"Run 'clawperator schema {_TOOLS} {flag}'.")
    return CommandResult(schema(words[0]) if words else {"schemas": list_schemas()})


def _tool_schemas(call: Call) -> dict[str, Any]:
    """The tools as the requests of model services contain them."""
    from clawperator.agent.models.toolset import tool_definitions
    from clawperator.agent.tools.builtin import builtin_tools

    given = call.arguments.get("--form")
    definitions = tool_definitions(builtin_tools(), compact=not call.arguments.has("--all"))
    forms = {
        "openai": [definition.openai_form for definition in definitions],
        "anthropic": [definition.anthropic_form for definition in definitions],
    }
    if given is None:
        return forms
    return {"tools": forms[given]}
