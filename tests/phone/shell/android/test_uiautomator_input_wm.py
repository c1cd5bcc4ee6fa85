"""input, uiautomator, screencap and wm."""

import io
import struct
import threading
from collections.abc import Iterator

import pytest

from clawperator.phone.core.phone import Phone
from clawperator.phone.shell.language.interpreter import run_script
from clawperator.phone.shell.process import INTERRUPTED
from clawperator.phone.toolkit.app import App, go
from clawperator.phone.toolkit.context import AppContext
from clawperator.phone.toolkit.views import View, button, column, field, item, listing, row, text
from clawperator.ui.parse import parse_hierarchy
from tests.phone.screen import find, found
from tests.phone.shell.scripts import output, run, run_bytes

APP = "com.example.pad"


def pad() -> App:
    app = App(APP, "Pad", state={"draft": "", "held": 0})

    @app.screen("home")
    def home(context: AppContext) -> View:
        held = View(
            class_name="android.widget.Button", text=f"Held {context.state['held']}", on_long_click=hold, height=60
        )
        return column(
            field("draft", id="draft"), button("Next", go("next"), id="next"), held, row(row(text("two\nlines")))
        )

    def hold(context: AppContext) -> None:
        context.state["held"] += 1

    @app.screen("next")
    def following(_: AppContext) -> View:
        return column(listing(*(item(f"Row {i}", "") for i in range(60)), id="list"))

    return app


@pytest.fixture
def phone() -> Iterator[Phone]:
    phone = Phone(apps=[pad()])
    phone.launch(APP)
    yield phone
    phone.close()


def place(phone: Phone, **attributes: str) -> str:
    x, y = find(phone, **attributes).bounds.centre
    return f"{x} {y}"


# Touching


@pytest.mark.parametrize("command", ["input tap", "input touchscreen tap", "cmd input tap", "input -d 0 tap"])
def test_a_tap_reaches_the_view_at_its_position(phone: Phone, command: str) -> None:
    assert output(phone, f"{command} {place(phone, text='Next')}") == ""
    assert phone.tasks.front.top.screen.name == "next"


def test_coordinates_may_be_fractions(phone: Phone) -> None:
    x, y = place(phone, text="Next").split()
    output(phone, f"input tap {x}.7 {y}.2")
    assert phone.tasks.front.top.screen.name == "next"


def test_a_swipe_scrolls_and_takes_its_time(phone: Phone) -> None:
    output(phone, f"input tap {place(phone, text='Next')}")
    began = phone.clock.monotonic()
    output(phone, "input swipe 500 1800 500 600 700")
    assert phone.clock.monotonic() - began == pytest.approx(0.7)
    assert find(phone, id="list").children[0].children[0].text != "Row 0"


def test_a_swipe_without_movement_is_a_long_press(phone: Phone) -> None:
    spot = place(phone, text="Held 0")
    output(phone, f"input swipe {spot} {spot} 1000")
    assert find(phone, text="Held 1")


def test_a_drag_is_a_long_press_where_the_view_accepts_one_and_a_scroll_elsewhere(phone: Phone) -> None:
    output(phone, f"input draganddrop {place(phone, text='Held 0')} 500 1500")
    assert find(phone, text="Held 1")
    output(phone, f"input tap {place(phone, text='Next')}")
    before = phone.windows.xml()
    output(phone, "input draganddrop 500 1800 500 900 300")
    assert phone.windows.xml() != before


def test_touch_down_and_up_may_be_separate_commands(phone: Phone) -> None:
    spot = place(phone, text="Held 0")
    output(phone, f"input motionevent DOWN {spot}; sleep 1; input motionevent UP {spot}")
    assert find(phone, text="Held 1")
    output(phone, f"input motionevent DOWN {spot}; sleep 1; input motionevent CANCEL; input motionevent UP {spot}")
    assert find(phone, text="Held 1")
    output(phone, f"input tap {place(phone, text='Next')}")
    before = phone.windows.xml()
    output(phone, "input motionevent DOWN 500 1800; input motionevent MOVE 500 1200; input motionevent UP 500 900")
    assert phone.windows.xml() != before


