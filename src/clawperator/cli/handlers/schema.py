"""``schema``: JSON Schemas of documents and tools."""

from typing import Any

from clawperator.cli.command_line import Call, CommandResult
from clawperator.operations.call import ApprovedCall, Caller


def print_schema(_: Call, approved: ApprovedCall, __: Caller) -> CommandResult:
    from clawperator.schemas import list_schemas, schema

    params = approved.params
    if params.name == "tools":
        return CommandResult(_tool_schemas(params.form, compact=not params.all))
    return CommandResult(schema(params.name) if params.name else {"schemas": list_schemas()})


def _tool_schemas(form: Any, *, compact: bool) -> dict[str, Any]:
    """The tools as the requests of model services contain them."""
    from clawperator.agent.compact.tools import tool_definitions
    from clawperator.agent.tools.builtin import builtin_tools

    definitions = tool_definitions(builtin_tools(), compact=compact)
    forms = {
        "openai": [definition.openai_form for definition in definitions],
        "anthropic": [definition.anthropic_form for definition in definitions],
    }
    return {"tools": forms[form]} if form else forms
