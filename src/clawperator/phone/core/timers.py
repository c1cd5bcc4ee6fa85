"""Timers on the phone's clock."""

import heapq
import threading
from collections.abc import Callable
from contextlib import suppress

from clawperator.engine.clock import VirtualClock
from clawperator.engine.driver import Clock

Job = Callable[[], None]


class Timers:
    """Runs jobs when they are due: inside ``VirtualClock.sleep``, or in a thread with a real clock.

    ``close`` discards pending jobs.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._jobs: list[tuple[float, int, Job]] = []
        self._numbers = 0
        self._wake = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False

    def later(self, seconds: float, job: Job) -> None:
        at = self._clock.monotonic() + seconds
        if isinstance(self._clock, VirtualClock):
            self._clock.call_at(at, lambda: None if self._closed else job())
            return
        with self._wake:
            if self._closed:
                return
            self._numbers += 1
            heapq.heappush(self._jobs, (at, self._numbers, job))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="timers", daemon=True)
                self._thread.start()
            self._wake.notify()

    def close(self) -> None:
        with self._wake:
            self._closed = True
            self._jobs.clear()
            self._wake.notify()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(5)

    def _run(self) -> None:
        while True:
            with self._wake:
                if self._closed:
                    return
                if not self._jobs:
                    self._wake.wait()
                    continue
                left = self._jobs[0][0] - self._clock.monotonic()
                if left > 0:
                    self._clock.wait(self._wake, left)  # in seconds of the phone's clock, not of this machine
                    continue
                job = heapq.heappop(self._jobs)[2]
            with suppress(Exception):  # a failing handler must not stop other timers
                job()
