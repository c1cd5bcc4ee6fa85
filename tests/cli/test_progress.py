"""Progress is printed to stderr on a terminal, and erased when the work is done."""

import json
import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from clawperator.cli import console
from tests.recording.samples import window, write
from tests.support.running import clawperator

BINARY = str(Path(sys.executable).with_name("clawperator"))


@pytest.fixture
def long_recording(tmp_path: Path) -> Path:
    return write(tmp_path / "a.ndjson", [window(i, snapshot="x" * 500_000) for i in range(60)])


def read_terminal(ours: int) -> bytes:
    """All that was written to a terminal whose other side is closed."""
    seen = b""
    with suppress(OSError):  # Linux reports the end of a terminal as an error
        while data := os.read(ours, 65_536):
            seen += data
    return seen


def test_a_terminal_sees_how_far_it_is(long_recording: Path) -> None:
    script = (
        "import sys; from clawperator.cli import console, main\n"
        "console._INTERVAL_S = 0\n"
        f"sys.argv = ['clawperator', 'record', 'export', '--input', {str(long_recording)!r}]\n"
        "sys.exit(main())\n"
    )
    ours, theirs = pty.openpty()
    done = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=theirs, check=True)
    os.close(theirs)
    seen = read_terminal(ours).decode()
    os.close(ours)
    assert json.loads(done.stdout)["ok"] is True
    assert "recording export: 5 of 30 MB (15 %)" in seen
    assert seen.endswith("\r\x1b[K")


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
