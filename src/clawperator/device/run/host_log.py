"""The host log: one JSON line per operation on a device, one file per day.

A line has ids, codes and durations, never text that was typed, read or shown on a screen. Writing takes tens of
microseconds and never fails a command: without a writable folder there is no log.
"""

import os
import time
from contextlib import suppress
from typing import Literal

import msgspec

from clawperator._base.files import closing, make_private_folder, try_lock
from clawperator._base.home import has_config, product_home
from clawperator._base.notes import is_tracing
from clawperator._base.text import utc_timestamp

KEEP_DAYS = 14
# A full file becomes the older half of its day; the half before it is deleted.
MAX_BYTES = 8 * 1024 * 1024
_MAX_TEXT = 500

Level = Literal["debug", "info", "warn", "error"]
LOG_LEVELS: tuple[Level, ...] = ("debug", "info", "warn", "error")
Value = str | int | float | bool | None


def log_folder() -> str:
    """The folder of the log: ``CLAWPERATOR_LOG_DIR``, or ``logs`` in the product home."""
    given = os.environ.get("CLAWPERATOR_LOG_DIR")
    return os.path.expanduser(given) if given else os.path.join(product_home(), "logs")


def log_file(now: float | None = None) -> str:
    """The file of the day, in local time."""
    day = time.strftime("%Y-%m-%d", time.localtime(now))
    return os.path.join(log_folder(), f"clawperator-{day}.ndjson")


def log_event(event: str, message: str = "", *, level: Level = "info", **fields: Value) -> None:
    """Write a line, unless its level is below ``CLAWPERATOR_LOG_LEVEL`` and no command traces. Never raises.

    Fields that are None are left out, and declared secrets are masked. Pass ids, codes and numbers only: no
    payload, no text of an app.
    """
    if LOG_LEVELS.index(level) < _threshold():
        return
    with suppress(OSError, ValueError, msgspec.EncodeError):
        now = time.time()
        head = {"ts": utc_timestamp(now), "level": level, "event": event, "message": message or event}
        line: dict[str, Value] = {k: v for k, v in (*head.items(), *fields.items()) if v is not None}
        if has_config():
            from clawperator._base.secrets import known_secrets
            from clawperator.ui.privacy import mask

            line = mask(line, known_secrets())
        line = {name: value[:_MAX_TEXT] if isinstance(value, str) else value for name, value in line.items()}
        _append(log_file(now), msgspec.json.encode(line) + b"\n", now)


def _threshold() -> int:
    if is_tracing():  # --verbose and --log-level debug
        return 0
    wanted = os.environ.get("CLAWPERATOR_LOG_LEVEL", "").lower()
    return next((rank for rank, level in enumerate(LOG_LEVELS) if level == wanted), 1)


def _append(path: str, line: bytes, now: float) -> None:
    try:
        opened = _open(path)
    except FileNotFoundError:
        make_private_folder(os.path.dirname(path))
        opened = _open(path)
    with closing(opened) as descriptor:
        size = os.fstat(descriptor).st_size
        if size == 0:
            _delete_old_files(os.path.dirname(path), now)
        elif size >= MAX_BYTES:
            _rotate(path, descriptor)
        os.write(descriptor, line)  # one write, at the end: lines of several processes do not mix


def _open(path: str) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def _rotate(path: str, descriptor: int) -> None:
    """Rename a full file. Only one process does; our line is the last of the old file."""
    if try_lock(descriptor) and os.fstat(descriptor).st_ino == os.stat(path).st_ino:
        os.replace(path, path.removesuffix(".ndjson") + ".1.ndjson")


def _delete_old_files(folder: str, now: float) -> None:
    import re

    ours = re.compile(r"clawperator-(\d{4}-\d\d-\d\d)(\.1)?\.ndjson")
    oldest = time.strftime("%Y-%m-%d", time.localtime(now - KEEP_DAYS * 86_400))
    for name in os.listdir(folder):
        found = ours.fullmatch(name)
        if found is not None and found[1] < oldest:
            with suppress(OSError):
                os.unlink(os.path.join(folder, name))


class HostLogReader:
    """Reads the log from the start of the day, and continues after a rotation and after midnight."""

    def __init__(self) -> None:
        self._path = ""
        self._descriptor: int | None = None

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def read(self, max_bytes: int = 1024 * 1024) -> bytes:
        """The next bytes; none when there are no new lines yet. ``OSError`` when the log cannot be read."""
        if self._descriptor is not None:
            data = os.read(self._descriptor, max_bytes)
            if data or self._is_current():
                return data
            if data := os.read(self._descriptor, max_bytes):  # written just before the rotation
                return data
            self.close()
        self._path = log_file()
        try:
            self._descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return b""
        return os.read(self._descriptor, max_bytes)

    def _is_current(self) -> bool:
        """Whether the open file is still the one that is written to."""
        assert self._descriptor is not None
        if self._path != log_file():
            return False
        try:
            return os.stat(self._path).st_ino == os.fstat(self._descriptor).st_ino
        except FileNotFoundError:
            return True
