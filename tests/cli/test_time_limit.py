"""``--timeout`` bounds every command on the host: its milliseconds, the grace, and a small tolerance."""

import json
import shlex
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clawperator._base.deadline import Deadline, limited
from clawperator.cli.time_limit import paused_limit, time_limit
from clawperator.contract.commands import leaves
from clawperator.contract.limits import HOST_GRACE_MS
from clawperator.device.adb import client
from clawperator.device.run.lease import SENT
from clawperator.errors import ClawError
from tests.support.running import clawperator

SERIAL = "silent"
TIMEOUT_MS = 1_500
TOLERANCE_S = 0.25
PLAN = {
    "commandId": "c",
    "taskId": "t",
    "source": "test",
    "expectedFormat": "android-ui-automator",
    "timeoutMs": 60_000,
    "actions": [{"id": "a1", "type": "close_app", "params": {"applicationId": "a.b"}}]
    + [{"id": f"s{i}", "type": "take_screenshot"} for i in range(5)],
}
# Every command that runs an execution, with its first example, and every other command that waits for a device.
EXECUTIONS = {name: row.examples[0] for name, row in leaves() if row.is_action and name != "exec"}
OTHERS = {
    "exec": f"clawperator exec {shlex.quote(json.dumps(PLAN))}",
    "devices": "clawperator devices",
    "packages list": "clawperator packages list",
    "recording pull": "clawperator recording pull",
    "recording replay": "clawperator recording replay --input demo.ndjson",
    "grant-device-permissions": "clawperator grant-device-permissions",
    "operator setup": "clawperator operator setup --apk operator.apk",
    "doctor": "clawperator doctor",
    "version": "clawperator version --check-compat",
}
LINES = EXECUTIONS | OTHERS


