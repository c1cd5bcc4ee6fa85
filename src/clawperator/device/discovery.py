"""Device discovery: running simulated phones, and the devices of the adb server; whether a device is awake."""

import re
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

from msgspec import Struct

from clawperator._base.config import setting
from clawperator._base.deadline import Deadline
from clawperator._base.home import SERIAL, PhoneFolder, PhoneRecord, phone_folders
from clawperator._base.notes import note, show_status, trace
from clawperator._base.text import one_line
from clawperator.device.adb.client import (
    NO_SERIAL,
    Device,
    Endpoint,
    adb_flag,
    device_flag,
    is_serial,
    run_shell,
    shell_word,
)
from clawperator.device.adb.server import NoServerError, adb_endpoint, ask_server, server_failed
from clawperator.errors import ClawError

READY = "device"
# adb leaves these states by itself within seconds.
PASSING = ("authorizing", "connecting")
# How long to wait for a device that adb is just connecting to.
_PASSING_SECONDS = 3.0
_POLL_SECONDS = 0.2
_MAX_STATE = 200
_MAX_SHOWN = 3
_PATH_SECONDS = 2.0
_USB = "usb:"
_AMBIGUOUS = "MULTIPLE_DEVICES_DEVICE_ID_REQUIRED"
_CONNECT = "Run 'clawperator phone start' for a simulated phone, or connect a device with USB debugging on."
_MODEL = re.compile(r" model:([^ ]+)")
_PATH = re.compile(r" (usb:[^ ]+)(?: |$)")
# Serials of devices on the network: host:port, and the names of the mDNS services _adb-tls-connect and _adb.
_WIRELESS = re.compile(r"(?:\[[^\]]+\]|[^:\[\]]+):[0-9]{1,5}|.*\._adb(?:-tls-connect)?\._tcp\.?(?:local\.?)?")
_WAKE_SECONDS = 5.0
_WAKEFULNESS = re.compile(r"mWakefulness=(\w{1,32})")


class _Row(Struct, frozen=True):
    """A device of an adb server: the serial that selects it, and the one that adb reports."""

    serial: str
    state: str
    reported: str
    path: str = ""


class ListedDevice(Struct, frozen=True):
    """A device as ``adb devices`` lists it."""

    serial: str
    state: str


def is_wireless(serial: str) -> bool:
    """Whether adb reaches the device with this serial over the network, not over USB."""
    return _WIRELESS.fullmatch(serial) is not None


def simulated_phones() -> dict[str, PhoneRecord]:
    """The running simulated phones, by serial."""
    running = ((folder.read(), folder) for folder in phone_folders())
    return {record.serial: record for record, folder in running if record and folder.state() == "running"}


def simulated_endpoint(record: PhoneRecord) -> Endpoint:
    return Endpoint(record.host, record.server_port, simulated=True)


def list_devices() -> list[ListedDevice]:
    """All devices with their states.

    ``ADB_NOT_FOUND`` without adb, and ``ADB_SERVER_FAILED`` without an answer of its server, unless a simulated
    phone runs: then a note is sent.
    """
    simulated = simulated_phones()
    found = [device for record in simulated.values() for device in _simulated_devices(record)]
    return found + [ListedDevice(row.serial, row.state) for row in _adb_rows(simulated)]


def device_models() -> dict[str, str]:
    """The models of devices, by serial, as far as their servers know them."""
    models: dict[str, str] = {}
    for endpoint in (*map(simulated_endpoint, simulated_phones().values()), adb_endpoint()):
        with suppress(ClawError, NoServerError):
            for line in ask_server(endpoint, "host:devices-l", seconds=_PATH_SECONDS).split("\n"):
                if found := _MODEL.search(line):
                    models[line.partition(" ")[0]] = one_line(found[1].replace("_", " "), _MAX_STATE)
    return models


def resolve_device(serial: str | None) -> Device:
    """The device with this serial, or the user's setting, or the only ready one."""
    device, reason = _resolve(serial)
    kind = "simulated phone" if device.endpoint.simulated else "device"
    trace(f"{kind} {device.serial} by {reason}, adb server {device.endpoint.address}")
    return device


def _resolve(serial: str | None) -> tuple[Device, str]:
    """The device, and how it was chosen."""
    if serial is not None:
        return _named(serial), "--device"
    if (chosen := setting("device")) is not None:
        return _named(str(chosen.value), chosen.origin), chosen.origin
    simulated = simulated_phones()
    ready = [Device(record.serial, simulated_endpoint(record)) for record in simulated.values()]
    rows = _adb_rows(simulated) if ready else _when_connected(lambda: _adb_rows(simulated))
    ready += [Device(row.serial, adb_endpoint()) for row in rows if row.state == READY]
    if len(ready) == 1:
        return ready[0], "default: the only one"
    raise _several([device.serial for device in ready]) if ready else _none(rows)


