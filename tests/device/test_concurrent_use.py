"""Many processes and many phones: every command answers, results never cross, nobody starves."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.running import clawperator

SOAK = os.environ.get("HYPOTHESIS_PROFILE") == "soak"
CROWD = 8 if SOAK else 3
SECONDS = 60 if SOAK else 3

# Runs executions of its own until its time is up. Says how many it ran; fails when one is not its own.
WORKER = """
import sys, time
from clawperator.contract.execution import validate
from clawperator.contract.wire import OPERATOR_PACKAGE
from clawperator.device.run import run_plan
from clawperator.device.discovery import resolve

me, serial, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
device = resolve(serial)
end, done = time.monotonic() + seconds, 0
while time.monotonic() < end:
    command = f"{me}-{done}"
    answer = run_plan(validate({
        "commandId": command, "taskId": me, "source": "crowd", "expectedFormat": "android-ui-automator",
        "timeoutMs": 60000,
        "actions": [
            {"id": f"{command}-nap", "type": "sleep", "params": {"durationMs": 1}},
            {"id": f"{command}-look", "type": "snapshot_ui"},
        ],
    }), device, package=OPERATOR_PACKAGE)
    envelope = answer.envelope
    assert answer.deviceId == serial
    assert envelope.commandId == command and envelope.taskId == me, envelope
    assert [step.id for step in envelope.stepResults] == [f"{command}-nap", f"{command}-look"]
    assert envelope.status == "success", envelope
    assert envelope.stepResults[1].data["text"].endswith("</hierarchy>")
    done += 1
print(done)
"""


@pytest.fixture
def phones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path / "product"))
    serials = [f"phone-{i}" for i in range(CROWD)]
    for serial in serials:
        assert clawperator("phone", "start", serial).code == 0
    yield serials
    assert clawperator("phone", "stop", "--all").code == 0


def drive(serials: list[str]) -> list[int]:
    """A worker for each serial, all at once. How many commands each got through."""
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, f"worker-{i}", serial, str(SECONDS)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for i, serial in enumerate(serials)
    ]
    counts = []
    for worker in workers:
        out, err = worker.communicate(timeout=SECONDS + 120)
        assert worker.returncode == 0, err.decode()
        counts.append(int(out))
    return counts


@pytest.mark.random
def test_many_processes_drive_a_phone_each(phones: list[str]) -> None:
    assert min(drive(phones)) > 0


@pytest.mark.random
def test_many_processes_share_one_phone_and_none_starves(phones: list[str]) -> None:
    counts = drive([phones[0]] * CROWD)
    assert min(counts) > 0
    assert min(counts) * 5 >= max(counts), counts


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
        while waiting.code == 0:  # it was quicker than the other one
            waiting = clawperator("snapshot", "--device", phones[0], "--timeout", "1000")
        error = waiting.json
        assert error["code"] == "EXECUTION_CONFLICT_IN_FLIGHT"
        assert error["details"] == {"deviceId": phones[0], "commandId": "long-one", "pid": holder.pid}
        holder.kill()
        holder.communicate()
    assert clawperator("snapshot", "--device", phones[0]).code == 0, "a dead holder's lease is free"
