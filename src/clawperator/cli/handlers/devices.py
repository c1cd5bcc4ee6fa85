"""Commands for connected devices: list them, list packages, set up the Operator."""

from typing import TypedDict

from clawperator.cli.command_line import Call, CommandResult
from clawperator.cli.handlers.arguments import user_choice
from clawperator.cli.parsing import invalid

_LONGEST_MS = 3_600_000


def list_connected(_: Call) -> CommandResult:
    from clawperator.device.discovery import list_devices

    return CommandResult({"devices": list_devices()})


def list_installed(call: Call) -> CommandResult:
    from clawperator.device.discovery import resolve_device
    from clawperator.device.packages import list_packages
    from clawperator.device.users import require_user

    user = user_choice(call)
    seconds = seconds_given(call)
    device = resolve_device(call.options.device)
    require_user(device, user)
    third_party = call.arguments.has("--third-party")
    return CommandResult({"packages": list_packages(device, third_party=third_party, user=user, **seconds)})


def set_up(call: Call) -> CommandResult:
    apk = call.require(call.arguments.get("--apk"), "--apk <file>")
    from clawperator.device.discovery import resolve_device
    from clawperator.device.settings import named_operator
    from clawperator.device.setup.install import set_up_operator

    # Without a name, the package is read from the installed APK.
    package = named_operator(call.options.operator_package)
    return CommandResult(set_up_operator(resolve_device(call.options.device), apk, package, **seconds_given(call)))


def print_setup(_: Call) -> CommandResult:
    """The answer of another implementation of this command: guidance with the code ``USAGE``, exit code 0."""
    message = "a device is set up by installing the Operator on it"
    canonical = "clawperator operator setup --apk <operator.apk>"
    return CommandResult({"code": "USAGE", "message": message, "canonical": canonical})


def grant(call: Call) -> CommandResult:
    from clawperator.device.discovery import resolve_device
    from clawperator.device.operators import find_operator
    from clawperator.device.settings import named_operator
    from clawperator.device.setup.install import grant_permissions

    device = resolve_device(call.options.device)
    package = find_operator(device, named_operator(call.options.operator_package))
    return CommandResult(grant_permissions(device, package))


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