def test_text_is_typed_with_percent_s_for_a_space(phone: Phone) -> None:
    output(phone, f"input tap {place(phone, id='draft')}")
    output(phone, "input text 'one%stwo 3$'")
    assert find(phone, id="draft").text == "one two 3$"


def test_only_the_first_word_is_typed(phone: Phone) -> None:
    output(phone, f"input tap {place(phone, id='draft')}; input text one two")
    assert find(phone, id="draft").text == "one"


def test_any_language_can_be_typed(phone: Phone) -> None:
    output(phone, f"input tap {place(phone, id='draft')}; input text 'für 漢字 🙂'")
    assert find(phone, id="draft").text == "für 漢字 🙂"


def test_keys_have_names_and_numbers(phone: Phone) -> None:
    output(phone, f"input tap {place(phone, id='draft')}; input text ab; input keyevent DEL 29 KEYCODE_C")
    assert find(phone, id="draft").text == "aac"
    output(phone, "input keyevent --longpress KEYCODE_HOME")
    assert phone.foreground() != APP


def test_an_unknown_key_does_nothing(phone: Phone) -> None:
    before = phone.windows.xml()
    assert output(phone, "input keyevent NONSENSE 99999") == ""
    assert phone.windows.xml() == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("tap", 'Argument expected after "tap"'),
        ("tap 5", 'Argument expected after "5"'),
        ("tap a b", "Invalid arguments for command: tap"),
        ("tap nan inf", "Invalid arguments for command: tap"),
        ("swipe 1 2 3 4 x", 'For input string: "x"'),
        ("motionevent HOVER 1 2", "Unknown action: HOVER"),
        ("keyevent", 'Argument expected after "keyevent"'),
        ("text", 'Argument expected after "text"'),
        ("roll 1", 'Argument expected after "1"'),
    ],
)
def test_invalid_arguments_of_input_are_an_exception(phone: Phone, arguments: str, words: str) -> None:
    result = run(phone, f"input {arguments}")
    assert result.code == 255
    assert result.err.startswith(
        f"\nException occurred while executing '{arguments.split(maxsplit=1)[0]}':\njava.lang."
    )
    assert words in result.err


def test_input_prints_its_usage(phone: Phone) -> None:
    assert output(phone, "input").startswith("Usage: input [<source>] [-d DISPLAY_ID] <command> [<arg>...]\n")
    assert output(phone, "input dance") == "Unknown command: dance\n"


def test_a_long_swipe_ends_when_it_is_cancelled(phone: Phone) -> None:
    cancelled = threading.Event()
    cancelled.set()
    nothing = io.BytesIO()
    code = run_script(
        "input swipe 1 1 1 900 60000",
        phone=phone,
        stdin=nothing,
        stdout=nothing,
        stderr=nothing,
        cancelled=cancelled,
    )
    assert code == INTERRUPTED


# Looking


def test_a_dump_goes_to_the_default_file(phone: Phone) -> None:
    assert output(phone, "uiautomator dump") == "UI hierchary dumped to: /sdcard/window_dump.xml\n"
    written = phone.storage.read("/sdcard/window_dump.xml").decode()
    assert written.startswith(
        "<?xml version='1.0' encoding='UTF-8' standalone='yes' ?><hierarchy rotation=\"0\"><node "
    )
    assert "\n" not in written
    assert parse_hierarchy(written).has_same_content(phone.windows.hierarchy())


def test_a_dump_goes_to_the_given_file(phone: Phone) -> None:
    result = output(
        phone, "rm -f /data/local/tmp/uidump.xml; uiautomator dump /data/local/tmp/uidump.xml && echo success"
    )
    assert result == "UI hierchary dumped to: /data/local/tmp/uidump.xml\nsuccess\n"
    assert phone.storage.exists("/data/local/tmp/uidump.xml")


@pytest.mark.parametrize("stream", ["/dev/tty", "/dev/stdout"])
def test_a_dump_to_the_terminal_prints_the_xml_first(phone: Phone, stream: str) -> None:
    result = output(phone, f"uiautomator dump {stream}")
    xml, label, rest = result.partition("UI hierchary dumped to: ")
    assert (label, rest) == ("UI hierchary dumped to: ", f"{stream}\n")
    assert xml.endswith("</hierarchy>")
    assert 'text="two&#10;lines"' in xml


