"""A phone with its doors open: adbd, the adb server, and control."""

import base64
import os
import secrets
import sys
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from clawperator.contract.wire import OPERATOR_PACKAGE
from clawperator.engine.clock import SystemClock
from clawperator.errors import ClawError
from clawperator.phone.adb.adbd import AdbdServer
from clawperator.phone.adb.device import PhoneDevice
from clawperator.phone.adb.server import AdbServer
from clawperator.phone.core.faults import FAULTS
from clawperator.phone.core.phone import Phone
from clawperator.phone.process.control import ControlDoor
from clawperator.phone.shell.language.interpreter import load_commands
from clawperator.phone.toolkit.appfile import load_apps

if TYPE_CHECKING:
    from clawperator.phone.cassette.cassette import Cassette

HOST = "127.0.0.1"

_LOOK_SECONDS = 1.0
# A script that only computes lets the others wait no longer than this, each time one of them wants something.
_TURN_SECONDS = 0.0005


class BoxPlan(Struct, frozen=True, kw_only=True):
    """How a phone is to be. Ports of 0 mean any that is free."""

    serial: str
    seed: int = 0
    folder: str | None = None
    apps: Sequence[str] = ()
    faults: Sequence[tuple[str, str]] = ()
    # A recording that the phone shows in place of apps of its own.
    cassette: str | None = None
    operator_package: str = OPERATOR_PACKAGE
    adbd_port: int = 0
    server_port: int = 0


class Box:
    """One phone by the machine's own clock, and the doors to it.

    ``wipe`` empties the phone's folder; a reset calls it between two lives of the phone. ``stopped`` is set when
    the phone is to end: by request, or because somebody has taken its folder away.
    """

    def __init__(self, plan: BoxPlan, wipe: Callable[[], None] = lambda: None) -> None:
        self.plan = plan
        self._wipe = wipe
        self.token = secrets.token_urlsafe(24)
        self.stopped = threading.Event()
        self._cassette = _load(plan.cassette) if plan.cassette is not None else None
        self.device = PhoneDevice(self._make())
        for name, setting in plan.faults:
            self.phone.set_fault(name, setting)
        self._adbd = AdbdServer(self.device)
        self._server = AdbServer(lambda: [self.device])
        self._control = ControlDoor(self.token, self.command)
        self.adbd_port = self.server_port = self.control_port = 0

    @property
    def phone(self) -> Phone:
        return self.device.phone

    def open(self) -> None:
        """Open the doors. ``OSError`` when a port cannot be had."""
        load_commands()  # now, so that the first command does not wait for it
        self.adbd_port = self._adbd.start(HOST, self.plan.adbd_port)
        self.server_port = self._server.start(HOST, self.plan.server_port)
        self.control_port = self._control.start(HOST)
        sys.setswitchinterval(_TURN_SECONDS)
        if self.plan.folder is not None:
            threading.Thread(target=self._watch, args=(self.plan.folder,), name="folder", daemon=True).start()

    def close(self) -> None:
        self.stopped.set()
        for door in (self._control, self._server, self._adbd):
            door.stop()
        self.phone.close()

    def command(self, name: str, arguments: dict[str, Any]) -> Any:
        """Carry out a request from the control door."""
        match name:
            case "status":
                return self._status()
            case "fault":
                return self._fault(**arguments)
            case "reset":
                self._reset()
                return {}
            case "screenshot":
                return {"png": base64.b64encode(self.phone.screenshot()).decode()}
            case "stop":
                self.stopped.set()
                return {}
            case _:
                raise ClawError("USAGE", f"the phone knows no request {name!r}")

    def _status(self) -> dict[str, Any]:
        with self.phone.lock:
            status = {"faults": self.phone.faults.values(), "foreground": self.phone.foreground()}
            player = self.phone.player
            return status if player is None else {**status, "cassette": player.status()}

    def _watch(self, folder: str) -> None:
        """Nobody could find a phone without its folder, nor stop it."""
        above = os.path.dirname(folder)
        ours = _identity(above)
        while not self.stopped.wait(_LOOK_SECONDS):
            now = _identity(above)
            ours = ours or now
            if now != ours:
                self.stopped.set()

    def _fault(self, name: str | None = None, setting: str | None = None) -> dict[str, Any]:
        if name is not None and setting is not None:
            self.phone.set_fault(name, setting)
            if name in ("offline", "unauthorized"):
                self._adbd.disconnect()
        values = self.phone.faults.values()
        return {"faults": {fault: values.get(fault, 0) for fault in FAULTS}}

    def _reset(self) -> None:
        """A new phone behind the same doors. Whoever is connected has to connect again."""
        self.phone.close()
        self._wipe()
        self.device.phone = self._make()
        self._adbd.disconnect()

    def _make(self) -> Phone:
        plan = self.plan
        return Phone(
            serial=plan.serial,
            seed=plan.seed,
            clock=SystemClock(),
            folder=plan.folder,
            apps=[app for path in plan.apps for app in load_apps(path)],
            operator_package=plan.operator_package,
            cassette=self._cassette,
        )


def _load(path: str) -> "Cassette":
    from clawperator.phone.cassette.cassette import load_cassette

    return load_cassette(path)


def _identity(folder: str) -> tuple[int, int] | None:
    """What tells a folder from another that later has the same name; None when there is none."""
    try:
        found = os.stat(folder)
    except OSError:
        return None
    return found.st_dev, found.st_ino
