"""``logs``: print today's host log and follow it."""

import signal
import sys
import time
from collections.abc import Callable
from typing import NoReturn

from clawperator._base.deadline import Deadline
from clawperator._base.files import why
from clawperator.cli.command_line import Call, StreamedResult
from clawperator.cli.console import stream_bytes
from clawperator.cli.parsing import usage
from clawperator.device.run.host_log import HostLogReader, log_file
from clawperator.operations.call import ApprovedCall, Caller

_POLL_SECONDS = 0.5


def print_log(line: Call, approved: ApprovedCall, _: Caller) -> StreamedResult:
    follow = not approved.params.no_follow
    reader = HostLogReader()
    try:
        if follow:
            signal.signal(signal.SIGTERM, _interrupt)
        write = _text_writer() if line.options.text else stream_bytes
        if not _print_new(reader, write):
            line.console.lines("warn", [f"clawperator: no log for today yet: {log_file()}"])
        until = Deadline(None)  # --timeout
        while follow and not until.is_over:
            time.sleep(until.within(_POLL_SECONDS))
            _print_new(reader, write)
    except (KeyboardInterrupt, BrokenPipeError):  # the reader has stopped
        pass
    except OSError as e:
        raise usage(f"cannot read {log_file()}: {why(e)}", "Set CLAWPERATOR_LOG_DIR to a readable folder.") from e
    finally:
        reader.close()
    return StreamedResult()


def _print_new(reader: HostLogReader, write: Callable[[bytes], object]) -> bool:
    """Print new lines. False when there are none."""
    printed = False
    while data := reader.read():
        printed = True
        write(data)
    return printed


def _text_writer() -> Callable[[bytes], None]:
    """Writes lines of the log as text. A line that is not complete yet is kept for the next call."""
    from clawperator._base.typed import decode
    from clawperator.cli.text.layout import Terminal
    from clawperator.cli.text.listings import log_line

    terminal = Terminal.of(sys.stdout)
    rest = b""

    def write(data: bytes) -> None:
        nonlocal rest
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            try:
                entry = decode(line)
            except ValueError:  # not JSON: print it as it is
                entry = None
            shown = terminal.render([log_line(entry, line.decode("utf-8", "replace"))])
            stream_bytes(shown.encode() + b"\n")

    return write


def _interrupt(_: int, __: object) -> NoReturn:
    raise KeyboardInterrupt
