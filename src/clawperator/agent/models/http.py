"""Asking a model's service over HTTP: one request, and its reply event by event.

Every wait is limited and stops when the deadline expires or is cancelled. A request that fails before any part of
its reply was used is repeated, twice at most. Redirects are not followed: the key is for one base_url only.
"""

import time
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPResponse, IncompleteRead
from itertools import chain
from typing import Any, Protocol

from msgspec import Struct

from clawperator import __version__
from clawperator._files import why
from clawperator._text import printable
from clawperator.agent.cancellation import TurnDeadline
from clawperator.agent.foreign_json import read_json
from clawperator.agent.models.config import ModelConfig, base_url_variable, key_variable
from clawperator.agent.models.wire import CancellableSocket, ModelTimeouts, connect
from clawperator.errors import ClawError

MOST_BYTES = 8 * 1024 * 1024
_MOST_ERROR_BYTES = 65_536
_LONGEST_MESSAGE = 500
_LONGEST_PAUSE = 60.0
_SHORTEST_SECRET = 8  # services on this machine take any word for a key, and a word is part of many texts
_BLOCK = 65_536
# Kinds of errors that services name in a body, where no status tells: in the middle of a stream.
_AUTH_KINDS = ("authentication_error", "permission_error", "invalid_api_key")
_STOPPED_FOR_CONTENT = ("refusal", "content_filter", "safety", "recitation")
_REFUSED_KINDS = ("invalid_request_error", "not_found_error", "request_too_large", "billing_error")


class ServerEvent(Struct, frozen=True):
    """The data of one server-sent event; ``is_whole`` when the service sent one JSON document instead."""

    data: bytes
    is_whole: bool = False


class ModelRequest(Struct, frozen=True):
    """One request. ``path`` follows the base URL's own."""

    config: ModelConfig
    path: str
    headers: Mapping[str, str]
    body: bytes
    timeouts: ModelTimeouts = ModelTimeouts()


