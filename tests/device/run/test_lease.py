import errno
import fcntl
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

from clawperator._base.notes import listening
from clawperator.device.run import lease as lease_module
from clawperator.device.run.lease import SENT, Holder, hold_device, lease, lease_conflict
from clawperator.device.run.running import still_running
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
        "from clawperator.device.run.lease import lease\nwith lease('a', 'dead', 0):\n print(flush=True)\n input()"
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
    monkeypatch.setattr("clawperator.device.run.lease.time.monotonic", lambda: time.perf_counter() - start - 10**6)
    with lease("a", "next", 0):
        pass


def test_a_wait_can_be_stopped() -> None:
    with lease("a", "first", 0), pytest.raises(ClawError) as error, lease("a", "b", 60, stop=lambda: True):
        pass
    assert error.value.code == "INTERRUPTED"


def test_a_long_wait_is_noted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clawperator.device.run.lease._NOTE_SECONDS", 0.0)
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
from clawperator.device.run.lease import lease
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
    monkeypatch.setattr("clawperator.device.run.running.BEGAN", time.monotonic())
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


# The record


def record(home: Path) -> Holder:
    """The record of the only device that was used."""
    (file,) = (home / "leases").iterdir()
    line = file.read_bytes()
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    return msgspec.json.decode(line, type=Holder)


def test_the_record_follows_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 1_700_000_000.0)
    monkeypatch.setattr(time, "monotonic", lambda: 1_000.0)
    first = Holder(os.getpid(), "exec-1", 1_700_000_000_000, "click and 1 more")
    with lease("a", "exec-1", 0, action="click and 1 more") as held:
        assert record(tmp_path) == first
        held.sending("exec-1.2", 2.5, "com.operator", "127.0.0.1:5038")
        sent = msgspec.structs.replace(
            first,
            until=1_700_000_002_500,
            started=1_000.0,
            ends=1_002.5,
            sent="exec-1.2",
            operator="com.operator",
            endpoint="127.0.0.1:5038",
        )
        assert record(tmp_path) == sent
        held.noted(device_time="12.5", operator_pid="7")
        noted = msgspec.structs.replace(sent, deviceTime="12.5", operatorPid="7")
        assert record(tmp_path) == noted
        held.noted(operator="com.other")
        assert (
            record(tmp_path)
            == SENT["a", "exec-1.2"].holder
            == msgspec.structs.replace(noted, operator="com.other")
        )
        held.ended()
        held.noted()  # writes the record
        assert record(tmp_path) == msgspec.structs.replace(
            first, started=1_000.0, operator="com.other", endpoint="127.0.0.1:5038"
        )
    (file,) = (tmp_path / "leases").iterdir()
    assert file.read_bytes() == b""


def test_a_released_command_is_marked_while_the_device_may_run_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 1_000.0)
    with lease("a", "exec-1", 0) as held:
        held.sending("exec-1", 60, "com.operator")
        assert SENT["a", "exec-1"].is_held
        assert still_running(0, followed=False) == ()
    assert record(tmp_path).released
    assert SENT["a", "exec-1"].holder == record(tmp_path)
    assert [left.commandId for left in still_running(0, followed=False)] == ["exec-1"]


def test_a_command_whose_time_is_over_is_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1_000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    with lease("a", "exec-1", 0) as held:
        held.sending("exec-1", 60, "com.operator")
        now[0] += 60
    assert SENT == {}
    (file,) = (tmp_path / "leases").iterdir()
    assert file.read_bytes() == b""


def test_a_lease_sends_one_command_after_the_other() -> None:
    with lease("a", "exec-1", 0) as held:
        held.sending("exec-1.1", 60, "com.operator")
        held.sending("exec-1.2", 60, "com.operator")
        assert list(SENT) == [("a", "exec-1.2")]


def test_nothing_was_sent_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 0.5)  # the machine has just started
    assert Holder(1, "c", 0).seconds_left == 0


