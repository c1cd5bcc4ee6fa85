"""The Operator's recorder: writes accessibility events as lines of a recording on the phone.

A line is one unbuffered write, so a killed phone loses at most the event it was writing. An event that cannot be
written is left out and counted: its ``seq`` is missing from the file, and ``stop`` reports it. Android delivers
only the last of several equal events within 100 ms; here every event is recorded, because scripts type faster than
that.
"""

import threading
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any, BinaryIO

import msgspec
from msgspec.structs import replace

from clawperator._base.files import why
from clawperator._base.text import trim
from clawperator.contract.action_params import SESSION_ID
from clawperator.contract.limits import MAX_ID_LENGTH, MAX_RECORDING_LINE_BYTES, RECORDING_SCHEMA_VERSION
from clawperator.contract.wire import OPERATOR_PACKAGES, recordings_folder
from clawperator.engine.driver import RecordingInfo
from clawperator.errors import ClawError
from clawperator.phone.core.events import AccessibilityEvent
from clawperator.phone.log.buffer import Priority
from clawperator.phone.storage.filesystem import Storage
from clawperator.recording.masking import is_hint, mask_screen, mask_text
from clawperator.ui.node import NOWHERE

_WITH_SNAPSHOT = ("window_state_changed", "view_clicked", "key_back")
# A seeded phone generates the same names after each start; files of earlier sessions may use them.
_NAME_ATTEMPTS = 100

Snapshot = Callable[[], str | None]


class _Session(msgspec.Struct):
    """An active recording. ``size`` is the end of its last complete line, ``failure`` why a line was left out."""

    id: str
    path: str
    file: BinaryIO
    size: int = 0
    seq: int = 0
    written: int = 0
    failure: str = ""


