"""The shell: runs scripts, and is the command ``sh``.

A subshell is a copy of the shell's state. Stages of a pipeline and background jobs run in threads of their own;
everything else runs in the caller's thread. A script stops soon after it is cancelled.
"""

import io
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, partial
from typing import Any, TypeAlias

from clawperator.errors import ClawError, ClawperatorException
from clawperator.phone.core.phone import Phone
from clawperator.phone.shell.language.expansion import expand_fields, expand_pattern, expand_text
from clawperator.phone.shell.language.parser import (
    AndOrList,
    CaseCommand,
    CommandGroup,
    CommandList,
    CommandNode,
    CompoundCommand,
    ForLoop,
    FunctionDefinition,
    IfCommand,
    LiteralText,
    Parser,
    Pipeline,
    Redirection,
    ShellSyntaxError,
    SimpleCommand,
    UnfinishedError,
    WhileLoop,
    Word,
)
from clawperator.phone.shell.language.state import (
    MAX_SCRIPT,
    Exit,
    Job,
    LeaveLoop,
    Return,
    ShellError,
    ShellState,
    Streams,
    join_thread,
    start_thread,
)
from clawperator.phone.shell.pipes import (
    CancelEvent,
    CapturedOutput,
    ClosedStream,
    InputStream,
    OutputStream,
    Pipe,
)
from clawperator.phone.shell.process import (
    INTERRUPTED,
    NOT_EXECUTABLE,
    NOT_FOUND,
    SH,
    ShellProcess,
    command,
    decode,
    encode,
    find_command,
    reason,
)
from clawperator.phone.storage.filesystem import normalise, resolve

# Builtins: the commands that read or change the shell itself

Builtin: TypeAlias = "Callable[[Interpreter, list[str]], int]"
BUILTINS: dict[str, Builtin] = {
    ":": lambda *_: 0,
    "pwd": lambda shell, argv: shell.write((resolve(shell.cwd) if "-P" in argv else shell.cwd) + "\n"),
}

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OPTIONS = "efux"
_MAX_LINE = 1024 * 1024


def builtin(*names: str) -> Callable[[Builtin], Builtin]:
    def register(function: Builtin) -> Builtin:
        BUILTINS.update(dict.fromkeys(names, function))
        return function

    return register


def _number(shell: "Interpreter", argv: list[str], default: int) -> int:
    if len(argv) < 2:
        return default
    try:
        return int(argv[1][:9])
    except ValueError:
        shell.report_error(f"{argv[0]}: {argv[1]}: bad number")
        raise Exit(1) from None


@builtin("cd", "chdir")
def _cd(shell: "Interpreter", argv: list[str]) -> int:
    words = [word for word in argv[1:] if word not in {"-P", "-L", "--"}]
    wanted = words[0] if words else shell.variables.get("HOME", "/")
    wanted = shell.variables.get("OLDPWD", "/") if wanted == "-" else wanted
    try:
        path = resolve(wanted, shell.cwd)
        if not shell.storage.stat(path).is_dir:
            return shell.report_error(f"cd: {wanted}: Not a directory", 2)
    except OSError as e:
        return shell.report_error(f"cd: {wanted}: {reason(e)}", 2)
    # $PWD keeps the name as given, not the folder that an alias resolves to.
    shell.variables["OLDPWD"] = shell.cwd
    shell.cwd = normalise(wanted, shell.cwd)
    shell.variables["PWD"] = shell.cwd
    return 0


@builtin("export")
def _export(shell: "Interpreter", argv: list[str]) -> int:
    words = [word for word in argv[1:] if word != "-p"]
    if not words:
        for name in sorted(shell.exported & shell.variables.keys()):
            shell.write(f"export {name}={shell.variables[name]}\n")
    for word in words:
        name, equals, value = word.partition("=")
        if not _NAME.fullmatch(name):
            return shell.report_error(f"export: {name}: is not an identifier")
        if equals:
            shell.assign(name, value)
        shell.exported.add(name)
    return 0


