"""The virtual clock."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.clock import SystemClock, VirtualClock
from clawperator.engine.driver import Clock


@pytest.mark.parametrize("clock", [SystemClock(), VirtualClock()])
def test_a_clock_moves_on_by_what_is_slept(clock: Clock) -> None:
    before = clock.monotonic()
    clock.sleep(0.001)
    assert clock.monotonic() >= before + 0.001
    assert clock.now_ms() > 1_600_000_000_000


@pytest.mark.parametrize("clock", [SystemClock(), VirtualClock()])
def test_a_wait_without_a_notification_lasts_its_seconds(clock: Clock) -> None:
    before = clock.monotonic()
    condition = threading.Condition()
    with condition:
        while clock.monotonic() < before + 0.01:
            clock.wait(condition, before + 0.01 - clock.monotonic())


def test_a_notification_ends_a_wait() -> None:
    condition = threading.Condition()
    clock = SystemClock()
    notified: list[bool] = []

    def notify() -> None:
        with condition:
            notified.append(True)
            condition.notify()

    before = clock.monotonic()
    with condition:
        thread = threading.Thread(target=notify)
        thread.start()
        while not notified:
            clock.wait(condition, 60)
    thread.join()
    assert clock.monotonic() - before < 60


def test_a_negative_sleep_does_nothing() -> None:
    SystemClock().sleep(-1)
    clock = VirtualClock(start_ms=5)
    clock.sleep(-1)
    assert (clock.now_ms(), clock.monotonic()) == (5, 0)


def test_many_short_sleeps_make_one_long_one_exactly() -> None:
    clock = VirtualClock(start_ms=0)
    for _ in range(1_000):
        clock.sleep(0.001)
    assert (clock.monotonic(), clock.now_ms()) == (1.0, 1_000)


def test_the_shortest_sleep_moves_on() -> None:
    clock = VirtualClock()
    clock.sleep(1e-15)
    assert clock.monotonic() > 0


def test_calls_happen_at_their_time_before_the_sleep_returns() -> None:
    clock = VirtualClock(start_ms=0)
    seen: list[tuple[str, float]] = []
    clock.call_at(2, lambda: seen.append(("late", clock.monotonic())))
    clock.call_at(1, lambda: seen.append(("early", clock.monotonic())))
    clock.call_at(1, lambda: seen.append(("early too", clock.monotonic())))
    clock.call_at(9, lambda: seen.append(("never", clock.monotonic())))
    clock.sleep(2)
    assert seen == [("early", 1), ("early too", 1), ("late", 2)]
    assert [timer.at_ns for timer in clock.timers] == [9_000_000_000]


def test_a_call_may_ask_for_more_and_take_others_back() -> None:
    clock = VirtualClock()
    seen: list[float] = []
    doomed = clock.call_at(2, lambda: seen.append(-1))

    def tick() -> None:
        seen.append(clock.monotonic())
        doomed.cancel()
        if len(seen) < 3:
            clock.call_at(clock.monotonic() + 1, tick)

    clock.call_at(1, tick)
    clock.sleep(10)
    doomed.cancel()
    assert seen == [1, 2, 3]
    assert clock.monotonic() == 10


def test_a_call_that_sleeps_delays_the_rest_but_time_never_goes_back() -> None:
    clock = VirtualClock()
    seen: list[float] = []
    clock.call_at(1, lambda: clock.sleep(5))
    clock.call_at(3, lambda: seen.append(clock.monotonic()))
    clock.sleep(2)
    assert seen == [3]
    assert clock.monotonic() == 6


def test_a_call_whose_time_is_past_happens_in_the_next_sleep() -> None:
    clock = VirtualClock()
    clock.sleep(5)
    seen: list[float] = []
    clock.call_at(1, lambda: seen.append(clock.monotonic()))
    clock.sleep(0)
    assert seen == [5]


@pytest.mark.random
@given(st.lists(st.floats(0, 100), max_size=20), st.lists(st.floats(0, 20), max_size=20))
def test_calls_come_in_order_and_never_early(times: list[float], sleeps: list[float]) -> None:
    clock = VirtualClock()
    seen: list[tuple[float, float]] = []

    def note(at: float) -> None:
        seen.append((at, clock.monotonic()))

    for at in times:
        clock.call_at(at, lambda at=at: note(at))  # type: ignore[misc]
    for seconds in sleeps:
        clock.sleep(seconds)
        assert all(timer.at_ns / 1e9 > clock.monotonic() for timer in clock.timers)
    assert len(seen) + len(clock.timers) == len(times)
    assert [now for _, now in seen] == sorted(now for _, now in seen)
    assert all(abs(now - at) < 1e-8 for at, now in seen)
