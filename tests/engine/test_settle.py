"""The reported effect of an action."""

from random import Random
from typing import Any

import pytest

from clawperator.engine.clock import VirtualClock
from clawperator.engine.scripted import FullScriptedDriver, node
from clawperator.errors import ClawError
from clawperator.testing import simulated_phone
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


# Stale captures


def stale_driver(*stale: int) -> FullScriptedDriver:
    """A phone whose captures with these numbers show an older screen. Its click changes nothing."""
    phone = button()
    old, numbers = node("Older", clickable="true", id="b"), iter(range(10_000))

    def dump() -> Hierarchy:
        return Hierarchy({}, [old], [old]) if next(numbers) in stale else phone.screen

    phone.answers["dump"] = dump
    return phone


@pytest.mark.parametrize(
    "stale",
    [(0,), (1,), (0, 1), (7,), (8,), (8, 9), (8, 9, 10), (0, 8, 9), (8, 10, 12)],
    ids=lambda numbers: "-".join(map(str, numbers)),
)
def test_stale_captures_before_or_after_an_action_are_no_change(stale: tuple[int, ...]) -> None:
    assert click(stale_driver(*stale))["effect"] in ("unchanged", "unknown")


def test_two_captures_must_do_on_a_slow_phone() -> None:
    phone = button()
    captures = 0

    def slow() -> Hierarchy:
        nonlocal captures
        captures += 1
        phone.clock.sleep(0.5)
        return phone.screen

    phone.answers["act"] = lambda *_: phone.show(node("Done"))
    phone.answers["dump"] = slow
    assert click(phone)["effect"] == "changed"
    assert captures == 5, "two before the click, three after it"


def test_a_click_uses_the_last_capture_before_it() -> None:
    phone = button()
    old = node("Older", clickable="true", id="b", bounds="[0,0][10,10]")
    stale = iter([Hierarchy({}, [old], [old])])
    phone.answers["dump"] = lambda: next(stale, None)
    data = click(phone)
    assert "Older" not in data["matched_target"]
    assert data["effect"] == "unknown"


@pytest.mark.parametrize("seed", range(4))
def test_no_change_is_reported_when_nothing_changed_whatever_captures_are_stale(seed: int) -> None:
    random = Random(seed)
    changes = 0
    for trial in range(60):
        with simulated_phone(seed=random.randrange(10**6)) as phone:
            phone.open_app("com.android.settings")
            phone.run({"type": "click", "params": {"matcher": {"textEquals": "Display"}}})
            if random.random() < 0.5:
                phone.run({"type": "press_key", "params": {"key": "back"}})
            phone.fault("stale_tree", random.random())
            phone.fault("dropped_tap", random.choice([0.0, 1.0]))
            action: dict[str, Any] = random.choice(
                [
                    {"type": "click", "params": {"coordinate": {"x": 540, "y": random.randrange(300, 2_000)}}},
                    {"type": "press_key", "params": {"key": "home"}},
                    {"type": "scroll", "params": {"direction": random.choice(["up", "down"])}},
                    {"type": "open_app", "params": {"applicationId": "com.android.settings"}},
                ]
            )
            before = phone.hierarchy()
            effect = phone.run(action).stepResults[0].data.get("effect")
            is_same = phone.hierarchy().has_same_content(before)
            assert not (is_same and effect == "changed"), (seed, trial, action)
            changes += effect == "changed"
    assert changes, "changes are still reported"
