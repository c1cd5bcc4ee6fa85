"""Server-sent events: what executions do, for any number of listeners up to a limit.

The last events are kept for clients that reconnect with ``Last-Event-ID``. A client that does not read is
disconnected; others are not affected.
"""

import asyncio
import os
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Struct
from starlette.types import Receive, Send

from clawperator._base.typed import encode_document
from clawperator.device.run.host_log import log_event
from clawperator.errors import ClawError

HEARTBEAT = "heartbeat"
RESULT = "clawperator:result"
EXECUTION = "clawperator:execution"
LOST = "clawperator:lost"
CLOSED = "clawperator:closed"
_HEADERS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
]
_MAX_ID = 64


class EventLimits(Struct, frozen=True):
    """How much is kept for reconnecting clients, and how much may wait for one client."""

    clients: int = 512
    kept_events: int = 1_000
    kept_bytes: int = 16_000_000
    queued_events: int = 1_000
    queued_bytes: int = 24_000_000  # more than is kept: a reconnecting client gets all of that at once
    heartbeat_seconds: float = 15.0
    send_seconds: float = 10.0


class EventClient:
    """The events that wait for one client. Used in the event loop only."""

    def __init__(self, limits: EventLimits) -> None:
        self._limits = limits
        self._waiting: deque[bytes] = deque()
        self._bytes = 0
        self._changed = asyncio.Event()
        self.closed_for: str | None = None

    def add(self, data: bytes) -> None:
        if self.closed_for is not None:
            return
        is_full = self._bytes + len(data) > self._limits.queued_bytes
        if len(self._waiting) >= self._limits.queued_events or (is_full and self._waiting):
            self.close("SLOW_CLIENT")
            return
        self._waiting.append(data)
        self._bytes += len(data)
        self._changed.set()

    def close(self, reason: str) -> None:
        """End after the events that wait; those of a slow client are discarded."""
        self.closed_for = reason
        if reason == "SLOW_CLIENT":
            self._waiting.clear()
        self._changed.set()

    async def next(self, seconds: float) -> bytes:
        """All events that wait; empty when there is none in time, or the client is closed."""
        if not self._waiting and self.closed_for is None:
            self._changed.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._changed.wait()
        data = b"".join(self._waiting)
        self._waiting.clear()
        self._bytes = 0
        return data


