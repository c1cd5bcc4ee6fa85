"""Commands that print while they run: ``watch`` the screen of a device, follow the host log."""

import sys
import time
from collections.abc import Callable
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET

from clawperator._base.deadline import Deadline
from clawperator._base.files import why
from clawperator._base.notes import without_notes
from clawperator.cli.actions import warn_of_config
from clawperator.cli.command_line import Call, StreamedResult
from clawperator.cli.console import interrupt_on_signals, stream_bytes
from clawperator.cli.parsing import usage
from clawperator.device.run.host_log import HostLogReader, log_file
from clawperator.errors import ClawError
from clawperator.operations.call import ApprovedCall, Caller

if TYPE_CHECKING:
    from clawperator.device.screen.live_view import ScreenReport, ScreenWatch


_LOOK_SECONDS = 30.0
_SHORTEST_LOOK = 1.0
_BUSY = "EXECUTION_CONFLICT_IN_FLIGHT"
# A screen that cannot be read for a moment, such as an animation over plain adb, ends nothing.
_MOST_FAILURES = 3


def watch_screen(line: Call, approved: ApprovedCall, caller: Caller) -> StreamedResult:
    """Print one document per change until a limit, Ctrl-C or the end of the reader: exit code 0.

    An error of the device is printed as the last document.
    """
    from clawperator.device.discovery import resolve_device
    from clawperator.device.screen.live_view import ScreenWatch
    from clawperator.device.settings import default_backend, named_operator

    params = approved.params
    limits = [None if params.for_ms is UNSET else params.for_ms / 1000, caller.timeout]
    until = Deadline(min((limit for limit in limits if limit is not None), default=None))
    backend = caller.backend or default_backend()
    warn_of_config(line)
    package = named_operator(caller.operator_package)
    device = resolve_device(caller.device)
    watch = ScreenWatch(device, package=package, backend=backend)
    printed = failures = 0
    with suppress(KeyboardInterrupt, BrokenPipeError), interrupt_on_signals(), without_notes():
        while True:
            report, error = _look(watch, until)
            if report is not None:
                stream_bytes(_render(line, report, first=printed == 0))
                printed += 1
            failures = failures + 1 if error is not None and error.code != _BUSY else 0
            # Looking again is of no use. A busy device is waited for.
            is_lasting = error is not None and failures and (not error.retryable or failures >= _MOST_FAILURES)
            if error is not None and ((until.is_over and not printed) or is_lasting):
                raise _explained(error, device.serial)
            if printed == params.count or until.is_over:
                break
            time.sleep(until.within(params.interval / 1000))
    return StreamedResult()


def _explained(error: ClawError, serial: str) -> ClawError:
    """The error, or that the device is gone."""
    from clawperator.device.discovery import resolve_device

    try:
        resolve_device(serial)
    except ClawError as e:
        return e if e.code.startswith("DEVICE_") else error
    return error


def _look(watch: "ScreenWatch", until: Deadline) -> "tuple[ScreenReport | None, ClawError | None]":
    try:
        return watch.look(max(until.within(_LOOK_SECONDS), _SHORTEST_LOOK)), None
    except ClawError as e:
        return None, e


def _render(line: Call, report: "ScreenReport", *, first: bool) -> bytes:
    if not line.options.text:
        return msgspec.json.encode(report) + b"\n"
    return f"{'' if first else chr(10)}{report.text}\n".encode("utf-8", "replace")


_POLL_SECONDS = 0.5


def print_log(line: Call, approved: ApprovedCall, _: Caller) -> StreamedResult:
    follow = not approved.params.no_follow
    reader = HostLogReader()
    try:
        with interrupt_on_signals() if follow else nullcontext():
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
