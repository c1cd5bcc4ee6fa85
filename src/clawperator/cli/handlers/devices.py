"""The timeout of commands for devices."""

from typing import TypedDict

from clawperator.cli.command_line import Call
from clawperator.cli.parsing import invalid

_LONGEST_MS = 3_600_000


class _Seconds(TypedDict, total=False):
    seconds: float


def seconds_given(call: Call) -> _Seconds:
    """--timeout as the argument ``seconds``; empty when it is not given."""
    timeout = call.options.timeout_ms
    if timeout is None:
        return {}
    if not 0 < timeout <= _LONGEST_MS:
        raise invalid(
            f"--timeout must be more than 0 and at most {_LONGEST_MS}, not {timeout}", "Write --timeout 60000."
        )
    return {"seconds": timeout / 1000}
