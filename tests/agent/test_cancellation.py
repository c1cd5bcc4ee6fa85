"""The deadline and the cancellation of a turn."""

import threading
import time

import pytest

from clawperator.agent.cancellation import TurnCancelledError, TurnDeadline, WorkAbandonedError, run_within


def test_without_a_deadline_there_is_always_time() -> None:
    deadline = TurnDeadline()
    assert deadline.remaining is None
    assert not deadline.is_over
    assert deadline.within(7.0) == 7.0
    deadline.check()


def test_a_step_gets_no_more_than_what_is_left() -> None:
    assert TurnDeadline(0.5).within(60) <= 0.5
    assert TurnDeadline(100).within(2) == 2


def test_a_deadline_that_has_passed_stops_the_next_step() -> None:
    deadline = TurnDeadline(-1)
    assert deadline.remaining == 0
    with pytest.raises(TurnCancelledError):
        deadline.check()


def test_a_cancelled_turn_cannot_begin_to_commit() -> None:
    deadline = TurnDeadline()
    assert deadline.cancel()
    with pytest.raises(TurnCancelledError):
        deadline.begin_commit()


def test_a_turn_that_commits_can_no_longer_be_cancelled() -> None:
    deadline = TurnDeadline()
    deadline.begin_commit()
    assert not deadline.cancel()
    assert not deadline.is_cancelled
    deadline.end_commit()
    assert deadline.cancel()


def test_a_cancellation_wakes_a_sleeper() -> None:
    deadline = TurnDeadline(30)
    threading.Timer(0.05, deadline.cancel).start()
    started = time.monotonic()
    with pytest.raises(TurnCancelledError):
        deadline.sleep(20)
    assert time.monotonic() - started < 5


def test_work_without_a_deadline_is_done_by_the_caller_itself() -> None:
    assert run_within(TurnDeadline(), threading.current_thread) is threading.current_thread()


def test_work_under_a_deadline_gives_its_value_and_its_error() -> None:
    assert run_within(TurnDeadline(10), lambda: 7) == 7

    def fail() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        run_within(TurnDeadline(10), fail)


def test_work_that_sees_the_cancellation_is_waited_for() -> None:
    deadline = TurnDeadline(0.05)

    def work() -> str:
        while not deadline.is_cancelled:
            time.sleep(0.005)
        return "stopped"

    assert run_within(deadline, work, grace=5) == "stopped"


def test_stuck_work_is_left_behind_after_a_short_grace() -> None:
    stuck = threading.Event()
    started = time.monotonic()
    with pytest.raises(WorkAbandonedError):
        run_within(TurnDeadline(0.05), lambda: stuck.wait(30), grace=0.1)
    assert time.monotonic() - started < 5
    stuck.set()
