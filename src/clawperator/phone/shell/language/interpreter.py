"""Running a script: the shell itself.

A shell has variables, streams and a place in the file system. A subshell is a copy. Stages of a pipeline and
jobs in the background run in threads of their own; all else runs in the caller's. Every script has a budget of
commands, of threads and of depth, and stops soon after it is cancelled.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from clawperator.phone.core.phone import Phone
from clawperator.phone.core.process_list import SHELL_PID
from clawperator.phone.shell import load
from clawperator.phone.shell.language.builtins import read_line
from clawperator.phone.shell.language.commands import run_simple
from clawperator.phone.shell.language.compound import run_compound
from clawperator.phone.shell.language.expansion import ShellError
from clawperator.phone.shell.language.parser import Parser
from clawperator.phone.shell.language.pipelines import Job, run_stages, start_job, wait_for_jobs
from clawperator.phone.shell.language.redirections import Streams, run_redirected
from clawperator.phone.shell.language.script import Command as Node
from clawperator.phone.shell.language.script import Function, Line, Lines, Pipeline, Simple
from clawperator.phone.shell.language.state import Budget, Exit, LeaveLoop
from clawperator.phone.shell.language.words import ShellSyntaxError, UnfinishedError
from clawperator.phone.shell.pipes import Capture
from clawperator.phone.shell.process import (
    BROKEN_PIPE,
    INTERRUPTED,
    MAX_DEPTH,
    SH,
    Process,
    Sink,
    Source,
    decode,
    encode,
    reason,
)
from clawperator.phone.storage.filesystem import Storage

MAX_SCRIPT = 1024 * 1024
MAX_CAPTURED = 1024 * 1024

ENVIRONMENT = {
    "ANDROID_DATA": "/data",
    "ANDROID_ROOT": "/system",
    "ANDROID_STORAGE": "/storage",
    "EXTERNAL_STORAGE": "/sdcard",
    "HOME": "/",
    "HOSTNAME": "localhost",
    "LOGNAME": "shell",
    "PATH": "/product/bin:/apex/com.android.runtime/bin:/system/bin:/vendor/bin",
    "SHELL": SH,
    "TMPDIR": "/data/local/tmp",
    "USER": "shell",
}


def run_script(  # noqa: PLR0913 - what a process is made of
    script: str | bytes,
    *,
    phone: Phone,
    stdin: Source,
    stdout: Sink,
    stderr: Sink,
    cancelled: threading.Event,
    env: Mapping[str, str] | None = None,
    arguments: Sequence[str] = (SH,),
    cwd: str = "/",
    depth: int = 0,
    options: str = "",
) -> int:
    """Run a script to its end and give its exit code. ``arguments`` are ``$0``, ``$1`` and so on.

    The code is 130 when it was cancelled, and 141 when nobody reads its output any more.
    """
    load()
    text = decode(script) if isinstance(script, bytes) else script
    process = Process(
        arguments,
        phone=phone,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        cancelled=cancelled,
        env=ENVIRONMENT if env is None else env,
        cwd=cwd,
        depth=depth,
    )
    shell = Shell(process)
    shell.options.update(options)
    return shell.run_whole(text)


def run_lines_of(process: Process, arguments: Sequence[str], options: str = "") -> int:
    """Run what comes on a process's stdin, each line as soon as it is whole. It ends with the input."""
    load()
    process.argv = list(arguments)
    shell = Shell(process)
    shell.options.update(options)
    status = shell.contain(lambda: _run_input(shell, process.stdin))
    with suppress(BrokenPipeError):
        wait_for_jobs(shell)
    return status


def _run_input(shell: "Shell", source: Source) -> None:
    text = ""
    more = True
    while more and not shell.cancelled.is_set():
        line, more = read_line(source)
        text += line + "\n" * more
        if len(text) > MAX_SCRIPT:
            raise ShellError("script too long")
        try:
            lines = Parser(text).read_whole()
        except UnfinishedError:
            if more:
                continue
            raise
        except ShellSyntaxError as e:
            shell.complain(str(e))
            shell.status, text = 1, ""
            continue
        text = ""
        shell.run_lines(lines)


