"""Loopback listeners: each connection is served in a thread of a bounded pool."""

import errno
import os
import queue
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress

STOP_SECONDS = 5.0

_BACKLOG = 128
_FULL_SECONDS = 0.05  # the wait when the system is out of descriptors
_TRANSIENT_ERRORS = (errno.ECONNABORTED, errno.EINTR)
# Where shutting down a listening socket does not end a waiting accept, this timeout does.
_ACCEPT_SECONDS = 2.0
_IDLE_SECONDS = 10.0
# How long a new connection waits for the thread of an evicted one, and how often it looks.
_EVICTED_SECONDS = 5.0
_RETRY_SECONDS = 0.005

Task = Callable[[], None]


class WorkerPool:
    """Threads that run tasks, at most ``limit`` at once. An idle thread ends after a while."""

    def __init__(self, limit: int, name: str) -> None:
        self._limit = limit
        self._name = name
        self._tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads: set[threading.Thread] = set()
        self._idle = 0  # waiting threads that no queued task is meant for
        self._stopped = False

    def submit(self, task: Task) -> bool:
        """Run the task in a thread; False, and nothing runs, when all are busy."""
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
        """Take no more tasks and wait for the running ones; False when some did not end in time."""
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
        return self._tasks.get()  # submit() counted on this thread: a task is in the queue


class Listener:
    """A loopback port. ``serve`` gets each connection, owns it until it returns, and need not close it.

    With ``evict_silent``, connections that have not been marked as active are closed, the oldest first, when
    the limit is reached. Without it, connections beyond the limit are closed.
    """

    def __init__(
        self, serve: Callable[[socket.socket], None], limit: int, name: str, *, evict_silent: bool = False
    ) -> None:
        self._serve = serve
        self._limit = limit
        self._name = name
        # The threads of evicted connections end soon, but not before the next connections need one.
        self._workers = WorkerPool(2 * limit if evict_silent else limit, name)
        self._lock = threading.Lock()
        self._evict_silent = evict_silent
        self._live: set[socket.socket] = set()
        self._silent: dict[socket.socket, None] = {}  # the oldest first
        self._socket: socket.socket | None = None
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()

    def start(self, host: str, port: int) -> int:
        """Listen and return the port; 0 asks for any free one. ``OSError`` when it cannot be bound."""
        if not _is_loopback(host):
            # Clients need no key here, so only this machine may connect.
            raise OSError(errno.EADDRNOTAVAIL, f"{os.strerror(errno.EADDRNOTAVAIL)}: {host} is not loopback")
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, port), family=family, backlog=_BACKLOG)
        listening.settimeout(_ACCEPT_SECONDS)
        self._socket = listening
        self._thread = threading.Thread(target=self._accept, args=(listening,), name=self._name, daemon=True)
        self._thread.start()
        bound: int = listening.getsockname()[1]
        return bound

    def mark_active(self, sock: socket.socket) -> None:
        """The client has made a valid request: its connection is not evicted any more."""
        with self._lock:
            self._silent.pop(sock, None)

    def disconnect(self) -> None:
        """End every connection; new ones are accepted."""
        with self._lock:
            for sock in self._live:
                shut_down(sock)

    def stop(self, seconds: float = STOP_SECONDS) -> bool:
        """Stop listening, end every connection and wait for their threads; False when some did not end in time."""
        deadline = time.monotonic() + seconds
        self._stopped.set()
        if self._socket is not None and self._thread is not None:
            shut_down(self._socket)
            self._thread.join(seconds)
            self._socket.close()
        self.disconnect()
        return self._workers.stop(max(deadline - time.monotonic(), 0.0))

    def _accept(self, listening: socket.socket) -> None:
        while not self._stopped.is_set():
            try:
                sock, _ = listening.accept()
            except TimeoutError:
                continue
            except OSError as e:
                if not self._stopped.is_set() and e.errno not in _TRANSIENT_ERRORS:
                    time.sleep(_FULL_SECONDS)
                continue
            with self._lock:
                if len(self._live) >= self._limit:
                    self._evict_oldest()
                accepted = not self._stopped.is_set() and len(self._live) < self._limit
                if accepted:
                    self._live.add(sock)
                    if self._evict_silent:
                        self._silent[sock] = None
            if not accepted or not self._start(lambda sock=sock: self._run(sock)):  # type: ignore[misc]
                self._close(sock)

    def _start(self, task: Task) -> bool:
        """Run a task in a thread. The threads of evicted connections are about to end, so they are waited for."""
        deadline = time.monotonic() + _EVICTED_SECONDS
        while not self._workers.submit(task):
            if not self._evict_silent or self._stopped.is_set() or time.monotonic() > deadline:
                return False
            time.sleep(_RETRY_SECONDS)
        return True

    def _evict_oldest(self) -> None:
        """Close the connection that has been silent for longest."""
        for sock in list(self._silent)[:1]:
            shut_down(sock)
            del self._silent[sock]
            self._live.discard(sock)

    def _run(self, sock: socket.socket) -> None:
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            self._serve(sock)
        except OSError:
            pass  # the peer is gone
        finally:
            self._close(sock)

    def _close(self, sock: socket.socket) -> None:
        with self._lock:
            self._live.discard(sock)
            self._silent.pop(sock, None)
            sock.close()


def _is_loopback(host: str) -> bool:
    if host in {"localhost", "::1"}:
        return True
    try:
        return socket.inet_pton(socket.AF_INET, host)[0] == 127
    except OSError:
        return False


def shut_down(sock: socket.socket) -> None:
    with suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
