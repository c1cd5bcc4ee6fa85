"""Turns of requests that only read a device, so that clients can read one device together."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.types import Receive

from clawperator.serve.http.requests import while_connected

_MOST_WAITING = 16


class ReadTurns:
    """One turn at a time for each device, in the order of the requests. Used by the event loop only.

    Requests wait here and not in threads, which other devices need. A client that disconnects while it waits
    leaves the queue; one whose turn has come keeps it, as every call goes on without its client.
    """

    def __init__(self) -> None:
        self._locks: dict[str, asyncio.Lock] = {}
        self._requests: Counter[str] = Counter()

    def waiting(self, device: str) -> int:
        return max(0, self._requests[device] - 1)

    @asynccontextmanager
    async def turn(self, device: str, seconds: float, receive: Receive) -> AsyncIterator[bool]:
        """Wait for the turn while the client is connected. False when it does not come, or too many wait."""
        if self.waiting(device) >= _MOST_WAITING:
            yield False
            return
        lock = self._locks.setdefault(device, asyncio.Lock())
        self._requests[device] += 1
        has_turn = False
        try:
            has_turn = await while_connected(receive, _acquire(lock, seconds))
            yield has_turn
        finally:
            if has_turn:
                lock.release()
            self._requests[device] -= 1
            if not self._requests[device]:
                del self._requests[device], self._locks[device]


async def _acquire(lock: asyncio.Lock, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            return await lock.acquire()
    except TimeoutError:
        return False