def _named(serial: str, origin: str = "") -> Device:
    """The device with this serial. ``origin`` is the setting that names it, if no caller does."""
    set_by = f" (set by {origin})" if origin else ""
    if not is_serial(serial):
        message = f"invalid device serial {serial!r}{set_by}"
        hint = "Run 'clawperator devices' to list serials."
        raise ClawError("DEVICE_NOT_FOUND", message, hint=hint, target=serial)
    if SERIAL.fullmatch(serial):
        folder = PhoneFolder(serial)
        record = folder.read() if folder.exists() else None
        if record is not None and folder.state() == "running":
            return Device(serial, simulated_endpoint(record))
    simulated = simulated_phones()
    others: list[_Row] = []

    def list_named() -> list[_Row]:
        rows = _list_adb(start=True, with_paths=serial.startswith(_USB))
        others[:] = rows
        return [row for row in rows if serial in (row.serial, row.reported, row.path)]

    try:
        found = _when_connected(list_named)
    except ClawError as e:
        if e.code != "ADB_NOT_FOUND" or not simulated:
            raise
        found = []  # with simulated phones and no adb, the name is wrong, not adb missing
    if len(found) > 1:
        raise _same_serial(serial, found)
    connected = (*simulated, *(row.serial for row in others if row.state == READY))
    if not found:
        raise _not_connected(serial, set_by, connected)
    if found[0].state != READY:
        from clawperator.device.device_states import not_ready  # only errors need it

        raise not_ready(serial, found[0].state, connected)
    return Device(found[0].serial, adb_endpoint())


def _when_connected(list_rows: Callable[[], list[_Row]]) -> list[_Row]:
    """The rows when one of them is ready, or when none of them is about to be."""
    deadline = Deadline(_PASSING_SECONDS)
    while True:
        rows = list_rows()
        passing = [row for row in rows if row.state in PASSING]
        if not passing or deadline.is_over or any(row.state == READY for row in rows):
            return rows
        show_status(f"waiting: device {passing[0].serial} is {passing[0].state}")
        time.sleep(deadline.within(_POLL_SECONDS))


# Listing


def _simulated_devices(record: PhoneRecord) -> list[ListedDevice]:
    try:
        rows = _list(simulated_endpoint(record))
    except (ClawError, NoServerError):
        rows = []
    return [ListedDevice(row.serial, row.state) for row in rows] or [ListedDevice(record.serial, "offline")]


def _adb_rows(simulated: dict[str, PhoneRecord]) -> list[_Row]:
    """The devices of the adb server, without simulated phones that are connected to it."""
    known = {f"{record.host}:{record.adbd_port}" for record in simulated.values()}
    try:
        rows = _list_adb(start=not simulated)
    except ClawError as e:
        if not simulated:
            raise
        note(f"devices other than simulated phones are left out: {e.message}. {e.hint}")
        return []
    return [row for row in rows if row.serial not in known]


def _list_adb(*, start: bool, with_paths: bool = False) -> list[_Row]:
    """The devices of the adb server, which is started if needed and ``start`` is set."""
    endpoint = adb_endpoint()
    try:
        return _list(endpoint, with_paths=with_paths)
    except NoServerError:
        if not start:
            return []
    from clawperator.device.adb.binary import start_server

    start_server()
    try:
        return _list(endpoint, with_paths=with_paths)
    except NoServerError:
        hint = "Run 'adb start-server' to see why."
        raise server_failed(endpoint, "was started, but does not run", hint) from None


def _list(endpoint: Endpoint, *, with_paths: bool = False) -> list[_Row]:
    """The devices that a server lists, each by a serial that can be used.

    A serial that several devices have, or that adb does not know, cannot select a device: its USB path can.
    """
    reported = [_split(line) for line in ask_server(endpoint, "host:devices").split("\n") if line]
    names = [serial for serial, _ in reported]
    unusable = {
        name for name, count in Counter(names).items() if count > 1 or name == NO_SERIAL or not is_serial(name)
    }
    paths = _usb_paths(endpoint, names) if with_paths or unusable else [""] * len(names)
    rows = []
    for (serial, state), path in zip(reported, paths, strict=True):
        rows.append(_Row((path if serial in unusable else "") or serial, state, serial, path))
    left_out = [row.serial for row in rows if not is_serial(row.serial)]
    if left_out:
        _note_left_out(left_out)
    return [row for row in rows if is_serial(row.serial)]


