"""The programs of ``examples/`` do what they show."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.hanging import HANG_SECONDS
from tests.support.paths import REPOSITORY

EXAMPLES = REPOSITORY / "examples"
SHOWN = {
    "agent_loop.py": "Display: click e12, changed\nDark theme: click e22, changed\n"
    "the first reference again: REF_STALE\n",
    "mcp_client.py": "14 tools\nclicked 'Display': the screen changed\nfailed: True\n",
    "http_client.py": "200 success\n200 com.android.settings\n404 DEVICE_NOT_FOUND\n",
}


def run(*command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=2 * HANG_SECONDS,
        check=False,
        cwd=folder,
        env={**os.environ, "PATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
    )


@pytest.mark.parametrize("name", SHOWN)
def test_a_program_prints_what_it_shows(name: str, tmp_path: Path) -> None:
    ran = run(sys.executable, str(EXAMPLES / name), folder=tmp_path)
    assert (ran.stdout, ran.returncode) == (SHOWN[name], 0), ran.stderr


def test_a_recording_is_replayed_and_compared(tmp_path: Path) -> None:
    ran = run("bash", str(EXAMPLES / "record_replay_compare.sh"), folder=tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "literal_match" in ran.stdout


def test_the_tests_of_an_own_app_pass(tmp_path: Path) -> None:
    command = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(EXAMPLES / "test_own_app.py"))
    ran = run(*command, f"--rootdir={tmp_path}", "-c", os.devnull, folder=tmp_path)
    assert "2 passed" in ran.stdout, ran.stdout


def test_every_example_is_run() -> None:
    known = {*SHOWN, "record_replay_compare.sh", "test_own_app.py"}
    assert {path.name for path in EXAMPLES.iterdir() if path.name != "__pycache__"} == known
