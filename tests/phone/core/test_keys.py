"""Keys: focus, enter, volume, and keys that an app handles itself."""

from collections.abc import Callable, Iterator

import pytest

from clawperator.phone.toolkit.app import App
from clawperator.phone.toolkit.context import AppContext, Effect
from clawperator.phone.toolkit.views import View, button, column, field, text
from clawperator.testing import SimulatedPhone, simulated_phone

APP = "com.example.keys"


def log(word: str) -> Effect:
    def run(context: AppContext) -> None:
        context.state["log"] += word

    return run


def make_app() -> App:
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
    with simulated_phone(apps=[make_app()]) as phone:
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


def log_of(phone: SimulatedPhone) -> list[str]:
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
    assert log_of(phone) == ["save", "save", "SAVE"]


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
    assert log_of(phone) == ["sent"]
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
    assert log_of(phone) == ["play", "search"]
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
