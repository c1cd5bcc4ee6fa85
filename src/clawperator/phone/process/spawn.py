"""The process of a phone as its starter sees it: how it is started, its first line, and its log."""

import os
import time

from clawperator._base.deadline import Deadline
from clawperator._base.notes import show_status

_START_SECONDS = 30.0
_STATUS_SECONDS = 0.25
_LOG_TAIL = 2_000
_MAX_LOG = 1024 * 1024


def spawn(argv: list[str], log: str) -> tuple[int, int, int]:
    """Start a process in a session of its own, so that it outlives ours. Returns its id, stdin and stdout."""
    from clawperator._base.environment import own_environment

    in_read, in_write = os.pipe()
    out_read, out_write = os.pipe()
    try:
        pid = os.posix_spawn(
            argv[0],
            argv,
            own_environment(),
            file_actions=[
                (os.POSIX_SPAWN_DUP2, in_read, 0),
                (os.POSIX_SPAWN_DUP2, out_write, 1),
                (os.POSIX_SPAWN_OPEN, 2, log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
            ],
            setsid=True,
        )
    except BaseException:
        os.close(in_write)
        os.close(out_read)
        raise
    finally:
        os.close(in_read)
        os.close(out_write)
    return pid, in_write, out_read


def first_line(descriptor: int, title: str) -> bytes:
    """The first line that the new process prints, within the time to start. ``title`` is shown while it starts."""
    import select

    began, deadline = time.monotonic(), Deadline(_START_SECONDS)
    line = b""
    while not line.endswith(b"\n") and not deadline.is_over:
        show_status(title, began)
        if select.select([descriptor], [], [], deadline.within(_STATUS_SECONDS))[0]:
            part = os.read(descriptor, 65_536)
            if not part:
                break
            line += part
    return line


def rotated_log(path: str) -> int:
    """The size of the log of earlier runs. One that has grown too large is emptied first."""
    try:
        if os.path.getsize(path) > _MAX_LOG:
            os.truncate(path, 0)
        return os.path.getsize(path)
    except FileNotFoundError:
        return 0


def tail(path: str, start: int) -> str:
    with open(path, "rb") as file:
        file.seek(start)
        return file.read()[-_LOG_TAIL:].decode("utf-8", "replace").strip()