class Recorder:
    """Records one session at a time. Every method may be called from any thread.

    ``write_log`` receives a priority and a message for the phone's log.
    """

    def __init__(
        self,
        storage: Storage,
        now_ms: Callable[[], int],
        random: Random,
        operator_package: str,
        write_log: Callable[[Priority, str], None] = lambda _priority, _message: None,
    ) -> None:
        self._storage = storage
        self._now_ms = now_ms
        self._random = random
        self._package = operator_package
        self._write_log = write_log
        self._folder = recordings_folder(operator_package)
        self._lock = threading.Lock()
        self._session: _Session | None = None

    @property
    def session_id(self) -> str | None:
        """The id of the active session."""
        session = self._session
        return session.id if session else None

    def start(self, session_id: str | None = None) -> RecordingInfo:
        """Start a session in a new file. An existing file is never changed."""
        with self._lock:
            if self._session is not None:
                hint = f"Run '{self._command('stop', self._session.id)}' before starting a new recording."
                message = "Recording is already in progress"
                raise _refusal("RECORDING_ALREADY_IN_PROGRESS", message, self._session, hint)
            if session_id is not None and not (
                len(session_id) <= MAX_ID_LENGTH and SESSION_ID.fullmatch(session_id)
            ):
                message = f"invalid session id {session_id!a}: only letters, digits, _ and - are allowed"
                hint = f"Use 1 to {MAX_ID_LENGTH} such characters, or omit the id."
                raise ClawError("RECORDING_START_FAILED", message, hint=hint)
            self._session = session = self._open(session_id)
        self._write_log("I", f"SESSION_STARTED sessionId={session.id} filePath={session.path}")
        return RecordingInfo(session.id, session.path)

    def stop(self, session_id: str | None = None) -> RecordingInfo:
        """Finish the active session, and write its id to the file ``latest``.

        ``latest`` names finished sessions only, so that a pull without an id never gets an incomplete one. After a
        crash the file exists under its own id. A session that lost events, or whose id could not be written, is
        finished as well; the error reports what is missing.
        """
        with self._lock:
            session = self._session
            if session is None:
                hint = "Run 'clawperator recording start' to start one."
                raise ClawError("RECORDING_NOT_IN_PROGRESS", "Recording is not in progress", hint=hint)
            if session_id is not None and session_id != session.id:
                self._write_log("W", f"SESSION_ID_MISMATCH requested={session_id!a} active={session.id}")
                hint = f"Run '{self._command('stop', session.id)}' to stop that one."
                message = "another session is active; it was not stopped"
                raise _refusal("RECORDING_NOT_IN_PROGRESS", message, session, hint)
            self._session = None
            problems = self._finish(session)
        self._write_log("I", f"SESSION_STOPPED sessionId={session.id} eventCount={session.written}")
        lost = session.seq - session.written
        if lost:
            problems.append(f"{lost} of {session.seq} events could not be written: {session.failure}")
        if problems:
            hint = f"Run '{self._command('pull', session.id)}' to fetch what was written."
            counts = {"eventCount": session.written, "droppedCount": lost}
            raise _refusal("RECORDING_STOP_FAILED", "; ".join(problems), session, hint, **counts)
        return RecordingInfo(session.id, session.path, session.written)

    def abandon(self) -> None:
        """End the session like a crash: the file stays as it is, and ``latest`` is not updated."""
        with self._lock:
            session, self._session = self._session, None
        if session is not None:
            with suppress(OSError):
                session.file.close()

    def on_event(self, event: AccessibilityEvent, snapshot: Snapshot) -> None:
        """Record an event, if a session is active and the event is not the Operator's own.

        The snapshot is taken only for kinds of event that have one.
        """
        if self._session is None or event.package in OPERATOR_PACKAGES:
            return
        xml = snapshot() if event.kind in _WITH_SNAPSHOT else None
        if xml is None and event.kind in _WITH_SNAPSHOT:
            self._write_log("W", f"SNAPSHOT_NULL event={event.kind}")
        self.write({"snapshot": None if xml is None else mask_screen(xml), **describe(event)})

    def write(self, event: dict[str, Any]) -> None:
        """Write one event, with time and sequence number added. Without a session it is dropped.

        A snapshot that would make the line longer than the reader's limit is left out.
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
                self._write_log("E", f"QUEUE_DRAIN_FAILED seq={session.seq - 1} {session.failure}")

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
        name = session_id or self._generate_name()
        path = f"{self._folder}/{name}.ndjson"
        try:
            return _Session(name, path, self._storage.open(path, "xb"))
        except FileExistsError:
            message = f"a recording named {name} already exists"
            hint = f"Use another id, or run '{self._command('pull', name)}' to fetch that recording."
            details = {"sessionId": name, "filePath": path}
            raise ClawError("RECORDING_START_FAILED", message, hint=hint, details=details) from None

    def _generate_name(self) -> str:
        name = ""
        for _ in range(_NAME_ATTEMPTS):
            name = f"record-{self._now_ms()}-{self._random.getrandbits(32):08x}"
            if not self._storage.exists(f"{self._folder}/{name}.ndjson"):
                break
        return name

    def _finish(self, session: _Session) -> list[str]:
        """Close the file and update ``latest``. Returns the problems."""
        try:
            session.file.close()
            self._storage.stat(session.path)
        except OSError as e:
            return [f"the recording's file is missing: {why(e)}"]
        try:
            self._storage.write(f"{self._folder}/latest", session.id.encode())
        except OSError as e:
            return [f"cannot write 'latest': {why(e)}"]
        return []

    def _unavailable(self, reason: str) -> ClawError:
        message = f"cannot write to the phone's recording folder: {reason}"
        hint, details = "Free storage on the phone, then start again.", {"folder": self._folder}
        return ClawError("RECORDING_STORAGE_UNAVAILABLE", message, hint=hint, details=details)

    def _command(self, verb: str, session_id: str) -> str:
        """The host command for a session of this Operator."""
        package = f" --operator-package {self._package}" if self._package != OPERATOR_PACKAGES[0] else ""
        return f"clawperator recording {verb} --session-id {session_id}{package}"


def describe(event: AccessibilityEvent) -> dict[str, Any]:
    """The fields of an event in a recording, in order, without time, number and snapshot; passwords masked."""
    if event.is_password and event.text and (event.kind == "view_text_changed" or not is_hint(event.text)):
        event = replace(event, text=mask_text(event.text))
    package = {"packageName": _clean(event.package) or ""}
    match event.kind:
        case "window_state_changed":
            title = _clean(event.title) or _clean(event.content_desc) or _clean(event.text)
            return {**package, "className": _clean(event.class_name), "title": title, "type": "window_change"}
        case "view_clicked":
            bounds = NOWHERE if event.bounds is None or event.bounds.is_empty else event.bounds
            return {
                **package,
                "resourceId": _clean(event.resource_id),
                "text": _clean(event.text),
                "contentDesc": _clean(event.content_desc),
                "bounds": bounds._asdict(),
                "type": "click",
            }
        case "view_scrolled":
            x, y, max_x, max_y = event.scroll or (0, 0, 0, 0)
            return {
                **package,
                "resourceId": None,
                "scrollX": x,
                "scrollY": y,
                "maxScrollX": max_x,
                "maxScrollY": max_y,
                "type": "scroll",
            }
        case "view_text_changed":
            text = event.text if _clean(event.text) else ""
            return {**package, "resourceId": None, "text": text, "type": "text_change"}
        case "key_back":
            return {"key": "back", "type": "press_key"}


def _clean(text: str | None) -> str | None:
    """The trimmed text; None when it is empty."""
    return trim(text) or None if text is not None else None


def _encode(record: dict[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(record) + b"\n"
    except UnicodeEncodeError:  # lone surrogates, or undecodable bytes
        encodable = {
            k: v.encode("utf-8", "replace").decode() if isinstance(v, str) else v for k, v in record.items()
        }
        return msgspec.json.encode(encodable) + b"\n"


def _write_line(session: _Session, line: bytes) -> bool:
    """Append a line. A partial line, left by a full disk, is removed."""
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


def _refusal(code: str, message: str, session: _Session, hint: str, **counts: int) -> ClawError:
    details = {"sessionId": session.id, "filePath": session.path, **counts}
    return ClawError(code, message, hint=hint, details=details)
