"""``watch``: print the screen of a device, and then its changes."""

import time
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET

from clawperator._base.deadline import Deadline
from clawperator._base.notes import without_notes
from clawperator.cli.command_line import Call, StreamedResult
from clawperator.cli.console import stream_bytes
from clawperator.cli.handlers.execution import warn_of_config
from clawperator.cli.signals import interrupt_on_signals
from clawperator.errors import ClawError
from clawperator.operations.call import ApprovedCall, Caller

if TYPE_CHECKING:
    from clawperator.device.screen.watch import ScreenReport, ScreenWatch

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
    from clawperator.device.screen.watch import ScreenWatch
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
            if error is not None and ((until.is_over and not printed) or _is_lasting(error, failures)):
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


def _is_lasting(error: ClawError, failures: int) -> bool:
    """Whether looking again is of no use. A busy device is waited for."""
    return bool(failures) and (not error.retryable or failures >= _MOST_FAILURES)


def _look(watch: "ScreenWatch", until: Deadline) -> "tuple[ScreenReport | None, ClawError | None]":
    try:
        return watch.look(max(until.within(_LOOK_SECONDS), _SHORTEST_LOOK)), None
    except ClawError as e:
        return None, e


def _render(line: Call, report: "ScreenReport", *, first: bool) -> bytes:
    if not line.options.text:
        return msgspec.json.encode(report) + b"\n"
    return f"{'' if first else chr(10)}{report.text}\n".encode("utf-8", "replace")
