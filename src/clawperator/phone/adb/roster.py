"""The phones a server knows: how a client names one, and how they are listed."""

import re
import threading
from collections.abc import Callable, Sequence

import msgspec

from clawperator.phone.adb.device import Device
from clawperator.phone.adb.smart_socket import Failure

_UNAUTHORIZED = (
    "device unauthorized.\nThis adb server's $ADB_VENDOR_KEYS is not set\n"
    "Try 'adb kill-server' if that seems wrong.\n"
    "Otherwise check for a confirmation dialog on your device."
)
# host:port, or anything without a colon.
_SERIAL = re.compile(r"((?:\[[^\]]*\]|[^:\[\]]*)(?::\d+)?):(.*)", re.DOTALL)


class Missing(Failure):
    """No phone is what the client wished for."""


class Wish(msgspec.Struct, frozen=True):
    """Which phone a client means: any, any on ``usb`` or ``local``, or the one with a serial or transport id."""

    kind: str = "any"
    value: str = ""


class Roster:
    """The phones of this moment, each with a number of its own that it keeps."""

    def __init__(self, devices: Callable[[], Sequence[Device]]) -> None:
        self._devices = devices
        self._lock = threading.Lock()
        self._numbers: dict[str, int] = {}

    def number(self, device: Device) -> int:
        """The transport id."""
        with self._lock:
            return self._numbers.setdefault(device.serial, len(self._numbers) + 1)

    def find(self, wish: Wish) -> Device:
        """The one phone that is meant, in whatever state. ``Failure`` when there is none, or more than one."""
        devices = list(self._devices())
        if wish.kind == "usb":
            raise Missing("no devices found")
        if wish.kind == "serial":
            found = [device for device in devices if device.serial == wish.value]
            missing = f"device '{wish.value}' not found"
        elif wish.kind == "id":
            found = [device for device in devices if str(self.number(device)) == wish.value]
            missing = f"no device with transport id '{wish.value}'"
        else:
            found = devices
            missing = "no emulators found" if wish.kind == "local" else "no devices/emulators found"
        if not found:
            raise Missing(missing)
        if len(found) > 1:
            raise Failure("more than one emulator" if wish.kind == "local" else "more than one device/emulator")
        return found[0]

    def find_ready(self, wish: Wish) -> Device:
        """The one phone that is meant, if it will talk."""
        device = self.find(wish)
        state = device.state()
        if state != "device":
            raise Failure(_UNAUTHORIZED if state == "unauthorized" else "device offline")
        return device

    def split_serial(self, rest: str) -> tuple[str, str]:
        """A serial and what follows it. Serials hold colons too, so those we know come first."""
        for device in self._devices():
            if rest.startswith(device.serial + ":"):
                return device.serial, rest[len(device.serial) + 1 :]
        match = _SERIAL.fullmatch(rest)
        if match is None:
            raise Failure("malformed serial")
        return match[1], match[2]

    def listing(self, *, long: bool) -> str:
        return "".join(self._line(device, long=long) for device in self._devices())

    def _line(self, device: Device, *, long: bool) -> str:
        state = device.state()
        if not long:
            return f"{device.serial}\t{state}\n"
        facts = []
        if state == "device":
            properties = dict(part.partition("=")[::2] for part in device.banner().rpartition("::")[2].split(";"))
            for label, name in (("product", "name"), ("model", "model"), ("device", "device")):
                value = re.sub(r"[^A-Za-z0-9]", "_", properties.get(f"ro.product.{name}", ""))
                facts.append(f"{label}:{value}")
        return " ".join([f"{device.serial:<22} {state}", *facts, f"transport_id:{self.number(device)}\n"])
