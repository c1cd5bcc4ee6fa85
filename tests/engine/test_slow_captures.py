"""A driver whose captures take seconds: few of them, and the true cause when the time is over."""

from typing import Any

import pytest

from clawperator.engine.clock import VirtualClock
from clawperator.engine.retry import NOT_IDLE
from clawperator.engine.scripted import ScriptedDriver, node
from clawperator.errors import ClawError
from clawperator.ui.node import Hierarchy, Node
from tests.engine.scripted_plans import run, step

EDIT = "android.widget.EditText"


class SlowDriver(ScriptedDriver):
    """Each capture takes ``seconds``. ``typed`` is what the field makes of a text."""

    slow_captures = True

    def __init__(self, seconds: float, *roots: Node, **answers: Any) -> None:
        super().__init__(VirtualClock(), *roots, **answers)
        self.seconds = seconds

    def dump(self) -> Hierarchy:
        self.clock.sleep(self.seconds)
        return super().dump()

    def look_again(self) -> Hierarchy:
        self.clock.sleep(self.seconds)
        answer: Hierarchy = self._answer("look_again", default=None) or self.screen
        return answer

    @property
    def captures(self) -> int:
        return len(self.named("dump")) + len(self.named("look_again"))

    def type_keys(self, field: Node, text: str, *, append: bool) -> bool:
        return bool(self._answer("append_keys" if append else "type_keys", field, text))

    def field_after(self, field: Node, screen: Hierarchy) -> Node | None:
        return next((each for each in screen.nodes if each.resource_id == field.resource_id), None)

    def has_text(self, field: Node, text: str) -> bool:
        return field.text == text


def button(seconds: float = 2.5) -> SlowDriver:
    return SlowDriver(seconds, node("OK", clickable="true", id="b"))


# Looks


def test_a_click_looks_once_before_and_once_after() -> None:
    phone = button()
    phone.answers["tap"] = lambda *_: phone.show(node("Done"))
    data = step(phone, "click", matcher={"resourceId": "b"}).data
    assert (data["effect"], data["settled_ms"]) == ("changed", "2500")
    assert [call[0] for call in phone.calls if call[0] != "frame"] == ["dump", "tap", "look_again"]


def test_a_screen_that_looks_the_same_is_unknown() -> None:
    phone = button()
    assert step(phone, "click", matcher={"resourceId": "b"}).data["effect"] == "unknown"
    assert phone.captures == 2


def test_two_captures_that_agree_make_it_unchanged() -> None:
    phone = button()
    assert step(phone, "click", matcher={"resourceId": "b"}, settle=True).data["effect"] == "unchanged"
    assert phone.captures == 3


def test_a_screen_that_goes_on_changing_is_captured_for_the_time_of_three_captures() -> None:
    phone = button(4)
    count = iter(range(10_000))
    phone.answers["look_again"] = lambda: Hierarchy({}, [n := node(f"{next(count)}")], [n])
    data = step(phone, "click", matcher={"resourceId": "b"}, settle=True).data
    assert data["effect"] == "changed"
    assert len(phone.named("look_again")) == 4


def test_a_key_is_sent_without_a_capture() -> None:
    phone = button()
    data = step(phone, "press_key", key="back").data
    assert (data["effect"], phone.captures, phone.clock.monotonic()) == ("unknown", 0, 0)


def test_a_key_is_compared_with_the_last_capture_of_the_execution() -> None:
    phone = button()
    phone.answers["key"] = lambda *_: phone.show(node("Home"))
    first = ("read_text", {"matcher": {"resourceId": "b"}})
    _, pressed, again = run(
        phone, first, ("press_key", {"key": "home"}), ("press_key", {"key": "home"})
    ).stepResults
    assert (pressed.data["effect"], again.data["effect"]) == ("changed", "unknown")


def test_captures_of_an_earlier_execution_do_not_count() -> None:
    phone = button()
    step(phone, "read_text", matcher={"resourceId": "b"})
    phone.show(node("Home"))
    assert step(phone, "press_key", key="home").data["effect"] == "unknown"


def test_a_look_that_would_not_end_in_time_is_left_out() -> None:
    phone = button(6)
    done = step(phone, "click", timeout_ms=10_000, matcher={"resourceId": "b"})
    assert (done.success, done.data["effect"], phone.captures) == (True, "unknown", 1)


# Retries and waits


