"""Checks of the computer."""

import sys
from pathlib import Path

import pytest

from clawperator.device.setup.host_checks import (
    Check,
    Step,
    check_adb,
    check_java,
    check_python,
    check_server,
    failed_check,
    passed,
)
from clawperator.errors import ClawError
from tests.device.adb.scripted_server import scripted, text


def steps(check: Check) -> list[str]:
    return [step.value for step in check.fix.steps] if check.fix else []


def title(check: Check) -> str | None:
    return check.fix.title if check.fix else None


def program(path: Path, script: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


# The document of a check


UNLOCK = "Unlock the device, and wait until it has started."
RECONNECT = "Run 'adb reconnect', or unplug and reconnect the device."
DOCTOR = "Run 'clawperator doctor'."
FIX = "Run 'clawperator doctor --fix'."


@pytest.mark.parametrize(
    ("hint", "given", "expected"),
    [
        ("Retry.", [], ["Retry."]),
        ("Retry.", ["Do this."], ["Do this."]),
        (DOCTOR, [], [UNLOCK, RECONNECT]),
        (DOCTOR, ["Do this."], ["Do this."]),
        (FIX, [], [FIX]),
        ("", [], []),
    ],
)
def test_the_steps_of_a_failed_check(hint: str, given: list[str], expected: list[str]) -> None:
    error = ClawError("DEVICE_OFFLINE", "it is offline", hint=hint)
    check = failed_check("x", error, *(Step("manual", value) for value in given))
    assert (check.id, check.status, check.code, check.summary) == ("x", "fail", "DEVICE_OFFLINE", "it is offline")
    assert steps(check) == expected
    assert title(check) == ("Resolve DEVICE_OFFLINE" if expected else None)
    assert check.evidence is None


def test_a_check_has_the_facts_as_evidence() -> None:
    error = ClawError("DEVICE_OFFLINE", "", hint="Retry.", details={"state": "offline"})
    check = failed_check("x", error, status="warn", title="Try again")
    assert (check.status, title(check), check.evidence) == ("warn", "Try again", {"state": "offline"})
    assert passed("x", "fine", a=1).evidence == {"a": 1}
    assert passed("x", "fine").evidence is None


# Python and Java


def test_python_must_be_3_11_or_newer() -> None:
    version = ".".join(map(str, sys.version_info[:3]))
    assert (check_python().summary, check_python().evidence) == (f"Python {version}", {"version": version})
    assert [check_python(v).status for v in ((3, 11), (3, 11, 0), (3, 12, 1), (4, 0, 0))] == ["pass"] * 4
    old = check_python((3, 10, 20))
    assert (old.status, old.code, old.evidence) == ("fail", "HOST_DEPENDENCY_MISSING", {"version": "3.10.20"})
    assert old.summary == "Python 3.10.20 is too old; 3.11 or newer is required"


@pytest.mark.parametrize(
    ("script", "status", "summary"),
    [
        ("echo 'openjdk version \"17.0.9\"' >&2", "pass", "Java 17"),
        ("echo 'openjdk version \"21.0.1\"' >&2; exit 1", "pass", "Java 21"),
        ("echo 'java version \"1.8.0_292\"'", "warn", "found Java 8; 17 or 21 is required"),
        ("echo nonsense", "warn", "found an unknown Java version; 17 or 21 is required"),
    ],
)
def test_the_version_of_java(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, status: str, summary: str
) -> None:
    java = program(tmp_path / "bin" / "java", script)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    check = check_java()
    assert (check.status, check.summary) == (status, summary)
    if status == "pass":
        assert check.evidence == {"version": summary.removeprefix("Java "), "path": java}
    else:
        assert title(check) == "Install Java"


def test_java_is_found_in_its_home_and_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def version_found() -> str:
        return check_java().summary

    program(tmp_path / "path" / "java", "echo 'version \"21\"'")
    program(tmp_path / "home" / "bin" / "java", "echo 'version \"17\"'")
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    for home, expected in ((None, "Java 21"), ("", "Java 21"), ("empty", "Java 21"), ("home", "Java 17")):
        if home is None:
            monkeypatch.delenv("JAVA_HOME", raising=False)
        else:
            monkeypatch.setenv("JAVA_HOME", home and str(tmp_path / home))
        assert version_found() == expected
    (tmp_path / "home" / "bin" / "java").write_text("#!/nowhere/sh\n")
    assert version_found() == "found an unknown Java version; 17 or 21 is required"


# adb


@pytest.mark.parametrize("simulated", [None, "claw-1"])
@pytest.mark.parametrize(
    ("script", "version"),
    [
        ("echo ' Android Debug Bridge version 1.0.41 '; echo Version 36", "Android Debug Bridge version 1.0.41"),
        ("exit 0", "unknown adb version"),
    ],
)
def test_the_version_of_adb_is_its_first_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, version: str, simulated: str | None
) -> None:
    adb = program(tmp_path / "adb", script)
    monkeypatch.setenv("ADB_PATH", adb)
    check = check_adb(simulated)
    assert (check.status, check.summary) == ("pass", version)
    assert check.evidence == {"version": version, "path": adb}


def test_a_missing_adb_has_two_ways_out() -> None:
    check = check_adb(None)
    assert (check.status, check.code, title(check)) == ("fail", "ADB_NOT_FOUND", "Install adb")
    assert steps(check) == [
        "Install Android's platform-tools, or set ADB_PATH.",
        "Or start a simulated phone, which needs no adb: clawperator phone start",
    ]
    simulated = check_adb("claw-1")
    assert (simulated.status, simulated.evidence) == ("pass", {"needed": False})
    assert simulated.summary == "adb is not installed; the simulated phone claw-1 does not need it"


def test_an_adb_server_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = tmp_path / "calls"
    monkeypatch.setenv("ADB_PATH", program(tmp_path / "adb", f'echo "$1" >> "{calls}"'))
    check = check_server(None)
    assert check.status == "pass"
    assert check.summary.startswith("the adb server was started at localhost:")
    assert calls.read_text() == "start-server\n"


def test_the_title_of_a_failed_server_is_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADB_PATH", program(tmp_path / "adb", "exit 1"))
    assert title(check_server(None)) == "Restart the adb server"
    monkeypatch.setenv("ADB_SERVER_SOCKET", "tcp:::1:5037")
    assert title(check_server(None)) == "Correct the address of the adb server"
    monkeypatch.setenv("ADB_SERVER_SOCKET", "tcp:[::1]:1")
    assert title(check_server(None)) == "Start the adb server"


def test_an_adb_server_that_answers_is_running(monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted(text("0029")) as device:
        port = device.endpoint.port
        monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", str(port))
        check = check_server(None)
    assert (check.status, check.summary) == ("pass", f"the adb server is running at localhost:{port}")


def test_a_simulated_phone_needs_no_adb_server() -> None:
    check = check_server("claw-1")
    assert (check.status, check.evidence) == ("pass", {"needed": False})
