"""Installed packages."""

import re

from clawperator.contract.action_params import UserChoice
from clawperator.contract.wire import OPERATOR_PACKAGES
from clawperator.device.adb.client import Device, run_shell
from clawperator.device.users import user_line, user_refusal
from clawperator.errors import ClawError

_SECONDS = 15.0
_MAX_NAME = 255
_NAME = re.compile(r"[A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)*")


def list_packages(
    device: Device, *, third_party: bool = False, user: UserChoice | None = None, seconds: float = _SECONDS
) -> list[str]:
    """The names of the packages of a user, by default the current one; ``third_party`` omits those of the system.

    The caller checks that a named user exists: an old Android lists nothing for another one.
    """
    rest = ["-3"] if third_party else []
    script = user_line("pm", "list", "packages", user=user, rest=rest, or_plain=True)
    answer = run_shell(device, script, seconds=seconds)
    if answer.code != 0:
        raise user_refusal(device, answer.complaint) or ClawError(
            "DEVICE_SHELL_UNAVAILABLE",
            f"cannot list packages on {device.serial}: {answer.complaint}",
            hint="Retry when the device has booted.",
            operation="packages",
            target=device.serial,
        )
    lines = (line.strip().partition("package:") for line in answer.text.splitlines())
    names = [name for before, found, name in lines if found and not before]
    # A refused first attempt may have printed a part.
    return [name for name in dict.fromkeys(names) if len(name) <= _MAX_NAME and _NAME.fullmatch(name)]


def other_variants(package: str, installed: list[str]) -> list[str]:
    """The installed Operators other than this one."""
    return [name for name in OPERATOR_PACKAGES if name != package and name in installed]
