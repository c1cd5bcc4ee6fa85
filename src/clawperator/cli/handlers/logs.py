"""``logs``: print today's host log and follow it."""

import signal
import time
from typing import NoReturn

from clawperator._deadline import Deadline
from clawperator._files import why
from clawperator.cli.command_line import Call, StreamedResult
from clawperator.cli.console import stream_bytes
from clawperator.cli.parsing import usage
from clawperator.device import HostLogReader, log_file

_POLL_SECONDS = 0.5


def print_log(call: Call) -> StreamedResult:
    follow = not call.arguments.has("--no-follow")
    reader = HostLogReader()
    try:
        if follow:
            signal.signal(signal.SIGTERM, _interrupt)
        if not _print_new(reader):
            call.console.lines("warn", [f"clawperator: no log for today yet: {log_file()}"])
        until = Deadline(None)  # --timeout
        while follow and not until.is_over:
            time.sleep(until.within(_POLL_SECONDS))
            _print_new(reader)
    except (KeyboardInterrupt, BrokenPipeError):  # the reader has stopped
        pass
    except OSError as e:
        raise usage(f"cannot read {log_file()}: {why(e)}", "Set CLAWPERATOR_LOG_DIR to a readable folder.") from e
    finally:
        reader.close()
    return StreamedResult()


def _print_new(reader: HostLogReader) -> bool:
    """Print new lines. False when there are none."""
    printed = False
    while data := reader.read():
        printed = True
        stream_bytes(data)
    return printed


def _interrupt(_: int, __: object) -> NoReturn:
    raise KeyboardInterrupt
