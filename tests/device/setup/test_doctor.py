"""The doctor: checks in order, correct reports, and repairs."""

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from clawperator._base.trust import trust_folder
from clawperator.contract.wire import OPERATOR_PACKAGE, OPERATOR_PACKAGES
from clawperator.device.adb.client import Device
from clawperator.device.run.lease import lease
from clawperator.device.setup import doctor
from clawperator.device.setup.doctor import Report, report_text, run_doctor
from clawperator.device.setup.host_checks import Check, check_adb, check_java, check_python, check_server
from clawperator.errors import CODES, ClawError
from tests.device.phone_servers import running_phone_server
from tests.support.operator_state import is_granted, take_away
from tests.support.routes import Route, open_route

WHOLE = [
    "host.python.version",
    "host.adb.presence",
    "host.adb.server",
    "device.discovery",
    "device.capability",
    "device.vendor",
    "readiness.apk.presence",
    "readiness.version.compatibility",
    "readiness.settings.dev_options",
    "readiness.settings.usb_debugging",
    "readiness.settings.restricted",
    "readiness.settings.log",
    "readiness.handshake",
]


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_ANSWER_PAUSE", 0.01)


def look(**more: bool) -> Report:
    return run_doctor("claw-1", OPERATOR_PACKAGE, **more)


def last(report: Report) -> Check:
    return report.checks[-1]


def by_id(report: Report, id_: str) -> Check:
    return next(check for check in report.checks if check.id == id_)


def fake(path: Path, script: str) -> str:
    """A program that runs a shell script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def empty_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An adb with a server that knows no phone."""
    from clawperator.phone.adb.server import AdbServer

    server = AdbServer(list)
    monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", str(server.start()))
    monkeypatch.setenv("ADB_PATH", fake(tmp_path / "adb", "exit 0"))
    yield
    server.stop()


def test_a_simulated_phone_is_well_and_needs_no_adb(route: Route) -> None:
    report = run_doctor(None, OPERATOR_PACKAGE)
    assert report.ok
    assert report.criticalOk
    assert report.deviceId == route.serial
    assert [check.id for check in report.checks] == WHOLE
    assert {check.status for check in report.checks} == {"pass"}
    for id_ in ("host.adb.presence", "host.adb.server"):
        assert by_id(report, id_).evidence == {"needed": False}
    assert by_id(report, "device.capability").evidence == {
        "sdk": 35,
        "model": "Simulated phone",
        "size": "1080x2400",
        "density": "420",
    }
    assert report.nextActions == ["clawperator snapshot --device claw-1", "clawperator help"]
    document = msgspec.to_builtins(report)
    assert list(document) == [
        "ok",
        "criticalOk",
        "backend",
        "deviceId",
        "operatorPackage",
        "checks",
        "nextActions",
    ]


def test_an_operator_without_its_service_fails_the_handshake_with_the_way_out(route: Route) -> None:
    route.phone_server.phone.set_fault("accessibility_off", "on")
    report = look()
    assert not report.ok
    check = last(report)
    assert (check.id, check.status, check.code) == (
        "readiness.handshake",
        "fail",
        "DEVICE_ACCESSIBILITY_NOT_RUNNING",
    )
    assert check.fix is not None
    assert check.fix.steps[0].value == "clawperator grant-device-permissions --device claw-1"
    assert check.deviceGuidance is not None
    assert report.nextActions == [
        "clawperator grant-device-permissions --device claw-1",
        "clawperator doctor --fix --device claw-1",
        "On the device: Settings, Accessibility",
    ]


def test_an_operator_whose_process_is_dead_is_not_called_absent(route: Route) -> None:
    route.phone_server.phone.set_fault("operator_killed", "on")
    check = last(look())
    assert check.code == "DEVICE_ACCESSIBILITY_NOT_RUNNING"
    assert check.detail == "the Operator's process is not running"


