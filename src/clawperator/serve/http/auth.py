"""Who may send requests: the token file, the sessions of browsers, and the checks of Host and Origin.

The token is in a file that only its owner can read. It is accepted in the Authorization header, and in the body of
``POST /session``, which answers with a cookie. A browser that the server opens gets a code in its address instead,
which other users of the computer may see: it opens one session, within a minute.
"""

import hashlib
import hmac
import ipaddress
import os
import secrets
import stat
import time
from collections.abc import Mapping
from contextlib import suppress

from msgspec import Struct

from clawperator._base.files import make_private_folder, new_part, read_limited, why
from clawperator._base.home import product_home
from clawperator.errors import ClawError

_TOKEN_BYTES = 32
_MIN_TOKEN, _MAX_TOKEN = 16, 512
_MAX_ISSUED = 32
_SESSION_SECONDS = 12 * 3_600
_CODE_SECONDS = 60
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_WILDCARDS = ("0.0.0.0", "::", "")  # noqa: S104 - recognised, not bound
# What a browser reports about a request that the server's own page, or the user, has caused.
_OWN_FETCHES = (b"same-origin", b"none")


def default_token_file() -> str:
    return os.path.join(product_home(), "serve", "token")


def load_token(path: str) -> str:
    """The token of the file, which is created when it is missing.

    ``TOKEN_FILE_INVALID`` when others can read it, or when it does not hold a token.
    """
    try:
        try:
            return _read_token(path)
        except FileNotFoundError:
            _create_token(path)
            return _read_token(path)
    except (OSError, ValueError) as e:
        raise _invalid(path, why(e)) from e


def _read_token(path: str) -> str:
    mode = os.stat(path).st_mode
    if stat.S_IMODE(mode) & 0o077:
        raise _invalid(path, "other users can read it", f"Run 'chmod 600 {path}'.")
    token = read_limited(path, _MAX_TOKEN + 2).decode("ascii", "replace").strip()
    if not _MIN_TOKEN <= len(token) <= _MAX_TOKEN or not all("!" <= c <= "~" for c in token):
        reason = f"it does not hold a token: {_MIN_TOKEN} to {_MAX_TOKEN} visible ASCII characters"
        raise _invalid(path, reason, f"Run 'rm {path}': the next start creates a new token.")
    return token


def _create_token(path: str) -> None:
    """Create the file with its content at once, unless another process is faster."""
    folder = os.path.dirname(os.path.abspath(path))
    make_private_folder(folder)
    part = new_part(folder)
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(secrets.token_urlsafe(_TOKEN_BYTES).encode() + b"\n")
        with suppress(FileExistsError):
            os.link(part, path)
    finally:
        os.unlink(part)


def _invalid(path: str, reason: str, hint: str | None = None) -> ClawError:
    message = f"the token file {path} cannot be used: {reason}"
    return ClawError("TOKEN_FILE_INVALID", message, hint=hint, operation="serve", target=path)


class IssuedSecrets:
    """Secrets that the server issued, by their hash: limited in number and in age."""

    def __init__(self, seconds: float, most: int = _MAX_ISSUED) -> None:
        self.seconds = seconds
        self._most = most
        self._ends: dict[bytes, float] = {}  # in the order of their start

    def issue(self) -> str:
        """Return a new secret. The oldest one ends when there are too many."""
        now = time.monotonic()
        self._ends = {digest: end for digest, end in self._ends.items() if end > now}
        while len(self._ends) >= self._most:
            del self._ends[next(iter(self._ends))]
        secret = secrets.token_urlsafe(_TOKEN_BYTES)
        self._ends[_digest(secret)] = now + self.seconds
        return secret

    def is_valid(self, secret: str) -> bool:
        return self._ends.get(_digest(secret), 0.0) > time.monotonic()

    def end(self, secret: str) -> bool:
        """End a secret. Whether it was valid."""
        return self._ends.pop(_digest(secret), 0.0) > time.monotonic()


def _digest(text: str) -> bytes:
    # A lookup by hash reveals nothing about the secret by its time.
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()


