"""Touch, keys and text input."""

from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.phone.toolkit.app import App, go
from clawperator.phone.toolkit.context import AppContext, Effect
from clawperator.phone.toolkit.views import (
    View,
    button,
    column,
    field,
    item,
    listing,
    scroll,
    switch,
    text,
)
from clawperator.testing import SimulatedPhone, simulated_phone


def make_app() -> App:
    app = App("com.example.touch", "Touch", state={"said": "", "pin": "", "secret": "", "on": False, "log": ""})

    def log(word: str) -> Effect:
        def run(context: AppContext) -> None:
            context.state["log"] += word

        return run

    @app.screen("home")
    def home(context: AppContext) -> View:
        return column(
            text(f"log:{context.state['log']}", id="log"),
            field("said", hint="Say", id="said"),
            field("pin", hint="PIN", id="pin", edits="number"),
            field("secret", hint="Secret", id="secret", edits="password"),
            switch("on", id="on", on_change=lambda context, value: log(f"[{value}]")(context)),
            button("Plain", log("p")),
            button("Off", log("x"), enabled=False),
            button("Both", log("b"), on_long_click=log("B")),
            button("Ask", go("ask")),
            button("Zoom", log("z"), on_double_tap=log("Z")),
            text("Parcel", drag_name="parcel"),
            text("Box", on_drop=lambda context, name: log(f"<{name}>")(context)),
            text("Wall", on_drop=lambda context, _: log("wall")(context), enabled=False),
            listing(*(item(f"Row {i}", on_click=log(str(i))) for i in range(30)), id="rows"),
        )

    @app.dialog("ask", title="Sure?")
    def ask(_: AppContext) -> View:
        return column(text("Sure?"), button("Yes", lambda context: context.back()))

    @app.screen("nested")
    def nested(_: AppContext) -> View:
        inner = listing(*(text(f"inner {i}", height=60) for i in range(10)), height=200, weight=0, id="inner")
        return scroll(inner, *(text(f"outer {i}", height=80) for i in range(40)), id="outer")

    return app


@pytest.fixture
def touch() -> Iterator[SimulatedPhone]:
    with simulated_phone(apps=[make_app()]) as phone:
        phone.open_app("com.example.touch")
        yield phone


def log_of(phone: SimulatedPhone) -> str:
    node = phone.find(id="com.example.touch:id/log")
    assert node is not None
    return node.text.removeprefix("log:")


def test_a_tap_emits_its_event_before_the_handler_runs(touch: SimulatedPhone) -> None:
    touch.person.tap("Plain")
    assert log_of(touch) == "p"
    event = touch.events[-1]
    assert (event.kind, event.text, event.package) == ("view_clicked", "Plain", "com.example.touch")


def test_a_disabled_button_accepts_no_tap_and_emits_no_event(touch: SimulatedPhone) -> None:
    before = len(touch.events)
    touch.person.tap("Off")
    assert log_of(touch) == ""
    assert len(touch.events) == before


def test_a_long_press_is_a_tap_for_views_without_a_long_click_handler(touch: SimulatedPhone) -> None:
    touch.person.press_long("Both")
    touch.person.press_long("Plain")
    assert log_of(touch) == "Bp"


def point(phone: SimulatedPhone, label: str) -> str:
    node = phone.find(label)
    assert node is not None
    return "{} {}".format(*node.bounds.centre)


def test_two_taps_within_300_ms_are_a_double_tap(touch: SimulatedPhone) -> None:
    tap = f"input tap {point(touch, 'Zoom')}"
    touch.shell_script(f"{tap}; {tap}")
    assert log_of(touch) == "zZ"
    touch.shell_script(f"{tap}; sleep 0.31; {tap}")
    assert log_of(touch) == "zZzz"
    touch.sleep(1)
    touch.shell_script(f"{tap}; input tap {point(touch, 'Plain')}; {tap}")
    assert log_of(touch) == "zZzzzpz"


def test_a_view_without_a_double_tap_handler_gets_two_clicks(touch: SimulatedPhone) -> None:
    tap = f"input tap {point(touch, 'Plain')}"
    touch.shell_script(f"{tap}; {tap}")
    assert log_of(touch) == "pp"


