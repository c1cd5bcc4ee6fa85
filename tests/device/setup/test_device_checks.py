"""The checks of a device: what each result contains, and the steps that it names."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from msgspec import Struct

from clawperator import __version__
from clawperator.contract.results import ResultEnvelope
from clawperator.contract.wire import OPERATOR_PACKAGE, OPERATOR_PACKAGES, accessibility_service
from clawperator.device.adb.client import Device, Endpoint, ShellAnswer, run_shell
from clawperator.device.setup import device_checks
from clawperator.device.setup.device_checks import (
    DeviceFacts,
    check_capability,
    check_compatibility,
    check_handshake,
    check_log,
    check_presence,
    check_restricted_settings,
    check_settings,
    check_smoke,
    check_vendor,
    discover,
    read_facts,
)
from clawperator.device.setup.doctor import run_doctor
from clawperator.device.setup.host_checks import Check, failed_check
from clawperator.device.vendors import recognise_vendor
from clawperator.errors import ClawError
from clawperator.policy.gate import ApprovedPlan
from tests.device.adb.scripted_server import answering, text
from tests.support.command_doubles import CommandDoubles, Reply, double_server
from tests.support.ordinary_phone import PROPERTIES, answer_properties, ordinary_phone

if TYPE_CHECKING:
    from clawperator.contract.execution import Plan

DEV = OPERATOR_PACKAGES[1]
GONE = Device("gone", Endpoint("127.0.0.1", 1))
LINE = "01-19 12:00:00.000  1  1 I App: Hello\n"
HUAWEI = recognise_vendor({"ro.product.manufacturer": "HUAWEI"})


@pytest.fixture
def doubles(tmp_path: Path) -> CommandDoubles:
    return ordinary_phone(tmp_path / "d")


@pytest.fixture
def device(doubles: CommandDoubles) -> Iterator[Device]:
    with double_server(doubles) as device:
        yield device


def steps(check: Check) -> list[str]:
    return [step.value for step in check.fix.steps] if check.fix else []


def title(check: Check) -> str | None:
    return check.fix.title if check.fix else None


# Discovery


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Let the adb server list these devices."""
    rows: list[str] = []
    monkeypatch.setattr("clawperator.device.discovery._PASSING_SECONDS", 0.01)
    with answering(lambda _: text(rows[-1])) as listener:
        monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", str(listener.getsockname()[1]))
        yield rows.append


def test_a_ready_device_is_chosen_before_one_that_is_not(listed: Callable[[str], None]) -> None:
    listed("old\tunauthorized\npixel\tdevice\n")
    check, serial = discover(None)
    assert (check.status, check.summary, check.evidence, serial) == (
        "pass",
        "device pixel is ready",
        {"serial": "pixel"},
        "pixel",
    )


def test_one_of_several_ready_devices_is_chosen_by_its_serial(listed: Callable[[str], None]) -> None:
    listed("one\tdevice\ntwo\tdevice\n")
    assert discover("two")[1] == "two"
    check, serial = discover(None)
    assert serial is None
    assert (check.status, title(check)) == ("warn", "Choose a device")
    assert steps(check) == ["Choose one: clawperator doctor --device one"]


def test_without_any_device_two_ways_to_get_one_are_named(listed: Callable[[str], None]) -> None:
    listed("")
    check, serial = discover(None)
    assert (check.code, title(check), serial) == ("NO_DEVICES", "Connect a device", None)
    assert steps(check) == [
        "Connect a device with USB debugging on.",
        "Or start a simulated phone: clawperator phone start",
    ]


@pytest.mark.parametrize(
    ("state", "expected", "has_guidance"),
    [
        ("unauthorized", "Authorize this computer", True),
        ("connecting", "Wait for the device", False),
        ("recovery", "Start Android on the device", False),
        ("offline", "Reconnect the device", False),
    ],
)
@pytest.mark.parametrize("serial", ["pixel", None])
def test_a_device_that_is_not_ready_has_the_title_of_its_state(
    listed: Callable[[str], None], serial: str | None, state: str, expected: str, *, has_guidance: bool
) -> None:
    listed(f"pixel\t{state}\n")
    check, found = discover(serial)
    assert (title(check), check.deviceGuidance is not None, found) == (expected, has_guidance, None)


