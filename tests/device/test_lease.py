import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

from clawperator._notes import listening
from clawperator.device import lease as lease_module
from clawperator.device.lease import Holder, lease, lease_conflict
from clawperator.device.running import still_running
from clawperator.errors import ClawError
from tests.support.hanging import HANG_SECONDS


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path))
    lease_module.SENT.clear()


def test_a_held_lease_names_its_holder() -> None:
    with lease("a", "click-1", 0), pytest.raises(ClawError) as error, lease("a", "click-2", 0.01):
        pass
    assert error.value.code == "EXECUTION_CONFLICT_IN_FLIGHT"
    details = dict(error.value.details or {})
    assert isinstance(details.pop("since"), int)
    assert details == {"deviceId": "a", "commandId": "click-1", "pid": os.getpid()}
    assert error.value.retryable


def test_other_phones_are_free() -> None:
    with lease("a", "click-1", 0), lease("b", "click-2", 0):
        pass


def test_a_lease_can_be_taken_again_once_it_is_let_go() -> None:
    for number in range(3):
        with lease("a", f"click-{number}", 0):
            pass


def test_a_waiting_process_gets_the_lease_on_release() -> None:
    held, got = threading.Event(), threading.Event()

    def wait() -> None:
        held.wait(HANG_SECONDS)
        with lease("a", "second", HANG_SECONDS):
            got.set()

    thread = threading.Thread(target=wait)
    thread.start()
    with lease("a", "first", 0):
        held.set()
        time.sleep(0.05)
        assert not got.is_set()
    thread.join(HANG_SECONDS)
    assert got.is_set()


def test_a_failure_inside_lets_go() -> None:
    with pytest.raises(ZeroDivisionError), lease("a", "bad", 0):
        raise ZeroDivisionError
    with lease("a", "good", 0):
        pass


