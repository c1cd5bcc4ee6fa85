"""Commands side by side: the stages of a pipeline, and jobs in the background."""

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from clawperator.phone.shell.language.expansion import ShellError
from clawperator.phone.shell.language.script import Command, Function, Line, Literally
from clawperator.phone.shell.language.state import start_thread
from clawperator.phone.shell.pipes import Cancel, Nothing, Pipe

if TYPE_CHECKING:
    from clawperator.phone.shell.language.interpreter import Shell

MAX_STAGES = 32
MAX_JOBS = 32
_JOIN_SECONDS = 0.05
_LAST_SECONDS = 1.0


class Job:
    """A command in the background. One that holds none of the script's streams may outlive it."""

    def __init__(self, cancel: Cancel, *, attached: bool) -> None:
        self.cancel = cancel
        self.attached = attached
        self.status = 0
        self.thread: threading.Thread | None = None


def start_job(shell: "Shell", line: Line) -> None:
    if len(shell.jobs) >= MAX_JOBS:
        raise ShellError("can't fork - try again")
    inner = shell.copy()
    inner.streams[0] = Nothing()
    inner.cancelled = inner.command_cancelled = cancel = Cancel(shell.phone.stopping)
    job = Job(cancel, attached=not _is_detached(line))
    foreground = Line(line.pipelines)

    def run() -> None:
        job.status = inner.contain(lambda: inner.run_lines((foreground,)))

    job.thread = start_thread(run)
    shell.jobs.append(job)
    shell.status = 0


def wait_for_jobs(shell: "Shell") -> None:
    """Wait for the jobs that hold the script's streams; stop them when the script is cancelled."""
    for job in shell.jobs:
        if job.attached and job.thread:
            _join(job.thread, shell.cancelled, job.cancel.set)


def run_stages(shell: "Shell", stages: Sequence[Command]) -> int:
    """Run all at once, each reading what the one before writes. The status is the last one's."""
    if len(stages) > MAX_STAGES:
        raise ShellError("can't fork - try again")
    threads: list[threading.Thread] = []
    source: Pipe | None = None
    try:
        for stage in stages[:-1]:
            pipe = Pipe(shell.cancelled)
            threads.append(start_thread(_stage(shell, stage, source, pipe)))
            source = pipe
        return _stage(shell, stages[-1], source, None)()
    finally:
        if source:
            source.abandon()
        for thread in threads:
            _join(thread, shell.cancelled, lambda: None)


def _stage(shell: "Shell", command: Command, source: Pipe | None, target: Pipe | None) -> Callable[[], int]:
    inner = shell.copy()
    if source:
        inner.streams[0] = source
    if target:
        inner.streams[1] = target
        # A command that waits for something to say need not wait when nobody listens.
        inner.command_cancelled = Cancel(shell.command_cancelled, target.abandoned)

    def run() -> int:
        try:
            return inner.contain(lambda: inner.run_nested(lambda: inner.run_command(command)))
        finally:
            if target:
                target.end()
            if source:
                source.abandon()

    return run


def _join(thread: threading.Thread, cancelled: threading.Event, stop: Callable[[], None]) -> None:
    """Wait for a thread; once all is cancelled, not for long."""
    while thread.is_alive():
        thread.join(_JOIN_SECONDS)
        if cancelled.is_set():
            stop()
            thread.join(_LAST_SECONDS)
            return


def _is_detached(line: Line) -> bool:
    """Whether a job sends all its output elsewhere."""
    targets = {1: False, 2: False}
    for command in (line.pipelines[-1][1].stages[-1],) if len(line.pipelines) == 1 else ():
        for redirection in () if isinstance(command, Function) else command.redirections:
            if redirection.operator == "&>":
                targets = {1: True, 2: True}
            elif redirection.operator == ">&":
                copied = redirection.word == (Literally("1", quoted=False),)
                targets[redirection.fd] = targets[1] if copied else targets[2]
            elif redirection.operator in {">", ">>", ">|"}:
                targets[redirection.fd] = True
    return targets[1] and targets[2]
