"""Redirections, pipelines and background jobs: where the streams of commands lead."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from clawperator.errors import ClawperatorException
from clawperator.phone.shell.language.expansion import expand_text
from clawperator.phone.shell.language.script import (
    AndOrList,
    CommandNode,
    FunctionDefinition,
    LiteralText,
    Redirection,
)
from clawperator.phone.shell.language.state import (
    Job,
    ShellError,
    ShellState,
    Streams,
    join_thread,
    start_thread,
)
from clawperator.phone.shell.pipes import (
    CancelEvent,
    ClosedStream,
    FixedInput,
    InputStream,
    OutputStream,
    Pipe,
)
from clawperator.phone.shell.process import encode, reason

MAX_STAGES = 32
MAX_JOBS = 32
_OUTPUTS = frozenset((1, 2))
_MODES = {"<": "rb", ">": "wb", ">|": "wb", "&>": "wb", ">>": "ab", "<>": "r+b"}


class RedirectionError(ClawperatorException):
    """A stream that cannot be redirected; the command does not run."""


# Redirections


def run_redirected(shell: ShellState, redirections: tuple[Redirection, ...], run: Callable[[], int]) -> int:
    """Run something with other streams, which are closed and restored afterwards."""
    if not redirections:
        return run()
    before = shell.streams
    try:
        with _redirected(shell, redirections) as shell.streams:
            return run()
    except RedirectionError as e:
        shell.streams = before
        shell.report_error(str(e))
        return 1
    finally:
        shell.streams = before


def redirect_permanently(shell: ShellState, redirections: tuple[Redirection, ...]) -> None:
    """Redirect the shell's own streams, as ``exec`` with no command does. The files stay open."""
    streams = dict(shell.streams)
    for redirection in redirections:
        _apply(shell, redirection, streams, None)
    shell.streams = streams


@contextmanager
def _redirected(shell: ShellState, redirections: tuple[Redirection, ...]) -> Iterator[Streams]:
    streams = dict(shell.streams)
    with ExitStack() as files:
        for redirection in redirections:
            _apply(shell, redirection, streams, files)
        yield streams


def _apply(shell: ShellState, redirection: Redirection, streams: Streams, files: ExitStack | None) -> None:
    text = expand_text(shell, redirection.word)
    if redirection.operator == "<<":
        streams[redirection.fd] = _usable(redirection.fd, FixedInput(encode(text)))
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
        if files:
            files.enter_context(file)
        streams[redirection.fd] = file
        if redirection.operator == "&>":
            streams[2] = file


def _usable(fd: int, stream: InputStream | OutputStream) -> InputStream | OutputStream:
    """The stream, or a closed one where an output has no ``write`` or an input no ``read``."""
    needed = "read" if fd == 0 else "write"
    return stream if fd not in (0, *_OUTPUTS) or hasattr(stream, needed) else ClosedStream()


# Pipelines


def run_stages(shell: ShellState, stages: Sequence[CommandNode]) -> int:
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


def _stage(shell: ShellState, command: CommandNode, source: Pipe | None, target: Pipe | None) -> Callable[[], int]:
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


def start_job(shell: ShellState, line: AndOrList) -> None:
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
    for command in (line.pipelines[-1][1].stages[-1],) if len(line.pipelines) == 1 else ():
        for redirection in () if isinstance(command, FunctionDefinition) else command.redirections:
            if redirection.operator == "&>":
                redirected = {1: True, 2: True}
            elif redirection.operator == ">&":
                copied = redirection.word == (LiteralText("1", quoted=False),)
                redirected[redirection.fd] = redirected[1] if copied else redirected[2]
            elif redirection.operator in {">", ">>", ">|"}:
                redirected[redirection.fd] = True
    return redirected[1] and redirected[2]
