"""The driver of the host's engine over an Operator."""

from typing import Any

import pytest

from clawperator._deadline import Deadline
from clawperator.contract import StepResult
from clawperator.device.adb.client import Device, Endpoint
from clawperator.device.backends import RunWatch, adb_shell
from clawperator.device.backends.adb import AdbDriver
from clawperator.device.backends.operator_driver import OperatorDriver
from clawperator.engine import ChosenNode
from clawperator.engine.targets import describe_node
from clawperator.errors import ClawError
from clawperator.ui import parse_hierarchy
from tests.device.backends.scripted_shell import ScriptedShell, reply

SCREEN = """<hierarchy rotation="0"><node class="a" package="p" bounds="[0,0][100,200]">
<node class="android.widget.Button" package="p" text="Save" clickable="true" enabled="true" bounds="[0,0][50,50]" />
</node></hierarchy>"""


@pytest.mark.parametrize(
    ("hold_ms", "by"),
    [
        (120, "click"),
        (200, "click"),
        (201, "adb"),
        (499, "adb"),
        (500, "long_click"),
        (800, "long_click"),
        (801, "adb"),
    ],
)
def test_a_touch_that_is_neither_a_click_nor_a_long_click_goes_through_adb(
    hold_ms: int, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    def deliver(actions: list[dict[str, Any]]) -> list[StepResult]:
        done.extend(action["params"]["clickType"] for action in actions)
        return [StepResult(action["id"], action["type"], True, {}) for action in actions]

    def tap(_: AdbDriver, _x: int, _y: int, held_ms: int) -> bool:
        done.append("adb" if held_ms == hold_ms else "")
        return True

    monkeypatch.setattr(AdbDriver, "tap", tap)
    driver = OperatorDriver(Device("claw-1", Endpoint("127.0.0.1", 1)), deliver, Deadline(10), RunWatch())
    assert driver.tap(10, 20, hold_ms)
    assert done == [by]


@pytest.mark.parametrize(("candidates", "is_sure"), [("1", True), ("2", False)])
def test_a_click_on_one_of_several_nodes_is_not_the_chosen_one(candidates: str, *, is_sure: bool) -> None:
    screen = parse_hierarchy(SCREEN)
    button = screen.nodes[1]
    data = {"matched_target": describe_node(button), "candidate_count": candidates}

    def deliver(actions: list[dict[str, Any]]) -> list[StepResult]:
        shown = {"text": SCREEN}
        return [
            StepResult(action["id"], action["type"], True, shown if action["type"] == "snapshot_ui" else data)
            for action in actions
        ]

    driver = OperatorDriver(Device("claw-1", Endpoint("127.0.0.1", 1)), deliver, Deadline(10), RunWatch())
    driver.dump()
    chosen = ChosenNode(screen, button, True, lambda later: later.nodes[1])
    if is_sure:
        assert driver.click_target(chosen, "click") == data
        return
    with pytest.raises(ClawError) as error:
        driver.click_target(chosen, "click")
    assert error.value.code == "TARGET_CHANGED"


@pytest.mark.parametrize(("orientation", "turns"), [("portrait", "0"), ("landscape", "1")])
def test_a_phone_that_lies_on_its_side_is_rotated_from_its_natural_orientation(
    orientation: str, turns: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lying = SCREEN.replace('rotation="0"', 'rotation="1"').replace("[100,200]", "[200,100]")
    phone = ScriptedShell(wm=reply("Physical size: 100x200\n"))
    monkeypatch.setattr(adb_shell, "run_shell", phone.shell)

    def deliver(actions: list[dict[str, Any]]) -> list[StepResult]:
        return [StepResult(action["id"], action["type"], True, {"text": lying}) for action in actions]

    driver = OperatorDriver(Device("claw-1", Endpoint("127.0.0.1", 1)), deliver, Deadline(10), RunWatch())
    driver.dump()
    assert driver.rotate(orientation)
    assert phone.named("user_rotation")[0].endswith(f"user_rotation {turns}")
    assert str(driver.frame()) == "[0,0][200,100]"