@builtin("local", "typeset")
def _local(shell: "Interpreter", argv: list[str]) -> int:
    for word in argv[1:]:
        name, equals, value = word.partition("=")
        if not _NAME.fullmatch(name):
            return shell.report_error(f"{argv[0]}: {name}: is not an identifier")
        if shell.scopes:
            shell.scopes[-1].setdefault(name, shell.variables.get(name))
        shell.assign(name, value if equals else "")
    return 0


@builtin("unset")
def _unset(shell: "Interpreter", argv: list[str]) -> int:
    for name in argv[1:]:
        if argv[1] == "-f":
            shell.functions.pop(name, None)
        else:
            shell.variables.pop(name, None)
            shell.exported.discard(name)
    return 0


@builtin("set")
def _set(shell: "Interpreter", argv: list[str]) -> int:
    words = argv[1:]
    if not words:
        for name in sorted(shell.variables):
            shell.write(f"{name}={shell.variables[name]}\n")
    while words and words[0][:1] in {"-", "+"} and len(words[0]) > 1:
        word = words.pop(0)
        if word == "--":
            shell.arguments = words
            return 0
        if not set(word[1:]) <= set(_OPTIONS):
            return shell.report_error(f"set: {word}: unknown option")
        (shell.options.update if word[0] == "-" else shell.options.difference_update)(word[1:])
    if words:
        shell.arguments = words
    return 0


@builtin("shift")
def _shift(shell: "Interpreter", argv: list[str]) -> int:
    count = _number(shell, argv, 1)
    if not 0 <= count <= len(shell.arguments):
        return shell.report_error("shift: nothing to shift")
    shell.arguments = shell.arguments[count:]
    return 0


@builtin("exit")
def _exit(shell: "Interpreter", argv: list[str]) -> int:
    raise Exit(_number(shell, argv, shell.status))


@builtin("return")
def _return(shell: "Interpreter", argv: list[str]) -> int:
    raise Return(_number(shell, argv, shell.status))


@builtin("break", "continue")
def _leave_loop(shell: "Interpreter", argv: list[str]) -> int:
    raise LeaveLoop(max(_number(shell, argv, 1), 1), again=argv[0] == "continue")


@builtin("eval")
def _eval(shell: "Interpreter", argv: list[str]) -> int:
    shell.status = 0
    return shell.run_nested(lambda: shell.run_text(" ".join(argv[1:])))


@builtin(".", "source")
def _source(shell: "Interpreter", argv: list[str]) -> int:
    if len(argv) < 2:
        return shell.report_error(f"{argv[0]}: missing argument")
    try:
        with shell.storage.open(resolve(argv[1], shell.cwd)) as file:
            text = decode(file.read(_MAX_LINE))
    except OSError as e:
        return shell.report_error(f"{argv[0]}: {argv[1]}: {reason(e)}")
    shell.status = 0
    try:
        return shell.run_nested(lambda: shell.run_text(text))
    except Return as e:
        return e.status


@builtin("exec")
def _exec(shell: "Interpreter", argv: list[str]) -> int:
    raise Exit(shell.run_argv(argv[1:], functions=False))


@builtin("command")
def _command(shell: "Interpreter", argv: list[str]) -> int:
    words = argv[1:]
    if words[:1] == ["-V"]:
        return _type(shell, words)
    if words[:1] == ["-v"]:
        return max((_describe(shell, word, full=False) for word in words[1:]), default=0)
    words = words[1:] if words[:1] in (["-p"], ["--"]) else words
    return shell.run_argv(words, functions=False) if words else 0


@builtin("type")
def _type(shell: "Interpreter", argv: list[str]) -> int:
    return max((_describe(shell, word, full=True) for word in argv[1:]), default=0)


def _describe(shell: "Interpreter", word: str, *, full: bool) -> int:
    """Print what a name resolves to, ``full`` as a sentence. Not 0 when it is unknown."""
    if word in shell.functions:
        name, kind = word, "a function"
    elif word in BUILTINS:
        name, kind = word, "a shell builtin"
    elif find_command(word):
        name = kind = word if "/" in word else f"/system/bin/{word}"
    else:
        shell.write(f"{word} not found\n" * full)
        return NOT_FOUND if full else 1
    shell.write(f"{word} is {kind}\n" if full else f"{name}\n")
    return 0


