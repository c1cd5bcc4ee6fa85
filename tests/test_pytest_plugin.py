"""The pytest plugin: fixtures, options and markers, and what is kept when a test fails."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from clawperator import start_phone
from clawperator.api.phone import AndroidPhone, ConnectedPhone
from clawperator.errors import ClawError
from clawperator.testing import SimulatedPhone, simulated_phone
from tests.report.samples import WrittenReport
from tests.support.hanging import HANG_SECONDS
from tests.support.secret_search import find_secret

FAILING = """
def test_the_label(phone):
    phone.open_app("com.clawperator.notes")
    phone.click("Ad note", timeout=0)
"""


# Without the plugins of other packages, which take most of the time of a short run.
ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "clawperator.pytest_plugin"}


def run_pytest(folder: Path, source: str, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_it.py").write_text(source)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", f"--basetemp={folder / 'base'}", *options]
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **ALONE, **variables},
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        check=False,
    )


# Fixtures


def test_the_fixture_is_a_simulated_phone_at_its_launcher(phone: AndroidPhone) -> None:
    assert isinstance(phone, SimulatedPhone)
    assert phone.shows("Settings")


def test_a_connected_phone_is_driven_over_adb(connected_phone: ConnectedPhone) -> None:
    assert isinstance(connected_phone, ConnectedPhone)
    connected_phone.open_app("com.android.settings")
    assert connected_phone.foreground() == "com.android.settings"


@pytest.mark.clawperator(faults={"accessibility_off": True}, seed=7)
def test_a_marker_sets_faults(phone: SimulatedPhone) -> None:
    with pytest.raises(ClawError) as info:
        phone.click("Settings")
    assert info.value.code == "SERVICE_UNAVAILABLE"


def test_a_marker_installs_app_files_beside_the_test(tmp_path: Path) -> None:
    (tmp_path / "door.toml").write_text(
        'package = "com.example.door"\nlabel = "Door"\n[[screen]]\nname = "home"\n[[screen.view]]\nkind = "text"\n'
        'text = "Closed"\n'
    )
    ran = run_pytest(
        tmp_path,
        """
import pytest

@pytest.mark.clawperator(apps=["door.toml"])
def test_the_app(phone, connected_phone):
    for each in (phone, connected_phone):
        each.open_app("com.example.door")
        assert each.shows("Closed")
""",
        f"--rootdir={tmp_path}",
    )
    assert ran.returncode == 0, ran.stdout


def test_an_unknown_setting_of_the_marker_is_refused(tmp_path: Path) -> None:
    source = "import pytest\n\n@pytest.mark.clawperator(fault={})\ndef test_it(phone): pass\n"
    ran = run_pytest(tmp_path, source)
    assert ran.returncode == 1
    assert "@pytest.mark.clawperator takes allow_schemes, apps, cassette, faults, seed, not fault" in ran.stdout


# The same tests on a device


@pytest.fixture
def device() -> Iterator[tuple[SimulatedPhone, int]]:
    with simulated_phone(serial="device-1") as phone, phone.serve() as ports:
        yield phone, ports.server_port


def test_with_the_option_the_same_test_runs_on_a_device(
    tmp_path: Path, device: tuple[SimulatedPhone, int]
) -> None:
    phone, port = device
    phone.open_app("com.android.settings")
    source = """
import pytest

@pytest.mark.clawperator(apps=["not needed there.toml"], seed=3)
def test_the_same(phone, connected_phone):
    assert phone.shows("Settings") and phone.foreground() != "com.android.settings"
    phone.open_app("com.clawperator.notes")
    assert phone.serial == connected_phone.serial == "device-1"

@pytest.mark.clawperator(faults={"latency": 5})
def test_simulated_only(phone):
    raise AssertionError("skipped")
