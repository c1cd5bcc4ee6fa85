"""What devices may still run for this process, and what processes that it started have left."""

import fcntl
import os
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from clawperator.device import discovery
from clawperator.device.adb.client import Device, Endpoint, file_name
from clawperator.device.backends import operator_link
from clawperator.device.run import running as module
from clawperator.device.run.lease import SENT, Holder, SentCommand, lease_folder
from clawperator.device.run.running import RunningExecution, still_running
from clawperator.errors import ClawError

OTHER_PID = 1
OWN_PID = 0  # in place of the process of the test


class Clock:
    """Replaces the machine's clock: only sleeping takes time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1_000.0
        self.began = self.now
        monkeypatch.setattr(time, "monotonic", lambda: self.now)
        monkeypatch.setattr(time, "sleep", self.sleep)
        monkeypatch.setattr(module, "BEGAN", self.now - 50)

    def sleep(self, seconds: float) -> None:
        assert seconds >= 0
        self.now += max(seconds, 0.001)
        assert self.now < self.began + 100, "it waits for ever"

    @property
    def waited(self) -> float:
        return self.now - self.began


@pytest.fixture
def clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clock:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path))
    SENT.clear()
    return Clock(monkeypatch)


def holder(clock: Clock, seconds_left: float = 60, **changes: Any) -> Holder:
    made = Holder(os.getpid(), "click-1", 5_000, "click", 65_000, started=clock.now - 1, sent="click-1")
    return replace(made, ends=clock.now + seconds_left, **changes)


class Answers:
    """Says whether a command has finished: these answers in turn, then the last one again."""

    def __init__(self, *answers: bool | ClawError) -> None:
        self.answers = list(answers)
        self.seconds: list[float] = []

    def __call__(self, _: Holder, seconds: float) -> bool:
        self.seconds.append(seconds)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, ClawError):
            raise answer
        return answer


def sent(clock: Clock, answers: Answers | None, *, is_held: bool = False, **changes: Any) -> SentCommand:
    made = SentCommand("claw-1", holder(clock, **changes), answers, is_held)
    SENT[made.serial, made.holder.sent] = made
    return made


def record(content: Holder | bytes, serial: str = "claw-1") -> Path:
    path = Path(lease_folder(), f"{file_name(serial)}.lock")
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else msgspec.json.encode(content) + b"\n")
    return path


RUNNING = (RunningExecution("claw-1", "click-1", "click", 5_000, 65_000),)


@pytest.mark.parametrize(("until", "left"), [(162_520, 63), (162_400, 62), (100_000, 0), (90_000, 0)])
def test_an_execution_is_described_with_the_seconds_that_it_may_take(
    until: int, left: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time", lambda: 100.0)
    running = RunningExecution("claw-1", "click-1", "click", 0, until)
    assert running.describe() == f"claw-1 may still run click (command click-1) for up to {left} s"


@pytest.mark.parametrize(("wait", "waited"), [(0, 0), (3, 3), (None, 0.5)])
def test_the_end_of_a_command_is_awaited_but_not_longer(clock: Clock, wait: float | None, waited: float) -> None:
    answers = Answers(False)
    sent(clock, answers)
    assert (still_running() if wait is None else still_running(wait)) == RUNNING
    assert clock.waited == pytest.approx(waited, abs=0.01)
    assert len(answers.seconds) == pytest.approx(1 + waited / 0.004, abs=3)
    assert list(SENT) == [("claw-1", "click-1")]


def test_a_command_that_ends_in_time_is_forgotten(clock: Clock) -> None:
    left = sent(clock, Answers(False, ClawError("DEVICE_OFFLINE", "gone"), False, True))
    path = record(left.holder)
    assert still_running(10) == ()
    assert clock.waited < 0.1
    assert SENT == {}
    assert path.read_bytes() == b""


@pytest.mark.parametrize(("wait", "seconds"), [(10, 0.5), (0.25, 0.25)])
def test_a_question_takes_no_longer_than_the_wait(clock: Clock, wait: float, seconds: float) -> None:
    answers = Answers(True)
    sent(clock, answers)
    still_running(wait)
    assert answers.seconds == [seconds]


@pytest.mark.parametrize(("seconds_left", "running"), [(0.0, ()), (-1.0, ()), (0.5, RUNNING)])
def test_a_command_whose_time_is_over_has_ended(
    clock: Clock, seconds_left: float, running: tuple[RunningExecution, ...]
) -> None:
    path = record(b"{}\n")
    sent(clock, Answers(False), seconds_left=seconds_left)
    assert still_running(0) == running
    assert len(SENT) == len(running)
    assert path.read_bytes() == b"{}\n"


@pytest.mark.parametrize(
    ("answers", "is_held", "followed"), [(Answers(True), True, True), (None, False, True), (None, False, False)]
)
def test_a_command_that_cannot_be_asked_about_may_run(
    clock: Clock, answers: Answers | None, *, is_held: bool, followed: bool
) -> None:
    sent(clock, answers, is_held=is_held)
    assert still_running(0, followed=followed) == RUNNING
    assert answers is None or answers.seconds == []


def test_a_command_that_a_call_follows_can_be_left_out(clock: Clock) -> None:
    sent(clock, Answers(True), is_held=True)
    assert still_running(5, followed=False) == ()
    assert clock.waited == 0
    assert len(SENT) == 1


def test_a_command_that_its_call_reports_as_ended_is_not_awaited(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another thread removes it while this one waits."""
    sent(clock, None, is_held=True)
    sleep = clock.sleep

    def ended(seconds: float) -> None:
        SENT.clear()
        sleep(seconds)

    monkeypatch.setattr(time, "sleep", ended)
    assert still_running(10) == ()
    assert clock.waited < 0.1


