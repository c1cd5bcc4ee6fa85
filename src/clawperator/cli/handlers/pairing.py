"""``pair``: pair with a device by wireless debugging. The code is typed or comes from stdin, never from argv."""

import sys

from clawperator.cli.command_line import Call, CommandResult
from clawperator.cli.console import read_stdin
from clawperator.cli.handlers.devices import seconds_given

_MAX_LINE = 1_024
_PROMPT = "Pairing code: "


def pair(call: Call) -> CommandResult:
    from clawperator._base.deadline import pause_deadlines
    from clawperator.device.pairing import check_address, check_code, pair_device, require_server

    address = check_address(call.require(call.word, "an address: pair <host:port>"))
    connect = call.arguments.get("--connect")
    if connect is not None:
        check_address(connect, "address in --connect")
    limits = seconds_given(call)
    require_server()  # before the user is asked: a code is valid for a short time
    with pause_deadlines():
        code = check_code(_read_code(call))
    return CommandResult(pair_device(address, code, connect=connect, **limits))


def _read_code(call: Call) -> str:
    """The first line that the user types, or of stdin. The prompt is written to stderr."""
    if sys.stdin is not None and sys.stdin.isatty():
        call.console.write(_PROMPT)
        return sys.stdin.readline(_MAX_LINE)
    return read_stdin(_MAX_LINE).decode("utf-8", "replace").partition("\n")[0]
