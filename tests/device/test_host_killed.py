"""The host process is killed: the phone keeps running, no recorded event is lost, the next command works."""

import json
import signal
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
    kill_while_the_phone_works("sleep", "1500")
    begin = time.monotonic()
    answer = clawperator("snapshot").json
    assert answer["envelope"]["status"] == "success"
    assert time.monotonic() - begin < HANG_SECONDS, "the Operator finishes the execution, then takes the next"
    assert not list(tmp_path.rglob("*.part"))


def is_working(path: Path) -> bool:
    record = path.read_bytes().partition(b"\n")[0]
    return bool(record) and json.loads(record)["operatorPid"] != ""


def wait_until_the_phone_works() -> None:
    end = time.monotonic() + HANG_SECONDS
    # The record of an execution names the Operator's process once the plan was sent.
    while not any(is_working(path) for path in Path("product/leases").glob("*")):
        assert time.monotonic() < end
        time.sleep(0.01)


def kill_while_the_phone_works(*words: str) -> int:
    """Like ``kill_in_the_middle``, once the phone has the command. Returns the id of the killed process."""
    with subprocess.Popen(
        [sys.executable, "-m", "clawperator", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as host:
        wait_until_the_phone_works()
        host.kill()
        host.communicate()
        return host.pid


def test_the_next_command_names_what_a_killed_host_left_running() -> None:
    pid = kill_while_the_phone_works("sleep", "60000", "--timeout", "90000")
    ran = clawperator("snapshot", "--timeout", "1500")
    assert (ran.code, ran.json["code"]) == (1, "EXECUTION_CONFLICT_IN_FLIGHT")
    details = ran.json["details"]
    assert (details["pid"], details["action"], details["deviceId"]) == (pid, "sleep", "claw-1")
    assert details["commandId"].startswith("sleep-")
    assert 80_000 < details["until"] - details["since"] < 100_000
    what = f"sleep of command {details['commandId']}, started by process {pid}"
    assert ran.err.startswith(f"clawperator: waiting: device claw-1 still runs {what}, for up to ")
    quiet = clawperator("snapshot", "--timeout", "1000", "--json")
    assert (quiet.json["code"], quiet.err) == ("EXECUTION_CONFLICT_IN_FLIGHT", "")
    assert clawperator("snapshot", "--dry-run").code == 0, "nothing is sent"


def test_a_command_goes_on_once_the_phone_has_finished_what_a_killed_host_left() -> None:
    kill_while_the_phone_works("sleep", "1500", "--timeout", "60000")
    begin = time.monotonic()
    assert clawperator("snapshot").code == 0
    assert time.monotonic() - begin < HANG_SECONDS, "it does not wait for the timeout of the killed command"


def test_a_restarted_phone_runs_nothing_of_a_killed_host() -> None:
    kill_while_the_phone_works("sleep", "60000", "--timeout", "90000")
    assert clawperator("phone", "stop").code == 0
    assert clawperator("phone", "start").code == 0
    assert clawperator("snapshot", "--timeout", "5000").code == 0


def test_an_interrupt_reports_what_the_phone_still_runs() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "clawperator", "sleep", "60000", "--timeout", "90000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as host:
        wait_until_the_phone_works()
        host.send_signal(signal.SIGINT)
        answer = json.loads(host.communicate(timeout=HANG_SECONDS)[0])
        assert host.returncode == 130
    assert answer["code"] == "INTERRUPTED"
    (running,) = answer["details"]["running"]
    assert (running["deviceId"], running["action"]) == ("claw-1", "sleep")
    assert running["commandId"] in answer["message"]


def test_a_host_that_dies_in_mid_recording_loses_nothing() -> None:
    assert clawperator("recording", "start", "--session-id", "demo").code == 0
    clawperator("open", "com.android.settings")
    kill_while_the_phone_works("wait", "--text", "never there", "--timeout", "1500")
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
    clawperator("phone", "fault", "latency", "2000")
    kill_in_the_middle("recording", "pull", "--session-id", "demo")
    clawperator("phone", "fault", "latency", "off")
    assert not (tmp_path / "recordings" / "demo.ndjson").exists()
    assert clawperator("recording", "pull").json["sessionId"] == "demo"