class EventHub:
    """Publishes events to all clients, and keeps the last ones. ``publish`` may be called from any thread.

    Event ids are ``<start of the server>-<number>``: after a restart a client learns that events were lost.
    """

    def __init__(self, limits: EventLimits | None = None) -> None:
        self.limits = limits or EventLimits()
        self._epoch = os.urandom(4).hex()
        self._seq = 0
        self._kept: deque[tuple[int, bytes]] = deque()
        self._kept_bytes = 0
        self._clients: set[EventClient] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_closed = False

    @property
    def client_count(self) -> int:
        return len(self._clients)

    def bind(self) -> None:
        """Publish in the running event loop from now on."""
        self._loop = asyncio.get_running_loop()

    def publish(self, documents: Mapping[str, Any]) -> None:
        """Send events to all clients: documents by the names of their events. Dropped before the server runs."""
        encoded = [(event, encode_document(document)) for event, document in documents.items()]
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._publish, encoded)

    def _publish(self, events: list[tuple[str, bytes]]) -> None:
        for event, data in events:
            self._seq += 1
            frame = _frame(event, data, self._id(self._seq))
            self._kept.append((self._seq, frame))
            self._kept_bytes += len(frame)
            while len(self._kept) > self.limits.kept_events or self._kept_bytes > self.limits.kept_bytes:
                self._kept_bytes -= len(self._kept.popleft()[1])
            for client in self._clients:
                client.add(frame)

    def subscribe(self, last_id: str | None) -> EventClient:
        """A new client, with the events after ``last_id`` first. ``SERVER_BUSY`` when there are too many."""
        if self._is_closed:
            raise ClawError("SERVER_STOPPING", "the server is stopping", operation="serve")
        if len(self._clients) >= self.limits.clients:
            message = f"{len(self._clients)} clients read events; there may be no more"
            hint = "Close another client, then connect again."
            raise ClawError("SERVER_BUSY", message, hint=hint, operation="serve")
        client = EventClient(self.limits)
        connected = {"code": "CONNECTED", "message": "connected to the events of this server"}
        client.add(_frame(HEARTBEAT, msgspec.json.encode(connected)))
        if last_id is not None:
            missed = b"".join(self._missed(last_id[:_MAX_ID]))
            if missed:
                client.add(missed)
        self._clients.add(client)
        return client

    def _missed(self, last_id: str) -> Iterator[bytes]:
        """The events after this id, and before them an event that reports lost ones."""
        epoch, _, number = last_id.rpartition("-")
        known = epoch == self._epoch and number.isdecimal() and int(number) <= self._seq
        after = int(number) if known else 0
        oldest = self._kept[0][0] if self._kept else self._seq + 1
        lost = oldest - after - 1
        if not known or lost > 0:
            # After a restart of the server it is not known how many there were.
            count = {"lost": lost} if known else {}
            document = {"code": "EVENTS_LOST", "message": "events were lost since the last one", **count}
            yield _frame(LOST, msgspec.json.encode(document), self._id(oldest - 1))
        yield from (data for seq, data in self._kept if seq > after)

    def close(self) -> None:
        """End all clients with a last event, and accept no more."""
        self._is_closed = True
        for client in self._clients:
            client.close("SERVER_STOPPING")

    def _id(self, seq: int) -> str:
        return f"{self._epoch}-{seq}"

    async def stream(self, client: EventClient, receive: Receive, send: Send) -> None:
        """Send events until the client or the server ends. The client must be subscribed."""
        log_event("serve.sse.client.connected", clients=self.client_count)
        listener = asyncio.ensure_future(_close_when_gone(client, receive))
        try:
            async with asyncio.timeout(self.limits.send_seconds):
                await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
            await self._send_all(client, send)
        except (TimeoutError, OSError) as e:
            log_event("serve.sse.write_failed", level="warn", reason=client.closed_for or type(e).__name__)
        finally:
            listener.cancel()
            self._clients.discard(client)
            reason = client.closed_for or "CLIENT_CLOSED"
            log_event("serve.sse.client.disconnected", clients=self.client_count, reason=reason)

    async def _send_all(self, client: EventClient, send: Send) -> None:
        alive = msgspec.json.encode({"code": "ALIVE", "message": "the server is running"})
        while True:
            data = await client.next(self.limits.heartbeat_seconds)
            if client.closed_for is not None:
                closing = {"code": client.closed_for, "message": _REASONS[client.closed_for]}
                data += _frame(CLOSED, msgspec.json.encode(closing))
            elif not data:
                data = _frame(HEARTBEAT, alive)
            is_last = client.closed_for is not None
            async with asyncio.timeout(self.limits.send_seconds):
                await send({"type": "http.response.body", "body": data, "more_body": not is_last})
            if is_last:
                return


async def _close_when_gone(client: EventClient, receive: Receive) -> None:
    await wait_for_disconnect(receive)
    client.close("CLIENT_CLOSED")


async def wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


_REASONS = {
    "SLOW_CLIENT": "the client did not read its events in time; connect again with Last-Event-ID",
    "SERVER_STOPPING": "the server is stopping",
    "CLIENT_CLOSED": "the client has closed the connection",
}


def _frame(event: str, data: bytes, event_id: str | None = None) -> bytes:
    """One event. JSON on one line has no line end that would split it."""
    head = f"event: {event}\n" if event_id is None else f"event: {event}\nid: {event_id}\n"
    return head.encode() + b"data: " + data + b"\n\n"
