"""The host process is killed: the phone keeps running, no recorded event is lost, the next command works."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.hanging import HANG_SECONDS
from tests.support.running import clawperator


@pytest.fixture(autouse=True)
def _phone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path / "product"))
    monkeypatch.chdir(tmp_path)
    assert clawperator("phone", "start").code == 0
    yield
    assert clawperator("phone", "stop").code == 0


def kill_in_the_middle(*words: str) -> None:
    """Run a command in a process of its own, and end it without warning while it works."""
    with subprocess.Popen(
        [sys.executable, "-m", "clawperator", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as host:
        time.sleep(0.6)
        assert host.poll() is None, "it should still be at work"
        host.kill()
        host.communicate()


def test_a_host_that_dies_in_mid_execution_leaves_the_phone_free(tmp_path: Path) -> None:
    kill_in_the_middle("sleep", "3000")
    begin = time.monotonic()
    answer = clawperator("snapshot").json
    assert answer["envelope"]["status"] == "success"
    assert time.monotonic() - begin < HANG_SECONDS, "the Operator finishes the execution, then takes the next"
    assert not list(tmp_path.rglob("*.part"))


def test_a_host_that_dies_in_mid_recording_loses_nothing() -> None:
    assert clawperator("recording", "start", "--session-id", "demo").code == 0
    clawperator("open", "com.android.settings")
    kill_in_the_middle("wait", "--text", "never there", "--timeout", "3000")
    clawperator("click", "--text", "Display")
    assert clawperator("recording", "stop", "--session-id", "demo").code == 0
    pulled = clawperator("recording", "pull", "--session-id", "demo").json
    lines = Path(pulled["localPath"]).read_text("utf-8").splitlines()
    kinds = [json.loads(line)["type"] for line in lines]
    assert kinds == ["recording_header", "window_change", "click", "window_change"]
    assert clawperator("recording", "parse", "--input", pulled["localPath"]).json["stepCount"] == 2


def test_a_pull_that_dies_leaves_no_half_a_file(tmp_path: Path) -> None:
    assert clawperator("recording", "start", "--session-id", "demo").code == 0
    assert clawperator("recording", "stop").code == 0
    clawperator("phone", "fault", "latency", "5000")
    kill_in_the_middle("recording", "pull", "--session-id", "demo")
    clawperator("phone", "fault", "latency", "off")
    assert not (tmp_path / "recordings" / "demo.ndjson").exists()
    assert clawperator("recording", "pull").json["sessionId"] == "demo"
