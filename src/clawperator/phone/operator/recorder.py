"""The Operator's recorder: accessibility events become lines of a recording on the phone.

A line is written whole, with one unbuffered write, so a phone that is killed loses at most the event it was
writing. An event the storage does not take is left out whole and counted: its ``seq`` is missing from the
file, and ``stop`` tells. Android delivers only the last of several like events within 100 ms; here every
event is recorded, because a script types faster than that and each change of a text counts.
"""

import threading
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any, BinaryIO

import msgspec

from clawperator._files import why
from clawperator._text import trim
from clawperator.contract.actions import SESSION_ID
from clawperator.contract.limits import MAX_ID_LENGTH, MAX_RECORDING_LINE_BYTES, RECORDING_SCHEMA_VERSION
from clawperator.contract.wire import OPERATOR_PACKAGES, recordings_folder
from clawperator.engine.driver import Recorded
from clawperator.errors import ClawError
from clawperator.phone.core.events import AccessibilityEvent
from clawperator.phone.log.buffer import Priority
from clawperator.phone.storage.filesystem import Storage
from clawperator.ui.node import NOWHERE

_WITH_SNAPSHOT = ("window_state_changed", "view_clicked", "key_back")
# A seeded phone draws the same names again after each start; so many sessions may have them already.
_NAME_ATTEMPTS = 100

Snapshot = Callable[[], str | None]


class _Session(msgspec.Struct):
    """A recording that runs. ``size`` is where its last whole line ends, ``failure`` why a line was left out."""

    id: str
    path: str
    file: BinaryIO
    size: int = 0
    seq: int = 0
    written: int = 0
    failure: str = ""


class Recorder:
    """Records one session at a time. Every method may be called from any thread.

    ``say`` gets a priority and a message for the phone's log.
    """

    def __init__(
        self,
        storage: Storage,
        now_ms: Callable[[], int],
        random: Random,
        operator_package: str,
        say: Callable[[Priority, str], None] = lambda _priority, _message: None,
    ) -> None:
        self._storage = storage
        self._now_ms = now_ms
        self._random = random
        self._package = operator_package
        self._say = say
        self._folder = recordings_folder(operator_package)
        self._lock = threading.Lock()
        self._session: _Session | None = None

    @property
    def session_id(self) -> str | None:
        """The session that runs."""
        session = self._session
        return session.id if session else None

    def start(self, session_id: str | None = None) -> Recorded:
        """Begin a session in a file of its own. A file that is there already is never touched."""
        with self._lock:
            if self._session is not None:
                raise _refusal(
                    "RECORDING_ALREADY_IN_PROGRESS",
                    "Recording is already in progress",
                    self._session,
                    f"Run '{self._command('stop', self._session.id)}' before starting a new recording.",
                )
            if session_id is not None and not (
                len(session_id) <= MAX_ID_LENGTH and SESSION_ID.fullmatch(session_id)
            ):
                raise ClawError(
                    "RECORDING_START_FAILED",
                    "The session id may hold only letters, digits, _ and -",
                    hint=f"Choose an id of 1 to {MAX_ID_LENGTH} such characters, or leave it out.",
                )
            self._session = session = self._open(session_id)
        self._say("I", f"SESSION_STARTED sessionId={session.id} filePath={session.path}")
        return Recorded(session.id, session.path)

    def stop(self, session_id: str | None = None) -> Recorded:
        """Finish the session that runs, and point ``latest`` to it.

        The pointer names finished sessions only: whoever pulls without an id must not get half of one that
        runs. After a crash the file is there, under its own id. A session that lost events, or could not
        be pointed to, is finished too; the error says what is missing.
        """
        with self._lock:
            session = self._session
            if session is None:
                raise ClawError(
                    "RECORDING_NOT_IN_PROGRESS",
                    "Recording is not in progress",
                    hint="Start one with 'clawperator recording start'.",
                )
            if session_id is not None and session_id != session.id:
                self._say("W", f"SESSION_ID_MISMATCH requested={session_id!a} active={session.id}")
                raise _refusal(
                    "RECORDING_NOT_IN_PROGRESS",
                    "Another session is being recorded, and goes on",
                    session,
                    f"Run '{self._command('stop', session.id)}' to stop that one.",
                )
            self._session = None
            troubles = self._finish(session)
        self._say("I", f"SESSION_STOPPED sessionId={session.id} eventCount={session.written}")
        lost = session.seq - session.written
        if lost:
            troubles.append(f"{lost} of {session.seq} events could not be written: {session.failure}")
        if troubles:
            raise ClawError(
                "RECORDING_STOP_FAILED",
                "; ".join(troubles),
                hint=f"'{self._command('pull', session.id)}' fetches what was written, if it is still there.",
                details={
                    "sessionId": session.id,
                    "filePath": session.path,
                    "eventCount": session.written,
                    "droppedCount": lost,
                },
            )
        return Recorded(session.id, session.path, session.written)

    def abandon(self) -> None:
        """End the session as a crash would: what is written stays, and ``latest`` does not learn of it."""
        with self._lock:
            session, self._session = self._session, None
        if session is not None:
            with suppress(OSError):
                session.file.close()

    def on_event(self, event: AccessibilityEvent, snapshot: Snapshot) -> None:
        """Record an event, if a session runs and it is none of the Operator's own.

        The snapshot is taken only for the kinds of event that carry one.
        """
        if self._session is None or event.package in OPERATOR_PACKAGES:
            return
        xml = snapshot() if event.kind in _WITH_SNAPSHOT else None
        if xml is None and event.kind in _WITH_SNAPSHOT:
            self._say("W", f"SNAPSHOT_NULL event={event.kind}")
        self.write({"snapshot": xml, **describe(event)})

    def write(self, event: dict[str, Any]) -> None:
        """Write one event after the time and the number it gets here. Without a session it is dropped.

        A snapshot that would make the line longer than a reader takes is left out.
        """
        with self._lock:
            session = self._session
            if session is None:
                return
            numbered = {"ts": self._now_ms(), "seq": session.seq, **event}
            line = _encode(numbered)
            if len(line) > MAX_RECORDING_LINE_BYTES and numbered.get("snapshot") is not None:
                line = _encode({**numbered, "snapshot": None})
            session.seq += 1
            if _write_line(session, line):
                session.written += 1
            else:
                self._say("E", f"QUEUE_DRAIN_FAILED seq={session.seq - 1} {session.failure}")

    def _open(self, session_id: str | None) -> _Session:
        session: _Session | None = None
        try:
            self._storage.mkdir(self._folder, parents=True)
            session = self._create(session_id)
            header = {
                "type": "recording_header",
                "schemaVersion": RECORDING_SCHEMA_VERSION,
                "sessionId": session.id,
                "startedAt": self._now_ms(),
                "operatorPackage": self._package,
            }
            if not _write_line(session, _encode(header)):
                session.file.close()
                self._storage.remove(session.path)
        except OSError as e:
            raise self._unavailable(why(e)) from None
        if session.failure:
            raise self._unavailable(session.failure)
        return session

    def _create(self, session_id: str | None) -> _Session:
        name = session_id or self._draw_name()
        path = f"{self._folder}/{name}.ndjson"
        try:
            return _Session(name, path, self._storage.open(path, "xb"))
        except FileExistsError:
            raise ClawError(
                "RECORDING_START_FAILED",
                "There is a recording of this name already",
                hint=f"Choose another id; '{self._command('pull', name)}' fetches that one.",
                details={"sessionId": name, "filePath": path},
            ) from None

    def _draw_name(self) -> str:
        name = ""
        for _ in range(_NAME_ATTEMPTS):
            name = f"record-{self._now_ms()}-{self._random.getrandbits(32):08x}"
            if not self._storage.exists(f"{self._folder}/{name}.ndjson"):
                break
        return name

    def _finish(self, session: _Session) -> list[str]:
        """Close the file and write the pointer. What went wrong, if anything did."""
        try:
            session.file.close()
            self._storage.stat(session.path)
        except OSError as e:
            return [f"the recording's file is lost: {why(e)}"]
        try:
            self._storage.write(f"{self._folder}/latest", session.id.encode())
        except OSError as e:
            return [f"'latest' could not be written: {why(e)}"]
        return []

    def _unavailable(self, reason: str) -> ClawError:
        return ClawError(
            "RECORDING_STORAGE_UNAVAILABLE",
            f"The phone's recording folder cannot be written: {reason}",
            hint="Make room on the phone's storage, and start again.",
            details={"folder": self._folder},
        )

    def _command(self, verb: str, session_id: str) -> str:
        """What to run on the host about a session of this Operator."""
        package = f" --operator-package {self._package}" if self._package != OPERATOR_PACKAGES[0] else ""
        return f"clawperator recording {verb} --session-id {session_id}{package}"