@builtin("umask")
def _umask(shell: "Interpreter", argv: list[str]) -> int:
    if len(argv) > 1:
        return shell.report_error("umask: not permitted")
    shell.write("0022\n")
    return 0


@builtin("wait")
def _wait(shell: "Interpreter", argv: list[str]) -> int:  # noqa: ARG001 - a builtin
    for job in shell.jobs:
        job.attached = True
    shell.wait_for_jobs()
    return shell.jobs[-1].status if shell.jobs else 0


@builtin("read")
def _read(shell: "Interpreter", argv: list[str]) -> int:
    raw = "-r" in argv
    names = [word for word in argv[1:] if not word.startswith("-")] or ["REPLY"]
    line, ended = read_line(shell.stdin)
    while not raw and line.endswith("\\") and ended:
        more, ended = read_line(shell.stdin)
        line = line[:-1] + more
    if not raw:
        line = re.sub(r"\\(.)", r"\1", line)
    separators = shell.variables.get("IFS", " \t\n")
    rest = line.strip("".join(c for c in separators if c in " \t\n"))
    for name in names[:-1]:
        match = re.search(f"[{re.escape(separators)}]+", rest) if separators else None
        shell.assign(name, rest[: match.start()] if match else rest)
        rest = rest[match.end() :] if match else ""
    shell.assign(names[-1], rest)
    return 0 if ended else 1


def read_line(source: InputStream) -> tuple[str, bool]:
    """A line without its newline, and whether there was one. Reads no byte beyond it."""
    line = bytearray()
    while len(line) < _MAX_LINE and (c := source.read(1)):
        if c == b"\n":
            return decode(bytes(line)), True
        line += c
    return decode(bytes(line)), False


MAX_STAGES = 32
MAX_JOBS = 32
_OUTPUTS = frozenset((1, 2))
_MODES = {"<": "rb", ">": "wb", ">|": "wb", "&>": "wb", ">>": "ab", "<>": "r+b"}


class RedirectionError(ClawperatorException):
    """A stream that cannot be redirected; the command does not run."""


# Redirections


def _run_redirected(shell: "Interpreter", redirections: tuple[Redirection, ...], run: Callable[[], int]) -> int:
    """Run something with other streams, which are closed and restored afterwards."""
    if not redirections:
        return run()
    before = shell.streams
    try:
        with ExitStack() as files:
            shell.streams = _redirected(shell, redirections, files)
            return run()
    except RedirectionError as e:
        shell.streams = before
        return shell.report_error(str(e))
    finally:
        shell.streams = before


def _redirected(shell: "Interpreter", redirections: tuple[Redirection, ...], files: ExitStack) -> Streams:
    """The shell's streams after redirections. ``files`` gets those that they open."""
    streams = dict(shell.streams)
    for redirection in redirections:
        _apply(shell, redirection, streams, files)
    return streams


def _apply(shell: "Interpreter", redirection: Redirection, streams: Streams, files: ExitStack) -> None:
    text = expand_text(shell, redirection.word)
    if redirection.operator == "<<":
        streams[redirection.fd] = _usable(redirection.fd, io.BytesIO(encode(text)))
    elif redirection.operator in {"<&", ">&"}:
        if text == "-":
            streams[redirection.fd] = ClosedStream()
        elif text.isdigit() and int(text[:4]) in streams:
            source = int(text[:4])
            crosses = {redirection.fd, source} & _OUTPUTS and 0 in (redirection.fd, source)  # of a pipe's two ends
            streams[redirection.fd] = ClosedStream() if crosses else _usable(redirection.fd, streams[source])
        else:
            raise RedirectionError(f"{text}: bad file descriptor")
    else:
        mode = _MODES[redirection.operator]
        try:
            # "-" means stdin only as a command's argument; here it is a file name.
            file = shell.new_process([], streams).open("./-" if text == "-" else text, mode)
        except OSError as e:
            verb = "open" if mode == "rb" else "create"
            raise RedirectionError(f"can't {verb} {text}: {reason(e)}") from None
        streams[redirection.fd] = files.enter_context(file)
        if redirection.operator == "&>":
            streams[2] = file


