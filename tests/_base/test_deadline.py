"""Deadlines by a clock that the test moves."""

import pytest

from clawperator._base.deadline import Deadline, command_timeout
from clawperator.engine.clock import VirtualClock
from clawperator.errors import ClawError, DeadlineError


def test_a_deadline_counts_down_and_ends_at_zero() -> None:
    clock = VirtualClock()
    deadline = Deadline(2, clock.monotonic)
    clock.sleep(1.5)
    assert (deadline.remaining, deadline.left(), deadline.is_over) == (0.5, 0.5, False)
    clock.sleep(1)
    assert (deadline.remaining, deadline.is_over) == (0, True)
    with pytest.raises(TimeoutError):
        deadline.left()


def test_a_step_is_limited_by_itself_or_by_the_deadline() -> None:
    deadline = Deadline(2, VirtualClock().monotonic)
    assert (deadline.within(1), deadline.within(5)) == (1, 2)


def test_without_a_number_there_is_no_limit() -> None:
    clock = VirtualClock()
    deadline = Deadline(None, clock.monotonic)
    clock.sleep(1e9)
    assert (deadline.remaining, deadline.is_over, deadline.within(7)) == (None, False, 7)
    assert deadline.left() == float("inf")


def test_the_timeout_of_an_execution_names_the_failure_that_was_retried() -> None:
    error = command_timeout(ClawError("NODE_NOT_FOUND", "no node"))
    assert isinstance(error, DeadlineError)
    assert error.message.endswith("last error: NODE_NOT_FOUND: no node")
    cause = {"code": "NODE_NOT_FOUND", "message": "no node"}
    assert error.details == {"last_error": "NODE_NOT_FOUND", "cause": cause}
    assert error.hint == ClawError("NODE_NOT_FOUND", "no node").hint
