"""The reported effect of an action."""

import pytest

from clawperator.engine.clock import VirtualClock
from clawperator.engine.scripted import FullScriptedDriver, node
from clawperator.errors import ClawError
from clawperator.ui.node import Hierarchy
from tests.engine.scripted_plans import step


def button(text: str = "OK") -> FullScriptedDriver:
    return FullScriptedDriver(VirtualClock(), node(text, clickable="true", id="b"))


def click(phone: FullScriptedDriver) -> dict[str, str]:
    result = step(phone, "click", matcher={"resourceId": "b"})
    assert result.success
    return result.data


def test_a_screen_that_changes_at_once_is_changed_and_settled() -> None:
    phone = button()
    phone.answers["act"] = lambda *_: phone.show(node("Done"))
    data = click(phone)
    assert (data["effect"], data["settled_ms"]) == ("changed", "0")
    assert phone.clock.monotonic() == pytest.approx(0.05)


def test_a_screen_that_answers_late_is_not_called_unchanged() -> None:
    phone = button()
    phone.show_at(0.24, node("Done"))
    data = click(phone)
    assert (data["effect"], data["settled_ms"]) == ("changed", "250")


def test_a_screen_that_stays_the_same_is_unchanged_after_a_while() -> None:
    phone = button()
    data = click(phone)
    assert (data["effect"], data["settled_ms"]) == ("unchanged", "0")
    assert phone.clock.monotonic() == pytest.approx(0.3)


def test_an_equal_capture_is_not_a_change() -> None:
    phone = button()
    phone.answers["dump"] = lambda: Hierarchy({}, [n := node("OK", clickable="true", id="b")], [n])
    assert click(phone)["effect"] == "unchanged"


def test_a_screen_that_never_rests_is_unknown_within_the_budget() -> None:
    phone = button()
    count = iter(range(10_000))
    phone.answers["dump"] = lambda: Hierarchy({}, [n := node(f"{next(count)}", clickable="true", id="b")], [n])
    data = click(phone)
    assert data["effect"] == "unknown"
    assert data["settled_ms"] == "1000"
    assert phone.clock.monotonic() == pytest.approx(1)


@pytest.mark.parametrize("trouble", [ClawError("DEVICE_OFFLINE", "gone"), ValueError("x")])
def test_a_screen_that_cannot_be_seen_afterwards_is_unknown_but_the_click_was_made(trouble: Exception) -> None:
    phone = button()

    def act(*_: object) -> bool:
        phone.answers["dump"] = trouble
        return True

    phone.answers["act"] = act
    assert click(phone)["effect"] == "unknown"


def test_an_action_without_a_capture_before_has_an_unknown_effect() -> None:
    phone = FullScriptedDriver(VirtualClock(), dump=ClawError("SNAPSHOT_HIERARCHY_UNAVAILABLE", "no window"))

    def key(_key: str) -> bool:
        phone.answers.clear()
        return True

    phone.answers["key"] = key
    data = step(phone, "press_key", key="home").data
    assert (data["effect"], data["settled_ms"]) == ("unknown", "0")


def test_a_slow_phone_is_still_looked_at_twice() -> None:
    phone = button()

    def slow() -> Hierarchy:
        phone.clock.sleep(3)
        return phone.screen

    phone.answers["act"] = lambda *_: phone.show(node("Done"))
    phone.answers["dump"] = slow
    assert click(phone)["effect"] == "changed"


def test_settling_never_passes_the_deadline_of_the_execution() -> None:
    phone = button()
    phone.answers["act"] = lambda *_: phone.clock.sleep(0.9)
    result = step(phone, "click", timeout_ms=1_000, matcher={"resourceId": "b"})
    assert result.success
    assert result.data["effect"] == "unknown"
    assert phone.clock.monotonic() == pytest.approx(1)