"""
    ran = run_pytest(
        tmp_path, source, "--clawperator-device", "device-1", "-rs", ANDROID_ADB_SERVER_PORT=str(port)
    )
    assert ran.returncode == 0, ran.stdout
    assert "1 passed, 1 skipped" in ran.stdout
    assert "faults: only a simulated phone has this; run without --clawperator-device" in ran.stdout
    assert phone.foreground() == "com.clawperator.notes"


def test_a_device_that_is_missing_is_an_error_with_its_hint(tmp_path: Path) -> None:
    ran = run_pytest(tmp_path, FAILING, "--clawperator-device", "nothing")
    assert ran.returncode == 1
    assert re.search(r"ADB_NOT_FOUND: .* Hint: ", ran.stdout)


JOURNAL = """
import os
import pytest

@pytest.mark.parametrize("number", range(6))
def test_it(phone, number):
    phone.open_app("com.clawperator.notes")
    with open(os.environ["JOURNAL"], "a") as journal:
        journal.write(f"begin {number}\\n")
        journal.flush()
        phone.click("Account")
        phone.back()
        journal.write(f"end {number}\\n")
"""
XDIST = {"PYTEST_PLUGINS": "clawperator.pytest_plugin,xdist"}


def test_workers_use_one_device_one_test_after_the_other(
    tmp_path: Path, device: tuple[SimulatedPhone, int]
) -> None:
    journal = tmp_path / "journal"
    options = ("--clawperator-device", "device-1", "-n", "3", "-q")
    variables = {"ANDROID_ADB_SERVER_PORT": str(device[1]), "JOURNAL": str(journal), **XDIST}
    ran = run_pytest(tmp_path, JOURNAL, *options, **variables)
    assert "6 passed" in ran.stdout, ran.stdout
    lines = journal.read_text().split("\n")[:-1]
    assert len(lines) == 12
    for begin, end in zip(lines[::2], lines[1::2], strict=True):
        assert begin.replace("begin", "end") == end


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_lost_device_is_reported_once_by_name(tmp_path: Path, workers: tuple[str, ...]) -> None:
    source = """
import os, signal
import pytest

@pytest.mark.parametrize("number", range(5))
def test_it(phone, number):
    os.kill(int(os.environ["PHONE"]), signal.SIGKILL)
    phone.open_app("com.clawperator.notes")

def test_without_it():
    pass
"""
    options = ("--clawperator-device", "lost", "-rs", *workers)
    with start_phone("lost") as process:
        variables = {"PHONE": str(process.pid), **(XDIST if workers else {})}
        ran = run_pytest(tmp_path, source, *options, **variables)
    assert "1 failed, 1 passed, 4 skipped" in ran.stdout, ran.stdout
    assert "The other tests on lost are skipped." in ran.stdout
    assert "device lost was lost in test_it.py::test_it[" in ran.stdout


def test_a_test_that_holds_its_device_can_start_commands_for_it(
    tmp_path: Path, device: tuple[SimulatedPhone, int]
) -> None:
    source = """
import subprocess, sys

def test_it(phone):
    command = [sys.executable, "-m", "clawperator", "snapshot", "--device", phone.serial, "--timeout", "20000"]
    assert subprocess.run(command, capture_output=True, timeout=60).returncode == 0
"""
    variables = {"ANDROID_ADB_SERVER_PORT": str(device[1])}
    ran = run_pytest(tmp_path, source, "--clawperator-device", "device-1", **variables)
    assert ran.returncode == 0, ran.stdout


# What is kept when a test fails


def test_a_failure_reports_the_labels_and_keeps_picture_tree_and_log(tmp_path: Path) -> None:
    ran = run_pytest(tmp_path, FAILING)
    assert ran.returncode == 1
    assert re.search(r"NODE_NOT_FOUND: .* Hint: ", ran.stdout)
    assert "phone claw-1" in ran.stdout
    assert "com.clawperator.notes shows: 'Notes', 'Account', 'No notes yet'" in ran.stdout
    folder = tmp_path / "base" / "clawperator-artifacts" / "test_it.py_test_the_label"
    assert str(folder / "screen.png") in ran.stdout
    assert (folder / "screen.png").read_bytes().startswith(b"\x89PNG")
    assert 'content-desc="Add note"' in (folder / "screen.xml").read_text()
    assert '"Add note"' in (folder / "outline.txt").read_text()
    assert "boot completed" in (folder / "log.txt").read_text()


def test_the_folder_of_files_can_be_chosen(tmp_path: Path) -> None:
    ran = run_pytest(tmp_path, FAILING, "--clawperator-artifacts", "kept")
    assert ran.returncode == 1
    assert len(list((tmp_path / "kept").rglob("screen.png"))) == 1


def test_a_test_that_passes_keeps_nothing(tmp_path: Path) -> None:
    ran = run_pytest(tmp_path, "def test_it(phone): pass\n", "--clawperator-artifacts", "kept")
    assert ran.returncode == 0
    assert not (tmp_path / "kept").exists()


def test_phones_in_variables_are_kept_too(tmp_path: Path, device: tuple[SimulatedPhone, int]) -> None:
    source = """
