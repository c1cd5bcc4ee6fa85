"""Run a script with limited time and output, and end every process of its group."""

import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import IO, Any, Literal

from msgspec import Struct

from clawperator._base.deadline import Deadline

Stream = Literal["stdout", "stderr"]
OutputListener = Callable[[Stream, bytes], None]
Reason = Literal["", "timeout", "output", "stopped"]

MAX_OUTPUT_BYTES = 16 * 1024 * 1024
_TERM_SECONDS = 2.0
_KILL_SECONDS = 5.0
_DRAIN_SECONDS = 0.2
_POLL_SECONDS = 0.05
_BLOCK = 65_536


class ScriptExit(Struct, frozen=True):
    """The exit of a script. ``code`` is None when the script was killed, for the given ``reason``."""

    code: int | None
    stdout: str
    stderr: str
    seconds: float
    reason: Reason = ""


class _OutputReader:
    """Collects the two output streams of a running script."""

    def __init__(self, child: subprocess.Popen[bytes], listener: OutputListener | None) -> None:
        self.collected: dict[Stream, bytearray] = {"stdout": bytearray(), "stderr": bytearray()}
        self._listener = listener
        self._selector = selectors.DefaultSelector()
        pipes: tuple[tuple[Stream, IO[bytes] | None], ...] = (("stdout", child.stdout), ("stderr", child.stderr))
        for name, pipe in pipes:
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, selectors.EVENT_READ, name)

    def read(self, seconds: float) -> bool:
        """Read at most one block per stream within this time; False when both streams have ended."""
        for key, _ in self._selector.select(max(seconds, 0)):
            try:
                data = os.read(key.fd, _BLOCK)
            except BlockingIOError:
                continue
            if not data:
                self._selector.unregister(key.fileobj)
                continue
            stream: Stream = key.data
            capacity = MAX_OUTPUT_BYTES - len(self.collected[stream])
            self.collected[stream] += data[:capacity]
            if self._listener is not None and capacity > 0:
                self._listener(stream, data[:capacity])
        return bool(self._selector.get_map())

    @property
    def is_full(self) -> bool:
        return any(len(collected) >= MAX_OUTPUT_BYTES for collected in self.collected.values())

    def text(self, stream: Stream) -> str:
        return self.collected[stream].decode("utf-8", "replace")

    def close(self) -> None:
        self._selector.close()


def run_script(
    argv: Sequence[str],
    environment: Mapping[str, str],
    *,
    seconds: float,
    listener: OutputListener | None = None,
    stop: Callable[[], bool] | None = None,
) -> ScriptExit:
    """Run a program to its end in its own process group. ``OSError`` when it cannot be started.

    On a timeout, an interrupt, or when ``stop`` returns True, the group gets SIGTERM and then SIGKILL. ``stop`` is
    called many times a second.
    """
    started = time.monotonic()
    deferred = DeferredSignals()
    with deferred:
        child = subprocess.Popen(  # noqa: S603 - the skill's own script
            list(argv),
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        reader = _OutputReader(child, listener)
        with child:
            try:
                deferred.deliver()
                reason = _read_until_exit(child, reader, Deadline(seconds), stop)
                if reason:
                    _end_group(child, reader)
            except BaseException:
                _end_group(child, reader)
                raise
            finally:
                reader.close()
    taken = time.monotonic() - started
    code = None if reason else child.returncode
    return ScriptExit(code, reader.text("stdout"), reader.text("stderr"), taken, reason)


class DeferredSignals:
    """Holds SIGINT and SIGTERM back from the main thread until ``deliver``, at the latest to the end of the block.

    An interrupt while a child is being started would leave it without anyone to end it.
    """

    def __init__(self) -> None:
        self._handlers: dict[int, Any] = {}
        self._received: list[int] = []

    def __enter__(self) -> None:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                if callable(signal.getsignal(number)):
                    self._handlers[number] = signal.signal(number, lambda which, _: self._received.append(which))

    def __exit__(self, *_: object) -> None:
        self.deliver()

    def deliver(self) -> None:
        """Restore the handlers, and call them for the signals that came meanwhile."""
        while self._handlers:
            signal.signal(*self._handlers.popitem())
        while self._received:
            signal.raise_signal(self._received.pop())


def _read_until_exit(
    child: subprocess.Popen[bytes], reader: _OutputReader, deadline: Deadline, stop: Callable[[], bool] | None
) -> Reason:
    is_open = True
    while child.poll() is None:
        if deadline.is_over:
            return "timeout"
        if stop is not None and stop():
            return "stopped"
        # A script may close its streams, or leave them open in a child: poll the process as well.
        if is_open:
            is_open = reader.read(deadline.within(_POLL_SECONDS))
        else:
            with suppress(subprocess.TimeoutExpired):
                child.wait(deadline.within(_POLL_SECONDS))
        if reader.is_full:
            return "output"
    _drain(reader, _DRAIN_SECONDS)
    return "output" if reader.is_full else ""


def _drain(reader: _OutputReader, seconds: float) -> None:
    """Read the remaining output. A child of the script may hold the streams open forever."""
    deadline = Deadline(seconds)
    while not deadline.is_over and not reader.is_full and reader.read(deadline.within(seconds)):
        pass


def _end_group(child: subprocess.Popen[bytes], reader: _OutputReader) -> None:
    """Send SIGTERM to the group, read its remaining output, then send SIGKILL."""
    _signal(child.pid, signal.SIGTERM)
    deadline = Deadline(_TERM_SECONDS)
    while not deadline.is_over and _group_lives(child):
        if not reader.read(0.02) or reader.is_full:
            time.sleep(0.02)
    _signal(child.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        child.wait(_KILL_SECONDS)
    _drain(reader, _DRAIN_SECONDS)


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
