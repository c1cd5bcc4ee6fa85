"""The adb driver with the answers of real devices."""

from collections.abc import Callable

import pytest

from clawperator._base.deadline import command_timeout
from clawperator.device.adb.client import Device, Endpoint, ShellAnswer
from clawperator.device.backends import adb_screen
from clawperator.device.backends.adb import AdbDriver
from clawperator.errors import ClawError
from clawperator.ui.node import Node
from clawperator.ui.parse import parse_hierarchy
from tests.device.backends.scripted_shell import ScriptedShell, reply, xml

IDLE = "ERROR: could not get idle state.\n"
NULL_ROOT = "ERROR: null root node returned by UiTestAutomationBridge.\n"
SIZE = "Physical size: 100x200\n"


@pytest.fixture
def connect_driver(monkeypatch: pytest.MonkeyPatch) -> Callable[[ScriptedShell], AdbDriver]:
    monkeypatch.setattr(adb_screen, "_DUMP_PAUSE", 0.001)

    def connect(phone: ScriptedShell) -> AdbDriver:
        monkeypatch.setattr(adb_screen, "run_shell", phone.shell)
        return AdbDriver(Device("x", Endpoint("127.0.0.1", 1)))

    return connect


ConnectDriver = Callable[[ScriptedShell], AdbDriver]


def refusal(call: Callable[[], object]) -> ClawError:
    with pytest.raises(ClawError) as e:
        call()
    return e.value


# The screen


def test_a_window_without_a_root_is_asked_again(connect_driver: ConnectDriver) -> None:
    phone = ScriptedShell(uiautomator=[reply(SIZE, NULL_ROOT), reply(SIZE + xml('text="a"'))])
    assert connect_driver(phone).dump().nodes[0].text == "a"
    assert len(phone.asked) == 2


def test_a_dump_that_took_long_is_not_made_again(
    connect_driver: ConnectDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adb_screen, "_DUMPS_SECONDS", -1)
    phone = ScriptedShell(uiautomator=reply(SIZE, NULL_ROOT))
    assert refusal(connect_driver(phone).dump).code == "SNAPSHOT_HIERARCHY_UNAVAILABLE"
    assert len(phone.asked) == 1


@pytest.mark.parametrize("answer", [reply(SIZE, IDLE), reply(SIZE + IDLE)])
def test_a_screen_that_never_becomes_idle_is_asked_once(
    connect_driver: ConnectDriver, answer: ShellAnswer
) -> None:
    phone = ScriptedShell(uiautomator=answer)
    error = refusal(connect_driver(phone).dump)
    assert error.code == "SNAPSHOT_HIERARCHY_UNAVAILABLE"
    assert "could not get idle state" in error.message
    assert "idle" in error.hint
    assert len(phone.asked) == 1


@pytest.mark.parametrize(
    "printed",
    [
        "Killed\n",
        "java.lang.IllegalStateException: UiAutomationService a.b$Stub$Proxy@939892already registered!\n\tat a.B\n",
    ],
)
def test_another_program_that_uses_ui_automation_is_named(connect_driver: ConnectDriver, printed: str) -> None:
    phone = ScriptedShell(uiautomator=reply(SIZE, printed, 137))
    error = refusal(connect_driver(phone).dump)
    assert error.code == "UI_AUTOMATION_BUSY"
    assert "io.appium.uiautomator2.server" in error.hint
    assert "com.github.uiautomator" in error.hint
    assert len(phone.asked) == 3
    freed = ScriptedShell(uiautomator=[reply(SIZE, printed, 137), reply(SIZE + xml('text="a"'))])
    assert connect_driver(freed).dump().nodes


