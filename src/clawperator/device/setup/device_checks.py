"""The checks of a device: connection, capabilities, switches of its vendor, settings, and the Operator."""

import time
from collections.abc import Mapping
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from clawperator._base.config import setting
from clawperator._base.text import one_line
from clawperator.contract.execution import Plan, new_command_id, new_execution, validate
from clawperator.contract.wire import accessibility_service
from clawperator.device.adb.client import Device, device_flag, run_shell, shell_error, shell_word, target_flags
from clawperator.device.backends.adb_screen import whole_output
from clawperator.device.backends.operator_link import deliver, has_finished
from clawperator.device.device_states import SUPPORTED, not_ready, read_api, require_supported
from clawperator.device.discovery import PASSING, READY, list_devices, resolve_device
from clawperator.device.run.lease import lease
from clawperator.device.run.run import run_plan
from clawperator.device.setup.host_checks import Check, Guidance, Status, Step, failed_check, passed, problem
from clawperator.device.setup.install import enabled_services, read_setting
from clawperator.device.setup.version_check import install_command, probe_compatibility, require_operator
from clawperator.device.users import user_line
from clawperator.device.vendors import Purpose, Vendor, parse_properties, recognise_vendor, switch_states
from clawperator.errors import ClawError
from clawperator.policy.gate import approve, approve_own

# Three commands, which take seconds each on a slow device.
_FACTS_SECONDS = 30.0
# The longest fact of a display.
_MAX_FACT = 100
_MARK = "properties listed"
_SCRIPT = f"getprop; echo '{_MARK}'; wm size; wm density"
HANDSHAKE_MS = 5_000
_SMOKE_MS = 10_000
_CAPTURE_MS = 30_000
# What a device without an Operator cannot do.
PLAIN_ADB_LACKS = ("no recording", "captures take seconds", "text as keys only")
_LEASE_SECONDS = 5.0
_SETTINGS = "com.android.settings"
_VERSION_CODES = ("VERSION_INCOMPATIBLE", "APK_VERSION_INVALID", "APK_VERSION_UNREADABLE")

_ALLOW = Guidance("Lock screen", ["Unlock the device.", "Accept the USB debugging dialog."])
_DEVELOPER = Guidance(
    "Settings, System, Developer options",
    ["Tap the build number in 'About phone' seven times.", "Turn on developer options and USB debugging."],
)
# What to do about a device that is not ready, by code.
_TITLES = {
    "ADB_NO_USB_PERMISSIONS": "Allow this user to open the USB device",
    "DEVICE_UNAUTHORIZED": "Authorize this computer",
    "DEVICE_CONNECTING": "Wait for the device",
    "DEVICE_NOT_BOOTED": "Start Android on the device",
}
_ACCESSIBILITY = Guidance("Settings, Accessibility", ["Choose Clawperator.", "Turn its service on."])
# The setting, its name for users, and the code when it is off.
SETTINGS = {
    "readiness.settings.dev_options": (
        "development_settings_enabled",
        "developer options",
        "DEVICE_DEV_OPTIONS_DISABLED",
    ),
    "readiness.settings.usb_debugging": ("adb_enabled", "USB debugging", "DEVICE_USB_DEBUGGING_DISABLED"),
}
VENDOR_CHECK = "device.vendor"
_VENDOR_SECONDS = 15.0
_RESTRICTED_API = 33
_RESTRICTED = "ACCESS_RESTRICTED_SETTINGS"
_PURPOSES: dict[Purpose, str] = {
    "input": "input",
    "grant": "a permission",
    "install": "an installation",
    "connection": "the connection",
    "log": "the log",
}
_LOG_SIZE = "Set 'Logger buffer sizes' in the developer options to 256K or more."
# What the log of a device contains when logging is switched off.
_LOG_OFF = ("log switch off", "unable to open log device", "logcat read failure")


class DeviceFacts(Struct, frozen=True):
    """The facts of one device. Texts are empty when it does not report them."""

    api: int
    model: str
    size: str
    density: str
    properties: Mapping[str, str]
    vendor: Vendor | None