@pytest.mark.parametrize("fault", ["offline", "unauthorized"])
@pytest.mark.parametrize("serial", ["claw-1", None])
def test_a_phone_that_does_not_answer_ends_the_examination(route: Route, fault: str, serial: str | None) -> None:
    route.phone_server.phone.set_fault(fault, "on")
    report = run_doctor(serial, OPERATOR_PACKAGE)
    assert not report.criticalOk
    assert last(report).code == f"DEVICE_{fault.upper()}"
    assert report.nextActions == [f"clawperator phone fault {fault} off --device claw-1"]


@pytest.mark.usefixtures("empty_server")
def test_a_missing_device_is_reported_with_the_connected_ones(route: Route) -> None:
    report = run_doctor("nowhere", OPERATOR_PACKAGE)
    assert last(report).code == "DEVICE_NOT_FOUND"
    assert report.nextActions == [f"Use one of: {route.serial}."]


def test_a_simulated_phone_may_be_named_by_the_address_adb_has_for_it(
    route: Route, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.phone.adb.real_adb import adb_server, connected

    with adb_server("system", tmp_path) as adb, connected(adb, route.phone_server.adbd_port) as address:
        monkeypatch.setenv("ADB_PATH", adb.program)
        monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", str(adb.port))
        assert run_doctor(None, OPERATOR_PACKAGE).deviceId == "claw-1"
        report = run_doctor(address, OPERATOR_PACKAGE)
    assert report.ok, report
    assert report.deviceId == address


def test_a_device_that_disconnects_during_the_checks_is_a_failed_check(
    route: Route, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(serial: str) -> Device:
        raise ClawError("DEVICE_NOT_FOUND", f"{serial} went away", hint="Connect it again.")

    monkeypatch.setattr(doctor, "resolve_device", gone)
    report = run_doctor(route.serial, OPERATOR_PACKAGE)
    assert not report.ok
    assert last(report).code == "DEVICE_NOT_FOUND"


def test_fixing_grants_what_is_missing_and_looks_again(route: Route) -> None:
    take_away(route)
    assert last(look()).status == "fail"
    report = look(fix=True)
    assert report.ok
    assert msgspec.to_builtins(report.repairs) == [
        {"checkId": "readiness.handshake", "did": "turned the accessibility service off and on", "ok": True}
    ]
    assert last(report).status == "pass"
    assert is_granted(route)


def test_fixing_turns_settings_on(route: Route) -> None:
    for name in ("development_settings_enabled", "adb_enabled"):
        route.phone_server.phone.settings.put("global", name, "0")
    before = look()
    assert before.criticalOk, "these are only advice"
    codes = [check.code for check in before.checks if check.status == "warn"]
    assert codes == ["DEVICE_DEV_OPTIONS_DISABLED", "DEVICE_USB_DEBUGGING_DISABLED"]
    after = look(fix=True)
    assert {check.status for check in after.checks} == {"pass"}
    assert isinstance(after.repairs, list)
    assert [repair.checkId for repair in after.repairs] == [
        "readiness.settings.dev_options",
        "readiness.settings.usb_debugging",
    ]


def test_what_fixing_could_not_put_right_is_still_reported(route: Route) -> None:
    route.phone_server.phone.set_fault("accessibility_off", "on")
    report = look(fix=True)
    assert not report.ok
    assert last(report).code == "DEVICE_ACCESSIBILITY_NOT_RUNNING"
    assert report.repairs


def test_fixing_a_healthy_phone_does_nothing(route: Route) -> None:
    report = look(fix=True)
    assert report.deviceId == route.serial
    assert report.ok
    assert report.repairs == []


def test_the_full_examination_does_a_small_job(
    route: Route, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    report = look(full=True)
    assert report.ok
    assert (last(report).id, last(report).status) == ("readiness.smoke", "pass")
    assert route.phone_server.phone.foreground() == "com.android.settings"
    assembly = by_id(report, "build.android.assemble")
    assert assembly.status == "warn", "there is nothing to build here"


def test_the_full_examination_builds_installs_and_launches_the_project_it_stands_in(
    route: Route, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.phone.core.apks import make_apk

    monkeypatch.chdir(tmp_path)
    apk = tmp_path / "app/build/outputs/apk/debug/app-debug.apk"
    (tmp_path / "app").mkdir()
    (tmp_path / "made.apk").write_bytes(make_apk(OPERATOR_PACKAGES[1], version_name="9.9.9"))
    fake(tmp_path / "gradlew", f'mkdir -p "{apk.parent}" && cp made.apk "{apk}" && echo "$1" > task')
    trust_folder(str(tmp_path))
    try:
        report = run_doctor("claw-1", OPERATOR_PACKAGES[1], full=True)
    finally:
        route.phone_server.phone.packages.remove(OPERATOR_PACKAGES[1])
    assert (tmp_path / "task").read_text() == ":app:assembleDebug\n"
    for id_ in ("build.android.assemble", "build.android.install", "build.android.launch"):
        assert by_id(report, id_).status == "pass", by_id(report, id_)


@pytest.mark.parametrize(
    ("gradlew", "code"),
    [("echo 'e: boom' >&2; exit 1", "ANDROID_BUILD_FAILED"), ("exit 0", "ANDROID_INSTALL_FAILED")],
)
def test_a_build_that_fails_stops_the_examination(
    route: Route, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gradlew: str, code: str
) -> None:
    assert route
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app").mkdir()
    fake(tmp_path / "gradlew", gradlew)
    trust_folder(str(tmp_path))
    report = look(full=True)
    assert not report.ok
    assert last(report).code == code


def test_the_full_examination_runs_no_program_of_an_untrusted_folder(
    route: Route, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert route
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app").mkdir()
    fake(tmp_path / "gradlew", "touch built")
    assembly = by_id(look(full=True), "build.android.assemble")
    assert (assembly.status, assembly.summary) == ("warn", "nothing was built: the folder is not trusted")
    assert not (tmp_path / "built").exists()


def test_an_operator_of_an_unknown_version_is_a_warning(route: Route, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(route.phone_server.phone.packages.app(OPERATOR_PACKAGE), "version", "9.9.9")
    report = look()
    versions = by_id(report, "readiness.version.compatibility")
    assert (versions.status, versions.code) == ("warn", "VERSION_INCOMPATIBLE")
    assert report.ok
    assert last(report).id == "readiness.handshake"


def test_the_next_command_keeps_the_named_operator() -> None:
    other = OPERATOR_PACKAGES[1]
    with running_phone_server(operator=other):
        report = run_doctor("claw-1", other)
    assert report.nextActions == [
        f"clawperator snapshot --device claw-1 --operator-package {other}",
        "clawperator help",
    ]


def test_the_other_operator_is_a_warning_that_names_it(route: Route) -> None:
    assert route
    report = run_doctor("claw-1", OPERATOR_PACKAGES[1])
    check = by_id(report, "readiness.apk.presence")
    assert (check.status, check.code) == ("warn", "OPERATOR_VARIANT_MISMATCH")
    assert OPERATOR_PACKAGE in str(report.nextActions)


def test_an_absent_operator_does_not_hide_what_else_is_wrong(
    route: Route, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clawperator.device.setup.version_check.list_packages", lambda _: [])
    route.phone_server.phone.settings.put("global", "adb_enabled", "0")
    report = look()
    assert not report.ok
    assert by_id(report, "readiness.apk.presence").code == "OPERATOR_NOT_INSTALLED"
    assert by_id(report, "readiness.settings.usb_debugging").status == "warn"
    assert "clawperator operator setup --apk <operator.apk> --device claw-1" in str(report.nextActions)


@pytest.fixture
def without_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clawperator.device.setup.version_check.list_packages", lambda _: [])
    monkeypatch.setattr(doctor, "find_operator", lambda _, named: named or OPERATOR_PACKAGE)


@pytest.mark.usefixtures("route", "without_operator")
def test_without_an_operator_a_device_is_ready_by_plain_adb() -> None:
    report = run_doctor("claw-1", None)
    assert (report.ok, report.criticalOk, report.backend) == (True, True, "adb")
    assert (presence := by_id(report, "readiness.apk.presence")).status == "warn"
    assert presence.code == "OPERATOR_NOT_INSTALLED"
    assert "no recording" in by_id(report, "readiness.adb").summary
    assert isinstance(report.nextActions, list)
    assert report.nextActions[0] == "clawperator open com.android.settings --device claw-1"
    assert "Overall: ready by plain adb (no recording" in report_text(report)


@pytest.mark.usefixtures("route", "without_operator")
@pytest.mark.parametrize("named", [True, False])
def test_an_operator_that_was_asked_for_must_be_there(named: bool, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: FBT001
    if not named:
        monkeypatch.setenv("CLAWPERATOR_BACKEND", "operator")
    report = run_doctor("claw-1", OPERATOR_PACKAGE if named else None)
    assert not report.ok
    assert by_id(report, "readiness.apk.presence").status == "fail"


@pytest.mark.usefixtures("route", "without_operator")
def test_without_an_operator_and_a_screen_a_device_is_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ClawError("SNAPSHOT_HIERARCHY_UNAVAILABLE", "never idle")

    monkeypatch.setattr("clawperator.device.setup.device_checks.run_plan", fail)
    report = run_doctor("claw-1", None)
    assert (report.ok, by_id(report, "readiness.apk.presence").status) == (False, "fail")
    assert by_id(report, "readiness.adb").code == "SNAPSHOT_HIERARCHY_UNAVAILABLE"


def test_with_an_operator_the_backend_is_named(route: Route) -> None:
    assert route
    assert look().backend == "operator"


def test_a_busy_device_is_not_a_failure(route: Route, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clawperator.device.setup.device_checks._LEASE_SECONDS", 0.05)
    with lease(route.serial, "other", 1):
        report = look()
    assert report.ok
    assert (last(report).status, last(report).code) == ("warn", "EXECUTION_CONFLICT_IN_FLIGHT")


def test_with_two_phones_one_must_be_chosen(route: Route, tmp_path: Path) -> None:
    from clawperator.phone.adb.device import PhoneDevice
    from clawperator.phone.adb.server import AdbServer
    from clawperator.phone.core.phone import Phone

    other = Phone(serial="claw-2", seed=0)
    server = AdbServer(lambda: [PhoneDevice(other)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANDROID_ADB_SERVER_PORT", str(server.start()))
        patch.setenv("ADB_PATH", fake(tmp_path / "adb", "echo Android Debug Bridge version 1.0.41"))
        try:
            report = run_doctor(None, OPERATOR_PACKAGE)
        finally:
            server.stop()
            other.close()
    assert route
    assert report.ok, "a choice to make is no failure"
    assert last(report).code == "MULTIPLE_DEVICES_DEVICE_ID_REQUIRED"
    assert last(report).evidence == {"devices": ["claw-1", "claw-2"]}
    assert by_id(report, "host.adb.presence").summary == "Android Debug Bridge version 1.0.41"


def test_with_no_adb_and_no_phone_the_way_out_is_named() -> None:
    report = run_doctor(None, OPERATOR_PACKAGE)
    assert not report.ok
    assert last(report).code == "ADB_NOT_FOUND"
    assert "clawperator phone start" in str(report.nextActions)
    assert not report.deviceId


@pytest.mark.usefixtures("empty_server")
def test_with_adb_and_no_phone_there_are_no_devices() -> None:
    report = run_doctor(None, OPERATOR_PACKAGE)
    assert [check.status for check in report.checks] == ["pass", "pass", "pass", "fail"]
    assert last(report).code == "NO_DEVICES"


def test_an_adb_server_that_does_not_start_is_started_anew_by_fixing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = tmp_path / "calls"
    monkeypatch.setenv("ADB_PATH", fake(tmp_path / "adb", f'echo "$1" >> "{calls}"; test "$1" != start-server'))
    report = run_doctor(None, OPERATOR_PACKAGE)
    assert last(report).code == "ADB_SERVER_FAILED"
    assert report.nextActions == ["adb kill-server", "adb start-server"]
    calls.unlink()
    report = run_doctor(None, OPERATOR_PACKAGE, fix=True)
    assert "kill-server" in calls.read_text().split()
    assert isinstance(report.repairs, list)
    assert report.repairs[0].ok is False
    assert "ADB_SERVER_FAILED" in str(report.repairs[0].error)


def test_the_version_of_python_is_looked_at() -> None:
    assert check_python().status == "pass"
    old = check_python((3, 9, 1))
    assert (old.status, old.code) == ("fail", "HOST_DEPENDENCY_MISSING")
    assert "3.9.1" in old.summary


@pytest.mark.parametrize(
    ("script", "status"),
    [
        ("echo 'openjdk version \"17.0.2\" 2022-01-18' >&2", "pass"),
        ("echo 'java version \"21\"'", "pass"),
        ("echo 'java version \"1.8.0_292\"'", "warn"),
        ("echo nonsense", "warn"),
    ],
)
def test_the_version_of_java_is_only_advice(
    script: str, status: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake(tmp_path / "bin" / "java", script)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert check_java().status == status
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert check_java().summary == "Java is not installed"


def test_checks_of_a_simulated_phone_pass_with_an_adb_that_is_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADB_PATH", fake(tmp_path / "adb", "exit 1"))
    assert check_adb("claw-1").status == "pass"
    assert check_server("claw-1").evidence == {"needed": False}


def test_every_code_a_check_may_carry_is_in_the_table() -> None:
    assert set(doctor._FIXES) <= set(CODES)


def test_the_report_text_groups_and_numbers(route: Route) -> None:
    route.phone_server.phone.settings.put("global", "adb_enabled", "0")
    route.phone_server.phone.set_fault("accessibility_off", "on")
    text = report_text(look())
    head, critical, advisory, more, overall, actions = text.split("\n\n")
    assert head == "Clawperator doctor"
    assert critical.startswith("Critical\n  [OK]   host.python.version: Python 3.")
    assert "[FAIL] readiness.handshake" in critical
    assert advisory.startswith("Advisory\n  [WARN] readiness.settings.usb_debugging")
    assert more == "4 more passed."
    assert overall == "Overall: not ready"
    assert actions.splitlines()[:2] == ["Next actions", "  1. clawperator doctor --fix --device claw-1"]
    fixed = report_text(look(fix=True))
    assert "Repairs\n  [OK]   readiness.settings.usb_debugging: turned on USB debugging" in fixed


def test_the_doctor_notes_failures_in_the_log(
    route: Route, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CLAWPERATOR_LOG_DIR", str(tmp_path / "logs"))
    route.phone_server.phone.set_fault("offline", "on")
    look()
    (name,) = os.listdir(tmp_path / "logs")
    events = [msgspec.json.decode(line) for line in (tmp_path / "logs" / name).read_bytes().splitlines()]
    assert [(e["event"], e["status"]) for e in events] == [
        ("doctor.check", "fail"),
        ("doctor.finished", "not ready"),
    ]
    assert events[0]["code"] == "DEVICE_OFFLINE"


def test_through_a_real_adb_it_finds_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_route("real adb", tmp_path) as real:
        real.take(monkeypatch)
        report = run_doctor(real.serial, OPERATOR_PACKAGE)
    assert report.ok, report
    assert [check.id for check in report.checks] == WHOLE
    assert by_id(report, "host.adb.server").evidence is None
