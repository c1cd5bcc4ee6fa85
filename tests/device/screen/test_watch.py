"""Watching a screen: the outline first, then what changes."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from clawperator.contract.results import ResultEnvelope, StepResult, snapshot_id
from clawperator.device.adb.client import Device, Endpoint
from clawperator.device.screen import live_view
from clawperator.device.screen.live_view import ScreenReport, ScreenWatch, captured_data
from clawperator.errors import ClawError
from clawperator.policy.gate import ApprovedPlan
from tests.device.screen.test_snapshot_views import xml
from tests.ui.test_refs import page, row, rows, text
from tests.ui.trees import node

DEVICE = Device("claw-1", Endpoint("127.0.0.1", 1, simulated=True))


class Screens:
    """Answers each look with the next of these screens."""

    def __init__(self, *screens: str) -> None:
        self.screens = list(screens)
        self.asked: dict[str, Any] = {}

    def run_plan(self, approved: ApprovedPlan, device: Device, **options: Any) -> Any:
        plan = approved.plan
        assert device == DEVICE
        assert [action.type for action in plan.execution.actions] == ["snapshot_ui"]
        self.asked = options
        screen = self.screens.pop(0)
        data = {"text": screen, "snapshot_id": snapshot_id(screen), "foreground_package": "com.example"}
        step = StepResult("a1", "snapshot_ui", True, data)
        return SimpleNamespace(envelope=ResultEnvelope("c", "t", "success", [step], None))


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path / "home"))


def reports(monkeypatch: pytest.MonkeyPatch, *screens: str) -> list[ScreenReport | None]:
    """What a watch reports for each of these screens."""
    monkeypatch.setattr(live_view, "run_plan", Screens(*screens).run_plan)
    watch = ScreenWatch(DEVICE, package=None, backend="auto")
    return [watch.look(5.0) for _ in screens]


A_PAGE = xml(page(*rows("A", "B", "C")))


def test_the_first_look_is_the_outline(monkeypatch: pytest.MonkeyPatch) -> None:
    (report,) = reports(monkeypatch, A_PAGE)
    assert report is not None
    assert (report.kind, report.package, report.snapshotId) == ("screen", "com.example", snapshot_id(A_PAGE))
    assert report.text.splitlines()[-1] == ' e5 button "C"'
    assert report.time.endswith("Z")
    assert len(report.time) == len("2026-01-02T03:04:05.678Z")


def test_a_later_look_is_what_has_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    changed = xml(page(*rows("A", "B", "C", "D")))
    _, second, third, fourth = reports(monkeypatch, A_PAGE, changed, changed, A_PAGE)
    assert second is not None
    assert (second.kind, second.text) == ("changes", '+ e6 button "D"')
    assert second.snapshotId == snapshot_id(changed)
    assert third is None
    assert fourth is not None
    assert (fourth.kind, fourth.text) == ("changes", '-e6 button "D"')


def test_another_page_is_an_outline_again(monkeypatch: pytest.MonkeyPatch) -> None:
    _, other = reports(monkeypatch, A_PAGE, xml(page(*rows("X", "Y", "Z"), title="Other")))
    assert other is not None
    assert other.kind == "screen"
    assert other.text.splitlines()[0].endswith('"Other"')


def test_what_an_outline_does_not_show_is_not_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def with_index(index: str) -> str:
        return xml(page(row(text("A"), node(index=index))))

    first, second, third = reports(monkeypatch, with_index("1"), with_index("2"), xml(page(*rows("A", "B"))))
    assert first is not None
    assert second is None
    assert third is not None


def test_another_order_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    _, second = reports(monkeypatch, A_PAGE, xml(page(*rows("C", "A", "B"))))
    assert second is not None
    assert (second.kind, second.text) == ("changes", "! the order of the lines has changed")


def test_a_look_has_the_seconds_of_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    screens = Screens(A_PAGE)
    monkeypatch.setattr(live_view, "run_plan", screens.run_plan)
    ScreenWatch(DEVICE, package="com.operator", backend="adb").look(2.5)
    assert screens.asked == {"package": "com.operator", "backend": "adb", "timeout_ms": 2_500}


def envelope(*steps: StepResult, **more: Any) -> ResultEnvelope:
    return ResultEnvelope("c", "t", "failed", list(steps), **{"error": None, **more})


def step(data: dict[str, str], *, success: bool = False) -> StepResult:
    return StepResult("a1", "snapshot_ui", success, data)


def test_the_data_of_a_capture_are_those_of_its_step() -> None:
    data = {"text": "<hierarchy/>", "snapshot_id": "s1"}
    assert captured_data(envelope(step(data, success=True)), "claw-1") == data


@pytest.mark.parametrize(
    ("failed", "code", "message"),
    [
        (envelope(), "SNAPSHOT_HIERARCHY_UNAVAILABLE", "the device returned no UI hierarchy"),
        (envelope(error="gone", errorCode="DEVICE_OFFLINE"), "DEVICE_OFFLINE", "gone"),
        (
            envelope(step({"error": "COMMAND_TIMEOUT", "message": "late"}), error="x", errorCode="DEVICE_OFFLINE"),
            "COMMAND_TIMEOUT",
            "late",
        ),
        (envelope(step({"error": "NO_SUCH_CODE"})), "SNAPSHOT_HIERARCHY_UNAVAILABLE", "the device returned no"),
        (envelope(step({}, success=True)), "SNAPSHOT_HIERARCHY_UNAVAILABLE", "the device returned no"),
        (envelope(step({"text": "<hierarchy/>"})), "SNAPSHOT_HIERARCHY_UNAVAILABLE", "the device returned no"),
    ],
)
def test_a_capture_that_failed_is_an_error_with_its_code(failed: ResultEnvelope, code: str, message: str) -> None:
    with pytest.raises(ClawError) as error:
        captured_data(failed, "claw-1")
    assert error.value.code == code
    assert error.value.message.startswith(message)
    assert (error.value.operation, error.value.target) == ("watch", "claw-1")


def test_the_hint_of_a_failed_capture_is_kept() -> None:
    with pytest.raises(ClawError) as error:
        captured_data(envelope(step({"error": "COMMAND_TIMEOUT", "hint": "Wake it."})), "claw-1")
    assert error.value.hint == "Wake it."