def test_leases_are_private(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with lease("a", "exec-1", 0):
            (file,) = (tmp_path / "leases").iterdir()
    finally:
        os.umask(before)
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_a_lease_that_is_not_a_regular_file_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with lease("a", "exec-1", 0):
        (file,) = (tmp_path / "leases").iterdir()
    file.unlink()
    os.mkfifo(file)
    opened: list[int] = []
    closed: list[int] = []
    open_, close = os.open, os.close

    def open_and_keep(path: str, flags: int, mode: int) -> int:
        opened.append(open_(path, flags, mode))
        return opened[-1]

    def close_and_keep(descriptor: int) -> None:
        closed.append(descriptor)
        close(descriptor)

    monkeypatch.setattr(os, "open", open_and_keep)
    monkeypatch.setattr(os, "close", close_and_keep)
    with pytest.raises(ClawError, match="its lease is not a regular file"), lease("a", "exec-2", 0):
        pass
    assert opened == closed


# Conflicts


# In these rows, process {own} is this one.
@pytest.mark.parametrize(
    ("is_held", "pid", "released", "left", "message"),
    [
        (True, None, False, 0.0, "device a is busy: process {own} runs left-1"),
        (True, None, False, 9.0, "device a is busy: process {own} runs left-1"),
        # The holder has not replaced the record of an earlier one, or waits for its end.
        (True, 0, False, 0.0, "device a is busy"),
        (True, None, True, 0.0, "device a is busy"),
        (True, 7, True, 9.0, "device a still runs left-1, started by process 7, for up to 10 s"),
        (False, 7, True, 9.0, "device a still runs left-1, started by process 7, for up to 10 s"),
        (False, None, False, 2.2, "device a still runs left-1, started by process {own}, for up to 3 s"),
        (False, 7, True, 0.0, None),
        (False, None, False, 0.0, None),
    ],
)
def test_a_conflict_is_described_by_the_record_and_the_lock(  # noqa: PLR0913 - the facts of a record
    pid: int | None,
    left: float,
    message: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    is_held: bool,
    released: bool,
) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 1_000.0)
    descriptor = lease_module.open_record("a")
    try:
        (file,) = (tmp_path / "leases").iterdir()
        holder = Holder(
            os.getpid() if pid is None else pid, "left-1", 1, started=999.0, ends=1_000.0 + left, released=released
        )
        file.write_bytes(msgspec.json.encode(holder) + b"\n")
        if is_held:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        conflict = lease_conflict("a")
    finally:
        os.close(descriptor)
    assert (conflict and conflict.message) == (message and message.format(own=os.getpid()))


def test_a_lease_without_a_record_is_busy_too(tmp_path: Path) -> None:
    with lease("a", "exec-1", 0):
        (file,) = (tmp_path / "leases").iterdir()
        file.write_bytes(b"")
        conflict = lease_conflict("a")
    assert conflict is not None
    assert (conflict.message, conflict.details) == ("device a is busy", {"deviceId": "a"})


def test_a_process_of_another_user_may_hold_the_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbid(*_: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "kill", forbid)
    assert not Holder(1, "c", 0).is_abandoned


# Waiting


