"""Device discovery: running simulated phones, and the devices of the adb server."""

import re
from collections.abc import Iterator

from msgspec import Struct

from clawperator._deadline import Deadline
from clawperator._home import SERIAL, PhoneFolder, PhoneRecord, phone_folders
from clawperator._notes import trace
from clawperator._settings import setting
from clawperator._text import one_line
from clawperator.device.adb.client import Connection, Device, Endpoint, not_ready
from clawperator.device.adb.server import adb_endpoint
from clawperator.device.serials import device_flag
from clawperator.errors import ClawError, RefusedError

_LIST_SECONDS = 5.0
_MAX_STATE = 120
# Serials as adb has them: USB serials, emulator-5554, host:port, IPv6 in brackets.
_SERIAL = re.compile(r"[A-Za-z0-9._:\[\]%()-]{1,128}")


class ListedDevice(Struct, frozen=True):
    """A device as ``adb devices`` lists it."""

    serial: str
    state: str


def simulated_phones() -> dict[str, PhoneRecord]:
    """The running simulated phones, by serial."""
    found = {}
    for folder in phone_folders():
        record = folder.read()
        if record is not None and folder.state() == "running":
            found[record.serial] = record
    return found


def simulated_endpoint(record: PhoneRecord) -> Endpoint:
    return Endpoint(record.host, record.server_port, simulated=True)


def list_devices() -> list[ListedDevice]:
    """All devices with their states. ``ADB_NOT_FOUND`` without adb and without a simulated phone."""
    simulated = simulated_phones()
    found: list[ListedDevice] = []
    for record in simulated.values():
        found += _list(simulated_endpoint(record)) or [ListedDevice(record.serial, "offline")]
    return found + _adb_devices(simulated)


def resolve_device(serial: str | None) -> Device:
    """The device with this serial, or the user's setting, or the only ready one."""
    device, reason = _resolve(serial)
    kind = "simulated phone" if device.endpoint.simulated else "device"
    trace(f"{kind} {device.serial} by {reason}, adb server {device.endpoint.host}:{device.endpoint.port}")
    return device


def _resolve(serial: str | None) -> tuple[Device, str]:
    """The device, and how it was chosen."""
    if serial is not None:
        return _named(serial), "--device"
    if (chosen := setting("device")) is not None:
        return _named(str(chosen.value), chosen.origin), chosen.origin
    simulated = simulated_phones()
    ready = [Device(record.serial, simulated_endpoint(record)) for record in simulated.values()]
    states = _adb_devices(simulated)
    ready += [Device(listed.serial, adb_endpoint()) for listed in states if listed.state == "device"]
    if len(ready) == 1:
        return ready[0], "default: the only one"
    raise _several([device.serial for device in ready]) if ready else _none(states)


def _adb_devices(simulated: dict[str, PhoneRecord]) -> list[ListedDevice]:
    """The devices of the adb server, without simulated phones that are connected to it."""
    known = {f"{record.host}:{record.adbd_port}" for record in simulated.values()}
    return [device for device in _list_adb(start=not simulated) if device.serial not in known]


def _named(serial: str, origin: str = "") -> Device:
    """The device with this serial. ``origin`` is the setting that names it, if no caller does."""
    set_by = f" (set by {origin})" if origin else ""
    if not _SERIAL.fullmatch(serial):
        raise ClawError(
            "DEVICE_NOT_FOUND",
            f"invalid device serial {serial!r}{set_by}",
            hint="Run 'clawperator devices' to list serials.",
            target=serial,
        )
    if SERIAL.fullmatch(serial):
        folder = PhoneFolder(serial)
        record = folder.read() if folder.exists() else None
        if record is not None and folder.state() == "running":
            return Device(serial, simulated_endpoint(record))
    simulated = simulated_phones()
    try:
        listed = {device.serial: device.state for device in _list_adb(start=True)}
    except ClawError as e:
        if e.code != "ADB_NOT_FOUND" or not simulated:
            raise
        listed = {}  # with simulated phones and no adb, the name is wrong, not adb missing
    state = listed.get(serial)
    if state == "device":
        return Device(serial, adb_endpoint())
    if state is not None:
        raise not_ready(serial, state)
    connected = [*simulated, *(name for name, state in listed.items() if state == "device")]
    hint = (
        f"Use one of: {', '.join(connected)}."
        if connected
        else "Start a simulated phone with 'clawperator phone start'."
    )
    raise ClawError(
        "DEVICE_NOT_FOUND",
        f"device {serial} is not connected{set_by}",
        hint=hint,
        details={"connected": connected},
        operation="connect",
        target=serial,
    )


def _list(endpoint: Endpoint) -> list[ListedDevice] | None:
    """The devices that a server lists; None when it does not respond."""
    try:
        with Connection(endpoint, Deadline(_LIST_SECONDS)) as connection:
            connection.request("host:devices")
            return list(_read_list(connection.read_text()))
    except (OSError, RefusedError):
        return None


def _read_list(text: str) -> Iterator[ListedDevice]:
    for line in text.splitlines():
        serial, _, state = line.partition("\t")
        if _SERIAL.fullmatch(serial):
            yield ListedDevice(serial, one_line(state, _MAX_STATE) or "unknown")


def _list_adb(*, start: bool) -> list[ListedDevice]:
    """The devices of the adb server, which is started if needed and ``start`` is set."""
    listed = _list(adb_endpoint())
    if listed is not None:
        return listed
    if not start:
        return []
    from clawperator.device.adb.binary import start_server

    start_server()
    return _list(adb_endpoint()) or []


def _none(states: list[ListedDevice]) -> ClawError:
    if len(states) == 1:
        return not_ready(states[0].serial, states[0].state)
    return ClawError(
        "NO_DEVICES",
        "no device is connected" if not states else "no connected device is ready",
        hint="Start a simulated phone with 'clawperator phone start', or connect a device with USB debugging on.",
        details={"devices": [{"serial": d.serial, "state": d.state} for d in states]} if states else None,
        operation="connect",
    )


def _several(serials: list[str]) -> ClawError:
    return ClawError(
        "MULTIPLE_DEVICES_DEVICE_ID_REQUIRED",
        f"several devices are connected: {', '.join(serials)}",
        hint=f"Choose one, for example with '{device_flag(serials[0])}'.",
        details={"devices": serials},
        operation="connect",
    )
