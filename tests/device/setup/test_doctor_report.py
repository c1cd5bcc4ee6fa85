"""Which checks the doctor runs after which results, what it fixes, and its report as text."""

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clawperator.contract.wire import OPERATOR_PACKAGE, OPERATOR_PACKAGES
from clawperator.device.adb.client import Device, Endpoint
from clawperator.device.setup import device_checks, doctor, host_checks
from clawperator.device.setup.device_checks import DeviceFacts
from clawperator.device.setup.doctor import Repair, Report, report_text, run_doctor
from clawperator.device.setup.host_checks import Check, Fix, Guidance, Status, Step
from clawperator.errors import ClawError

PIXEL = Device("pixel", Endpoint("127.0.0.1", 1))
FACTS = DeviceFacts(34, "Pixel 8", "", "", {}, None)
HOST = ["python", "adb", "server"]
PHONE = ["device.capability", "device.vendor", "readiness.apk.presence", "compatibility", "readiness.settings.a"]
LAST = ["restricted", "log", "handshake"]
WHOLE = [*HOST, "discovery", *PHONE, *LAST]
BUILD = [*HOST, "java", "assembly", "discovery"]


class ScriptedChecks:
    """Checks that pass, except those with another status or code here. Counts the calls of each."""

    def __init__(self) -> None:
        self.statuses: dict[str, Status | tuple[Status, str]] = {}
        self.calls: list[str] = []
        self.simulated: list[str | None] = []
        self.serials: list[str | None] = []
        self.timeouts: list[float] = []

    def check(self, id_: str, fix: Fix | None = None) -> Check:
        self.calls.append(id_)
        status = self.statuses.get(id_, "pass")
        code = None if isinstance(status, str) else status[1]
        return Check(
            id=id_, status=status if isinstance(status, str) else status[0], summary="", code=code, fix=fix
        )

    def host(self, id_: str, simulated: str | None) -> Check:
        self.simulated.append(simulated)
        return self.check(id_)

    def discover(self, serial: str | None, simulated: str | None) -> tuple[Check, str | None]:
        self.serials.append(serial)
        assert [simulated] == self.simulated[-1:]
        check = self.check("discovery")
        return check, "pixel" if check.status == "pass" else None

    def capability(self, _: Device) -> tuple[Check, DeviceFacts | None]:
        check = self.check("device.capability")
        return check, FACTS if check.status == "pass" else None

    def handshake(self, _: Device, __: str, timeout_ms: float, ___: object) -> Check:
        self.timeouts.append(timeout_ms)
        return self.check("handshake")


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> ScriptedChecks:
    scripted = ScriptedChecks()
    one = scripted.check
    replaced: list[tuple[Any, str, Any]] = [
        (doctor, "simulated_phones", dict),
        (doctor, "resolve_device", lambda _: PIXEL),
        (doctor, "find_operator", lambda _, named: named or OPERATOR_PACKAGE),
        (host_checks, "check_python", lambda: one("python")),
        (host_checks, "check_adb", lambda simulated: scripted.host("adb", simulated)),
        (host_checks, "check_server", lambda simulated: scripted.host("server", simulated)),
        (host_checks, "check_java", lambda: one("java")),
        (host_checks, "check_assembly", lambda _: one("assembly")),
        (host_checks, "check_installation", lambda *_: one("installation")),
        (host_checks, "check_launch", lambda *_: one("launch")),
        (device_checks, "discover", scripted.discover),
        (device_checks, "check_capability", scripted.capability),
        (device_checks, "check_vendor", lambda *_: one("device.vendor")),
        (device_checks, "check_presence", lambda *_: one("readiness.apk.presence")),
        (device_checks, "check_compatibility", lambda *_: one("compatibility")),
        (device_checks, "check_settings", lambda _: [one("readiness.settings.a")]),
        (device_checks, "check_restricted_settings", lambda *_: one("restricted")),
        (device_checks, "check_log", lambda *_: one("log")),
        (device_checks, "check_handshake", scripted.handshake),
        (device_checks, "check_smoke", lambda *_: one("smoke")),
    ]
    for module, name, value in replaced:
        monkeypatch.setattr(module, name, value)
    return scripted