import asyncio
import clawperator

def test_connection():
    mine = clawperator.connect()
    mine.click("Nothing", timeout=0)

def test_async():
    async def drive():
        other = await clawperator.connect_async()
        await other.click("Nothing", timeout=0)
    asyncio.run(drive())
"""
    ran = run_pytest(tmp_path, source, "--clawperator-artifacts", "kept", ANDROID_ADB_SERVER_PORT=str(device[1]))
    assert ran.stdout.count("- phone device-1 -") == 2, ran.stdout
    assert {path.parent.name for path in (tmp_path / "kept").rglob("screen.png")} == {
        "test_it.py_test_connection",
        "test_it.py_test_async",
    }


def test_a_started_phone_is_kept(tmp_path: Path) -> None:
    source = """
import clawperator
import pytest

@pytest.fixture
def started():
    with clawperator.start_phone("mine", faults={"latency": "5"}) as process:
        yield process

def test_it(started):
    assert clawperator.connect("mine").shows("Nothing")
"""
    ran = run_pytest(tmp_path, source, "--clawperator-artifacts", "kept", CLAWPERATOR_HOME=str(tmp_path / "home"))
    assert ran.returncode == 1
    assert "- phone mine -" in ran.stdout, ran.stdout
    assert len(list((tmp_path / "kept").rglob("screen.png"))) == 1


def test_a_report_shows_the_calls_of_a_failed_test_and_its_last_screen(tmp_path: Path) -> None:
    source = """
def test_it(phone):
    phone.open_app("com.android.settings")
    phone.click("Display")
    phone.click("Dark mode", timeout=0)

def test_that_passes(phone):
    phone.open_app("com.android.settings")

def test_without_a_phone():
    raise AssertionError
"""
    ran = run_pytest(tmp_path, source, "--clawperator-report", "reports")
    assert ran.returncode == 1
    (path,) = (tmp_path / "reports").iterdir()
    assert path.name == "test_it.py_test_it.html"
    assert "- phone report -----" in ran.stdout
    assert f"\n{path}\n" in ran.stdout
    report = WrittenReport(path)
    opened, display, dark, end = report.rows("Steps")
    assert [row.title for row in (opened, display, dark)] == [
        "open app com.android.settings",
        "click Display",
        'click "Dark mode"',
    ]
    assert (display.tone, dark.tone, dark.status) == ("good", "bad", "NODE_NOT_FOUND")
    assert "Dark theme" in report.labels(display.after)
    assert display.mark is not None
    assert report.data["screens"][end.before][3] == 0, "the picture of the last screen"
    assert "NODE_NOT_FOUND" in end.facts["Error"]
    assert report.data["selected"] == [0, 3]


def test_a_report_of_a_connected_phone_shows_the_last_screen(
    tmp_path: Path, device: tuple[SimulatedPhone, int]
) -> None:
    source = """
def test_it(phone):
    phone.run([{"type": "press_key", "params": {"key": "home"}}, {"type": "nonsense"}])
"""
    options = ("--clawperator-device", device[0].serial, "--clawperator-report", "reports")
    ran = run_pytest(tmp_path, source, *options, ANDROID_ADB_SERVER_PORT=str(device[1]))
    assert ran.returncode == 1
    (path,) = (tmp_path / "reports").iterdir()
    report = WrittenReport(path)
    *_, refused, end = report.rows("Steps")
    assert (refused.title, refused.status) == ("press key", "EXECUTION_VALIDATION_FAILED")
    assert "Settings" in report.labels(end.before)


def test_texts_that_were_typed_as_secrets_are_not_in_the_report(tmp_path: Path) -> None:
    source = """