@pytest.mark.parametrize(
    ("rows", "step"),
    [
        ("it 's\tdevice\nother\tdevice\n", "Use one of: 'it '\"'\"'s', other."),
        ("", "Connect it, or start a simulated phone: clawperator phone start"),
    ],
)
def test_a_device_that_is_not_connected_is_reported_with_the_connected_ones(
    listed: Callable[[str], None], rows: str, step: str
) -> None:
    listed(rows)
    check, serial = discover("gone")
    assert (check.status, check.code, title(check)) == ("fail", "DEVICE_NOT_FOUND", "Choose a connected device")
    assert check.summary == "device gone is not connected"
    assert steps(check) == [step]
    connected = [row.partition("\t")[0] for row in rows.splitlines()]
    assert check.evidence == {"serial": "gone", "state": "absent", "connected": connected}
    assert serial is None


def test_a_serial_of_the_settings_is_reported_with_its_origin(
    listed: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    listed("")
    monkeypatch.setenv("CLAWPERATOR_DEVICE_ID", "gone")
    assert discover("gone")[0].summary == "device gone is not connected (set by CLAWPERATOR_DEVICE_ID)"
    assert discover("other")[0].summary == "device other is not connected"


def test_without_adb_no_device_is_found() -> None:
    check, serial = discover(None)
    assert (check.status, check.code, serial) == ("fail", "ADB_NOT_FOUND", None)


# Capability, presence, version


def test_an_unsupported_android_is_reported_with_what_the_device_is(
    doubles: CommandDoubles, device: Device
) -> None:
    answer_properties(doubles, {**PROPERTIES, "ro.build.version.sdk": "23"})
    check, facts = check_capability(device)
    assert facts is None
    assert (check.code, title(check)) == ("ANDROID_VERSION_UNSUPPORTED", "Use another device")
    assert check.evidence == {"sdk": 23, "model": "Pixel 8", "size": "1080x2400", "density": "420"}


def test_a_device_that_went_away_fails_every_check() -> None:
    capability, facts = check_capability(GONE)
    assert facts is None
    for check in (capability, check_presence(GONE, OPERATOR_PACKAGE), check_compatibility(GONE, OPERATOR_PACKAGE)):
        assert (check.status, check.code) == ("fail", capability.code)
    assert {check.status for check in check_settings(GONE)} == {"warn"}


@pytest.mark.parametrize(
    ("installed", "status", "expected"),
    [
        (OPERATOR_PACKAGE, "pass", None),
        (DEV, "warn", "Use the installed Operator"),
        ("com.android.settings", "fail", "Install the Operator"),
    ],
)
def test_the_presence_of_the_operator(
    doubles: CommandDoubles, device: Device, installed: str, status: str, expected: str | None
) -> None:
    doubles.answer("pm", f"package:{installed}\n", when="list packages*")
    check = check_presence(device, OPERATOR_PACKAGE)
    assert (check.status, title(check)) == (status, expected)
    if status == "pass":
        assert check.summary == f"{OPERATOR_PACKAGE} is installed"
        assert check.evidence == {"operatorPackage": OPERATOR_PACKAGE}
    if status == "fail":
        assert steps(check) == [f"clawperator operator setup --apk <operator.apk> --device {device.serial}"]


@pytest.mark.parametrize(
    ("version", "status", "code"),
    [
        ("0.5.3", "pass", None),
        ("0.4.0", "warn", "VERSION_INCOMPATIBLE"),
        ("beta", "warn", "APK_VERSION_INVALID"),
        (None, "warn", "APK_VERSION_UNREADABLE"),
    ],
)
def test_the_version_of_the_operator_is_evidence(
    doubles: CommandDoubles, device: Device, version: str | None, status: str, code: str | None
) -> None:
    doubles.answer("pm", f"package:{OPERATOR_PACKAGE}\n", when="list packages*")
    output = f"    versionName={version}\n" if version else ""
    doubles.answer("dumpsys", output, when=f"package {OPERATOR_PACKAGE}")
    check = check_compatibility(device, OPERATOR_PACKAGE)
    assert (check.status, check.code) == (status, code)
    assert check.evidence == {"cliVersion": __version__, **({"apkVersion": version} if version else {})}
    if status == "pass":
        assert check.summary == "Operator 0.5.3 is supported"
    else:
        assert steps(check)[1] == f"clawperator operator setup --apk <operator.apk> --device {device.serial}"


def test_a_version_that_could_not_be_asked_for_has_the_hint_of_the_failure(
    doubles: CommandDoubles, device: Device
) -> None:
    doubles.answer("pm", Reply("", "cmd: Can't find service: package\n", 20), when="list packages*")
    check = check_compatibility(device, OPERATOR_PACKAGE)
    assert (check.status, check.code) == ("fail", "DEVICE_SHELL_UNAVAILABLE")
    presence = check_presence(device, OPERATOR_PACKAGE)
    assert (presence.status, presence.code) == ("fail", "DEVICE_SHELL_UNAVAILABLE")
    assert len(steps(check)) == 1
    assert "check-compat" not in steps(check)[0]


# Settings


def test_settings_that_are_on_or_off_are_named(doubles: CommandDoubles, device: Device) -> None:
    options, usb = check_settings(device)
    assert (options.status, options.summary) == ("pass", "developer options are on")
    assert (usb.status, usb.summary) == ("pass", "USB debugging is on")
    doubles.answer("settings", "0\n", when="get global *")
    options, usb = check_settings(device)
    assert (options.status, options.summary) == ("warn", "developer options are off")
    assert (usb.status, usb.summary) == ("warn", "USB debugging is off")
    assert title(usb) == "Turn on USB debugging"
    for check in (options, usb):
        assert steps(check) == [f"clawperator doctor --fix --device {device.serial}"]
        assert check.deviceGuidance is not None


def test_wireless_debugging_does_not_replace_developer_options(doubles: CommandDoubles, device: Device) -> None:
    doubles.answer("settings", "0\n", when="get global *")
    doubles.answer("settings", "1\n", when="get global adb_wifi_enabled")
    assert [check.status for check in check_settings(device)] == ["warn", "pass"]


def test_a_setting_that_cannot_be_read_is_not_on(doubles: CommandDoubles, device: Device) -> None:
    doubles.answer("settings", "0\n", when="get global adb_enabled")
    doubles.answer("settings", Reply("1\n", "no such setting\n", 1), when="get global adb_wifi_enabled")
    _, usb = check_settings(device)
    assert (usb.status, usb.code) == ("warn", "DEVICE_USB_DEBUGGING_DISABLED")
    doubles.answer("settings", Reply("1\n", "not allowed\n", 1), when="get global *")
    assert {(check.status, check.code) for check in check_settings(device)} == {
        ("warn", "DEVICE_SHELL_UNAVAILABLE")
    }


# The handshake and the small job


class Result:
    """What a delivery or a run returns."""

    def __init__(self, envelope: ResultEnvelope) -> None:
        self.envelope = envelope


def result(error: str | None = None, *, success: bool = False) -> Result:
    return Result(ResultEnvelope("c", "t", "success" if success else "failed", [], error))


def let_operator(monkeypatch: pytest.MonkeyPatch, answer: "Result | ClawError") -> list[dict[str, Any]]:
    """Let the Operator answer like this, after 1.5 seconds. Returns the documents that it got."""
    sent: list[dict[str, Any]] = []

    class Clock:
        now = 100.0

        @classmethod
        def monotonic(cls) -> float:
            return cls.now

    def deliver(_: Device, __: str, document: dict[str, Any], **___: object) -> Result:
        sent.append(document)
        Clock.now += 1.5
        if isinstance(answer, ClawError):
            raise answer
        return answer

    monkeypatch.setattr("clawperator.device.setup.device_checks.deliver", deliver)
    monkeypatch.setattr(device_checks, "time", Clock)
    return sent


def test_the_handshake_changes_nothing_and_reports_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = let_operator(monkeypatch, result(success=True))
    check = check_handshake(GONE, OPERATOR_PACKAGE, 2_000)
    assert (check.status, check.summary) == ("pass", "the Operator responded in 1500 ms")
    assert check.evidence == {"elapsedMs": 1500}
    (document,) = sent
    assert document["actions"] == [{"id": "h1", "type": "sleep", "params": {"durationMs": 0}}]
    assert document["timeoutMs"] == 2_000
    assert document["commandId"].startswith("handshake-")
    assert (document["taskId"], document["source"]) == ("doctor-handshake", "clawperator-doctor")


GRANT = "clawperator grant-device-permissions --device gone"
FIX = "clawperator doctor --fix --device gone"


@pytest.mark.parametrize(
    ("answer", "detail"),
    [
        (result("SERVICE_UNAVAILABLE"), "SERVICE_UNAVAILABLE"),
        (result(), "the Operator rejected the command"),
        (ClawError("OPERATOR_NOT_RUNNING", "no process"), "the Operator's process is not running"),
        (ClawError("OPERATOR_NOT_INSTALLED", "no package"), "the Operator's process is not running"),
    ],
)
def test_an_operator_that_rejects_the_handshake_has_no_running_service(
    monkeypatch: pytest.MonkeyPatch, answer: "Result | ClawError", detail: str
) -> None:
    let_operator(monkeypatch, answer)
    check = check_handshake(GONE, OPERATOR_PACKAGE)
    assert (check.status, check.code, check.detail) == ("fail", "DEVICE_ACCESSIBILITY_NOT_RUNNING", detail)
    assert steps(check) == [GRANT, FIX]
    assert check.deviceGuidance is not None
    assert check.evidence == {"service": accessibility_service(OPERATOR_PACKAGE)}


@pytest.mark.parametrize(
    ("code", "status", "expected", "values"),
    [
        ("EXECUTION_CONFLICT_IN_FLIGHT", "warn", "Wait for the other command", ["Wait."]),
        ("DEVICE_OFFLINE", "fail", "Restart the Operator", [GRANT, FIX]),
        (
            "RESULT_ENVELOPE_TIMEOUT",
            "fail",
            "Restart the Operator",
            [GRANT, FIX, "Then run: clawperator snapshot --verbose --device gone"],
        ),
    ],
)
def test_a_handshake_that_was_not_delivered_has_the_steps_of_its_failure(
    monkeypatch: pytest.MonkeyPatch, code: str, status: str, expected: str, values: list[str]
) -> None:
    let_operator(monkeypatch, ClawError(code, "it failed", hint="Wait."))
    check = check_handshake(GONE, OPERATOR_PACKAGE)
    assert (check.status, check.code, title(check)) == (status, code, expected)
    assert steps(check) == values
    if code == "RESULT_ENVELOPE_TIMEOUT":
        huawei = recognise_vendor({"ro.product.manufacturer": "HUAWEI"})
        with_vendor = steps(check_handshake(GONE, OPERATOR_PACKAGE, vendor=huawei))
        assert len(with_vendor) == len(values) + 1


def test_the_steps_name_an_operator_that_is_not_the_released_one(monkeypatch: pytest.MonkeyPatch) -> None:
    let_operator(monkeypatch, result())
    assert steps(check_handshake(GONE, DEV)) == [
        f"{GRANT} --operator-package {DEV}",
        f"{FIX} --operator-package {DEV}",
    ]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (result(success=True), None),
        (result("no such app"), "no such app"),
        (result(), "the Operator rejected the command"),
        (ClawError("DEVICE_OFFLINE", "device gone is offline"), "DEVICE_OFFLINE: device gone is offline"),
    ],
)
def test_the_small_job_opens_and_captures_settings(
    monkeypatch: pytest.MonkeyPatch, answer: "Result | ClawError", reason: str | None
) -> None:
    ran: list[Plan] = []

    def run_plan(approved: ApprovedPlan, _: Device, *, package: str) -> Result:
        plan = approved.plan
        assert package == OPERATOR_PACKAGE
        ran.append(plan)
        if isinstance(answer, ClawError):
            raise answer
        return answer

    monkeypatch.setattr("clawperator.device.setup.device_checks.run_plan", run_plan)
    check = check_smoke(GONE, OPERATOR_PACKAGE)
    (plan,) = ran
    actions: list[dict[str, Any]] = msgspec.to_builtins(plan.document["actions"])
    assert [action["type"] for action in actions] == [
        *("close_app", "open_app", "wait_for_navigation", "snapshot_ui"),
    ]
    assert actions[2]["params"]["timeoutMs"] * 2 <= plan.document["timeoutMs"]
    if reason is None:
        assert (check.status, check.summary) == ("pass", "Settings was closed, opened and captured")
        return
    assert (check.status, check.code) == ("fail", "SMOKE_OPEN_SETTINGS_FAILED")
    assert check.summary == f"cannot open Settings: {reason}"
    assert steps(check) == ["Run 'clawperator open com.android.settings --device gone' and check the screen."]


