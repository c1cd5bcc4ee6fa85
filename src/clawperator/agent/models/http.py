"""HTTP to a model service: send one request and pass its reply on, event by event.

Every wait is limited and stops when the deadline expires or is cancelled. A request without a complete reply is
repeated, twice at most: no call of a reply is made before the reply is complete. Redirects are not followed: the
key is for one address only.

Errors show the text of a service on one line, shortened, and without our key.
"""

import io
import re
import socket
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from functools import partial
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPResponse, IncompleteRead
from itertools import chain
from typing import Any, Protocol, TypeVar

from msgspec import Struct

from clawperator import __version__
from clawperator._base.deadline import Deadline
from clawperator._base.files import why
from clawperator._base.text import printable
from clawperator._base.typed import read_json
from clawperator.agent.cancellation import TurnDeadline
from clawperator.agent.models.config import BaseUrl, ModelConfig, Proxy, base_url_variable, bracketed, key_variable
from clawperator.errors import ClawError, ClawperatorException

MOST_BYTES = 8 * 1024 * 1024
_MOST_ERROR_BYTES = 65_536
_LONGEST_PAUSE = 60.0
_BLOCK = 65_536
_PROXY_HINT = "Check the address, user and password in HTTPS_PROXY or HTTP_PROXY, or add the host to NO_PROXY."
_MOST_HEAD_BYTES = 16_384
_STATUS_LINE = re.compile(rb"HTTP/\d(?:\.\d)? (\d{3})[^\r\n]*")
_SLICE = 0.1  # a socket waits in slices of this many seconds, so that a cancellation is noticed
_LONGEST_MESSAGE = 500
_SHORTEST_SECRET = 8  # local services accept any word as a key, and a short word occurs in other text
# Kinds of errors that services name in a stream, where there is no HTTP status.
_AUTH_KINDS = ("authentication_error", "permission_error", "invalid_api_key")
_REFUSED_KINDS = ("invalid_request_error", "not_found_error", "request_too_large", "billing_error")
_STOPPED_FOR_CONTENT = ("refusal", "content_filter", "safety", "recitation")


class ProxyRefusedError(ClawperatorException, OSError):
    """A proxy that did not open a tunnel. ``status`` is its HTTP status, if it sent one."""

    def __init__(self, proxy: Proxy, status: int | None) -> None:
        reason = f"HTTP status {status}" if status is not None else "an answer that is not HTTP"
        super().__init__(f"the proxy {proxy} did not open a connection: {reason}")
        self.status = status