def describe(event: AccessibilityEvent) -> dict[str, Any]:
    """What a recording says of an event, without its time, number and snapshot, in the order it is written."""
    package = {"packageName": _clean(event.package) or ""}
    match event.kind:
        case "window_state_changed":
            title = _clean(event.title) or _clean(event.content_desc) or _clean(event.text)
            return {
                **package,
                "className": _clean(event.class_name),
                "title": title,
                "type": "window_change",
            }
        case "view_clicked":
            bounds = NOWHERE if event.bounds is None or event.bounds.is_empty else event.bounds
            return {
                **package,
                "resourceId": _clean(event.resource_id),
                "text": _clean(event.text),
                "contentDesc": _clean(event.content_desc),
                "bounds": bounds,
                "type": "click",
            }
        case "view_scrolled":
            x, y, furthest_x, furthest_y = event.scroll or (0, 0, 0, 0)
            return {
                **package,
                "resourceId": None,
                "scrollX": x,
                "scrollY": y,
                "maxScrollX": furthest_x,
                "maxScrollY": furthest_y,
                "type": "scroll",
            }
        case "view_text_changed":
            text = event.text if _clean(event.text) else ""
            return {**package, "resourceId": None, "text": text, "type": "text_change"}
        case "key_back":
            return {"key": "back", "type": "press_key"}


def _clean(text: str | None) -> str | None:
    """Trimmed, and None when nothing is left."""
    return trim(text) or None if text is not None else None


def _encode(record: dict[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(record) + b"\n"
    except UnicodeEncodeError:  # half a surrogate pair, or bytes that were never text
        sound = {k: v.encode("utf-8", "replace").decode() if isinstance(v, str) else v for k, v in record.items()}
        return msgspec.json.encode(sound) + b"\n"


def _write_line(session: _Session, line: bytes) -> bool:
    """Put a line behind the last whole one. What a full disk left of it is taken away again."""
    if len(line) > MAX_RECORDING_LINE_BYTES:
        session.failure = f"longer than {MAX_RECORDING_LINE_BYTES} bytes"
        return False
    try:
        session.file.seek(session.size)
        session.file.write(line)
    except OSError as e:
        session.failure = why(e)
        with suppress(OSError):
            session.file.truncate(session.size)
        return False
    session.size += len(line)
    return True


def _refusal(code: str, message: str, session: _Session, hint: str) -> ClawError:
    return ClawError(code, message, hint=hint, details={"sessionId": session.id, "filePath": session.path})
