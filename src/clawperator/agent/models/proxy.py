"""Proxies for model services: which one the environment names for an address, and the tunnel through it.

``https_proxy`` is used for https, ``http_proxy`` for plain http, both also in upper case; the lower case comes
first. ``no_proxy`` lists hosts that are reached directly, as do all hosts on this machine. The user and the
password of a proxy are sent to the proxy only and are in no message.
"""

import re
import socket
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from clawperator._base.text import printable
from clawperator.errors import ClawperatorException

_MOST_HEAD_BYTES = 16_384
_STATUS_LINE = re.compile(rb"HTTP/\d(?:\.\d)? (\d{3})[^\r\n]*")


class ProxyUrlError(ClawperatorException, ValueError):
    """A proxy variable with an address that cannot be used. The text does not contain the address."""

    def __init__(self, variable: str, reason: str) -> None:
        super().__init__(f"{variable} {reason}")
        self.variable = variable


class ProxyRefusedError(ClawperatorException, OSError):
    """A proxy that did not open a tunnel. ``status`` is its HTTP status, if it sent one."""

    def __init__(self, proxy: "Proxy", status: int | None) -> None:
        reason = f"HTTP status {status}" if status is not None else "an answer that is not HTTP"
        super().__init__(f"the proxy {proxy} did not open a connection: {reason}")
        self.status = status


class Proxy(Struct, frozen=True):
    """A proxy. ``credentials`` is the value of its authorization header; it is not part of ``repr`` or ``str``."""

    host: str
    port: int
    credentials: str = ""

    @property
    def headers(self) -> dict[str, str]:
        return {"Proxy-Authorization": self.credentials} if self.credentials else {}

    def __str__(self) -> str:
        return f"{bracketed(self.host)}:{self.port}"

    def __repr__(self) -> str:
        return f"Proxy({self})"


def bracketed(host: str) -> str:
    """The host as it is written in a URL."""
    return f"[{host}]" if ":" in host else host


def proxy_for(*, secure: bool, host: str, port: int, environ: Mapping[str, str]) -> Proxy | None:
    """The proxy of an address; None when it is reached directly. ``ProxyUrlError`` for an unusable one."""
    name = "https_proxy" if secure else "http_proxy"
    found = [variable for variable in (name, name.upper()) if environ.get(variable, "").strip()]
    if not found or _is_exempt(host, port, environ.get("no_proxy") or environ.get("NO_PROXY") or ""):
        return None
    return _parse(found[0], environ[found[0]].strip())


def _parse(variable: str, text: str) -> Proxy:
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        port = parts.port or 80
    except ValueError:
        raise ProxyUrlError(variable, "is not a URL") from None
    if parts.scheme != "http":
        raise ProxyUrlError(variable, f"names a proxy for {printable(parts.scheme)}; only http proxies work")
    if not parts.hostname or not parts.hostname.isascii() or not parts.hostname.isprintable():
        raise ProxyUrlError(variable, "has no host")
    if parts.username is None:
        return Proxy(parts.hostname, port)
    from base64 import b64encode

    user = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
    return Proxy(parts.hostname, port, f"Basic {b64encode(user).decode()}")


def _is_exempt(host: str, port: int, listed: str) -> bool:
    """Whether an entry of ``no_proxy`` covers the host: a name and all below it, an address, a network, or all."""
    for entry in listed.replace(",", " ").split():
        name, own_port = _split_port(entry)
        if own_port and own_port != str(port):
            continue
        plain = name.removeprefix("*").lstrip(".").casefold()
        if not plain and name.startswith("*"):
            return True
        if plain and (host.casefold() == plain or host.casefold().endswith(f".{plain}")):
            return True
        if "/" in name and _is_in_network(host, name):
            return True
    return False


def _split_port(entry: str) -> tuple[str, str]:
    if entry.startswith("["):
        name, _, rest = entry[1:].partition("]")
        return name, rest.removeprefix(":")
    name, colon, port = entry.rpartition(":")
    return (name, port) if colon and ":" not in name else (entry, "")


def _is_in_network(host: str, network: str) -> bool:
    import ipaddress

    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False


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
