"""Device leases: one execution at a time per device, across processes.

A lease ends with its process, but the device may go on: an Operator finishes its plan whatever happens to the
host. The lease file keeps a record of that plan, and the next holder waits for its end.

A process can also hold a device for a series of executions, such as a test. Its own executions and those of the
processes that it starts then take the lease as usual; all others wait until the hold ends.
"""

import errno
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from clawperator._base.deadline import Deadline
from clawperator._base.files import closing, is_running, make_private_folder, try_lock, unlock, why
from clawperator._base.home import product_home
from clawperator._base.notes import note, show_status
from clawperator._base.typed import decode
from clawperator.contract.limits import MAX_EXECUTION_TIMEOUT_MS
from clawperator.device.adb.client import file_name
from clawperator.errors import ClawError

POLL_SECONDS = 0.004
# How long to wait for a lease before a note reports it.
_NOTE_SECONDS = 1.0
# How long one question to the device about an abandoned command may take.
ASK_SECONDS = 0.5
_MAX_RECORD = 4_096
# The process and the device of a hold, for the processes that it starts.
_HOLD_VARIABLE = "CLAWPERATOR_HOLD"
# No command runs longer on a device; with a second for rounding.
_LONGEST_SECONDS = MAX_EXECUTION_TIMEOUT_MS / 1000 + 1


class Holder(Struct, frozen=True):
    """The holder of a lease, and what may run on the device for it.

    ``since`` and ``until`` are epoch milliseconds. ``until`` is the latest end of the command on the device, or 0
    when nothing was sent. ``started`` and ``ends`` are the same moments on the machine's monotonic clock, which no
    clock change moves. ``sent`` is the id under which the device runs the command. ``released`` when its process
    no longer follows it.
    """

    pid: int
    commandId: str
    since: int
    action: str = ""
    until: int = 0
    started: float = 0.0
    ends: float = 0.0
    sent: str = ""
    operator: str = ""
    endpoint: str = ""
    operatorPid: str = ""
    deviceTime: str = ""
    released: bool = False

    @property
    def is_abandoned(self) -> bool:
        """Whether no process follows the command: its process has released it or has ended."""
        return self.released or self.pid <= 0 or not is_running(self.pid)

    @property
    def seconds_left(self) -> float:
        """How long the device may still run the command. 0 after a restart, or for a false record."""
        now = time.monotonic()
        possible = self.started <= now and self.ends - self.started <= _LONGEST_SECONDS
        return max(0.0, self.ends - now) if possible else 0.0


# Whether the device has finished a holder's command, waiting no longer than these seconds for its end.
FinishedCheck = Callable[[Holder, float], bool]


class SentCommand(Struct):
    """A command of this process on a device. ``is_held`` while a thread of this process follows it."""

    serial: str
    holder: Holder
    finished: FinishedCheck | None
    is_held: bool = True


# The commands of this process that have not ended on their device, by serial and id.
SENT: dict[tuple[str, str], SentCommand] = {}


class Lease:
    """A lease that this process holds. The backend reports here what the device runs."""

    def __init__(self, descriptor: int, serial: str, holder: Holder, finished: FinishedCheck | None) -> None:
        self._descriptor = descriptor
        self._serial = serial
        self._holder = holder
        self._finished = finished
        _write_record(self._descriptor, self._holder)

    def sending(self, command_id: str, seconds: float, operator: str, endpoint: str = "") -> None:
        """From now on the device may run the command, for at most these seconds.

        ``endpoint`` is the address of a simulated phone, which is another one after its restart.
        """
        self.ended()
        now = time.monotonic()
        self._holder = replace(
            self._holder,
            until=round((time.time() + seconds) * 1000),
            started=now,
            ends=now + seconds,
            sent=command_id,
            operator=operator,
            endpoint=endpoint,
        )
        SENT[self._serial, command_id] = SentCommand(self._serial, self._holder, self._finished)
        _write_record(self._descriptor, self._holder)

    def noted(self, *, operator: str = "", device_time: str = "", operator_pid: str = "") -> None:
        """Keep what finds the result in the log: the Operator, the device's clock before it, the process."""
        holder = self._holder
        self._holder = replace(
            holder,
            operator=operator or holder.operator,
            deviceTime=device_time or holder.deviceTime,
            operatorPid=operator_pid or holder.operatorPid,
        )
        if (sent := SENT.get((self._serial, holder.sent))) is not None:
            sent.holder = self._holder
        _write_record(self._descriptor, self._holder)

    def ended(self) -> None:
        """The device does not run the command, or no longer."""
        SENT.pop((self._serial, self._holder.sent), None)
        self._holder = replace(self._holder, until=0, ends=0.0, sent="", deviceTime="", operatorPid="")

    def release(self) -> None:
        """Clear the record, unless the device may still run the command."""
        if self._holder.seconds_left == 0:
            self.ended()
            with suppress(OSError):
                os.ftruncate(self._descriptor, 0)
            return
        sent = SENT.get((self._serial, self._holder.sent))
        self._holder = replace(self._holder, released=True)
        with suppress(ClawError):  # on a full disk the record stays as it is
            _write_record(self._descriptor, self._holder)
        if sent is not None:
            sent.holder = self._holder
            sent.is_held = False


