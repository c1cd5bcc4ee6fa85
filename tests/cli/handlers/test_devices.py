"""The commands that set up and inspect devices, as typed on the command line."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest

from clawperator import __version__
from clawperator.contract.wire import OPERATOR_PACKAGE, OPERATOR_PACKAGES
from clawperator.device.run.host_log import log_event, log_file
from tests.phone.core.apks import make_apk
from tests.support.hanging import HANG_SECONDS
from tests.support.operator_state import take_away
from tests.support.routes import Route, open_route
from tests.support.running import Ran, clawperator

BINARY = str(Path(sys.executable).with_name("clawperator"))


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clawperator.device.setup.doctor._ANSWER_PAUSE", 0.01)


def refused(ran: Ran, code: str) -> None:
    assert (ran.code, ran.json["code"]) == (1, code), ran.out
    assert ran.json["hint"]


def test_devices_lists_serial_and_state(route: Route) -> None:
    assert clawperator("devices").json == {"devices": [{"serial": "claw-1", "state": "device"}]}
    for fault in ("offline", "unauthorized"):
        route.phone_server.phone.set_fault(fault, "on")
        ran = clawperator("devices")
        assert (ran.code, ran.json) == (0, {"devices": [{"serial": "claw-1", "state": fault}]})
        route.phone_server.phone.set_fault(fault, "off")


def test_devices_without_adb_and_without_a_phone_is_an_error() -> None:
    refused(clawperator("devices"), "ADB_NOT_FOUND")


def test_devices_is_empty_when_adb_knows_no_phone(monkeypatch: pytest.MonkeyPatch) -> None:
    from clawperator.phone.adb.server import AdbServer

    server = AdbServer(list)
    monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", str(server.start()))
    try:
        assert clawperator("devices").json == {"devices": []}
        refused(clawperator("packages", "list"), "NO_DEVICES")
    finally:
        server.stop()


def test_packages_list(route: Route) -> None:
    every = route.run("packages", "list").json["packages"]
    third = route.run("packages", "list", "--third-party").json["packages"]
    assert "com.android.settings" in every
    assert OPERATOR_PACKAGE in third
    assert "com.android.settings" not in third


def test_version_check_compat(route: Route, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = clawperator("version", "--check-compat")
    assert ran.code == 0
    assert list(ran.json.items()) == [
        ("cliVersion", __version__),
        ("apkVersion", __version__),
        ("apkVersionCode", 300_900),
        ("operatorPackage", OPERATOR_PACKAGE),
        ("compatible", True),
    ]
    monkeypatch.setattr(route.phone_server.phone.packages.app(OPERATOR_PACKAGE), "version", "0.0.9")
    ran = clawperator("version", "--check-compat")
    assert ran.code == 1
    assert ran.json["compatible"] is False
    assert ran.json["error"]["code"] == "VERSION_INCOMPATIBLE"
    assert ran.json["remediation"]


def test_operator_setup(route: Route, tmp_path: Path) -> None:
    apk = tmp_path / "operator.apk"
    apk.write_bytes(make_apk(OPERATOR_PACKAGES[1]))
    try:
        ran = route.run("operator", "setup", "--apk", str(apk), "--operator-package", OPERATOR_PACKAGES[1])
    finally:
        route.phone_server.phone.packages.remove(OPERATOR_PACKAGES[1])
    assert ran.code == 0
    assert list(ran.json) == ["operatorPackage", "install", "permissions", "verification", "message"]
    refused(route.run("operator", "install", "--apk", str(tmp_path / "none.apk")), "OPERATOR_APK_NOT_FOUND")
    refused(clawperator("operator", "setup"), "USAGE")


def test_the_operator_of_the_environment_is_set_up(
    route: Route, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apk = tmp_path / "operator.apk"
    apk.write_bytes(make_apk(OPERATOR_PACKAGES[1]))
    monkeypatch.setenv("CLAWPERATOR_OPERATOR_PACKAGE", OPERATOR_PACKAGES[1])
    try:
        assert route.run("operator", "setup", "--apk", str(apk)).json["operatorPackage"] == OPERATOR_PACKAGES[1]
    finally:
        route.phone_server.phone.packages.remove(OPERATOR_PACKAGES[1])


@pytest.mark.parametrize("word", ["setup", "install"])
def test_setup_alone_names_the_command_that_is_meant(word: str) -> None:
    ran = clawperator(word)
    assert (ran.code, ran.json["code"]) == (0, "USAGE")
    assert ran.json["canonical"] == "clawperator operator setup --apk <operator.apk>"


def test_grant_device_permissions(route: Route) -> None:
    take_away(route)
    assert route.run("snapshot").json["backend"] == "adb"
    assert route.run("snapshot", "--backend", "operator").json["envelope"]["errorCode"] == "SERVICE_UNAVAILABLE"
    ran = clawperator("grant-device-permissions")
    assert (ran.code, ran.json["ok"], ran.json["deviceId"]) == (0, True, "claw-1")
    assert route.run("snapshot").json["backend"] == "operator"


def test_doctor_exits_by_what_is_critical_unless_it_only_checks(route: Route) -> None:
    ran = route.run("doctor")
    assert (ran.code, ran.json["ok"], ran.json["deviceId"]) == (0, True, "claw-1")
    route.phone_server.phone.set_fault("accessibility_off", "on")
    assert route.run("doctor").code == 1
    assert route.run("doctor", "--check-only").code == 0


def test_doctor_fix_makes_the_next_command_work(route: Route) -> None:
    take_away(route)
    ran = route.run("doctor", "--fix")
    assert (ran.code, ran.json["ok"]) == (0, True)
    assert [repair["ok"] for repair in ran.json["repairs"]] == [True]
    assert route.run("snapshot").json["envelope"]["status"] == "success"


def test_doctor_for_people(route: Route) -> None:
    ran = route.run("doctor", "--output", "pretty")
    assert ran.code == 0
    text = ran.out.decode()
    assert text.startswith("Clawperator doctor\n")
    assert "Overall: ready" in text
    route.phone_server.phone.set_fault("offline", "on")
    assert route.run("doctor", "--output", "pretty").code == 1
    assert route.run("doctor", "--output", "pretty", "--json").json["ok"] is False


def test_a_timeout_is_kept_or_refused(route: Route, tmp_path: Path) -> None:
    apk = tmp_path / "operator.apk"
    apk.write_bytes(make_apk(OPERATOR_PACKAGE))
    route.phone_server.phone.set_fault("latency", "3000")  # a tenth of it by this phone's clock
    slow = route.run("packages", "list", "--timeout", "50")
    assert "timeout" in slow.json["message"]
    refused(slow, "DEVICE_SHELL_UNAVAILABLE")
    refused(route.run("operator", "setup", "--apk", str(apk), "--timeout", "50"), "OPERATOR_INSTALL_FAILED")
    route.phone_server.phone.set_fault("latency", "off")
    assert route.run("packages", "list", "--timeout", "5000").code == 0
    for words in (["packages", "list"], ["doctor"], ["emulator", "provision"]):
        ran = clawperator(*words, "--timeout", "0")
        assert (ran.code, ran.json["code"]) == (1, "EXECUTION_VALIDATION_FAILED")


def test_every_command_here_names_an_unreachable_phone(route: Route) -> None:
    commands = (["packages", "list"], ["grant-device-permissions"])
    for fault in ("offline", "unauthorized"):
        route.phone_server.phone.set_fault(fault, "on")
        for words in commands:
            refused(route.run(*words), f"DEVICE_{fault.upper()}")
        compat = route.run("version", "--check-compat")
        assert (compat.code, compat.json["error"]["code"]) == (1, f"DEVICE_{fault.upper()}")
        route.phone_server.phone.set_fault(fault, "off")


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["doctor", "--fix"], "doctor-report"),
        (["version", "--check-compat"], "compatibility"),
        (["grant-device-permissions"], "granted-permissions"),
    ],
)
def test_documents_match_their_schemas(route: Route, words: list[str], name: str) -> None:
    schema = clawperator("schema", name).json
    assert schema["title"] == name
    jsonschema.validate(route.run(*words).json, schema)
    route.phone_server.phone.set_fault("accessibility_off", "on")
    jsonschema.validate(route.run(*words).json, schema)


def test_inspecting_an_emulator_that_does_not_exist_is_no_failure() -> None:
    for words in (["nowhere"], ["--name", "nowhere"]):
        shown = clawperator("emulator", "inspect", *words)
        assert (shown.code, shown.json["name"], shown.json["exists"]) == (0, "nowhere", False)


@pytest.mark.parametrize("verb", ["start", "stop", "delete"])
def test_an_emulator_that_does_not_exist(verb: str) -> None:
    refused(clawperator("emulator", verb, "nowhere"), "EMULATOR_NOT_FOUND")
    refused(clawperator("emulator", verb, "--name", "nowhere"), "EMULATOR_NOT_FOUND")
    twice = clawperator("emulator", verb, "one", "--name", "two")
    assert (twice.code, twice.json["code"]) == (1, "USAGE")


def test_emulators_without_the_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANDROID_HOME", "ANDROID_SDK_ROOT", "ANDROID_AVD_HOME", "ANDROID_USER_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name in ("EMULATOR_PATH", "SDKMANAGER_PATH", "AVDMANAGER_PATH"):
        monkeypatch.setenv(name, "/nowhere")
    assert clawperator("emulator", "list").json == {"avds": []}
    for words in (
        ["emulator", "provision"],
        ["provision", "emulator"],
        ["emulator", "status"],
        ["emulator", "create"],
    ):
        refused(clawperator(*words), "ANDROID_SDK_TOOL_MISSING")


def test_an_execution_is_noted_with_ids_and_without_what_was_typed(
    route: Route, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAWPERATOR_LOG_DIR", str(tmp_path))
    route.run("type", "hunter2", "--role", "textfield", "--timeout", "1000")
    route.phone_server.phone.set_fault("offline", "on")
    route.run("snapshot")
    text = Path(log_file()).read_text("utf-8")
    assert "hunter2" not in text
    events = [json.loads(line) for line in text.splitlines()]
    assert [event["event"] for event in events] == [
        "execution.started",
        "execution.finished",
        "execution.started",
        "execution.failed",
    ]
    assert events[1]["status"] == "failed"
    assert events[1]["durationMs"] >= 0
    assert events[3]["code"] == "DEVICE_OFFLINE"
    assert {event["deviceId"] for event in events} == {"claw-1"}
    assert events[0]["commandId"].startswith("type-")


def test_logs_prints_what_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAWPERATOR_LOG_DIR", str(tmp_path))
    nothing = clawperator("logs", "--no-follow")
    assert (nothing.code, nothing.out) == (0, b"")
    assert log_file() in nothing.err
    log_event("one")
    log_event("two")
    ran = clawperator("logs", "--no-follow")
    assert (ran.code, ran.err) == (0, "")
    assert [json.loads(line)["event"] for line in ran.out.splitlines()] == ["one", "two"]


def test_an_unreadable_log_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CLAWPERATOR_LOG_DIR", str(tmp_path / "file"))
    refused(clawperator("logs", "--no-follow"), "USAGE")


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_logs_follows_until_it_is_stopped(
    end: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAWPERATOR_LOG_DIR", str(tmp_path))
    log_event("before")
    with subprocess.Popen([BINARY, "logs"], stdout=subprocess.PIPE, env=os.environ) as following:
        assert following.stdout is not None
        try:
            assert json.loads(following.stdout.readline())["event"] == "before"
            log_event("after")
            assert json.loads(following.stdout.readline())["event"] == "after"
            time.sleep(0.05)
            following.send_signal(end)
            assert following.wait(HANG_SECONDS) == 0
        finally:
            following.kill()


def test_logs_ends_when_the_reader_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAWPERATOR_LOG_DIR", str(tmp_path))
    log_event("before")
    with subprocess.Popen(
        [BINARY, "logs"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ
    ) as following:
        assert following.stdout is not None
        assert following.stderr is not None
        try:
            following.stdout.readline()
            following.stdout.close()
            log_event("after")
            assert following.wait(HANG_SECONDS) == 0
            assert following.stderr.read() == b""
        finally:
            following.kill()


def test_through_a_real_adb_the_same_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_route("real adb", tmp_path) as real:
        real.take(monkeypatch)
        assert clawperator("devices").json == {"devices": [{"serial": real.serial, "state": "device"}]}
        assert OPERATOR_PACKAGE in clawperator("packages", "list", "--third-party").json["packages"]
        apk = tmp_path / "operator.apk"
        apk.write_bytes(make_apk(OPERATOR_PACKAGE, 300_901, __version__, filler=500_000))
        assert clawperator("operator", "setup", "--apk", str(apk)).code == 0
        assert clawperator("doctor", "--check-only").json["ok"] is True


def test_a_user_is_named_by_its_number(route: Route) -> None:
    listed = route.run("packages", "list", "--user", "0").json
    assert listed == route.run("packages", "list").json == route.run("packages", "list", "--user", "current").json
    refused(route.run("packages", "list", "--user", "10"), "DEVICE_USER_NOT_FOUND")
    refused(route.run("open", "com.android.settings", "--user", "10"), "DEVICE_USER_NOT_FOUND")
    refused(route.run("open", "Settings", "--user", "10"), "DEVICE_USER_NOT_FOUND")
    assert route.run("open", "Settings", "--user", "0").code == 0
    assert route.run("close", "Settings", "--user", "current").code == 0


@pytest.mark.parametrize("user", ["me", "-1", "1.5", "99999"])
def test_an_invalid_user_is_refused_before_a_device_is_needed(user: str) -> None:
    for command in (("packages", "list"), ("open", "com.android.settings"), ("close", "com.android.settings")):
        ran = clawperator(*command, f"--user={user}")
        refused(ran, "USAGE" if command[0] == "packages" else "EXECUTION_VALIDATION_FAILED")
        assert "--user" in ran.json["message"]
