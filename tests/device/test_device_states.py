from pathlib import Path

import pytest

from clawperator.device.adb.client import Device, run_shell
from clawperator.device.device_states import RELOAD_RULES, RULES_FILE, not_ready, udev_rule, unreachable, vendor_id
from clawperator.errors import ClawError
from tests.device.adb.scripted_server import refusal, scripted

NO_PERMISSIONS = [
    "no permissions",
    "no permissions; see [http://developer.android.com/tools/device.html]",
    "no permissions (verify udev rules); see [http://developer.android.com/tools/device.html]",
    "no permissions (user in plugdev group; are your udev rules wrong?); see [http://developer.android.com/tools/device.html]",
    "no permissions (missing udev rules? user is in the plugdev group); see [http://developer.android.com/tools/device.html]",
]
STATES = {
    "offline": ("DEVICE_OFFLINE", "adb reconnect", True),
    "unauthorized": ("DEVICE_UNAUTHORIZED", "USB debugging dialog", False),
    "authorizing": ("DEVICE_CONNECTING", "Retry in a moment", True),
    "connecting": ("DEVICE_CONNECTING", "Retry in a moment", True),
    "recovery": ("DEVICE_NOT_BOOTED", "'adb -s pixel reboot'", False),
    "sideload": ("DEVICE_NOT_BOOTED", "'adb -s pixel reboot'", False),
    "rescue": ("DEVICE_NOT_BOOTED", "'adb -s pixel reboot'", False),
    "bootloader": ("DEVICE_NOT_BOOTED", "'fastboot -s pixel reboot'", False),
    "host": ("DEVICE_OFFLINE", "another device", False),
    "detached": ("DEVICE_OFFLINE", "'adb -s pixel attach'", False),
    "unknown": ("DEVICE_OFFLINE", "adb reconnect", True),
    "a state of a later adb": ("DEVICE_OFFLINE", "adb reconnect", True),
    **dict.fromkeys(NO_PERMISSIONS, ("ADB_NO_USB_PERMISSIONS", RULES_FILE, False)),
}


@pytest.mark.parametrize("state", STATES)
def test_each_state_has_one_code_and_one_hint(state: str) -> None:
    code, words, retryable = STATES[state]
    error = not_ready("pixel", state, ("claw-1",))
    assert error.code == code
    assert words in error.hint
    assert error.retryable == retryable
    assert error.details == {"serial": "pixel", "state": state, "connected": ["claw-1"]}
    assert "pixel" in error.message


def test_the_serial_in_a_hint_is_quoted_for_the_shell() -> None:
    assert "adb -s 'it '\"'\"'s' reboot" in not_ready("it 's", "recovery").hint
    assert not_ready("{flag} {serial}", "recovery").message == "device {flag} {serial} is in recovery mode"


def test_the_hint_about_permissions_is_a_complete_recipe() -> None:
    hint = not_ready("pixel", "no permissions").hint
    rule = 'SUBSYSTEM=="usb", ATTR{idVendor}=="XXXX", MODE="0660", GROUP="plugdev", TAG+="uaccess"'
    assert udev_rule("XXXX") == rule
    for part in (rule, "/etc/udev/rules.d/51-android.rules", "lsusb", RELOAD_RULES, "reconnect the device"):
        assert part in hint
    assert "sudo apt install android-sdk-platform-tools-common" in hint
    assert "sudo usermod -aG plugdev $USER" in hint
    assert "sudo pacman -S android-udev" in hint


@pytest.fixture
def usb(tmp_path: Path) -> str:
    """The folder in which Linux lists USB devices: a hub, a phone, and a phone without a serial."""
    for name, files in {
        "1-0:1.0": {},
        "usb1": {"serial": "0000:00:14.0\n", "idVendor": "1d6b\n"},
        "1-2": {"serial": "R58M1234\n", "idVendor": "04e8\n"},
        "1-3": {"idVendor": "18d1\n"},
        "1-4": {"serial": "odd\n", "idVendor": "$(id)\n"},
    }.items():
        (tmp_path / name).mkdir()
        for file, content in files.items():
            (tmp_path / name / file).write_text(content)
    return str(tmp_path)


@pytest.mark.parametrize(
    ("serial", "vendor"),
    [
        ("R58M1234", "04e8"),
        ("usb:1-3", "18d1"),
        ("usb:1-2", "04e8"),
        ("other", None),
        ("odd", None),
        ("", None),
        ("1-3", None),
        ("usb:1-0:1.0", None),
    ],
)
def test_the_vendor_of_a_device_is_read_from_linux(usb: str, serial: str, vendor: str | None) -> None:
    assert vendor_id(serial, usb) == vendor


def test_without_linux_the_vendor_is_not_known(tmp_path: Path) -> None:
    assert vendor_id("R58M1234", str(tmp_path / "none")) is None


def test_the_rule_has_the_vendor_where_it_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clawperator.device.device_states.vendor_id", lambda _: "04e8")
    hint = not_ready("R58M1234", "no permissions").hint
    assert udev_rule("04e8") in hint
    assert "XXXX" not in hint


@pytest.mark.parametrize(
    ("reason", "code", "state"),
    [
        (
            "device unauthorized.\nThis adb server's $ADB_VENDOR_KEYS is not set",
            "DEVICE_UNAUTHORIZED",
            "unauthorized",
        ),
        ("device still authorizing", "DEVICE_CONNECTING", "authorizing"),
        ("device still connecting", "DEVICE_CONNECTING", "connecting"),
        ("device offline", "DEVICE_OFFLINE", "offline"),
        ("device is detached", "DEVICE_OFFLINE", "detached"),
        (
            "insufficient permissions for device: user in plugdev group; are your udev rules wrong?\nSee [http:",
            "ADB_NO_USB_PERMISSIONS",
            "no permissions",
        ),
        ("device 'offline-1' not found", "DEVICE_NOT_FOUND", None),
        ("no devices/emulators found", "DEVICE_NOT_FOUND", None),
        ("more than one device/emulator", "MULTIPLE_DEVICES_DEVICE_ID_REQUIRED", None),
    ],
)
def test_the_answer_of_a_server_means_the_same_as_the_state(reason: str, code: str, state: str | None) -> None:
    error = unreachable("pixel", reason)
    assert error.code == code
    assert (error.details or {}).get("state") == state
    if state is not None:
        assert error.hint == not_ready("pixel", state).hint


def test_a_device_that_is_gone_is_reported_with_the_reason_of_the_server() -> None:
    error = unreachable("pixel", "Device 'pixel' not found")
    assert error.message == "device pixel is not connected: Device 'pixel' not found"
    assert error.hint == "Run 'clawperator devices' to list devices."
    assert error.target == "pixel"
    several = unreachable("pixel", "More than one device/emulator")
    assert several.message == "several devices have the serial pixel"
    assert "--device usb:1-2" in several.hint


def test_a_device_that_is_lost_between_two_requests_is_reported_by_its_state() -> None:
    with scripted(refusal("device still authorizing")) as device, pytest.raises(ClawError) as error:
        run_shell(Device("pixel", device.endpoint), "true", seconds=5)
    assert error.value.code == "DEVICE_CONNECTING"
