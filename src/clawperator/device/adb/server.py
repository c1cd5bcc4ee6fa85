"""The adb server: its address, and requests to the server itself."""

import os
import sys
import time

from clawperator._base.deadline import Deadline
from clawperator.device.adb.client import LOOPBACK, Connection, Endpoint
from clawperator.errors import ClawError, ClawperatorException, RefusedError

SOCKET, ADDRESS, PORT = "ADB_SERVER_SOCKET", "ANDROID_ADB_SERVER_ADDRESS", "ANDROID_ADB_SERVER_PORT"
REQUEST_SECONDS = 5.0
_DEFAULT_PORT = 5_037
_MAX_PORT = 65_535
_LOCAL = ("localfilesystem:", "local:")
_ABSTRACT = "localabstract:"
_ADVICE = {
    SOCKET: "Write for example tcp:localhost:5037, tcp:[::1]:5037 or localfilesystem:/path",
    ADDRESS: "Write a host without a port, for example localhost or [::1]",
    PORT: f"Write a number from 1 to {_MAX_PORT}",
}
_RESTART = "Run 'adb kill-server', then retry. If that hangs too, end the process adb."


class NoServerError(ClawperatorException):
    """Nothing listens at the address of the adb server."""


def adb_endpoint() -> Endpoint:
    """The address of the adb server, from the environment variables that adb itself reads.

    ``CONFIG_INVALID`` for one that cannot be used: another server may have other devices.
    """
    given = os.environ.get(SOCKET, "")
    if given:
        return _read_spec(given, SOCKET, given)
    host, port = os.environ.get(ADDRESS, ""), os.environ.get(PORT, "")
    if port and read_port(port) is None:
        raise _invalid(PORT, port)
    if host:
        return _read_spec(f"tcp:{host}:{port or _DEFAULT_PORT}", ADDRESS, host)
    return Endpoint(LOOPBACK, read_port(port) or _DEFAULT_PORT)


def _read_spec(spec: str, variable: str, value: str) -> Endpoint:
    if spec.startswith("tcp:"):
        found = read_address(spec.removeprefix("tcp:"), local_port=True)
        if found is not None:
            return Endpoint(*found)
    path = next((spec.removeprefix(kind) for kind in _LOCAL if spec.startswith(kind)), "")
    if path and "\0" not in path:
        return Endpoint("", 0, path=path)
    if spec.startswith(_ABSTRACT) and spec != _ABSTRACT and sys.platform == "linux":
        return Endpoint("", 0, path="\0" + spec.removeprefix(_ABSTRACT))
    raise _invalid(variable, value)


def read_address(text: str, *, local_port: bool = False) -> tuple[str, int] | None:
    """Host and port of ``host:port`` or ``[IPv6 address]:port``; with ``local_port`` also of a port alone."""
    if local_port and (alone := read_port(text)) is not None:
        return LOOPBACK, alone
    host, _, port = text.rpartition(":")
    number = read_port(port)
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
        valid = ":" in host
    else:
        valid = ":" not in host
    if number is None or not valid or not host or any(char in " []/@" or not char.isprintable() for char in host):
        return None
    return host, number


def read_port(text: str) -> int | None:
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 6 else 0
    return number if 0 < number <= _MAX_PORT else None


def _invalid(variable: str, value: str) -> ClawError:
    message = f"{variable} is not the address of an adb server: {value!r}"
    hint = f"{_ADVICE[variable]}, or run 'unset {variable}'."
    return ClawError("CONFIG_INVALID", message, hint=hint, operation="connect", target=variable)


def can_start(endpoint: Endpoint) -> bool:
    """Whether the adb program can start a server there: only on this computer."""
    return bool(endpoint.path) or endpoint.host in (LOOPBACK, "127.0.0.1")


def server_environment(endpoint: Endpoint) -> dict[str, str]:
    """The variables by which an adb program uses this server."""
    if endpoint.path:
        return {SOCKET: endpoint.address}
    # To start a server adb wants the port alone.
    spec = f"tcp:{endpoint.port}" if can_start(endpoint) else f"tcp:{endpoint.address}"
    return {SOCKET: spec, PORT: str(endpoint.port)}


def ask_server(endpoint: Endpoint, request: str, *, seconds: float = REQUEST_SECONDS) -> str:
    """The server's answer. ``NoServerError`` without a server, ``ADB_SERVER_FAILED`` without an answer."""
    try:
        return exchange(endpoint, request, seconds=seconds)
    except RefusedError as e:
        raise server_failed(endpoint, f"refused '{_service(request)}': {e}", _RESTART) from e


def exchange(endpoint: Endpoint, request: str, *, seconds: float) -> str:
    """Like ``ask_server``, but ``RefusedError`` with the server's own text when it refuses."""
    what = _service(request)
    began, deadline = time.monotonic(), Deadline(seconds)
    try:
        connection = Connection(endpoint, deadline)
    except (ConnectionRefusedError, FileNotFoundError) as e:
        raise NoServerError from e
    except TimeoutError as e:
        raise server_failed(endpoint, f"did not accept a connection within {_since(began)}", _RESTART) from e
    except OSError as e:
        raise server_failed(endpoint, f"cannot be reached: {e.strerror or e}", _other_server(endpoint)) from e
    try:
        with connection:
            connection.request(request)
            return connection.read_answer()
    except TimeoutError as e:
        hung = f"accepted a connection, but did not answer '{what}' within {_since(began)}"
        raise server_failed(endpoint, hung, _RESTART) from e
    except OSError as e:
        hint = f"Another program may use the address: end it, or set {PORT} to another port."
        raise server_failed(endpoint, f"did not answer '{what}' as an adb server does: {e}", hint) from e


def _since(began: float) -> str:
    return f"{round(time.monotonic() - began, 1):g} s"


def _service(request: str) -> str:
    """The name of a request without its arguments, which may be secret."""
    return request.partition(":")[2].partition(":")[0]


def not_running(endpoint: Endpoint) -> ClawError:
    """The error of a server that does not run, and that this computer cannot start."""
    hint = f"Run 'adb -a nodaemon server' on that computer. {_other_server(endpoint)}"
    return server_failed(endpoint, "is not running", hint)


def server_failed(endpoint: Endpoint, problem: str, hint: str) -> ClawError:
    code, address = "ADB_SERVER_FAILED", endpoint.address
    message, details = f"the adb server at {address} {problem}", {"address": address}
    return ClawError(code, message, hint=hint, details=details, operation="adb", target=address)


def _other_server(endpoint: Endpoint) -> str:
    variable = next((name for name in (SOCKET, ADDRESS, PORT) if os.environ.get(name)), None)
    if variable is None:
        return _RESTART
    return f"To use the adb server of this computer, run 'unset {variable}'; it is {endpoint.address} now."
