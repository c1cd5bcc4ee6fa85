"""The steps of a replay, from the events of a recording."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.recording.events import (
    ClickFacts,
    EventBounds,
    EventFacts,
    PressKeyFacts,
    ScrollFacts,
    TextChangeFacts,
    WindowChangeFacts,
)
from clawperator.recording.heuristics import is_masked
from clawperator.replay.planner import RecordedSteps, build_steps, steps_until

APP = "com.example.app"
HOME = "com.android.launcher3"
KEYBOARD = "com.google.android.inputmethod.latin"
SYSTEM = "com.android.systemui"
NOWHERE = EventBounds(0, 0, 0, 0)


class Story:
    """Events one after the other, a second apart by default."""

    def __init__(self) -> None:
        self.seen: list[tuple[EventFacts, str | None]] = []
        self._now = 0

    def _add(self, kind: type[EventFacts], xml: str | None, after_ms: int, **facts: Any) -> "Story":
        self._now += after_ms
        self.seen.append((kind(ts=self._now, seq=len(self.seen), **facts), xml))
        return self

    def window(self, package: str, title: str | None = None, after_ms: int = 200, **facts: Any) -> "Story":
        return self._add(WindowChangeFacts, None, after_ms, packageName=package, title=title, **facts)

    def click(self, text: str, package: str = APP, xml: str | None = None, **facts: Any) -> "Story":
        known = {"resourceId": None, "contentDesc": None, "bounds": NOWHERE, **facts}
        return self._add(ClickFacts, xml, 1_000, packageName=package, text=text, **known)

    def text(self, *typed: str, after_ms: int = 400, package: str = APP) -> "Story":
        for text in typed:
            self._add(TextChangeFacts, None, after_ms, packageName=package, resourceId=None, text=text)
        return self

    def scroll(self, y: int, x: int = 0) -> "Story":
        where = {"scrollX": x, "scrollY": y, "maxScrollX": 0, "maxScrollY": 0}
        return self._add(ScrollFacts, None, 300, packageName=APP, resourceId=None, **where)

    def back(self) -> "Story":
        return self._add(PressKeyFacts, None, 1_000, key="back")

    def steps(self) -> RecordedSteps:
        return build_steps(self.seen)

    def descriptions(self) -> list[str]:
        return [step.description for step in self.steps().steps]


def field_screen(*, password: bool = False) -> str:
    node = (
        f'<node index="0" text="" resource-id="{APP}:id/box" class="android.widget.EditText" package="{APP}" '
        f'content-desc="" clickable="true" enabled="true" password="{str(password).lower()}" bounds="[0,0][100,100]" />'
    )
    return f'<hierarchy rotation="0"><node class="a" package="{APP}" bounds="[0,0][200,200]">{node}</node></hierarchy>'


def test_a_recording_that_begins_with_a_window_begins_with_its_app() -> None:
    story = Story().window(APP, "Main").click("Save")
    assert story.descriptions() == [f"open {APP}", "click Save"]
    opened = story.steps().steps[0].window
    assert opened is not None
    assert (opened.package, opened.title) == (APP, "Main")


def test_a_recording_that_begins_on_the_home_screen_begins_with_home() -> None:
    assert Story().click("App", HOME).window(APP).descriptions() == ["press home", "click App"]


def test_a_recording_that_begins_with_typing_begins_with_its_app() -> None:
    begun, typed = Story().text("a", "ab").steps().steps
    assert (begun.kind, begun.package) == ("open_app", APP)
    assert (typed.kind, typed.text) == ("enter_text", "ab")


def test_texts_are_folded_to_the_last_one_of_each_field() -> None:
    box: dict[str, Any] = {
        "resourceId": f"{APP}:id/box",
        "bounds": EventBounds(0, 0, 100, 100),
        "xml": field_screen(),
    }
    story = Story().window(APP).click("", **box).window(KEYBOARD).text("4", "", "40").click("Next").text("x", "xy")
    found = story.descriptions()
    assert found[1:] == ["click box", "enter '40' into box", "click Next", "enter 'xy' into Next"]


def test_a_window_that_comes_of_a_text_means_it_was_submitted() -> None:
    steps = Story().window(APP).text("a", "ab").window(APP, "Results").steps().steps
    assert steps[-1].description == "enter 'ab' into the focused field and submit"
    assert steps[-1].window is not None
    assert "inferred" in steps[-1].note


def test_the_window_of_a_keyboard_submits_nothing() -> None:
    assert Story().window(APP).text("a").window(KEYBOARD).text("ab").descriptions()[1:] == [
        "enter 'ab' into the focused field"
    ]


def test_a_suggestion_that_fills_the_field_is_not_typing() -> None:
    story = (
        Story()
        .window(APP)
        .text("lin")
        .click("linkin park")
        .text("linkin park", after_ms=50)
        .window(APP, "Results")
    )
    assert story.descriptions()[1:] == ["enter 'lin' into the focused field", "click linkin park"]


@pytest.mark.parametrize(
    ("facts", "key"),
    [
        ({"resourceId": f"{SYSTEM}:id/back", "contentDesc": "Back"}, "back"),
        ({"resourceId": None, "contentDesc": "Home"}, "home"),
        ({"resourceId": f"{SYSTEM}:id/recent_apps", "contentDesc": "Overview"}, "recents"),
    ],
)
def test_the_keys_of_the_navigation_bar_are_pressed(facts: dict[str, Any], key: str) -> None:
    assert Story().window(APP).click("", SYSTEM, **facts).descriptions()[1:] == [f"press {key}"]


def test_a_gesture_that_was_finished_is_back_and_one_that_was_not_is_nothing() -> None:
    swiped = (
        Story().window(APP, "One").click("Two").window(APP, "Two").window(SYSTEM, className="android.view.View")
    )
    assert swiped.descriptions()[1:] == ["click Two"]
    finished = swiped.window(APP, "One").steps().steps[-1]
    assert finished.description == "press back"
    assert "inferred" in finished.note


def test_the_home_screen_that_comes_without_a_key_is_home_pressed() -> None:
    story = Story().window(APP).click("Save").window(HOME, "Recent apps", 5_000).window(HOME, "Home screen")
    assert story.descriptions()[1:] == ["click Save", "press home"]
    left = Story().window(APP).click("Exit").window(HOME, "Home screen", 100)
    assert left.descriptions()[1:] == ["click Exit", "press home"]
    assert left.steps().steps[1].next_package == HOME


def test_the_windows_of_the_launcher_itself_are_no_key() -> None:
    story = Story().click("All apps", HOME).window(HOME, "Apps").click("App", HOME).window(APP)
    assert story.descriptions() == ["press home", "click All apps", "click App"]
    assert story.window(HOME, "Home screen", 5_000).descriptions()[-1] == "press home"


def test_back_while_a_keyboard_is_up_puts_the_keyboard_away() -> None:
    typed = Story().window(APP).text("a").back().steps().steps[-1]
    assert typed.hides_keyboard
    assert not Story().window(APP).click("Save").back().steps().steps[-1].hides_keyboard


def test_scrolls_give_the_direction_to_search_for_the_next_target() -> None:
    story = Story().window(APP).scroll(500).click("Low").scroll(100).click("High").click("Beside")
    ways = [(step.scrolls, step.was_scrolled_to) for step in story.steps().steps[1:]]
    assert ways == [(("down", "up"), True), (("up", "down"), True), (("down", "up"), False)]
    assert Story().window(APP).scroll(0, x=300).click("Right").steps().steps[-1].scrolls == ("right", "left")


def test_noise_gives_no_steps() -> None:
    assert Story().window("").window(APP).window(APP).window(KEYBOARD).window("").descriptions() == [f"open {APP}"]


@pytest.mark.parametrize("text", ["••••", "•••a", "●", "•1", "***"])
def test_bullets_are_a_password(text: str) -> None:
    assert is_masked(text)
    step = Story().window(APP).text("h", text).steps().steps[-1]
    assert step.secret
    assert text not in step.description


@pytest.mark.parametrize("text", ["", "a", "a • b", "*1", "a*"])
def test_other_texts_are_not(text: str) -> None:
    assert not is_masked(text)


def test_what_is_typed_into_a_password_field_is_secret_whatever_it_looks_like() -> None:
    box: dict[str, Any] = {
        "resourceId": f"{APP}:id/box",
        "bounds": EventBounds(0, 0, 100, 100),
        "xml": field_screen(password=True),
    }
    assert Story().window(APP).click("", **box).text("plain").steps().steps[-1].secret


def test_steps_up_to_an_event_are_those_that_begin_at_or_before_it() -> None:
    plan = Story().window(APP).click("One").click("Two").click("Three").steps()
    assert [step.description for step in steps_until(plan, 2).steps] == [f"open {APP}", "click One", "click Two"]


@pytest.mark.parametrize("xml", ["<broken", "", "<hierarchy/>", "<!DOCTYPE x><hierarchy/>"])
def test_a_snapshot_that_cannot_be_read_is_as_none(xml: str) -> None:
    plan = Story().window(APP).click("Save", xml=xml).steps()
    assert plan.steps[-1].description == "click Save"
    assert any("no snapshot" in warning for warning in plan.warnings)


packages = st.sampled_from(["", APP, HOME, KEYBOARD, SYSTEM])
words = st.sampled_from(["", "a", "ab", "Save", "••", "linkin park"])
acts = st.one_of(
    st.tuples(st.just("window"), packages, words),
    st.tuples(st.just("click"), words, packages),
    st.tuples(st.just("text"), words),
    st.tuples(st.just("scroll"), st.integers(-5, 5)),
    st.tuples(st.just("back")),
)


@pytest.mark.random
@given(st.lists(acts, max_size=30))
def test_the_steps_of_any_recording_are_in_order_and_hold_every_click(acts: list[tuple[Any, ...]]) -> None:
    story = Story()
    for name, *given_ in acts:
        getattr(story, name)(*given_)
    steps = story.steps().steps
    assert [step.seq for step in steps] == sorted(step.seq for step in steps)
    assert all(step.last_seq >= step.seq for step in steps)
    clicks = {e.seq for e, _ in story.seen if isinstance(e, ClickFacts) and e.packageName != KEYBOARD}
    assert clicks <= {step.seq for step in steps}


# Apps that the recording opens


def test_apps_that_come_to_the_front_are_opened_by_the_recording() -> None:
    story = Story().window("com.android.launcher3").click("Shop", package="com.android.launcher3")
    recorded = story.window(APP, "Home").click("Pay").window("com.example.bank", "Pay").steps()
    assert recorded.opened_apps == [APP, "com.example.bank"]
    until_the_tap = steps_until(recorded, recorded.steps[1].seq)
    assert until_the_tap.opened_apps == [APP]


def test_an_app_that_was_open_before_is_not_opened_by_the_recording() -> None:
    story = Story().click("Pay", bounds=EventBounds(0, 0, 100, 50)).window("com.example.bank", "Pay")
    recorded = story.back().window(APP, "Home").steps()
    assert recorded.opened_apps == ["com.example.bank"]
    (warning,) = [warning for warning in recorded.warnings if APP in warning]
    assert "was open when the recording began" in warning
    assert "record again, from the home screen" in warning


def test_an_app_that_is_chosen_among_the_recent_ones_was_open_before() -> None:
    story = Story().window("com.android.launcher3")
    story.window("com.android.launcher3", "Recent apps", className="com.android.quickstep.RecentsActivity")
    story.click("Shop", package="com.android.launcher3").window(APP, "Cart")
    assert story.steps().opened_apps == []


@pytest.mark.parametrize("package", ["android", "com.android.systemui", "com.google.android.inputmethod.latin"])
def test_the_system_is_never_closed(package: str) -> None:
    assert package not in Story().window(APP).click("Share").window(package, "Share").steps().opened_apps
