"""Captures with uiautomator, and the display that shows them: retries, time, sizes and errors."""

from collections.abc import Callable

import pytest

from clawperator._base.deadline import command_timeout
from clawperator.contract.limits import MAX_EXECUTION_TIMEOUT_MS
from clawperator.device.adb.client import Device, ShellAnswer
from clawperator.device.adb.screencap import SCREENSHOT_SECONDS
from clawperator.device.backends import adb_screen
from clawperator.errors import ClawError
from tests.device.backends.scripted_shell import DEVICE, ScriptedShell, SlowShell, StillClock, connect, reply, xml

SIZE = "Physical size: 100x200\n"
NULL_ROOT = "ERROR: null root node returned by UiTestAutomationBridge.\n"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> StillClock:
    return StillClock(monkeypatch)


def refusal(call: Callable[[], object]) -> ClawError:
    with pytest.raises(ClawError) as error:
        call()
    return error.value


# Attempts


def test_a_window_without_a_root_has_time_to_get_one(clock: StillClock, monkeypatch: pytest.MonkeyPatch) -> None:
    phone = ScriptedShell(uiautomator=reply(SIZE, NULL_ROOT))
    assert "null root node" in refusal(connect(monkeypatch, phone).dump).message
    assert (len(phone.asked), clock.slept) == (3, [0.3, 0.3])


def test_a_pipe_is_tried_at_once(clock: StillClock, monkeypatch: pytest.MonkeyPatch) -> None:
    written = reply(SIZE, "UI hierchary dumped to: x\ncat: x: No such file\n", 1)
    phone = ScriptedShell(**{"| cat": reply(SIZE + xml("")), "uiautomator": written})
    assert connect(monkeypatch, phone).dump().nodes
    assert (len(phone.asked), clock.slept) == (2, [])
    assert "/proc/self/fd/1 | cat" in phone.asked[1]


@pytest.mark.parametrize(("each", "is_repeated"), [(1.0, True), (20.0, False)])
def test_only_a_fast_dump_is_repeated(
    clock: StillClock, monkeypatch: pytest.MonkeyPatch, each: float, *, is_repeated: bool
) -> None:
    phone = SlowShell(clock, each, uiautomator=reply(SIZE, NULL_ROOT))
    refusal(connect(monkeypatch, phone).dump)
    assert (len(phone.asked) > 1) is is_repeated


def test_only_a_dump_reads_the_display_again(monkeypatch: pytest.MonkeyPatch) -> None:
    phone = ScriptedShell(uiautomator=reply(SIZE + xml("")))
    driver = connect(monkeypatch, phone)
    driver.look_again()
    driver.look_again()
    driver.dump()
    assert ["dumpsys window displays" in script for script in phone.asked] == [True, False, True]
    assert driver.last_screen is not None


# Time


@pytest.mark.parametrize("each", [7.5, 30.0])
def test_a_capture_that_reaches_the_deadline_says_how_long_it_took(
    clock: StillClock, monkeypatch: pytest.MonkeyPatch, each: float
) -> None:
    driver = connect(monkeypatch, SlowShell(clock, each, uiautomator=reply(SIZE, NULL_ROOT)), seconds=7.0)
    error = refusal(driver.dump)
    assert error.code == "COMMAND_TIMEOUT"
    assert "uiautomator did not finish within 7.0 s" in error.message
    assert "within 0.0 s" in refusal(driver.dump).message


def test_another_failure_of_the_shell_is_not_a_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = connect(monkeypatch, ScriptedShell())

    def run(_: str) -> ShellAnswer:
        raise ClawError("DEVICE_OFFLINE", "gone")

    monkeypatch.setattr(driver, "_run", run)
    assert refusal(driver.dump).code == "DEVICE_OFFLINE"


def test_a_failure_before_the_deadline_is_the_cause(monkeypatch: pytest.MonkeyPatch, clock: StillClock) -> None:
    driver = connect(monkeypatch, ScriptedShell())
    answers = iter([reply(SIZE, NULL_ROOT)])

    def run(_: str) -> ShellAnswer:
        if (answer := next(answers, None)) is None:
            raise command_timeout()
        return answer

    monkeypatch.setattr(driver, "_run", run)
    error = refusal(driver.dump)
    assert ("null root node" in error.message, "did not finish" in error.message) == (True, False)
    assert clock.slept == [0.3]