def test_a_holder_that_is_killed_lets_go() -> None:
    script = (
        "from clawperator.device.lease import lease\nwith lease('a', 'dead', 0):\n print(flush=True)\n input()"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(ClawError) as error, lease("a", "living", 0):
            pass
        assert (error.value.details or {})["commandId"] == "dead"
        os.kill(holder.pid, signal.SIGKILL)
    with lease("a", "living", 1):
        pass


def test_no_serial_leads_out_of_the_folder(tmp_path: Path) -> None:
    with lease("../../[fe80::1%eth0]:5555", "a", 0):
        pass
    assert len(os.listdir(tmp_path / "leases")) == 1
    assert os.listdir(tmp_path) == ["leases"]


@pytest.mark.parametrize("record", [b"\xff\xfe", b'{"pid":"\xff"}', b"[" * 4_000, b"{", b""])
def test_a_damaged_record_of_an_earlier_process_is_ignored(tmp_path: Path, record: bytes) -> None:
    with lease("a", "one", 0):
        pass
    (path,) = (tmp_path / "leases").iterdir()
    path.write_bytes(record + b"\n")
    with lease("a", "two", 0):
        pass


# Commands that the device runs on


def abandon(*, seconds: float = 60.0) -> Holder:
    """Leave a command running, as a process that is killed does."""
    with lease("a", "left-1", 0, action="sleep") as held:
        held.sending("left-1.2", seconds, "com.operator")
        held.noted(device_time="12.5", operator_pid="7")
    asked: list[Holder] = []

    def ask(holder: Holder, _seconds: float) -> bool:
        asked.append(holder)
        raise ClawError("INTERRUPTED", "the first question is enough")

    with suppress(ClawError), lease("a", "probe", HANG_SECONDS, finished=ask):
        pass
    return asked[0]


def test_a_command_that_may_still_run_is_named_until_its_end() -> None:
    holder = abandon()
    with pytest.raises(ClawError) as error, lease("a", "next", 0.05):
        pass
    assert error.value.details == {
        "deviceId": "a",
        "commandId": "left-1",
        "pid": os.getpid(),
        "action": "sleep",
        "since": holder.since,
        "until": holder.until,
    }
    assert error.value.message.startswith("device a still runs sleep of command left-1, started by process ")
    assert (holder.sent, holder.operator, holder.operatorPid, holder.deviceTime) == (
        "left-1.2",
        "com.operator",
        "7",
        "12.5",
    )


def test_the_device_decides_when_an_abandoned_command_has_ended() -> None:
    abandon()
    answers = iter([False, False, True])
    with lease("a", "next", HANG_SECONDS, finished=lambda _holder, _seconds: next(answers)):
        pass
    with lease("a", "after", 0):  # the record is gone
        pass


def test_an_abandoned_command_ends_at_its_latest_end() -> None:
    with lease("a", "left-1", 0) as held:
        held.sending("left-1", 0.05, "com.operator")
    with lease("a", "next", HANG_SECONDS, finished=lambda _holder, _seconds: False):
        pass


def test_a_command_that_has_ended_leaves_no_record() -> None:
    with lease("a", "done", 0) as held:
        held.sending("done", 60, "com.operator")
        held.ended()
    with lease("a", "next", 0):
        pass


def test_a_restart_of_the_machine_ends_every_command(monkeypatch: pytest.MonkeyPatch) -> None:
    abandon()
    start = time.monotonic()
    monkeypatch.setattr("clawperator.device.lease.time.monotonic", lambda: time.perf_counter() - start - 10**6)
    with lease("a", "next", 0):
        pass


def test_a_wait_can_be_stopped() -> None:
    with lease("a", "first", 0), pytest.raises(ClawError) as error, lease("a", "b", 60, stop=lambda: True):
        pass
    assert error.value.code == "INTERRUPTED"


def test_a_long_wait_is_noted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clawperator.device.lease._NOTE_SECONDS", 0.0)
    notes: list[str] = []
    with (
        listening(notes.append),
        lease("a", "first", 0, action="click"),
        pytest.raises(ClawError),
        lease("a", "second", 0.05),
    ):
        pass
    assert notes == [f"waiting: device a is busy: process {os.getpid()} runs click of command first"]


def test_what_this_process_left_running_is_known() -> None:
    assert still_running(0) == ()
    with lease("a", "left-1", 0, action="sleep", finished=lambda _holder, _seconds: False) as held:
        held.sending("left-1", 60, "com.operator")
        assert [execution.commandId for execution in still_running(0)] == ["left-1"]
    (running,) = still_running(0.02)
    assert (running.deviceId, running.action) == ("a", "sleep")
    assert running.describe().startswith("a may still run sleep (command left-1) for up to ")


def test_what_this_process_left_running_is_forgotten_at_its_end() -> None:
    with lease("a", "left-1", 0, finished=lambda _holder, _seconds: True) as held:
        held.sending("left-1", 60, "com.operator")
    assert still_running(HANG_SECONDS) == ()
    with lease("a", "next", 0):  # the record is gone too
        pass


def test_a_device_that_cannot_be_asked_may_go_on() -> None:
    def fail(_holder: Holder, _seconds: float) -> bool:
        raise ClawError("DEVICE_OFFLINE", "offline")

    with lease("a", "left-1", 0, finished=fail) as held:
        held.sending("left-1", 60, "com.operator")
    assert len(still_running(0.02)) == 1
    with pytest.raises(ClawError, match="offline"), lease("a", "next", HANG_SECONDS, finished=fail):
        pass


def error_beside_a_waiting_process() -> ClawError:
    """The error of a process that finds the lease taken by another one, which waits for an abandoned command."""
    errors: list[ClawError] = []

    def ask(_holder: Holder, _seconds: float) -> bool:
        with pytest.raises(ClawError) as error, lease("a", "third", 0):
            pass
        errors.append(error.value)
        return True

    with lease("a", "second", HANG_SECONDS, finished=ask):
        pass
    return errors[0]


def test_a_command_that_its_process_no_longer_follows_is_not_reported_as_run_by_it() -> None:
    abandon()
    error = error_beside_a_waiting_process()
    what = f"device a still runs sleep of command left-1, started by process {os.getpid()}, for up to "
    assert error.message.startswith(what)


def test_a_process_that_has_ended_is_not_reported_as_running_a_command() -> None:
    with subprocess.Popen([sys.executable, "-c", ABANDON % False]) as child:
        child.wait(HANG_SECONDS)
    error = error_beside_a_waiting_process()
    what = f"device a still runs sleep of command of-a-child, started by process {child.pid}, for up to "
    assert error.message.startswith(what)


@pytest.mark.parametrize("pid", [-1, 0, 10**30])
def test_a_record_of_no_process_is_not_reported_as_the_holder(tmp_path: Path, pid: int) -> None:
    with lease("a", "first", 0):
        (file,) = (tmp_path / "leases").iterdir()
        file.write_text(f'{{"pid":{pid},"commandId":"left-1","since":1}}\n')
        with pytest.raises(ClawError) as error, lease("a", "second", 0):
            pass
    assert error.value.message == "device a is busy"


FALSE_RECORDS = {
    "a far end": b'{"pid":1,"commandId":"x","since":1,"started":0,"ends":1e15,"sent":"x"}\n',
    "not UTF-8": b'{"pid":1,"commandId":"\xff","since":1}\n',
    "nesting": b"[" * 4_000,
    "not JSON": bytes(range(256)),
}


@pytest.mark.parametrize("record", FALSE_RECORDS.values(), ids=FALSE_RECORDS)
def test_a_false_record_does_not_block_a_device(tmp_path: Path, record: bytes) -> None:
    with lease("a", "click-1", 0):
        (file,) = (tmp_path / "leases").iterdir()
    file.write_bytes(record)
    with lease("a", "click-2", 0):
        pass


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: os.symlink("/dev/full", path)])
def test_a_lease_that_is_not_a_regular_file_is_reported(tmp_path: Path, make: Callable[[Path], None]) -> None:
    with lease("a", "click-1", 0):
        (file,) = (tmp_path / "leases").iterdir()
    file.unlink()
    make(file)
    with pytest.raises(ClawError) as error, lease("a", "click-2", 0):
        pass
    assert error.value.code == "PRODUCT_HOME_UNAVAILABLE"


