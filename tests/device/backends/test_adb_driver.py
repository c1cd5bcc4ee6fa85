"""The adb driver with the answers of real devices."""

from collections.abc import Callable

import pytest

from clawperator.device.adb.client import Device, Endpoint, ShellAnswer
from clawperator.device.backends import adb as adb_driver
from clawperator.device.backends.adb import AdbDriver
from clawperator.errors import ClawError
from clawperator.ui.node import Node
from clawperator.ui.parse import parse_hierarchy

IDLE = "ERROR: could not get idle state.\n"
SIZE = "Physical size: 100x200\n"


def say(out: str = "", err: str = "", code: int = 0) -> ShellAnswer:
    return ShellAnswer(code, out.encode(), err.encode())


def xml(*fields: str, rotation: int = 0) -> str:
    nodes = "".join(f'<node class="android.widget.EditText" bounds="[0,0][10,10]" {f}/>' for f in fields)
    return f"<?xml version='1.0'?><hierarchy rotation=\"{rotation}\">{nodes}</hierarchy>"


class ToldPhone:
    """Answers scripts by the first rule whose words stand in them; a rule given several answers uses them up."""

    def __init__(self, **rules: ShellAnswer | list[ShellAnswer]) -> None:
        self.rules = {words.replace("_", " "): answer for words, answer in rules.items()}
        self.asked: list[str] = []

    def shell(self, _device: Device, script: str, *, seconds: float) -> ShellAnswer:
        assert seconds > 0
        self.asked.append(script)
        for words, answer in self.rules.items():
            if words in script:
                if isinstance(answer, ShellAnswer):
                    return answer
                return answer.pop(0) if len(answer) > 1 else answer[0]
        return say()

    def named(self, words: str) -> list[str]:
        return [script for script in self.asked if words in script]


@pytest.fixture
def meet(monkeypatch: pytest.MonkeyPatch) -> Callable[[ToldPhone], AdbDriver]:
    monkeypatch.setattr(adb_driver, "_DUMP_PAUSE", 0.001)
    monkeypatch.setattr(adb_driver, "_CHECK_PAUSE", 0.001)

    def met(phone: ToldPhone) -> AdbDriver:
        monkeypatch.setattr(adb_driver, "run_shell", phone.shell)
        return AdbDriver(Device("x", Endpoint("127.0.0.1", 1)))

    return met


Meet = Callable[[ToldPhone], AdbDriver]


def refusal(call: Callable[[], object]) -> ClawError:
    with pytest.raises(ClawError) as e:
        call()
    return e.value


# The screen


def test_a_screen_that_did_not_rest_is_asked_again(meet: Meet) -> None:
    phone = ToldPhone(uiautomator=[say(SIZE, IDLE), say(SIZE + xml('text="a"'))])
    assert meet(phone).dump().nodes[0].text == "a"
    assert len(phone.asked) == 2


def test_a_dump_that_took_long_is_not_made_again(meet: Meet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adb_driver, "_DUMPS_SECONDS", -1)
    phone = ToldPhone(uiautomator=say(SIZE, IDLE))
    assert refusal(meet(phone).dump).code == "SNAPSHOT_HIERARCHY_UNAVAILABLE"
    assert len(phone.asked) == 1


def test_a_screen_that_never_rests_has_no_hierarchy(meet: Meet) -> None:
    error = refusal(meet(ToldPhone(uiautomator=say(SIZE, IDLE))).dump)
    assert error.code == "SNAPSHOT_HIERARCHY_UNAVAILABLE"
    assert "could not get idle state" in error.message


@pytest.mark.parametrize(
    "out", ["<?xml ?><hierarchy", "<?xml version='1.0'?><hierarchy rotation='0'/>", "<?xml ?><!DOCTYPE a>"]
)
def test_half_a_hierarchy_and_an_empty_one_are_none(meet: Meet, out: str) -> None:
    assert refusal(meet(ToldPhone(uiautomator=say(out))).dump).code == "SNAPSHOT_HIERARCHY_UNAVAILABLE"


