"""``doctor``: check this computer, the device and the Operator, in this order, and fix some problems."""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Literal

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from clawperator._base.config import setting
from clawperator.contract.wire import OPERATOR_PACKAGE
from clawperator.device.adb.binary import run_adb, start_server
from clawperator.device.adb.client import Device, target_flags
from clawperator.device.adb.server import adb_endpoint, can_start
from clawperator.device.discovery import resolve_device, simulated_phones
from clawperator.device.run.host_log import Level, log_event
from clawperator.device.settings import find_operator
from clawperator.device.setup import device_checks, host_checks
from clawperator.device.setup.host_checks import Check
from clawperator.device.setup.install import restart_service, write_setting
from clawperator.device.vendors import Vendor
from clawperator.errors import ClawError

# A service that was just turned on needs a moment before it responds.
_ANSWER_TRIES = 4
_ANSWER_PAUSE = 0.4
_KILL_SECONDS = 10
_ADVISORY = ("readiness.settings.", device_checks.VENDOR_CHECK)
# Critical checks after whose failure the next checks still run.
_CONTINUE_AFTER = ("device.capability", "readiness.apk.presence")
_UNSUPPORTED = "ANDROID_VERSION_UNSUPPORTED"
_LEVELS: Mapping[str, Level] = {"pass": "debug", "warn": "warn", "fail": "error"}


class Repair(Struct, frozen=True, omit_defaults=True):
    """A fix that ``--fix`` applied."""

    checkId: str
    did: str
    ok: bool
    error: str | None = None


class Report(Struct, frozen=True, kw_only=True):
    """The results. ``repairs`` were applied before these checks ran. ``backend`` is the one that works."""

    ok: bool
    criticalOk: bool
    backend: Literal["operator", "adb"] | UnsetType = UNSET
    deviceId: str | UnsetType = UNSET
    operatorPackage: str
    checks: list[Check]
    repairs: list[Repair] | UnsetType = UNSET
    nextActions: list[str] | UnsetType = UNSET


def is_critical(check: Check) -> bool:
    return not check.id.startswith(_ADVISORY)


def run_doctor(
    serial: str | None,
    package: str | None,
    *,
    full: bool = False,
    fix: bool = False,
    timeout_ms: float = device_checks.HANDSHAKE_MS,
) -> Report:
    """Run the checks up to the first critical failure. With ``fix``, apply known fixes and run them again.

    Without a ``package`` the checks are about the enabled Operator, or else about the released one. A device
    without an Operator is ready when plain adb works, unless the caller or a setting asks for an Operator.
    ``timeout_ms`` is the time limit for the Operator's response.
    """
    if serial is None and (chosen_by := setting("device")) is not None:
        serial = str(chosen_by.value)
    examination = _Examination(serial, package, timeout_ms, full=full)
    found = examination.run()
    repairs: list[Repair] | UnsetType = UNSET
    if fix:
        repairs = list(_repair(found, examination.device, examination.package))
        if repairs:
            examination = _Examination(serial, package, timeout_ms, full=full, tries=_ANSWER_TRIES)
            found = examination.run()
    chosen = examination.serial
    for check in found:
        facts = {"status": check.status, "code": check.code, "deviceId": chosen}
        log_event("doctor.check", check.id, level=_LEVELS[check.status], **facts)
    which = "" if chosen is None else f" {target_flags(chosen, package or OPERATOR_PACKAGE)}"
    is_well = not any(check.status == "fail" and is_critical(check) for check in found)
    log_event("doctor.finished", status="ready" if is_well else "not ready", deviceId=chosen)
    return Report(
        ok=is_well,
        criticalOk=is_well,
        backend=examination.backend if is_well else UNSET,
        operatorPackage=examination.package,
        checks=found,
        deviceId=chosen if chosen is not None else UNSET,
        repairs=repairs,
        nextActions=_next_actions(found, which, by_adb=is_well and examination.backend == "adb") or UNSET,
    )


