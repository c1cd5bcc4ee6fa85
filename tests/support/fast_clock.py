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