def test_a_file_that_could_not_be_written_is_replaced_by_a_pipe(meet: Meet) -> None:
    written = say(SIZE, "UI hierchary dumped to: x\ncat: x: No such file\n", 1)
    phone = ToldPhone(**{"| cat": say(xml("")), "uiautomator": written})
    assert meet(phone).dump().nodes
    assert [("| cat" in script) for script in phone.asked] == [False, True]


def test_the_frame_follows_the_display_as_it_turns(meet: Meet) -> None:
    driver = meet(ToldPhone(uiautomator=[say(SIZE + xml("")), say(xml("", rotation=3))]))
    driver.dump()
    assert str(driver.frame()) == "[0,0][100,200]"
    driver.dump()
    assert str(driver.frame()) == "[0,0][200,100]"


def test_without_a_display_size_the_windows_give_it(meet: Meet) -> None:
    driver = meet(ToldPhone(uiautomator=say(xml("", rotation=1))))
    driver.dump()
    assert str(driver.frame()) == "[0,0][10,10]"
    assert refusal(meet(ToldPhone()).frame).code == "DEVICE_SHELL_UNAVAILABLE"


def test_the_app_in_front_is_asked_of_one_service_after_the_other(meet: Meet) -> None:
    phone = ToldPhone(activities=say("  mResumedActivity: ActivityRecord{1 u0 com.a/.B t1}\n"))
    driver = meet(phone)
    assert driver.foreground() == "com.a"
    assert len(phone.asked) == 3
    assert driver.windows().foreground_package == "com.a"
    assert meet(ToldPhone()).foreground() is None


# Touches


def test_a_device_that_forbids_input_gets_a_hint_to_allow_it(meet: Meet) -> None:
    told = "java.lang.SecurityException: Injecting to another application requires INJECT_EVENTS permission\n"
    driver = meet(ToldPhone(wm=say(SIZE), input=say("", told, 255)))
    error = refusal(lambda: driver.tap(1, 1, 0))
    assert error.code == "SECURITY_BLOCK_DETECTED"
    assert "Security settings" in str(error.hint)


@pytest.mark.parametrize(
    "answer", [say("Error: Invalid arguments"), say("Unknown command: tap\n"), say(code=1), say("Killed\n")]
)
def test_an_input_that_complains_was_not_taken(meet: Meet, answer: ShellAnswer) -> None:
    assert meet(ToldPhone(wm=say(SIZE), input=answer)).tap(1, 1, 0) is False


def test_a_linker_that_warns_changes_nothing(meet: Meet) -> None:
    driver = meet(ToldPhone(wm=say(SIZE), input=say("", "WARNING: linker: libx.so has text relocations\n")))
    assert driver.tap(1, 1, 0) is True


def test_a_short_touch_is_a_tap_and_a_long_one_a_swipe_that_stays(meet: Meet) -> None:
    phone = ToldPhone(wm=say(SIZE))
    driver = meet(phone)
    assert [driver.tap(3, 4, 120), driver.tap(3, 4, 650), driver.tap(100, 4, 120)] == [True, True, False]
    assert phone.named("input") == ["input tap 3 4", "input swipe 3 4 3 4 650"]


# Apps


def launch(meet: Meet, resolved: str, **rules: ShellAnswer) -> tuple[bool, list[str]]:
    phone = ToldPhone(**{"resolve-activity": say(resolved), **rules})
    return meet(phone).launch("com.a"), [script.split(" ")[0] for script in phone.asked]


def test_an_app_is_started_by_the_activity_a_launcher_would_start(meet: Meet) -> None:
    assert launch(meet, "priority=0 match=0x1\ncom.a/.Main\n") == (True, ["cmd", "am"])
    warned = say(
        "Starting: Intent { }\n", "Warning: Activity not started, its current task has been brought to the front\n"
    )
    assert launch(meet, "com.a/.Main\r\n", **{"am start": warned}) == (True, ["cmd", "am"])