def test_a_swipe_that_stays_in_place_is_a_long_press(touch: SimulatedPhone) -> None:
    at = point(touch, "Both")
    touch.shell_script(f"input swipe {at} {at} 800")
    touch.shell_script(f"input swipe {at} {at} 100")
    assert log_of(touch) == "Bb"


def test_a_dragged_view_is_dropped_where_it_is_accepted(touch: SimulatedPhone) -> None:
    parcel, box, wall = (point(touch, name) for name in ("Parcel", "Box", "Wall"))
    touch.shell_script(f"input draganddrop {parcel} {wall} 300")
    touch.shell_script(f"input draganddrop {box} {parcel} 300")
    touch.shell_script(f"input swipe {parcel} {box} 300")
    assert log_of(touch) == ""
    touch.shell_script(f"input draganddrop {parcel} {box} 300")
    assert log_of(touch) == "<parcel>"
    touch.fault("dropped_tap", 1)
    touch.shell_script(f"input draganddrop {parcel} {box} 300")
    assert log_of(touch) == "<parcel>"


def test_a_switch_toggles_and_calls_on_change(touch: SimulatedPhone) -> None:
    touch.person.tap(id="com.example.touch:id/on")
    node = touch.find(id="com.example.touch:id/on")
    assert node is not None
    assert node.flag("checked")
    assert log_of(touch) == "[true]"


def test_a_tap_beside_a_dialog_closes_it(touch: SimulatedPhone) -> None:
    touch.person.tap("Ask")
    assert touch.shows("Yes")
    touch.phone.tap(540, 200)
    assert not touch.shows("Yes")
    assert touch.shows("Plain")


def test_a_dialog_is_all_that_can_be_seen_and_touched(touch: SimulatedPhone) -> None:
    touch.person.tap("Ask")
    assert not touch.shows("Plain")
    assert touch.events[-1].title == "Sure?"


def test_typing_needs_a_field_with_the_focus(touch: SimulatedPhone) -> None:
    touch.phone.type_text("lost")
    assert not [e for e in touch.events if e.kind == "view_text_changed"]
    touch.person.tap("Say")
    touch.person.type("Hi, 5 Cats!")
    assert [e.text for e in touch.events if e.kind == "view_text_changed"][:3] == ["H", "Hi", "Hi,"]
    assert touch.shows("Hi, 5 Cats!")


def test_a_number_field_shows_the_number_pad(touch: SimulatedPhone) -> None:
    touch.person.tap("PIN")
    touch.person.type("40")
    touch.person.delete()
    assert touch.shows("4", id="com.example.touch:id/pin")
    keyboard = touch.phone.windows.keyboard()
    assert keyboard is not None
    assert "q" not in [node.text for node in keyboard.nodes]


def test_text_typed_into_a_password_field_is_masked_in_events(touch: SimulatedPhone) -> None:
    touch.person.tap("Secret")
    touch.person.type("hunter")
    assert "hunter" not in touch.xml()
    texts = [e.text for e in touch.events if e.kind == "view_text_changed"]
    assert texts == ["•" * n for n in range(1, 7)]
    assert touch.phone.tasks.front.process.state["secret"] == "hunter"


def test_back_hides_the_keyboard_before_it_leaves_the_screen(touch: SimulatedPhone) -> None:
    touch.person.tap("Say")
    assert touch.phone.windows.keyboard() is not None
    touch.person.back()
    assert touch.phone.windows.keyboard() is None
    assert touch.foreground() == "com.example.touch"
    touch.person.back()
    assert touch.foreground() == "com.android.launcher3"


def test_the_keyboard_moves_the_screen_up_so_that_its_end_can_be_reached(touch: SimulatedPhone) -> None:
    touch.person.tap("Say")
    top = touch.phone.windows.display.keyboard.top
    assert all(node.bounds.bottom <= top for node in touch.hierarchy().nodes[1:])


