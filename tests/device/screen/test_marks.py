"""References drawn on screenshots."""

from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageChops, ImageDraw, ImageFont

from clawperator.contract.execution import Plan, new_execution, validate
from clawperator.contract.results import ResultEnvelope, StepResult
from clawperator.device.adb.client import Device, Endpoint
from clawperator.device.run.references import References
from clawperator.device.run.run import run_plan
from clawperator.device.screen.marks import draw_marks, plan_with_captures
from clawperator.errors import ClawError
from clawperator.policy.gate import approve
from clawperator.ui.node import HIDDEN, Bounds
from clawperator.ui.outline import OutlineElement
from tests.device.screen.test_snapshot_views import xml
from tests.ui.test_refs import page, rows
from tests.ui.trees import hierarchy, node

DEVICE = Device("claw-1", Endpoint("127.0.0.1", 1, simulated=True))
WIDTH, HEIGHT = 500, 1_000  # half the size of the frame of ``page``
WHITE, GREY = (255, 255, 255), (0x9E, 0x9E, 0x9E)


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path / "home"))


class PictureBackend:
    """Answers snapshots with a screen and screenshots with a white picture that has one black pixel."""

    def __init__(self, screen: str, *, picture: bool = True, capture: bool = True) -> None:
        self._screen = screen
        self._picture = picture
        self._capture = capture
        self.types: list[str] = []

    def run(self, plan: Plan) -> ResultEnvelope:
        self.types = [action.type for action in plan.execution.actions]
        steps = [
            self._step(action["id"], action["type"], action.get("params", {}))
            for action in plan.document["actions"]
        ]
        return ResultEnvelope("c", "t", "success" if all(s.success for s in steps) else "failed", steps, None)

    def _step(self, name: str, kind: str, params: dict[str, Any]) -> StepResult:
        if kind == "snapshot_ui":
            data = {"text": self._screen} if self._capture else {"error": "SERVICE_UNAVAILABLE", "message": "off"}
            return StepResult(name, kind, self._capture, data)
        if kind != "take_screenshot":
            return StepResult(name, kind, True, {})
        if not self._picture:
            return StepResult(name, kind, False, {"error": "DEVICE_SHELL_UNAVAILABLE"})
        picture = Image.new("RGB", (WIDTH, HEIGHT), "white")
        picture.putpixel((0, HEIGHT - 1), (0, 0, 0))
        picture.save(params["path"])
        return StepResult(name, kind, True, {"path": params["path"]})


def marked(backend: PictureBackend, path: Path, *before: dict[str, Any]) -> ResultEnvelope:
    shot = {"id": "shot", "type": "take_screenshot", "params": {"path": str(path), "marks": True}}
    plan = validate(new_execution([*before, shot], command_id="c", source="test", timeout_ms=5_000))
    return run_plan(approve(plan), DEVICE, package="p", backend=backend).envelope


def test_each_element_has_a_box_and_the_step_counts_them(tmp_path: Path) -> None:
    path = tmp_path / "screen.png"
    (step,) = marked(PictureBackend(xml(page(*rows("A", "B")))), path).stepResults
    picture = Image.open(path)

    assert step.id == "shot"
    assert step.data["path"] == str(path)
    assert step.data["marks"] == "4"
    # The rows are at [0,100][1000,150] and [0,150][1000,200], and the picture has half that size.
    assert picture.getpixel((100, 51)) != WHITE
    assert picture.getpixel((100, 76)) != WHITE
    assert picture.getpixel((100, 62)) == WHITE
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_reference_is_white_on_the_colour_of_its_box(tmp_path: Path) -> None:
    path = tmp_path / "screen.png"
    marked(PictureBackend(xml(page(*rows("A", "B")))), path)
    # The last digit, in the upper right corner of the row.
    corner = Image.open(path).crop((WIDTH - 16, 53, WIDTH - 3, 66))
    colours = {colour for _, colour in corner.getcolors() or ()}
    assert WHITE in colours
    assert Image.open(path).getpixel((100, 51)) in colours


def test_the_marks_are_the_references_of_the_outline(tmp_path: Path) -> None:
    (step,) = marked(PictureBackend(xml(page(*rows("A", "B")))), tmp_path / "screen.png").stepResults

    assert References("claw-1").lookup(f"e4@{step.data['snapshot_id']}").label == "B"


def test_what_a_password_field_holds_is_painted_over(tmp_path: Path) -> None:
    path = tmp_path / "screen.png"
    field = node(class_="android.widget.EditText", text="hunter2", password="true", clickable="true")
    marked(PictureBackend(xml(page(*rows("A"), field))), path)

    assert Image.open(path).getpixel((100, 87)) == GREY


