"""Pauses between attempts, in virtual time."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from clawperator.contract.action_params import APP_CLOSE, APP_LAUNCH, ONCE, UI_READINESS, UI_SCROLL, Retry
from clawperator.engine.clock import VirtualClock
from clawperator.engine.retry import retry_delays
from clawperator.engine.scripted import FullScriptedDriver, node
from tests.engine.scripted_plans import step


@pytest.mark.parametrize(
    ("retry", "nominal"),
    [
        (UI_READINESS, [500, 1_000, 2_000, 3_000]),
        (APP_LAUNCH, [750, 1_500, 3_000]),
        (APP_CLOSE, [400, 800, 1_600]),
        (UI_SCROLL, [400, 800, 1_600]),
        (ONCE, []),
        (Retry(4, 100), [100, 100, 100]),
        (Retry(4, 100, 250, 2), [100, 200, 250]),
        (Retry(3), [0, 0]),
    ],
)
def test_a_preset_has_the_pauses_of_the_contract(retry: Retry, nominal: list[float]) -> None:
    for seed in range(20):
        got = list(retry_delays(retry, Random(seed)))
        assert len(got) == len(nominal)
        for pause, expected in zip(got, nominal, strict=True):
            assert abs(pause - expected) <= expected * retry.jitterRatio + 1e-9


@pytest.mark.random
@given(
    st.builds(
        Retry,
        st.integers(1, 10),
        st.floats(0, 30_000),
        st.just(UNSET) | st.floats(30_000, 60_000),
        st.floats(1, 5),
        st.floats(0, 1),
    ),
    st.integers(),
)
def test_pauses_are_never_negative_nor_longer_than_twice_the_longest(retry: Retry, seed: int) -> None:
    got = list(retry_delays(retry, Random(seed)))
    assert len(got) == retry.maxAttempts - 1
    longest = retry.maxDelayMs if isinstance(retry.maxDelayMs, float | int) else retry.initialDelayMs
    assert all(0 <= pause <= 2 * longest for pause in got)


def test_a_click_that_finds_nothing_looks_five_times_in_six_and_a_half_seconds() -> None:
    phone = FullScriptedDriver(VirtualClock(), node("other"))
    result = step(phone, "click", matcher={"textEquals": "OK"})
    assert result.data["error"] == "NODE_NOT_FOUND"
    assert len(phone.named("dump")) == 5
    assert 6.5 * 0.85 <= phone.clock.monotonic() <= 6.5 * 1.15


def test_the_retry_that_is_given_replaces_the_preset() -> None:
    phone = FullScriptedDriver(VirtualClock(), node("other"))
    step(phone, "click", matcher={"textEquals": "OK"}, retry={"maxAttempts": 3, "initialDelayMs": 100})
    assert len(phone.named("dump")) == 3
    assert phone.clock.monotonic() == pytest.approx(0.2)


def test_a_node_that_comes_late_is_clicked() -> None:
    phone = FullScriptedDriver(VirtualClock(), node("other"))
    phone.show_at(1, node("OK", clickable="true", id="ok"))
    assert step(phone, "click", matcher={"textEquals": "OK"}).success
    assert phone.named("act") == [("ok", "click")]


def test_an_unknown_app_is_tried_as_often_as_the_preset_allows() -> None:
    phone = FullScriptedDriver(VirtualClock(), launch=False)
    assert step(phone, "open_app", applicationId="a.b").data["error"] == "APP_NOT_FOUND"
    assert len(phone.named("launch")) == 4
