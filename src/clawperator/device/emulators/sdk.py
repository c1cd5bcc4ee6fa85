"""The tools of the Android SDK."""

import os
import shutil
import subprocess

from msgspec import Struct

from clawperator._base.deadline import Deadline
from clawperator.device.adb.binary import find_adb
from clawperator.errors import ClawError

_PLACES = {
    "emulator": ("emulator",),
    "sdkmanager": ("cmdline-tools", "latest", "bin"),
    "avdmanager": ("cmdline-tools", "latest", "bin"),
}
TOOLS = ("adb", *_PLACES)
_MAX_OUTPUT = 64 * 1024


class ToolRun(Struct, frozen=True):
    """The exit code and output of a tool. A code of -1 means that it did not start or reached its timeout."""

    code: int
    output: str

    @property
    def complaint(self) -> str:
        return " ".join(self.output.split())[-500:]


def find_tool(name: str) -> str | None:
    """A tool: from its variable (``EMULATOR_PATH`` and so on), the SDK, or the path."""
    if name == "adb":
        return find_adb()
    given = os.environ.get(f"{name.upper()}_PATH")
    if given:
        return given if _is_program(given) else None
    for sdk in sdk_folders():
        place = os.path.join(sdk, *_PLACES[name], name)
        if _is_program(place):
            return place
    return shutil.which(name)


def sdk_folders() -> list[str]:
    """Possible SDK folders, the likeliest first."""
    home = os.path.expanduser("~")
    given = [os.environ.get(name, "") for name in ("ANDROID_HOME", "ANDROID_SDK_ROOT")]
    usual = [os.path.join(home, "Android", "Sdk"), os.path.join(home, "Library", "Android", "sdk")]
    return [folder for folder in (*given, *usual) if folder]


def require_tools(*names: str) -> dict[str, str]:
    """The paths of these tools; ``ANDROID_SDK_TOOL_MISSING`` lists missing ones."""
    found = {name: find_tool(name) for name in names}
    missing = [name for name, path in found.items() if path is None]
    if missing:
        raise ClawError(
            "ANDROID_SDK_TOOL_MISSING",
            f"missing Android SDK tools: {', '.join(missing)}",
            hint="Run 'clawperator phone start' for a simulated phone, which needs no SDK. For an emulator "
            "install Android's command-line tools and set ANDROID_HOME.",
            details={"missingTools": missing},
            operation="emulator",
        )
    return {name: path for name, path in found.items() if path is not None}


def run_tool(program: str, *arguments: str, seconds: float, answer: str = "") -> ToolRun:
    """Run a tool. ``answer`` is its input."""
    try:
        done = subprocess.run(  # noqa: S603 - a tool of the SDK the user has installed
            [program, *arguments],
            input=answer.encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=Deadline(seconds).remaining,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return ToolRun(-1, f"timeout after {seconds:g} seconds")
    except OSError as e:
        return ToolRun(-1, str(e))
    return ToolRun(done.returncode, done.stdout[-_MAX_OUTPUT:].decode("utf-8", "replace"))


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)