@pytest.fixture
def sleeps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The sleeps of a test, on a clock that only they advance."""
    taken: list[float] = []
    monkeypatch.setattr(time, "sleep", taken.append)
    monkeypatch.setattr(time, "monotonic", lambda: 1_000.0 + sum(taken))
    return taken


@pytest.mark.parametrize(("random", "seconds"), [(b"\0", 0.002), (b"\x80", 0.004), (b"\xff", 0.006)])
def test_a_lease_is_tried_again_after_a_random_moment(
    random: bytes, seconds: float, sleeps: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "urandom", lambda _: random)
    with lease("a", "first", 0), pytest.raises(ClawError), lease("a", "second", 0.01):
        pass
    assert sleeps == pytest.approx([seconds] * len(sleeps), rel=0.01)
    assert sleeps


def test_the_end_of_a_command_is_awaited_by_its_time(sleeps: list[float]) -> None:
    with lease("a", "first", 0) as held:
        held.sending("first", 0.03, "com.operator")
    with lease("a", "second", HANG_SECONDS):
        pass
    assert sum(sleeps) == pytest.approx(0.03)
    assert max(sleeps) == 0.004


@pytest.mark.parametrize(("left", "wait"), [(60, 60), (0.25, 60), (60, 0.25)])
def test_a_device_is_asked_for_a_short_time(left: float, wait: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 1_000.0)
    asked: list[float] = []

    def ask(_holder: Holder, seconds: float) -> bool:
        asked.append(seconds)
        return True

    with lease("a", "first", 0) as held:
        held.sending("first", left, "com.operator")
    with lease("a", "second", wait, finished=ask):
        pass
    assert len(asked) == 1
    assert 0 < asked[0] <= min(left, wait, 5)


def test_a_wait_is_reported_after_a_second(sleeps: list[float]) -> None:
    said: list[float] = []
    with (
        listening(lambda _: said.append(sum(sleeps))),
        lease("a", "first", 0),
        pytest.raises(ClawError),
        lease("a", "second", 1.5),
    ):
        pass
    assert said == [pytest.approx(1.0, abs=0.01)]


@pytest.mark.usefixtures("sleeps")
def test_a_wait_that_is_shown_as_a_status_is_not_noted() -> None:
    notes: list[str] = []
    statuses: list[tuple[str, str]] = []

    def show(text: str, elapsed: str) -> bool:
        statuses.append((text, elapsed))
        return True

    with (
        listening(notes.append, None, show),
        lease("a", "first", 0),
        pytest.raises(ClawError),
        lease("a", "second", 3),
    ):
        pass
    assert notes == []
    busy = f"waiting: device a is busy: process {os.getpid()} runs first"
    assert (statuses[0], statuses[-1]) == ((busy, " (1 s)"), (busy, " (3 s)"))
    assert len(statuses) > 100, "the status stays up to date"


def test_a_wait_for_an_abandoned_command_is_reported_as_such(sleeps: list[float]) -> None:
    with lease("a", "first", 0) as held:
        held.sending("first", 60, "com.operator")
    notes: list[str] = []
    with listening(notes.append), pytest.raises(ClawError), lease("a", "second", 1.5):
        pass
    assert len(notes) == 1
    assert notes[0].startswith(f"waiting: device a still runs first, started by process {os.getpid()}, for up to ")
    assert sum(sleeps) == pytest.approx(1.5)


# Devices that are held for several executions


def in_another_process(script: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a process that did not inherit a hold."""
    environment = {name: value for name, value in os.environ.items() if name != "CLAWPERATOR_HOLD"}
    command = [sys.executable, "-c", script]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=HANG_SECONDS, check=False, env=environment
    )


TAKE = """
from clawperator.device.run.lease import lease, lease_conflict
from clawperator.errors import ClawError
print(lease_conflict("a") is None)
try:
    with lease("a", "other", 0):
        print("taken")
except ClawError as e:
    print(e.code, e.message)
"""


def test_a_held_device_is_busy_for_other_processes_only() -> None:
    with hold_device("a", "the test of lamps", 0):
        with lease("a", "own", 0):
            pass
        with lease("b", "own", 0):
            pass
        free, refusal, _ = in_another_process(TAKE).stdout.split("\n")
        own = subprocess.run([sys.executable, "-c", TAKE], capture_output=True, text=True, check=True)
    assert free == "False"
    assert refusal.startswith("EXECUTION_CONFLICT_IN_FLIGHT device a is busy: process ")
    assert refusal.endswith("runs the test of lamps")
    assert own.stdout == "True\ntaken\n"
    assert in_another_process(TAKE).stdout == "True\ntaken\n"


def test_a_device_in_use_is_not_held() -> None:
    script = (
        "from clawperator.device.run.lease import lease\nwith lease('a', 'user', 0):\n print(flush=True)\n input()"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as user:
        assert user.stdout is not None
        user.stdout.readline()
        with pytest.raises(ClawError) as error, hold_device("a", "a test", 0.05):
            pass
        assert error.value.code == "EXECUTION_CONFLICT_IN_FLIGHT"
        user.kill()
    with hold_device("a", "a test", 1):
        pass


def test_a_hold_ends_with_its_process() -> None:
    script = (
        "from clawperator.device.run.lease import hold_device\n"
        "with hold_device('a', 'dead', 0):\n print(flush=True)\n input()"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(ClawError), lease("a", "living", 0):
            pass
        os.kill(holder.pid, signal.SIGKILL)
    with lease("a", "living", 1):
        pass