def _usable(fd: int, stream: InputStream | OutputStream) -> InputStream | OutputStream:
    """The stream, or a closed one where an output has no ``write`` or an input no ``read``."""
    needed = "read" if fd == 0 else "write"
    return stream if fd not in (0, *_OUTPUTS) or hasattr(stream, needed) else ClosedStream()


# Pipelines


def _run_stages(shell: "Interpreter", stages: Sequence[CommandNode]) -> int:
    """Run all stages at once, each reading the output of the one before. Returns the status of the last."""
    if len(stages) > MAX_STAGES:
        raise ShellError("can't fork - try again")
    threads = []
    source: Pipe | None = None
    try:
        for stage in stages[:-1]:
            pipe = Pipe(shell.cancelled)
            threads.append(start_thread(_stage(shell, stage, source, pipe)))
            source = pipe
        return _stage(shell, stages[-1], source, None)()
    finally:
        if source:
            source.close_reader()
        for thread in threads:
            join_thread(thread, shell.cancelled, lambda: None)


def _stage(
    shell: "Interpreter", command: CommandNode, source: Pipe | None, target: Pipe | None
) -> Callable[[], int]:
    inner = shell.copy()
    if source:
        inner.streams[0] = source
    if target:
        inner.streams[1] = target
        # A command that waits before it writes stops waiting once its reader is gone.
        inner.command_cancelled = CancelEvent(shell.command_cancelled, target.reader_closed)

    def run() -> int:
        try:
            return inner.run_contained(lambda: inner.run_nested(lambda: inner.run_command(command)))
        finally:
            if target:
                target.close_writer()
            if source:
                source.close_reader()

    return run


# Background jobs


def _start_job(shell: "Interpreter", line: AndOrList) -> None:
    """Run ``line &`` in a subshell of its own thread."""
    if len(shell.jobs) >= MAX_JOBS:
        raise ShellError("can't fork - try again")
    inner = shell.copy()
    inner.streams[0] = ClosedStream()
    inner.cancelled = inner.command_cancelled = cancel = CancelEvent(shell.phone.stopping)
    job = Job(cancel, attached=not _is_detached(line))
    foreground = AndOrList(line.pipelines)

    def run() -> None:
        job.status = inner.run_contained(lambda: inner.run_list((foreground,)))

    job.thread = start_thread(run)
    shell.jobs.append(job)
    shell.status = 0


def _is_detached(line: AndOrList) -> bool:
    """Whether a job redirects both its output streams."""
    redirected = {1: False, 2: False}
    for last in (line.pipelines[-1][1].stages[-1],) if len(line.pipelines) == 1 else ():
        for redirection in () if isinstance(last, FunctionDefinition) else last.redirections:
            if redirection.operator == "&>":
                redirected = {1: True, 2: True}
            elif redirection.operator == ">&":
                copied = redirection.word == (LiteralText("1", quoted=False),)
                redirected[redirection.fd] = redirected[1] if copied else redirected[2]
            elif redirection.operator in {">", ">>", ">|"}:
                redirected[redirection.fd] = True
    return redirected[1] and redirected[2]


# Simple commands: functions, builtins, commands of the phone, scripts in its file system


def _run_simple(shell: "Interpreter", command: SimpleCommand) -> int:
    shell.substitution_status = 0
    argv = _expand(shell, command.words)
    values = [(name, expand_text(shell, word)) for name, word in command.assignments]
    if not argv:
        for name, value in values:
            shell.assign(name, value)
        return _run_redirected(shell, command.redirections, lambda: shell.substitution_status)
    if "x" in shell.options:
        shell.write_error(f"+ {' '.join(argv)}")
    if argv == ["exec"]:
        try:
            shell.streams = _redirected(shell, command.redirections, ExitStack())  # the files stay open
        except RedirectionError as e:
            shell.report_error(str(e))
            raise Exit(1) from None
        return 0
    with _assigned(shell, values):
        return _run_redirected(shell, command.redirections, lambda: shell.run_argv(argv))