class _Examination:
    """One run of the checks. Keeps the device it found."""

    def __init__(
        self, serial: str | None, named: str | None, timeout_ms: float, *, full: bool, tries: int = 1
    ) -> None:
        self.serial = serial
        self.device: Device | None = None
        self._named = named
        self.backend: Literal["operator", "adb"] | UnsetType = UNSET
        self.package = named or OPERATOR_PACKAGE
        self._timeout_ms = timeout_ms
        self._full = full
        self._tries = tries

    def run(self) -> list[Check]:
        found: list[Check] = []
        for check in self._checks():
            found.append(check)
            if check.status != "fail" or not is_critical(check):
                continue
            if check.id not in _CONTINUE_AFTER or check.code == _UNSUPPORTED:
                break
        return found

    def _checks(self) -> Iterator[Check]:
        simulated = self._chosen_simulated()
        yield host_checks.check_python()
        yield host_checks.check_adb(simulated)
        yield host_checks.check_server(simulated)
        built = False
        if self._full:
            yield host_checks.check_java()
            yield (assembly := host_checks.check_assembly(os.curdir))
            built = assembly.status == "pass"
        discovery, serial = device_checks.discover(self.serial, simulated)
        yield discovery
        if serial is None:
            return
        self.serial = serial
        try:
            self.device = resolve_device(serial)
        except ClawError as e:  # it was disconnected meanwhile
            yield host_checks.failed_check(discovery.id, e)
            return
        self.package = find_operator(self.device, self._named)
        if built:
            yield host_checks.check_installation(self.device, os.curdir)
            yield host_checks.check_launch(self.device, self.package)
        yield from self._phone_checks(self.device)

    def _phone_checks(self, device: Device) -> Iterator[Check]:
        capability, facts = device_checks.check_capability(device)
        yield capability
        if facts is not None:
            yield device_checks.check_vendor(device, facts)
        presence = device_checks.check_presence(device, self.package)
        if presence.code == "OPERATOR_NOT_INSTALLED" and not self._asks_for_operator():
            plain = device_checks.check_plain_adb(device)
            if plain.status != "fail":
                self.backend = "adb"
                presence = replace(presence, status="warn")
            yield presence
            yield plain
        else:
            yield presence
        compatible = False
        if presence.status == "pass":
            yield (versions := device_checks.check_compatibility(device, self.package))
            compatible = versions.status != "fail"
        yield from device_checks.check_settings(device)
        vendor = facts.vendor if facts is not None else None
        if presence.status == "pass":
            check = device_checks.check_restricted_settings
            if facts is not None and (restricted := check(device, self.package, facts.api)) is not None:
                yield restricted
            yield device_checks.check_log(device, vendor)
        if compatible:
            yield (handshake := self._handshake(device, vendor))
            if handshake.status == "pass":
                self.backend = "operator"
            if self._full and handshake.status == "pass":
                yield device_checks.check_smoke(device, self.package)

    def _asks_for_operator(self) -> bool:
        chosen = setting("backend")
        return self._named is not None or (chosen is not None and chosen.value == "operator")

    def _handshake(self, device: Device, vendor: Vendor | None) -> Check:
        check = device_checks.check_handshake(device, self.package, self._timeout_ms, vendor)
        for _ in range(self._tries - 1):
            if check.status != "fail":
                break
            time.sleep(_ANSWER_PAUSE)
            check = device_checks.check_handshake(device, self.package, self._timeout_ms, vendor)
        return check

    def _chosen_simulated(self) -> str | None:
        """The serial of the chosen device if it is a simulated phone."""
        phones = simulated_phones()
        if self.serial is not None:
            return self.serial if self.serial in phones else None
        return next(iter(phones), None)


# Fixes


