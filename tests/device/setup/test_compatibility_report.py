"""The report of ``doctor --report``: its exact fields, and nothing that identifies a device or its owner."""

import json
import os
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, UnsetType

from clawperator import __version__
from clawperator.contract.wire import OPERATOR_PACKAGE, accessibility_service
from clawperator.device.adb.client import Device, Endpoint, ShellAnswer, run_shell
from clawperator.device.setup import compatibility_report
from clawperator.device.setup.compatibility_report import (
    CompatibilityReport,
    DisplayFacts,
    PublicTexts,
    ReportedCheck,
    ReportedOperator,
    Timings,
    make_report,
)
from clawperator.device.setup.device_checks import DeviceFacts
from clawperator.device.setup.doctor import Report
from clawperator.device.setup.host_checks import Check
from clawperator.errors import ClawError
from clawperator.schemas import schema
from tests.support.command_doubles import SERIAL, CommandDoubles, Reply, double_server
from tests.support.ordinary_phone import PROPERTIES, answer_properties, dumped, node, ordinary_phone, screen
from tests.support.routes import Route
from tests.support.running import clawperator

FIELDS = {
    "": {"reportVersion", "version", "host", "device", "backend", "operator", "checks", "timings"},
    "host": {"os", "machine", "python", "adb", "platformTools"},
    "device": {
        *("connection", "android", "api", "securityPatch", "manufacturer", "model", "system", "systemVersion"),
        "display",
    },
    "device.display": {"width", "height", "density", "count"},
    "operator": {"package", "version"},
    "checks": {"id", "status", "code"},
    "timings": {"shellSeconds", "dumpSeconds", "dumpNodes", "dumpCode"},
}
SECRETS = ("Nikhil", "secret@example.com", "com.bank.app", "My private note", "192.168.7.77", "WORK PROFILE")


@pytest.fixture
def phone(tmp_path: Path) -> CommandDoubles:
    """A Samsung phone with an Operator, which shows and lists private things."""
    doubles = ordinary_phone(tmp_path / "d", screen(node("My private note", bounds="[0,0][100,100]")))
    answer_properties(
        doubles,
        {
            **PROPERTIES,
            "ro.product.manufacturer": "samsung",
            "ro.product.model": "SM-S918B",
            "ro.build.version.oneui": "60101",
            "ro.build.version.security_patch": "2024-05-01",
            "ro.serialno": "RFCW31XXXYZ",
            "net.hostname": "Nikhils-Galaxy",
            "persist.sys.owner": "secret@example.com",
            "dhcp.wlan0.ipaddress": "192.168.7.77",
        },
    )
    doubles.answer(
        "pm", "Users:\n\tUserInfo{0:Nikhil:4c13} running\n\tUserInfo{10:WORK PROFILE:30}\n", when="list users"
    )
    doubles.answer("pm", f"package:com.bank.app\npackage:{OPERATOR_PACKAGE}\n", when="list packages*")
    services = f"com.bank.app/.Reader:{accessibility_service(OPERATOR_PACKAGE)}\n"
    doubles.answer("settings", services, when="get *secure enabled_accessibility_services")
    doubles.answer("settings", "Nikhil's Galaxy\n", when="get global device_name")
    doubles.answer("dumpsys", "    versionName=0.5.3\n    versionCode=53\n", when=f"package {OPERATOR_PACKAGE}")
    panels = "Display 4619827259835644672 (HWC display 0): port=0\nDisplay 4619827551948147201 (HWC display 3): port=1\n"
    doubles.answer("dumpsys", panels, when="SurfaceFlinger --display-id")
    return doubles