def _expand(shell: "Interpreter", words: tuple[Word, ...]) -> list[str]:
    """The arguments. Between ``[[`` and ``]]`` words are not split, and patterns are not globbed."""
    if words and words[0] == (LiteralText("[[", quoted=False),):
        return [expand_text(shell, word) for word in words]
    return expand_fields(shell, words)


@contextmanager
def _assigned(shell: "Interpreter", values: list[tuple[str, str]]) -> Iterator[None]:
    """Variables that only the command sees."""
    before = [(name, shell.variables.get(name), name in shell.exported) for name, _ in values]
    for name, value in values:
        shell.assign(name, value)
        shell.exported.add(name)
    try:
        yield
    finally:
        for name, old, exported in reversed(before):
            shell.restore(name, old)
            if not exported:
                shell.exported.discard(name)


def _call_function(shell: "Interpreter", argv: list[str]) -> int:
    before = shell.arguments
    shell.arguments = argv[1:]
    shell.scopes.append({})
    try:
        return shell.run_command(shell.functions[argv[0]])
    except Return as e:
        return e.status
    finally:
        shell.arguments = before
        for name, value in shell.scopes.pop().items():
            shell.restore(name, value)


def _run_file(shell: "Interpreter", argv: list[str]) -> int:
    """Run a script in the phone's file system. Binaries are for another machine and are refused."""
    name = argv[0]
    try:
        path = resolve(name, shell.cwd)
        status = shell.storage.stat(path)
        if status.is_dir or not status.mode & 0o111:
            problem = "Is a directory" if status.is_dir else "Permission denied"
            return shell.report_error(f"{name}: can't execute: {problem}", NOT_EXECUTABLE)
        with shell.storage.open(path) as file:
            text = file.read(MAX_SCRIPT + 1)
    except OSError:
        return _not_found(shell, name)
    if b"\0" in text[:1024] or len(text) > MAX_SCRIPT:
        return shell.report_error(f"{name}: not executable: magic {text[:4].hex().upper()}", NOT_EXECUTABLE)
    return shell.new_process(["sh", path, *argv[1:]]).start()


def _not_found(shell: "Interpreter", name: str) -> int:
    return shell.report_error(f"{name}: inaccessible or not found", NOT_FOUND)


# Groups, branches and loops


def _run_group(shell: "Interpreter", command: CommandGroup) -> int:
    if not command.subshell:
        return shell.run_list(command.body)
    inner = shell.copy()
    status = inner.run_contained(lambda: inner.run_list(command.body))
    inner.wait_for_jobs()
    return status


def _run_if(shell: "Interpreter", command: IfCommand) -> int:
    for condition, body in command.branches:
        if shell.test(condition):
            return shell.run_list(body)
    shell.status = 0
    return shell.run_list(command.otherwise)


def _run_while(shell: "Interpreter", command: WhileLoop) -> int:
    shell.status = status = 0
    while shell.test(command.condition) != command.until:
        if not _run_body(shell, command.body):
            return shell.status
        status = shell.status
    return status


def _run_for(shell: "Interpreter", command: ForLoop) -> int:
    words = list(shell.arguments) if command.words is None else expand_fields(shell, command.words)
    shell.status = 0
    for word in words:
        shell.assign(command.name, word)
        if not _run_body(shell, command.body):
            break
    return shell.status


def _run_case(shell: "Interpreter", command: CaseCommand) -> int:
    subject = expand_text(shell, command.word)
    shell.status = 0
    for patterns, body in command.branches:
        if any(expand_pattern(shell, pattern).matches(subject) for pattern in patterns):
            return shell.run_list(body)
    return 0


