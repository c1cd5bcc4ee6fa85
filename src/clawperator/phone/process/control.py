"""The control door: a word, a line of JSON, an answer. It opens even when adb's doors are made to fail.

It listens on loopback, and takes only requests with the word that is in the phone's own folder.
"""

import hmac
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Struct

from clawperator._home import PhoneRecord
from clawperator._typed import decode
from clawperator.errors import ClawError
from clawperator.phone.adb.listener import Listener

_LONGEST_REQUEST = 64 * 1024
_LONGEST_ANSWER = 64 * 1024 * 1024
_READ_SECONDS = 10.0
ANSWER_SECONDS = 30.0
_MOST_CONNECTIONS = 16

Handler = Callable[[str, dict[str, Any]], Any]


class Request(Struct, frozen=True, forbid_unknown_fields=True):
    token: str
    command: str
    arguments: dict[str, Any] = {}


class ControlDoor:
    """Answers requests with what ``handle`` returns, or the ``ClawError`` it raises."""

    def __init__(self, token: str, handle: Handler) -> None:
        self._token = token
        self._handle = handle
        self._listener = Listener(self._serve, _MOST_CONNECTIONS, "control", evict_silent=True)

    def start(self, host: str, port: int = 0) -> int:
        return self._listener.start(host, port)

    def stop(self) -> None:
        self._listener.stop()

    def _serve(self, connection: socket.socket) -> None:
        line = _read_line(connection, _LONGEST_REQUEST, _READ_SECONDS)
        connection.settimeout(_READ_SECONDS)
        self._listener.mark_active(connection)
        try:
            request = decode(line, Request)
        except msgspec.DecodeError:
            return
        if not hmac.compare_digest(request.token.encode(), self._token.encode()):
            return
        try:
            answer = {"ok": True, "answer": self._handle(request.command, request.arguments)}
        except ClawError as e:
            answer = {"ok": False, "error": e.document()}
        with suppress(OSError):
            connection.sendall(msgspec.json.encode(answer) + b"\n")


def ask(record: PhoneRecord, command: str, *, within: float = ANSWER_SECONDS, **arguments: Any) -> Any:
    """What a running phone answers. ``PHONE_NOT_ANSWERING`` when it does not, in so many seconds."""
    request = Request(record.token, command, arguments)
    try:
        with socket.create_connection((record.host, record.control_port), _READ_SECONDS) as connection:
            connection.sendall(msgspec.json.encode(request) + b"\n")
            answer = msgspec.json.decode(_read_line(connection, _LONGEST_ANSWER, within))
    except (OSError, msgspec.DecodeError) as e:
        raise ClawError(
            "PHONE_NOT_ANSWERING",
            f"the phone {record.serial} does not answer: {e}",
            hint=f"Stop it with 'clawperator phone stop {record.serial}' and start it again.",
            operation=command,
            target=record.serial,
        ) from e
    if not answer.get("ok"):
        raise ClawError.from_document(answer["error"])
    return answer["answer"]


def _read_line(connection: socket.socket, most: int, within: float) -> bytes:
    deadline = time.monotonic() + within
    parts: list[bytes] = []
    size = 0
    while size <= most:
        connection.settimeout(max(deadline - time.monotonic(), 0.001))
        part = connection.recv(65_536)
        if not part:
            break
        parts.append(part)
        size += len(part)
        if part.endswith(b"\n"):
            break
    return b"".join(parts)