@pytest.fixture
def report(phone: CommandDoubles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    def write(serial: str = SERIAL) -> Any:
        path = tmp_path / "report.json"
        adb = tmp_path / "adb"
        adb.write_text("#!/bin/sh\necho 'Android Debug Bridge version 1.0.41'\necho 'Version 36.0.0-13206524'\n")
        adb.chmod(0o755)
        with double_server(phone, serial) as device:
            monkeypatch.setenv("ADB_SERVER_SOCKET", f"tcp:127.0.0.1:{device.endpoint.port}")
            monkeypatch.setenv("ADB_PATH", str(adb))
            ran = clawperator("doctor", "--report", str(path), "--device", serial, "--timeout", "1000")
        assert "compatibility report: " in ran.err
        text = path.read_text()
        for private in (*SECRETS, serial, serial.partition(":")[0], "RFCW31XXXYZ", "Galaxy"):
            assert private.lower() not in text.lower(), private
        document = json.loads(text)
        jsonschema.validate(document, schema("compatibility-report"))
        return document

    return write


def field_names(document: Any, path: str = "") -> dict[str, set[str]]:
    """The names of the fields of every object in a document, by its path."""
    found: dict[str, set[str]] = {}
    for part in document if isinstance(document, list) else [document]:
        if isinstance(part, dict):
            found.setdefault(path, set()).update(part)
            for name, value in part.items():
                if isinstance(value, dict | list):
                    found |= field_names(value, f"{path}.{name}".lstrip("."))
    return found


def test_a_report_has_exactly_these_fields(report: Any) -> None:
    document = report()
    assert field_names(document) == FIELDS
    assert document["version"] == __version__
    assert document["device"] == {
        "connection": "usb",
        "android": "14",
        "api": 34,
        "securityPatch": "2024-05-01",
        "manufacturer": "samsung",
        "model": "SM-S918B",
        "system": "One UI",
        "systemVersion": "60101",
        "display": {"width": 1080, "height": 2400, "density": 420, "count": 2},
    }
    assert document["host"]["adb"] == "1.0.41"
    assert document["host"]["platformTools"] == "36.0.0"
    assert (document["backend"], document["operator"]) == (
        "operator",
        {"package": OPERATOR_PACKAGE, "version": "0.5.3"},
    )
    assert document["timings"]["dumpNodes"] == 2
    assert document["timings"]["dumpSeconds"] > 0
    checks = {check["id"]: check for check in document["checks"]}
    assert checks["device.capability"] == {"id": "device.capability", "status": "pass", "code": None}


def test_a_failed_dump_leaves_its_code(phone: CommandDoubles, report: Any) -> None:
    phone.answer(
        "uiautomator", Reply("", "java.lang.IllegalStateException: UiAutomationService already registered\n", 1)
    )
    timings = report()["timings"]
    assert (timings["dumpSeconds"], timings["dumpNodes"]) == (None, None)
    assert timings["dumpCode"] == "UI_AUTOMATION_BUSY"


@pytest.mark.parametrize(
    "serial",
    [
        "192.168.7.77:5555",
        "adb-RFCW31XXXYZ-jr888A._adb-tls-connect._tcp",
        "adb-RFCW31XXXYZ-jr888A (2)._adb-tls-connect._tcp",
    ],
)
def test_a_wireless_phone_is_called_so_without_its_address(report: Any, serial: str) -> None:
    assert report(serial)["device"]["connection"] == "wireless"


def test_an_emulator_is_called_so(report: Any) -> None:
    assert report("emulator-5554")["device"]["connection"] == "emulator"


def test_hostile_properties_do_not_get_in(phone: CommandDoubles, report: Any) -> None:
    answer_properties(
        phone,
        {
            **PROPERTIES,
            "ro.build.version.release": "14 for Nikhil",
            "ro.build.version.security_patch": "secret@example.com",
            "ro.product.manufacturer": f"x{SERIAL}x",
            "ro.product.model": "Nikhil's Galaxy",
            "ro.miui.ui.version.name": "192.168.7.77",
            "ro.serialno": "RFCW31XXXYZ",
        },
    )
    phone.answer("wm", "Physical size: My private note\n", when="size")
    phone.answer("wm", "Physical density: com.bank.app\n", when="density")
    phone.answer("dumpsys", "    versionName=Nikhil\n", when=f"package {OPERATOR_PACKAGE}")
    document = report()
    device = document["device"]
    assert [device[name] for name in ("android", "securityPatch", "manufacturer", "model", "systemVersion")] == [
        None
    ] * 5
    assert device["display"] == {"width": None, "height": None, "density": None, "count": 2}
    assert document["operator"]["version"] is None


ANYTHING = re.compile(r"(?s).*")
SERIALS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=7, max_size=30)


@given(serial=SERIALS, before=st.text("ab -", max_size=5), after=st.text("ab -", max_size=5))
def test_a_text_with_the_serial_is_left_out(serial: str, before: str, after: str) -> None:
    device = Device(serial, Endpoint("127.0.0.1", 1))
    facts = DeviceFacts(34, "", "", "", {"ro.serialno": serial[::-1]}, None)
    public = PublicTexts(device, facts)
    for secret in (serial, serial[::-1], serial.upper()):
        assert public.text(f"{before}{secret}{after}", ANYTHING) is None