class Shell:
    """The state of one shell or subshell."""

    def __init__(self, process: Process) -> None:
        self.phone = process.phone
        self.name = process.argv[0]
        self.arguments: Sequence[str] = process.argv[1:]
        self.variables = dict(process.env)
        self.exported = set(process.env)
        self.variables.pop("IFS", None)
        self.streams: Streams = {0: process.stdin, 1: process.stdout, 2: process.stderr}
        self.cwd = process.cwd
        self.depth = process.depth + 1
        # The script stops when the first is set; a command that waits stops when the second is.
        self.cancelled: threading.Event = process.cancelled
        self.command_cancelled: threading.Event = process.cancelled
        self.budget = Budget()
        self.options: set[str] = set()
        self.functions: dict[str, Node] = {}
        self.scopes: list[dict[str, str | None]] = []
        self.jobs: list[Job] = []
        self.status = 0
        # The status of the last ``$( )``, which is that of an assignment too.
        self.substituted = 0
        self._conditions = 0

    @property
    def storage(self) -> Storage:
        return self.phone.storage

    def special(self, name: str) -> str | None:
        match name:
            case "?":
                return str(self.status)
            case "$":
                return str(SHELL_PID)
            case "#":
                return str(len(self.arguments))
            case "0":
                return self.name
            case "-":
                return "".join(sorted(self.options))
            case "!":
                return str(SHELL_PID + len(self.jobs)) if self.jobs else None
        return None

    def copy(self) -> "Shell":
        """A subshell: the same state, changed apart from here on."""
        other = object.__new__(Shell)
        other.__dict__.update(self.__dict__)
        other.variables = dict(self.variables)
        other.exported = set(self.exported)
        other.streams = dict(self.streams)
        other.options = set(self.options)
        other.functions = dict(self.functions)
        other.scopes = [dict(scope) for scope in self.scopes]
        other.jobs = []
        return other

    def assign(self, name: str, value: str) -> None:
        self.budget.spend(len(value))
        self.variables[name] = value

    def complain(self, text: str) -> None:
        self.streams[2].write(encode(f"{SH}: {text}\n"))  # type: ignore[union-attr] # 2 is a sink

    def run_whole(self, text: str) -> int:
        """A whole script, whatever happens in it, and the jobs that hold its streams."""

        def run() -> None:
            if len(text) > MAX_SCRIPT:
                raise ShellError("script too long")
            self.run_text(text)

        status = self.contain(run)
        with suppress(BrokenPipeError):
            wait_for_jobs(self)
        return status

    def run_text(self, text: str) -> int:
        """The lines of a text in this shell, each read when those before it have run."""
        for lines in Parser(text):
            self.run_lines(lines)
        return self.status

    def contain(self, run: Callable[[], object]) -> int:
        """Run to the end of a script or subshell: what leaves it becomes its status."""
        try:
            run()
        except Exit as e:
            self.status = e.status
        except LeaveLoop:
            pass
        except BrokenPipeError:
            self.status = BROKEN_PIPE
        except (ShellError, ShellSyntaxError) as e:
            self.status = 1
            with suppress(BrokenPipeError):
                self.complain(str(e))
        except OSError as e:
            self.status = 1
            with suppress(OSError):
                self.complain(reason(e))
        except RecursionError:
            self.status = 1
            with suppress(BrokenPipeError):
                self.complain("nested too deeply")
        return self.status

    def run_lines(self, lines: Lines) -> int:
        for line in lines:
            if line.background:
                start_job(self, line)
            else:
                self._run_line(line)
        return self.status

    def test(self, lines: Lines) -> bool:
        """Run a condition: a failure in it is an answer."""
        self._conditions += 1
        try:
            return self.run_lines(lines) == 0
        finally:
            self._conditions -= 1

    def substitute(self, body: Lines) -> str:
        """The output of a subshell, without the newlines at its end."""
        inner = self.copy()
        captured = Capture(MAX_CAPTURED)
        inner.streams[1] = captured
        self.substituted = inner.contain(lambda: inner.run_nested(lambda: inner.run_lines(body)))
        wait_for_jobs(inner)
        return decode(bytes(captured.data).replace(b"\0", b"")).rstrip("\n")

    def run_nested(self, run: Callable[[], int]) -> int:
        """One level deeper; there is an end to that."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ShellError("nested too deeply")
        try:
            return run()
        finally:
            self.depth -= 1

    def _run_line(self, line: Line) -> None:
        last = len(line.pipelines) - 1
        for number, (operator, pipeline) in enumerate(line.pipelines):
            if operator and (operator == "&&") != (self.status == 0):
                continue
            if number < last or pipeline.negated:
                self._conditions += 1
                try:
                    self._run_pipeline(pipeline)
                finally:
                    self._conditions -= 1
            else:
                self._run_pipeline(pipeline)
                if self.status and "e" in self.options and not self._conditions:
                    raise Exit(self.status)

    def _run_pipeline(self, pipeline: Pipeline) -> None:
        if len(pipeline.stages) == 1:
            self.run_command(pipeline.stages[0])
        else:
            self.status = run_stages(self, pipeline.stages)
        if pipeline.negated:
            self.status = int(not self.status)

    def run_command(self, command: Node) -> int:
        self.budget.spend()
        if self.cancelled.is_set():
            raise Exit(INTERRUPTED)
        if isinstance(command, Simple):
            self.status = run_simple(self, command)
        elif isinstance(command, Function):
            self.functions[command.name] = command.body
            self.status = 0
        else:
            self.status = run_redirected(
                self, command.redirections, lambda: self.run_nested(lambda: run_compound(self, command))
            )
        return self.status
