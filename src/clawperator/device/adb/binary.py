"""The adb program and other tools of this computer: find them, run them, start the adb server."""

import os
import shutil
import subprocess
import sys

from msgspec import Struct

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
_MAX_OUTPUT = 64 * 1024


def find_adb() -> str | None:
    """The adb to use: ``ADB_PATH``, the one on the path, an SDK's, or that of the package adbutils."""
    given = os.environ.get("ADB_PATH")
    if given:
        return given if is_program(given) else None
    on_path = shutil.which("adb")
    if on_path:
        return on_path
    places = [os.path.join(sdk, "platform-tools", "adb") for sdk in sdk_folders()]
    places += [os.path.join(folder, "adbutils", "binaries", "adb") for folder in sys.path if folder]
    return next(filter(is_program, places), None)


def sdk_folders() -> list[str]:
    """Possible SDK folders, the likeliest first."""
    home = os.path.expanduser("~")
    given = [os.environ.get(name, "") for name in ("ANDROID_HOME", "ANDROID_SDK_ROOT")]
    usual = [os.path.join(home, "Android", "Sdk"), os.path.join(home, "Library", "Android", "sdk")]
    return [folder for folder in (*given, *usual) if folder]


def is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def require_adb() -> str:
    found = find_adb()
    if found is None:
        given = os.environ.get("ADB_PATH")
        message = f"ADB_PATH is not a program: {given}" if given else "adb is not installed"
        hint = "Run 'clawperator phone start' for a simulated phone, which needs no adb. For a real device "
        hint += "install Android's platform-tools, or set ADB_PATH."
        raise ClawError("ADB_NOT_FOUND", message, hint=hint, operation="connect")
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


class ToolRun(Struct, frozen=True):
    """The exit code and output of a program. A code of -1 means that it did not start or reached its timeout."""

    code: int
    output: str

    @property
    def complaint(self) -> str:
        return " ".join(self.output.split())[-500:]


def run_tool(
    program: str, *arguments: str, seconds: float, answer: str = "", folder: str | None = None
) -> ToolRun:
    """Run a program that the user has installed. ``answer`` is its input."""
    try:
        done = subprocess.run(  # noqa: S603 - a tool of the user
            [program, *arguments],
            cwd=folder,
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
    hint = "Run 'adb kill-server', then retry."
    return ClawError("ADB_SERVER_FAILED", message, hint=hint, operation="adb", target=target)