import os

def test_it(phone):
    os.environ["PIN"] = "zq" + "9931-x"
    phone.open_app("com.clawperator.notes")
    phone.click("Account")
    phone.enter_text("hunter" + "2x", text="Password")
    phone.run({"type": "enter_text", "params": {"matcher": {"textEquals": "E-mail"}, "textFrom": {"env": "PIN"}}})
    assert phone.shows(os.environ["PIN"])
    raise AssertionError("hunter" + "2x")
"""
    ran = run_pytest(tmp_path, source, "--clawperator-report", "reports")
    (path,) = (tmp_path / "reports").iterdir()
    assert WrittenReport(path).rows("Steps")[2].facts["Text entered"] == "••••", ran.stdout
    for secret in ("hunter2x", "zq9931-x"):
        assert find_secret(secret, [path.parent]) == []


@pytest.mark.parametrize(
    ("break_it", "expected"),
    [
        ('phone.fault("accessibility_off")', "'Notes'"),
        ('import os; os.environ["TMPDIR"] = "/nonexistent"', "'Notes'"),
        ("phone.close()", "phone claw-1"),
        ("type(phone).png = None; type(phone).xml = None", "cannot read the screen: "),
    ],
)
def test_a_broken_phone_never_hides_the_failure(tmp_path: Path, break_it: str, expected: str) -> None:
    source = f"""
def test_it(phone):
    phone.open_app("com.clawperator.notes")
    {break_it}
    assert False, "the failure itself"
"""
    ran = run_pytest(tmp_path, source, "--clawperator-report", "reports")
    assert ran.returncode == 1
    assert "the failure itself" in ran.stdout
    assert len(list((tmp_path / "reports").iterdir())) == 1
    assert "INTERNALERROR" not in ran.stdout + ran.stderr
    assert expected in ran.stdout, ran.stdout


def test_a_folder_that_cannot_be_written_never_hides_the_failure(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    options = ("--clawperator-artifacts", "file/below", "--clawperator-report", "file/below")
    ran = run_pytest(tmp_path, FAILING, *options)
    assert ran.returncode == 1
    assert "INTERNALERROR" not in ran.stdout + ran.stderr
    assert "com.clawperator.notes shows: 'Notes'" in ran.stdout
    assert f"cannot save {tmp_path}/file/below/" in ran.stdout
    assert f"cannot write {tmp_path}/file/below/" in ran.stdout


def test_what_was_typed_into_a_password_field_is_not_kept(tmp_path: Path) -> None:
    source = """
def test_it(phone):
    phone.open_app("com.clawperator.notes")
    phone.click("Account")
    phone.enter_text("hunter" + "2x", text="Password")
    raise AssertionError
"""
    ran = run_pytest(tmp_path, source, "--clawperator-artifacts", "kept")
    kept = [path for path in (tmp_path / "kept").rglob("*") if path.is_file()]
    assert {path.name for path in kept} == {"screen.png", "screen.xml", "outline.txt", "log.txt"}
    assert all(b"hunter2x" not in path.read_bytes() for path in kept)
    assert "hunter2x" not in ran.stdout


def test_the_plugin_loads_nothing_until_a_test_uses_a_phone(tmp_path: Path) -> None:
    source = """
import sys

def test_it():
    loaded = {name for name in sys.modules if name.startswith("clawperator.")}
    assert loaded == {"clawperator.pytest_plugin"}
"""
    ran = run_pytest(tmp_path, source)
    assert ran.returncode == 0, ran.stdout


def test_options_and_markers_are_described(tmp_path: Path) -> None:
    assert "--clawperator-device=SERIAL" in run_pytest(tmp_path, "", "--help").stdout
    assert "@pytest.mark.clawperator(allow_schemes=, apps=" in run_pytest(tmp_path, "", "--markers").stdout