def test_a_failure_before_the_time_was_over_is_kept(
    connect_driver: ConnectDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = connect_driver(ScriptedShell())
    answers = iter([reply(SIZE, NULL_ROOT)])

    def run(_: str) -> ShellAnswer:
        answer = next(answers, None)
        if answer is None:
            raise command_timeout()
        return answer

    monkeypatch.setattr(driver, "_run", run)
    error = refusal(driver.dump)
    assert error.code == "COMMAND_TIMEOUT"
    assert "null root node" in error.message


@pytest.mark.parametrize(
    "out", ["<?xml ?><hierarchy", "<?xml version='1.0'?><hierarchy rotation='0'/>", "<?xml ?><!DOCTYPE a>"]
)
def test_half_a_hierarchy_and_an_empty_one_are_none(connect_driver: ConnectDriver, out: str) -> None:
    assert (
        refusal(connect_driver(ScriptedShell(uiautomator=reply(out))).dump).code
        == "SNAPSHOT_HIERARCHY_UNAVAILABLE"
    )


def test_a_file_that_could_not_be_written_is_replaced_by_a_pipe(connect_driver: ConnectDriver) -> None:
    written = reply(SIZE, "UI hierchary dumped to: x\ncat: x: No such file\n", 1)
    phone = ScriptedShell(**{"| cat": reply(xml("")), "uiautomator": written})
    assert connect_driver(phone).dump().nodes
    assert [("| cat" in script) for script in phone.asked] == [False, True]


def test_the_frame_follows_the_display_as_it_turns(connect_driver: ConnectDriver) -> None:
    driver = connect_driver(ScriptedShell(uiautomator=[reply(SIZE + xml("")), reply(xml("", rotation=3))]))
    driver.dump()
    assert str(driver.frame()) == "[0,0][100,200]"
    driver.dump()
    assert str(driver.frame()) == "[0,0][200,100]"


def test_without_a_display_size_the_windows_give_it(connect_driver: ConnectDriver) -> None:
    driver = connect_driver(ScriptedShell(uiautomator=reply(xml("", rotation=1))))
    driver.dump()
    assert str(driver.frame()) == "[0,0][10,10]"
    assert refusal(connect_driver(ScriptedShell()).frame).code == "DEVICE_SHELL_UNAVAILABLE"


def test_the_app_in_front_is_asked_of_one_service_after_the_other(connect_driver: ConnectDriver) -> None:
    phone = ScriptedShell(activities=reply("  mResumedActivity: ActivityRecord{1 u0 com.a/.B t1}\n"))
    driver = connect_driver(phone)
    assert driver.foreground() == "com.a"
    assert len(phone.asked) == 3
    assert driver.windows().foreground_package == "com.a"
    assert connect_driver(ScriptedShell()).foreground() is None


# Touches


def test_a_device_that_forbids_input_gets_a_hint_to_allow_it(connect_driver: ConnectDriver) -> None:
    answer = "java.lang.SecurityException: Injecting to another application requires INJECT_EVENTS permission\n"
    driver = connect_driver(ScriptedShell(wm=reply(SIZE), input=reply("", answer, 255)))
    error = refusal(lambda: driver.tap(1, 1, 0))
    assert error.code == "SECURITY_BLOCK_DETECTED"
    assert "Security settings" in str(error.hint)


@pytest.mark.parametrize(
    "answer",
    [reply("Error: Invalid arguments"), reply("Unknown command: tap\n"), reply(code=1), reply("Killed\n")],
)
def test_an_input_that_complains_was_not_taken(connect_driver: ConnectDriver, answer: ShellAnswer) -> None:
    assert connect_driver(ScriptedShell(wm=reply(SIZE), input=answer)).tap(1, 1, 0) is False


def test_a_linker_that_warns_changes_nothing(connect_driver: ConnectDriver) -> None:
    driver = connect_driver(
        ScriptedShell(wm=reply(SIZE), input=reply("", "WARNING: linker: libx.so has text relocations\n"))
    )
    assert driver.tap(1, 1, 0) is True


def test_a_short_touch_is_a_tap_and_a_long_one_a_swipe_that_stays(connect_driver: ConnectDriver) -> None:
    phone = ScriptedShell(wm=reply(SIZE))
    driver = connect_driver(phone)
    assert [driver.tap(3, 4, 120), driver.tap(3, 4, 650), driver.tap(100, 4, 120)] == [True, True, False]
    assert phone.named("input") == ["input tap 3 4", "input swipe 3 4 3 4 650"]


# Apps


def launch(connect_driver: ConnectDriver, resolved: str, **rules: ShellAnswer) -> tuple[bool, list[str]]:
    phone = ScriptedShell(**{"resolve-activity": reply(resolved), **rules})
    return connect_driver(phone).launch("com.a"), [script.split(" ")[0] for script in phone.asked]


def test_an_app_is_started_by_the_activity_a_launcher_would_start(connect_driver: ConnectDriver) -> None:
    assert launch(connect_driver, "priority=0 match=0x1\ncom.a/.Main\n") == (True, ["cmd", "am"])
    warned = reply(
        "Starting: Intent { }\n", "Warning: Activity not started, its current task has been brought to the front\n"
    )
    assert launch(connect_driver, "com.a/.Main\r\n", **{"am start": warned}) == (True, ["cmd", "am"])


@pytest.mark.parametrize(
    "resolved", ["android/com.android.internal.app.ResolverActivity", "Unknown command", "com.a/.B;reboot", ""]
)
def test_without_a_resolved_activity_monkey_starts_the_app(connect_driver: ConnectDriver, resolved: str) -> None:
    started = launch(connect_driver, resolved, monkey=reply("Events injected: 1\n"))
    assert (started[0], started[1][:2]) == (True, ["cmd", "monkey"])
    assert (
        launch(
            connect_driver, resolved, monkey=reply("** No activities found to run, monkey aborted.\n", code=252)
        )[0]
        is False
    )


def test_an_app_that_cannot_be_started_is_not(connect_driver: ConnectDriver) -> None:
    assert launch(connect_driver, "No activity found\n") == (False, ["cmd", "cmd"])
    gone = reply("Starting: Intent { }\n", "Error type 3\nError: Activity class {com.a/.B} does not exist.\n")
    assert launch(connect_driver, "com.a/.B", **{"am start": gone})[0] is False
    assert connect_driver(ScriptedShell()).launch("com.a; reboot") is False


def test_an_unhandled_link_is_detected_despite_exit_code_0(connect_driver: ConnectDriver) -> None:
    answer = reply(
        "Starting: Intent { dat=http://a/error }\n", "Error: Activity not started, unable to resolve Intent { }\n"
    )
    assert connect_driver(ScriptedShell(**{"am start": answer})).view("http://a") is False
    assert (
        connect_driver(ScriptedShell(**{"am start": reply("Starting: Intent { dat=http://a/exception }\n")})).view(
            "http://a"
        )
        is True
    )


# Text


def focused(text: str) -> Node:
    return parse_hierarchy(xml(f'focused="true" text="{text}"')).nodes[0]


def shows(text: str) -> ShellAnswer:
    return reply(SIZE + xml(f'focused="true" text="{text}"'))


def test_a_character_that_cannot_be_typed_is_reported_with_a_hint(connect_driver: ConnectDriver) -> None:
    npe = reply("", "Exception occurred while executing 'text':\njava.lang.NullPointerException\n", 255)
    error = refusal(lambda: connect_driver(ScriptedShell(input=npe)).set_text(focused(""), "é"))
    assert error.code == "TEXT_NOT_ACCEPTED"
    assert "ASCII" in error.message
    assert "Operator" in str(error.hint)


def test_a_text_that_a_field_changes_is_typed_once(connect_driver: ConnectDriver) -> None:
    phone = ScriptedShell(uiautomator=shows("ne"))
    error = refusal(lambda: connect_driver(phone).set_text(focused("old"), "new"))
    assert (error.code, error.after_effect) == ("TEXT_NOT_ACCEPTED", True)
    assert phone.named("input") == ["input keyevent 123 67 67 67 && input text new"]


def test_a_field_that_gets_no_focus_is_not_typed_into(connect_driver: ConnectDriver) -> None:
    phone = ScriptedShell(uiautomator=reply(SIZE + xml('text="a"')))
    driver = connect_driver(phone)
    assert driver.set_text(driver.dump().nodes[0], "new") is False
    assert phone.named("input") == ["input tap 5 5"]
