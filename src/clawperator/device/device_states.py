"""Why a device cannot be used: its state in the list of adb, or its Android version. One code and hint each."""

import os
import re
import shlex

from msgspec import Struct

from clawperator.errors import ClawError

_NO_PERMISSIONS = "no permissions"
RULES_FILE = "/etc/udev/rules.d/51-android.rules"
RELOAD_RULES = "sudo udevadm control --reload-rules && sudo udevadm trigger"
_USB_DEVICES = "/sys/bus/usb/devices"
_VENDOR = re.compile(r"[0-9a-f]{4}")
OLDEST_API, NEWEST_API = 24, 36
SUPPORTED = "Android 7.0 to 16"
_FIRST_NAMED = 14
_NAMES = (
    *("4.0", "4.0.3", "4.1", "4.2", "4.3", "4.4", "4.4W", "5.0", "5.1", "6.0"),  # API levels 14 to 23
    *("7.0", "7.1", "8.0", "8.1", "9", "10", "11", "12", "12L", "13", "14", "15", "16"),
)


class _State(Struct, frozen=True):
    """``hint`` may have the flag that selects the device in adb, as ``{flag}``."""

    code: str
    message: str
    hint: str
    retryable: bool | None = None


_OTHER = _State(
    "DEVICE_OFFLINE", "device {serial} is {state}", "Run 'adb reconnect', or unplug and reconnect the device."
)
_REBOOT = "Choose 'Reboot system now' on the device, or run 'adb {flag} reboot'."
_STATES = {
    "offline": _OTHER,
    "unauthorized": _State(
        "DEVICE_UNAUTHORIZED",
        "device {serial} is unauthorized",
        "Unlock the device and accept the USB debugging dialog.",
    ),
    "authorizing": _State(
        "DEVICE_CONNECTING",
        "device {serial} is authorizing this computer",
        "Retry in a moment. If the device shows a USB debugging dialog, accept it.",
    ),
    "connecting": _State(
        "DEVICE_CONNECTING",
        "device {serial} is still connecting",
        "Retry in a moment. If it stays so, run 'adb reconnect', or unplug and reconnect the device.",
    ),
    "recovery": _State("DEVICE_NOT_BOOTED", "device {serial} is in recovery mode", _REBOOT),
    "sideload": _State(
        "DEVICE_NOT_BOOTED",
        "device {serial} waits for an update in sideload mode",
        "Finish or cancel the update on the device, then run 'adb {flag} reboot'.",
    ),
    "rescue": _State("DEVICE_NOT_BOOTED", "device {serial} is in rescue mode", _REBOOT),
    "bootloader": _State(
        "DEVICE_NOT_BOOTED",
        "device {serial} is in the bootloader",
        "Choose 'Start' on the device, or run 'fastboot {flag} reboot'.",
    ),
    "host": _State(
        "DEVICE_OFFLINE",
        "{serial} is another computer, not a device",
        "Choose another device: run 'clawperator devices' to list them.",
        retryable=False,
    ),
    "detached": _State(
        "DEVICE_OFFLINE",
        "device {serial} is detached from the adb server",
        "Run 'adb {flag} attach'.",
        retryable=False,
    ),
}
# The states that a server names when it cannot reach a device.
_NAMED = ("unauthorized", "authorizing", "connecting", _NO_PERMISSIONS, "offline", "detached")


def not_ready(serial: str, state: str, connected: tuple[str, ...] = ()) -> ClawError:
    """The error of a listed device in a state other than ``device``. ``state`` is adb's own text."""
    if state.startswith(_NO_PERMISSIONS):
        row = _State("ADB_NO_USB_PERMISSIONS", "adb may not open the USB device {serial}", "")
        hint = _permissions_hint(serial)
    else:
        row = _STATES.get(state, _OTHER)
        hint = row.hint.replace("{flag}", f"-s {shlex.quote(serial)}")
    return ClawError(
        row.code,
        row.message.format(serial=serial, state=state),
        hint=hint,
        details={"serial": serial, "state": state, "connected": list(connected)},
        operation="connect",
        target=serial,
        retryable=row.retryable,
    )