def test_an_override_of_the_display_counts(doubles: CommandDoubles) -> None:
    doubles.answer("wm", "Physical size: 1080x2400\nOverride size: 720x1600\n", when="size")
    with double_server(doubles) as device:
        facts = read_facts(device)
    assert (facts.api, facts.model, facts.size, facts.density) == (34, "Pixel 8", "720x1600", "420")
    assert facts.vendor is None
    assert facts.properties == PROPERTIES


def test_a_long_fact_of_a_display_is_cut(doubles: CommandDoubles) -> None:
    doubles.answer("wm", f"Physical size: {'1' * 1_000}\n", when="size")
    doubles.answer("wm", Reply("", "wm: not found\n", 127), when="density")
    with double_server(doubles) as device:
        facts = read_facts(device)
    assert facts.size.endswith("11…")
    assert len(facts.size) < 300
    assert facts.density == ""


def test_a_device_without_a_version_of_android_has_no_facts(doubles: CommandDoubles) -> None:
    answer_properties(doubles, {"ro.product.model": "Pixel 8"})
    with double_server(doubles) as device, pytest.raises(ClawError) as caught:
        read_facts(device)
    assert caught.value.code == "DEVICE_SHELL_UNAVAILABLE"


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


def written_steps(check: Check) -> str:
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
        assert switch in written_steps(check)


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
    assert "*#*#2846579#*#*" in written_steps(check)
    assert "Logger buffer sizes" in written_steps(check_log(phone.device, None))


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
    assert written_steps(check) == "Set 'Logger buffer sizes' in the developer options to 256K or more."


