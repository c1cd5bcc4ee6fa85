"""The state of one shell, its limits, its background jobs, and the jumps out of loops, functions and scripts.

``ShellState`` is what every part of the language needs of the interpreter; ``interpreter.Interpreter`` adds the
running. Every script has a budget of commands, of assigned bytes, of threads and of depth.
"""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Self, TypeAlias, cast

from msgspec import Struct

from clawperator.errors import ClawperatorException
from clawperator.phone.core.kernel import SHELL_PID
from clawperator.phone.shell.language.parser import CommandList, CommandNode, ShellSyntaxError
from clawperator.phone.shell.pipes import CancelEvent, CapturedOutput, ClosedStream, InputStream, OutputStream
from clawperator.phone.shell.process import BROKEN_PIPE, MAX_DEPTH, SH, ShellProcess, decode, encode, reason
from clawperator.phone.storage.filesystem import Storage

MAX_SCRIPT = 1024 * 1024
MAX_CAPTURED = 1024 * 1024
MAX_COMMANDS = 1_000_000
MAX_ASSIGNED = 128 * 1024 * 1024
MAX_THREADS = 256
_JOIN_SECONDS = 0.05
_LAST_SECONDS = 1.0

Streams: TypeAlias = dict[int, InputStream | OutputStream]

_threads = threading.BoundedSemaphore(MAX_THREADS)


class ShellError(ClawperatorException):
    """An error that ends a script; the message is printed to stderr."""


class Exit(ClawperatorException):
    """Leave the script, or the subshell, with a status."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status & 0xFF


class Return(Exit):
    """Leave the function."""


class LeaveLoop(ClawperatorException):
    """Leave this many loops; ``again`` continues the outermost of them."""

    def __init__(self, levels: int, *, again: bool) -> None:
        super().__init__(levels)
        self.levels = levels
        self.again = again


class Budget(Struct):
    """How much one script may run and assign, subshells included."""

    _commands: int = 0
    _assigned: int = 0

    def spend(self, size: int = 0) -> None:
        """Count a command and the bytes it assigns. ``ShellError`` beyond the limits."""
        self._commands += 1
        self._assigned += size
        if self._commands > MAX_COMMANDS or self._assigned > MAX_ASSIGNED:
            raise ShellError("script used up its time")


class Job(Struct, eq=False):
    """A background command. One that holds none of the script's streams may outlive the script."""

    cancel: CancelEvent
    attached: bool
    status: int = 0
    thread: threading.Thread | None = None


