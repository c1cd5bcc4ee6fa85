"""The device interface of the adb endpoints: what they need of a simulated phone."""

import threading
from typing import Literal

from clawperator.phone.core.kernel import SocketChannel
from clawperator.phone.core.phone import Phone
from clawperator.phone.shell.language.interpreter import run_script
from clawperator.phone.shell.pipes import InputStream, OutputStream
from clawperator.phone.storage.filesystem import Storage

DeviceState = Literal["device", "offline", "unauthorized"]

_BANNER_PROPERTIES = ("ro.product.name", "ro.product.model", "ro.product.device")


class PhoneDevice:
    """One phone. Any thread may call any method. The phone may be replaced by a new one, as after a reset."""

    def __init__(self, phone: Phone) -> None:
        self.phone = phone

    @property
    def serial(self) -> str:
        return self.phone.serial

    @property
    def storage(self) -> Storage:
        return self.phone.storage

    def state(self) -> DeviceState:
        faults = self.phone.faults
        if faults.value("offline"):
            return "offline"
        return "unauthorized" if faults.value("unauthorized") else "device"

    def banner(self) -> str:
        """``device::`` and its properties, each ended by a semicolon, without features."""
        return "device::" + "".join(f"{name}={self.phone.properties[name]};" for name in _BANNER_PROPERTIES)

    def run_shell(
        self,
        script: bytes,
        stdin: InputStream,
        stdout: OutputStream,
        stderr: OutputStream,
        cancelled: threading.Event,
    ) -> int:
        """Run a script to its end and return its exit code. Output may be written from several threads."""
        return run_script(script, phone=self.phone, stdin=stdin, stdout=stdout, stderr=stderr, cancelled=cancelled)

    def open_socket(self, name: str) -> SocketChannel | None:
        """Connect to ``tcp:PORT``, ``localabstract:NAME`` or ``localfilesystem:PATH``; None when refused."""
        return self.phone.sockets.connect(name)

    def delay(self) -> None:
        """Called before each service opens: the fault ``latency`` sleeps here."""
        self.phone.apply_latency()