def read_facts(device: Device) -> DeviceFacts:
    """Ask a device in one round trip. ``DEVICE_SHELL_UNAVAILABLE`` when it does not report its Android version."""
    answer = run_shell(device, _SCRIPT, seconds=_FACTS_SECONDS)
    listed, _, display = answer.text.partition(_MARK)
    properties = parse_properties(listed)
    api = read_api(properties.get("ro.build.version.sdk", ""))
    if api is None:
        message = f"device {device.serial} does not report its Android version: {answer.complaint}"
        raise shell_error(device, message, hint="Retry when the device has booted.")
    lines = display.splitlines()
    return DeviceFacts(
        api,
        properties.get("ro.product.model", ""),
        _value(lines, " size:"),
        _value(lines, " density:"),
        properties,
        recognise_vendor(properties),
    )


def _value(lines: list[str], name: str) -> str:
    """The value after a name. An override, where there is one, comes after the physical value."""
    found = next((line for line in reversed(lines) if name in line.lower()), "")
    return one_line(found.partition(":")[2].strip(), _MAX_FACT)


def discover(serial: str | None, simulated: str | None = None) -> tuple[Check, str | None]:
    """Check that the chosen device is ready, and return its serial. ``simulated`` is that of a simulated phone."""
    id_ = "device.discovery"
    try:
        listed = list_devices()
    except ClawError as e:
        return failed_check(id_, e), None
    ready = [device.serial for device in listed if device.state == READY]
    if serial is None and len(ready) > 1:
        code, summary = "MULTIPLE_DEVICES_DEVICE_ID_REQUIRED", f"several devices are ready: {', '.join(ready)}"
        step = f"Choose one: clawperator doctor {device_flag(ready[0])}"
        check = problem(id_, "warn", code, summary, step, title="Choose a device", evidence={"devices": ready})
        return check, None
    # A ready device, or else one that only needs authorization.
    likely = sorted(listed, key=lambda device: (device.state != READY, device.state != "unauthorized"))
    chosen = serial if serial is not None or not likely else likely[0].serial
    state = next((device.state for device in listed if device.serial == chosen), None)
    if chosen is not None and (state is None or state in PASSING):
        # It may be chosen by another name than it is listed by, and it may be ready in a moment.
        try:
            chosen, state = resolve_device(chosen).serial, READY
        except ClawError as e:
            state = (e.details or {}).get("state")
            if state is None and e.code != "DEVICE_NOT_FOUND":
                return failed_check(id_, e), None
    if state == READY and chosen is not None:
        return passed(id_, f"device {chosen} is ready", serial=chosen), chosen
    return _not_ready(id_, chosen, state, ready, is_simulated=chosen == simulated), None


def _not_ready(id_: str, serial: str | None, state: str | None, ready: list[str], *, is_simulated: bool) -> Check:
    if serial is None:
        steps = "Connect a device with USB debugging on.", "Or start a simulated phone: clawperator phone start"
        return problem(id_, "fail", "NO_DEVICES", "no device is connected", *steps, title="Connect a device")
    details = {"serial": serial, "state": state or "absent", "connected": ready}
    if is_simulated and state in ("offline", "unauthorized"):
        code, summary = f"DEVICE_{state.upper()}", f"simulated phone {serial} is {state} because of a fault"
        step = f"clawperator phone fault {state} off {device_flag(serial)}"
        return problem(id_, "fail", code, summary, step, title="Turn the fault off", evidence=details)
    if state is not None:
        error = not_ready(serial, state, tuple(ready))
        guidance = _ALLOW if error.code == "DEVICE_UNAUTHORIZED" else None
        return failed_check(id_, error, title=_TITLES.get(error.code, "Reconnect the device"), guidance=guidance)
    summary = f"device {serial} is not connected{_set_by(serial)}"
    known = "Connect it, or start a simulated phone: clawperator phone start"
    if ready:
        known = f"Use one of: {', '.join(map(shell_word, ready))}."
    title = "Choose a connected device"
    return problem(id_, "fail", "DEVICE_NOT_FOUND", summary, known, title=title, evidence=details)


def _set_by(serial: str) -> str:
    """The origin of a serial that comes from the user's settings."""
    chosen = setting("device")
    return f" (set by {chosen.origin})" if chosen is not None and chosen.value == serial else ""


