"""Event sinks: a file, a pipe, or stdout before the answer."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from clawperator._base.files import check_links, why
from clawperator.agent.confinement import WorkingFolder, is_control_file
from clawperator.agent.sessions.files import is_session_path
from clawperator.agent.sessions.reading import is_session_file
from clawperator.agent.turns.events import EventStream
from clawperator.cli.claw.inputs import directory
from clawperator.cli.parsing import ParsedArguments
from clawperator.errors import ClawError

_READER_SECONDS = 5.0


@contextmanager
def open_events(arguments: ParsedArguments, correlation_id: str) -> Iterator[EventStream]:
    """Open the sink of --events: a file or pipe, line by line, or stdout."""
    target = arguments.get("--events")
    if target is None:
        yield EventStream(correlation_id)
    elif target == "-":
        yield EventStream(correlation_id, _to_stdout)
    else:
        try:
            descriptor = _open_to_append(target, directory(arguments))
        except (OSError, ValueError) as e:
            raise ClawError(
                "EVENTS_WRITE_FAILED",
                f"cannot write events to {target}: {why(e)}",
                hint="Pass a file in a writable folder, or - for stdout.",
                operation="open",
                target=target,
            ) from e
        try:
            yield EventStream(correlation_id, _to_file(descriptor))
        finally:
            os.close(descriptor)


def _open_to_append(path: str, folder: str) -> int:
    """Open a file for appending. Files that control the agent are refused, and so is a pipe without a reader."""
    if is_session_path(path, folder) or is_session_file(path):
        raise ValueError("it is in a session folder")
    if is_control_file(WorkingFolder(sessions=folder), path):
        raise ValueError("it is a settings file or describes skills")
    check_links(path, os.path.realpath(path))
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK | os.O_CLOEXEC
    return os.open(path, flags, 0o600)


def _to_file(descriptor: int) -> Callable[[bytes], None]:
    def write(line: bytes) -> None:
        while line:
            try:
                line = line[os.write(descriptor, line) :]
            except BlockingIOError:  # a pipe that is full
                _wait_for_reader(descriptor)

    return write


def _wait_for_reader(descriptor: int) -> None:
    import select

    if not select.select([], [descriptor], [], _READER_SECONDS)[1]:
        raise TimeoutError("the pipe has no reader")


def _to_stdout(line: bytes) -> None:
    if sys.stdout is None:
        raise ValueError("stdout is closed")
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
