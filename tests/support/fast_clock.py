"""A clock that runs faster than real time, for tests that wait for something that never comes."""

import threading
import time

from clawperator.engine.clock import SystemClock


class FastClock(SystemClock):
    """The machine's clock, ``speed`` times as fast."""

    def __init__(self, speed: float = 10) -> None:
        self._speed = speed

    def monotonic(self) -> float:
        return time.monotonic() * self._speed

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds / self._speed)

    def wait(self, condition: threading.Condition, seconds: float) -> None:
        super().wait(condition, seconds / self._speed)


class SkippingClock(SystemClock):
    """The machine's clock, on which a sleep takes a tenth of its time. Afterwards the clock is ahead by the rest.

    Work takes as long as on the machine's clock, so a timeout of the phone allows as much of it on a slow machine.
    """

    def __init__(self, speed: float = 10) -> None:
        self._speed = speed
        self._lock = threading.Lock()
        self._ahead = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self._ahead

    def sleep(self, seconds: float) -> None:
        end = self.monotonic() + seconds
        super().sleep(seconds / self._speed)
        self._skip_to(end)

    def wait(self, condition: threading.Condition, seconds: float) -> None:
        end = self.monotonic() + seconds
        if not condition.wait(min(max(0.0, seconds / self._speed), threading.TIMEOUT_MAX)):
            self._skip_to(end)

    def _skip_to(self, moment: float) -> None:
        """Advance to this moment, unless another sleep has done so."""
        with self._lock:
            self._ahead = max(self._ahead, moment - time.monotonic())
