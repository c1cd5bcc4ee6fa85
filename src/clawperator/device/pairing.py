"""Pairing with a device by wireless debugging, over the protocol of the adb server.

The pairing code is sent to the server on its socket. As an argument of the adb program other users could see it.
"""

import re
import time

from msgspec import UNSET, Struct, UnsetType

from clawperator._base.deadline import Deadline
from clawperator._base.notes import show_status
from clawperator._base.text import one_line
from clawperator.device.adb.binary import find_adb, run_adb, start_server
from clawperator.device.adb.client import Endpoint, device_flag
from clawperator.device.adb.server import NoServerError, adb_endpoint, ask_server, exchange, read_address
from clawperator.device.discovery import READY
from clawperator.device.run.host_log import log_event
from clawperator.errors import ClawError, RefusedError

PAIR_SECONDS = 30.0
_CONNECT_SECONDS = 30.0
# How long to wait for adb to find the paired device by itself.
_FOUND_SECONDS = 3.0
_POLL_SECONDS = 0.2
_MAX_CODE = 64
_OLDEST_ADB = 30
_GUID = re.compile(r"\[guid=([^\]]{1,100})\]")
_VERSION = re.compile(r"^Version (\d{1,4})[.\d]*", re.MULTILINE)
_REACH = "Check the address, and that both are in the same network."
_SHOWN = "On the device: Settings, Developer options, Wireless debugging"
_AGAIN = f"{_SHOWN}, 'Pair device with pairing code' shows a new code and a new port each time."


class PairedDevice(Struct, frozen=True, kw_only=True):
    """The result of ``pair``. ``guid`` is the device's name in the network.

    ``deviceId`` is its serial, if adb is connected to it now; else ``nextStep`` connects it.
    """

    paired: bool
    address: str
    guid: str | UnsetType = UNSET
    deviceId: str | UnsetType = UNSET
    nextStep: str


def check_address(text: str, what: str = "address") -> str:
    """An address as the device shows it. ``USAGE`` for anything but a host and a port."""
    if read_address(text) is None:
        message = f"invalid {what} {text!r}"
        hint = f"Write a host and a port, for example phone.local:37123 or [fe80::1]:37123. {_AGAIN}"
        raise ClawError("USAGE", message, hint=hint, operation="pair", target=text)
    return text


def check_code(text: str) -> str:
    """A pairing code without surrounding spaces. ``USAGE`` for a text that cannot be one; it is not repeated."""
    code = text.strip()
    if code and len(code) <= _MAX_CODE and code.isascii() and code.isprintable() and not set(code) & set(" :"):
        return code
    message = "no pairing code was given" if not code else "this is not a pairing code"
    hint = f"Type the six digits that the device shows, or pass them on stdin. {_AGAIN}"
    raise ClawError("USAGE", message, hint=hint, operation="pair")


def require_server() -> Endpoint:
    """The address of the adb server, which is started if needed."""
    endpoint = adb_endpoint()
    try:
        ask_server(endpoint, "host:version")
    except NoServerError:
        start_server()
    return endpoint


def pair_device(
    address: str, code: str, *, connect: str | None = None, seconds: float = PAIR_SECONDS
) -> PairedDevice:
    """Pair with the device at this address, and connect to it at the address ``connect``, if given.

    ``PAIRING_FAILED`` when the device refused the code or was not reached. Without ``connect`` adb connects by
    itself to a device that it finds in the network.
    """
    endpoint = require_server()
    show_status(f"pairing with {address}")
    guid = _pair(endpoint, address, code, seconds)
    log_event("device.paired", address=address, guid=guid)
    serial = _connect(endpoint, connect) if connect is not None else _found(endpoint, guid)
    return PairedDevice(
        paired=True,
        address=address,
        guid=guid or UNSET,
        deviceId=serial or UNSET,
        nextStep=_next_step(address, serial),
    )