class Address(Struct, frozen=True):
    """The address that the server is bound to. ``names`` are further host names by which clients may call it."""

    host: str
    port: int
    names: tuple[str, ...] = ()

    @property
    def url(self) -> str:
        shown = "127.0.0.1" if self.host in _WILDCARDS else self.host
        return f"http://[{shown}]:{self.port}/" if ":" in shown else f"http://{shown}:{self.port}/"

    def accepts(self, authority: str) -> bool:
        """Whether a Host header names this server.

        A web page can make any name point here, but not an IP address: with a wildcard every address is accepted.
        """
        host, port = _split_authority(authority)
        if port != self.port:
            return False
        if host in (*_LOOPBACK, self.host.lower(), *self.names):
            return True
        return self.host in _WILDCARDS and _is_ip(host)


def is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False


def _is_ip(host: str) -> bool:
    with suppress(ValueError):
        ipaddress.ip_address(host)
        return True
    return False


def _split_authority(authority: str) -> tuple[str, int]:
    """Host and port of a Host header; the port is 80 when there is none, and -1 when it is invalid."""
    host, colon, port = authority.rpartition(":")
    if not colon or authority.endswith("]"):
        host, port = authority, "80"
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    return host.lower(), int(port) if port.isascii() and port.isdecimal() and len(port) <= 5 else -1


class Guard:
    """Checks the headers of every request. The first three checks that fail raise an error."""

    def __init__(self, token: str, address: Address, token_file: str | None = None) -> None:
        self.address = address
        self.sessions = IssuedSecrets(_SESSION_SECONDS)
        self.codes = IssuedSecrets(_CODE_SECONDS)
        # Cookies are shared by all ports of a host, so the name has the port.
        self.cookie = f"clawperator_{address.port}"
        self._token = token.encode()
        # Other computers do not learn a path of this one.
        self._hint = f"The token is in {token_file}." if token_file and is_loopback(address.host) else None

    def check_source(self, headers: Mapping[bytes, bytes]) -> None:
        """``HOST_NOT_ALLOWED`` or ``ORIGIN_NOT_ALLOWED`` unless the request is meant for this server."""
        host = headers.get(b"host", b"").decode("latin-1")
        if not self.address.accepts(host):
            raise ClawError("HOST_NOT_ALLOWED", f"the Host header {host[:80]!r} is not allowed", operation="serve")
        origin = headers.get(b"origin")
        if origin is not None and origin.decode("latin-1").lower() != f"http://{host.lower()}":
            shown = origin.decode("latin-1")[:80]
            raise ClawError("ORIGIN_NOT_ALLOWED", f"the origin {shown!r} is not allowed", operation="serve")

    def check_client(self, headers: Mapping[bytes, bytes]) -> None:
        """``UNAUTHORIZED`` without the token, and without the cookie of an open session."""
        given = headers.get(b"authorization")
        if given is not None:
            scheme, _, token = given.partition(b" ")
            if scheme.lower() == b"bearer" and self.is_token(token.strip()):
                return
            raise self.unauthorized("the Authorization header does not hold the token")
        cookie = self.cookie_of(headers)
        if cookie is None:
            raise self.unauthorized("the request has no token in its Authorization header")
        if not self.sessions.is_valid(cookie):
            raise self.unauthorized("the session of the browser has ended")
        if headers.get(b"sec-fetch-site", b"none") not in _OWN_FETCHES:
            raise ClawError("ORIGIN_NOT_ALLOWED", "another site caused the request", operation="serve")

    def unauthorized(self, message: str) -> ClawError:
        return ClawError("UNAUTHORIZED", message, hint=self._hint, operation="serve")

    def is_token(self, given: bytes) -> bool:
        return hmac.compare_digest(given, self._token)

    def may_open_session(self, given: str) -> bool:
        """Whether this is the token, or a code that was not used before."""
        return self.is_token(given.encode("utf-8", "replace")) or self.codes.end(given)

    def cookie_of(self, headers: Mapping[bytes, bytes]) -> str | None:
        """The value of the session cookie."""
        parts = headers.get(b"cookie", b"").decode("latin-1").split(";")
        pairs = (part.strip().partition("=") for part in parts)
        return next((value for name, _, value in pairs if name == self.cookie), None)

    def set_cookie(self, value: str, seconds: float) -> str:
        """The Set-Cookie header that starts a session, or ends it with 0 seconds."""
        return f"{self.cookie}={value}; Path=/; Max-Age={int(seconds)}; HttpOnly; SameSite=Strict"
