"""Progress as it happens: a line of JSON each, with the call's correlation id and a sequence from 1.

Prompts and what is typed are not in it: a stream may be read by others than those who may read the session.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from clawperator._files import why
from clawperator._text import encodable

if TYPE_CHECKING:
    from clawperator.agent.redaction import Redactor

Sink = Callable[[bytes], None]

_LONGEST_TEXT = 4_096


class EventStream:
    """Writes events to a sink, if there is one. A sink that breaks is told in ``warnings`` and fails nothing.

    Safe to use from several threads; lines never mix and the sequence has no gaps.
    """

    def __init__(self, correlation_id: str, sink: Sink | None = None) -> None:
        self.correlation_id = correlation_id
        self.warnings: list[str] = []
        self._sink = sink
        self._lock = threading.Lock()
        self._sequence = 0
        self._last = time.monotonic()
        self._phase: Mapping[str, Any] = {"phase": "starting"}
        self._redact: Redactor | None = None

    def emit(self, event: str, **fields: Any) -> None:
        """Write an event. Fields that are None are left out."""
        if self._sink is None:
            return
        now = time.time()
        with self._lock:
            self._sequence += 1
            line = {
                "event": event,
                "seq": self._sequence,
                "timestamp_ms": int(now * 1000),
                "correlation_id": self.correlation_id,
                **{name: self._tidy(value) for name, value in fields.items() if value is not None},
            }
            self._last = time.monotonic()
            try:
                self._sink(msgspec.json.encode(line) + b"\n")
            except (OSError, ValueError) as e:
                self._sink = None
                self.warnings.append(f"events stopped after {self._sequence - 1}: {why(e)}")

    def _tidy(self, value: Any) -> Any:
        if self._redact is None:
            from clawperator.agent.redaction import Redactor

            self._redact = Redactor()
        value = encodable(self._redact.value(value))
        if isinstance(value, str) and len(value) > _LONGEST_TEXT:
            return value[:_LONGEST_TEXT] + "…"
        return value

    def enter(self, phase: str, **fields: Any) -> None:
        """From now on a heartbeat says that this is going on."""
        self._phase = {"phase": phase, **fields}

    @contextmanager
    def heartbeat(self, seconds: float) -> Iterator[None]:
        """While the block runs, something is written at least this often."""
        if self._sink is None or seconds <= 0:
            yield
            return
        over = threading.Event()
        started = time.monotonic()

        def beat() -> None:
            while not over.wait(max(self._last + seconds - time.monotonic(), 0.01)):
                if time.monotonic() - self._last >= seconds:
                    elapsed = round((time.monotonic() - started) * 1000)
                    self.emit("heartbeat", elapsed_ms=elapsed, **self._phase)

        threading.Thread(target=beat, daemon=True, name="heartbeat").start()
        try:
            yield
        finally:
            over.set()
