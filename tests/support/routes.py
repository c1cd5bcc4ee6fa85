"""Two routes to a simulated phone for the same tests: its own server port without adb, and a real adb."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest.mock import patch

import pytest
from msgspec import Struct

from clawperator._base.home import PhoneFolder, PhoneRecord
from clawperator.contract.wire import OPERATOR_PACKAGE
from clawperator.device.adb.client import Device, Endpoint, run_shell
from clawperator.engine.clock import SystemClock
from clawperator.phone.process import server
from clawperator.phone.process.server import HOST, PhoneServer, PhoneServerConfig
from tests.phone.adb.real_adb import adb_server, connected
from tests.support.fast_clock import SkippingClock
from tests.support.running import Ran, clawperator

ROUTES = ("no adb", "real adb")
SERIAL = "claw-1"


class Route(Struct, frozen=True):
    """A phone and the environment in which the command finds it."""

    phone_server: PhoneServer
    serial: str
    endpoint: Endpoint
    environment: dict[str, str]

    @property
    def device(self) -> Device:
        return Device(self.serial, self.endpoint)

    def run(self, *argv: str) -> Ran:
        return clawperator(*argv, "--device", self.serial)

    def shell(self, script: str) -> str:
        """The output of a command line on the phone, which must succeed."""
        answer = run_shell(self.device, script, seconds=10)
        assert answer.code == 0, answer
        return answer.text

    def take(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name, value in self.environment.items():
            monkeypatch.setenv(name, value)


@contextmanager
def open_route(name: str, folder: Path, clock: type[SystemClock] = SkippingClock) -> Iterator[Route]:
    """A fresh phone in this process, reached by the route of this name."""
    with ExitStack() as stack:
        stack.enter_context(patch.object(server, "SystemClock", clock))
        phone_server = PhoneServer(PhoneServerConfig(serial=SERIAL, folder=str(folder / "files")))
        stack.callback(phone_server.close)
        phone_server.open()
        home = {"CLAWPERATOR_HOME": str(folder / "home")}
        if name == "no adb":
            ports = {
                "server_port": phone_server.server_port,
                "adbd_port": phone_server.adbd_port,
                "control_port": phone_server.control_port,
            }
            stack.enter_context(registered(folder / "home", SERIAL, token=phone_server.token, **ports))
            yield Route(phone_server, SERIAL, Endpoint(HOST, phone_server.server_port, simulated=True), home)
            return
        adb = stack.enter_context(adb_server("system", folder))
        serial = stack.enter_context(connected(adb, phone_server.adbd_port))
        where = {"ADB_PATH": adb.program, "ANDROID_ADB_SERVER_PORT": str(adb.port)}
        yield Route(phone_server, serial, Endpoint(HOST, adb.port), home | where)


@contextmanager
def registered(  # noqa: PLR0913 - the ports of a phone
    home: Path, serial: str, *, server_port: int, adbd_port: int = 1, control_port: int = 1, token: str = ""
) -> Iterator[None]:
    """Register a phone as running for the duration of the block, so that the command finds it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLAWPERATOR_HOME", str(home))
        folder = PhoneFolder(serial)
    folder.make()
    folder.write(
        PhoneRecord(
            serial=serial,
            pid=1,
            seed=0,
            host=HOST,
            adbd_port=adbd_port,
            server_port=server_port,
            control_port=control_port,
            token=token,
            started_at=0,
            operator_package=OPERATOR_PACKAGE,
            apps=[],
        )
    )
    with folder.lock() as held:
        assert held
        yield
