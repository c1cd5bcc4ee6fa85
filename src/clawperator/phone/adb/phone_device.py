"""The phone as adb sees it."""

import threading

from clawperator.phone.adb.device import Channel, State
from clawperator.phone.core.phone import Phone
from clawperator.phone.shell.language.interpreter import run_script
from clawperator.phone.shell.pipes import InputStream, OutputStream
from clawperator.phone.storage.filesystem import Storage

_TOLD = ("ro.product.name", "ro.product.model", "ro.product.device")


class AttachedPhone:
    """A ``Device`` whose phone may be replaced by a new one, as after a reset."""

    def __init__(self, phone: Phone) -> None:
        self.phone = phone

    @property
    def serial(self) -> str:
        return self.phone.serial

    @property
    def storage(self) -> Storage:
        return self.phone.storage

    def state(self) -> State:
        faults = self.phone.faults
        if faults.value("offline"):
            return "offline"
        return "unauthorized" if faults.value("unauthorized") else "device"

    def banner(self) -> str:
        return "device::" + "".join(f"{name}={self.phone.properties[name]};" for name in _TOLD)

    def run_shell(
        self,
        script: bytes,
        stdin: InputStream,
        stdout: OutputStream,
        stderr: OutputStream,
        cancelled: threading.Event,
    ) -> int:
        return run_script(script, phone=self.phone, stdin=stdin, stdout=stdout, stderr=stderr, cancelled=cancelled)

    def open_socket(self, name: str) -> Channel | None:
        return self.phone.sockets.connect(name)

    def delay(self) -> None:
        self.phone.apply_latency()