def test_a_drag_scrolls_the_list_and_its_event_has_the_maximum(touch: SimulatedPhone) -> None:
    touch.phone.swipe((540, 2000), (540, 1700))
    event = touch.events[-1]
    assert event.kind == "view_scrolled"
    assert event.scroll is not None
    assert event.scroll[1] == 300
    assert event.scroll[3] > 300
    before = len(touch.events)
    touch.phone.swipe((540, 1700), (540, 2200))
    touch.phone.swipe((540, 1700), (540, 2200))
    assert len(touch.events) == before + 1, "a list at its top does not move and emits no event"


def test_an_inner_list_at_its_end_passes_the_drag_to_the_outer_one(touch: SimulatedPhone) -> None:
    app = touch.phone.packages.app("com.example.touch")
    touch.phone.tasks.open(touch.phone.tasks.ensure_process(app), "nested", {})
    for _ in range(6):
        touch.phone.swipe((540, 500), (540, 250))
    moved = {tuple(e.scroll or ())[3] for e in touch.events if e.kind == "view_scrolled"}
    assert len(moved) == 2


def test_text_is_inserted_at_the_cursor(touch: SimulatedPhone) -> None:
    touch.person.tap("Say")
    touch.phone.type_text("ac")
    for word in ("KEYCODE_DPAD_LEFT", "B", "KEYCODE_MOVE_HOME", "FORWARD_DEL", "MOVE_END", "DEL"):
        assert touch.shell_script(f"input keyevent {word}").code == 0
    assert touch.phone.tasks.front.process.state["said"] == "b"


def test_a_sleeping_phone_ignores_touches(touch: SimulatedPhone) -> None:
    touch.phone.key(223)
    touch.person.tap("Plain")
    assert log_of(touch) == ""
    touch.phone.key(224)
    touch.person.tap("Plain")
    assert log_of(touch) == "p"


@pytest.mark.random
@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=40))
def test_any_text_typed_arrives_unchanged(words: str) -> None:
    with simulated_phone(apps=[make_app()]) as phone:
        phone.open_app("com.example.touch")
        phone.person.tap("Say")
        phone.phone.type_text(words)
        assert phone.phone.tasks.front.process.state["said"] == words
        assert [e.text for e in phone.events if e.kind == "view_text_changed"][-1] == words


def test_touches_outside_the_display_do_nothing(touch: SimulatedPhone) -> None:
    for point in ((-1, 5), (540, -1), (1080, 500), (540, 2400), (10**9, 10**9)):
        touch.phone.tap(*point)
    assert log_of(touch) == ""


# Keys

APP = "com.example.keys"


def log(word: str) -> Effect:
    def run(context: AppContext) -> None:
        context.state["log"] += word

    return run


def make_key_app() -> App:
    app = App(APP, "Keys", state={"log": "", "first": "", "second": "", "story": ""})

    @app.screen("home", keys={"MEDIA_PLAY_PAUSE": log("play "), "SEARCH": log("search "), "HOME": log("never ")})
    def home(context: AppContext) -> View:
        return column(
            text(f"log:{context.state['log']}", id="log"),
            field("first", hint="First", id="first", on_submit=log("sent ")),
            field("second", hint="Second", id="second"),
            field("story", hint="Story", id="story", multiline=True),
            button("Off", log("off "), enabled=False),
            button("Save", log("save "), on_long_click=log("SAVE ")),
        )

    return app


@pytest.fixture
def phone() -> Iterator[SimulatedPhone]:
    with simulated_phone(apps=[make_key_app()]) as phone:
        phone.open_app(APP)
        yield phone


Press = Callable[..., None]


@pytest.fixture
def press(phone: SimulatedPhone) -> Press:
    def run(*words: str) -> None:
        assert phone.shell_script(f"input keyevent {' '.join(words)}").code == 0

    return run


def focused(phone: SimulatedPhone) -> list[str]:
    return [node.label for node in phone.hierarchy().nodes if node.flag("focused")]


def key_log_of(phone: SimulatedPhone) -> list[str]:
    node = phone.find(id=f"{APP}:id/log")
    assert node is not None
    return node.text.removeprefix("log:").split()


def state(phone: SimulatedPhone) -> dict[str, str]:
    process = phone.phone.process_of(APP)
    assert process is not None
    return process.state


