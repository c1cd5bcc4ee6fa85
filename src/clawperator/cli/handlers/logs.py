"""``logs``: today's log of this computer, as it grows."""

import signal
import sys
import time
from typing import Any, NoReturn

from clawperator._files import why
from clawperator.cli.handler import Call, Printed
from clawperator.cli.parsing import usage
from clawperator.device.host_log import LogReader, log_file

_POLL_SECONDS = 0.5


def answer(call: Call) -> Any:
    follow = not call.arguments.has("--no-follow")
    reader = LogReader()
    try:
        if follow:
            signal.signal(signal.SIGTERM, _end)
        if not _print_new(reader):
            call.console.lines("warn", [f"clawperator: there is no log of today yet: {log_file()}"])
        while follow:
            time.sleep(_POLL_SECONDS)
            _print_new(reader)
    except (KeyboardInterrupt, BrokenPipeError):  # nobody wants to see more
        pass
    except OSError as e:
        raise usage(f"cannot read {log_file()}: {why(e)}", "Set CLAWPERATOR_LOG_DIR to a folder of yours.") from e
    finally:
        reader.close()
    return Printed()


def _print_new(reader: LogReader) -> bool:
    """Print what has come. False when nothing had."""
    came = False
    while data := reader.read():
        came = True
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    return came


def _end(_: int, __: object) -> NoReturn:
    raise KeyboardInterrupt
