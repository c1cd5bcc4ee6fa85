"""Device leases: one execution at a time per device, across processes. A lease ends with its process."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import msgspec
from msgspec import Struct

from clawperator._deadline import Deadline
from clawperator._files import make_private_folder, why
from clawperator._home import product_home
from clawperator._typed import decode
from clawperator.errors import ClawError

_POLL_SECONDS = 0.004


class Holder(Struct, frozen=True):
    """The holder of a lease."""

    pid: int
    commandId: str
    since: int


@contextmanager
def lease(serial: str, command_id: str, wait_seconds: float) -> Iterator[None]:
    """Hold the device while the ``with`` block runs. ``EXECUTION_CONFLICT_IN_FLIGHT`` when it stays busy."""
    descriptor = _open(serial)
    try:
        _acquire(descriptor, serial, wait_seconds)
        holder = Holder(os.getpid(), command_id, int(time.time() * 1000))
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, msgspec.json.encode(holder), 0)
        try:
            yield
        finally:
            with suppress(OSError):
                os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def _open(serial: str) -> int:
    folder = os.path.join(product_home(), "leases")
    # In hex any serial is a valid file name, and 200 digits distinguish devices.
    name = f"{serial.encode().hex()[:200]}.lock"
    try:
        make_private_folder(folder)
        return os.open(os.path.join(folder, name), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as e:
        raise ClawError(
            "PRODUCT_HOME_UNAVAILABLE",
            f"cannot write to {folder}: {why(e)}",
            hint="Set CLAWPERATOR_HOME to a writable folder.",
            operation="lease",
            target=folder,
        ) from e


def _acquire(descriptor: int, serial: str, wait_seconds: float) -> None:
    deadline = Deadline(wait_seconds)
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if deadline.is_over:
                raise _busy(serial, _read_holder(descriptor)) from None
        else:
            return
        # Random delays, so that no process always comes too late.
        time.sleep(_POLL_SECONDS * (0.5 + os.urandom(1)[0] / 256))


def _read_holder(descriptor: int) -> Holder | None:
    try:
        return decode(os.pread(descriptor, 4_096, 0), Holder)
    except msgspec.DecodeError:
        return None


def _busy(serial: str, holder: Holder | None) -> ClawError:
    by = f": process {holder.pid} runs {holder.commandId}" if holder else ""
    details = {"deviceId": serial, **({"commandId": holder.commandId, "pid": holder.pid} if holder else {})}
    return ClawError(
        "EXECUTION_CONFLICT_IN_FLIGHT",
        f"device {serial} is busy{by}",
        hint="Retry when it has finished, or use another device with --device.",
        details=details,
        operation="lease",
        target=serial,
    )
