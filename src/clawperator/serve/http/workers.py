"""Threads for the work of requests, so that the event loop stays free."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, TypeVar

from clawperator._base.deadline import Deadline
from clawperator.errors import ClawError

T = TypeVar("T")

_MOST_THREADS = 32
_MOST_WAITING = 128
_POLL_SECONDS = 0.02


class Workers:
    """A limited number of threads. They are daemons: work that does not stop in time ends with the process.

    Work has deadlines of its own, and goes on when its client disconnects: what an execution does on a device
    must not depend on a connection. ``stopping`` is set when running work should end.
    """

    def __init__(self, threads: int = _MOST_THREADS, waiting: int = _MOST_WAITING) -> None:
        self.stopping = threading.Event()
        self._limit = threads
        self._most = threads + waiting
        self._jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._unfinished = 0

    @property
    def is_idle(self) -> bool:
        return self._unfinished == 0

    async def run(self, work: Callable[[], T]) -> T:
        """The result of the work, in a thread. ``SERVER_BUSY`` when too much is waiting."""
        loop = asyncio.get_running_loop()
        result: asyncio.Future[T] = loop.create_future()

        def job() -> None:
            try:
                value = work()
            except BaseException as e:  # noqa: BLE001 - raised where the result is awaited
                self._finish(loop, result.set_exception, result, e)
            else:
                self._finish(loop, result.set_result, result, value)

        self._submit(job)
        return await result

    def _submit(self, job: Callable[[], None]) -> None:
        with self._lock:
            if self._unfinished >= self._most:
                raise ClawError(
                    "SERVER_BUSY", f"{self._unfinished} calls are running or waiting", operation="serve"
                )
            self._unfinished += 1
            if self._unfinished > self._threads and self._threads < self._limit:
                self._threads += 1
                threading.Thread(target=self._work, daemon=True, name=f"serve-{self._threads}").start()
        self._jobs.put(job)

    def _work(self) -> None:
        while True:
            self._jobs.get()()

    def _finish(
        self,
        loop: asyncio.AbstractEventLoop,
        settle: Callable[[Any], None],
        result: "asyncio.Future[Any]",
        value: Any,
    ) -> None:
        with self._lock:
            self._unfinished -= 1
        with suppress(RuntimeError):  # the loop is closed: the server has stopped
            loop.call_soon_threadsafe(lambda: None if result.done() else settle(value))

    async def drain(self, seconds: float) -> bool:
        """Wait until nothing runs, but not longer than these seconds. Whether nothing runs."""
        deadline = Deadline(seconds)
        while not self.is_idle and not deadline.is_over:  # noqa: ASYNC110 - threads finish the work
            await asyncio.sleep(_POLL_SECONDS)
        return self.is_idle
