"""The control channel of a simulated phone: one request and one answer, each a line of JSON.

It listens on loopback, accepts only requests with the token from the phone's folder, and works while faults
block adb.
"""

import hmac
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Struct

from clawperator._base.deadline import Deadline
from clawperator._base.home import PhoneRecord
from clawperator._base.text import encodable
from clawperator._base.typed import decode
from clawperator.errors import ClawError
from clawperator.phone.adb.listener import Listener

_MAX_REQUEST = 64 * 1024
_MAX_ANSWER = 64 * 1024 * 1024
_READ_SECONDS = 10.0
ANSWER_SECONDS = 30.0
_MAX_CONNECTIONS = 16

Handler = Callable[[str, dict[str, Any]], Any]


class _Token(Struct, frozen=True):
    token: str


class ControlRequest(Struct, frozen=True, forbid_unknown_fields=True):
    token: str
    command: str
    arguments: dict[str, Any] = {}


class _Answer(Struct, frozen=True):
    """``error`` is the rendered ``ClawError`` of a request that failed."""

    ok: bool
    answer: Any = None
    error: dict[str, Any] = {}


class ControlServer:
    """Answers requests with the result of ``handle``, or with its error.

    A request that cannot be read or has another token gets no answer. Nothing that a client sends is logged.
    """

    def __init__(self, token: str, handle: Handler) -> None:
        self._token = token
        self._handle = handle
        self._listener = Listener(self._serve, _MAX_CONNECTIONS, "control", evict_silent=True)

    def start(self, host: str, port: int = 0) -> int:
        return self._listener.start(host, port)

    def stop(self) -> None:
        self._listener.stop()

    def _serve(self, connection: socket.socket) -> None:
        line = _read_line(connection, _MAX_REQUEST, _READ_SECONDS)
        if len(line) > _MAX_REQUEST:
            return
        connection.settimeout(_READ_SECONDS)
        self._listener.mark_active(connection)
        if self._is_authorized(line):
            with suppress(OSError):
                connection.sendall(msgspec.json.encode(self._answer(line)) + b"\n")

    def _is_authorized(self, line: bytes) -> bool:
        try:
            given = decode(line, _Token).token
        except ValueError:
            return False
        return hmac.compare_digest(given.encode(), self._token.encode())

    def _answer(self, line: bytes) -> _Answer:
        try:
            request = decode(line, ControlRequest)
            return _Answer(ok=True, answer=self._handle(request.command, request.arguments))
        except ClawError as e:
            error = e
        except ValueError as e:
            error = ClawError("USAGE", f"invalid control request: {e}")
        except Exception as e:  # noqa: BLE001 - a defect, or a full disk: the client gets the error, not a log
            error = ClawError("UNKNOWN", f"{type(e).__name__}: {e}")
        return _Answer(ok=False, error=error.document())


def request(record: PhoneRecord, command: str, *, seconds: float = ANSWER_SECONDS, **arguments: Any) -> Any:
    """Send a command to a running phone. ``PHONE_NOT_ANSWERING`` when it does not respond in time."""
    message = msgspec.json.encode(ControlRequest(record.token, command, encodable(arguments)))
    try:
        with socket.create_connection((record.host, record.control_port), _READ_SECONDS) as connection:
            connection.sendall(message + b"\n")
            answer = decode(_read_line(connection, _MAX_ANSWER, seconds), _Answer)
    except (OSError, ValueError) as e:
        serial, problem = record.serial, f"simulated phone {record.serial} does not respond: {e}"
        hint = f"Run 'clawperator phone stop {serial}', then run 'clawperator phone start {serial}'."
        raise ClawError("PHONE_NOT_ANSWERING", problem, hint=hint, operation=command, target=serial) from e
    if not answer.ok:
        raise ClawError.from_document(answer.error)
    return answer.answer


def _read_line(connection: socket.socket, max_bytes: int, seconds: float) -> bytes:
    deadline = Deadline(seconds)
    parts: list[bytes] = []
    size = 0
    while size <= max_bytes:
        connection.settimeout(deadline.left())
        part = connection.recv(65_536)
        if not part:
            break
        parts.append(part)
        size += len(part)
        if part.endswith(b"\n"):
            break
    return b"".join(parts)