def ids(report: Report) -> list[str]:
    return [check.id for check in report.checks]


# Which checks run


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ({}, WHOLE),
        ({"python": "warn"}, WHOLE),
        ({"python": "fail"}, ["python"]),
        ({"discovery": "fail"}, [*HOST, "discovery"]),
        ({"discovery": "warn"}, [*HOST, "discovery"]),
        ({"device.vendor": "fail", "readiness.settings.a": "fail"}, WHOLE),
        (
            {"device.capability": ("fail", "ANDROID_VERSION_UNSUPPORTED")},
            [*HOST, "discovery", "device.capability"],
        ),
        (
            {"device.capability": ("fail", "DEVICE_SHELL_UNAVAILABLE")},
            [name for name in WHOLE if name not in ("device.vendor", "restricted")],
        ),
        (
            {"readiness.apk.presence": "fail"},
            [name for name in WHOLE if name not in ("compatibility", "restricted", "log", "handshake")],
        ),
        ({"compatibility": "warn"}, WHOLE),
        ({"compatibility": "fail"}, WHOLE[: WHOLE.index("compatibility") + 1]),
        ({"handshake": "fail"}, WHOLE),
    ],
)
def test_a_result_decides_which_checks_follow(
    checks: ScriptedChecks, statuses: dict[str, Any], expected: list[str]
) -> None:
    checks.statuses = statuses
    assert ids(run_doctor(None, None)) == expected


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        (
            {},
            [*BUILD, "installation", "launch", *PHONE, *LAST, "smoke"],
        ),
        (
            {"assembly": "warn"},
            [*BUILD, *PHONE, *LAST, "smoke"],
        ),
        (
            {"assembly": "warn", "handshake": "warn"},
            [*BUILD, *PHONE, *LAST],
        ),
    ],
)
def test_the_full_examination_builds_and_does_a_job_only_when_that_can_work(
    checks: ScriptedChecks, statuses: dict[str, Any], expected: list[str]
) -> None:
    checks.statuses = statuses
    assert ids(run_doctor(None, None, full=True)) == expected