@pytest.mark.parametrize(("seconds", "captures"), [(0.01, 5), (2.5, 3), (8, 2)])
def test_the_time_of_captures_counts_as_part_of_the_delays(seconds: float, captures: int) -> None:
    phone = button(seconds)
    assert step(phone, "click", matcher={"textEquals": "Svae"}).data["error"] == "NODE_NOT_FOUND"
    assert phone.captures == captures


def test_no_attempt_begins_that_cannot_end_in_time() -> None:
    phone = button(6)
    failed = step(phone, "click", timeout_ms=10_000, matcher={"textEquals": "Svae"})
    assert (failed.data["error"], phone.captures) == ("NODE_NOT_FOUND", 1)


def test_a_capture_that_is_cut_off_keeps_what_was_being_retried() -> None:
    phone = button(1)
    attempts = iter((1, 2))

    def dump() -> Hierarchy:
        if next(attempts) == 1:
            return phone.screen
        raise ClawError("COMMAND_TIMEOUT", "cut", details={"last_error": "SNAPSHOT_HIERARCHY_UNAVAILABLE"})

    phone.answers["dump"] = dump
    failed = step(phone, "click", matcher={"textEquals": "Svae"})
    assert (failed.data["error"], failed.data["last_error"]) == ("COMMAND_TIMEOUT", "NODE_NOT_FOUND")


@pytest.mark.parametrize(
    ("kind", "params", "code"),
    [
        ("wait_until_gone", {"matcher": {"textEquals": "OK"}}, "WAIT_TIMEOUT"),
        ("wait_for_node", {"matcher": {"textEquals": "Svae"}}, "NODE_NOT_FOUND"),
    ],
)
def test_a_wait_ends_with_its_condition_when_no_capture_fits(kind: str, params: dict[str, Any], code: str) -> None:
    phone = button(6)
    failed = step(phone, kind, timeout_ms=10_000, timeoutMs=9_000, **params)
    assert (failed.data["error"], phone.captures) == (code, 1)


def not_idle() -> ClawError:
    return ClawError("SNAPSHOT_HIERARCHY_UNAVAILABLE", "not idle", details={"reason": NOT_IDLE})


def test_a_screen_that_is_not_idle_is_captured_once() -> None:
    phone = button(10)
    phone.answers["dump"] = not_idle()
    failed = step(phone, "snapshot_ui")
    assert (failed.data["error"], failed.data["reason"]) == ("SNAPSHOT_HIERARCHY_UNAVAILABLE", "not_idle")
    assert phone.captures == 1


def test_any_other_failed_capture_is_repeated() -> None:
    phone = button(1)
    phone.answers["dump"] = ClawError("SNAPSHOT_HIERARCHY_UNAVAILABLE", "null root")
    assert step(phone, "snapshot_ui").data["error"] == "SNAPSHOT_HIERARCHY_UNAVAILABLE"
    assert phone.captures > 1


@pytest.mark.parametrize(
    ("kind", "params", "method", "times"),
    [
        ("open_app", {"applicationId": "com.nope"}, "launch", 1),
        ("open_uri", {"uri": "https://example.com"}, "view", 1),
        ("click", {"matcher": {"resourceId": "b"}}, "tap", 5),
    ],
)
def test_what_the_device_answers_from_its_lists_is_asked_once(
    kind: str, params: dict[str, Any], method: str, times: int
) -> None:
    phone = button(0.01)
    phone.answers[method] = False
    assert not step(phone, kind, **params).success
    assert len(phone.named(method)) == times


def test_an_app_that_the_device_does_not_start_now_is_started_later() -> None:
    phone = button()
    attempts = iter((1, 2))

    def launch(_: str) -> bool:
        if next(attempts) == 1:
            raise ClawError("APP_NOT_STARTED", "kept")
        return True

    phone.answers["launch"] = launch
    assert step(phone, "open_app", applicationId="com.a").success
    phone.answers["launch"] = ClawError("APP_NOT_STARTED", "kept")
    failed = step(phone, "open_app", applicationId="com.a")
    assert (failed.data["error"], "dispatched" in failed.data) == ("APP_NOT_STARTED", False)


# Text


def form(text: str = "", *others: Node, **attributes: str) -> SlowDriver:
    edit = node(text, id="f", cls=EDIT, **attributes)
    return SlowDriver(2.5, node("", edit, *others, id="root"))


def types(phone: SlowDriver, shown: str, **attributes: str) -> None:
    """The field makes this of what is typed."""
    phone.answers["type_keys"] = lambda *_: phone.show(node(shown, id="f", cls=EDIT, focused="true", **attributes))


