"""Progress and status are printed to stderr on a terminal, and erased when the work is done."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from clawperator.cli import console
from clawperator.device.run.lease import lease
from tests.recording.samples import window, write
from tests.skills.sample_skills import ID, write_skill
from tests.support.routes import Route
from tests.support.running import clawperator
from tests.support.terminal import BINARY, Seen, run_on_terminal

ERASE = "\r\x1b[K"


@pytest.fixture
def long_recording(tmp_path: Path) -> Path:
    return write(tmp_path / "a.ndjson", [window(i, snapshot="x" * 500_000) for i in range(60)])


def run_without_pauses(*argv: str, columns: int = 80) -> Seen:
    """Run a command with stderr on a terminal. Every status is shown, at once."""
    script = (
        "import sys; from clawperator.cli import console; from clawperator.cli.main import main; import clawperator.device.run.lease as lease\n"
        "console._INTERVAL_S = lease._NOTE_SECONDS = 0\n"
        f"sys.argv = ['clawperator', *{list(argv)!r}]\n"
        "sys.exit(main())\n"
    )
    return run_on_terminal(sys.executable, "-c", script, out=False, columns=columns)


def statuses(seen: Seen, then: str = "") -> list[str]:
    """The statuses that were shown, each of which was erased. ``then`` is part of a note after them."""
    *shown, after = seen.err.split(ERASE)
    assert then in after if then else after == ""
    return shown


def test_a_terminal_sees_how_far_it_is(long_recording: Path) -> None:
    seen = run_without_pauses("record", "export", "--input", str(long_recording))
    assert json.loads(seen.out)["ok"] is True
    assert "recording export: 5 of 30 MB (15 %)" in statuses(seen)


def test_no_progress_is_printed_without_a_terminal(long_recording: Path) -> None:
    done = subprocess.run(
        [BINARY, "record", "export", "--input", str(long_recording)], capture_output=True, check=True
    )
    assert done.stderr == b""


def test_verbose_prints_progress_as_lines(long_recording: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "_INTERVAL_S", 0)
    ran = clawperator("record", "export", "--input", str(long_recording), "--verbose")
    assert ran.err.startswith("recording export: ")
    assert "\r" not in ran.err


def test_a_higher_level_shows_no_status(long_recording: Path) -> None:
    assert run_without_pauses("record", "export", "--input", str(long_recording), "--log-level", "warn").err == ""


def test_a_wait_for_a_busy_device_names_its_user(route: Route) -> None:
    with lease(route.serial, "other-1", 1.0, action="scroll"):
        seen = run_without_pauses("press", "home", "--timeout", "1000", columns=200)
    assert json.loads(seen.out)["code"] == "EXECUTION_CONFLICT_IN_FLIGHT"
    shown = statuses(seen)
    assert any("busy: process" in text and "runs scroll of command other-1" in text for text in shown)
    assert all(text.endswith(" s)") for text in shown if text)


def test_without_a_terminal_a_wait_is_one_note(route: Route, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clawperator.device.run.lease._NOTE_SECONDS", 0)
    with lease(route.serial, "other-1", 1.0):
        ran = route.run("press", "home", "--timeout", "1000")
    assert ran.code == 1
    assert ran.err.count("\n") == 1
    assert ran.err.startswith(f"clawperator: waiting: device {route.serial} is busy")


def test_a_running_skill_shows_its_last_line(tmp_path: Path) -> None:
    script = "import time\nprint('opening the\\x1b[31m page', flush=True)\ntime.sleep(0.5)\nprint('x' * 300)\n"
    registry = write_skill(tmp_path, script)
    seen = run_without_pauses("skills", "run", ID, "--registry", str(registry), columns=60)
    assert seen.code == 0, seen
    shown = statuses(seen)
    assert any(text.startswith(f"{ID}: running (0 s)") for text in shown)
    assert any(f"{ID}: opening the\\x1b[31m page (" in text for text in shown)
    assert max(map(len, shown)) < 60, "a status takes one row"


def test_a_starting_phone_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path))
    try:
        seen = run_without_pauses("phone", "start")
    finally:
        clawperator("phone", "stop", "--all")
    assert json.loads(seen.out)["state"] == "running"
    assert "starting simulated phone claw-1 (0 s)" in statuses(seen, then="clawperator serve --open")


def test_a_message_erases_the_status_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []

    class Screen:
        def isatty(self) -> bool:
            return True

        def fileno(self) -> int:
            raise OSError

        def write(self, text: str) -> None:
            written.append(text)

        def flush(self) -> None:
            pass

    monkeypatch.setattr("sys.stderr", Screen())
    shown = console.Console("info")
    assert shown.show_status("working", " (1 s)")
    shown.note("a note")
    shown.erase_status()
    assert "".join(written) == f"working (1 s){ERASE}clawperator: a note\n"


def test_statuses_are_shown_at_most_ten_times_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("clawperator.cli.console.time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(console.Console, "is_terminal", True)
    written: list[str] = []
    monkeypatch.setattr("sys.stderr.write", written.append, raising=False)
    shown = console.Console("info")
    for _ in range(100):
        shown.show_status("working")
        now[0] += 0.01
    assert 9 <= len([text for text in written if text.startswith("working")]) <= 11