@pytest.mark.parametrize(
    "resolved", ["android/com.android.internal.app.ResolverActivity", "Unknown command", "com.a/.B;reboot", ""]
)
def test_without_a_resolved_activity_monkey_starts_the_app(meet: Meet, resolved: str) -> None:
    assert launch(meet, resolved, monkey=say("Events injected: 1\n")) == (True, ["cmd", "monkey"])
    assert (
        launch(meet, resolved, monkey=say("** No activities found to run, monkey aborted.\n", code=252))[0]
        is False
    )


def test_an_app_that_cannot_be_started_is_not(meet: Meet) -> None:
    assert launch(meet, "No activity found\n") == (False, ["cmd"])
    gone = say("Starting: Intent { }\n", "Error type 3\nError: Activity class {com.a/.B} does not exist.\n")
    assert launch(meet, "com.a/.B", **{"am start": gone})[0] is False
    assert meet(ToldPhone()).launch("com.a; reboot") is False


def test_an_unhandled_link_is_detected_despite_exit_code_0(meet: Meet) -> None:
    told = say(
        "Starting: Intent { dat=http://a/error }\n", "Error: Activity not started, unable to resolve Intent { }\n"
    )
    assert meet(ToldPhone(**{"am start": told})).view("http://a") is False
    assert (
        meet(ToldPhone(**{"am start": say("Starting: Intent { dat=http://a/exception }\n")})).view("http://a")
        is True
    )


# Text


def focused(text: str) -> Node:
    return parse_hierarchy(xml(f'focused="true" text="{text}"')).nodes[0]


def shows(text: str) -> ShellAnswer:
    return say(SIZE + xml(f'focused="true" text="{text}"'))


def test_a_character_that_cannot_be_typed_is_reported_with_a_hint(meet: Meet) -> None:
    npe = say("", "Exception occurred while executing 'text':\njava.lang.NullPointerException\n", 255)
    error = refusal(lambda: meet(ToldPhone(input=npe)).set_text(focused(""), "é"))
    assert error.code == "TEXT_NOT_ACCEPTED"
    assert "ASCII" in error.message
    assert "Operator" in str(error.hint)


def test_a_field_that_took_something_else_is_cleared_round_the_cursor_and_typed_once_more(meet: Meet) -> None:
    phone = ToldPhone(uiautomator=[shows("newd"), shows("newd"), shows("new")])
    assert meet(phone).set_text(focused("old"), "new") is True
    first, second = phone.named("input")
    assert first == "input keyevent 123 67 67 67 && input text new"
    assert second == "input keyevent 123 67 67 67 67 112 112 112 112 && input text new"


def test_a_field_that_never_holds_the_text_did_not_take_it(meet: Meet) -> None:
    phone = ToldPhone(uiautomator=shows("ne"))
    assert refusal(lambda: meet(phone).set_text(focused(""), "new")).code == "TEXT_NOT_ACCEPTED"
    assert len(phone.named("input")) == 2


def test_a_field_that_was_just_emptied_is_not_emptied_again(meet: Meet) -> None:
    phone, node = ToldPhone(uiautomator=shows("new")), focused("old")
    driver = meet(phone)
    assert driver.set_text(node, "") is True
    assert driver.set_text(node, "new") is True
    assert phone.named("input") == ["input keyevent 123 67 67 67", "input text new"]


def test_a_field_that_gets_no_focus_is_not_typed_into(meet: Meet) -> None:
    phone = ToldPhone(uiautomator=say(SIZE + xml('text="a"')))
    driver = meet(phone)
    assert driver.set_text(driver.dump().nodes[0], "new") is False
    assert phone.named("input") == ["input tap 5 5"]