_COMPOUND: Mapping[type[CompoundCommand], "Callable[[Interpreter, Any], int]"] = {
    CommandGroup: _run_group,
    IfCommand: _run_if,
    WhileLoop: _run_while,
    ForLoop: _run_for,
    CaseCommand: _run_case,
}


def _run_body(shell: "Interpreter", body: CommandList) -> bool:
    """Run one iteration of a loop; False when it was the last."""
    shell.budget.spend()
    if shell.cancelled.is_set():
        raise Exit(INTERRUPTED)
    try:
        shell.run_list(body)
    except LeaveLoop as e:
        shell.status = 0
        if e.levels > 1:
            raise LeaveLoop(e.levels - 1, again=e.again) from None
        return e.again
    return True


# The shell

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
) -> int:
    """Run a script to its end and return its exit code.

    The code is 130 when the script was cancelled and 141 when its output has no reader any more.
    """
    process = ShellProcess([SH], phone, stdin, stdout, stderr, cancelled, dict(ENVIRONMENT))
    return Interpreter(process).run_whole(decode(script) if isinstance(script, bytes) else script)


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

        return self._run_to_end(run)

    def run_stdin(self) -> int:
        """Run the commands on stdin, each as soon as it is complete, to the end of the input."""
        return self._run_to_end(self._run_input)

    def _run_to_end(self, run: Callable[[], None]) -> int:
        status = self.run_contained(run)
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
        """Parse and run a text, each line after the one before has run."""
        for commands in Parser(text):
            self.run_list(commands)
        return self.status

    def run_list(self, commands: CommandList) -> int:
        for line in commands:
            if line.background:
                _start_job(self, line)
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
            self.status = _run_stages(self, pipeline.stages)
        if pipeline.negated:
            self.status = int(not self.status)

    def run_command(self, command: CommandNode) -> int:
        """Run one command of any kind."""
        self.budget.spend()
        if self.cancelled.is_set():
            raise Exit(INTERRUPTED)
        if isinstance(command, SimpleCommand):
            self.status = _run_simple(self, command)
        elif isinstance(command, FunctionDefinition):
            self.functions[command.name] = command.body
            self.status = 0
        else:
            run = partial(_COMPOUND[type(command)], self, command)
            self.status = _run_redirected(self, command.redirections, lambda: self.run_nested(run))
        return self.status

    def run_argv(self, argv: list[str], *, functions: bool = True) -> int:
        """Run the function, builtin, command or script file called ``argv[0]``."""
        name = argv[0]
        if functions and name in self.functions:
            return self.run_nested(lambda: _call_function(self, argv))
        if name in BUILTINS:
            return BUILTINS[name](self, argv)
        if find_command(name) is None:
            return _run_file(self, argv) if "/" in name else _not_found(self, name)
        return self.new_process(argv).start()


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


# Scripts with a limit for their time and output


def run_limited(
    script: str | bytes, phone: Phone, stdin: bytes, *, seconds: float, max_bytes: int
) -> tuple[int, bytes, bytes]:
    """Run a script; its exit code, output and error output.

    ``DEVICE_SHELL_UNAVAILABLE`` when it does not end within these seconds of real time, or writes more than
    ``max_bytes``.
    """
    cancelled = threading.Event()
    out, err = CapturedOutput(max_bytes + 1), CapturedOutput(max_bytes + 1)
    late = threading.Timer(seconds, cancelled.set)
    late.daemon = True
    late.start()
    try:
        source = io.BytesIO(stdin)
        code = run_script(script, phone=phone, stdin=source, stdout=out, stderr=err, cancelled=cancelled)
    finally:
        late.cancel()
    is_over = max(len(out.data), len(err.data)) > max_bytes
    if not is_over and not cancelled.is_set():
        return code, bytes(out.data), bytes(err.data)
    reason = f"more than {max_bytes} bytes of output" if is_over else f"no end within {seconds:g} seconds"
    message = f"the simulated phone did not complete a shell command: {reason}"
    hint = "Run a command that ends, for example with '| head', or raise the limit."
    raise ClawError("DEVICE_SHELL_UNAVAILABLE", message, hint=hint)
