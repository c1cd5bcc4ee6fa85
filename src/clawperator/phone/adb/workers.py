"""A bounded number of threads, used again and again."""

import queue
import threading
import time
from collections.abc import Callable

_IDLE_SECONDS = 10.0

Task = Callable[[], None]


class Workers:
    """Threads that do tasks as they come, at most ``limit`` at once. An idle thread goes away after a while."""

    def __init__(self, limit: int, name: str) -> None:
        self._limit = limit
        self._name = name
        self._tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads: set[threading.Thread] = set()
        self._idle = 0  # threads that wait and that no task is meant for yet
        self._stopped = False

    def submit(self, task: Task) -> bool:
        """Do the task in a thread of its own; False when all are busy, and nothing is done."""
        with self._lock:
            if self._stopped:
                return False
            if self._idle:
                self._idle -= 1
                self._tasks.put(task)
                return True
            if len(self._threads) >= self._limit:
                return False
            thread = threading.Thread(target=self._work, args=(task,), name=self._name, daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the system has no thread left
                return False
            self._threads.add(thread)
            return True

    def stop(self, seconds: float) -> bool:
        """Take no more tasks and wait for those under way; False when some did not end in time."""
        deadline = time.monotonic() + seconds
        with self._lock:
            self._stopped = True
            threads = self._threads.copy()
            for _ in range(self._idle):
                self._tasks.put(None)
            self._idle = 0
        for thread in threads:
            thread.join(max(deadline - time.monotonic(), 0.0))
        return not any(thread.is_alive() for thread in threads)

    def _work(self, first: Task) -> None:
        task: Task | None = first
        try:
            while task is not None:
                task()
                task = self._next()
        finally:
            with self._lock:
                self._threads.discard(threading.current_thread())

    def _next(self) -> Task | None:
        with self._lock:
            if self._stopped:
                return None
            self._idle += 1
        try:
            return self._tasks.get(timeout=_IDLE_SECONDS)
        except queue.Empty:
            with self._lock:
                if self._idle:
                    self._idle -= 1
                    return None
        return self._tasks.get()  # somebody has just counted on this thread: a task is in the queue