class _UnavailableError(Exception):
    """It did not work this time. ``pause`` is how long the service wants to be left alone."""

    def __init__(self, message: str, status: int | None = None, pause: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.pause = pause


class ReplyReader(Protocol):
    """A reply while it comes. ``take`` says whether the event was the last, ``is_complete`` whether one may be."""

    is_complete: bool

    def take(self, event: ServerEvent) -> bool: ...


def ask(asked: ModelRequest, deadline: TurnDeadline, reading: ReplyReader) -> None:
    """Let somebody read the reply, event by event as they come.

    ``BRAIN_UNAVAILABLE``, ``BRAIN_AUTH_FAILED``, ``BRAIN_REQUEST_REFUSED`` or ``BRAIN_ANSWER_INVALID`` when it
    fails; ``TurnCancelledError`` when nobody waits for it any more.
    """
    try:
        with closing(_tries(asked, deadline)) as events:
            for event in events:
                deadline.check()
                if reading.take(event):
                    return
    except ClawError as e:
        # After the end of a reply there is nothing to lose but the number of its tokens.
        if not (reading.is_complete and e.code == "BRAIN_UNAVAILABLE"):
            raise
    if not reading.is_complete:
        raise _error("BRAIN_UNAVAILABLE", asked.config, "the reply was cut off")


def _tries(asked: ModelRequest, deadline: TurnDeadline) -> Generator[ServerEvent, None, None]:
    pauses = list(asked.timeouts.pauses)
    while True:
        is_used = False
        try:
            for event in _attempt(asked, deadline):
                is_used = True
                yield event
        except _UnavailableError as e:
            deadline.check()
            pause = e.pause if pauses and e.pause is not None else (pauses or [0.0])[0]
            left = deadline.remaining
            if is_used or not pauses or pause > _LONGEST_PAUSE or (left is not None and pause >= left):
                raise _unavailable(asked, e) from None
        else:
            return
        pauses.pop(0)
        deadline.sleep(pause)


def _attempt(asked: ModelRequest, deadline: TurnDeadline) -> Iterator[ServerEvent]:
    end = time.monotonic() + asked.timeouts.reply
    try:
        wire = CancellableSocket(
            connect(asked.config.base_url, deadline, asked.timeouts), deadline, asked.timeouts, end
        )
        try:
            response = _send(asked, wire)
            if response.status // 100 != 2:
                raise _refusal(asked, response)
            yield from _events(asked, response)
        finally:
            wire.hang_up()
    except TimeoutError:
        raise _UnavailableError("it took too long to answer") from None
    except OSError as e:
        raise _UnavailableError(f"the connection failed: {why(e)}") from e
    except IncompleteRead:
        raise _UnavailableError("the reply was cut off") from None
    except HTTPException as e:
        raise invalid_reply(asked.config, f"it is not HTTP ({type(e).__name__})") from e


def _send(asked: ModelRequest, wire: CancellableSocket) -> HTTPResponse:
    base_url, key = asked.config.base_url, asked.config.key
    host = f"[{base_url.host}]" if ":" in base_url.host else base_url.host
    connection = HTTPConnection(base_url.host, base_url.port)
    sock: Any = wire  # all that is needed of a socket: sendall, makefile, close
    connection.sock = sock
    headers = {
        "Host": host if base_url.port == (443 if base_url.secure else 80) else f"{host}:{base_url.port}",
        "Content-Type": "application/json",
        "Accept": "text/event-stream, application/json",
        "User-Agent": f"clawperator/{__version__}",
        "Connection": "close",
        **asked.headers,
    }
    if key is not None and asked.config.bearer:
        headers["Authorization"] = f"Bearer {key.reveal()}"
    elif key is not None:
        headers["x-api-key"] = key.reveal()
    try:
        connection.request("POST", base_url.path + asked.path, body=asked.body, headers=headers)
    except ValueError:  # its text would show the key
        raise _auth_failed(asked.config, "the key holds characters that no header may have") from None
    return connection.getresponse()


def _events(asked: ModelRequest, response: HTTPResponse) -> Iterator[ServerEvent]:
    """A stream of events, or a document whole: the first character tells."""
    blocks = _blocks(asked, response)
    head = b""
    for block in blocks:
        head += block
        if head.strip():
            break
    if not head.strip():
        raise _UnavailableError("the reply is empty")
    whole = chain((head,), blocks)
    if head.lstrip().startswith(b"{"):
        yield ServerEvent(b"".join(whole), is_whole=True)
        return
    is_stream = False
    for event in _read_stream(whole):
        is_stream = True
        yield event
    if not is_stream:
        raise invalid_reply(asked.config, "it is no stream of events", head)


def _read_stream(blocks: Iterable[bytes]) -> Iterator[ServerEvent]:
    """The data of each event. An event that its empty line does not end was cut off, and is none."""
    data: list[bytes] = []
    pending = bytearray()
    for block in blocks:
        first, *more = block.split(b"\n")
        pending += first
        for rest in more:
            line = bytes(pending).removesuffix(b"\r")
            pending = bytearray(rest)
            if not line and data:
                yield ServerEvent(b"\n".join(data))
                data = []
            elif line.startswith(b"data:"):
                data.append(line[5:].removeprefix(b" "))


def _blocks(asked: ModelRequest, response: HTTPResponse) -> Iterator[bytes]:
    declared, seen = response.length, 0
    while declared is None or seen < declared:
        block = response.read1(_BLOCK)
        if not block:
            break
        seen += len(block)
        if seen > MOST_BYTES:
            raise invalid_reply(asked.config, f"it is longer than {MOST_BYTES} bytes")
        yield block
    if declared is not None and seen < declared:
        raise _UnavailableError("the reply was cut off")


def _refusal(asked: ModelRequest, response: HTTPResponse) -> Exception:
    """What a reply with an error status stands for."""
    status = response.status
    body = b""
    with suppress(OSError, HTTPException):
        body = response.read(_MOST_ERROR_BYTES)
    message = f"it answers {status}{_told(_error_message(body) or response.reason)}"
    if status in (401, 403):
        return _auth_failed(asked.config, message)
    if status in (408, 425, 429) or status >= 500:
        return _UnavailableError(message, status, _pause(response.getheader("Retry-After")))
    return _refused(asked.config, message, status)


def _told(message: str) -> str:
    return f": {message}" if message else ""


def _error_message(body: bytes) -> str:
    """What an error body says, in either dialect, or its text as it is."""
    try:
        return error_of(read_json(body))[1]
    except ValueError:
        return body.decode("utf-8", "replace")


def error_of(document: Any) -> tuple[str, str]:
    """The kind and the message of an error object."""
    error = document.get("error", document) if isinstance(document, dict) else document
    if not isinstance(error, dict):
        return "", str(error)
    said = next((error[name] for name in ("message", "detail", "error") if error.get(name)), "")
    kinds = (error.get("type"), error.get("code"))
    return next((kind for kind in kinds if isinstance(kind, str) and kind != "error"), ""), str(said)


def stream_error(config: ModelConfig, document: Any) -> ClawError:
    """The error a service told in the middle of its reply."""
    kind, said = error_of(document)
    message = f"it broke the reply off{_told(said or kind)}"
    if kind in _AUTH_KINDS:
        return _auth_failed(config, message)
    if kind in _REFUSED_KINDS:
        return _refused(config, message, None)
    return _error("BRAIN_UNAVAILABLE", config, message)


def stopped_reply(config: ModelConfig, reason: str) -> ClawError:
    """The service ended a reply that the model had not: for its length, or for what it is about."""
    message = f"it stopped the reply before its end ({reason})"
    if reason.casefold() in _STOPPED_FOR_CONTENT:
        return _refused(config, message, None)
    hint = "Ask for less at a time, or choose another --model."
    return _error("BRAIN_ANSWER_INVALID", config, message, hint=hint)


def invalid_reply(config: ModelConfig, reason: str, sent: bytes = b"") -> ClawError:
    """What came is nothing the protocol knows. A piece of it is shown."""
    details = {"received": _shown(config, sent.decode("utf-8", "replace"), 200)} if sent else {}
    return _error("BRAIN_ANSWER_INVALID", config, f"its reply cannot be read: {reason}", details=details)


def _unavailable(asked: ModelRequest, error: _UnavailableError) -> ClawError:
    facts = {"status": error.status, "retry_after_seconds": error.pause}
    details = {name: value for name, value in facts.items() if value is not None}
    is_limited = error.status == HTTPStatus.TOO_MANY_REQUESTS
    hint = "Wait until the service's limits allow more, then run the command again." if is_limited else None
    return _error("BRAIN_UNAVAILABLE", asked.config, str(error), hint=hint, details=details)


def _auth_failed(config: ModelConfig, message: str) -> ClawError:
    variable = key_variable(config)
    hint = f"Run 'export {variable}=KEY' with a key that this service takes."
    return _error("BRAIN_AUTH_FAILED", config, message, hint=hint)


def _refused(config: ModelConfig, message: str, status: int | None) -> ClawError:
    hint = f"Check {base_url_variable(config.kind)} and --model {config.model}; a long session may need a new one."
    details = {} if status is None else {"status": status}
    return _error("BRAIN_REQUEST_REFUSED", config, message, hint=hint, details=details)


def _error(
    code: str, config: ModelConfig, message: str, *, hint: str | None = None, details: dict[str, Any] | None = None
) -> ClawError:
    target = str(config.base_url)
    if hint is None:
        hint = f"See that the service at {target} runs, then run the command again."
    said = _shown(config, message, _LONGEST_MESSAGE)
    return ClawError(
        code,
        f"the model's service at {target} failed: {said}",
        hint=hint,
        details={"model": config.model, **(details or {})},
        operation="ask",
        target=target,
    )


def _shown(config: ModelConfig, text: str, most: int) -> str:
    """Foreign text on one line, without our key, and not too much of it."""
    if config.key is not None and len(config.key.reveal()) >= _SHORTEST_SECRET:
        text = text.replace(config.key.reveal(), "[key]")
    text = printable(" ".join(text.split()))
    return text if len(text) <= most else text[:most] + "…"


def _pause(text: str | None) -> float | None:
    """The seconds a Retry-After asks for: a number, or a date."""
    if not text:
        return None
    if text.strip().isdecimal():
        return float(text.strip()[:9])
    from email.utils import parsedate_to_datetime

    try:
        return max(parsedate_to_datetime(text).timestamp() - time.time(), 0.0)
    except (ValueError, TypeError, OverflowError):
        return None