def check_capability(device: Device) -> tuple[Check, DeviceFacts | None]:
    """Check that the shell works and the Android version is supported, and report model and display."""
    id_ = "device.capability"
    try:
        facts = read_facts(device)
    except ClawError as e:
        return failed_check(id_, e), None
    evidence = {"sdk": facts.api, "model": facts.model, "size": facts.size, "density": facts.density}
    try:
        require_supported(facts.api, device.serial)
    except ClawError as e:
        check = failed_check(id_, e, f"Use a device with {SUPPORTED}.", title="Use another device")
        return replace(check, evidence=evidence), None
    return passed(id_, f"{facts.model}, Android API {facts.api}", **evidence), facts


def check_presence(device: Device, package: str) -> Check:
    """Check that the Operator is installed. Another variant is only a warning: it can be chosen."""
    id_ = "readiness.apk.presence"
    try:
        require_operator(device, package)
    except ClawError as e:
        if e.code == "OPERATOR_VARIANT_MISMATCH":
            return failed_check(id_, e, status="warn", title="Use the installed Operator")
        if e.code == "OPERATOR_NOT_INSTALLED":
            return failed_check(id_, e, install_command(device.serial), title="Install the Operator")
        return failed_check(id_, e)
    return passed(id_, f"{package} is installed", operatorPackage=package)


def check_compatibility(device: Device, package: str) -> Check:
    id_ = "readiness.version.compatibility"
    found = probe_compatibility(device, package)
    evidence: dict[str, object] = {"cliVersion": found.cliVersion}
    if isinstance(found.apkVersion, str):
        evidence["apkVersion"] = found.apkVersion
    if found.compatible:
        return passed(id_, f"Operator {found.apkVersion} is supported", **evidence)
    error = found.error
    assert error
    steps = found.remediation or [error.hint or "Run 'clawperator version --check-compat'."]
    # An unknown version may work: the handshake shows it.
    status: Status = "warn" if error.code in _VERSION_CODES else "fail"
    title = "Use a supported Operator"
    return problem(id_, status, error.code, error.message, *steps, title=title, evidence=evidence)


def check_settings(device: Device) -> list[Check]:
    """Check the settings that allow adb."""
    return [_check_setting(device, id_) for id_ in SETTINGS]


def _check_setting(device: Device, id_: str) -> Check:
    name, what, code = SETTINGS[id_]
    try:
        value = read_setting(device, "global", name)
    except ClawError as e:
        return failed_check(id_, e, status="warn")
    if value == "1":
        return passed(id_, f"{what} are on" if what.endswith("s") else f"{what} is on")
    if code == "DEVICE_USB_DEBUGGING_DISABLED" and _has_wireless_debugging(device):
        return passed(id_, "wireless debugging is on")
    summary = f"{what} {'are' if what.endswith('s') else 'is'} off"
    step = Step("shell", f"clawperator doctor --fix {device_flag(device.serial)}")
    return problem(id_, "warn", code, summary, step, title=f"Turn on {what}", guidance=_DEVELOPER)


def _has_wireless_debugging(device: Device) -> bool:
    """Whether wireless debugging is on, which works while USB debugging is off."""
    try:
        return read_setting(device, "global", "adb_wifi_enabled") == "1"
    except ClawError:
        return False


def check_handshake(
    device: Device, package: str, timeout_ms: float = HANDSHAKE_MS, vendor: Vendor | None = None
) -> Check:
    """Check that the Operator runs a command: a sleep of 0 ms, which changes nothing."""
    id_ = "readiness.handshake"
    actions: list[dict[str, object]] = [{"id": "h1", "type": "sleep", "params": {"durationMs": 0}}]
    document = _plan("handshake", timeout_ms, actions).document
    started = time.monotonic()
    try:
        command_id, finished = document["commandId"], partial(has_finished, device)
        with lease(device.serial, command_id, _LEASE_SECONDS, action="handshake", finished=finished) as held:
            envelope = deliver(device, package, document, lease=held).envelope
    except ClawError as e:
        return _delivery_failed(id_, e, device, package, vendor)
    elapsed = round((time.monotonic() - started) * 1000)
    if envelope.status == "success":
        return passed(id_, f"the Operator responded in {elapsed} ms", elapsedMs=elapsed)
    return _not_running(id_, envelope.error or "the Operator rejected the command", device, package)


