"""A phone in this process that the command finds like any other, and that a test can inspect."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from clawperator._base.home import PhoneFolder, PhoneRecord
from clawperator.engine.clock import SystemClock
from clawperator.phone.process import server
from clawperator.phone.process.server import HOST, PhoneServer, PhoneServerConfig
from tests.support.fast_clock import SkippingClock


@contextmanager
def running_phone_server(
    serial: str = "claw-1",
    seed: int = 0,
    apps: tuple[str, ...] = (),
    clock: type[SystemClock] = SkippingClock,
    operator: str | None = None,
) -> Iterator[PhoneServer]:
    """Its ports are open and its folder is in ``CLAWPERATOR_HOME`` until the ``with`` block ends."""
    folder = PhoneFolder(serial)
    folder.make()
    with patch.object(server, "SystemClock", clock), folder.lock() as ours:
        assert ours
        phone_server = PhoneServer(
            PhoneServerConfig(serial=serial, seed=seed, folder=folder.files, apps=apps, operator_package=operator)
        )
        phone_server.open()
        try:
            folder.write(
                PhoneRecord(
                    serial=serial,
                    pid=0,
                    seed=seed,
                    host=HOST,
                    adbd_port=phone_server.adbd_port,
                    server_port=phone_server.server_port,
                    control_port=phone_server.control_port,
                    token=phone_server.token,
                    started_at=0,
                    operator_package=phone_server.setup.operator_package,
                    apps=[],
                )
            )
            yield phone_server
        finally:
            folder.forget()
            phone_server.close()
