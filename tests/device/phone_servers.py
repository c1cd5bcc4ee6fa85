"""A phone in this process that the command finds like any other, and whose inside a test can see."""

from collections.abc import Iterator
from contextlib import contextmanager

from clawperator._home import PhoneFolder, PhoneRecord
from clawperator.phone.process.server import HOST, Box, BoxPlan


@contextmanager
def boxed_phone(serial: str = "claw-1", seed: int = 0) -> Iterator[Box]:
    """Its doors are open and its folder is where ``CLAWPERATOR_HOME`` says, until the ``with`` block ends."""
    folder = PhoneFolder(serial)
    folder.make()
    with folder.lock() as ours:
        assert ours
        box = Box(BoxPlan(serial=serial, seed=seed, folder=folder.files))
        box.open()
        try:
            folder.write(
                PhoneRecord(
                    serial=serial,
                    pid=0,
                    seed=seed,
                    host=HOST,
                    adbd_port=box.adbd_port,
                    server_port=box.server_port,
                    control_port=box.control_port,
                    token=box.token,
                    started_at=0,
                    operator_package=box.plan.operator_package,
                    apps=[],
                )
            )
            yield box
        finally:
            folder.forget()
            box.close()