def test_a_full_disk_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(ClawError) as error, lease("a", "click-1", 0):
        pass
    assert (error.value.code, "No space left" in error.value.message) == ("PRODUCT_HOME_UNAVAILABLE", True)


ABANDON = """
import os, signal
from clawperator.device.lease import lease
with lease('a', 'of-a-child', 0, action='sleep') as held:
    held.sending('of-a-child', 60, 'com.operator')
    if %r:
        print(flush=True)
        input()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_child_left_running_is_known() -> None:
    subprocess.run([sys.executable, "-c", ABANDON % False], check=False, timeout=HANG_SECONDS)
    assert [running.commandId for running in still_running(0)] == ["of-a-child"]


def test_what_another_process_runs_and_follows_is_its_own() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", ABANDON % True], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        assert still_running(0) == ()
        other.kill()


def test_what_was_left_before_this_process_began_is_not_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    subprocess.run([sys.executable, "-c", ABANDON % False], check=False, timeout=HANG_SECONDS)
    monkeypatch.setattr("clawperator.device.running.BEGAN", time.monotonic())
    assert still_running(0) == ()


@pytest.mark.parametrize(("seconds_left", "abandoned"), [(60.0, True), (0.5, True), (0.0, False)])
def test_a_waiting_process_names_an_abandoned_command_until_its_end(
    seconds_left: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, abandoned: bool
) -> None:
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now)
    holder = Holder(1, "left-1", 0, started=now - 1, ends=now + seconds_left, released=True)
    (tmp_path / "record").write_bytes(msgspec.json.encode(holder) + b"\n")
    checked: list[tuple[Holder | None, bool]] = []

    class Wait:
        def check(self, holder: Holder | None, *, abandoned: bool = False) -> None:
            checked.append((holder, abandoned))

    with (tmp_path / "record").open() as file:
        lease_module._check_held(file.fileno(), Wait())  # type: ignore[arg-type]
    assert checked == [(holder if abandoned else None, abandoned)]


@pytest.mark.parametrize(
    ("started", "ends", "left"),
    [
        (1_000.0, 1_121.0, 121.0),  # the longest command, sent now
        (1_000.5, 1_010.0, 0.0),  # before a restart
        (1_000.0, 1_121.5, 0.0),  # longer than any command
        (900.0, 1_000.0, 0.0),
        (900.0, 1_000.5, 0.5),
    ],
)
def test_what_is_left_of_a_command(
    started: float, ends: float, left: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 1_000.0)
    assert Holder(1, "c", 0, started=started, ends=ends).seconds_left == left


def test_a_conflict_is_known_without_waiting_and_without_taking_the_lease() -> None:
    assert lease_conflict("a") is None
    with lease("a", "click-1", 0, action="click"):
        conflict = lease_conflict("a")
        assert conflict is not None
        assert (conflict.code, dict(conflict.details or {})["commandId"]) == (
            "EXECUTION_CONFLICT_IN_FLIGHT",
            "click-1",
        )
        assert lease_conflict("b") is None
    assert lease_conflict("a") is None


def test_a_command_that_the_device_still_runs_is_a_conflict() -> None:
    with lease("a", "exec-1", 0) as held:
        held.sending("sent-1", 60, "com.clawperator.operator")
    conflict = lease_conflict("a")
    assert conflict is not None
    assert "still runs" in conflict.message