def test_the_capture_is_made_directly_before_the_picture_and_is_no_step_of_the_result(tmp_path: Path) -> None:
    backend = PictureBackend(xml(page(*rows("A"))))
    pause = {"id": "outline-1", "type": "sleep", "params": {"durationMs": 0}}
    envelope = marked(backend, tmp_path / "screen.png", pause)

    assert backend.types == ["sleep", "snapshot_ui", "take_screenshot"]
    assert [step.id for step in envelope.stepResults] == ["outline-1", "shot"]
    assert envelope.status == "success"


def test_a_capture_that_fails_fails_the_screenshot(tmp_path: Path) -> None:
    envelope = marked(PictureBackend(xml(page()), capture=False), tmp_path / "screen.png")
    (step,) = envelope.stepResults

    assert (step.id, step.actionType, step.success) == ("shot", "take_screenshot", False)
    assert envelope.errorCode == "SERVICE_UNAVAILABLE"


def test_a_screenshot_that_fails_keeps_its_error(tmp_path: Path) -> None:
    envelope = marked(PictureBackend(xml(page(*rows("A"))), picture=False), tmp_path / "screen.png")

    assert envelope.errorCode == "DEVICE_SHELL_UNAVAILABLE"
    assert [(step.id, step.data) for step in envelope.stepResults] == [
        ("shot", {"error": "DEVICE_SHELL_UNAVAILABLE"})
    ]


def test_a_picture_of_one_colour_has_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image.Image, "putpixel", lambda *_: None)
    (step,) = marked(PictureBackend(xml(page(*rows("A")))), tmp_path / "screen.png").stepResults

    assert step.data["warn"].startswith("the picture has only one colour")


def screenshot(name: str, path: Path, *, marks: bool = True) -> dict[str, Any]:
    return {"id": name, "type": "take_screenshot", "params": {"path": str(path), "marks": marks}}


def test_only_the_pictures_that_ask_for_marks_have_some(tmp_path: Path) -> None:
    plain, other, shot = (tmp_path / f"{number}.png" for number in range(3))
    pause = {"id": "pause", "type": "sleep", "params": {"durationMs": 0}}
    backend = PictureBackend(xml(page(*rows("A"))))
    steps = marked(
        backend, shot, screenshot("plain", plain, marks=False), screenshot("other", other), pause
    ).stepResults

    assert [step.id for step in steps] == ["plain", "other", "pause", "shot"]
    assert ["marks" in step.data for step in steps] == [False, True, False, True]
    assert [Image.open(path).getpixel((100, 51)) == WHITE for path in (plain, other, shot)] == [True, False, False]
    assert not any("warn" in step.data for step in steps)


def test_long_ids_that_begin_alike_are_different_pictures(tmp_path: Path) -> None:
    long = [screenshot("x" * 127 + end, tmp_path / f"{end}.png") for end in "ab"]
    steps = marked(PictureBackend(xml(page(*rows("A")))), tmp_path / "screen.png", *long).stepResults

    assert [step.data["marks"] for step in steps] == ["3", "3", "3"]


@pytest.mark.parametrize(("shots", "pauses"), [(25, 0), (1, 48), (25, 1), (26, 0)])
def test_a_screenshot_with_marks_counts_as_two_actions(tmp_path: Path, shots: int, pauses: int) -> None:
    pause = {"type": "sleep", "params": {"durationMs": 0}}
    actions = [screenshot(f"s{number}", tmp_path / "x.png") for number in range(shots)]
    document = new_execution([*actions, *[pause] * pauses], command_id="c", source="test", timeout_ms=5_000)
    count = 2 * shots + pauses
    if count <= 50:
        assert len(plan_with_captures(validate(document)).execution.actions) == count
        return
    with pytest.raises(ClawError) as error:
        plan_with_captures(validate(document))
    assert error.value.code == "EXECUTION_VALIDATION_FAILED"
    assert error.value.message.endswith(f"counts as two actions: {count} are more than 50")
    assert error.value.hint == "Split the actions over several executions."


def test_a_plan_without_marks_runs_as_it_is(tmp_path: Path) -> None:
    backend = PictureBackend(xml(page(*rows("A"))))
    shot = screenshot("shot", tmp_path / "screen.png", marks=False)
    plan = validate(new_execution([shot], command_id="c", source="test", timeout_ms=5_000))
    run_plan(approve(plan), DEVICE, package="p", backend=backend)
    assert backend.types == ["take_screenshot"]
    assert plan_with_captures(plan) is plan


