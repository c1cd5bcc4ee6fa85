"""``schema`` and ``version``: what the program says of itself."""

from typing import Any

from clawperator import __version__
from clawperator.cli.call import Call
from clawperator.cli.phones import no_devices


def answer(call: Call) -> Any:
    if call.name == "version":
        if call.arguments.has("--check-compat"):
            raise no_devices()
        return {"cliVersion": __version__}
    from clawperator.schemas import list_schemas, schema

    return schema(call.arguments.words[0]) if call.arguments.words else {"schemas": list_schemas()}