def test_tab_goes_from_view_to_view_and_around(phone: SimulatedPhone, press: Press) -> None:
    seen = []
    for _ in range(5):
        press("KEYCODE_TAB")
        seen += focused(phone)
    assert seen == ["First", "Second", "Story", "Save", "First"]


def test_the_pad_goes_up_and_down_and_stops_at_the_ends(phone: SimulatedPhone, press: Press) -> None:
    press("20", "20", "20", "20", "20", "20")
    assert focused(phone) == ["Save"]
    press("19")
    assert focused(phone) == ["Story"]
    press("DPAD_UP", "DPAD_UP", "DPAD_UP")
    assert focused(phone) == ["First"]


def test_the_centre_of_the_pad_and_enter_click_the_focused_view(phone: SimulatedPhone, press: Press) -> None:
    press("DPAD_UP")
    press("DPAD_CENTER")
    press("ENTER")
    press("--longpress", "DPAD_CENTER")
    assert key_log_of(phone) == ["save", "save", "SAVE"]


def test_a_touch_takes_the_focus_from_a_button_and_leaves_it_to_a_field(
    phone: SimulatedPhone, press: Press
) -> None:
    press("DPAD_UP")
    assert focused(phone) == ["Save"]
    phone.person.tap("Save")
    assert focused(phone) == []
    phone.person.tap("First")
    phone.shell_script("input tap 5 5")
    assert focused(phone) == ["First"]


def test_typed_text_goes_to_the_field_that_tab_reached(phone: SimulatedPhone) -> None:
    phone.person.tap("First")
    phone.shell_script("input text one; input keyevent TAB; input text two")
    assert (state(phone)["first"], state(phone)["second"]) == ("one", "two")


def test_enter_submits_a_single_line_and_breaks_the_line_of_others(phone: SimulatedPhone, press: Press) -> None:
    phone.person.tap("First")
    press("66")
    assert key_log_of(phone) == ["sent"]
    assert phone.phone.windows.keyboard() is None
    press("TAB", "TAB")
    phone.shell_script("input text a; input keyevent 66; input text b")
    assert state(phone)["story"] == "a\nb"


def test_editing_keys_move_and_delete(phone: SimulatedPhone, press: Press) -> None:
    phone.person.tap("First")
    phone.shell_script("input text abcd")
    press("DEL")
    press("MOVE_HOME", "FORWARD_DEL", "DPAD_RIGHT", "112")
    assert state(phone)["first"] == "b"
    press("122")
    phone.shell_script("input text x; input keyevent MOVE_END; input text y")
    assert state(phone)["first"] == "xby"


def test_a_screen_handles_its_keys_but_not_those_of_the_system(phone: SimulatedPhone, press: Press) -> None:
    press("85", "KEYCODE_SEARCH", "MEDIA_NEXT")
    assert key_log_of(phone) == ["play", "search"]
    press("HOME")
    assert phone.foreground() != APP
    assert "never" not in state(phone)["log"]


def test_volume_keys_change_the_media_volume_within_its_range(phone: SimulatedPhone, press: Press) -> None:
    def volume() -> str:
        return phone.shell_script("settings get system volume_music_speaker").text.strip()

    press("VOLUME_UP", "24")
    assert volume() == "7"
    press("VOLUME_MUTE")
    assert volume() == "0"
    press("164")
    assert volume() == "7"
    press("VOLUME_MUTE", "VOLUME_DOWN")
    assert volume() == "6"
    press(*["VOLUME_DOWN"] * 20)
    assert volume() == "0"
    press(*["VOLUME_UP"] * 20)
    assert phone.shell_script("cmd media_session volume --stream 3 --get").text.splitlines()[-1] == (
        "[V] volume is 15 in range [0..15]"
    )
    assert phone.shell_script("cmd media_session volume --stream 3 --set 99").code == 255


def test_power_sleep_and_wakeup_switch_the_screen(phone: SimulatedPhone, press: Press) -> None:
    seen = []
    for key in ("POWER", "POWER", "SLEEP", "SLEEP", "WAKEUP", "26", "MENU"):
        press(key)
        seen.append(phone.phone.windows.awake)
    assert seen == [False, True, False, False, True, False, True]
