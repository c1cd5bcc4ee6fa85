"""What the doors need of the phone behind them."""

import threading
from typing import Literal, Protocol

from clawperator.phone.shell.pipes import InputStream, OutputStream
from clawperator.phone.storage.filesystem import Storage

State = Literal["device", "offline", "unauthorized"]


class Channel(Protocol):
    """A connection to a socket on the phone."""

    def read(self, size: int, /) -> bytes:
        """Up to ``size`` bytes, as soon as there are any; empty at the end and after ``close``."""
        ...

    def write(self, data: bytes, /) -> None:
        """Raises ``OSError`` when nobody reads any more."""
        ...

    def close(self) -> None:
        """May be called from any thread and more than once; it ends a waiting ``read``."""
        ...


class Device(Protocol):
    """One phone. Any thread may call any method."""

    @property
    def serial(self) -> str: ...

    @property
    def storage(self) -> Storage: ...

    def state(self) -> State: ...

    def banner(self) -> str:
        """``device::`` and its properties, each ended by a semicolon, without features."""
        ...

    def run_shell(
        self,
        script: bytes,
        stdin: InputStream,
        stdout: OutputStream,
        stderr: OutputStream,
        cancelled: threading.Event,
    ) -> int:
        """Run a script to its end and give its exit code. Output may be written from several threads."""
        ...

    def open_socket(self, name: str) -> Channel | None:
        """Connect to ``tcp:PORT``, ``localabstract:NAME`` or ``localfilesystem:PATH``; None when it refuses."""
        ...

    def delay(self) -> None:
        """Called before each service opens: a slow phone sleeps here."""
        ...
