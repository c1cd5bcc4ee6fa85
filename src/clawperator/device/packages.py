"""Installed packages."""

import re

from clawperator.contract.wire import OPERATOR_PACKAGES
from clawperator.device.adb.client import Device, run_shell
from clawperator.device.adb.quoting import command_line
from clawperator.errors import ClawError

_SECONDS = 15.0
_MAX_NAME = 255
_NAME = re.compile(r"[A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)*")


def list_packages(device: Device, *, third_party: bool = False, seconds: float = _SECONDS) -> list[str]:
    """The names of installed packages; with ``third_party`` without those of the system."""
    words = ["pm", "list", "packages", *(["-3"] if third_party else [])]
    answer = run_shell(device, command_line(*words), seconds=seconds)
    if answer.code != 0:
        raise ClawError(
            "DEVICE_SHELL_UNAVAILABLE",
            f"cannot list packages on {device.serial}: {answer.complaint}",
            hint="Retry when the device has booted.",
            operation="packages",
            target=device.serial,
        )
    lines = (line.strip().partition("package:") for line in answer.text.splitlines())
    names = [name for before, found, name in lines if found and not before]
    return [name for name in names if len(name) <= _MAX_NAME and _NAME.fullmatch(name)]


def other_variants(package: str, installed: list[str]) -> list[str]:
    """The installed Operators other than this one."""
    return [name for name in OPERATOR_PACKAGES if name != package and name in installed]
