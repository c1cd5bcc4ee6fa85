"""The system clock, and a virtual clock that jumps instead of sleeping."""

import threading
import time
from collections.abc import Callable
from heapq import heapify, heappop, heappush

_NS = 1_000_000_000


class SystemClock:
    """The clock of this machine."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(max(0.0, seconds))

    def wait(self, condition: threading.Condition, seconds: float) -> None:
        condition.wait(min(max(0.0, seconds), threading.TIMEOUT_MAX))


class Timer:
    """A scheduled call. ``cancel`` removes it; after the call it does nothing."""

    __slots__ = ("_call", "_clock", "at_ns", "order")

    def __init__(self, clock: "VirtualClock", at_ns: int, order: int, call: Callable[[], object]) -> None:
        self._clock = clock
        self.at_ns = at_ns
        self.order = order
        self._call = call

    def __lt__(self, other: "Timer") -> bool:
        return (self.at_ns, self.order) < (other.at_ns, other.order)

    def cancel(self) -> None:
        self._clock.forget(self)

    def run(self) -> None:
        self._call()


class VirtualClock:
    """A clock that stands still until ``sleep`` moves it.

    Calls scheduled with ``call_at`` run during a sleep, each at its time, in order of time and then of scheduling,
    before the sleep returns. A call may schedule further ones and may sleep itself: time never goes back. A call
    whose time has passed runs in the next sleep, however short. Time is counted in whole nanoseconds, so that many
    short sleeps add up to exactly one long sleep.
    """

    def __init__(self, start_ms: int = 1_700_000_000_000) -> None:
        self._start_ms = start_ms
        self._ns = 0
        self._order = 0
        self.timers: list[Timer] = []

    def now_ms(self) -> int:
        return self._start_ms + self._ns // 1_000_000

    def monotonic(self) -> float:
        return self._ns / _NS

    def sleep(self, seconds: float) -> None:
        # A sleep of less than a nanosecond still advances, or a loop that waits would never end.
        target = self._ns + (max(1, round(seconds * _NS)) if seconds > 0 else 0)
        while self.timers and self.timers[0].at_ns <= target:
            timer = heappop(self.timers)
            self._ns = max(self._ns, timer.at_ns)
            timer.run()
        self._ns = max(self._ns, target)

    def wait(self, condition: threading.Condition, seconds: float) -> None:  # noqa: ARG002
        """Jump to the end of the wait: no other thread notifies while this clock stands still."""
        self.sleep(seconds)

    def call_at(self, monotonic_seconds: float, callback: Callable[[], object]) -> Timer:
        """Schedule ``callback`` for this value of ``monotonic``."""
        self._order += 1
        timer = Timer(self, round(monotonic_seconds * _NS), self._order, callback)
        heappush(self.timers, timer)
        return timer

    def forget(self, timer: Timer) -> None:
        if timer in self.timers:
            self.timers.remove(timer)
            heapify(self.timers)
