"""Running a script: its output kept, its time limited, and all that it started ended with it."""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import IO, Literal

from msgspec import Struct

Stream = Literal["stdout", "stderr"]
Listener = Callable[[Stream, bytes], None]
Reason = Literal["", "timeout", "output", "stopped"]

MOST_BYTES = 16 * 1024 * 1024
_TERM_SECONDS = 2.0
_KILL_SECONDS = 5.0
_DRAIN_SECONDS = 0.2
_LOOK_SECONDS = 0.05
_BLOCK = 65_536


class Ended(Struct, frozen=True):
    """How a script ended. ``code`` is None when it had to be ended; ``reason`` then says why."""

    code: int | None
    stdout: str
    stderr: str
    seconds: float
    reason: Reason = ""


class _Watch:
    """The two streams of a running script."""

    def __init__(self, child: subprocess.Popen[bytes], listener: Listener | None) -> None:
        self.kept: dict[Stream, bytearray] = {"stdout": bytearray(), "stderr": bytearray()}
        self._listener = listener
        self._selector = selectors.DefaultSelector()
        pipes: tuple[tuple[Stream, IO[bytes] | None], ...] = (("stdout", child.stdout), ("stderr", child.stderr))
        for name, pipe in pipes:
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, selectors.EVENT_READ, name)

    def read(self, seconds: float) -> bool:
        """Take in what comes within this time, at most a block per stream; False when both have ended."""
        for key, _ in self._selector.select(max(seconds, 0)):
            try:
                data = os.read(key.fd, _BLOCK)
            except BlockingIOError:
                continue
            if not data:
                self._selector.unregister(key.fileobj)
                continue
            stream: Stream = key.data
            room = MOST_BYTES - len(self.kept[stream])
            self.kept[stream] += data[:room]
            if self._listener is not None and room > 0:
                self._listener(stream, data[:room])
        return bool(self._selector.get_map())

    @property
    def is_full(self) -> bool:
        return any(len(kept) >= MOST_BYTES for kept in self.kept.values())

    def text(self, stream: Stream) -> str:
        return self.kept[stream].decode("utf-8", "replace")

    def close(self) -> None:
        self._selector.close()


def run_script(
    argv: Sequence[str],
    environment: Mapping[str, str],
    *,
    seconds: float,
    listener: Listener | None = None,
    stop: Callable[[], bool] | None = None,
) -> Ended:
    """Run a program to its end, in a process group of its own. ``OSError`` when it cannot be started.

    When its time runs out the whole group is asked to end and then made to. An interrupt does the same, and so
    does ``stop``, which is asked every so often, once it says yes.
    """
    started = time.monotonic()
    child = subprocess.Popen(  # noqa: S603 - running the skill's own script is what was asked for
        list(argv),
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    watch = _Watch(child, listener)
    with child:
        try:
            reason = _watch_until_end(child, watch, started + seconds, stop)
            if reason:
                _end_group(child, watch)
        except BaseException:
            _end_group(child, watch)
            raise
        finally:
            watch.close()
    taken = time.monotonic() - started
    code = None if reason else child.returncode
    return Ended(code, watch.text("stdout"), watch.text("stderr"), taken, reason)


def _watch_until_end(
    child: subprocess.Popen[bytes], watch: _Watch, deadline: float, stop: Callable[[], bool] | None
) -> Reason:
    is_open = True
    while child.poll() is None:
        left = deadline - time.monotonic()
        if left <= 0:
            return "timeout"
        if stop is not None and stop():
            return "stopped"
        # A script may close its streams, or leave them to others: look every so often whether it still runs.
        if is_open:
            is_open = watch.read(min(left, _LOOK_SECONDS))
        else:
            with suppress(subprocess.TimeoutExpired):
                child.wait(min(left, _LOOK_SECONDS))
        if watch.is_full:
            return "output"
    _drain(watch, _DRAIN_SECONDS)
    return "output" if watch.is_full else ""


def _drain(watch: _Watch, seconds: float) -> None:
    """Take in what is left. Somebody the script started may hold the streams open for ever."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and not watch.is_full and watch.read(end - time.monotonic()):
        pass


def _end_group(child: subprocess.Popen[bytes], watch: _Watch) -> None:
    """Ask the group to end, take in what it still says, then make it end."""
    _signal(child.pid, signal.SIGTERM)
    end = time.monotonic() + _TERM_SECONDS
    while time.monotonic() < end and _group_lives(child):
        if not watch.read(0.02) or watch.is_full:
            time.sleep(0.02)
    _signal(child.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        child.wait(_KILL_SECONDS)
    _drain(watch, _DRAIN_SECONDS)


def _group_lives(child: subprocess.Popen[bytes]) -> bool:
    child.poll()
    try:
        os.killpg(child.pid, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _signal(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
