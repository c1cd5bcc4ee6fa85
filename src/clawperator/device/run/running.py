"""What devices may still run for this process. An Operator cannot be stopped: it finishes its plan."""

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial

from msgspec import Struct

from clawperator._base.deadline import BEGAN, Deadline
from clawperator._base.files import closing, try_lock
from clawperator.device.adb.client import serial_of
from clawperator.device.run.lease import (
    ASK_SECONDS,
    POLL_SECONDS,
    SENT,
    Holder,
    SentCommand,
    lease_folder,
    open_record,
    read_holder,
)
from clawperator.errors import ClawError


class RunningExecution(Struct, frozen=True):
    """An execution of this process that may still run on a device, until ``until`` at the latest."""

    deviceId: str
    commandId: str
    action: str
    since: int
    until: int

    def describe(self) -> str:
        left = max(0, round((self.until - time.time() * 1000) / 1000))
        return f"{self.deviceId} may still run {self.action} (command {self.commandId}) for up to {left} s"


def still_running(wait_seconds: float = ASK_SECONDS, *, followed: bool = True) -> tuple[RunningExecution, ...]:
    """The executions of this process that may still run on a device. Waits for their end, but not longer.

    Without ``followed``, only those that no call of this process waits for any more.

    Those of processes that it started and ended, such as skills, are among them. An Operator cannot be stopped:
    after a cancellation the device has stopped only when this is empty.
    """
    deadline = Deadline(wait_seconds)
    SENT.update({(left.serial, left.holder.sent): left for left in _left_by_others()})
    while True:
        known = [sent for sent in list(SENT.values()) if followed or not sent.is_held]
        pending = [sent for sent in known if not _has_ended(sent, deadline)]
        if not pending or deadline.is_over:
            break
        time.sleep(deadline.within(POLL_SECONDS))
    found = ((sent.serial, sent.holder) for sent in pending)
    return tuple(RunningExecution(serial, h.commandId, h.action, h.since, h.until) for serial, h in found)


def _has_ended(sent: SentCommand, deadline: Deadline) -> bool:
    if sent.holder.seconds_left > 0:
        if sent.is_held or sent.finished is None:
            return (sent.serial, sent.holder.sent) not in SENT
        try:
            if not sent.finished(sent.holder, deadline.within(ASK_SECONDS)):
                return False
        except ClawError:
            return False  # the device cannot be reached: it may still run it
        _clear_record(sent)
    SENT.pop((sent.serial, sent.holder.sent), None)
    return True


def _left_by_others() -> Iterator[SentCommand]:
    """Commands that processes sent since this one began, and that no process follows now."""
    folder = lease_folder()
    names: list[str] = []
    with suppress(OSError):
        names = os.listdir(folder)
    for name in names:
        with suppress(OSError, ValueError):
            flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
            with closing(os.open(os.path.join(folder, name), flags)) as descriptor:
                holder = read_holder(descriptor)
                if holder is None or holder.started < BEGAN or holder.pid == os.getpid():
                    continue
                if not try_lock(descriptor):
                    continue  # its process follows it
            serial = serial_of(name.removesuffix(".lock"))
            if holder.seconds_left > 0:
                yield SentCommand(serial, holder, partial(_ask, serial), is_held=False)


def _ask(serial: str, holder: Holder, seconds: float) -> bool:
    """Ask a device by its serial whether it has finished a command."""
    from clawperator.device.backends.operator_link import has_finished
    from clawperator.device.discovery import resolve_device

    return has_finished(resolve_device(serial), holder, seconds)


def _clear_record(sent: SentCommand) -> None:
    """Clear the record of a command that has ended, if the lease is free and the record is still that one."""
    with suppress(OSError, ClawError), closing(open_record(sent.serial)) as descriptor:
        if try_lock(descriptor) and read_holder(descriptor) == sent.holder:
            os.ftruncate(descriptor, 0)