def test_a_command_that_ends_while_another_one_is_asked_about_is_not_reported(clock: Clock) -> None:
    def finished(_: Holder, __: float) -> bool:
        SENT.pop(("claw-1", "click-2"))
        return True

    SENT["claw-1", "click-1"] = SentCommand("claw-1", holder(clock), finished, is_held=False)
    sent(clock, None, is_held=True, sent="click-2")
    assert still_running(0) == ()


@pytest.mark.parametrize("content", [b"", b"{}\n", b"other"])
def test_the_record_of_another_command_is_left(clock: Clock, content: bytes) -> None:
    sent(clock, Answers(True))
    path = record(content)
    assert still_running(0) == ()
    assert path.read_bytes() == content


def test_the_record_of_a_lease_that_is_held_is_left(clock: Clock) -> None:
    left = sent(clock, Answers(True))
    path = record(left.holder)
    with path.open() as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert still_running(0) == ()
    assert path.read_bytes() != b""


# Commands of other processes


@pytest.mark.parametrize(
    ("changes", "is_ours"),
    [
        ({}, True),
        ({"started": 950.0}, True),
        ({"started": 949.0}, False),
        ({"pid": OWN_PID}, False),
        ({"seconds_left": 0.0}, False),
        ({"seconds_left": 0.5}, True),
    ],
)
def test_a_process_that_ended_may_have_left_a_command(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], *, is_ours: bool
) -> None:
    monkeypatch.setattr(discovery, "resolve_device", lambda _: (_ for _ in ()).throw(ClawError("NO_DEVICES", "")))
    found = {"pid": OTHER_PID, **changes}
    record(holder(clock, **{**found, "pid": found["pid"] or os.getpid()}))
    assert still_running(0) == (RUNNING if is_ours else ())
    assert [one.is_held for one in SENT.values()] == ([False] if is_ours else [])


def test_what_is_no_record_is_skipped(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "resolve_device", lambda _: (_ for _ in ()).throw(ClawError("NO_DEVICES", "")))
    left = holder(clock, pid=OTHER_PID)
    for serial in ("a", "claw-1", "z"):
        record(left if serial == "claw-1" else b"no record", serial)
    folder = Path(lease_folder())
    (folder / "notes.lock").write_bytes(msgspec.json.encode(left) + b"\n")
    (folder / "folder.lock").mkdir()
    (folder / "link.lock").symlink_to(f"{file_name('claw-1')}.lock")
    opened = len(os.listdir("/proc/self/fd"))
    assert still_running(0) == RUNNING
    assert len(os.listdir("/proc/self/fd")) == opened


def test_a_command_that_its_process_follows_is_its_own(clock: Clock) -> None:
    path = record(holder(clock, pid=OTHER_PID))
    with path.open() as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert still_running(0) == ()


@pytest.mark.parametrize("finished", [True, False])
def test_the_device_is_asked_whether_it_has_finished_a_command_that_was_left(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, *, finished: bool
) -> None:
    left = holder(clock, pid=OTHER_PID)
    path = record(left)
    asked: list[tuple[Device, Holder, float]] = []

    def has_finished(*question: Any) -> bool:
        asked.append(question)
        return finished

    monkeypatch.setattr(discovery, "resolve_device", lambda serial: Device(serial, Endpoint("127.0.0.1", 1)))
    monkeypatch.setattr(operator_link, "has_finished", has_finished)
    assert still_running(0) == (() if finished else RUNNING)
    assert asked == [(Device("claw-1", Endpoint("127.0.0.1", 1)), left, 0)]
    assert (path.read_bytes() == b"") == finished