def _write_record(descriptor: int, holder: Holder) -> None:
    # Only the first line counts: a process that is killed between these two leaves a whole record.
    line = msgspec.json.encode(holder) + b"\n"
    try:
        os.pwrite(descriptor, line, 0)
        os.ftruncate(descriptor, len(line))
    except OSError as e:
        raise _unavailable(lease_folder(), e) from e


@contextmanager
def lease(  # noqa: PLR0913 - the facts of one lease
    serial: str,
    command_id: str,
    wait_seconds: float,
    *,
    action: str = "",
    finished: FinishedCheck | None = None,
    stop: Callable[[], bool] | None = None,
) -> Iterator[Lease]:
    """Hold the device while the ``with`` block runs. ``EXECUTION_CONFLICT_IN_FLIGHT`` when it stays busy.

    Also waits for a command that an earlier holder left running on the device. ``finished`` checks for its end;
    without it only the time counts. The wait ends with ``INTERRUPTED`` when ``stop`` returns True.
    """
    with closing(open_record(serial)) as descriptor:
        wait = _Wait(serial, Deadline(wait_seconds), stop)
        _acquire(descriptor, wait)
        _await_abandoned(descriptor, wait, finished)
        holder = Holder(os.getpid(), command_id, int(time.time() * 1000), action)
        held = Lease(descriptor, serial, holder, finished)
        try:
            yield held
        finally:
            held.release()


@contextmanager
def hold_device(serial: str, purpose: str, wait_seconds: float) -> Iterator[None]:
    """Keep the device for this process and those that it starts while the ``with`` block runs.

    ``EXECUTION_CONFLICT_IN_FLIGHT`` when another process keeps or uses it for ``wait_seconds``. ``purpose`` is for
    the messages of the others.
    """
    wait = _Wait(serial, Deadline(wait_seconds), None)
    with closing(open_record(serial, ".held")) as descriptor:
        _lock(descriptor, wait)
        holder = Holder(os.getpid(), purpose, int(time.time() * 1000))
        _write_record(descriptor, holder)
        before = os.environ.get(_HOLD_VARIABLE)
        os.environ[_HOLD_VARIABLE] = f"{holder.pid}:{file_name(serial)}"
        try:
            # An execution that began before must have ended.
            with lease(serial, purpose, wait.deadline.remaining or 0.0):
                pass
            yield
        finally:
            if before is None:
                del os.environ[_HOLD_VARIABLE]
            else:
                os.environ[_HOLD_VARIABLE] = before
            os.ftruncate(descriptor, 0)