@pytest.mark.parametrize(("seconds", "code"), [(-0.1, "SNAPSHOT_HIERARCHY_UNAVAILABLE"), (0.0, "COMMAND_TIMEOUT")])
def test_a_driver_without_a_limit_has_that_of_the_longest_execution(
    clock: StillClock, monkeypatch: pytest.MonkeyPatch, seconds: float, code: str
) -> None:
    driver = connect(monkeypatch, ScriptedShell(uiautomator=reply(SIZE, "ERROR: could not get idle state.\n")))
    clock.wait(MAX_EXECUTION_TIMEOUT_MS / 1000 + seconds)
    assert refusal(driver.dump).code == code


@pytest.mark.parametrize(("seconds", "limit"), [(600.0, SCREENSHOT_SECONDS), (2.0, 2.0)])
def test_a_screenshot_ends_with_the_execution(
    clock: StillClock, monkeypatch: pytest.MonkeyPatch, seconds: float, limit: float
) -> None:
    given: list[float] = []

    def capture(_: Device, *, seconds: float) -> bytes:
        given.append(seconds)
        return b"png"

    monkeypatch.setattr(adb_screen, "capture_png", capture)
    assert connect(monkeypatch, ScriptedShell(), seconds=seconds).screenshot() == b"png"
    assert given == [limit]
    assert clock.slept == []


# Errors


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (reply(SIZE, "x" * 301), f"{'x' * 299}…"),
        (reply(code=9), "uiautomator wrote nothing and exited with 9"),
        (reply(SIZE, "could not get idle state" + "x" * 300), f"could not get idle state{'x' * 275}…"),
        (reply("<?xml version='1.0'?><hierarchy rotation='0'/>"), "the hierarchy is empty"),
    ],
)
def test_a_screen_without_a_hierarchy_has_the_reason_in_one_line(
    clock: StillClock, monkeypatch: pytest.MonkeyPatch, answer: ShellAnswer, reason: str
) -> None:
    error = refusal(connect(monkeypatch, ScriptedShell(uiautomator=answer)).dump)
    assert error.code == "SNAPSHOT_HIERARCHY_UNAVAILABLE"
    assert (
        error.message.removeprefix("x returned no UI hierarchy: ").removeprefix("Physical size: 100x200 ")
        == reason
    )
    assert clock.now < 101


def test_a_long_complaint_of_another_program_is_cut(clock: StillClock, monkeypatch: pytest.MonkeyPatch) -> None:
    phone = ScriptedShell(uiautomator=reply("", "already registered" + "x" * 200))
    error = refusal(connect(monkeypatch, phone).dump)
    assert error.message == f"another program uses UI Automation on x: already registered{'x' * 181}…"
    assert len(clock.slept) == 2


# The display


def captured(monkeypatch: pytest.MonkeyPatch, screen: str, state: str = "") -> str:
    driver = connect(monkeypatch, ScriptedShell(uiautomator=reply(state + screen)))
    driver.dump()
    return str(driver.frame())


@pytest.mark.parametrize("rotation", [0, 1, 2, 3])
def test_windows_give_the_size_of_a_display_that_does_not_report_it(
    monkeypatch: pytest.MonkeyPatch, rotation: int
) -> None:
    assert captured(monkeypatch, xml("", rotation=rotation, corner="[30,10]")) == "[0,0][30,10]"


@pytest.mark.parametrize(
    ("rotation", "frame"),
    [(0, "[0,0][100,200]"), (1, "[0,0][200,100]"), (2, "[0,0][100,200]"), (3, "[0,0][200,100]")],
)
def test_a_display_is_turned_by_quarters(monkeypatch: pytest.MonkeyPatch, rotation: int, frame: str) -> None:
    assert captured(monkeypatch, xml("", rotation=rotation), SIZE) == frame


@pytest.mark.parametrize(
    ("corner", "frame"),
    [
        ("[100,150]", "[0,0][100,200]"),
        ("[90,200]", "[0,0][100,200]"),
        ("[101,150]", "[0,0][101,150]"),
        ("[90,201]", "[0,0][90,201]"),
    ],
)
def test_a_window_beyond_the_display_shows_that_it_was_unfolded(
    monkeypatch: pytest.MonkeyPatch, corner: str, frame: str
) -> None:
    assert captured(monkeypatch, xml("", corner=corner), SIZE) == frame


def display(number: int, natural: str, current: str, focus: str = "null") -> str:
    return (
        f"  Display: mDisplayId={number}\n    init={natural} 420dpi cur={current} app={current}\n"
        f"  mCurrentFocus={focus}\n"
    )