def test_a_compressed_dump_omits_plain_containers(phone: Phone) -> None:
    def dumped(options: str) -> list[str]:
        xml = output(phone, f"uiautomator dump {options} /dev/tty").rpartition("UI hierchary")[0]
        return [node.label for node in parse_hierarchy(xml).nodes]

    whole, small = dumped(""), dumped("--compressed")
    assert len(small) < len(whole)
    assert [label for label in small if label] == [label for label in whole if label]


def test_a_dump_of_windows_has_the_bars_and_the_keyboard(phone: Phone) -> None:
    from xml.etree import ElementTree as ET

    output(phone, f"input tap {place(phone, id='draft')}")
    xml = output(phone, "uiautomator dump --windows /dev/tty").rpartition("UI hierchary")[0]
    windows = ET.fromstring(xml).findall("display/window")
    assert [window.get("active") for window in windows] == ["false", "false", "true"]
    packages = [window.find("hierarchy/node") for window in windows]
    assert [node.get("package") for node in packages if node is not None][0::2] == ["com.android.systemui", APP]


def test_services_are_suspended_while_a_slow_dump_runs(phone: Phone) -> None:
    phone.set_fault("slow_dump", 2_000)
    suspended: list[bool] = []
    phone.timers.later(1, lambda: suspended.append(bool(phone._suspended)))
    began = phone.clock.monotonic()
    output(phone, "uiautomator dump")
    assert phone.clock.monotonic() - began == pytest.approx(2, abs=0.1)
    assert suspended == [True]
    assert not phone._suspended


def test_a_dump_may_show_the_screen_before_the_last_change(phone: Phone) -> None:
    before = phone.windows.xml()
    phone.set_fault("stale_tree", 1)
    output(phone, f"input tap {place(phone, text='Next')}")
    phone.windows.hierarchy()
    xml = output(phone, "uiautomator dump /dev/tty").rpartition("UI hierchary")[0]
    assert parse_hierarchy(xml).has_same_content(parse_hierarchy(before))


def test_a_dump_that_cannot_be_written_is_reported_only_in_the_log(phone: Phone) -> None:
    phone.set_fault("storage_full", "on")
    assert output(phone, "uiautomator dump") == "UI hierchary dumped to: /sdcard/window_dump.xml\n"
    assert not phone.storage.exists("/sdcard/window_dump.xml")
    assert any("failed to dump window to file" in entry.message for entry in phone.log.read())


def test_tests_and_events_are_refused(phone: Phone) -> None:
    assert run(phone, "uiautomator runtest a.jar").code == 1
    assert run(phone, "uiautomator").out.startswith("Usage: uiautomator <subcommand> [options]\n")


def test_a_screenshot_is_a_png_of_the_display(phone: Phone) -> None:
    code, picture, _ = run_bytes(phone, "screencap -p")
    assert code == 0
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", picture[16:24]) == (1080, 2400)
    output(phone, "screencap /sdcard/shot.png; screencap -p -d 0 /sdcard/other")
    assert phone.storage.read("/sdcard/shot.png") == phone.storage.read("/sdcard/other") == picture


def test_a_raw_screenshot_has_a_header_and_four_bytes_a_pixel(phone: Phone) -> None:
    output(phone, "wm size 300x400")
    _, picture, _ = run_bytes(phone, "screencap")
    assert struct.unpack("<IIII", picture[:16]) == (300, 400, 1, 1)
    assert len(picture) == 16 + 4 * 300 * 400


def test_a_screenshot_of_an_unknown_display_or_to_a_bad_path_fails(phone: Phone) -> None:
    assert run(phone, "screencap -p -d 7") == (1, "", "Display Id '7' is not valid.\n")
    assert run(phone, "screencap -p /system/x.png").code == 1
    assert run(phone, "screencap -z").code == 1


# The display


