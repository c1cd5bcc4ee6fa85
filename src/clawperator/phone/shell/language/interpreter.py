"""The shell: runs scripts, and is the command ``sh``.

A subshell is a copy of the shell's state. Stages of a pipeline and background jobs run in threads of their own;
everything else runs in the caller's thread. A script stops soon after it is cancelled.
"""

import re
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache

from clawperator.phone.core.phone import Phone
from clawperator.phone.shell.language.builtins import read_line
from clawperator.phone.shell.language.commands import run_argv, run_compound, run_simple
from clawperator.phone.shell.language.parser import Parser
from clawperator.phone.shell.language.pipelines import run_redirected, run_stages, start_job
from clawperator.phone.shell.language.script import (
    AndOrList,
    CommandList,
    CommandNode,
    FunctionDefinition,
    Pipeline,
    SimpleCommand,
)
from clawperator.phone.shell.language.state import MAX_SCRIPT, Exit, ShellError, ShellState
from clawperator.phone.shell.language.words import ShellSyntaxError, UnfinishedError
from clawperator.phone.shell.pipes import InputStream, OutputStream
from clawperator.phone.shell.process import INTERRUPTED, SH, ShellProcess, command, decode

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


@cache
def load_commands() -> None:
    """Register every command. Done by the first script: the imports take time."""
    from clawperator.phone.log import logcat  # noqa: F401 - importing registers the commands
    from clawperator.phone.shell.android import (  # noqa: F401 - likewise
        am,
        cmd,
        dumpsys,
        input,  # noqa: A004 - the command's name
        pm,
        settings,
        uiautomator,
    )
    from clawperator.phone.shell.toybox import (  # noqa: F401 - likewise
        files,
        streams,
        system,
        test,
        text_filters,
    )


def run_script(  # noqa: PLR0913 - what a process is made of
    script: str | bytes,
    *,
    phone: Phone,
    stdin: InputStream,
    stdout: OutputStream,
    stderr: OutputStream,
    cancelled: threading.Event,
    env: Mapping[str, str] | None = None,
    arguments: Sequence[str] = (SH,),
    cwd: str = "/",
    depth: int = 0,
    options: str = "",
) -> int:
    """Run a script to its end and return its exit code. ``arguments`` are ``$0``, ``$1`` and so on.

    The code is 130 when the script was cancelled and 141 when its output has no reader any more.
    """
    process = ShellProcess(
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
    shell = Interpreter(process, options)
    return shell.run_whole(decode(script) if isinstance(script, bytes) else script)


class Interpreter(ShellState):
    """A shell that runs what the parser reads."""

    def __init__(self, process: ShellProcess, options: str = "") -> None:
        load_commands()
        super().__init__(process)
        self.options.update(options)

    def run_whole(self, text: str) -> int:
        """Run a whole script and wait for the jobs that hold its streams. Raises nothing."""

        def run() -> None:
            if len(text) > MAX_SCRIPT:
                raise ShellError("script too long")
            self.run_text(text)

        status = self.run_contained(run)
        with suppress(BrokenPipeError):
            self.wait_for_jobs()
        return status

    def run_stdin(self) -> int:
        """Run the commands on stdin, each as soon as it is complete, to the end of the input."""
        status = self.run_contained(self._run_input)
        with suppress(BrokenPipeError):
            self.wait_for_jobs()
        return status

    def _run_input(self) -> None:
        text = ""
        more = True
        source = self.stdin
        while more and not self.cancelled.is_set():
            line, more = read_line(source)
            text += line + "\n" * more
            if len(text) > MAX_SCRIPT:
                raise ShellError("script too long")
            try:
                commands = Parser(text).read_whole()
            except UnfinishedError:
                if more:
                    continue
                raise
            except ShellSyntaxError as e:
                self.report_error(str(e))
                self.status, text = 1, ""
                continue
            text = ""
            self.run_list(commands)

    def run_text(self, text: str) -> int:
        for commands in Parser(text):
            self.run_list(commands)
        return self.status

    def run_list(self, commands: CommandList) -> int:
        for line in commands:
            if line.background:
                start_job(self, line)
            else:
                self._run_and_or(line)
        return self.status

    def _run_and_or(self, line: AndOrList) -> None:
        last = len(line.pipelines) - 1
        for number, (operator, pipeline) in enumerate(line.pipelines):
            if operator and (operator == "&&") != (self.status == 0):
                continue
            if number < last or pipeline.negated:
                self.conditions += 1
                try:
                    self._run_pipeline(pipeline)
                finally:
                    self.conditions -= 1
            else:
                self._run_pipeline(pipeline)
                if self.status and "e" in self.options and not self.conditions:
                    raise Exit(self.status)

    def _run_pipeline(self, pipeline: Pipeline) -> None:
        if len(pipeline.stages) == 1:
            self.run_command(pipeline.stages[0])
        else:
            self.status = run_stages(self, pipeline.stages)
        if pipeline.negated:
            self.status = int(not self.status)

    def run_command(self, command: CommandNode) -> int:
        self.budget.spend()
        if self.cancelled.is_set():
            raise Exit(INTERRUPTED)
        if isinstance(command, SimpleCommand):
            self.status = run_simple(self, command)
        elif isinstance(command, FunctionDefinition):
            self.functions[command.name] = command.body
            self.status = 0
        else:
            self.status = run_redirected(
                self, command.redirections, lambda: self.run_nested(lambda: run_compound(self, command))
            )
        return self.status

    def run_argv(self, argv: list[str], *, functions: bool = True) -> int:
        return run_argv(self, argv, functions=functions)


@command("sh", "mksh")
def sh(process: ShellProcess) -> int:
    """``sh -c script [name argument...]``, ``sh file [argument...]``, or a script from stdin, line by line."""
    words = process.argv[1:]
    letters = ""
    while words and re.fullmatch(r"-[cefuxils]+|--", words[0]):
        word = words.pop(0)
        letters += word
        if word == "--":
            break
    options = "".join(letter for letter in letters if letter in "efux")
    text: str | None = None
    if "c" in letters:
        if not words:
            return process.error("-c: requires argument")
        text = words.pop(0)
    elif words and "s" not in letters:
        try:
            with process.open(words[0]) as file:
                text = decode(file.read(MAX_SCRIPT + 1))
        except OSError as e:
            return process.error(f"{words[0]}: can't open: {e.strerror}", 127)
    if text is None:
        process.argv = [SH, *words]
        return Interpreter(process, options).run_stdin()
    process.argv = words or [SH]
    return Interpreter(process, options).run_whole(text)
