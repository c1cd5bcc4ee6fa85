"""Simulated phones from Python."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from clawperator.api.phone import naming_methods
from clawperator.phone.process.launch import DEFAULT_SERIAL, PhoneProcess, launch_phone
from clawperator.policy.gate import check_call

Options = ParamSpec("Options")


def _gated(launch: Callable[Options, PhoneProcess]) -> Callable[Options, PhoneProcess]:
    @naming_methods()
    @wraps(launch)
    def start_phone(*args: Options.args, **options: Options.kwargs) -> PhoneProcess:
        serial = str(args[0] if args else options.get("serial", DEFAULT_SERIAL))
        check_call("start_phone", "full" if options.get("apps") else "act", serial, command="phone start")
        if options.get("faults"):
            check_call("phone_fault", "act", serial)
        return launch(*args, **options)

    start_phone.__name__ = start_phone.__qualname__ = "start_phone"
    return start_phone


start_phone = _gated(launch_phone)