def _pair(endpoint: Endpoint, address: str, code: str, seconds: float) -> str:
    """The device's name in the network; empty if the server does not report it."""
    try:
        answer = exchange(endpoint, f"host:pair:{code}:{address}", seconds=seconds)
    except NoServerError:
        raise _failed(address, "the adb server ended", "Run it again.") from None
    except RefusedError as e:
        answer = str(e)
        if "unknown host service" in answer:
            raise _too_old(address) from None
    except ClawError as e:
        if not isinstance(e.__cause__, TimeoutError):
            raise
        raise _failed(address, f"no answer within {seconds:g} s", f"{_REACH} {_AGAIN}") from None
    if "successfully paired" not in answer.lower():
        reason = one_line(answer.removeprefix("Failed: ").replace(code, "***"), 300)
        reason = reason or "the adb server gave no reason"
        check = "Check the code and the port." if "wrong password" in reason.lower() else _REACH
        raise _failed(address, reason, f"{check} {_AGAIN}")
    found = _GUID.search(answer)
    return one_line(found[1]) if found else ""


def _failed(address: str, reason: str, hint: str) -> ClawError:
    log_event("device.pairing_failed", level="warn", address=address, code="PAIRING_FAILED")
    message = f"pairing with {address} failed: {reason}"
    return ClawError("PAIRING_FAILED", message, hint=hint, operation="pair", target=address)


def _too_old(address: str) -> ClawError:
    """The error of an adb server that does not know pairing. It may be older than the installed program."""
    found = None
    if find_adb() is not None:
        output = run_adb("version", seconds=5, asks_server=False).stdout.decode("utf-8", "replace")
        found = _VERSION.search(output)
    if found is not None and int(found[1]) >= _OLDEST_ADB:
        return _failed(address, "the running adb server is too old to pair", "Run 'adb kill-server', then retry.")
    version = f"adb {found[0].removeprefix('Version ')}" if found else "this adb"
    hint = f"Install Android's platform-tools {_OLDEST_ADB} or newer, run 'adb kill-server', then retry. "
    hint += "Or connect the device by USB."
    return _failed(address, f"{version} is too old to pair; {_OLDEST_ADB} or newer is needed", hint)


# Connecting


def _connect(endpoint: Endpoint, address: str) -> str:
    """Connect to the device. Returns its serial, which is the address."""
    show_status(f"connecting to {address}")
    try:
        answer = exchange(endpoint, f"host:connect:{address}", seconds=_CONNECT_SECONDS)
    except (NoServerError, RefusedError) as e:
        answer = str(e) or "the adb server ended"
    except ClawError as e:
        if not isinstance(e.__cause__, TimeoutError):
            raise
        answer = f"no answer within {_CONNECT_SECONDS:g} s"
    if answer.lower().startswith(("connected to", "already connected to")):
        return address
    raise ClawError(
        "DEVICE_CONNECT_FAILED",
        f"the device is paired, but adb cannot connect to {address}: {one_line(answer, 300)}",
        hint=f"{_SHOWN} shows the address and the port to connect to; the port is not that of the pairing. "
        f"Then run 'adb connect' with it.",
        details={"paired": True, "address": address},
        operation="connect",
        target=address,
        after_effect=True,
    )


def _found(endpoint: Endpoint, guid: str) -> str | None:
    """The serial of the paired device when adb has found it in the network."""
    deadline = Deadline(_FOUND_SECONDS)
    while guid:
        try:
            lines = ask_server(endpoint, "host:devices").splitlines()
        except (ClawError, NoServerError):
            return None
        rows = (line.rpartition("\t") for line in lines)
        serial = next((name for name, _, state in rows if name.startswith(guid) and state == READY), None)
        if serial is not None or deadline.is_over:
            return serial
        time.sleep(deadline.within(_POLL_SECONDS))
    return None


def _next_step(address: str, serial: str | None) -> str:
    if serial is not None:
        return f"Run 'clawperator doctor {device_flag(serial)}'."
    # The port of a connection is not that of the pairing.
    command = f"adb connect {address.rpartition(':')[0]}:<port>"
    return f"Run '{command}' with the port that the device shows under Wireless debugging."
