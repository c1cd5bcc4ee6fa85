"""The tools of the Android SDK on this computer."""

import os
import shutil
import subprocess

from msgspec import Struct

from clawperator.device.adb.binary import find_adb
from clawperator.errors import ClawError

_PLACES = {
    "emulator": ("emulator",),
    "sdkmanager": ("cmdline-tools", "latest", "bin"),
    "avdmanager": ("cmdline-tools", "latest", "bin"),
}
TOOLS = ("adb", *_PLACES)
_MOST_OUTPUT = 64 * 1024


class Ran(Struct, frozen=True):
    """How a tool ended. A code of -1 means that it could not be run, or not to its end."""

    code: int
    said: str

    @property
    def complaint(self) -> str:
        return " ".join(self.said.split())[-500:]


def find_tool(name: str) -> str | None:
    """A tool: the one its variable names (``EMULATOR_PATH`` and so on), the SDK's, or one on the path."""
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
    """Where an SDK may be, the likeliest first."""
    home = os.path.expanduser("~")
    given = [os.environ.get(name, "") for name in ("ANDROID_HOME", "ANDROID_SDK_ROOT")]
    usual = [os.path.join(home, "Android", "Sdk"), os.path.join(home, "Library", "Android", "sdk")]
    return [folder for folder in (*given, *usual) if folder]


def require_tools(*names: str) -> dict[str, str]:
    """The paths of these tools; ``ANDROID_SDK_TOOL_MISSING`` names those that are not there."""
    found = {name: find_tool(name) for name in names}
    missing = [name for name, path in found.items() if path is None]
    if missing:
        raise ClawError(
            "ANDROID_SDK_TOOL_MISSING",
            f"this needs tools of the Android SDK that are not here: {', '.join(missing)}",
            hint="Start the simulated phone with 'clawperator phone start': it needs no SDK. For an emulator "
            "install Android's command-line tools and set ANDROID_HOME.",
            details={"missingTools": missing},
            operation="emulator",
        )
    return {name: path for name, path in found.items() if path is not None}


def run_tool(program: str, *arguments: str, seconds: float, answer: str = "") -> Ran:
    """Run a tool to its end. ``answer`` is what it is told when it asks."""
    try:
        done = subprocess.run(  # noqa: S603 - a tool of the SDK the user has installed
            [program, *arguments],
            input=answer.encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Ran(-1, f"it took longer than {seconds:g} seconds")
    except OSError as e:
        return Ran(-1, str(e))
    return Ran(done.returncode, done.stdout[-_MOST_OUTPUT:].decode("utf-8", "replace"))


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)
