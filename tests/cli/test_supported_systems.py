"""Systems without POSIX file locks are refused in one sentence."""

import subprocess
import sys

import pytest

from tests.support.hanging import HANG_SECONDS


@pytest.mark.parametrize(
    ("entry", "command"), [("main", "phone list"), ("main", "validate x"), ("claw", "doctor")]
)
def test_a_system_without_file_locks_is_refused_in_one_sentence(entry: str, command: str) -> None:
    script = (
        "import sys; sys.modules['fcntl'] = None; sys.argv[1:] = sys.argv[1].split()\n"
        f"from clawperator.cli.main import {entry}; sys.exit({entry}())"
    )
    words = [sys.executable, "-c", script, command]
    ran = subprocess.run(words, capture_output=True, text=True, timeout=HANG_SECONDS, check=False)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr == "Clawperator runs on Linux and macOS; on Windows, install it in WSL and run it there.\n"