def _delivery_failed(id_: str, error: ClawError, device: Device, package: str, vendor: Vendor | None) -> Check:
    if error.code == "EXECUTION_CONFLICT_IN_FLIGHT":
        return failed_check(id_, error, status="warn", title="Wait for the other command")
    # An earlier check has found it installed, so it is not running.
    if error.code in ("OPERATOR_NOT_INSTALLED", "OPERATOR_NOT_RUNNING"):
        return _not_running(id_, "the Operator's process is not running", device, package)
    steps: list[Step | str] = [*_repair_steps(device, package)]
    if error.code == "RESULT_ENVELOPE_TIMEOUT":
        # The result comes through the log, which some vendors switch off.
        steps += vendor.steps_for("log") if vendor is not None else []
        steps.append(f"Then run: clawperator snapshot --verbose {target_flags(device.serial, package)}")
    return failed_check(id_, error, *steps, title="Restart the Operator")


def _not_running(id_: str, reason: str, device: Device, package: str) -> Check:
    return problem(
        id_,
        "fail",
        "DEVICE_ACCESSIBILITY_NOT_RUNNING",
        "the Operator's accessibility service is not running",
        *_repair_steps(device, package),
        title="Turn the accessibility service on",
        detail=reason,
        guidance=_ACCESSIBILITY,
        evidence={"service": accessibility_service(package)},
    )


def _repair_steps(device: Device, package: str) -> list[Step]:
    """Grant missing permissions; if none was missing, ``doctor --fix`` turns the service off and on."""
    which = target_flags(device.serial, package)
    return [Step("shell", f"clawperator {verb} {which}") for verb in ("grant-device-permissions", "doctor --fix")]


def check_plain_adb(device: Device) -> Check:
    """Check that the screen can be captured without an Operator."""
    id_ = "readiness.adb"
    actions: list[dict[str, object]] = [{"id": "s1", "type": "snapshot_ui", "params": {}}]
    look = approve_own(_plan("adb", _CAPTURE_MS, actions))
    try:
        envelope = run_plan(look, device, package=None, backend="adb", lease_seconds=_LEASE_SECONDS).envelope
    except ClawError as e:
        if e.code == "EXECUTION_CONFLICT_IN_FLIGHT":
            return failed_check(id_, e, status="warn")
        return failed_check(id_, e)
    step = envelope.stepResults[-1]
    if step.success:
        return passed(id_, f"plain adb works; without an Operator: {', '.join(PLAIN_ADB_LACKS)}")
    error = ClawError(step.data["error"], step.data.get("message", "the screen cannot be captured"))
    return failed_check(id_, error)


