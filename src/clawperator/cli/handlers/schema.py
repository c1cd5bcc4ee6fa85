"""``schema`` and ``version``."""

from typing import Any

from clawperator import __version__
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
    from clawperator.agent.compact.tools import tool_definitions
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


def print_version(call: Call) -> CommandResult:
    if not call.arguments.has("--check-compat"):
        return CommandResult({"cliVersion": __version__})
    from clawperator.device.discovery import resolve_device
    from clawperator.device.operators import find_operator
    from clawperator.device.settings import named_operator
    from clawperator.device.setup.version_check import probe_compatibility

    device = resolve_device(call.options.device)
    found = probe_compatibility(device, find_operator(device, named_operator(call.options.operator_package)))
    return CommandResult(found, 0 if found.compatible else 1)
