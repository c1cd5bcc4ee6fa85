from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.device.adb.client import Device, run_shell
from clawperator.device.device_states import (
    NEWEST_API,
    OLDEST_API,
    RELOAD_RULES,
    RULES_FILE,
    SUPPORTED,
    android_name,
    not_ready,
    read_api,
    require_supported,
    udev_rule,
    unreachable,
    unsupported_version,
    vendor_id,
)
from clawperator.device.run.running import still_running
from clawperator.errors import ClawError
from tests.device.adb.scripted_server import answering, refusal, scripted, text
from tests.device.adb.test_client import old_adbd
from tests.support.running import clawperator

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
    assert "for example usb:1-2." in several.hint


def test_a_device_that_is_lost_between_two_requests_is_reported_by_its_state() -> None:
    with scripted(refusal("device still authorizing")) as device, pytest.raises(ClawError) as error:
        run_shell(Device("pixel", device.endpoint), "true", seconds=5)
    assert error.value.code == "DEVICE_CONNECTING"


@pytest.mark.parametrize(
    ("api", "name"),
    [
        (13, "Android with API level 13"),
        (14, "Android 4.0"),
        (19, "Android 4.4"),
        (23, "Android 6.0"),
        (24, "Android 7.0"),
        (25, "Android 7.1"),
        (28, "Android 9"),
        (32, "Android 12L"),
        (36, "Android 16"),
        (37, "Android with API level 37"),
        (99, "Android with API level 99"),
    ],
)
def test_an_api_level_has_a_name(api: int, name: str) -> None:
    assert android_name(api) == name


def test_the_range_is_stated_by_its_names() -> None:
    oldest, newest = (android_name(api).removeprefix("Android ") for api in (OLDEST_API, NEWEST_API))
    assert f"Android {oldest} to {newest}" == SUPPORTED


@pytest.mark.parametrize("api", range(14, OLDEST_API))
def test_an_older_version_is_refused_by_name(api: int) -> None:
    with pytest.raises(ClawError) as error:
        require_supported(api, "nexus")
    assert error.value.code == "ANDROID_VERSION_UNSUPPORTED"
    assert error.value.message == f"device nexus runs {android_name(api)}; Android 7.0 to 16 are supported"
    assert error.value.details == {
        "serial": "nexus",
        "api": api,
        "android": android_name(api),
        "oldestApi": 24,
        "newestApi": 36,
    }
    assert "Android 7.0 or newer" in error.value.hint


@pytest.mark.parametrize("api", [*range(OLDEST_API, NEWEST_API + 1), 40])
def test_supported_versions_and_newer_ones_are_accepted(api: int) -> None:
    require_supported(api, "pixel")


def test_a_device_that_does_not_report_its_version_is_refused_too() -> None:
    error = unsupported_version(None, "nexus")
    assert error.message == "device nexus runs Android before 7.0; Android 7.0 to 16 are supported"
    assert error.details is not None
    assert (error.details["api"], error.details["android"]) == (None, "Android before 7.0")


@pytest.mark.parametrize(("text", "api"), [("23\n", 23), (" 36\r\n", 36), ("24\nnext", 24), ("10000", 10_000)])
def test_the_level_is_read_from_getprop(text: str, api: int) -> None:
    assert read_api(text) == api


@given(st.text().filter(lambda text: not text.strip()[:1].isdecimal()))
def test_other_output_is_no_level(text: str) -> None:
    assert read_api(text) is None


@pytest.mark.parametrize("text", ["123456", "100000", "-1", "\u0661", "2 3"])
def test_other_numbers_are_no_level(text: str) -> None:
    assert read_api(text) is None


@pytest.mark.parametrize(
    "command",
    [
        ("snapshot",),
        ("snapshot", "--backend", "adb"),
        ("press", "home", "--backend", "adb"),
        ("packages", "list"),
        ("screenshot", "--path", "screen.png"),
    ],
)
def test_every_command_refuses_an_old_device_by_the_name_of_its_android(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(request: str) -> bytes:
        return text("nexus\tdevice\n") if request == "host:devices" else old_adbd(b"23\n")(request)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path))
    with answering(answer) as listener:
        monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", str(listener.getsockname()[1]))
        ran = clawperator(*command)
        assert still_running(0) == ()
    assert ran.code == 1
    found = ran.json.get("envelope", ran.json)
    assert found.get("errorCode", found.get("code")) == "ANDROID_VERSION_UNSUPPORTED"
    assert b"device nexus runs Android 6.0" in ran.out
