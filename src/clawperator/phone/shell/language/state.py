"""The jumps of a script, the limits it runs under, and the threads it may start."""

import threading
from collections.abc import Callable

from clawperator.phone.shell.language.expansion import ShellError

MAX_COMMANDS = 1_000_000
MAX_ASSIGNED = 128 * 1024 * 1024
MAX_THREADS = 256

_threads = threading.BoundedSemaphore(MAX_THREADS)


class Exit(Exception):  # noqa: N818 - a jump, not an error
    """Leave the script, or the subshell, with a status."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status & 0xFF


class Return(Exit):
    """Leave the function."""


class LeaveLoop(Exception):  # noqa: N818 - a jump, not an error
    """Leave so many loops; ``again`` goes on with the last of them."""

    def __init__(self, levels: int, *, again: bool) -> None:
        super().__init__(levels)
        self.levels = levels
        self.again = again


class Budget:
    """What one script may use, however it is nested. It is generous, and it ends."""

    def __init__(self) -> None:
        self._commands = 0
        self._assigned = 0

    def spend(self, size: int = 0) -> None:
        self._commands += 1
        self._assigned += size
        if self._commands > MAX_COMMANDS or self._assigned > MAX_ASSIGNED:
            raise ShellError("script used up its time")


def start_thread(run: Callable[[], object]) -> threading.Thread:
    """Run something beside the script. Threads are as scarce as processes are on a phone."""
    if not _threads.acquire(blocking=False):
        raise ShellError("can't fork - try again")

    def work() -> None:
        try:
            run()
        finally:
            _threads.release()

    thread = threading.Thread(target=work, name="phone-shell", daemon=True)
    try:
        thread.start()
    except RuntimeError:
        _threads.release()
        raise ShellError("can't fork - try again") from None
    return thread