def test_a_picture_that_cannot_be_read_fails_its_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "screen.png"
    monkeypatch.setattr(Image.Image, "save", lambda _, target: Path(target).write_bytes(b"no picture"))
    envelope = marked(PictureBackend(xml(page(*rows("A")))), path)
    (step,) = envelope.stepResults

    assert not step.success
    assert step.data["path"] == str(path)
    assert step.data["error"] == envelope.errorCode == "SCREENSHOT_NOT_SAVED"
    assert step.data["message"].startswith(f"cannot read the picture {path}: ")
    assert step.data["hint"]


def test_a_dot_marks_the_point_that_would_be_touched(tmp_path: Path) -> None:
    """A card with a button in its middle is touched beside the button."""
    button = node(text="Rate", bounds="[120,300][360,500]", clickable="true")
    card = node(node(text="Shop", bounds="[0,200][480,240]"), button, bounds="[0,200][480,600]", clickable="true")
    path = tmp_path / "screen.png"
    (step,) = marked(PictureBackend(xml(hierarchy(node(card, bounds="[0,0][1000,2000]")))), path).stepResults
    assert step.success
    with Image.open(path) as picture:
        inside = picture.convert("RGB").crop((70, 160, 170, 240))
        colours = {colour for _, colour in inside.getcolors(10_000) or []}
    # The dot of the button is in its middle. That of the card is not there.
    assert (0xD5, 0, 0) not in colours
    assert (0x15, 0x65, 0xC0) in colours


# Drawing


def element(bounds: str, ref: str = "e1", scrollable: str = "false") -> OutlineElement:
    return OutlineElement(node(bounds=bounds, scrollable=scrollable), 0, "text", [], [], ref=ref)


def drawn(
    path: Path,
    elements: list[OutlineElement],
    size: tuple[int, int] = (WIDTH, HEIGHT),
    frame: Bounds | None = None,
    points: dict[str, tuple[int, int]] | None = None,
) -> Image.Image:
    """A white picture of this size with its marks. By default the frame has the size of the picture."""
    Image.new("RGB", size, "white").save(path)
    png, is_blank = draw_marks(str(path), elements, frame or Bounds(0, 0, *size), points or {})
    assert is_blank
    path.write_bytes(png)
    with Image.open(path) as picture:
        return picture.convert("RGB")


def extent(picture: Image.Image, colour: tuple[int, int, int]) -> tuple[int, int, int, int] | None:
    """The smallest rectangle with all pixels of a colour; right and bottom are exclusive."""
    bands = ImageChops.difference(picture, Image.new("RGB", picture.size, colour)).split()
    largest = ImageChops.lighter(ImageChops.lighter(bands[0], bands[1]), bands[2])
    return largest.point(lambda value: 0 if value else 255).getbbox()


def colour_at(picture: Image.Image, x: int, y: int) -> tuple[int, int, int]:
    found = picture.getpixel((x, y))
    assert isinstance(found, tuple)
    red, green, blue = found
    return int(red), int(green), int(blue)


def label_size(text: str, size: int) -> tuple[int, int]:
    """The size of a label: the text, and four pixels on each side. Both edges of a rectangle are painted."""
    left, top, right, bottom = ImageDraw.Draw(Image.new("RGB", (1, 1))).textbbox(
        (0, 0), text, font=ImageFont.load_default(size)
    )
    return round(right - left) + 9, round(bottom - top) + 9


@pytest.mark.parametrize(
    ("bounds", "frame", "box"),
    [
        ("[100,200][300,400]", Bounds(0, 0, 500, 1_000), (100, 200, 300, 400)),
        ("[100,200][300,400]", Bounds(0, 0, 1_000, 2_000), (50, 100, 150, 200)),
        ("[300,400][100,200]", Bounds(0, 0, 1_000, 2_000), (50, 100, 150, 200)),
        ("[100,200][300,400]", Bounds(50, 100, 550, 1_100), (50, 100, 250, 300)),
        ("[-100,-100][300,400]", Bounds(0, 0, 500, 1_000), (0, 0, 300, 400)),
        ("[100,200][900,4000]", Bounds(0, 0, 500, 1_000), (100, 200, 500, 1_000)),
        # The frame is taller than the picture, tiny, or has no width.
        ("[100,200][300,4000]", Bounds(0, 0, 500, 4_000), (100, 200, 300, 1_000)),
        ("[0,0][1,2]", Bounds(0, 0, 1, 2), (0, 0, 500, 1_000)),
        ("[0,0][0,0]", Bounds(0, 0, 500, 1_000), None),
        ("[10,10][11,30]", Bounds(0, 0, 500, 1_000), None),
        ("[10,10][30,11]", Bounds(0, 0, 500, 1_000), None),
        ("[600,10][700,30]", Bounds(0, 0, 500, 1_000), None),
        ("[10,10][30,30]", Bounds(0, 0, 0, 0), None),
    ],
)
def test_a_box_is_around_the_visible_part_of_its_element(
    tmp_path: Path, bounds: str, frame: Bounds, box: tuple[int, int, int, int] | None
) -> None:
    picture = drawn(tmp_path / "screen.png", [element(bounds)], frame=frame)
    if box is None:
        assert picture.getcolors() == [(WIDTH * HEIGHT, WHITE)]
    else:
        colour = colour_at(picture, box[0], box[1])
        assert colour != WHITE
        assert extent(picture, colour) == box


