"""One execution at a time on a phone, across processes. The lock dies with its holder."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import msgspec
from msgspec import Struct

from clawperator._files import why
from clawperator._home import product_home
from clawperator._typed import decode
from clawperator.errors import ClawError

_POLL_SECONDS = 0.004


class Holder(Struct, frozen=True):
    """Who holds a lease."""

    pid: int
    commandId: str
    since: int


@contextmanager
def lease(serial: str, command_id: str, wait_seconds: float) -> Iterator[None]:
    """Hold the phone while the ``with`` block runs. ``EXECUTION_CONFLICT_IN_FLIGHT`` when others do not let go."""
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
    # As hex a serial is a file name whatever it holds; so much of it tells phones apart.
    name = f"{serial.encode().hex()[:200]}.lock"
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        return os.open(os.path.join(folder, name), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as e:
        raise ClawError(
            "PRODUCT_HOME_UNAVAILABLE",
            f"cannot write to {folder}: {why(e)}",
            hint="Set CLAWPERATOR_HOME to a folder that can be written to.",
            operation="lease",
            target=folder,
        ) from e


def _acquire(descriptor: int, serial: str, wait_seconds: float) -> None:
    deadline = time.monotonic() + wait_seconds
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise _busy(serial, _read_holder(descriptor)) from None
        else:
            return
        # Not all at once, so that no one is always a moment too late.
        time.sleep(_POLL_SECONDS * (0.5 + os.urandom(1)[0] / 256))


def _read_holder(descriptor: int) -> Holder | None:
    try:
        return decode(os.pread(descriptor, 4_096, 0), Holder)
    except msgspec.DecodeError:
        return None


def _busy(serial: str, holder: Holder | None) -> ClawError:
    by = f" by process {holder.pid} with {holder.commandId}" if holder else ""
    details = {"deviceId": serial, **({"commandId": holder.commandId, "pid": holder.pid} if holder else {})}
    return ClawError(
        "EXECUTION_CONFLICT_IN_FLIGHT",
        f"the phone {serial} is held{by}",
        hint="Wait until it is done, or use another phone with --device.",
        details=details,
        operation="lease",
        target=serial,
    )
