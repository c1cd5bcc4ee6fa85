"""Checks of vendors' switches, the log, restricted settings, slow and old devices."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import Struct

from clawperator.contract.wire import OPERATOR_PACKAGE, accessibility_service
from clawperator.device.adb.client import Device, Endpoint, ShellAnswer, run_shell
from clawperator.device.setup import device_checks
from clawperator.device.setup.device_checks import (
    DeviceFacts,
    check_capability,
    check_handshake,
    check_log,
    check_restricted_settings,
    check_settings,
    check_vendor,
    read_facts,
)
from clawperator.device.setup.doctor import run_doctor
from clawperator.device.setup.host_checks import Check, failed_check
from clawperator.device.vendors import recognise_vendor
from clawperator.errors import ClawError
from tests.support.command_doubles import CommandDoubles, Reply, double_server
from tests.support.ordinary_phone import PROPERTIES, answer_properties, ordinary_phone

GONE = Device("gone", Endpoint("127.0.0.1", 1))
LINE = "01-19 12:00:00.000  1  1 I App: Hello\n"
HUAWEI = recognise_vendor({"ro.product.manufacturer": "HUAWEI"})


class Doubled(Struct, frozen=True):
    doubles: CommandDoubles
    device: Device

    def properties(self, **more: str) -> None:
        answer_properties(self.doubles, {**PROPERTIES, **{name.replace("__", "."): v for name, v in more.items()}})


@pytest.fixture
def phone(tmp_path: Path) -> Iterator[Doubled]:
    doubles = ordinary_phone(tmp_path / "d")
    with double_server(doubles) as device:
        yield Doubled(doubles, device)


def steps(check: Check) -> str:
    return "\n".join(step.value for step in check.fix.steps) if check.fix else ""


# Vendors


def vendor_check(phone: Doubled) -> Check:
    return check_vendor(phone.device, read_facts(phone.device))


def test_plain_android_has_no_switches_to_check(phone: Doubled) -> None:
    assert vendor_check(phone).status == "pass"


@pytest.mark.parametrize(
    ("properties", "setting", "expected"),
    [
        ({"ro__miui__ui__version__name": "V14"}, "", ["USB debugging (Security settings)", "Install via USB"]),
        ({"ro__mi__os__version__name": "OS2.0", "persist__security__adbinput": "1"}, "", ["Install via USB"]),
        (
            {"ro__build__version__oplusrom": "V14", "persist__sys__permission__enable": "true"},
            "",
            ["Disable permission monitoring"],
        ),
        ({"ro__vivo__os__version": "14.0"}, "vivo_adb_simulate_input=0", ["USB simulated input"]),
        ({"ro__build__version__oneui": "60101"}, "rampart_main_switch_enabled=1", ["Auto Blocker"]),
    ],
)
def test_a_switch_that_is_off_is_a_warning_with_its_place(
    phone: Doubled, properties: dict[str, str], setting: str, expected: list[str]
) -> None:
    phone.properties(**properties)
    name, _, value = setting.partition("=")
    if name:
        phone.doubles.answer("settings", f"{value}\n", when=f"get --user 0 secure {name}")
    check = vendor_check(phone)
    assert (check.status, check.code) == ("warn", "DEVICE_VENDOR_SWITCH_OFF")
    assert check.fix is not None
    assert len(check.fix.steps) == len(expected)
    assert check.deviceGuidance is not None
    for switch in expected:
        assert switch in check.summary
        assert switch in steps(check)


@pytest.mark.parametrize(
    ("properties", "detail"),
    [
        ({"ro__product__manufacturer": "HUAWEI"}, "charge only mode"),
        ({"ro__product__manufacturer": "vivo"}, "USB simulated input"),
        ({"ro__product__manufacturer": "OnePlus"}, "Disable permission monitoring"),
        ({"ro__product__manufacturer": "Meizu"}, "payment protection"),
    ],
)
def test_a_switch_that_the_device_does_not_show_is_only_named(
    phone: Doubled, properties: dict[str, str], detail: str
) -> None:
    phone.properties(**properties)
    check = vendor_check(phone)
    assert check.status == "pass"
    assert detail in (check.detail or "")


def test_a_phone_whose_switches_are_on_passes(phone: Doubled) -> None:
    phone.properties(
        ro__miui__ui__version__name="V14", persist__security__adbinput="1", persist__security__adbinstall="1"
    )
    check = vendor_check(phone)
    assert (check.status, check.detail) == ("pass", None)
    assert "V14" in check.summary


def test_a_device_that_does_not_show_its_switches_is_a_warning() -> None:
    samsung = recognise_vendor({"ro.build.version.oneui": "60101"})
    facts = DeviceFacts(34, "", "", "", {}, samsung)
    assert check_vendor(GONE, facts).status == "warn"
    assert check_log(GONE, None).status == "warn"
    restricted = check_restricted_settings(GONE, OPERATOR_PACKAGE, 34)
    assert restricted is not None
    assert restricted.status == "warn"


def test_switches_are_named_with_the_vendor_and_what_needs_them(phone: Doubled) -> None:
    phone.properties(ro__miui__ui__version__name="V14")
    check = vendor_check(phone)
    names = "'USB debugging (Security settings)' and 'Install via USB'"
    assert check.summary == f"HyperOS or MIUI V14 restricts adb: check {names}"
    assert check.evidence == {"system": "HyperOS or MIUI", "version": "V14"}
    phone.properties(ro__product__manufacturer="Meizu")
    check = vendor_check(phone)
    assert check.summary == "Flyme shows no restriction of adb"
    assert check.detail is not None
    assert check.detail.startswith("If the device refuses input: Turn off 'Flyme payment protection'")
    assert " If the device refuses the log: Choose 'All'" in check.detail


# The log


@pytest.mark.parametrize(
    "reply",
    [
        Reply(""),
        Reply("--------- beginning of main\n"),
        Reply("", "Unable to open log device '/dev/log/main': No such file or directory\n", 1),
        Reply("", "logcat read failure: Invalid argument\n", 1),
        Reply(
            "int logctl_get(): open '/dev/hwlog_switch' fail -1, 13. Permission denied\n"
            "Note: log switch off, only log_main and log_events will have logs!\n"
            "--------- beginning of main\n01-19 12:00:00.000  1  1 I App: Hello\n"
        ),
    ],
)
def test_a_log_that_is_off_is_a_warning_with_the_step_of_the_vendor(phone: Doubled, reply: Reply) -> None:
    phone.doubles.answer("logcat", reply, when="-d -t 1")
    check = check_log(phone.device, HUAWEI)
    assert (check.status, check.code) == ("warn", "LOGCAT_UNAVAILABLE")
    assert "*#*#2846579#*#*" in steps(check)
    assert "Logger buffer sizes" in steps(check_log(phone.device, None))


@pytest.mark.parametrize(
    ("reply", "detail"),
    [
        (Reply(LINE, "logcat: short read\n", 1), "logcat: short read"),
        (Reply("", "x" * 200, 1), "x" * 200),
        (Reply("", "x" * 201, 1), "x" * 199 + "…"),
        (Reply("", "log switch off\n"), None),
        (Reply(LINE, "Note: LOG SWITCH OFF\n"), None),
    ],
)
def test_a_log_command_that_fails_is_quoted(phone: Doubled, reply: Reply, detail: str | None) -> None:
    phone.doubles.answer("logcat", reply, when="-d -t 1")
    check = check_log(phone.device, recognise_vendor({"ro.product.manufacturer": "Xiaomi"}))
    assert (check.status, check.detail) == ("warn", detail)
    assert steps(check) == "Set 'Logger buffer sizes' in the developer options to 256K or more."


def test_a_log_with_lines_passes(phone: Doubled) -> None:
    assert check_log(phone.device, HUAWEI).status == "pass"


def test_an_operator_that_does_not_answer_may_have_no_log(phone: Doubled, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_answer(*_: object, **__: object) -> None:
        raise ClawError("RESULT_ENVELOPE_TIMEOUT", "no result within 5000 ms")

    monkeypatch.setattr("clawperator.device.backends.operator_link.deliver", no_answer)
    assert "*#*#2846579#*#*" in steps(check_handshake(phone.device, OPERATOR_PACKAGE, vendor=HUAWEI))
    assert "2846579" not in steps(check_handshake(phone.device, OPERATOR_PACKAGE))


# Restricted settings


@pytest.mark.parametrize(
    ("output", "status"),
    [
        ("ACCESS_RESTRICTED_SETTINGS: deny; rejectTime=+5m12s ago\n", "warn"),
        ("ACCESS_RESTRICTED_SETTINGS: ignore\n", "warn"),
        ("ACCESS_RESTRICTED_SETTINGS: allow\n", "pass"),
        ("No operations.\n", "pass"),
        ("Error: Unknown operation string: ACCESS_RESTRICTED_SETTINGS\n", "pass"),
        ("", "pass"),
    ],
)
def test_restricted_settings_of_a_side_loaded_operator(phone: Doubled, output: str, status: str) -> None:
    phone.doubles.answer("appops", output, when=f"get --user 0 {OPERATOR_PACKAGE} ACCESS_RESTRICTED_SETTINGS")
    check = check_restricted_settings(phone.device, OPERATOR_PACKAGE, 34)
    assert check is not None
    assert check.status == status
    if status == "warn":
        assert check.code == "DEVICE_RESTRICTED_SETTINGS"
        assert "Allow restricted settings" in steps(check)


def test_an_enabled_service_is_not_restricted(phone: Doubled) -> None:
    listed = f"com.other/.Service:{accessibility_service(OPERATOR_PACKAGE)}\n"
    phone.doubles.answer("settings", listed, when="get --user 0 secure enabled_accessibility_services")
    phone.doubles.answer("appops", "ACCESS_RESTRICTED_SETTINGS: deny\n")
    check = check_restricted_settings(phone.device, OPERATOR_PACKAGE, 34)
    assert check is not None
    assert check.status == "pass"
    assert phone.doubles.calls("appops") == []


def test_before_android_13_nothing_is_restricted(phone: Doubled) -> None:
    assert check_restricted_settings(phone.device, OPERATOR_PACKAGE, 32) is None
    assert check_restricted_settings(phone.device, OPERATOR_PACKAGE, 33) is not None


def test_restricted_settings_are_read_without_a_user_when_the_device_refuses_users(phone: Doubled) -> None:
    phone.doubles.answer("appops", Reply("", "Error: Unknown option: --user\n", 255))
    phone.doubles.answer(
        "appops", "ACCESS_RESTRICTED_SETTINGS: deny\n", when=f"get {OPERATOR_PACKAGE} ACCESS_RESTRICTED_SETTINGS"
    )
    check = check_restricted_settings(phone.device, OPERATOR_PACKAGE, 34)
    assert check is not None
    assert check.code == "DEVICE_RESTRICTED_SETTINGS"
    assert steps(check).endswith(f"clawperator grant-device-permissions --device {phone.device.serial}")
    assert check.deviceGuidance is not None


# Debugging, capability


def test_wireless_debugging_replaces_usb_debugging(phone: Doubled) -> None:
    phone.doubles.answer("settings", "0\n", when="get global adb_enabled")
    _, usb = check_settings(phone.device)
    assert (usb.status, usb.code) == ("warn", "DEVICE_USB_DEBUGGING_DISABLED")
    phone.doubles.answer("settings", "1\n", when="get global adb_wifi_enabled")
    _, usb = check_settings(phone.device)
    assert (usb.status, usb.summary) == ("pass", "wireless debugging is on")


def test_the_capability_of_a_slow_device_is_read_in_time(phone: Doubled, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each command of a slow device may take three seconds."""
    given: list[float] = []

    def run(device: Device, script: str, *, seconds: float) -> ShellAnswer:
        given.append(seconds)
        return run_shell(device, script, seconds=seconds)

    monkeypatch.setattr(device_checks, "run_shell", run)
    check, facts = check_capability(phone.device)
    assert check.status == "pass"
    assert facts is not None
    (seconds,) = given
    assert seconds >= 2 * 3 * len(phone.doubles.calls())


