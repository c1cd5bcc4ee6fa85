"""Checks of what vendors and Android switch off: input, installations, the log, and restricted settings."""

from clawperator._base.text import one_line
from clawperator.contract.wire import accessibility_service
from clawperator.device.adb.client import Device, run_shell
from clawperator.device.serials import target_flags
from clawperator.device.setup.device_facts import DeviceFacts
from clawperator.device.setup.host_checks import Check, Fix, Guidance, Step, failed_check, passed
from clawperator.device.setup.install import enabled_services
from clawperator.device.users import user_line
from clawperator.device.vendors import Purpose, Vendor, switch_states
from clawperator.errors import ClawError

VENDOR_CHECK = "device.vendor"
_SECONDS = 15.0
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


def check_vendor(device: Device, facts: DeviceFacts) -> Check:
    """Check the switches of the vendor that the device shows; name the others."""
    vendor = facts.vendor
    if vendor is None:
        return passed(VENDOR_CHECK, "the vendor has no switches that automation needs")
    name = f"{vendor.system} {vendor.version}".strip()
    try:
        states = list(switch_states(device, vendor, facts.properties, seconds=_SECONDS))
    except ClawError as e:
        return failed_check(VENDOR_CHECK, e, status="warn")
    off = [switch for switch, state in states if state == "off"]
    if off:
        return Check(
            id=VENDOR_CHECK,
            status="warn",
            code="DEVICE_VENDOR_SWITCH_OFF",
            summary=f"{name} restricts adb: check {' and '.join(repr(switch.name) for switch in off)}",
            fix=Fix("Change the settings of the vendor", [Step("manual", switch.step) for switch in off]),
            deviceGuidance=Guidance(off[0].screen, [switch.step for switch in off]),
            evidence={"system": vendor.system, "version": vendor.version},
        )
    unknown = [switch for switch, state in states if state == "unknown"]
    detail = " ".join(
        f"If the device refuses {_PURPOSES[switch.purposes[0]]}: {switch.step}" for switch in unknown
    )
    return Check(
        id=VENDOR_CHECK,
        status="pass",
        summary=f"{name} shows no restriction of adb",
        detail=detail or None,
        evidence={"system": vendor.system, "version": vendor.version},
    )


def check_log(device: Device, vendor: Vendor | None) -> Check:
    """Check that the device has a log, which carries the results of the Operator."""
    id_ = "readiness.settings.log"
    try:
        answer = run_shell(device, "logcat -d -t 1", seconds=_SECONDS)
    except ClawError as e:
        return failed_check(id_, e, status="warn")
    output = f"{answer.text}\n{answer.stderr.decode('utf-8', 'replace')}"
    has_lines = any(line.strip() and not line.startswith("-----") for line in answer.text.splitlines())
    if answer.code == 0 and has_lines and not any(words in output.lower() for words in _LOG_OFF):
        return passed(id_, "the log of the device is on")
    return Check(
        id=id_,
        status="warn",
        code="LOGCAT_UNAVAILABLE",
        summary="the log of the device is off or empty; it carries the results of the Operator",
        detail=None if answer.code == 0 else one_line(answer.complaint, 200),
        fix=Fix("Turn on logging", [Step("manual", step) for step in log_steps(vendor)]),
    )


def log_steps(vendor: Vendor | None) -> list[str]:
    """How to turn on the log of a device."""
    return (vendor.steps_for("log") if vendor is not None else []) or [_LOG_SIZE]


def check_restricted_settings(device: Device, package: str, api: int) -> Check | None:
    """Check that Android allows the accessibility service of a side-loaded Operator; None before Android 13."""
    if api < _RESTRICTED_API:
        return None
    id_ = "readiness.settings.restricted"
    script = user_line("appops", "get", rest=(package, _RESTRICTED), or_plain=True)
    try:
        if accessibility_service(package) in enabled_services(device):
            return passed(id_, "the accessibility service of the Operator is enabled")
        answer = run_shell(device, script, seconds=_SECONDS).text
    except ClawError as e:
        return failed_check(id_, e, status="warn")
    if not any(f"{_RESTRICTED}: {mode}" in answer for mode in ("deny", "ignore")):
        return passed(id_, "Android does not restrict the settings of the Operator")
    steps = [
        "Open Settings, Accessibility, and try to turn on the service of Clawperator once.",
        "Open Settings, Apps, Clawperator, the menu with three dots, and choose 'Allow restricted settings'.",
    ]
    grant = f"clawperator grant-device-permissions {target_flags(device.serial, package)}"
    return Check(
        id=id_,
        status="warn",
        code="DEVICE_RESTRICTED_SETTINGS",
        summary="Android restricts the settings of the Operator, because it was not installed from a store",
        fix=Fix("Allow restricted settings", [*(Step("manual", step) for step in steps), Step("shell", grant)]),
        deviceGuidance=Guidance("Settings, Apps, Clawperator", steps),
    )