def test_a_box_of_two_pixels_is_drawn(tmp_path: Path) -> None:
    picture = drawn(tmp_path / "screen.png", [element("[100,100][102,102]")])
    assert colour_at(picture, 101, 101) != WHITE


def test_an_element_without_a_reference_has_no_box(tmp_path: Path) -> None:
    picture = drawn(tmp_path / "screen.png", [element("[10,10][300,300]", ref="")])
    assert picture.getcolors() == [(WIDTH * HEIGHT, WHITE)]


def test_only_a_hidden_content_is_painted_over(tmp_path: Path) -> None:
    shown, hidden = element("[0,0][400,100]"), element("[0,200][400,300]")
    shown.content, hidden.content = "Ada", HIDDEN
    picture = drawn(tmp_path / "screen.png", [shown, hidden])
    assert colour_at(picture, 100, 50) == WHITE
    assert colour_at(picture, 100, 250) == GREY


def test_neighbours_have_boxes_of_different_colours(tmp_path: Path) -> None:
    elements = [element(f"[0,{50 * number}][400,{50 * number + 40}]") for number in range(9)]
    picture = drawn(tmp_path / "screen.png", elements)
    colours = [colour_at(picture, 0, 50 * number) for number in range(9)]
    assert len(set(colours[:8])) == 8
    assert colours[8] == colours[0]


@pytest.mark.parametrize(
    ("height", "text", "line"),
    [(200, 14, 2), (1_050, 14, 2), (1_200, 16, 2), (2_025, 27, 3), (3_000, 40, 4), (7_500, 100, 11)],
)
def test_numbers_and_lines_grow_with_the_picture(tmp_path: Path, height: int, text: int, line: int) -> None:
    """A number has 1/75 of the height of the picture, and 14 pixels at least."""
    picture = drawn(tmp_path / "screen.png", [element("[10,10][390,190]", ref="e12")], (400, height))
    colour = colour_at(picture, 10, 10)
    assert [colour_at(picture, 10 + at, 150) == colour for at in (line - 1, line)] == [True, False]
    label = picture.crop((10 + line, 10 + line, 390 - line, 190 - line))
    left, top, right, bottom = extent(label, colour) or (0, 0, 0, 0)
    assert (top, right) == (0, 380 - 2 * line)
    # The rest of the label is on the lines of the box.
    width, high = label_size("e12", text)
    assert (right - left + line, bottom + line) == (width, high)


@pytest.mark.parametrize(
    ("scrollable", "bounds", "corner"),
    [
        ("false", "[100,100][400,400]", (400, 100)),
        ("true", "[100,100][400,400]", (400, None)),
        ("false", "[0,100][5,400]", (None, 100)),
    ],
)
def test_a_number_is_in_the_right_corner_and_that_of_a_list_is_at_the_bottom(
    tmp_path: Path, scrollable: str, bounds: str, corner: tuple[int | None, int | None]
) -> None:
    """A label that is wider than what is left of its box begins at the left edge of the picture."""
    picture = drawn(tmp_path / "screen.png", [element(bounds, "e123", scrollable=scrollable)])
    width, height = label_size("e123", 14)
    x = 0 if corner[0] is None else corner[0] - width
    y = 400 - height if corner[1] is None else corner[1]
    colour = colour_at(picture, x + 1, y + 1)
    assert colour != WHITE
    label = picture.crop((x, y, x + width, y + height))
    assert all(colour_at(label, at, row) == colour for at in (0, width - 1) for row in (0, height - 1))
    # The text has four pixels on each side.
    inner = ImageChops.difference(label, Image.new("RGB", label.size, colour)).getbbox()
    assert inner == (4, 4, width - 5, height - 5)
