"""The compatibility report of ``doctor --report``: listed facts only, so that a user can publish it.

It has no serial, no address, no name of a user or an account, no packages and no text of the screen. A text of the
device is left out unless it has the form of its field, and when it contains the serial or looks like an address.
"""

import platform
import re
import time
from collections.abc import Callable
from functools import partial
from typing import Literal, TypeVar

from msgspec import Struct

from clawperator import __version__
from clawperator.contract.execution import new_command_id
from clawperator.contract.wire import OPERATOR_PACKAGES
from clawperator.device.adb.binary import run_adb
from clawperator.device.adb.client import Device, run_shell
from clawperator.device.adb.dumpsys import read_physical_ids
from clawperator.device.backends.adb import AdbDriver
from clawperator.device.backends.operator_link import has_finished
from clawperator.device.discovery import is_wireless, resolve_device
from clawperator.device.run.lease import lease
from clawperator.device.settings import enabled_operator
from clawperator.device.setup.device_checks import DeviceFacts, read_facts
from clawperator.device.setup.doctor import Report
from clawperator.device.setup.host_checks import Status
from clawperator.errors import CODES, ClawError

_SHELL_SECONDS = 15.0
_DUMP_SECONDS = 30.0
_LEASE_SECONDS = 5.0
_ADB_SECONDS = 5.0
_PYTHON_VERSION = re.compile(r"\d{1,3}(?:\.\d{1,3}){1,2}")
_ADB_VERSION = re.compile(r"version (\d{1,4}\.\d{1,4}\.\d{1,4})(?![\d.])")
_TOOLS_VERSION = re.compile(r"^Version (\d{1,4}\.\d{1,4}\.\d{1,4})(?![\d.])", re.MULTILINE)
_WORDS = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._+()/-]{0,39}")
_RELEASE = re.compile(r"[0-9]{1,2}(?:\.[0-9]{1,2}){0,2}|[A-Z][A-Za-z]{0,20}")
_DAY = re.compile(r"20[0-9]{2}-[0-9]{2}-[0-9]{2}")
_OPERATOR_VERSION = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9}){1,3}(?:-[A-Za-z0-9]{1,20})?")
_SIZE = re.compile(r"([0-9]{1,5})x([0-9]{1,5})")
_ADDRESS = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}|[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:]{2,}")
# Parts of serials that are long enough to identify a device.
_PART = re.compile(r"[A-Za-z0-9]{6,}")
_COMMON_PARTS = ("emulator", "connect", "localhost")
_SERIAL_PROPERTIES = ("ro.serialno", "ro.boot.serialno", "ro.ril.oem.imei", "ro.vendor.serialno")
_EMULATOR_HARDWARE = ("goldfish", "ranchu", "cuttlefish")

T = TypeVar("T")
Connection = Literal["usb", "wireless", "emulator", "simulated"]


class HostFacts(Struct, frozen=True):
    """This computer. ``adb`` is the protocol version of the program, ``platformTools`` that of its package."""

    os: str
    machine: str | None
    python: str | None
    adb: str | None
    platformTools: str | None


class DisplayFacts(Struct, frozen=True):
    """``count`` is the number of panels, where the device reports it."""

    width: int | None
    height: int | None
    density: int | None
    count: int | None


class ReportedDevice(Struct, frozen=True):
    """``system`` and ``systemVersion`` are the vendor's Android, such as One UI."""

    connection: Connection
    android: str | None
    api: int | None
    securityPatch: str | None
    manufacturer: str | None
    model: str | None
    system: str | None
    systemVersion: str | None
    display: DisplayFacts | None


class ReportedOperator(Struct, frozen=True):
    """``package`` is ``other`` for one that is not published with the Operator."""

    package: str
    version: str | None


class ReportedCheck(Struct, frozen=True):
    id: str
    status: Status
    code: str | None


class Timings(Struct, frozen=True):
    """Seconds of harmless commands: an empty shell command, and one dump of the screen with its number of nodes.

    ``dumpCode`` is the error code of a dump that failed.
    """

    shellSeconds: float | None
    dumpSeconds: float | None
    dumpNodes: int | None
    dumpCode: str | None


class CompatibilityReport(Struct, frozen=True):
    """The whole file of ``doctor --report``. Facts that are not known are null."""

    reportVersion: Literal[1]
    version: str
    host: HostFacts
    device: ReportedDevice | None
    backend: Literal["operator", "adb"] | None
    operator: ReportedOperator | None
    checks: list[ReportedCheck]
    timings: Timings | None


def make_report(report: Report) -> CompatibilityReport:
    """The compatibility report of the device that a doctor's report is about. Never raises for a device."""
    serial = report.deviceId
    device = _known(lambda: resolve_device(serial)) if isinstance(serial, str) else None
    facts = _known(lambda: read_facts(device)) if device is not None else None
    return CompatibilityReport(
        1,
        __version__,
        _host(),
        _reported_device(device, facts) if device is not None else None,
        # The backend that ``auto`` chooses.
        _known(lambda: "operator" if enabled_operator(device) else "adb") if device is not None else None,
        _operator(report),
        [ReportedCheck(one.id, one.status, one.code if one.code in CODES else None) for one in report.checks],
        _timings(device) if device is not None else None,
    )


