"""``pair``: pair with a device by wireless debugging. The code is typed or comes from stdin, never from argv."""

import sys

from msgspec import UNSET

from clawperator.cli.command_line import Call, CommandResult
from clawperator.cli.console import read_stdin
from clawperator.operations.call import ApprovedCall, Caller

_MAX_LINE = 1_024
_PROMPT = "Pairing code: "


def pair(line: Call, approved: ApprovedCall, caller: Caller) -> CommandResult:
    from clawperator._base.deadline import pause_deadlines
    from clawperator.device.pairing import PAIR_SECONDS, check_address, check_code, pair_device, require_server

    params = approved.params
    address = check_address(params.address)
    connect = None if params.connect is UNSET else check_address(params.connect, "address in --connect")
    require_server()  # before the user is asked: a code is valid for a short time
    with pause_deadlines():
        code = check_code(_read_code(line))
    return CommandResult(pair_device(address, code, connect=connect, seconds=caller.seconds(PAIR_SECONDS)))


def _read_code(call: Call) -> str:
    """The first line that the user types, or of stdin. The prompt is written to stderr."""
    if sys.stdin is not None and sys.stdin.isatty():
        call.console.write(_PROMPT)
        return sys.stdin.readline(_MAX_LINE)
    return read_stdin(_MAX_LINE).decode("utf-8", "replace").partition("\n")[0]