class VirtualTime:
    """Replaces the time of this process: a wait moves it."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += max(seconds, 0.000_001)


class SilentPeer:
    """A socket to an adb server whose device accepts every service and then sends nothing."""

    def __init__(self, clock: VirtualTime) -> None:
        self._clock = clock
        self._seconds = 0.0
        self._answers = b""

    def settimeout(self, seconds: float) -> None:
        self._seconds = seconds

    def setsockopt(self, *_: Any) -> None:
        pass

    def close(self) -> None:
        pass

    def sendall(self, data: bytes) -> None:
        if data[4:].startswith(b"host:devices"):
            listed = f"{SERIAL}\tdevice\n".encode()
            self._answers += b"OKAY%04x" % len(listed) + listed
        elif data[4:].startswith((b"host:transport", b"shell", b"exec", b"sync")):
            self._answers += b"OKAY"

    def recv(self, size: int) -> bytes:
        if not self._answers:
            self._clock.sleep(self._seconds)
            raise TimeoutError("timed out")
        answer, self._answers = self._answers[:size], self._answers[size:]
        return answer


@pytest.fixture
def clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[VirtualTime]:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    Path("operator.apk").write_bytes(b"PK\x05\x06" + bytes(18))
    header = {"type": "recording_header", "schemaVersion": 1, "sessionId": "demo", "startedAt": 1}
    events = [
        {"ts": 1, "seq": 0, "type": "window_change", "packageName": "a.b", "title": "A", "snapshot": None},
        {"ts": 2, "seq": 1, "type": "press_key", "key": "back", "snapshot": None},
    ]
    lines = [{**header, "operatorPackage": "com.clawperator.operator"}, *events]
    Path("demo.ndjson").write_text("".join(json.dumps(line) + "\n" for line in lines))
    SENT.clear()
    made = VirtualTime()
    monkeypatch.setattr(client, "_connect", lambda *_: SilentPeer(made))
    # The clock goes back before anything else of the test session runs.
    with monkeypatch.context() as patch:
        patch.setattr(time, "monotonic", made.monotonic)
        patch.setattr(time, "sleep", made.sleep)
        yield made


@pytest.mark.parametrize("backend", ["operator", "adb"])
@pytest.mark.parametrize("name", EXECUTIONS)
def test_an_execution_on_a_silent_device_ends_in_time(name: str, backend: str, clock: VirtualTime) -> None:
    assert_ends_in_time(f"{EXECUTIONS[name]} --backend {backend}", clock)


@pytest.mark.parametrize("name", OTHERS)
def test_a_command_for_a_silent_device_ends_in_time(name: str, clock: VirtualTime) -> None:
    assert_ends_in_time(OTHERS[name], clock)


def assert_ends_in_time(line: str, clock: VirtualTime) -> None:
    start = clock.now
    words = [word for word in shlex.split(line)[1:] if word not in ("--dry-run", "--validate-only")]
    if "--timeout" in words:
        del words[words.index("--timeout") : words.index("--timeout") + 2]
    flags = [] if words == ["devices"] else ["--device", SERIAL]
    ran = clawperator(*words, *flags, "--timeout", str(TIMEOUT_MS))
    assert clock.now - start <= (TIMEOUT_MS + HOST_GRACE_MS) / 1000 + TOLERANCE_S
    running = {key: sent.holder.seconds_left for key, sent in SENT.items() if sent.holder.seconds_left > 0}
    assert not running, "the device does not run longer than the host"
    # A list needs no device, and the host itself sleeps for the adb backend.
    needs_device = words != ["devices"] and not (words[0] == "sleep" and words[-1] == "adb")
    assert ran.code == int(needs_device), ran.out
    assert b'"UNKNOWN"' not in ran.out


@pytest.mark.parametrize("name", EXECUTIONS)
def test_the_timeout_is_written_into_the_plan(name: str) -> None:
    words = [word for word in shlex.split(EXECUTIONS[name])[1:] if word != "--dry-run"]
    if "--timeout" in words:
        del words[words.index("--timeout") : words.index("--timeout") + 2]
    plan = clawperator(*words, "--timeout", str(TIMEOUT_MS), "--json", "--dry-run").json["plan"]
    # These two give it to their action, as the contract of both documents has it.
    waits = name in ("wait", "wait-for-nav")
    assert plan["timeoutMs"] == (30_000 if waits else TIMEOUT_MS)
    if waits:
        assert plan["actions"][0]["params"]["timeoutMs"] == TIMEOUT_MS


def test_a_sleep_without_a_timeout_has_time_for_its_duration() -> None:
    assert clawperator("sleep", "60000", "--dry-run").json["plan"]["timeoutMs"] == 65_000


def test_waiting_for_a_lease_counts(clock: VirtualTime) -> None:
    from clawperator.device.run.lease import lease

    with lease(SERIAL, "other", 0):
        start = clock.now
        ran = clawperator("wait", "--text", "x", "--device", SERIAL, "--timeout", str(TIMEOUT_MS))
    assert ran.json["code"] == "EXECUTION_CONFLICT_IN_FLIGHT"
    assert TIMEOUT_MS / 1000 <= clock.now - start <= TIMEOUT_MS / 1000 + TOLERANCE_S


def test_no_deadline_in_a_limit_ends_later() -> None:
    with limited(5):
        with limited(60):
            assert (Deadline(60).remaining or 0) <= 5
            assert (Deadline(None).remaining or 0) <= 5
        assert (Deadline(1).remaining or 0) <= 1
    assert Deadline(None).remaining is None


def test_work_without_a_deadline_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clawperator.cli.time_limit.HOST_GRACE_MS", 0)
    with pytest.raises(ClawError) as error, time_limit(1):
        threading.Event().wait(60)
    assert error.value.code == "COMMAND_TIMEOUT"
    assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL


def test_a_limit_in_another_thread_changes_no_signal() -> None:
    seen: list[object] = []

    def work() -> None:
        with time_limit(60_000):
            seen.append(signal.getsignal(signal.SIGALRM))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(10)
    assert seen == [signal.SIG_DFL]


def test_a_paused_limit_holds_neither_in_the_block_nor_for_its_time() -> None:
    with time_limit(60_000):
        with paused_limit():
            assert Deadline(None).remaining is None
            assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
        left = Deadline(None).remaining
        assert left is not None
        assert 0 < left <= 60 + HOST_GRACE_MS / 1000
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 0
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
    with paused_limit():  # without a limit there is nothing to pause
        assert Deadline(None).remaining is None
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
