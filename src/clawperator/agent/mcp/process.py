"""Process of an MCP server: send and receive lines within time limits, and stop it.

It runs in its own process group. The end of its stderr is kept for error reports.
"""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

from clawperator._base.deadline import Deadline
from clawperator.agent.cancellation import TurnDeadline

LONGEST_LINE = 16 * 1024 * 1024
_MOST_STDERR = 8_192
_BLOCK = 262_144
_SLICE = 0.1
_EXIT_SECONDS = 0.25
_KILL_SECONDS = 5.0


class ServerProcess:
    """A running server. ``OSError`` when it cannot be started.

    ``send`` and ``receive`` raise ``TimeoutError`` at ``end``, ``EOFError`` when the server has exited,
    ``OverflowError`` for an oversized line, and ``TurnCancelledError`` after the deadline or a cancellation.
    """

    def __init__(self, argv: Sequence[str], environment: Mapping[str, str], folder: str | None) -> None:
        self._child = subprocess.Popen(  # noqa: S603 - the settings name this program
            list(argv),
            env=dict(environment),
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        assert self._child.stderr is not None
        self._stdin, self._stdout, self._stderr = self._child.stdin, self._child.stdout, self._child.stderr
        self._incoming = bytearray()
        self._searched = 0  # the bytes that were searched for a line end
        self._outgoing = bytearray()
        self._errors = bytearray()
        self._has_ended = False
        self._is_closed = False
        self._selector = selectors.DefaultSelector()
        for pipe in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(pipe.fileno(), False)
        for pipe in (self._stdout, self._stderr):
            self._selector.register(pipe, selectors.EVENT_READ)

    @property
    def is_alive(self) -> bool:
        return not self._is_closed and not self._has_ended and self._child.poll() is None

    def exit_code(self) -> int | None:
        """The exit code, negative for a signal; None while it runs. Its output may end a moment before."""
        if self._has_ended and not self._is_closed:
            self._wait(_EXIT_SECONDS)
        return self._child.poll()

    @property
    def stderr(self) -> str:
        """The end of its stderr."""
        return self._errors.decode("utf-8", "replace").strip()

    def send(self, line: bytes, end: Deadline, deadline: TurnDeadline) -> None:
        self._outgoing += line + b"\n"
        self._selector.register(self._stdin, selectors.EVENT_WRITE)
        try:
            while self._outgoing:
                self._step(end, deadline)
        finally:
            self._outgoing.clear()
            self._selector.unregister(self._stdin)

    def receive(self, end: Deadline, deadline: TurnDeadline) -> bytes:
        """The next line, without its line end."""
        while (at := self._incoming.find(b"\n", self._searched)) < 0:
            self._searched = len(self._incoming)
            if self._searched > LONGEST_LINE:
                raise OverflowError
            if self._has_ended:
                raise EOFError
            self._step(end, deadline)
        if at > LONGEST_LINE:
            raise OverflowError
        line = bytes(self._incoming[:at])
        del self._incoming[: at + 1]
        self._searched = 0
        return line

    def close(self, grace: float) -> None:
        """Stop it: close its input, then terminate, then kill its group, with ``grace`` seconds for each."""
        if self._is_closed:
            return
        self._is_closed = True
        with suppress(OSError):
            self._stdin.close()
        if not self._wait(grace):
            self._signal(signal.SIGTERM)
            self._wait(grace)
        self._signal(signal.SIGKILL)  # also the processes it started
        with suppress(subprocess.TimeoutExpired):
            self._child.wait(_KILL_SECONDS)
        self._drain()
        self._selector.close()
        self._stdout.close()
        self._stderr.close()

    def _step(self, end: Deadline, deadline: TurnDeadline) -> None:
        """Transfer available data, or wait briefly."""
        deadline.check()
        self._pump(min(end.left(), _SLICE))

    def _pump(self, seconds: float) -> bool:
        """Transfer data that becomes available within this time; False for none."""
        ready = self._selector.select(seconds)
        for key, _ in ready:
            if key.fileobj is self._stdin:
                self._write()
            else:
                self._read(key.fd)
        return bool(ready)

    def _write(self) -> None:
        try:
            sent = os.write(self._stdin.fileno(), self._outgoing[:_BLOCK])
        except BlockingIOError:
            return
        except OSError:
            self._has_ended = True
            raise EOFError from None
        del self._outgoing[:sent]

    def _read(self, number: int) -> None:
        is_error = number == self._stderr.fileno()
        if not is_error and len(self._incoming) > 2 * LONGEST_LINE:
            time.sleep(_SLICE / 10)  # not read at the moment: leave it in the pipe
            return
        try:
            data = os.read(number, _BLOCK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._selector.unregister(self._stderr if is_error else self._stdout)
            self._has_ended |= not is_error
        elif is_error:
            self._errors += data
            del self._errors[:-_MOST_STDERR]
        else:
            self._incoming += data

    def _wait(self, seconds: float) -> bool:
        """Whether it exits within this time. Its output is still read."""
        deadline = Deadline(seconds)
        while self._child.poll() is None:
            if deadline.is_over:
                return False
            self._incoming.clear()
            self._pump(0.01)
            if not self._selector.get_map():
                time.sleep(0.01)
        return True

    def _drain(self) -> None:
        self._incoming.clear()
        for _ in range(8):
            if not self._selector.get_map() or not self._pump(0):
                return
            self._incoming.clear()

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._child.pid, number)