@pytest.mark.parametrize(("api", "name"), [(23, "Android 6.0"), (19, "Android 4.4")])
def test_an_old_android_is_refused_by_its_name_and_nothing_more_is_checked(
    phone: Doubled, monkeypatch: pytest.MonkeyPatch, api: int, name: str
) -> None:
    phone.properties(ro__build__version__sdk=str(api))
    monkeypatch.setenv("ADB_SERVER_SOCKET", f"tcp:127.0.0.1:{phone.device.endpoint.port}")
    monkeypatch.setattr(
        "clawperator.device.setup.host_checks.check_adb", lambda _: Check(id="adb", status="pass", summary="")
    )
    report = run_doctor(phone.device.serial, OPERATOR_PACKAGE)
    assert not report.ok
    assert (report.checks[-1].id, report.checks[-1].code) == ("device.capability", "ANDROID_VERSION_UNSUPPORTED")
    assert name in report.checks[-1].summary
    assert "Android 7.0 to 16" in steps(report.checks[-1])


def test_a_failed_check_does_not_advise_to_run_the_doctor(phone: Doubled) -> None:
    phone.doubles.answer("getprop", Reply("", "getprop: not found\n", 127))
    gone = Device(phone.device.serial, phone.device.endpoint)
    check, facts = check_capability(gone)
    assert facts is None
    assert check.status == "fail"
    error = ClawError(
        "DEVICE_SHELL_UNAVAILABLE", "timeout", hint="Run 'clawperator doctor --device x' to check it."
    )
    assert "doctor" not in steps(failed_check("device.capability", error))
    assert "adb reconnect" in steps(failed_check("device.capability", error))