def _known(ask: Callable[[], T]) -> T | None:
    """The answer; None when the device or adb does not give it."""
    try:
        return ask()
    except ClawError:
        return None


def _host() -> HostFacts:
    ran = _known(lambda: run_adb("version", seconds=_ADB_SECONDS, asks_server=False))
    output = "" if ran is None else ran.stdout.decode("utf-8", "replace")
    adb, tools = _ADB_VERSION.search(output), _TOOLS_VERSION.search(output)
    python = _PYTHON_VERSION.match(platform.python_version())
    machine = platform.machine()
    return HostFacts(
        platform.system() or "unknown",
        machine if _WORDS.fullmatch(machine) else None,
        python[0] if python else None,
        adb[1] if adb else None,
        tools[1] if tools else None,
    )


def _reported_device(device: Device, facts: DeviceFacts | None) -> ReportedDevice:
    properties = facts.properties if facts is not None else {}
    public = PublicTexts(device, facts)
    vendor = facts.vendor if facts is not None else None
    return ReportedDevice(
        _connection(device, facts),
        public.text(properties.get("ro.build.version.release"), _RELEASE),
        facts.api if facts is not None else None,
        public.text(properties.get("ro.build.version.security_patch"), _DAY),
        public.text(properties.get("ro.product.manufacturer"), _WORDS),
        public.text(properties.get("ro.product.model"), _WORDS),
        vendor.system if vendor is not None else None,
        public.text(vendor.version, _WORDS) if vendor is not None else None,
        _display(device, facts) if facts is not None else None,
    )


class PublicTexts:
    """Lets only those texts of a device into the report that identify neither it nor its owner."""

    def __init__(self, device: Device, facts: DeviceFacts | None) -> None:
        names = [device.serial, *(facts.properties.get(name, "") for name in _SERIAL_PROPERTIES if facts)]
        parts = {part.lower() for name in names for part in _PART.findall(name)}
        self._private = {name.lower() for name in names if len(name) > 3} | parts - set(_COMMON_PARTS)

    def text(self, value: str | None, form: re.Pattern[str]) -> str | None:
        if value is None or not form.fullmatch(value) or _ADDRESS.search(value):
            return None
        return None if any(part in value.lower() for part in self._private) else value


def _connection(device: Device, facts: DeviceFacts | None) -> Connection:
    properties = facts.properties if facts is not None else {}
    if device.endpoint.simulated:
        return "simulated"
    if (
        device.serial.startswith("emulator-")
        or "1" in (properties.get("ro.kernel.qemu"), properties.get("ro.boot.qemu"))
        or properties.get("ro.hardware") in _EMULATOR_HARDWARE
    ):
        return "emulator"
    return "wireless" if is_wireless(device.serial) else "usb"


def _display(device: Device, facts: DeviceFacts) -> DisplayFacts:
    size = _SIZE.fullmatch(facts.size)
    density = facts.density
    listed = _known(lambda: run_shell(device, "dumpsys SurfaceFlinger --display-id", seconds=_SHELL_SECONDS))
    return DisplayFacts(
        int(size[1]) if size else None,
        int(size[2]) if size else None,
        int(density) if density.isascii() and density.isdecimal() and len(density) < 5 else None,
        len(set(read_physical_ids(listed.text if listed else ""))) or None,
    )


def _operator(report: Report) -> ReportedOperator | None:
    checks = {check.id: check for check in report.checks}
    presence = checks.get("readiness.apk.presence")
    if presence is None or presence.status != "pass":
        return None
    evidence = getattr(checks.get("readiness.version.compatibility"), "evidence", None) or {}
    version = str(evidence.get("apkVersion", ""))
    package = report.operatorPackage if report.operatorPackage in OPERATOR_PACKAGES else "other"
    return ReportedOperator(package, version if _OPERATOR_VERSION.fullmatch(version) else None)


def _timings(device: Device) -> Timings:
    try:
        began = time.monotonic()
        run_shell(device, ":", seconds=_SHELL_SECONDS)
        shell = _since(began)
    except ClawError:
        return Timings(None, None, None, None)
    try:
        seconds, nodes = _timed_dump(device)
    except ClawError as e:
        return Timings(shell, None, None, e.code)
    return Timings(shell, seconds, nodes, None)


def _timed_dump(device: Device) -> tuple[float, int]:
    """The seconds and nodes of one dump, while no other command uses the device."""
    finished = partial(has_finished, device)
    with lease(device.serial, new_command_id("report-"), _LEASE_SECONDS, action="report", finished=finished):
        began = time.monotonic()
        tree = AdbDriver(device, seconds=_DUMP_SECONDS).dump()
        return _since(began), len(tree.nodes)


def _since(moment: float) -> float:
    return round(time.monotonic() - moment, 3)