def test_restricted_settings_are_not_checked_on_an_old_android(
    checks: ScriptedChecks, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert checks
    monkeypatch.setattr(device_checks, "check_restricted_settings", lambda *_: None)
    assert ids(run_doctor(None, None)) == [name for name in WHOLE if name != "restricted"]


def test_only_critical_failures_make_a_device_not_ready(checks: ScriptedChecks) -> None:
    checks.statuses = {"device.vendor": "fail", "readiness.settings.a": "fail", "handshake": "warn"}
    report = run_doctor(None, None)
    assert (report.ok, report.criticalOk, report.deviceId) == (True, True, "pixel")
    checks.statuses = {"handshake": "fail"}
    report = run_doctor(None, OPERATOR_PACKAGES[1])
    assert (report.ok, report.criticalOk, report.operatorPackage) == (False, False, OPERATOR_PACKAGES[1])


@pytest.mark.parametrize("named", [None, OPERATOR_PACKAGES[1]])
def test_without_a_device_the_report_is_about_the_named_or_the_released_operator(
    checks: ScriptedChecks, named: str | None
) -> None:
    checks.statuses = {"discovery": "fail"}
    assert run_doctor(None, named).operatorPackage == (named or OPERATOR_PACKAGE)


def test_a_device_of_the_settings_is_examined_unless_another_one_is_named(
    checks: ScriptedChecks, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_doctor(None, None)
    monkeypatch.setenv("CLAWPERATOR_DEVICE_ID", "mine")
    run_doctor(None, None)
    run_doctor("other", None)
    assert checks.serials == [None, "mine", "other"]


@pytest.mark.parametrize(("serial", "expected"), [(None, "claw-1"), ("claw-2", "claw-2"), ("pixel", None)])
def test_adb_is_checked_for_a_device_that_is_not_a_simulated_phone(
    checks: ScriptedChecks, monkeypatch: pytest.MonkeyPatch, serial: str | None, expected: str | None
) -> None:
    monkeypatch.setattr(doctor, "simulated_phones", lambda: dict.fromkeys(["claw-1", "claw-2"]))
    run_doctor(serial, None)
    assert checks.simulated == [expected, expected]


# Fixes

NOT_RUNNING: tuple[Status, str] = ("fail", "DEVICE_ACCESSIBILITY_NOT_RUNNING")


@pytest.fixture
def restarted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The packages whose service was restarted."""
    packages: list[str] = []
    monkeypatch.setattr(
        "clawperator.device.setup.doctor.restart_service", lambda _, package: packages.append(package)
    )
    return packages


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses between two tries."""

    class Clock:
        slept: list[float] = []  # noqa: RUF012 - of this fixture only

        @classmethod
        def sleep(cls, seconds: float) -> None:
            cls.slept.append(seconds)

    monkeypatch.setattr(doctor, "time", Clock)
    return Clock.slept


def test_without_a_fix_an_operator_has_one_try(checks: ScriptedChecks, pauses: list[float]) -> None:
    checks.statuses = {"handshake": NOT_RUNNING}
    run_doctor(None, None, timeout_ms=700)
    assert (checks.calls.count("handshake"), checks.timeouts, pauses) == (1, [700], [])


def test_a_restarted_operator_gets_time_to_respond(
    checks: ScriptedChecks, restarted: list[str], pauses: list[float]
) -> None:
    checks.statuses = {"handshake": NOT_RUNNING}
    report = run_doctor(None, None, fix=True, timeout_ms=700)
    assert restarted == [OPERATOR_PACKAGE]
    assert not report.ok
    assert ids(report).count("handshake") == 1
    assert set(checks.timeouts) == {700}
    assert len(checks.timeouts) > 2, "one before the fix, and several after it"
    assert 0 < sum(pauses) < 10


def test_a_restarted_operator_is_not_asked_again_once_it_responds(
    checks: ScriptedChecks, restarted: list[str], pauses: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    results: list[Status | tuple[Status, str]] = [NOT_RUNNING, NOT_RUNNING, "pass"]

    def handshake(*_: object) -> Check:
        checks.statuses["handshake"] = results.pop(0)
        return checks.check("handshake")

    monkeypatch.setattr(device_checks, "check_handshake", handshake)
    report = run_doctor(None, None, fix=True)
    assert report.ok
    assert report.repairs == [Repair("handshake", "turned the accessibility service off and on", True)]
    assert (len(restarted), len(pauses)) == (1, 1)


def test_a_check_that_passes_is_not_fixed(checks: ScriptedChecks, restarted: list[str]) -> None:
    checks.statuses = {"handshake": ("pass", "DEVICE_ACCESSIBILITY_NOT_RUNNING")}
    assert run_doctor(None, None, fix=True).repairs == []
    assert restarted == []
    assert checks.calls.count("handshake") == 1


def test_a_fix_is_logged(
    checks: ScriptedChecks, restarted: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CLAWPERATOR_LOG_DIR", str(tmp_path / "logs"))
    monkeypatch.setattr(doctor, "_ANSWER_PAUSE", 0)
    checks.statuses = {"handshake": NOT_RUNNING, "log": "warn"}
    run_doctor(None, None, fix=True)
    assert restarted
    (name,) = os.listdir(tmp_path / "logs")
    lines = [msgspec.json.decode(line) for line in (tmp_path / "logs" / name).read_bytes().splitlines()]
    assert [(line["event"], line["level"], line["deviceId"]) for line in lines] == [
        ("doctor.fix", "info", "pixel"),
        ("doctor.check", "warn", "pixel"),
        ("doctor.check", "error", "pixel"),
        ("doctor.finished", "info", "pixel"),
    ]


def test_without_a_device_nothing_on_it_is_fixed(checks: ScriptedChecks, restarted: list[str]) -> None:
    checks.statuses = {
        "python": ("warn", "DEVICE_ACCESSIBILITY_NOT_RUNNING"),
        "adb": ("fail", "DEVICE_USB_DEBUGGING_DISABLED"),
    }
    report = run_doctor(None, None, fix=True)
    assert isinstance(report.repairs, list)
    assert [repair.checkId for repair in report.repairs] == ["python", "adb"]
    assert restarted == []


def test_a_fix_that_fails_is_reported_with_its_error(
    checks: ScriptedChecks, monkeypatch: pytest.MonkeyPatch, pauses: list[float]
) -> None:
    def fail(*_: object) -> None:
        raise ClawError("DEVICE_OFFLINE", "device pixel is offline")

    assert pauses == []
    monkeypatch.setattr("clawperator.device.setup.doctor.restart_service", fail)
    checks.statuses = {"handshake": NOT_RUNNING}
    did = "turned the accessibility service off and on"
    assert run_doctor(None, None, fix=True).repairs == [
        Repair("handshake", did, False, "DEVICE_OFFLINE: device pixel is offline")
    ]


# Next actions


def test_without_a_step_the_first_things_to_try_are_named(checks: ScriptedChecks) -> None:
    assert run_doctor(None, None).nextActions == ["clawperator snapshot --device pixel", "clawperator help"]
    checks.statuses = {"python": "fail"}
    report = run_doctor(None, None)
    assert not report.deviceId
    assert report.nextActions == ["clawperator snapshot", "clawperator help"]


def test_each_step_of_open_checks_is_named_once(checks: ScriptedChecks, monkeypatch: pytest.MonkeyPatch) -> None:
    def open_check(status: Status, *values: str) -> Check:
        fix = Fix("", [Step("manual", value) for value in values])
        return Check(id="x", status=status, summary="", fix=fix, deviceGuidance=Guidance("Settings", []))

    assert checks
    monkeypatch.setattr(host_checks, "check_python", lambda: open_check("pass", "not this"))
    monkeypatch.setattr(device_checks, "check_vendor", lambda *_: open_check("warn", "first", "second"))
    monkeypatch.setattr(device_checks, "check_log", lambda *_: open_check("fail", "second", "third"))
    assert run_doctor(None, None).nextActions == ["first", "second", "On the device: Settings", "third"]


# The report as text


def text_report(*checks: Check, **members: Any) -> list[str]:
    report = Report(ok=True, criticalOk=True, operatorPackage=OPERATOR_PACKAGE, checks=list(checks))
    return report_text(msgspec.structs.replace(report, **members)).split("\n\n")


PASSED = Check(id="readiness.handshake", status="pass", summary="fine")
ADVICE = Check(id="readiness.settings.log", status="pass", summary="on")
OPEN = Check(
    id="device.vendor", status="warn", summary="off", code="DEVICE_VENDOR_SWITCH_OFF", detail="Turn it on."
)


@pytest.mark.parametrize(
    ("checks", "expected"),
    [
        ([PASSED], []),
        ([PASSED, ADVICE], ["1 more passed."]),
        (
            [PASSED, OPEN],
            ["Advisory\n  [WARN] device.vendor: off (DEVICE_VENDOR_SWITCH_OFF)\n         Turn it on."],
        ),
        (
            [PASSED, OPEN, ADVICE, ADVICE],
            [
                "Advisory\n  [WARN] device.vendor: off (DEVICE_VENDOR_SWITCH_OFF)\n         Turn it on.",
                "2 more passed.",
            ],
        ),
    ],
)
def test_advice_is_listed_while_it_is_open(checks: list[Check], expected: list[str]) -> None:
    assert text_report(*checks) == [
        "Clawperator doctor",
        "Critical\n  [OK]   readiness.handshake: fine",
        *expected,
        "Overall: ready",
    ]


def test_repairs_and_next_actions_are_listed() -> None:
    repairs = [Repair("a", "did it", True), Repair("b", "tried it", False, "DEVICE_OFFLINE: gone")]
    parts = text_report(PASSED, criticalOk=False, repairs=repairs, nextActions=["one", "two"])
    assert parts[2:] == [
        "Repairs\n  [OK]   a: did it\n  [FAIL] b: tried it; DEVICE_OFFLINE: gone",
        "Overall: not ready",
        "Next actions\n  1. one\n  2. two",
    ]
    assert text_report(PASSED, repairs=[])[2] == "Repairs\n  No automatic fix is available."
