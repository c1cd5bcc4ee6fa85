"""Actions that run on the host for every backend: closing an app and taking a screenshot."""

import os
import re
import time
from typing import Any

from clawperator.contract.action_params import UserChoice
from clawperator.contract.actions import ACTIONS
from clawperator.contract.results import StepResult
from clawperator.device.adb.client import Device, command_line, run_shell, shell_error
from clawperator.errors import ClawError

_CLOSE_SECONDS = 10.0
# Of a command id in a file name: at most 255 bytes in all, and a character may take four.
_MAX_NAME = 40
_OWNER = re.compile(r"u(\d{1,5})_")


def run_host_action(device: Device, action: dict[str, Any], command_id: str) -> StepResult:
    """Run an action that needs no capture of the screen. A failure becomes a failed step."""
    params = action.get("params", {})
    try:
        if ACTIONS[action["type"]].evidence == "screenshot":
            from clawperator.device.adb.screencap import capture_png

            data = {"path": save_screenshot(capture_png(device), params.get("path"), command_id)}
        else:
            was_running = is_running(device, params["applicationId"], user=params.get("user"))
            force_stop(device, params["applicationId"], user=params.get("user"))
            data = {"application_id": params["applicationId"], **({} if was_running else {"was_running": "false"})}
    except ClawError as e:
        data = {"error": e.code, "message": e.message, "hint": e.hint}
        if e.details and "path" in e.details:
            data["path"] = str(e.details["path"])
    return StepResult(action["id"], action["type"], "error" not in data, data)


def is_running(
    device: Device, package: str, *, user: UserChoice | None = None, seconds: float = _CLOSE_SECONDS
) -> bool:
    """Whether an app has a process, of a user if its number is given. Also true when the device lists none."""
    has_number = isinstance(user, int)
    try:
        columns = ["USER", "NAME"] if has_number else ["NAME"]
        answer = run_shell(device, command_line("ps", "-A", "-o", ",".join(columns)), seconds=seconds)
        if answer.text.split()[: len(columns)] != columns:
            # Until Android 7 ps knows no such options; the user is in its first column, the name in the last.
            answer = run_shell(device, "ps", seconds=seconds)
    except ClawError:
        return True
    rows = [line.split() for line in answer.text.splitlines() if line.strip()]
    names = [row[-1] for row in rows if not has_number or _user_of(row[0]) == user]
    return answer.code != 0 or not rows or any(is_process_of(name, package) for name in names)


def is_process_of(name: str, package: str) -> bool:
    """Whether a process belongs to an app: it has the name of the package, or the package and a suffix."""
    return name == package or name.startswith(f"{package}:")


def _user_of(owner: str) -> int:
    """The Android user of a process by its Linux user: u10_a123, u10_system, or system for user 0."""
    found = _OWNER.match(owner)
    return int(found[1]) if found is not None else 0


def force_stop(
    device: Device, package: str, *, user: UserChoice | None = None, seconds: float = _CLOSE_SECONDS
) -> None:
    """Force-stop an app, for every user unless one is named."""
    from clawperator.device.users import user_refusal, user_words  # seldom needed where this module is loaded

    words = () if user is None else user_words(user)
    answer = run_shell(device, command_line("am", "force-stop", *words, package), seconds=seconds)
    if answer.code != 0:
        message = f"cannot close {package} on {device.serial}: {answer.complaint}"
        details = {"applicationId": package, "adbExitCode": answer.code}
        raise user_refusal(device, answer.complaint) or shell_error(device, message, details=details)


def save_screenshot(png: bytes, path: str | None, command_id: str) -> str:
    """Write a PNG to ``path``, or to a new file in the product home. Returns the path.

    Only the owner can read the file. A symbolic link at ``path`` is refused.
    """
    from clawperator._base.files import AtomicFile, make_private_folder, why

    given, path = path, path if path is not None else _new_path(command_id)
    folder = os.path.dirname(path) or "."
    try:
        if given is None:
            make_private_folder(folder)
        with AtomicFile(path, private=True, follow_links=False) as out:
            out.file.write(png)
    except (OSError, ValueError) as e:
        if given is None:
            hint = "Set CLAWPERATOR_HOME to a writable folder, or choose another file."
        elif os.path.islink(path):
            hint = f"Choose the file itself: {os.path.realpath(path)}."
        elif isinstance(e, FileNotFoundError):
            hint = f"Create the folder {folder} first, or choose another path."
        elif os.path.lexists(path) and not os.path.isfile(path):
            hint = "Choose another path: the name of a new file or of a regular file."
        else:
            hint = f"Check the permissions of the folder {folder}, or choose another path."
        code, message, details = "SCREENSHOT_NOT_SAVED", f"cannot write {path}: {why(e)}", {"path": path}
        raise ClawError(code, message, hint=hint, details=details, operation="write", target=path) from e
    return path


def _new_path(command_id: str) -> str:
    """A path that cannot be guessed, in the product home."""
    from clawperator._base.home import product_home

    safe = "".join(c if c.isalnum() or c in "-_." else "_" for c in command_id[:_MAX_NAME])
    name = f"clawperator-screenshot-{safe}-{time.time_ns() // 1_000_000}-{os.urandom(8).hex()}.png"
    return os.path.abspath(os.path.join(product_home(), "screenshots", name))