class ShellState(ABC):
    """The variables, streams, options and jobs of one shell or subshell."""

    def __init__(self, process: ShellProcess) -> None:
        self.phone = process.phone
        self.name = process.argv[0]
        self.arguments: Sequence[str] = process.argv[1:]
        self.variables = dict(process.env)
        self.exported = set(process.env)
        self.variables.pop("IFS", None)
        self.streams: Streams = {0: process.stdin, 1: process.stdout, 2: process.stderr}
        self.cwd = process.cwd
        self.depth = process.depth + 1
        # The script stops when the first is set, a waiting command when the second is.
        self.cancelled: threading.Event = process.cancelled
        self.command_cancelled: threading.Event = process.cancelled
        self.budget = Budget()
        self.options: set[str] = set()
        self.functions: dict[str, CommandNode] = {}
        self.scopes: list[dict[str, str | None]] = []
        self.jobs: list[Job] = []
        self.status = 0
        # The status of the last ``$( )``, which is also the status of an assignment.
        self.substitution_status = 0
        # How many conditions enclose the running command: ``set -e`` ignores failures in them.
        self.conditions = 0

    @abstractmethod
    def run_list(self, commands: CommandList) -> int:
        """Run commands one after the other and return the last status."""

    @property
    def storage(self) -> Storage:
        return self.phone.storage

    @property
    def stdin(self) -> InputStream:
        return cast("InputStream", self.streams[0])

    def write(self, text: str) -> int:
        """Write text to stdout and return the exit code 0."""
        cast("OutputStream", self.streams[1]).write(encode(text))
        return 0

    def write_error(self, line: str) -> None:
        """Write a line to stderr as it is."""
        cast("OutputStream", self.streams[2]).write(encode(f"{line}\n"))

    def report_error(self, text: str, code: int = 1) -> int:
        """Write an error message of the shell itself and return the exit code."""
        self.write_error(f"{SH}: {text}")
        return code

    def special(self, name: str) -> str | None:
        """The value of ``$?``, ``$$`` and the like."""
        return {
            "?": str(self.status),
            "$": str(SHELL_PID),
            "#": str(len(self.arguments)),
            "0": self.name,
            "-": "".join(sorted(self.options)),
            "!": str(SHELL_PID + len(self.jobs)) if self.jobs else None,
        }.get(name)

    def assign(self, name: str, value: str) -> None:
        self.budget.spend(len(value))
        self.variables[name] = value

    def restore(self, name: str, value: str | None) -> None:
        """Put back a variable's former value; None unsets it."""
        if value is None:
            self.variables.pop(name, None)
        else:
            self.variables[name] = value

    def copy(self) -> Self:
        """A subshell: the same state, changed independently from here on."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.variables = dict(self.variables)
        other.exported = set(self.exported)
        other.streams = dict(self.streams)
        other.options = set(self.options)
        other.functions = dict(self.functions)
        other.scopes = [dict(scope) for scope in self.scopes]
        other.jobs = []
        return other

    def new_process(self, argv: list[str], streams: Streams | None = None) -> ShellProcess:
        """A command as this shell would start it."""
        chosen = self.streams if streams is None else streams
        stdin, stdout, stderr = (cast("Any", chosen.get(number, ClosedStream())) for number in range(3))
        env = {name: value for name, value in self.variables.items() if name in self.exported}
        words, cancelled = list(argv) or [""], self.command_cancelled
        return ShellProcess(words, self.phone, stdin, stdout, stderr, cancelled, env, self.cwd, self.depth)

    def test(self, commands: CommandList) -> bool:
        """Run a condition: a failure in it is a result, not an error."""
        self.conditions += 1
        try:
            return self.run_list(commands) == 0
        finally:
            self.conditions -= 1

    def substitute(self, body: CommandList) -> str:
        """The output of a subshell, without the newlines at its end."""
        inner = self.copy()
        captured = CapturedOutput(MAX_CAPTURED)
        inner.streams[1] = captured
        self.substitution_status = inner.run_contained(lambda: inner.run_nested(lambda: inner.run_list(body)))
        inner.wait_for_jobs()
        return decode(bytes(captured.data).replace(b"\0", b"")).rstrip("\n")

    def run_nested(self, run: Callable[[], int]) -> int:
        """Run one level deeper. ``ShellError`` beyond ``MAX_DEPTH``."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ShellError("nested too deeply")
        try:
            return run()
        finally:
            self.depth -= 1

    def run_contained(self, run: Callable[[], object]) -> int:
        """Run to the end of a script or subshell: jumps and errors out of it become its status."""
        message: str | None = None
        try:
            run()
        except Exit as e:
            self.status = e.status
        except LeaveLoop:
            pass
        except BrokenPipeError:
            self.status = BROKEN_PIPE
        except (ShellError, ShellSyntaxError) as e:
            message = str(e)
        except OSError as e:
            message = reason(e)
        except RecursionError:
            message = "nested too deeply"
        if message is not None:
            self.status = 1
            with suppress(OSError):
                self.report_error(message)
        return self.status

    def wait_for_jobs(self) -> None:
        """Wait for the jobs that hold the script's streams; stop them when the script is cancelled."""
        for job in self.jobs:
            if job.attached and job.thread:
                join_thread(job.thread, self.cancelled, job.cancel.set)


def start_thread(run: Callable[[], object]) -> threading.Thread:
    """Run something beside the script. ``ShellError`` when too many threads run already."""
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


def join_thread(thread: threading.Thread, cancelled: threading.Event, stop: Callable[[], None]) -> None:
    """Wait for a thread; after a cancellation, call ``stop`` and wait only briefly."""
    while thread.is_alive():
        thread.join(_JOIN_SECONDS)
        if cancelled.is_set():
            stop()
            thread.join(_LAST_SECONDS)
            return
