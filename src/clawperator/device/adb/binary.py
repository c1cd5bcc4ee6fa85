"""The adb program of this computer: where it is, and the server it starts."""

import os
import shutil
import subprocess
import sys

from clawperator.device.adb.client import adb_endpoint
from clawperator.errors import ClawError

_START_SECONDS = 20


def find_adb() -> str | None:
    """The adb to use: ``ADB_PATH``, the one on the path, an SDK's, or the one that came with adbutils."""
    given = os.environ.get("ADB_PATH")
    if given:
        return given if os.access(given, os.X_OK) and os.path.isfile(given) else None
    on_path = shutil.which("adb")
    if on_path:
        return on_path
    sdks = [os.environ.get(name, "") for name in ("ANDROID_HOME", "ANDROID_SDK_ROOT")]
    home = os.path.expanduser("~")
    sdks += [os.path.join(home, "Android", "Sdk"), os.path.join(home, "Library", "Android", "sdk")]
    places = [os.path.join(sdk, "platform-tools", "adb") for sdk in sdks if sdk]
    places += [os.path.join(folder, "adbutils", "binaries", "adb") for folder in sys.path if folder]
    return next((place for place in places if os.path.isfile(place) and os.access(place, os.X_OK)), None)


def require_adb() -> str:
    found = find_adb()
    if found is None:
        given = os.environ.get("ADB_PATH")
        raise ClawError(
            "ADB_NOT_FOUND",
            f"ADB_PATH names no program: {given}" if given else "no adb was found on this computer",
            hint="Start the simulated phone with 'clawperator phone start': it needs no adb. For a real phone "
            "install Android's platform-tools, or set ADB_PATH.",
            operation="connect",
        )
    return found


def run_adb(*arguments: str, seconds: float = 30) -> "subprocess.CompletedProcess[bytes]":
    """Run the adb program. ``ADB_SERVER_FAILED`` when it does not end in time or cannot be run."""
    program = require_adb()
    endpoint = adb_endpoint()
    environment = {**os.environ, "ANDROID_ADB_SERVER_PORT": str(endpoint.port)}
    try:
        return subprocess.run(  # noqa: S603 - the program the user has named or installed
            [program, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            check=False,
            env=environment,
        )
    except (OSError, subprocess.TimeoutExpired) as e:
        raise ClawError(
            "ADB_SERVER_FAILED",
            f"{program} did not do its work: {e}",
            hint="Run 'adb kill-server' and try again.",
            operation="adb",
        ) from e


def start_server() -> None:
    """Start the adb server that ``adb_endpoint`` speaks of."""
    done = run_adb("start-server", seconds=_START_SECONDS)
    if done.returncode != 0:
        said = " ".join((done.stderr or done.stdout).decode("utf-8", "replace").split())[:500]
        raise ClawError(
            "ADB_SERVER_FAILED",
            f"the adb server did not start: {said}",
            hint="Run 'adb kill-server' and try again.",
            operation="adb",
        )