def check_smoke(device: Device, package: str) -> Check:
    """Check a small plan: close Settings, open it, capture it."""
    id_ = "readiness.smoke"
    settings = {"applicationId": _SETTINGS}
    navigation = {"expectedPackage": _SETTINGS, "timeoutMs": _SMOKE_MS // 2}
    actions: list[dict[str, object]] = [
        {"id": "s1", "type": "close_app", "params": settings},
        {"id": "s2", "type": "open_app", "params": settings},
        {"id": "s3", "type": "wait_for_navigation", "params": navigation},
        {"id": "s4", "type": "snapshot_ui", "params": {}},
    ]
    try:
        plan = approve(_plan("smoke", _SMOKE_MS, actions))
        envelope = run_plan(plan, device, package=package).envelope
    except ClawError as e:
        reason = f"{e.code}: {e.message}"
    else:
        if envelope.status == "success":
            return passed(id_, "Settings was closed, opened and captured")
        reason = envelope.error or "the Operator rejected the command"
    step = f"Run 'clawperator open {_SETTINGS} {device_flag(device.serial)}' and check the screen."
    return problem(id_, "fail", "SMOKE_OPEN_SETTINGS_FAILED", f"cannot open Settings: {reason}", step)


def _plan(kind: str, timeout_ms: float, actions: list[dict[str, object]]) -> Plan:
    ids = {"command_id": new_command_id(f"{kind}-"), "task_id": f"doctor-{kind}"}
    return validate(new_execution(actions, **ids, source="clawperator-doctor", timeout_ms=timeout_ms))


def check_vendor(device: Device, facts: DeviceFacts) -> Check:
    """Check the switches of the vendor that the device shows; name the others."""
    vendor = facts.vendor
    if vendor is None:
        return passed(VENDOR_CHECK, "the vendor has no switches that automation needs")
    name = f"{vendor.system} {vendor.version}".strip()
    try:
        states = list(switch_states(device, vendor, facts.properties, seconds=_VENDOR_SECONDS))
    except ClawError as e:
        return failed_check(VENDOR_CHECK, e, status="warn")
    off = [switch for switch, state in states if state == "off"]
    evidence = {"system": vendor.system, "version": vendor.version}
    if off:
        steps = [switch.step for switch in off]
        return problem(
            VENDOR_CHECK,
            "warn",
            "DEVICE_VENDOR_SWITCH_OFF",
            f"{name} restricts adb: check {' and '.join(repr(switch.name) for switch in off)}",
            *steps,
            title="Change the settings of the vendor",
            guidance=Guidance(off[0].screen, steps),
            evidence=evidence,
        )
    unknown = [switch for switch, state in states if state == "unknown"]
    steps = [f"If the device refuses {_PURPOSES[switch.purposes[0]]}: {switch.step}" for switch in unknown]
    check = passed(VENDOR_CHECK, f"{name} shows no restriction of adb", **evidence)
    return replace(check, detail=" ".join(steps) or None)


def check_log(device: Device, vendor: Vendor | None) -> Check:
    """Check that the device has a log, which carries the results of the Operator."""
    id_ = "readiness.settings.log"
    try:
        answer = run_shell(device, "logcat -d -t 1", seconds=_VENDOR_SECONDS)
    except ClawError as e:
        return failed_check(id_, e, status="warn")
    output = whole_output(answer)
    has_lines = any(line.strip() and not line.startswith("-----") for line in answer.text.splitlines())
    if answer.code == 0 and has_lines and not any(words in output.lower() for words in _LOG_OFF):
        return passed(id_, "the log of the device is on")
    steps = (vendor.steps_for("log") if vendor is not None else []) or [_LOG_SIZE]
    summary = "the log of the device is off or empty; it carries the results of the Operator"
    detail = None if answer.code == 0 else one_line(answer.complaint, 200)
    return problem(id_, "warn", "LOGCAT_UNAVAILABLE", summary, *steps, title="Turn on logging", detail=detail)


def check_restricted_settings(device: Device, package: str, api: int) -> Check | None:
    """Check that Android allows the accessibility service of a side-loaded Operator; None before Android 13."""
    if api < _RESTRICTED_API:
        return None
    id_ = "readiness.settings.restricted"
    script = user_line("appops", "get", rest=(package, _RESTRICTED), or_plain=True)
    try:
        if accessibility_service(package) in enabled_services(device):
            return passed(id_, "the accessibility service of the Operator is enabled")
        answer = run_shell(device, script, seconds=_VENDOR_SECONDS).text
    except ClawError as e:
        return failed_check(id_, e, status="warn")
    if not any(f"{_RESTRICTED}: {mode}" in answer for mode in ("deny", "ignore")):
        return passed(id_, "Android does not restrict the settings of the Operator")
    steps = [
        "Open Settings, Accessibility, and try to turn on the service of Clawperator once.",
        "Open Settings, Apps, Clawperator, the menu with three dots, and choose 'Allow restricted settings'.",
    ]
    return problem(
        id_,
        "warn",
        "DEVICE_RESTRICTED_SETTINGS",
        "Android restricts the settings of the Operator, because it was not installed from a store",
        *steps,
        Step("shell", f"clawperator grant-device-permissions {target_flags(device.serial, package)}"),
        title="Allow restricted settings",
        guidance=Guidance("Settings, Apps, Clawperator", steps),
    )
