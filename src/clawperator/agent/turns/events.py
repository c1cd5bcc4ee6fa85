"""Progress events: one JSON line each, with the run's correlation id and a sequence from 1; and the run's stages.

Events contain neither prompts nor typed text: a stream may have readers that must not read the session. Secrets
are redacted as in sessions; the text of an answer is held back while it may be the beginning of one.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from clawperator._base.files import why
from clawperator._base.text import encodable

if TYPE_CHECKING:
    from clawperator.agent.redaction import StreamRedactor

Sink = Callable[[bytes], None]

_LONGEST_TEXT = 4_096


class Stage(Struct, frozen=True):
    """A stage of ``claw bootstrap``. ``id`` is its name in events, ``order`` its position from 1."""

    id: str
    label: str
    description: str
    order: int


_COLLECT = "Collect commands, tools, skills, plugins and MCP servers. A broken one is a warning."
_STAGES = (
    ("settings", "Settings", "Read and merge the settings of the user and the folder."),
    ("inventory", "Inventory", _COLLECT),
    ("policy", "Policy", "Combine settings and flags into the policy: allowed, denied and confirmed tools."),
    ("session", "Session", "Create or resume the session and lock it against other writers."),
    ("phone", "Phone", "Note the selected phone. It is resolved when the first tool needs it."),
    ("brain", "Brain", "Select the brain: offline, or a model."),
    ("route", "Routing", "Match the prompt with the inventory, offline, once for all turns."),
    ("turn", "Turn", "Run the brain and its tool calls within policy, deadline and limits; collect evidence."),
    ("commit", "Commit", "Write the turn and its evidence to the session atomically and sync it to disk."),
)
STAGES: tuple[Stage, ...] = tuple(Stage(*row, order) for order, row in enumerate(_STAGES, 1))
NOTE = "Stages run in this order. A turn that does not reach commit is not part of the session."


class EventStream:
    """Writes events to a sink, if there is one. A failing sink becomes a warning; the run continues.

    Thread-safe: lines never mix and the sequence has no gaps.
    """

    def __init__(self, correlation_id: str, sink: Sink | None = None) -> None:
        self.correlation_id = correlation_id
        self.warnings: list[str] = []
        self._sink = sink
        self._lock = threading.Lock()
        self._sequence = 0
        self._last = time.monotonic()
        self._phase: Mapping[str, Any] = {"phase": "starting"}
        self._secrets: set[str] = set()
        self._stream: StreamRedactor | None = None

    def hide(self, secrets: Iterable[str]) -> None:
        """Redact these texts in all later events."""
        with self._lock:
            self._secrets.update(secrets)
            if self._stream is not None:
                from clawperator.agent.redaction import Redactor

                self._stream.redactor = Redactor((*self._stream.redactor.secrets, *self._secrets))

    def emit_text(self, text: str) -> None:
        """Write a piece of the answer, without an end that may be the beginning of a secret."""
        self._emit_answer(lambda stream: stream.add(text))

    def end_text(self) -> None:
        """Write the rest of the answer."""
        self._emit_answer(lambda stream: stream.end())

    def _emit_answer(self, read: "Callable[[StreamRedactor], str]") -> None:
        if self._sink is not None:
            with self._lock:
                shown = read(self._redaction())
            for at in range(0, len(shown), _LONGEST_TEXT):
                self.emit("message_delta", text=shown[at : at + _LONGEST_TEXT])

    def emit(self, event: str, **fields: Any) -> None:
        """Write an event. Fields that are None are omitted."""
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
                **{name: self._redact(value) for name, value in fields.items() if value is not None},
            }
            self._last = time.monotonic()
            try:
                self._sink(msgspec.json.encode(line) + b"\n")
            except (OSError, ValueError) as e:
                self._sink = None
                self.warnings.append(f"events stopped after {self._sequence - 1}: {why(e)}")

    def warn_once(self, message: str) -> None:
        """Add a warning to the run's document, unless it is there."""
        if message not in self.warnings:
            self.warnings.append(message)

    def _redact(self, value: Any) -> Any:
        value = encodable(self._redaction().redactor.value(value))
        if isinstance(value, str) and len(value) > _LONGEST_TEXT:
            return value[:_LONGEST_TEXT] + "…"
        return value

    def _redaction(self) -> "StreamRedactor":
        if self._stream is None:
            from clawperator.agent.redaction import Redactor, StreamRedactor, host_secrets

            self._stream = StreamRedactor(Redactor((*host_secrets(), *self._secrets)))
        return self._stream

    def enter(self, phase: str, **fields: Any) -> None:
        """Set the phase that heartbeats report."""
        self._phase = {"phase": phase, **fields}

    @contextmanager
    def heartbeat(self, seconds: float) -> Iterator[None]:
        """While the block runs, write an event at least this often."""
        if self._sink is None or seconds <= 0:
            yield
            return
        done = threading.Event()
        started = time.monotonic()

        def beat() -> None:
            while not done.wait(max(self._last + seconds - time.monotonic(), 0.01)):
                if time.monotonic() - self._last >= seconds:
                    elapsed = round((time.monotonic() - started) * 1000)
                    self.emit("heartbeat", elapsed_ms=elapsed, **self._phase)

        threading.Thread(target=beat, daemon=True, name="heartbeat").start()
        try:
            yield
        finally:
            done.set()
