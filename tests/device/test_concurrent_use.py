"""Many processes and many phones: every command is answered, results never mix, no process starves."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.hanging import HANG_SECONDS
from tests.support.running import clawperator

SOAK = os.environ.get("HYPOTHESIS_PROFILE") == "soak"
PROCESSES = 8 if SOAK else 3
COMMANDS = 400 if SOAK else 25

# Runs executions until its stdin is closed, and prints a line for each. Fails on a result that is not its own.
WORKER = """
import select, sys
from clawperator.contract.execution import validate
from clawperator.contract.wire import OPERATOR_PACKAGE
from clawperator.device.run.run import run_plan
from clawperator.device.discovery import resolve_device
from clawperator.policy.gate import approve

me, serial = sys.argv[1:]
device = resolve_device(serial)
done = 0
while not select.select([sys.stdin], [], [], 0)[0]:
    command = f"{me}-{done}"
    answer = run_plan(approve(validate({
        "commandId": command, "taskId": me, "source": "test", "expectedFormat": "android-ui-automator",
        "timeoutMs": 60000,
        "actions": [
            {"id": f"{command}-nap", "type": "sleep", "params": {"durationMs": 1}},
            {"id": f"{command}-look", "type": "snapshot_ui"},
        ],
    })), device, package=OPERATOR_PACKAGE)
    envelope = answer.envelope
    assert answer.deviceId == serial
    assert envelope.commandId == command and envelope.taskId == me, envelope
    assert [step.id for step in envelope.stepResults] == [f"{command}-nap", f"{command}-look"]
    assert envelope.status == "success", envelope
    assert envelope.stepResults[1].data["text"].endswith("</hierarchy>")
    done += 1
    print(done, flush=True)
"""


@pytest.fixture
def phones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path / "product"))
    serials = [f"phone-{i}" for i in range(PROCESSES)]
    for serial in serials:
        assert clawperator("phone", "start", serial).code == 0
    yield serials
    assert clawperator("phone", "stop", "--all").code == 0


def drive(serials: list[str]) -> None:
    """A worker for each serial, all at once, until each has run its commands while the others went on."""
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, f"worker-{i}", serial],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for i, serial in enumerate(serials)
    ]

    def kill_all() -> None:
        for worker in workers:
            worker.kill()

    hang_guard = threading.Timer(HANG_SECONDS * 5, kill_all)
    hang_guard.start()
    try:
        for worker in workers:
            assert worker.stdout is not None
            for _ in range(COMMANDS):
                if not worker.stdout.readline():
                    break  # it failed or was killed: its exit code is checked below
        for worker in workers:
            _, err = worker.communicate()
            assert worker.returncode == 0, err.decode()
    finally:
        hang_guard.cancel()
        kill_all()


@pytest.mark.random
def test_many_processes_drive_a_phone_each(phones: list[str]) -> None:
    drive(phones)


@pytest.mark.random
def test_many_processes_share_one_phone_and_none_starves(phones: list[str]) -> None:
    drive([phones[0]] * PROCESSES)


def test_the_holder_of_a_busy_phone_is_named(phones: list[str]) -> None:
    plan = {
        "commandId": "long-one",
        "taskId": "t",
        "source": "test",
        "expectedFormat": "android-ui-automator",
        "timeoutMs": 20_000,
        "actions": [{"id": "nap", "type": "sleep", "params": {"durationMs": 4_000}}],
    }
    words = [sys.executable, "-m", "clawperator", "exec", json.dumps(plan), "--device", phones[0]]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as holder:
        waiting = clawperator("snapshot", "--device", phones[0], "--timeout", "1000")
        while waiting.code == 0 and holder.poll() is None:  # it was quicker than the other one
            waiting = clawperator("snapshot", "--device", phones[0], "--timeout", "1000")
        error = waiting.json
        assert error["code"] == "EXECUTION_CONFLICT_IN_FLIGHT"
        details = error["details"]
        times = details.pop("since"), details.pop("until")
        assert times[0] <= times[1] <= times[0] + 21_000
        assert details == {
            "deviceId": phones[0],
            "commandId": "long-one",
            "pid": holder.pid,
            "action": "sleep",
        }
        holder.kill()
        holder.communicate()
    assert clawperator("snapshot", "--device", phones[0]).code == 0, "it waits for the end on the phone"