FOCUS = "Window{1 u0 com.a/com.a.B}"


@pytest.mark.parametrize(
    ("state", "frame"),
    [
        (display(0, "100x200", "100x200"), "[0,0][100,200]"),
        (display(0, "100x200", "200x100"), "[0,0][200,100]"),
        (display(0, "100x200", "200x100") + display(2, "50x70", "50x70", FOCUS), "[0,0][50,70]"),
        (display(0, "100x200", "100x200") + display(2, "50x70", "70x50", FOCUS), "[0,0][70,50]"),
        (SIZE + display(0, "300x400", "300x400", FOCUS), "[0,0][100,200]"),
        (SIZE + "mRotation=1\n", "[0,0][200,100]"),
        (SIZE + display(0, "300x400", "300x400") + display(2, "50x70", "50x70", FOCUS), "[0,0][50,70]"),
    ],
)
def test_the_frame_is_that_of_the_focused_display_as_it_is_turned(
    monkeypatch: pytest.MonkeyPatch, state: str, frame: str
) -> None:
    assert str(connect(monkeypatch, ScriptedShell(wm=reply(state))).frame()) == frame


@pytest.mark.parametrize(("named", "line"), [("mTopFocusedDisplayId=0", "input tap 5 5"), ("", "input tap 5 5")])
def test_the_first_display_is_touched_unless_another_one_is_named(
    monkeypatch: pytest.MonkeyPatch, named: str, line: str
) -> None:
    both = display(0, "100x200", "100x200", FOCUS) + display(1, "100x200", "100x200", FOCUS)
    phone = ScriptedShell(**{"wm size": reply(both), "window windows": reply(named or both)})
    assert connect(monkeypatch, phone).tap(5, 5, 0)
    assert phone.named("input") == [line]


def test_a_display_without_a_size_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    error = refusal(connect(monkeypatch, ScriptedShell()).frame)
    assert (error.code, error.message) == ("DEVICE_SHELL_UNAVAILABLE", "x does not report its display size")
    assert error.target == DEVICE.serial


def test_a_point_beyond_the_display_is_checked_once_more_after_a_capture(monkeypatch: pytest.MonkeyPatch) -> None:
    phone = ScriptedShell(uiautomator=reply(SIZE + xml("")), wm=reply("Physical size: 150x200\n"))
    driver = connect(monkeypatch, phone)
    driver.dump()
    assert driver.is_on_display((99, 199))
    assert phone.named("wm") == []
    assert driver.is_on_display((149, 0), (5, 5))
    assert not driver.is_on_display((150, 0))
    assert not driver.is_on_display((5, 5), (150, 0))
    assert len(phone.named("wm")) == 1


def test_the_size_is_not_read_again_without_a_capture(monkeypatch: pytest.MonkeyPatch) -> None:
    phone = ScriptedShell(wm=reply(SIZE))
    driver = connect(monkeypatch, phone)
    assert not driver.is_on_display((100, 0))
    assert not driver.is_on_display((0, 200))
    assert len(phone.asked) == 1


# The app in front

WINDOW = f"  mCurrentFocus={FOCUS}\n"
RESUMED = "  mResumedActivity: ActivityRecord{1 u0 com.b/.B t1}\n"


@pytest.mark.parametrize(
    ("rules", "found", "commands"),
    [
        ({"window displays": reply(WINDOW)}, "com.a", 1),
        ({"window windows": reply(WINDOW)}, "com.a", 2),
        ({"activities": reply(RESUMED)}, "com.b", 3),
        ({}, None, 3),
    ],
)
def test_the_app_in_front_is_that_of_the_first_service_that_knows_it(
    monkeypatch: pytest.MonkeyPatch, rules: dict[str, ShellAnswer], found: str | None, commands: int
) -> None:
    phone = ScriptedShell()
    phone.rules |= rules
    assert connect(monkeypatch, phone).foreground() == found
    assert len(phone.asked) == commands


def test_the_windows_name_the_app_in_front(monkeypatch: pytest.MonkeyPatch) -> None:
    phone = ScriptedShell(**{"dumpsys window": reply(WINDOW)})
    assert connect(monkeypatch, phone).windows().foreground_package == "com.a"
    assert phone.asked == ["dumpsys window"]


def test_windows_without_a_focus_are_completed(monkeypatch: pytest.MonkeyPatch) -> None:
    phone = ScriptedShell(activities=reply(RESUMED))
    assert connect(monkeypatch, phone).windows().foreground_package == "com.b"
