"""``schema`` and ``version``: what the program says of itself."""

from typing import Any

from clawperator import __version__
from clawperator.cli.handler import Call, Verdict


def answer(call: Call) -> Any:
    if call.name == "version":
        return _check_compat(call) if call.arguments.has("--check-compat") else {"cliVersion": __version__}
    from clawperator.schemas import list_schemas, schema

    return schema(call.arguments.words[0]) if call.arguments.words else {"schemas": list_schemas()}


def _check_compat(call: Call) -> Verdict:
    from clawperator.device.discovery import resolve
    from clawperator.device.run import operator_package
    from clawperator.device.setup.version_check import probe_compatibility

    package = operator_package(call.options.operator_package)
    found = probe_compatibility(resolve(call.options.device), package)
    return Verdict(found, 0 if found.compatible else 1)
