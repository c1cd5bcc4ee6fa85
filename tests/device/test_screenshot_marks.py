"""References drawn on screenshots."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from clawperator.contract import Plan, ResultEnvelope, StepResult, new_execution, validate
from clawperator.device.adb.client import Device, Endpoint
from clawperator.device.references import References
from clawperator.device.run import run_plan
from clawperator.errors import ClawError
from tests.device.test_snapshot_views import xml
from tests.ui.test_refs import page, rows
from tests.ui.trees import node

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
    return run_plan(plan, DEVICE, package="p", backend=backend).envelope


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
    pause = {"id": "shot-outline", "type": "sleep", "params": {"durationMs": 0}}
    envelope = marked(backend, tmp_path / "screen.png", pause)

    assert backend.types == ["sleep", "snapshot_ui", "take_screenshot"]
    assert [step.id for step in envelope.stepResults] == ["shot-outline", "shot"]
    assert envelope.status == "success"


def test_a_capture_that_fails_fails_the_screenshot(tmp_path: Path) -> None:
    envelope = marked(PictureBackend(xml(page()), capture=False), tmp_path / "screen.png")
    (step,) = envelope.stepResults

    assert (step.id, step.actionType, step.success) == ("shot", "take_screenshot", False)
    assert envelope.errorCode == "SERVICE_UNAVAILABLE"


def test_a_screenshot_that_fails_keeps_its_error(tmp_path: Path) -> None:
    envelope = marked(PictureBackend(xml(page(*rows("A"))), picture=False), tmp_path / "screen.png")

    assert envelope.errorCode == "DEVICE_SHELL_UNAVAILABLE"


def test_a_picture_of_one_colour_has_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image.Image, "putpixel", lambda *_: None)
    (step,) = marked(PictureBackend(xml(page(*rows("A")))), tmp_path / "screen.png").stepResults

    assert step.data["warn"].startswith("the picture has only one colour")


def test_without_pillow_nothing_runs_and_the_hint_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    backend = PictureBackend(xml(page(*rows("A"))))
    with pytest.raises(ClawError) as error:
        marked(backend, tmp_path / "screen.png")

    assert error.value.code == "HOST_DEPENDENCY_MISSING"
    assert error.value.hint == "Run \"pip install 'clawperator[images]'\"."
    assert backend.types == []
