"""One call of a route: its thread, the policy and the folder in force, and what handlers share."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from msgspec import UNSET, Struct, UnsetType

from clawperator._base.deadline import Deadline, limited
from clawperator.agent.cancellation import TurnDeadline
from clawperator.agent.confinement import Use, WorkingFolder, confine, confining
from clawperator.errors import ClawError
from clawperator.policy.gate import PolicyGate, enforcing
from clawperator.serve.access import ServerAccess
from clawperator.serve.http.sse import EventHub
from clawperator.serve.page.live_recordings import LiveRecordings
from clawperator.serve.page.watched_screens import WatchedScreens

T = TypeVar("T")
_MOST_THREADS = 32
_MOST_WAITING = 128
_POLL_SECONDS = 0.02


class Workers:
    """A limited number of threads. The process does not wait for work that does not stop in time.

    Work has deadlines of its own, and goes on when its client disconnects: what an execution does on a device
    must not depend on a connection. ``stopping`` is set when running work should end.
    """

    def __init__(self) -> None:
        self.stopping = threading.Event()
        self._pool = ThreadPoolExecutor(_MOST_THREADS, "serve")
        self._lock = threading.Lock()
        self._unfinished = 0

    @property
    def is_idle(self) -> bool:
        return self._unfinished == 0

    async def run(self, work: Callable[[], T]) -> T:
        """The result of the work, in a thread. ``SERVER_BUSY`` when too much is waiting."""
        with self._lock:
            if self._unfinished >= _MOST_THREADS + _MOST_WAITING:
                message = f"{self._unfinished} calls are running or waiting"
                raise ClawError("SERVER_BUSY", message, operation="serve")
            self._unfinished += 1
        running = self._pool.submit(work)
        running.add_done_callback(self._count)
        return await asyncio.wrap_future(running)

    def _count(self, _: object) -> None:
        with self._lock:
            self._unfinished -= 1

    async def drain(self, seconds: float) -> None:
        """Wait until nothing runs, but not longer than these seconds."""
        deadline = Deadline(seconds)
        while not self.is_idle and not deadline.is_over:  # noqa: ASYNC110 - threads finish the work
            await asyncio.sleep(_POLL_SECONDS)


class Services(Struct, frozen=True):
    """What the calls of a server share."""

    access: ServerAccess
    events: EventHub
    workers: Workers
    screens: WatchedScreens
    recordings: LiveRecordings

    @property
    def folder(self) -> WorkingFolder:
        return self.access.options.working_folder


class HttpCall(Struct, frozen=True):
    """One call. ``deadline`` ends with the time of the route, or when the server stops.

    ``turn`` is the time of a request that only reads, and whose turn has come: it may wait for the device.
    """

    services: Services
    deadline: TurnDeadline
    turn: Deadline | None = None

    @property
    def access(self) -> ServerAccess:
        return self.services.access

    def is_stopping(self) -> bool:
        return self.services.workers.stopping.is_set()

    def serial(self, given: str | UnsetType) -> str | None:
        """The device of the request, or the one that the server was started with."""
        return self.access.options.device if given is UNSET else given

    def package(self, given: str | UnsetType) -> str | None:
        """The Operator package: of the request, of the server, or of the settings; None when none names one."""
        from clawperator.device.settings import named_operator

        return named_operator(self.access.options.operator_package if given is UNSET else given)

    def path(self, path: str, operation: str, use: Use) -> str:
        """A path that the client named, resolved. ``PERMISSION_DENIED`` outside the folder of the server."""
        return confine(self.services.folder, path, operation, use)


def perform(
    services: Services,
    request: Struct,
    work: Callable[[Any, HttpCall], T],
    seconds: float,
    *,
    turn: Deadline | None = None,
) -> T:
    """Run the work of a route in this thread: under the policy, in the folder, and within its time."""
    call = HttpCall(services, TurnDeadline(seconds), turn)
    with enforcing(PolicyGate(services.access.policy)), confining(services.folder), limited(seconds):
        return work(request, call)
