"""Commands about phones themselves: which there are, what is on them, and making them ready."""

import os
from typing import Any

from clawperator.cli.handler import Call, soft_usage
from clawperator.cli.parsing import invalid

_LONGEST_MS = 3_600_000


def answer(call: Call) -> Any:
    match call.name:
        case "devices":
            from clawperator.device.discovery import list_devices

            return {"devices": list_devices()}
        case "packages list":
            return _packages(call)
        case "operator setup":
            return _set_up(call)
        case "setup":
            return soft_usage(
                "a phone is set up by installing the Operator on it",
                canonical="clawperator operator setup --apk <operator.apk>",
            )
        case _:
            return _grant(call)


def seconds_given(call: Call) -> dict[str, float]:
    """What --timeout says, for a function that takes ``seconds``; nothing when it is not given."""
    timeout = call.options.timeout_ms
    if timeout is None:
        return {}
    if not 0 < timeout <= _LONGEST_MS:
        raise invalid(f"--timeout must be more than 0 and at most {_LONGEST_MS}, not {timeout}")
    return {"seconds": timeout / 1000}


def _packages(call: Call) -> Any:
    from clawperator.device.discovery import resolve
    from clawperator.device.packages import list_packages

    device = resolve(call.options.device)
    third_party = call.arguments.has("--third-party")
    return {"packages": list_packages(device, third_party=third_party, **seconds_given(call))}


def _set_up(call: Call) -> Any:
    apk = call.arguments.get("--apk")
    if not apk:
        return soft_usage("operator setup needs --apk <file>")
    from clawperator.device.discovery import resolve
    from clawperator.device.setup.install import set_up_operator

    # Which Operator an APK holds is seen when it is installed, unless somebody says so.
    package = call.options.operator_package or os.environ.get("CLAWPERATOR_OPERATOR_PACKAGE")
    return set_up_operator(resolve(call.options.device), apk, package, **seconds_given(call))


def _grant(call: Call) -> Any:
    from clawperator.device.discovery import resolve
    from clawperator.device.run import operator_package
    from clawperator.device.setup.install import grant_permissions

    return grant_permissions(resolve(call.options.device), operator_package(call.options.operator_package))
