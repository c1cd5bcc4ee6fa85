"""The adb program of this computer: find it, run it, start its server."""

import os
import shutil
import subprocess
import sys

from clawperator._base.deadline import Deadline
from clawperator.device.adb.server import (
    ADDRESS,
    PORT,
    SOCKET,
    adb_endpoint,
    can_start,
    not_running,
    server_environment,
)
from clawperator.errors import ClawError

_START_SECONDS = 20


def find_adb() -> str | None:
    """The adb to use: ``ADB_PATH``, the one on the path, an SDK's, or that of the package adbutils."""
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
            f"ADB_PATH is not a program: {given}" if given else "adb is not installed",
            hint="Run 'clawperator phone start' for a simulated phone, which needs no adb. For a real device "
            "install Android's platform-tools, or set ADB_PATH.",
            operation="connect",
        )
    return found


def run_adb(
    *arguments: str, seconds: float = 30, asks_server: bool = True
) -> "subprocess.CompletedProcess[bytes]":
    """Run the adb program. ``ADB_SERVER_FAILED`` when it does not end in time or cannot be run.

    Without ``asks_server`` the address of the server does not matter, not even an invalid one.
    """
    program = require_adb()
    others = {name: value for name, value in os.environ.items() if name not in (SOCKET, ADDRESS, PORT)}
    environment = others | (server_environment(adb_endpoint()) if asks_server else {})
    try:
        return subprocess.run(  # noqa: S603 - the program the user has named or installed
            [program, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=Deadline(seconds).remaining,
            check=False,
            env=environment,
        )
    except subprocess.TimeoutExpired as e:
        raise _failed(f"'adb {arguments[0]}' did not end within {seconds:g} s", program) from e
    except OSError as e:
        raise _failed(f"{program} failed: {e}", program) from e


def start_server() -> None:
    """Start the adb server at ``adb_endpoint``. ``ADB_SERVER_FAILED`` when it cannot be started there."""
    endpoint = adb_endpoint()
    if not can_start(endpoint):
        raise not_running(endpoint)
    done = run_adb("start-server", seconds=_START_SECONDS)
    if done.returncode != 0:
        reason = " ".join((done.stderr or done.stdout).decode("utf-8", "replace").split())[:500]
        raise _failed(f"the adb server did not start at {endpoint.address}: {reason}", endpoint.address)


def _failed(message: str, target: str) -> ClawError:
    return ClawError(
        "ADB_SERVER_FAILED",
        message,
        hint="Run 'adb kill-server', then retry.",
        operation="adb",
        target=target,
    )