_noted: set[tuple[str, ...]] = set()


def _note_left_out(serials: list[str]) -> None:
    """Send a note once for the same devices: some commands list them again and again."""
    key = tuple(serials)
    if key not in _noted:
        _noted.add(key)
        shown = ", ".join(repr(serial[:_MAX_STATE]) for serial in serials[:_MAX_SHOWN])
        more = f" and {len(serials) - _MAX_SHOWN} more" if len(serials) > _MAX_SHOWN else ""
        note(f"devices with a serial that cannot be used are left out: {shown}{more}")


def _split(line: str) -> tuple[str, str]:
    serial, tab, state = line.rpartition("\t")
    return (serial, one_line(state, _MAX_STATE) or "unknown") if tab else (line, "unknown")


def _usb_paths(endpoint: Endpoint, names: list[str]) -> list[str]:
    """The USB paths of the listed devices; empty for those that have none."""
    lines: list[str] = []
    with suppress(ClawError, NoServerError):  # without paths, devices with a serial of their own can be used
        answer = ask_server(endpoint, "host:devices-l", seconds=_PATH_SECONDS)
        lines = [line for line in answer.split("\n") if line]
    if len(lines) != len(names):  # a device was connected or disconnected meanwhile
        return [""] * len(names)
    found = (_PATH.search(line.removeprefix(name)) for line, name in zip(lines, names, strict=True))
    return [path[1] if path and is_serial(path[1]) else "" for path in found]


# Errors


def _not_connected(serial: str, set_by: str, connected: tuple[str, ...]) -> ClawError:
    hint = "Run 'clawperator phone start' for a simulated phone."
    if connected:
        hint = f"Use one of: {', '.join(map(shell_word, connected))}."
    message = f"device {serial} is not connected{set_by}"
    return _error("DEVICE_NOT_FOUND", message, hint, serial, connected=[*connected])


def _same_serial(serial: str, rows: list[_Row]) -> ClawError:
    paths = [row.path for row in rows if row.path]
    hint = "Disconnect all but one of them."
    if paths:
        hint = f"Choose one by its USB path, for example {shell_word(paths[0])}."
    return _error(_AMBIGUOUS, f"{len(rows)} devices have the serial {serial}", hint, serial, devices=paths)


def _none(rows: list[_Row]) -> ClawError:
    if len(rows) == 1:
        from clawperator.device.device_states import not_ready

        return not_ready(rows[0].serial, rows[0].state)
    if not rows:
        return _error("NO_DEVICES", "no device is connected", _CONNECT)
    states = ", ".join(f"{row.serial} is {row.state}" for row in rows)
    hint = f"Run 'clawperator doctor {device_flag(rows[0].serial)}' for what it needs."
    devices = [{"serial": row.serial, "state": row.state} for row in rows]
    return _error("NO_DEVICES", f"no connected device is ready: {states}", hint, devices=devices)


def _several(serials: list[str]) -> ClawError:
    hint = f"Choose one of the devices, for example {shell_word(serials[0])}."
    return _error(_AMBIGUOUS, f"several devices are connected: {', '.join(serials)}", hint, devices=serials)


def _error(code: str, message: str, hint: str, target: str = "", **details: object) -> ClawError:
    return ClawError(code, message, hint=hint, details=details or None, operation="connect", target=target)


def known_device(serial: str | None) -> Device | None:
    """The named or set device, or the only simulated phone. The adb server is not started to find one."""
    if serial is not None or setting("device") is not None:
        return resolve_device(serial)
    simulated = list(simulated_phones().values())
    return Device(simulated[0].serial, simulated_endpoint(simulated[0])) if len(simulated) == 1 else None


def require_awake(device: Device) -> None:
    """``DEVICE_NOT_INTERACTIVE`` when the device reports that it is asleep."""
    found = _WAKEFULNESS.search(run_shell(device, "dumpsys power", seconds=_WAKE_SECONDS).text)
    if found is not None and found[1] in ("Asleep", "Dozing"):
        code, serial, message = "DEVICE_NOT_INTERACTIVE", device.serial, f"device {device.serial} is asleep"
        hint = f"Run 'adb {adb_flag(serial)} shell input keyevent WAKEUP', or press its power button."
        details = {"deviceId": serial, "wakefulness": found[1]}
        raise ClawError(code, message, hint=hint, details=details, operation="wake", target=serial)
