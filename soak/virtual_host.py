"""A simulated phone on a virtual clock, and a host that lives by the same clock.

The commands run in this process and reach the phone through its real adb server. When the phone has nothing more
to send, a wait of the host does not take time: the clock jumps to its deadline.
"""

import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from msgspec import Struct

from clawperator._base import deadline as _deadline
from clawperator.device.adb.client import Connection
from clawperator.engine.clock import SystemClock, VirtualClock
from clawperator.testing import SimulatedPhone, simulated_phone
from tests.support.routes import registered

SERIAL = "claw-1"
QUIET_SECONDS = 0.4
"""A connection that is silent for so long has nothing to send: the phone itself takes no time."""


class Host(Struct, frozen=True):
    """The phone, and the clock of the phone and of the host."""

    phone: SimulatedPhone
    clock: VirtualClock


@contextmanager
def virtual_host(folder: Path, seed: int) -> Iterator[Host]:
    """A fresh phone, and commands that find no other."""
    clock = VirtualClock()
    with ExitStack() as stack:
        phone = stack.enter_context(simulated_phone(seed=seed, serial=SERIAL, clock=clock))
        ports = stack.enter_context(phone.serve())
        stack.enter_context(registered(folder, SERIAL, server_port=ports.server_port, adbd_port=ports.adbd_port))
        stack.enter_context(patch.dict(os.environ, _environment(folder)))
        for change in _patches(clock):
            stack.enter_context(change)
        yield Host(phone, clock)


def _environment(folder: Path) -> Mapping[str, str]:
    return {
        "HOME": str(folder),
        "CLAWPERATOR_HOME": str(folder),
        "ADB_PATH": str(folder / "no-adb"),
        "ANDROID_ADB_SERVER_PORT": "1",
    }


def _patches(clock: VirtualClock) -> Iterator[Any]:
    """The host's clocks and waits, replaced by those of the virtual clock."""

    def receive(connection: Connection) -> bytes:
        sock, deadline = connection._socket, connection._deadline
        sock.settimeout(QUIET_SECONDS)
        try:
            return sock.recv(65_536)
        except TimeoutError:
            clock.sleep(deadline.left())
            raise

    yield patch.object(_deadline, "time", SimpleNamespace(monotonic=clock.monotonic))
    yield patch.object(Connection, "_receive", receive)
    yield patch.object(SystemClock, "monotonic", lambda _: clock.monotonic())
    yield patch.object(SystemClock, "sleep", lambda _, seconds: clock.sleep(seconds))
    yield patch.object(time, "sleep", _sleep(clock))


def _sleep(clock: VirtualClock) -> Any:
    """``time.sleep`` of the host. Threads of the phone's servers keep their real pauses."""
    real, main = time.sleep, threading.get_ident()

    def sleep(seconds: float) -> None:
        if threading.get_ident() == main:
            clock.sleep(seconds)
        else:
            real(seconds)

    return sleep
