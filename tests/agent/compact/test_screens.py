"""Screens for models: marked blocks of outlines and of changed lines."""

from clawperator.agent.compact.screens import OUTLINE, changes_since, show_screen
from clawperator.agent.ports import ScreenView
from clawperator.agent.tools.plans import read_view
from clawperator.contract.execution import validate
from clawperator.contract.results import StepResult


def test_a_whole_screen_is_a_block_with_its_id_and_app() -> None:
    shown = show_screen(ScreenView("s1", "com.example", 'e1 button "A"'))
    assert shown.is_whole
    assert shown.text == '<screen s1 com.example untrusted>\ne1 button "A"\n</screen>'


def test_changes_are_a_block_of_another_name() -> None:
    shown = show_screen(ScreenView("s2", None, '~e1 button "B"', is_whole=False))
    assert not shown.is_whole
    assert shown.text == '<changes s2 untrusted>\n~e1 button "B"\n</changes>'


def test_changes_need_an_earlier_screen() -> None:
    assert changes_since("") == OUTLINE
    assert changes_since("s1a2b3c4d") == {**OUTLINE, "since": "s1a2b3c4d"}


def test_the_parameters_of_a_look_are_valid() -> None:
    for params in (OUTLINE, changes_since("s1a2b3c4d")):
        validate(
            {
                "commandId": "c",
                "taskId": "t",
                "source": "test",
                "expectedFormat": "android-ui-automator",
                "timeoutMs": 1000,
                "actions": [{"id": "a", "type": "snapshot_ui", "params": dict(params)}],
            }
        )


def step(view: str, *, success: bool = True) -> StepResult:
    data = {"snapshot_id": "s1", "foreground_package": "a.b", "text": "x", "actual_format": view}
    return StepResult("a1", "snapshot_ui", success, data)


def test_a_view_is_read_from_the_step_of_a_snapshot() -> None:
    assert read_view(step("outline")) == ScreenView("s1", "a.b", "x")
    assert read_view(step("outline_changes")) == ScreenView("s1", "a.b", "x", is_whole=False)
    assert read_view(step("hierarchy_xml")) is None
    assert read_view(step("outline", success=False)) is None
