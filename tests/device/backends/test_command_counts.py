"""How many commands an action over plain adb runs on the device: each takes a second on a slow one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.device.backends.doubles_bench import FIELD, DoublesBench, doubles_bench, field_screen, list_screen
from tests.support.ordinary_phone import HOME_SCREEN, SETTINGS, node, screen

OTHER_SCREEN = screen(node("Dark theme", bounds="[0,300][1080,500]"))


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[DoublesBench]:
    with doubles_bench(tmp_path) as made:
        yield made


def at_most(bench: DoublesBench, dumps: int, commands: int) -> None:
    assert len(bench.lines("uiautomator")) <= dumps
    assert len(bench.lines()) <= commands, bench.lines()
    assert bench.requests <= commands


@pytest.mark.parametrize("after", [HOME_SCREEN, OTHER_SCREEN])
def test_a_key(bench: DoublesBench, after: str) -> None:
    bench.shows(after)
    assert bench.data("press_key", key="back")["effect"] == "unknown"
    assert bench.lines() == ["input keyevent 4"]
    at_most(bench, 1, 3)


def test_a_key_after_a_capture(bench: DoublesBench) -> None:
    bench.shows(HOME_SCREEN, OTHER_SCREEN)
    key = {"id": "b", "type": "press_key", "params": {"key": "back"}}
    capture = {"id": "a", "type": "query"}
    envelope = bench.run(capture, key)
    assert envelope.stepResults[1].data["effect"] == "changed"
    at_most(bench, 1 + 1, 2 + 2)


@pytest.mark.parametrize(("after", "effect"), [(HOME_SCREEN, "unknown"), (OTHER_SCREEN, "changed")])
def test_a_click(bench: DoublesBench, after: str, effect: str) -> None:
    bench.shows(HOME_SCREEN, after)
    assert bench.data("click", matcher={"textEquals": "Display"})["effect"] == effect
    assert bench.lines("input") == ["input tap 540 600"]
    at_most(bench, 2, 4)


@pytest.mark.parametrize(("after", "effect"), [(HOME_SCREEN, "unchanged"), (OTHER_SCREEN, "changed")])
def test_a_click_that_settles_looks_once_more(bench: DoublesBench, after: str, effect: str) -> None:
    bench.shows(HOME_SCREEN, after)
    assert bench.data("click", matcher={"textEquals": "Display"}, settle=True)["effect"] == effect
    at_most(bench, 3, 5)


@pytest.mark.parametrize(("after", "effect"), [(HOME_SCREEN, "unchanged"), (OTHER_SCREEN, "changed")])
def test_a_key_that_settles_looks_before_and_after(bench: DoublesBench, after: str, effect: str) -> None:
    bench.shows(HOME_SCREEN, after)
    assert bench.data("press_key", key="back", settle=True)["effect"] == effect
    at_most(bench, 3, 5)


def test_a_click_of_a_point(bench: DoublesBench) -> None:
    assert bench.data("click", coordinate={"x": 500, "y": 600})["effect"] == "unknown"
    at_most(bench, 0, 3)


@pytest.mark.parametrize(("after", "outcome"), [("A", "edge_reached"), ("B", "moved")])
def test_a_scroll(bench: DoublesBench, after: str, outcome: str) -> None:
    bench.shows(list_screen("A"), list_screen(after))
    assert bench.data("scroll", direction="down", settleDelayMs=0)["scroll_outcome"] == outcome
    at_most(bench, 2, 4)


@pytest.mark.parametrize(
    "before",
    [field_screen(text, focused=focused) for text in ("", "old text") for focused in (False, True)],
)
def test_typing(bench: DoublesBench, before: str) -> None:
    bench.shows(before, field_screen("hello", focused=True))
    data = bench.data("enter_text", matcher=FIELD, text="hello")
    assert (data["text"], data["effect"]) == ("hello", "changed")
    assert bench.lines("input")[-1] == "input text hello"
    at_most(bench, 2, 6)


def test_typing_and_submitting(bench: DoublesBench) -> None:
    bench.shows(field_screen("", focused=True), field_screen("hello", focused=True))
    data = bench.data("enter_text", matcher=FIELD, text="hello", submit=True)
    assert data["dispatch_method"] == "set_text+submit"
    assert bench.lines("input") == ["input text hello", "input keyevent 66"]
    at_most(bench, 2, 6)


def test_opening_an_app(bench: DoublesBench) -> None:
    assert bench.data("open_app", applicationId=SETTINGS)["effect"] == "unknown"
    assert [line.split()[0] for line in bench.lines()] == ["cmd", "am"]


def test_a_snapshot(bench: DoublesBench) -> None:
    assert bench.data("snapshot_ui")["foreground_package"] == SETTINGS
    at_most(bench, 1, 3)