def test_without_a_device_the_report_is_about_this_computer(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    ran = clawperator("doctor", "--report", str(path))
    assert ran.code == 1
    document = json.loads(path.read_text())
    assert (document["device"], document["backend"], document["operator"], document["timings"]) == (None,) * 4
    assert document["checks"][-1]["status"] == "fail"
    jsonschema.validate(document, schema("compatibility-report"))


def test_a_simulated_phone_is_called_so(route: Route, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    ran = route.run("doctor", "--report", str(path))
    assert ran.code == 0
    document = json.loads(path.read_text())
    assert document["device"]["connection"] == "simulated"
    assert document["backend"] == "operator"
    assert "claw-1" not in path.read_text()


def test_a_file_that_cannot_be_written_is_an_error_and_no_file(tmp_path: Path) -> None:
    (tmp_path / "link.json").symlink_to(tmp_path / "other.json")
    for path in (tmp_path / "none" / "report.json", tmp_path, tmp_path / "link.json"):
        ran = clawperator("doctor", "--report", str(path))
        assert (ran.code, ran.json["code"]) == (1, "FILESYSTEM_FAILED")
        assert "in an existing folder" in ran.json["hint"]
    assert not (tmp_path / "other.json").exists()


def test_an_older_report_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text("x" * 100_000)
    clawperator("doctor", "--report", str(path))
    assert json.loads(path.read_text())["version"] == __version__
    assert stat.S_ISREG(os.stat(path).st_mode)
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.json"]


def test_dumped_screens_are_only_counted(phone: CommandDoubles, report: Any) -> None:
    rows = [node(text, bounds="[0,0][9,9]") for text in SECRETS[:3]]
    phone.answer("uiautomator", dumped(screen(*rows)), when="dump *")
    assert report()["timings"]["dumpNodes"] == 4


# Facts that are missing or of another kind


PRESENT = Check(id="readiness.apk.presence", status="pass", summary="")


def make(*checks: Check, package: str = OPERATOR_PACKAGE, serial: str | UnsetType = UNSET) -> CompatibilityReport:
    """The report of a doctor's report with these checks and this Operator."""
    return make_report(
        Report(ok=True, criticalOk=True, deviceId=serial, operatorPackage=package, checks=list(checks))
    )


Made = Callable[[], CompatibilityReport]


@pytest.fixture
def made(phone: CommandDoubles, monkeypatch: pytest.MonkeyPatch) -> Iterator[Made]:
    """Make the report of the phone."""
    with double_server(phone) as device:
        monkeypatch.setenv("ADB_SERVER_SOCKET", f"tcp:127.0.0.1:{device.endpoint.port}")
        yield lambda: make(serial=SERIAL)


@pytest.mark.parametrize("serial", ["gone", UNSET])
def test_a_device_that_is_gone_has_no_facts(serial: str | UnsetType) -> None:
    found = make(serial=serial)
    assert (found.device, found.backend, found.operator, found.timings) == (None, None, None, None)


def test_a_device_without_a_working_shell_is_only_connected(phone: CommandDoubles, made: Made) -> None:
    for command in ("getprop", "am", "settings", "wm"):
        phone.answer(command, Reply("", "not found\n", 127))
    found = made().device
    assert found is not None
    assert msgspec.to_builtins(found) == {
        **dict.fromkeys(FIELDS["device"]),
        "connection": "usb",
    }


@pytest.mark.parametrize(
    ("properties", "connection"),
    [
        ({"ro.kernel.qemu": "1"}, "emulator"),
        ({"ro.boot.qemu": "1"}, "emulator"),
        ({"ro.hardware": "ranchu"}, "emulator"),
        ({"ro.hardware": "qcom", "ro.kernel.qemu": "0"}, "usb"),
    ],
)
def test_an_emulator_is_known_by_its_properties(
    phone: CommandDoubles, made: Made, properties: dict[str, str], connection: str
) -> None:
    answer_properties(phone, {**PROPERTIES, **properties})
    found = made().device
    assert found is not None
    assert (found.connection, found.system, found.systemVersion) == (connection, None, None)


@pytest.mark.parametrize(
    ("density", "expected"),
    [("9999", 9999), ("99999", None), ("\uff14\uff12\uff10", None), ("4.5", None), ("²", None)],
)
def test_a_density_is_a_short_number(
    phone: CommandDoubles, made: Made, density: str, expected: int | None
) -> None:
    phone.answer("wm", f"Physical density: {density}\n", when="density")
    found = made().device
    assert found is not None
    assert found.display is not None
    assert found.display.density == expected


def test_a_device_that_does_not_list_its_panels_has_no_number_of_them(phone: CommandDoubles, made: Made) -> None:
    phone.answer("dumpsys", "", when="SurfaceFlinger --display-id")
    found = made().device
    assert found is not None
    assert found.display == DisplayFacts(1080, 2400, 420, None)


def fail_shell(monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    """Let the device go away for one command of the report."""

    def run(device: Device, script: str, *, seconds: float) -> ShellAnswer:
        if script.startswith(command):
            raise ClawError("DEVICE_OFFLINE", "it is gone")
        return run_shell(device, script, seconds=seconds)

    monkeypatch.setattr(compatibility_report, "run_shell", run)


def test_a_failed_question_leaves_the_other_facts(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_shell(monkeypatch, "dumpsys SurfaceFlinger")
    found = made()
    assert found.device is not None
    assert found.device.display == DisplayFacts(1080, 2400, 420, None)
    assert found.timings is not None
    assert found.timings.shellSeconds is not None
    fail_shell(monkeypatch, ":")
    assert made().timings == Timings(None, None, None, None)


def test_times_are_rounded_to_milliseconds(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    class Clock:
        now = 0.0

        @classmethod
        def monotonic(cls) -> float:
            cls.now += 1.23456
            return cls.now

    monkeypatch.setattr(compatibility_report, "time", Clock)
    assert made().timings == Timings(1.235, 1.235, 2, None)


def test_the_backend_is_the_one_that_auto_chooses(
    phone: CommandDoubles, made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert made().backend == "operator"
    phone.answer("settings", "null\n", when="get *secure enabled_accessibility_services")
    assert made().backend == "adb"

    def fail(_: Device) -> None:
        raise ClawError("DEVICE_OFFLINE", "it is gone")

    monkeypatch.setattr(compatibility_report, "enabled_operator", fail)
    assert made().backend is None


def version_check(version: str | None) -> Check:
    evidence = None if version is None else {"apkVersion": version}
    return Check(id="readiness.version.compatibility", status="warn", summary="", evidence=evidence)


@pytest.mark.parametrize(
    ("checks", "package", "expected"),
    [
        ([], OPERATOR_PACKAGE, None),
        ([Check(id="readiness.apk.presence", status="warn", summary="")], OPERATOR_PACKAGE, None),
        ([PRESENT], OPERATOR_PACKAGE, ReportedOperator(OPERATOR_PACKAGE, None)),
        ([PRESENT, version_check(None)], OPERATOR_PACKAGE, ReportedOperator(OPERATOR_PACKAGE, None)),
        ([PRESENT, version_check("1.2.3")], "com.secret.app", ReportedOperator("other", "1.2.3")),
        ([PRESENT, version_check("of Nikhil")], OPERATOR_PACKAGE, ReportedOperator(OPERATOR_PACKAGE, None)),
    ],
)
def test_the_operator_is_reported_while_it_is_installed(
    checks: list[Check], package: str, expected: ReportedOperator | None
) -> None:
    assert make(*checks, package=package).operator == expected


def test_only_known_codes_are_reported() -> None:
    known = Check(id="a", status="fail", summary="", code="DEVICE_OFFLINE")
    other = Check(id="b", status="warn", summary="", code="NIKHIL")
    found = make(known, other)
    assert found.checks == [ReportedCheck("a", "fail", "DEVICE_OFFLINE"), ReportedCheck("b", "warn", None)]
    assert found.reportVersion == 1


@pytest.mark.parametrize(
    ("system", "machine", "python", "expected"),
    [
        ("Linux", "x86_64", "3.12.4+", ("Linux", "x86_64", "3.12.4")),
        ("", "Nikhil's machine", "unknown", ("unknown", None, None)),
    ],
)
def test_the_computer_is_reported_without_its_name(
    monkeypatch: pytest.MonkeyPatch, system: str, machine: str, python: str, expected: tuple[str, ...]
) -> None:
    for name, value in (("system", system), ("machine", machine), ("python_version", python)):
        monkeypatch.setattr(f"platform.{name}", lambda value=value: value)
    host = make().host
    assert (host.os, host.machine, host.python) == expected
    assert (host.adb, host.platformTools) == (None, None)


def test_the_version_of_adb_needs_no_valid_address_of_its_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    adb = tmp_path / "adb"
    adb.write_text("#!/bin/sh\necho 'Android Debug Bridge version 1.0.41'\necho 'Version 36.0.0-13206524'\n")
    adb.chmod(0o755)
    monkeypatch.setenv("ADB_PATH", str(adb))
    monkeypatch.setenv("ADB_SERVER_SOCKET", "tcp:::1:5037")
    host = make().host
    assert (host.adb, host.platformTools) == ("1.0.41", "36.0.0")


@pytest.mark.parametrize(
    ("serial", "text", "is_public"),
    [
        ("abc", "abc phone", True),
        ("abcd", "ABCD phone", False),
        ("emulator-5554", "Android emulator", True),
        ("R5CT12-x", "model r5ct12", False),
        ("pixel", "10.0.0.7", False),
        ("pixel", "fe80::1", False),
        ("pixel", "Galaxy S23", True),
    ],
)
def test_a_text_is_public_without_the_parts_of_a_serial_and_without_an_address(
    serial: str, text: str, *, is_public: bool
) -> None:
    public = PublicTexts(Device(serial, Endpoint("127.0.0.1", 1)), None)
    assert public.text(text, ANYTHING) == (text if is_public else None)
    assert public.text(text, re.compile("other")) is None
    assert public.text(None, ANYTHING) is None