def unreachable(serial: str, reason: str) -> ClawError:
    """The error of a device that the server does not connect to. ``reason`` is the server's own text."""
    text = reason.lower().replace("insufficient permissions", _NO_PERMISSIONS)
    if "more than one device" in text:
        message = f"several devices have the serial {serial}"
        hint = "Run 'clawperator devices', and choose one by its USB path, for example usb:1-2."
        return ClawError("MULTIPLE_DEVICES_DEVICE_ID_REQUIRED", message, hint=hint, target=serial)
    state = None if "not found" in text else next((state for state in _NAMED if state in text), None)
    if state is not None:
        return not_ready(serial, state)
    message = f"device {serial} is not connected: {reason}"
    return ClawError("DEVICE_NOT_FOUND", message, hint="Run 'clawperator devices' to list devices.", target=serial)


def udev_rule(vendor: str) -> str:
    """The rule that lets the group plugdev, and the user at the computer, open the devices of a vendor."""
    return f'SUBSYSTEM=="usb", ATTR{{idVendor}}=="{vendor}", MODE="0660", GROUP="plugdev", TAG+="uaccess"'


def _permissions_hint(serial: str) -> str:
    vendor = vendor_id(serial)
    where = "" if vendor else " (XXXX are the four digits after ID in the device's line of 'lsusb')"
    return (
        f"Add this line to {RULES_FILE}{where}: {udev_rule(vendor or 'XXXX')} "
        f"Then run '{RELOAD_RULES}', and reconnect the device. "
        "Or install the rules of your system: on Debian and Ubuntu 'sudo apt install "
        "android-sdk-platform-tools-common', then 'sudo usermod -aG plugdev $USER' and a new login; "
        "on Arch Linux 'sudo pacman -S android-udev'."
    )


def vendor_id(serial: str, folder: str = _USB_DEVICES) -> str | None:
    """The USB vendor of the device with this serial or USB path, in hex, where Linux knows it."""
    if not serial:
        return None  # and not the first device without a serial
    try:
        names = os.listdir(folder)
    except OSError:
        return None
    path = serial.removeprefix("usb:") if serial.startswith("usb:") else None
    for name in names:
        own = os.path.join(folder, name)
        if name == path or _first_line(os.path.join(own, "serial")) == serial:
            vendor = _first_line(os.path.join(own, "idVendor"))
            return vendor if _VENDOR.fullmatch(vendor) else None
    return None


def _first_line(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.readline(256).strip()
    except OSError:
        return ""


def android_name(api: int) -> str:
    """The name of an API level: "Android 7.0" for 24, and "Android with API level 99" for one without a name."""
    if _FIRST_NAMED <= api < _FIRST_NAMED + len(_NAMES):
        return f"Android {_NAMES[api - _FIRST_NAMED]}"
    return f"Android with API level {api}"


def read_api(text: str) -> int | None:
    """The API level in the output of ``getprop ro.build.version.sdk``; None for anything else."""
    first = text.strip().partition("\n")[0].strip()
    return int(first) if first.isascii() and first.isdecimal() and len(first) < 6 else None


def require_supported(api: int, serial: str) -> None:
    """``ANDROID_VERSION_UNSUPPORTED`` for a version before the oldest supported one. A newer one is accepted."""
    if api < OLDEST_API:
        raise unsupported_version(api, serial)


def unsupported_version(api: int | None, serial: str) -> ClawError:
    """The error of a device whose Android is too old; without an API level, of one that does not report it."""
    found = f"Android before {android_name(OLDEST_API).split()[1]}" if api is None else android_name(api)
    message = f"device {serial} runs {found}; {SUPPORTED} are supported"
    details = {"serial": serial, "api": api, "android": found, "oldestApi": OLDEST_API, "newestApi": NEWEST_API}
    return ClawError("ANDROID_VERSION_UNSUPPORTED", message, details=details, operation="connect", target=serial)
