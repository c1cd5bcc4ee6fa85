"""Requests to the adb server: their framing, and which device a request means.

A request is four hex digits of length and a text; the answer begins with ``OKAY`` or ``FAIL``.
"""

import re
import socket
import threading
import time
from collections.abc import Callable, Sequence

import msgspec

from clawperator.errors import ClawperatorException
from clawperator.phone.adb.device import AdbDevice

MAX_REQUEST = 0xFFFF
REQUEST_SECONDS = 60.0  # a request must be complete by then

_UNAUTHORIZED = (
    "device unauthorized.\nThis adb server's $ADB_VENDOR_KEYS is not set\n"
    "Try 'adb kill-server' if that seems wrong.\n"
    "Otherwise check for a confirmation dialog on your device."
)
# host:port, or anything without a colon.
_SERIAL = re.compile(r"((?:\[[^\]]*\]|[^:\[\]]*)(?::\d+)?):(.*)", re.DOTALL)


class AdbFailure(ClawperatorException):
    """The request is answered with FAIL and this text."""


class DeviceNotFound(AdbFailure):
    """No device matches the selector."""


# Framing


def read_request(sock: socket.socket) -> bytes | None:
    """The next request; None when the client closed the connection. ``AdbFailure`` when it is malformed."""
    deadline = time.monotonic() + REQUEST_SECONDS
    length = _read(sock, 4, deadline)
    if not length:
        return None
    try:
        size = int(length, 16) if length.isalnum() else -1
    except ValueError:
        size = -1
    if size < 0 or len(length) < 4:
        raise AdbFailure("not a request")
    request = _read(sock, size, deadline)
    return request if len(request) == size else None


def _read(sock: socket.socket, size: int, deadline: float) -> bytes:
    data = b""
    while len(data) < size:
        sock.settimeout(max(deadline - time.monotonic(), 0.001))
        more = sock.recv(size - len(data))
        if not more:
            break
        data += more
    return data


def text(value: str | bytes) -> bytes:
    """A text with its length before it, cut to the longest that four digits can express."""
    data = (value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value)[:MAX_REQUEST]
    return b"%04x%s" % (len(data), data)


def okay(value: str) -> bytes:
    return b"OKAY" + text(value)


def fail(reason: str) -> bytes:
    return b"FAIL" + text(reason)


# Devices


class DeviceSelector(msgspec.Struct, frozen=True):
    """Which device a client means: any, any on ``usb`` or ``local``, or the one with a serial or transport id."""

    kind: str = "any"
    value: str = ""


class DeviceList:
    """The devices of a server, each with a transport id that it keeps."""

    def __init__(self, devices: Callable[[], Sequence[AdbDevice]]) -> None:
        self._devices = devices
        self._lock = threading.Lock()
        self._ids: dict[str, int] = {}

    def transport_id(self, device: AdbDevice) -> int:
        with self._lock:
            return self._ids.setdefault(device.serial, len(self._ids) + 1)

    def find(self, selector: DeviceSelector) -> AdbDevice:
        """The one device that matches, in any state. ``AdbFailure`` when there is none, or more than one."""
        devices = list(self._devices())
        if selector.kind == "usb":
            raise DeviceNotFound("no devices found")
        if selector.kind == "serial":
            found = [device for device in devices if device.serial == selector.value]
            missing = f"device '{selector.value}' not found"
        elif selector.kind == "id":
            found = [device for device in devices if str(self.transport_id(device)) == selector.value]
            missing = f"no device with transport id '{selector.value}'"
        else:
            found = devices
            missing = "no emulators found" if selector.kind == "local" else "no devices/emulators found"
        if not found:
            raise DeviceNotFound(missing)
        if len(found) > 1:
            kind = "emulator" if selector.kind == "local" else "device/emulator"
            raise AdbFailure(f"more than one {kind}")
        return found[0]

    def find_ready(self, selector: DeviceSelector) -> AdbDevice:
        """The one device that matches. ``AdbFailure`` also when it is offline or unauthorized."""
        device = self.find(selector)
        state = device.state()
        if state != "device":
            raise AdbFailure(_UNAUTHORIZED if state == "unauthorized" else "device offline")
        return device

    def split_serial(self, rest: str) -> tuple[str, str]:
        """A serial and what follows it. Serials may hold colons, so known serials are tried first."""
        for device in self._devices():
            if rest.startswith(device.serial + ":"):
                return device.serial, rest[len(device.serial) + 1 :]
        match = _SERIAL.fullmatch(rest)
        if match is None:
            raise AdbFailure("malformed serial")
        return match[1], match[2]

    def listing(self, *, long: bool) -> str:
        """The text of ``adb devices``, or of ``adb devices -l``."""
        return "".join(self._line(device, long=long) for device in self._devices())

    def _line(self, device: AdbDevice, *, long: bool) -> str:
        state = device.state()
        if not long:
            return f"{device.serial}\t{state}\n"
        facts = []
        if state == "device":
            properties = dict(part.partition("=")[::2] for part in device.banner().rpartition("::")[2].split(";"))
            for label, name in (("product", "name"), ("model", "model"), ("device", "device")):
                value = re.sub(r"[^A-Za-z0-9]", "_", properties.get(f"ro.product.{name}", ""))
                facts.append(f"{label}:{value}")
        return " ".join([f"{device.serial:<22} {state}", *facts, f"transport_id:{self.transport_id(device)}\n"])