def test_a_log_with_lines_passes(phone: Doubled) -> None:
    assert check_log(phone.device, HUAWEI).status == "pass"


def test_an_operator_that_does_not_answer_may_have_no_log(phone: Doubled, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_answer(*_: object, **__: object) -> None:
        raise ClawError("RESULT_ENVELOPE_TIMEOUT", "no result within 5000 ms")

    monkeypatch.setattr("clawperator.device.setup.device_checks.deliver", no_answer)
    assert "*#*#2846579#*#*" in written_steps(check_handshake(phone.device, OPERATOR_PACKAGE, vendor=HUAWEI))
    assert "2846579" not in written_steps(check_handshake(phone.device, OPERATOR_PACKAGE))


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
        assert "Allow restricted settings" in written_steps(check)


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
    assert written_steps(check).endswith(f"clawperator grant-device-permissions --device {phone.device.serial}")
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
    assert "Android 7.0 to 16" in written_steps(report.checks[-1])


def test_a_failed_check_does_not_advise_to_run_the_doctor(phone: Doubled) -> None:
    phone.doubles.answer("getprop", Reply("", "getprop: not found\n", 127))
    gone = Device(phone.device.serial, phone.device.endpoint)
    check, facts = check_capability(gone)
    assert facts is None
    assert check.status == "fail"
    error = ClawError(
        "DEVICE_SHELL_UNAVAILABLE", "timeout", hint="Run 'clawperator doctor --device x' to check it."
    )
    assert "doctor" not in written_steps(failed_check("device.capability", error))
    assert "adb reconnect" in written_steps(failed_check("device.capability", error))
