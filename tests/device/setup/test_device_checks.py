"""The checks of a device: what each result contains, and the steps that it names."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clawperator import __version__
from clawperator.contract.execution import Plan
from clawperator.contract.results import ResultEnvelope
from clawperator.contract.wire import OPERATOR_PACKAGE, OPERATOR_PACKAGES, accessibility_service
from clawperator.device.adb.client import Device, Endpoint
from clawperator.device.setup import device_checks
from clawperator.device.setup.device_checks import (
    check_capability,
    check_compatibility,
    check_handshake,
    check_presence,
    check_settings,
    check_smoke,
    discover,
)
from clawperator.device.setup.host_checks import Check
from clawperator.device.vendors import recognise_vendor
from clawperator.errors import ClawError
from tests.device.adb.scripted_server import answering, text
from tests.support.command_doubles import CommandDoubles, Reply, double_server
from tests.support.ordinary_phone import PROPERTIES, answer_properties, ordinary_phone

DEV = OPERATOR_PACKAGES[1]
GONE = Device("gone", Endpoint("127.0.0.1", 1))


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

    monkeypatch.setattr("clawperator.device.backends.operator_link.deliver", deliver)
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

    def run_plan(plan: Plan, _: Device, *, package: str) -> Result:
        assert package == OPERATOR_PACKAGE
        ran.append(plan)
        if isinstance(answer, ClawError):
            raise answer
        return answer

    monkeypatch.setattr("clawperator.device.run.run.run_plan", run_plan)
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
