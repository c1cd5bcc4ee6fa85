"""Screenshots of devices that print more than a picture, or have several panels."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from clawperator.device.adb import screencap
from clawperator.device.adb.client import Device, Endpoint, ShellAnswer
from clawperator.device.adb.screencap import capture_png
from clawperator.errors import ClawError
from tests.support.command_doubles import CommandDoubles, Reply, double_server
from tests.support.ordinary_phone import display_state, focus_line, ordinary_phone, png

WARNING = (
    "[Warning] Multiple displays were found, but no display id was specified! Defaulting to the first display "
    "found, however this default is not guaranteed to be consistent across captures. A display id should be "
    'specified.\nSee "dumpsys SurfaceFlinger --display-id" for valid display IDs.\n'
)
INNER, OUTER = "4619827259835644672", "4619827551948147201"
PANELS = "".join(
    f'Display {panel} (HWC display {number}): port={number} pnpId=GGL displayName=""\n'
    for number, panel in enumerate((INNER, OUTER))
)
DEFAULT, CHOSEN = png(2, 2), png(3, 4)


def viewports(*panels: tuple[int, str, bool]) -> str:
    made = ", ".join(
        f"DisplayViewport{{type=INTERNAL, valid=true, isActive={str(on).lower()}, displayId={display}, "
        f"uniqueId='local:{panel}', physicalPort=0, orientation=0}}"
        for display, panel, on in panels
    )
    return f"  mViewports=[{made}]\n"


@pytest.fixture
def phone(tmp_path: Path) -> Iterator[tuple[CommandDoubles, Device]]:
    doubles = ordinary_phone(tmp_path / "d")
    with double_server(doubles) as device:
        yield doubles, device


Phone = tuple[CommandDoubles, Device]


def refusal(device: Device) -> ClawError:
    with pytest.raises(ClawError) as caught:
        capture_png(device)
    return caught.value


def test_one_request_takes_the_picture(phone: Phone) -> None:
    doubles, device = phone
    assert capture_png(device) == png()
    assert doubles.calls("screencap") == [["screencap", "-p"]]


@pytest.mark.parametrize(
    "reply",
    [
        Reply(png(), "WARNING: linker: unused DT entry\n"),
        Reply(b"Failed to create //.cache for shader cache (Read-only file system)---disabling.\r\n" + png()),
        Reply(png() + b"\r\n"),
        Reply(png(), WARNING),
        Reply(WARNING.encode() + png()),
    ],
)
def test_text_around_the_picture_is_left_out(phone: Phone, reply: Reply) -> None:
    doubles, device = phone
    doubles.answer("screencap", reply)
    assert capture_png(device) == png()


def foldable(doubles: CommandDoubles, default: Reply, state: str) -> None:
    doubles.answer("screencap", default, when="-p")
    doubles.answer("screencap", Reply(CHOSEN), when="-p -d *")
    doubles.answer("dumpsys", PANELS, when="SurfaceFlinger --display-id")
    doubles.answer("dumpsys", state, when="display")


@pytest.mark.parametrize("default", [Reply(DEFAULT), Reply(DEFAULT, WARNING), Reply(WARNING)])
@pytest.mark.parametrize(
    "state", [viewports((0, OUTER, True), (1, INNER, False)), viewports((0, INNER, False), (1, OUTER, True))]
)
def test_the_panel_that_is_on_is_taken(phone: Phone, default: Reply, state: str) -> None:
    doubles, device = phone
    foldable(doubles, default, state)
    assert capture_png(device) == CHOSEN
    assert doubles.calls("screencap")[-1] == ["screencap", "-p", "-d", OUTER]


def test_the_panel_of_the_focused_display_is_taken(phone: Phone) -> None:
    doubles, device = phone
    foldable(doubles, Reply(DEFAULT), viewports((0, INNER, True), (2, OUTER, True)))
    other = display_state("  mCurrentFocus=null\n") + display_state(focus_line("com.a/com.a.B"), number=2)
    doubles.answer("dumpsys", other, when="window*")
    assert capture_png(device) == CHOSEN
    assert doubles.calls("screencap")[-1] == ["screencap", "-p", "-d", OUTER]


@pytest.mark.parametrize("state", ["", viewports((0, "99", True))])
def test_the_first_panel_is_taken_when_none_can_be_chosen(phone: Phone, state: str) -> None:
    doubles, device = phone
    foldable(doubles, Reply(DEFAULT), state)
    assert capture_png(device) == DEFAULT
    assert doubles.calls("screencap") == [["screencap", "-p"]]


def test_the_first_panel_is_taken_when_the_chosen_one_has_no_picture(phone: Phone) -> None:
    doubles, device = phone
    foldable(doubles, Reply(DEFAULT), viewports((0, OUTER, True)))
    doubles.answer("screencap", Reply(stderr="Invalid display id\n", code=1), when="-p -d *")
    assert capture_png(device) == DEFAULT


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(), "returned no screenshot"),
        (Reply(stderr="Failed to take screenshot. Status: -1\n", code=1), "Status: -1"),
        (Reply("screencap: permission denied\n", code=1), "permission denied"),
        (Reply(png()[:-6]), "returned no screenshot"),
    ],
)
def test_a_missing_picture_is_reported_with_what_the_device_said(phone: Phone, reply: Reply, reason: str) -> None:
    doubles, device = phone
    doubles.answer("screencap", reply)
    error = refusal(device)
    assert error.code == "DEVICE_SHELL_UNAVAILABLE"
    assert reason in error.message
    assert "forbid" in error.hint
    assert "HWC" not in error.message


class Shell:
    """The commands of a device, answered in order, each after some time."""

    def __init__(self, *answers: ShellAnswer | ClawError, seconds: float = 0.0) -> None:
        self._answers = list(answers)
        self._seconds = seconds
        self.now = 1_000.0
        self.calls: list[tuple[str, float, int]] = []

    def run(self, _: Device, script: str, *, seconds: float, max_bytes: int) -> ShellAnswer:
        self.calls.append((script, seconds, max_bytes))
        self.now += self._seconds
        answer = self._answers.pop(0)
        if isinstance(answer, ClawError):
            raise answer
        return answer

    def capture(self, monkeypatch: pytest.MonkeyPatch) -> bytes:
        monkeypatch.setattr(time, "monotonic", lambda: self.now)
        monkeypatch.setattr(screencap, "run_shell", self.run)
        return capture_png(Device("pixel", Endpoint("127.0.0.1", 1)))


def answer(stdout: bytes = b"", stderr: bytes = b"") -> ShellAnswer:
    return ShellAnswer(0, stdout, stderr)


def listing(panels: str, picture: bytes) -> ShellAnswer:
    return answer(f"{panels}panels listed\n".encode() + picture)


FIRST = "dumpsys SurfaceFlinger --display-id; echo 'panels listed'; screencap -p"
MIB_64 = 67_108_864


def test_the_commands_of_a_screenshot_share_one_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = Shell(
        listing(PANELS, DEFAULT),
        answer(),
        answer(viewports((0, OUTER, True)).encode()),
        answer(CHOSEN),
        seconds=12.0,
    )
    assert shell.capture(monkeypatch) == CHOSEN
    scripts, times, _ = zip(*shell.calls, strict=True)
    assert scripts == (FIRST, "dumpsys window", "dumpsys display", f"screencap -p -d {OUTER}")
    assert [times[0] - each for each in times[1:3]] == [12.0, 24.0]
    assert 0 < times[3] < times[2]


@pytest.mark.parametrize(
    ("first", "commands"),
    [
        (listing(PANELS.splitlines(keepends=True)[0], DEFAULT), 1),
        (listing("", DEFAULT), 1),
        (answer(b"Multiple displays\npanels listed\n" + DEFAULT), 1),  # not what screencap printed
        (listing("", b"Multiple displays" + DEFAULT), 4),
        (answer(DEFAULT, b"Multiple displays"), 4),
        (listing(PANELS, DEFAULT), 4),
    ],
)
def test_a_panel_is_chosen_where_there_are_several(
    first: ShellAnswer, commands: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = Shell(first, answer(), answer(viewports((0, OUTER, True)).encode()), answer(CHOSEN))
    assert shell.capture(monkeypatch) == (CHOSEN if commands > 1 else DEFAULT)
    assert len(shell.calls) == commands


def test_the_first_display_counts_where_the_focus_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    both = display_state(focus_line("com.a/com.a.B")) + display_state(focus_line("com.b/com.b.B"), number=1)
    state = viewports((1, INNER, True), (0, OUTER, True))
    shell = Shell(listing(PANELS, DEFAULT), answer(both.encode()), answer(state.encode()), answer(CHOSEN))
    shell.capture(monkeypatch)
    assert shell.calls[-1][0] == f"screencap -p -d {OUTER}"


def test_the_first_picture_is_used_when_the_device_fails_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = ClawError("DEVICE_OFFLINE", "offline")
    assert Shell(listing(PANELS, DEFAULT), gone).capture(monkeypatch) == DEFAULT
    with pytest.raises(ClawError, match="offline"):
        Shell(listing(PANELS, b""), gone).capture(monkeypatch)


def test_a_picture_ends_at_its_last_end_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    start, end = b"\x89PNG\r\n\x1a\n", b"IEND\xaeB`\x82"
    assert Shell(listing("", start + end + b"\n")).capture(monkeypatch) == start + end
    assert Shell(listing("", start + end + end + b"\n")).capture(monkeypatch) == start + end + end


@pytest.mark.parametrize(
    ("first", "reason"),
    [
        (listing("", b"a" + b"b" * 4_096), ": " + "b" * 299 + "…"),
        (listing("", b"  no\nscreen \n"), ": no screen"),
        (answer(b"panels listed\nout", b"err\n"), ": err"),
        (answer(b"panels listed\nout", b" \n"), ": out"),
        (listing("", b""), ""),
    ],
)
def test_the_reason_of_a_missing_picture_is_one_line(
    first: ShellAnswer, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ClawError) as error:
        Shell(first).capture(monkeypatch)
    assert error.value.message == f"pixel returned no screenshot{reason}"
    assert error.value.details == {"command": "screencap"}
