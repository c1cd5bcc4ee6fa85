"""Android users and profiles: the one way to name a user on a device's command lines.

A user is a number: 0 is the first one, work profiles often have 10, Samsung's Secure Folder has 150. ``None``
and ``current`` are the current user, the one whose screen is shown. Without ``--user``, ``pm`` lists the packages
of every user on Android 11 and newer, which phones with a Secure Folder or a work profile refuse, and those of
user 0 on older versions.

- ``user_line`` for ``pm``, ``settings`` and ``appops``: ``user_line("pm", "list", "packages")`` lists those of the
  current user, ``user_line("pm", "grant", user=10, rest=(package, permission))`` grants for user 10. On every
  Android these take a number; ``current`` is refused by some versions of ``pm`` and lists nothing on others. So
  the script asks the device for the number in the same round trip, and takes user 0 if it gets none.
- ``user_words`` for ``am start``, ``am force-stop`` and ``cmd package resolve-activity`` or ``query-activities``,
  which know ``current`` on every Android: ``command_line("am", "start", *user_words(user), ...)``.
- ``require_user`` before anything is done for a user that the caller named.
- ``user_refusal`` for the output of a command that failed: the error when the shell may not access a user.
"""

import re
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from clawperator._base.text import one_line
from clawperator.contract.action_params import UserChoice
from clawperator.device.adb.client import Device, command_line, run_shell
from clawperator.errors import ClawError

CURRENT: Literal["current"] = "current"
_SECONDS = 15.0
_MAX_USERS = 100
_MAX_NAME = 60
# Nothing is read from the caller's input: it may be an APK.
_ASK_CURRENT = "U=$(am get-current-user 2>/dev/null </dev/null); case \"$U\" in ''|*[!0-9]*) U=0;; esac; "
_LISTED = re.compile(r"UserInfo\{(\d{1,5}):([^\n]{0,200}):[0-9a-fA-F]{1,8}\}([^\n]{0,40})")
_REFUSED = re.compile(r"does not have permission to access user (\d{1,5})")


class DeviceUser(Struct, frozen=True):
    """A user or profile of a device, and whether it is running."""

    id: int
    name: str
    running: bool


def user_line(
    *command: str, user: UserChoice | None = None, rest: Sequence[str] = (), or_plain: bool = False
) -> str:
    """The script ``command --user N rest``.

    With ``or_plain`` it runs the command without ``--user`` when the current user is refused. Use this only to
    read: without ``--user`` a change may concern every user.
    """
    if isinstance(user, int):
        return command_line(*command, "--user", str(user), *rest)
    words = " ".join((command_line(*command), '--user "$U"', *([command_line(*rest)] if rest else [])))
    return _ASK_CURRENT + words + (f" || {command_line(*command, *rest)}" if or_plain else "")


def user_words(user: UserChoice | None) -> tuple[str, str]:
    """``--user`` and the user, for commands that know ``current``."""
    return "--user", CURRENT if user is None else str(user)


def list_users(device: Device, *, seconds: float = _SECONDS) -> list[DeviceUser]:
    """The users and profiles of a device; none when it does not list them."""
    answer = run_shell(device, "pm list users", seconds=seconds)
    found = (_LISTED.search(line) for line in answer.text.splitlines()[:_MAX_USERS])
    return [DeviceUser(int(one[1]), one_line(one[2], _MAX_NAME), "running" in one[3]) for one in found if one]


def require_user(device: Device, user: UserChoice | None, *, seconds: float = _SECONDS) -> None:
    """``DEVICE_USER_NOT_FOUND`` when the device lists its users, and not this one."""
    if not isinstance(user, int):
        return
    users = list_users(device, seconds=seconds)
    if not users or user in [one.id for one in users]:
        return
    names = ", ".join(f"{one.id} ({one.name})" if one.name else str(one.id) for one in users)
    code, serial = "DEVICE_USER_NOT_FOUND", device.serial
    message = f"device {serial} has no user {user}; it has {names}"
    hint = f"Choose one of its users, for example {users[0].id}, or {CURRENT}."
    details = {"user": user, "users": [one.id for one in users]}
    raise ClawError(code, message, hint=hint, details=details, operation="user", target=serial)


def user_refusal(device: Device, output: str) -> ClawError | None:
    """``DEVICE_USER_FORBIDDEN`` when the output of a failed command means that the shell may not access a user."""
    found = _REFUSED.search(output)
    if found is None:
        return None
    code, details = "DEVICE_USER_FORBIDDEN", {"user": int(found[1])}
    message = f"device {device.serial} does not allow adb to access its user {found[1]}"
    hint = "Choose another user, for example 0. A Secure Folder and many work profiles forbid adb."
    return ClawError(code, message, hint=hint, details=details, operation="user", target=device.serial)
