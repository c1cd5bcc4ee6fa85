"""The deadline and the cancellation of a turn."""

import threading
import time

import pytest

from clawperator.agent.cancellation import TurnCancelledError, TurnDeadline, WorkAbandonedError, run_within
from tests.support.hanging import HANG_SECONDS, NEVER_SECONDS


def test_without_a_limit_there_is_always_time() -> None:
    deadline = TurnDeadline()
    assert deadline.remaining is None
    assert not deadline.is_over
    assert deadline.within(7.0) == 7.0
    deadline.check()


def test_a_step_gets_at_most_the_remaining_time() -> None:
    assert TurnDeadline(0.5).within(60) <= 0.5
    assert TurnDeadline(100).within(2) == 2


def test_no_step_starts_after_the_deadline() -> None:
    deadline = TurnDeadline(-1)
    assert deadline.remaining == 0
    with pytest.raises(TurnCancelledError):
        deadline.check()


def test_a_cancelled_turn_cannot_begin_to_commit() -> None:
    deadline = TurnDeadline()
    assert deadline.cancel()
    with pytest.raises(TurnCancelledError):
        deadline.begin_commit()


def test_a_committing_turn_cannot_be_cancelled() -> None:
    deadline = TurnDeadline()
    deadline.begin_commit()
    assert not deadline.cancel()
    assert not deadline.is_cancelled
    deadline.end_commit()
    assert deadline.cancel()


def test_a_cancellation_ends_a_sleep() -> None:
    deadline = TurnDeadline(NEVER_SECONDS)
    threading.Timer(0.05, deadline.cancel).start()
    started = time.monotonic()
    with pytest.raises(TurnCancelledError):
        deadline.sleep(NEVER_SECONDS)
    assert time.monotonic() - started < HANG_SECONDS


def test_work_without_a_limit_runs_in_the_calling_thread() -> None:
    assert run_within(TurnDeadline(), threading.current_thread) is threading.current_thread()


def test_work_with_a_limit_returns_its_value_or_raises_its_error() -> None:
    assert run_within(TurnDeadline(10), lambda: 7) == 7

    def fail() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        run_within(TurnDeadline(10), fail)


def test_work_that_acknowledges_the_cancellation_is_awaited() -> None:
    deadline = TurnDeadline(0.05)

    def work() -> str:
        while not deadline.is_cancelled:
            time.sleep(0.005)
        return "stopped"

    assert run_within(deadline, work, grace=HANG_SECONDS) == "stopped"


def test_stuck_work_is_abandoned_after_the_grace() -> None:
    stuck = threading.Event()
    started = time.monotonic()
    with pytest.raises(WorkAbandonedError):
        run_within(TurnDeadline(0.05), lambda: stuck.wait(NEVER_SECONDS), grace=0.1)
    assert time.monotonic() - started < HANG_SECONDS
    stuck.set()