def test_size_and_density_are_printed_and_overridden(phone: Phone) -> None:
    assert output(phone, "wm size") == "Physical size: 1080x2400\n"
    assert output(phone, "wm size 720x1280; wm size") == "Physical size: 1080x2400\nOverride size: 720x1280\n"
    assert find(phone, id="next").bounds.right <= 720
    assert output(phone, "wm size reset; cmd window size") == "Physical size: 1080x2400\n"
    assert output(phone, "wm density 320; wm density") == "Physical density: 420\nOverride density: 320\n"
    assert output(phone, "wm density reset; wm density") == "Physical density: 420\n"


def test_a_size_may_be_given_in_dp(phone: Phone) -> None:
    assert "Override size: 1050x2100\n" in output(phone, "wm size 400dpx800dp; wm size")


@pytest.mark.parametrize(
    "arguments", ["size 1", "size x", "size 5x5", "size 99999x99999", "size axb", "density 10", "density x"]
)
def test_an_invalid_display_is_refused(phone: Phone, arguments: str) -> None:
    assert run(phone, f"wm {arguments}").code == 255
    assert output(phone, "wm size; wm density") == "Physical size: 1080x2400\nPhysical density: 420\n"


def test_the_rotation_is_locked_and_freed(phone: Phone) -> None:
    assert output(phone, "wm user-rotation") == "lock 0\n"
    assert output(phone, "wm user-rotation lock 1; wm user-rotation") == "lock 1\n"
    assert (phone.windows.display.width, phone.windows.display.height) == (2400, 1080)
    assert output(phone, "wm user-rotation free; wm user-rotation") == "free\n"
    assert phone.windows.display.rotation == 0
    assert run(phone, "wm user-rotation lock 9").code == 255
    assert run(phone, "wm user-rotation sideways").code == 255


def test_fixing_the_rotation_is_stored(phone: Phone) -> None:
    assert output(
        phone, "wm fixed-to-user-rotation; wm set-fix-to-user-rotation enabled; wm fixed-to-user-rotation"
    ) == ("default\nenabled\n")


def test_a_setting_rotates_the_display(phone: Phone) -> None:
    output(phone, "settings put system accelerometer_rotation 0; settings put system user_rotation 3")
    assert phone.windows.display.rotation == 3
    assert "orientation=3," in output(phone, "dumpsys display")


def test_automatic_rotation_turns_the_display_upright(phone: Phone) -> None:
    output(phone, "settings put system user_rotation 1")
    assert phone.windows.display.rotation == 1
    output(phone, "settings put system accelerometer_rotation 1")
    assert phone.windows.display.rotation == 0
    output(phone, "settings put system user_rotation 3")
    assert phone.windows.display.rotation == 0


def test_the_keyboard_is_dumped_while_it_is_shown(phone: Phone) -> None:
    assert "mInputShown=false" in output(phone, "dumpsys input_method")
    output(phone, f"input tap {place(phone, id='draft')}")
    assert "mInputShown=true" in output(phone, "dumpsys input_method")
    assert "mInputMethodTarget=Window{" in output(phone, "dumpsys window")


def test_sleep_and_wakeup_are_dumped_by_power_and_window(phone: Phone) -> None:
    assert "mHoldingDisplaySuspendBlocker=true" in output(phone, "dumpsys power")
    output(phone, "input keyevent 223")
    asleep = output(phone, "dumpsys power")
    assert "mWakefulness=Asleep" in asleep
    assert "Display Power: state=OFF" in asleep
    assert "mHoldingDisplaySuspendBlocker=true" not in asleep
    output(phone, "cmd power wakeup")
    assert "mWakefulness=Awake" in output(phone, "dumpsys power")
    output(phone, "cmd power sleep; wm dismiss-keyguard")
    assert "screenState=SCREEN_STATE_ON" in output(phone, "dumpsys window policy")


def test_a_dump_omits_nodes_that_are_scrolled_away(phone: Phone) -> None:
    phone.launch("com.android.settings")
    assert found(phone, text="About phone"), "accessibility knows it"
    assert 'text="About phone"' not in output(phone, "uiautomator dump /dev/tty")
    assert 'text="Display"' in output(phone, "uiautomator dump /dev/tty")