def enter(phone: SlowDriver, text: str = "hello", **params: Any) -> dict[str, str]:
    return step(phone, "enter_text", matcher={"resourceId": "f"}, text=text, **params).data


def test_a_focused_field_is_typed_into_and_checked() -> None:
    phone = form(focused="true")
    types(phone, "hello")
    data = enter(phone)
    assert (data["text"], data["effect"], data["dispatch_method"]) == ("hello", "changed", "set_text")
    assert [call[0] for call in phone.calls if call[0] != "frame"] == ["dump", "type_keys", "look_again"]


def test_a_field_without_the_focus_is_tapped_first() -> None:
    phone = form()
    types(phone, "hello")
    enter(phone)
    assert [call[0] for call in phone.calls if call[0] != "frame"] == ["dump", "tap", "type_keys", "look_again"]


def test_another_focused_field_must_have_lost_the_focus() -> None:
    phone = form("", node("keep", id="g", cls=EDIT, focused="true", bounds="[0,100][9,200]"))
    failed = enter(phone)
    assert (failed["error"], phone.named("type_keys")) == ("TEXT_NOT_ACCEPTED", [])
    assert len(phone.named("tap")) == 1
    phone.answers["tap"] = lambda *_: phone.show(node("", id="f", cls=EDIT, focused="true"))
    types(phone, "hello")
    assert enter(phone)["effect"] == "changed"


def test_a_node_that_opens_a_field_is_followed_to_it() -> None:
    phone = SlowDriver(2.5, node("Search", id="f", clickable="true"))
    phone.answers["tap"] = lambda *_: phone.show(node("", id="f", cls=EDIT, focused="true"))
    types(phone, "hello")
    assert enter(phone)["text"] == "hello"


@pytest.mark.parametrize("shown", ["Hello", "hel", "", "hello "])
def test_a_field_that_changes_what_is_typed_is_noticed_and_typed_into_once(shown: str) -> None:
    phone = form(focused="true")
    types(phone, shown)
    failed = enter(phone, submit=True)
    assert (failed["error"], failed["field_text"], failed["dispatched"]) == ("TEXT_NOT_ACCEPTED", shown, "true")
    assert f"'{shown.strip()}'" in failed["message"]
    assert (len(phone.named("type_keys")), phone.named("submit"), phone.captures) == (1, [], 2)


def test_what_a_password_field_has_is_not_shown() -> None:
    phone = form(focused="true", password="true")
    types(phone, "Hunter2", password="true")
    failed = enter(phone, "hunter2")
    assert failed["error"] == "TEXT_NOT_ACCEPTED"
    assert "unter2" not in str(failed)


def test_a_field_that_is_gone_cannot_be_checked() -> None:
    phone = form(focused="true")
    phone.answers["type_keys"] = lambda *_: phone.show(node("Welcome"))
    failed = enter(phone)
    assert (failed["error"], "gone" in failed["message"]) == ("TEXT_NOT_ACCEPTED", True)


def test_a_screen_that_cannot_be_read_after_typing_is_named() -> None:
    phone = form(focused="true")
    phone.answers["look_again"] = not_idle()
    failed = enter(phone)
    assert (failed["error"], failed["dispatched"]) == ("SNAPSHOT_HIERARCHY_UNAVAILABLE", "true")
    assert failed["message"].startswith("the text was typed, but the field was not checked")


def test_a_refused_text_is_not_typed_again() -> None:
    phone = form(focused="true")
    phone.answers["type_keys"] = ClawError("TEXT_NOT_ACCEPTED", "no key")
    assert enter(phone)["message"] == "no key"
    assert len(phone.named("type_keys")) == 1


def test_a_field_is_cleared_and_submitted() -> None:
    phone = form("old", focused="true")
    types(phone, "")
    done = step(phone, "enter_text", matcher={"resourceId": "f"}, text="", clear=True)
    assert (done.success, phone.named("type_keys")) == (True, [("f", "")])
    types(phone, "hello")
    assert enter(phone, submit=True)["dispatch_method"] == "set_text+submit"
    assert phone.named("submit") == [("f",)]


def test_submitting_with_settle_looks_at_what_came_of_it() -> None:
    phone = form(focused="true")
    types(phone, "hello")
    phone.answers["submit"] = lambda *_: phone.show(node("Results"))
    assert enter(phone, submit=True, settle=True)["effect"] == "changed"
    assert phone.captures == 1 + 2 + 2