class UnavailableError(ClawperatorException):
    """A failed attempt, which may succeed later. ``pause`` is the wait that the service asks for."""

    def __init__(self, message: str, status: int | None = None, pause: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.pause = pause


def _parse_error(document: Any) -> tuple[str, str]:
    """The kind and the message of an error object."""
    error = document.get("error", document) if isinstance(document, dict) else document
    if not isinstance(error, dict):
        return "", str(error)
    message = next((error[name] for name in ("message", "detail", "error") if error.get(name)), "")
    kinds = (error.get("type"), error.get("code"))
    return next((kind for kind in kinds if isinstance(kind, str) and kind != "error"), ""), str(message)


def stream_error(config: ModelConfig, document: Any) -> ClawError | UnavailableError:
    """An error that the service sent in the middle of its reply. An overloaded service may be asked again."""
    kind, message = _parse_error(document)
    reason = f"reply broken off: {message or kind}".removesuffix(": ")
    if kind in _AUTH_KINDS:
        return auth_error(config, reason)
    if kind in _REFUSED_KINDS:
        return refused_error(config, reason, None)
    return UnavailableError(reason)


def stopped_reply(config: ModelConfig, reason: str) -> ClawError:
    """A reply that the service ended early, for its length or its content."""
    message = f"reply stopped before its end ({reason})"
    if reason.casefold() in _STOPPED_FOR_CONTENT:
        return refused_error(config, message, None)
    hint = "Ask for less in one turn, or choose another --model."
    return _error("BRAIN_ANSWER_INVALID", config, message, hint=hint)


def empty_answer(config: ModelConfig) -> ClawError:
    """A model that ended its turn without a text: what it did, and whether it is done, is not known."""
    hint = "Ask what was done in a new turn of the session, or choose another --model."
    return _error("BRAIN_ANSWER_INVALID", config, "the model ended its turn without an answer", hint=hint)


def invalid_reply(config: ModelConfig, reason: str, data: bytes = b"") -> ClawError:
    """A reply that breaks the protocol. The start of ``data`` goes to the details."""
    details = {"received": _sanitize(config, data.decode("utf-8", "replace"), 200)} if data else {}
    return _error("BRAIN_ANSWER_INVALID", config, f"invalid reply: {reason}", details=details)


def auth_error(config: ModelConfig, message: str) -> ClawError:
    hint = f"Run 'export {key_variable(config)}=KEY' with a key of this service."
    return _error("BRAIN_AUTH_FAILED", config, message, hint=hint)


def refused_error(config: ModelConfig, message: str, status: int | None) -> ClawError:
    hint = (
        f"Check {base_url_variable(config.kind)} and --model {config.model}; for a long session, start a new one."
    )
    details = {} if status is None else {"status": status}
    return _error("BRAIN_REQUEST_REFUSED", config, message, hint=hint, details=details)


def _error(
    code: str, config: ModelConfig, message: str, *, hint: str | None = None, details: dict[str, Any] | None = None
) -> ClawError:
    target = str(config.base_url)
    if hint is None:
        hint = f"Check that the service at {target} is running, then run the command again."
    shown = f"model service at {target} failed: {_sanitize(config, message, _LONGEST_MESSAGE)}"
    facts = {"model": config.model, **(details or {})}
    return ClawError(code, shown, hint=hint, details=facts, operation="ask", target=target)


def _sanitize(config: ModelConfig, text: str, longest: int) -> str:
    if config.key is not None and len(config.key.reveal()) >= _SHORTEST_SECRET:
        text = text.replace(config.key.reveal(), "[key]")
    text = printable(" ".join(text.split()))
    return text if len(text) <= longest else text[:longest] + "…"


class ModelTimeouts(Struct, frozen=True):
    """Seconds to wait: to connect, for the next bytes, for a whole reply; and the pauses before each retry."""

    connect: float = 10.0
    idle: float = 60.0
    reply: float = 600.0
    pauses: tuple[float, ...] = (0.5, 1.5)


class ServerEvent(Struct, frozen=True):
    """The data of one server-sent event; ``is_whole`` when the service sent one JSON document instead."""

    data: bytes
    is_whole: bool = False


class ModelRequest(Struct, frozen=True):
    """One request. ``path`` is appended to the path of the base URL."""

    config: ModelConfig
    path: str
    headers: Mapping[str, str]
    body: bytes
    timeouts: ModelTimeouts = ModelTimeouts()


class ReplyReader(Protocol):
    """Reads a reply. ``add`` returns whether the event was the last, ``is_complete`` whether the reply may end."""

    is_complete: bool

    def add(self, event: ServerEvent) -> bool: ...


R = TypeVar("R", bound=ReplyReader)


def send_request(
    request: ModelRequest,
    deadline: TurnDeadline,
    new_reader: Callable[[], R],
    *,
    on_retry: Callable[[str], None] = lambda _: None,
) -> R:
    """Send the request and return the reader that received the whole reply.

    Each attempt has a reader of its own. ``on_retry`` is called when a reply broke off after its start.
    Failures are ``BRAIN_UNAVAILABLE``, ``BRAIN_AUTH_FAILED``, ``BRAIN_REQUEST_REFUSED`` or
    ``BRAIN_ANSWER_INVALID``; ``TurnCancelledError`` after the deadline or a cancellation.
    """
    pauses = list(request.timeouts.pauses)
    while True:
        reader, is_started = new_reader(), False
        try:
            with closing(_attempt(request, deadline)) as events:
                for event in events:
                    is_started = True
                    deadline.check()
                    if reader.add(event):
                        break
            _require_complete(reader)
        except UnavailableError as e:
            if reader.is_complete:  # only its token count can be lost
                return reader
            deadline.check()
            pause = e.pause if pauses and e.pause is not None else (pauses or [0.0])[0]
            left = deadline.remaining
            if not pauses or pause > _LONGEST_PAUSE or (left is not None and pause >= left):
                raise _final_error(request.config, e) from None
            if is_started:
                on_retry(str(e))
        else:
            return reader
        pauses.pop(0)
        deadline.sleep(pause)


def _require_complete(reader: ReplyReader) -> None:
    if not reader.is_complete:
        raise UnavailableError("the reply was cut off")


def _final_error(config: ModelConfig, error: UnavailableError) -> ClawError:
    facts = {"status": error.status, "retry_after_seconds": error.pause}
    details = {name: value for name, value in facts.items() if value is not None}
    is_limited = error.status == HTTPStatus.TOO_MANY_REQUESTS
    hint = "Wait until the rate limits of the service allow more, then run the command again."
    return _error("BRAIN_UNAVAILABLE", config, str(error), hint=hint if is_limited else None, details=details)


def _attempt(request: ModelRequest, deadline: TurnDeadline) -> Generator[ServerEvent, None, None]:
    end = Deadline(request.timeouts.reply)
    try:
        opened = _connect(request.config, deadline, request.timeouts)
        connection = _CancellableSocket(opened, deadline, request.timeouts, end)
        try:
            response = _send(request, connection)
            if response.status // 100 != 2:
                raise _status_error(request.config, response)
            yield from _events(request.config, response)
        finally:
            connection.shut_down()
    except TimeoutError:
        raise UnavailableError("it took too long to answer") from None
    except OSError as e:
        raise UnavailableError(f"the connection failed: {why(e)}") from e
    except IncompleteRead:
        raise UnavailableError("the reply was cut off") from None
    except HTTPException as e:
        raise invalid_reply(request.config, f"not HTTP ({type(e).__name__})") from e


def _connect(config: ModelConfig, deadline: TurnDeadline, timeouts: ModelTimeouts) -> socket.socket:
    """Connect, through the proxy if there is one, with TLS for https. ``OSError`` when that fails."""
    deadline.check()
    base_url, proxy = config.base_url, config.proxy
    seconds = max(deadline.within(timeouts.connect), 0.001)
    opened = socket.create_connection(
        (base_url.host, base_url.port) if proxy is None else (proxy.host, proxy.port), seconds
    )
    try:
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if proxy is not None and base_url.secure:
            open_tunnel(opened, proxy, base_url.host, base_url.port)
        return _start_tls(opened, base_url) if base_url.secure else opened
    except ProxyRefusedError as e:
        opened.close()
        raise _error("BRAIN_UNAVAILABLE", config, str(e), hint=_PROXY_HINT, details={"status": e.status}) from None
    except BaseException:
        opened.close()
        raise


def open_tunnel(opened: socket.socket, proxy: Proxy, host: str, port: int) -> None:
    """Ask the proxy for a connection to a host. ``OSError`` when it opens none."""
    target = f"{bracketed(host)}:{port}"
    lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
    lines += [f"{name}: {value}" for name, value in proxy.headers.items()]
    opened.sendall("\r\n".join([*lines, "", ""]).encode("ascii"))
    head = bytearray()
    # Byte by byte: what follows the head belongs to the tunnel.
    while not head.endswith(b"\r\n\r\n"):
        byte = opened.recv(1)
        if not byte or len(head) > _MOST_HEAD_BYTES:
            raise ProxyRefusedError(proxy, None)
        head += byte
    status = _STATUS_LINE.match(head)
    if status is None or not status[1].startswith(b"2"):
        raise ProxyRefusedError(proxy, int(status[1]) if status else None)


def _start_tls(opened: socket.socket, base_url: BaseUrl) -> socket.socket:
    import ssl

    try:
        return ssl.create_default_context().wrap_socket(opened, server_hostname=base_url.host)
    except ssl.SSLCertVerificationError as e:
        message = f"the certificate of {base_url} is not trusted: {e.verify_message}"
        hint = "Run 'export SSL_CERT_FILE=FILE' with the file of your certificate authority."
        raise ClawError("BRAIN_UNAVAILABLE", message, hint=hint, operation="connect", target=str(base_url)) from e


class _CancellableSocket:
    """The part of a socket that HTTP needs. ``TimeoutError`` when nothing moves, or at ``end``."""

    def __init__(
        self, opened: socket.socket, deadline: TurnDeadline, timeouts: ModelTimeouts, end: Deadline
    ) -> None:
        self._socket = opened
        self._deadline = deadline
        self._idle = timeouts.idle
        self._end = end

    def sendall(self, data: Any) -> None:
        left = memoryview(data)
        while left:
            left = left[self._wait_for(partial(self._socket.send, left[:_BLOCK])) :]

    def makefile(self, mode: str) -> io.BufferedReader:
        assert mode == "rb"
        return io.BufferedReader(_IncomingFile(self))

    def receive(self, buffer: Any) -> int:
        return self._wait_for(partial(self._socket.recv_into, buffer))

    def close(self) -> None:
        """Does nothing: HTTP closes its connection while the reply is still to be read."""

    def shut_down(self) -> None:
        with suppress(OSError):
            self._socket.close()

    def _wait_for(self, operation: Callable[[], int]) -> int:
        end = Deadline(self._end.within(self._idle))
        while True:
            self._deadline.check()
            self._socket.settimeout(min(end.left(), _SLICE))
            with suppress(TimeoutError):
                return operation()


class _IncomingFile(io.RawIOBase):
    """The received bytes as a file."""

    def __init__(self, connection: _CancellableSocket) -> None:
        super().__init__()
        self._connection = connection

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._connection.receive(buffer)


def _send(request: ModelRequest, opened: _CancellableSocket) -> HTTPResponse:
    base_url, key, proxy = request.config.base_url, request.config.key, request.config.proxy
    host = bracketed(base_url.host)
    connection = HTTPConnection(base_url.host, base_url.port)
    sock: Any = opened  # has what HTTP needs of a socket: sendall, makefile, close
    connection.sock = sock
    headers = {
        "Host": host if base_url.port == (443 if base_url.secure else 80) else f"{host}:{base_url.port}",
        "Content-Type": "application/json",
        "Accept": "text/event-stream, application/json",
        "User-Agent": f"clawperator/{__version__}",
        "Connection": "close",
        **request.headers,
    }
    target = base_url.path + request.path
    if proxy is not None and not base_url.secure:  # without TLS the proxy makes the request itself
        headers |= proxy.headers
        target = f"{base_url}{request.path}"
    if key is not None and request.config.bearer:
        headers["Authorization"] = f"Bearer {key.reveal()}"
    elif key is not None:
        headers["x-api-key"] = key.reveal()
    try:
        connection.request("POST", target, body=request.body, headers=headers)
    except ValueError:  # its text would show the key
        raise auth_error(request.config, "the key contains characters that no header may have") from None
    return connection.getresponse()


def _events(config: ModelConfig, response: HTTPResponse) -> Iterator[ServerEvent]:
    """A stream of events, or one whole document: the first character decides."""
    blocks = _blocks(config, response)
    head = b""
    for block in blocks:
        head += block
        if head.strip():
            break
    if not head.strip():
        raise UnavailableError("the reply is empty")
    whole = chain((head,), blocks)
    if head.lstrip().startswith(b"{"):
        yield ServerEvent(b"".join(whole), is_whole=True)
        return
    is_stream = False
    for event in _read_stream(whole):
        is_stream = True
        yield event
    if not is_stream:
        raise invalid_reply(config, "not a stream of events", head)


def _read_stream(blocks: Iterable[bytes]) -> Iterator[ServerEvent]:
    """The data of each event. An event without its final empty line was cut off and is dropped."""
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


def _blocks(config: ModelConfig, response: HTTPResponse) -> Iterator[bytes]:
    declared, seen = response.length, 0
    while declared is None or seen < declared:
        block = response.read1(_BLOCK)
        if not block:
            break
        seen += len(block)
        if seen > MOST_BYTES:
            raise invalid_reply(config, f"longer than {MOST_BYTES} bytes")
        yield block
    if declared is not None and seen < declared:
        raise UnavailableError("the reply was cut off")


def _status_error(config: ModelConfig, response: HTTPResponse) -> Exception:
    """The error of a reply with an error status."""
    status = response.status
    body = b""
    with suppress(OSError, HTTPException):
        body = response.read(_MOST_ERROR_BYTES)
    said = body.decode("utf-8", "replace")
    with suppress(ValueError):
        said = _parse_error(read_json(body))[1]
    message = f"HTTP status {status}: {said or response.reason}".removesuffix(": ")
    if status in (401, 403):
        return auth_error(config, message)
    if status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
        return _error("BRAIN_UNAVAILABLE", config, message, hint=_PROXY_HINT, details={"status": status})
    if status in (408, 425, 429) or status >= 500:
        return UnavailableError(message, status, _retry_after(response.getheader("Retry-After")))
    return refused_error(config, message, status)


def _retry_after(text: str | None) -> float | None:
    """The seconds of a Retry-After header: a number, or a date."""
    if not text:
        return None
    if text.strip().isdecimal():
        return float(text.strip()[:9])
    from email.utils import parsedate_to_datetime

    try:
        return max(parsedate_to_datetime(text).timestamp() - time.time(), 0.0)
    except (ValueError, TypeError, OverflowError):
        return None