def _other_hold(serial: str) -> Holder | None:
    """The hold of another process that did not start this one; None when there is none."""
    try:
        descriptor = os.open(_record_path(serial, ".held"), os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:  # it was never held; a folder that cannot be used is reported by the lease itself
        return None
    with closing(descriptor):
        if try_lock(descriptor, shared=True):
            return None
        holder = read_holder(descriptor) or Holder(0, "", 0)
    is_own = os.environ.get(_HOLD_VARIABLE) == f"{holder.pid}:{file_name(serial)}"
    return None if is_own else holder


def lease_conflict(serial: str) -> ClawError | None:
    """The error of a lease that would not wait: who uses the device now. None when it is free."""
    if (hold := _other_hold(serial)) is not None:
        return _busy(serial, hold, abandoned=False)
    with closing(open_record(serial)) as descriptor:
        is_held = not try_lock(descriptor, shared=True)
        holder = read_holder(descriptor)
    abandoned = holder is not None and (not is_held or holder.is_abandoned)
    if holder is not None and abandoned and holder.seconds_left == 0:
        holder = None  # the record of an earlier holder
    return _busy(serial, holder, abandoned=abandoned) if is_held or holder is not None else None


class _Wait:
    """A wait for a lease. Reports it when it takes longer than a moment: as a status, else once as a note."""

    def __init__(self, serial: str, deadline: Deadline, stop: Callable[[], bool] | None) -> None:
        self.serial = serial
        self.deadline = deadline
        self._stop = stop
        self._began = time.monotonic()
        self._noted = Deadline(_NOTE_SECONDS)
        self._is_noted = False

    def check(self, holder: Holder | None, *, abandoned: bool = False) -> None:
        """Raise when the wait is over or was stopped."""
        if self._stop is not None and self._stop():
            message = f"interrupted while waiting for device {self.serial}"
            raise ClawError("INTERRUPTED", message, operation="lease")
        if self.deadline.is_over:
            raise _busy(self.serial, holder, abandoned=abandoned)
        if self._is_noted or not self._noted.is_over:
            return
        text = f"waiting: {_describe(self.serial, holder, abandoned=abandoned)}"
        if not show_status(text, self._began):
            self._is_noted = True
            note(text)


def open_record(serial: str, kind: str = ".lock") -> int:
    folder, path = lease_folder(), _record_path(serial, kind)
    try:
        make_private_folder(folder)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            return descriptor
        os.close(descriptor)
        raise OSError(errno.EINVAL, "its lease is not a regular file", path)  # noqa: TRY301 - reported like any other
    except OSError as e:
        raise _unavailable(folder, e) from e


def _record_path(serial: str, kind: str) -> str:
    return os.path.join(lease_folder(), f"{file_name(serial)}{kind}")


def lease_folder() -> str:
    return os.path.join(product_home(), "leases")


def _unavailable(folder: str, error: OSError) -> ClawError:
    message = f"cannot write to {folder}: {why(error)}"
    hint = "Set CLAWPERATOR_HOME to a writable folder."
    return ClawError("PRODUCT_HOME_UNAVAILABLE", message, hint=hint, operation="lease", target=folder)


def _acquire(descriptor: int, wait: _Wait) -> None:
    """Lock the record of a device that no other process holds for itself."""
    while True:
        _lock(descriptor, wait)
        hold = _other_hold(wait.serial)
        if hold is None:
            return
        unlock(descriptor)
        wait.check(hold)
        time.sleep(POLL_SECONDS)


def _lock(descriptor: int, wait: _Wait) -> None:
    while not try_lock(descriptor):
        _check_held(descriptor, wait)
        # Random delays, so that no process always comes too late.
        time.sleep(POLL_SECONDS * (0.5 + os.urandom(1)[0] / 256))


def _check_held(descriptor: int, wait: _Wait) -> None:
    """Check a wait for a lease that another process holds, which may itself wait for an abandoned command."""
    holder = read_holder(descriptor)
    if holder is None or not holder.is_abandoned:
        wait.check(holder)
    elif holder.seconds_left > 0:
        wait.check(holder, abandoned=True)
    else:
        wait.check(None)  # the holder has not replaced the record of an earlier one yet


def _await_abandoned(descriptor: int, wait: _Wait, finished: FinishedCheck | None) -> None:
    holder = read_holder(descriptor)
    while holder is not None and holder.seconds_left > 0:
        wait.check(holder, abandoned=True)
        seconds = wait.deadline.within(min(ASK_SECONDS, holder.seconds_left))
        if finished is None:
            time.sleep(min(seconds, POLL_SECONDS))
        elif finished(holder, seconds):
            return


def read_holder(descriptor: int) -> Holder | None:
    try:
        return decode(os.pread(descriptor, _MAX_RECORD, 0).partition(b"\n")[0], Holder)
    except ValueError:  # decoding errors are ValueErrors, and so is text that is not UTF-8
        return None


def _describe(serial: str, holder: Holder | None, *, abandoned: bool) -> str:
    if holder is None or not holder.pid:  # it has not written its record yet
        return f"device {serial} is busy"
    what = f"{holder.action} of command {holder.commandId}" if holder.action else holder.commandId
    if not abandoned:
        return f"device {serial} is busy: process {holder.pid} runs {what}"
    left = round(holder.seconds_left + 0.5)
    return f"device {serial} still runs {what}, started by process {holder.pid}, for up to {left} s"


def _busy(serial: str, holder: Holder | None, *, abandoned: bool) -> ClawError:
    details: dict[str, str | int] = {"deviceId": serial}
    if holder is not None:
        details |= {"commandId": holder.commandId, "pid": holder.pid, "since": holder.since}
        if holder.action:
            details["action"] = holder.action
        if holder.until:
            details["until"] = holder.until
    code, message = "EXECUTION_CONFLICT_IN_FLIGHT", _describe(serial, holder, abandoned=abandoned)
    hint = "Retry when it has finished, or use another device."
    return ClawError(code, message, hint=hint, details=details, operation="lease", target=serial)
