"""``schema`` and ``version``."""

from clawperator import __version__
from clawperator.cli.command_line import Call, CommandResult


def print_schema(call: Call) -> CommandResult:
    from clawperator.schemas import list_schemas, schema

    words = call.arguments.words
    return CommandResult(schema(words[0]) if words else {"schemas": list_schemas()})


def print_version(call: Call) -> CommandResult:
    if not call.arguments.has("--check-compat"):
        return CommandResult({"cliVersion": __version__})
    from clawperator.device import operator_package, probe_compatibility, resolve_device

    package = operator_package(call.options.operator_package)
    found = probe_compatibility(resolve_device(call.options.device), package)
    return CommandResult(found, 0 if found.compatible else 1)