def _repair(found: list[Check], device: Device | None, package: str) -> Iterator[Repair]:
    for check in found:
        fix = _FIXES.get(check.code or "") if check.status != "pass" else None
        if fix is None:
            continue
        did, apply = fix
        try:
            apply(check, device, package)
        except ClawError as e:
            yield Repair(check.id, did, False, f"{e.code}: {e.message}")
        else:
            yield Repair(check.id, did, True)
        log_event("doctor.fix", did, deviceId=device.serial if device else None)


def _restart_server(_: Check, __: Device | None, ___: str) -> None:
    if can_start(adb_endpoint()):  # others may use the server of another computer
        run_adb("kill-server", seconds=_KILL_SECONDS)
    start_server()


def _restart_operator(_: Check, device: Device | None, package: str) -> None:
    if device is not None:
        restart_service(device, package)


def _turn_on(check: Check, device: Device | None, _: str) -> None:
    if device is not None:
        write_setting(device, "global", device_checks.SETTINGS[check.id][0], "1")


_FIXES: Mapping[str, tuple[str, Callable[[Check, Device | None, str], None]]] = {
    "ADB_SERVER_FAILED": ("restarted the adb server", _restart_server),
    "DEVICE_ACCESSIBILITY_NOT_RUNNING": ("turned the accessibility service off and on", _restart_operator),
    "RESULT_ENVELOPE_TIMEOUT": ("turned the accessibility service off and on", _restart_operator),
    "DEVICE_DEV_OPTIONS_DISABLED": ("turned on developer options", _turn_on),
    "DEVICE_USB_DEBUGGING_DISABLED": ("turned on USB debugging", _turn_on),
}


# Next actions, and the report as text


def _next_actions(found: list[Check], which: str, *, by_adb: bool) -> list[str]:
    """Each step once, in the order of the checks; when everything passed or plain adb works, what to try first.

    ``which`` holds the flags that choose the device and the Operator.
    """
    steps = [f"clawperator open com.android.settings{which}"] if by_adb else []
    for check in found:
        if check.status == "pass":
            continue
        steps += [step.value for step in check.fix.steps] if check.fix else []
        if check.deviceGuidance:
            steps.append(f"On the device: {check.deviceGuidance.screen}")
    if not steps:
        steps = [f"clawperator snapshot{which}", "clawperator help"]
    return list(dict.fromkeys(steps))


def report_text(report: Report) -> str:
    """The report as text: critical checks, advice, and next actions."""
    critical = [check for check in report.checks if is_critical(check)]
    advice = [check for check in report.checks if not is_critical(check)]
    open_ = [check for check in advice if check.status != "pass"]
    lines = ["Clawperator doctor", "", "Critical", *_lines(critical)]
    if open_:
        lines += ["", "Advisory", *_lines(open_)]
    if len(open_) < len(advice):
        lines += ["", f"{len(advice) - len(open_)} more passed."]
    if isinstance(report.repairs, list):
        lines += ["", "Repairs", *(_repair_line(repair) for repair in report.repairs or ())]
        lines += [] if report.repairs else ["  No automatic fix is available."]
    by_adb = f" by plain adb ({', '.join(device_checks.PLAIN_ADB_LACKS)})" if report.backend == "adb" else ""
    lines += ["", f"Overall: {'ready' + by_adb if report.criticalOk else 'not ready'}"]
    if isinstance(report.nextActions, list):
        lines += ["", "Next actions", *(f"  {i}. {step}" for i, step in enumerate(report.nextActions, 1))]
    return "\n".join(lines)


def _lines(found: list[Check]) -> Iterator[str]:
    marks = {"pass": "[OK]", "warn": "[WARN]", "fail": "[FAIL]"}
    for check in found:
        code = f" ({check.code})" if check.code else ""
        yield f"  {marks[check.status]:<6} {check.id}: {check.summary}{code}"
        if check.detail:
            yield f"         {check.detail}"


def _repair_line(repair: Repair) -> str:
    error = f"; {repair.error}" if repair.error else ""
    return f"  {'[OK]' if repair.ok else '[FAIL]':<6} {repair.checkId}: {repair.did}{error}"
