"""The driver of the host's engine over an Operator."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clawperator._base.deadline import Deadline
from clawperator.contract.execution import new_execution, validate
from clawperator.contract.results import StepResult
from clawperator.device.adb.client import Device, Endpoint
from clawperator.device.backends import adb_screen
from clawperator.device.backends.adb import AdbDriver, host_engine
from clawperator.device.backends.backend import RunWatch
from clawperator.device.backends.operator_driver import (
    OperatorDriver,
    check_matched,
    click_selector,
    field_selector,
    is_in_place,
    own_guard,
    point_of,
)
from clawperator.engine.driver import ChosenNode
from clawperator.engine.targets import describe_node
from clawperator.errors import ClawError
from clawperator.ui.node import Bounds, Hierarchy, Node
from clawperator.ui.parse import parse_hierarchy
from tests.device.backends.scripted_shell import ScriptedShell, StillClock, reply

SCREEN = """<hierarchy rotation="0"><node class="a" package="p" bounds="[0,0][100,200]">
<node class="android.widget.Button" package="p" text="Save" clickable="true" enabled="true" bounds="[0,0][50,50]" />
</node></hierarchy>"""
FRAME = Bounds(0, 0, 100, 400)


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
    monkeypatch.setattr(adb_screen, "run_shell", phone.shell)

    def deliver(actions: list[dict[str, Any]]) -> list[StepResult]:
        return [StepResult(action["id"], action["type"], True, {"text": lying}) for action in actions]

    driver = OperatorDriver(Device("claw-1", Endpoint("127.0.0.1", 1)), deliver, Deadline(10), RunWatch())
    driver.dump()
    assert driver.rotate(orientation)
    assert phone.named("user_rotation")[0].endswith(f"user_rotation {turns}")
    assert str(driver.frame()) == "[0,0][200,100]"


TWINS = SCREEN.replace(
    "</node>",
    '<node class="android.widget.Button" package="p" text="Save" clickable="true" bounds="[50,0][100,50]" /></node>',
)


class RecordingOperator:
    """Answers each delivery with the next steps, or with a capture and successes. Keeps what was delivered."""

    def __init__(self, *answers: list[StepResult] | ClawError, shown: str = SCREEN, **data: str) -> None:
        self.answers = list(answers)
        self.shown = shown
        self.data = data
        self.delivered: list[list[dict[str, Any]]] = []

    def deliver(self, actions: list[dict[str, Any]]) -> list[StepResult]:
        self.delivered.append(actions)
        answer = self.answers.pop(0) if self.answers else None
        if isinstance(answer, ClawError):
            raise answer
        if answer is not None:
            return answer
        shown = {"text": self.shown} | self.data
        return [
            StepResult(one["id"], one["type"], True, shown if one["type"] == "snapshot_ui" else self.data)
            for one in actions
        ]

    def driver(self, seconds: float = 10.0) -> OperatorDriver:
        return OperatorDriver(DEVICE, self.deliver, Deadline(seconds), RunWatch())

    @property
    def types(self) -> list[list[str]]:
        return [[action["type"] for action in actions] for actions in self.delivered]


DEVICE = Device("claw-1", Endpoint("127.0.0.1", 1))


def failed(kind: str, **data: str) -> list[StepResult]:
    return [StepResult("a1", kind, False, data)]


def twin() -> ChosenNode:
    """The second of two equal buttons, which no selector picks."""
    screen = parse_hierarchy(TWINS)
    return ChosenNode(screen, screen.nodes[2], False, lambda later: later.nodes[2])


# Captures


@pytest.mark.parametrize(("count", "windows"), [("3", 3), ("", 0), ("many", 0)])
def test_a_capture_reports_the_windows_and_the_frame(count: str, windows: int) -> None:
    phone = RecordingOperator(window_count=count, foreground_package="com.a", overlay_package="com.b")
    driver = phone.driver()
    seen = driver.windows()
    assert (seen.foreground_package, seen.overlay_package, seen.count) == ("com.a", "com.b", windows)
    assert (str(driver.frame()), driver.windows() is seen, driver.slow_captures) == ("[0,0][100,200]", True, False)
    assert phone.delivered == [[{"id": "a1", "type": "snapshot_ui", "params": {"retry": {"maxAttempts": 1}}}]]
    assert driver.foreground() == "com.a"
    assert len(phone.delivered) == 2


def test_before_a_capture_the_frame_is_that_of_the_display(monkeypatch: pytest.MonkeyPatch) -> None:
    phone = ScriptedShell(wm=reply("Physical size: 300x400\n"))
    monkeypatch.setattr(adb_screen, "run_shell", phone.shell)
    driver = RecordingOperator().driver()
    assert str(driver.frame()) == "[0,0][300,400]"
    driver.dump()
    assert driver.swipe((1, 2), (3, 4), 5)
    assert phone.named("input") == ["input swipe 1 2 3 4 5"]


def test_a_swipe_after_a_capture_goes_to_the_first_display(monkeypatch: pytest.MonkeyPatch) -> None:
    phone = ScriptedShell()
    monkeypatch.setattr(adb_screen, "run_shell", phone.shell)
    driver = RecordingOperator().driver()
    driver.dump()
    assert driver.swipe((1, 2), (3, 4), 5)
    assert phone.asked == ["input swipe 1 2 3 4 5"]


def test_nothing_is_delivered_after_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    StillClock(monkeypatch)
    phone = RecordingOperator()
    with pytest.raises(ClawError) as error:
        phone.driver(0.0).dump()
    assert (error.value.code, phone.delivered) == ("COMMAND_TIMEOUT", [])


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ({"error": "NODE_NOT_FOUND", "message": "why", "hint": "Do it."}, ("NODE_NOT_FOUND", "why", "Do it.")),
        ({"error": "FROM_THE_FUTURE", "message": "why", "hint": "Do it."}, ("UNKNOWN", "why", "Do it.")),
        ({}, ("UNKNOWN", "the Operator could not snapshot_ui", None)),
    ],
)
def test_a_failed_step_is_raised_as_its_error(data: dict[str, str], error: tuple[str, str, str | None]) -> None:
    driver = RecordingOperator(failed("snapshot_ui", **data)).driver()
    with pytest.raises(ClawError) as raised:
        driver.dump()
    assert (raised.value.code, raised.value.message, raised.value.own_hint) == error
    assert driver.link_error is None


def test_the_error_of_a_delivery_is_kept() -> None:
    lost = ClawError("LOGCAT_UNAVAILABLE", "lost")
    driver = RecordingOperator(lost).driver()
    with pytest.raises(ClawError):
        driver.dump()
    assert driver.link_error is lost


# Input


@pytest.mark.parametrize(
    ("answer", "done"),
    [([StepResult("a1", "click", True, {})], True), (failed("click", error="GESTURE_FAILED"), False)],
)
def test_a_tap_that_the_operator_refuses_was_not_done(answer: list[StepResult], *, done: bool) -> None:
    phone = RecordingOperator(answer)
    assert phone.driver().tap(3, 4, 600) is done
    params = {"coordinate": {"x": 3, "y": 4}, "clickType": "long_click", "retry": {"maxAttempts": 1}}
    assert phone.delivered == [[{"id": "a1", "type": "click", "params": params}]]


def test_another_failure_of_a_tap_or_key_is_an_error() -> None:
    with pytest.raises(ClawError):
        RecordingOperator(failed("click", error="SERVICE_UNAVAILABLE")).driver().tap(3, 4, 0)
    with pytest.raises(ClawError):
        RecordingOperator(failed("press_key", error="GESTURE_FAILED")).driver().key("back")


def test_keys_that_the_operator_knows_are_pressed_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = ScriptedShell()
    monkeypatch.setattr(adb_screen, "run_shell", shell.shell)
    phone = RecordingOperator()
    assert phone.driver().key("back") is True
    assert phone.delivered == [[{"id": "a1", "type": "press_key", "params": {"key": "back"}}]]
    refused = RecordingOperator(failed("press_key", error="GLOBAL_ACTION_FAILED"))
    assert refused.driver().key("home") is False
    assert phone.driver().key("volume_up") is True
    assert (shell.asked, len(phone.delivered)) == (["input keyevent 24"], 1)


# Chosen nodes


def test_a_node_that_a_selector_picks_is_clicked_in_one_delivery() -> None:
    screen = parse_hierarchy(SCREEN)
    chosen = ChosenNode(screen, screen.nodes[1], True, lambda later: later.nodes[1])
    phone = RecordingOperator()
    driver = phone.driver()
    driver.dump()
    assert driver.click_target(chosen, "long_click") == {}
    params = {"matcher": {"textEquals": "Save"}, "retry": {"maxAttempts": 1}, "clickType": "long_click"}
    assert phone.delivered[1:] == [[{"id": "a1", "type": "click", "params": params}]]
    assert driver.click_target(chosen, "focus") == {}


def click(driver: OperatorDriver, chosen: ChosenNode) -> object:
    return driver.click_target(chosen, "click")


def type_text(driver: OperatorDriver, chosen: ChosenNode) -> object:
    return driver.type_into(chosen, "new", submit=False, clear=True)


Act = Callable[[OperatorDriver, ChosenNode], object]


@pytest.mark.parametrize("act", [click, type_text])
def test_an_operator_that_acted_on_another_node_is_reported(act: Act) -> None:
    screen = parse_hierarchy(SCREEN)
    chosen = ChosenNode(screen, screen.nodes[1], True, lambda later: later.nodes[1])
    other = describe_node(screen.nodes[0])
    driver = RecordingOperator(matched_target=other).driver()
    driver.dump()
    with pytest.raises(ClawError) as error:
        act(driver, chosen)
    assert error.value.code == "TARGET_CHANGED"


@pytest.mark.parametrize("act", [click, type_text])
def test_a_selector_that_matched_several_nodes_is_not_sure(act: Act) -> None:
    screen = parse_hierarchy(SCREEN)
    chosen = ChosenNode(screen, screen.nodes[1], True, lambda later: later.nodes[1])
    phone = RecordingOperator(matched_target=describe_node(screen.nodes[1]), candidate_count="2")
    driver = phone.driver()
    driver.dump()
    with pytest.raises(ClawError):
        act(driver, chosen)


def test_a_node_that_no_selector_picks_is_tapped_between_two_captures() -> None:
    phone = RecordingOperator(shown=TWINS, coordinate="75,25", effect="changed")
    driver = phone.driver()
    driver.dump()
    assert driver.click_target(twin(), "click") == {"effect": "changed"}
    assert phone.types == [["snapshot_ui"], ["snapshot_ui"], ["wait_for_node", "click"], ["snapshot_ui"]]
    guard, tap = phone.delivered[2]
    assert guard == {
        "id": "g1",
        "type": "wait_for_node",
        "params": {"matcher": {"textEquals": "Save"}, "retry": {"maxAttempts": 1}},
    }
    assert tap["params"] == {
        "coordinate": {"x": 75, "y": 25},
        "clickType": "click",
        "retry": {"maxAttempts": 1},
    }


def test_a_node_without_texts_is_tapped_without_a_guard() -> None:
    phone = RecordingOperator(shown=TWINS.replace("Save", ""))
    driver = phone.driver()
    screen = driver.dump()
    chosen = ChosenNode(screen, screen.nodes[2], False, lambda later: later.nodes[2])
    driver.click_target(chosen, "click")
    assert phone.types[2] == ["click"]


def test_a_node_whose_topmost_part_has_no_text_is_guarded_by_its_own() -> None:
    shown = TWINS.replace(
        'bounds="[50,0][100,50]" />', 'bounds="[50,0][100,50]"><node class="b" bounds="[50,0][100,50]" /></node>'
    )
    phone = RecordingOperator(shown=shown)
    driver = phone.driver()
    screen = driver.dump()
    chosen = ChosenNode(screen, screen.nodes[2], False, lambda later: later.nodes[2])
    driver.click_target(chosen, "click")
    assert phone.delivered[2][0]["params"]["matcher"] == {"textEquals": "Save"}


@pytest.mark.parametrize("reported", [1, 0])
def test_a_tap_that_reached_another_node_is_reported(reported: int) -> None:
    nodes = parse_hierarchy(TWINS).nodes
    phone = RecordingOperator(shown=TWINS, matched_target=describe_node(nodes[reported]))
    driver = phone.driver()
    driver.dump()
    with pytest.raises(ClawError) as error:
        driver.click_target(twin(), "click")
    assert error.value.code == "TARGET_CHANGED"


def test_a_tap_does_not_count_candidates() -> None:
    target = describe_node(parse_hierarchy(TWINS).nodes[2])
    driver = RecordingOperator(shown=TWINS, matched_target=target, candidate_count="2").driver()
    driver.dump()
    assert driver.click_target(twin(), "click")["candidate_count"] == "2"


def test_the_operator_focuses_only_what_a_selector_picks() -> None:
    phone = RecordingOperator(shown=TWINS)
    driver = phone.driver()
    driver.dump()
    with pytest.raises(ClawError) as error:
        driver.click_target(twin(), "focus")
    assert (error.value.code, len(phone.delivered)) == ("NODE_NOT_CLICKABLE", 1)
    assert driver.type_into(twin(), "new", submit=False, clear=True) is None


def test_a_tap_whose_result_cannot_be_captured_is_not_verified() -> None:
    capture = [StepResult("a1", "snapshot_ui", True, {"text": TWINS})]
    steps = [StepResult("g1", "wait_for_node", True, {}), StepResult("a1", "click", True, {"effect": "changed"})]
    phone = RecordingOperator(capture, capture, steps, ClawError("LOGCAT_UNAVAILABLE", "lost"))
    driver = phone.driver()
    driver.dump()
    assert driver.click_target(twin(), "click") == {"effect": "changed", "target_verified": "false"}
    assert driver.link_error is None


def test_a_text_is_typed_in_one_delivery() -> None:
    screen = parse_hierarchy(SCREEN)
    chosen = ChosenNode(screen, screen.nodes[1], True, lambda later: later.nodes[1])
    phone = RecordingOperator(effect="changed")
    driver = phone.driver()
    driver.dump()
    assert driver.type_into(chosen, "new", submit=True, clear=False) == {"effect": "changed"}
    params = {"matcher": {"textEquals": "Save"}, "retry": {"maxAttempts": 1}}
    typed = {**params, "text": "new", "submit": True, "clear": False}
    assert phone.delivered[1] == [{"id": "a1", "type": "enter_text", "params": typed}]


def test_a_screenshot_of_the_host_has_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    driver = RecordingOperator().driver()
    monkeypatch.setattr(driver, "screenshot", lambda: b"png")
    path = str(tmp_path / "a.png")
    shot = {"id": "s", "type": "take_screenshot", "params": {"path": path}}
    plan = validate(new_execution([shot], command_id="c", source="test", timeout_ms=1_000))
    step, _ = host_engine(driver, RunWatch(), "c").run_action(plan.execution.actions[0], Deadline(10), None)
    assert (step.data, Path(path).read_bytes()) == ({"path": path}, b"png")


def element(text: str, bounds: str = "[0,0][100,20]", more: str = "", inside: str = "") -> str:
    return f'<node class="android.widget.TextView" text="{text}" bounds="{bounds}" {more}>{inside}</node>'


def row(*inside: str, more: str = 'clickable="true"', bounds: str = "[0,0][100,50]") -> str:
    return f'<node class="android.widget.LinearLayout" bounds="{bounds}" {more}>{"".join(inside)}</node>'


def screen(*nodes: str) -> Hierarchy:
    return parse_hierarchy(
        f'<hierarchy rotation="0"><node class="a" bounds="[0,0][100,400]">{"".join(nodes)}</node></hierarchy>'
    )


def named(tree: Hierarchy, text: str) -> Node:
    """The first node with this text."""
    return next(node for node in tree.nodes if node.text == text)


def choose(tree: Hierarchy, text: str, *, by_itself: bool = True) -> ChosenNode:
    return ChosenNode(tree, named(tree, text), by_itself, lambda later: named(later, text))


def refusal(code: str, tree: Hierarchy, text: str, again: Hierarchy, kind: str = "click") -> bool:
    with pytest.raises(ClawError) as error:
        point_of(choose(tree, text), again, kind, FRAME)
    return error.value.code == code


# Selectors

EQUAL_BUTTONS = (element("Name"), element("Name", "[0,380][100,400]"))


def test_a_node_of_its_own_is_selected_once() -> None:
    tree = screen(element("Save"))
    target = click_selector(choose(tree, "Save"), "click", FRAME)
    assert target is not None
    assert target.params() == {"matcher": {"textEquals": "Save"}, "retry": {"maxAttempts": 1}}
    assert target.node is named(tree, "Save")


@pytest.mark.parametrize(
    ("kind", "more", "selected"),
    [
        ("click", 'clickable="true"', "Only"),
        ("long_click", 'long-clickable="true"', "Only"),
        ("long_click", 'clickable="true"', None),
        ("click", "", None),
        ("focus", 'clickable="true"', None),
    ],
)
def test_a_click_may_go_to_a_node_for_which_the_same_one_takes_it(
    kind: str, more: str, selected: str | None
) -> None:
    flags = 'clickable="true" long-clickable="true"'
    tree = screen(
        row(EQUAL_BUTTONS[0], element("Delete", more=flags), element("Only"), more=more),
        row(EQUAL_BUTTONS[1], more=more),
    )
    target = click_selector(choose(tree, "Name"), kind, FRAME)
    assert (None if target is None else target.node.text) == selected


@pytest.mark.parametrize(("twins", "is_found"), [(21, True), (22, False)])
def test_at_most_24_other_nodes_are_tried(twins: int, *, is_found: bool) -> None:
    # The row itself, the other twins, then the only one.
    tree = screen(row(*[EQUAL_BUTTONS[0]] * (twins + 2), element("Only")))
    assert (click_selector(choose(tree, "Name"), "click", FRAME) is not None) is is_found


def test_only_the_field_itself_is_typed_into() -> None:
    tree = screen(row(EQUAL_BUTTONS[0], element("Only")), row(EQUAL_BUTTONS[1]))
    assert field_selector(choose(tree, "Name"), FRAME) is None
    target = field_selector(choose(tree, "Only"), FRAME)
    assert target is not None
    assert target.node is named(tree, "Only")


# Points


def test_the_point_of_a_node_is_the_centre_of_its_visible_part() -> None:
    tree = screen(element("Low", "[20,380][60,500]"))
    assert point_of(choose(tree, "Low"), tree, "click", FRAME) == (40, 390, named(tree, "Low"))


def test_the_topmost_node_at_a_point_may_be_inside_the_chosen_one() -> None:
    tree = screen(element("Row", "[0,0][100,50]", 'clickable="true"', element("Icon", "[0,0][100,50]")))
    assert point_of(choose(tree, "Row"), tree, "click", FRAME)[2] is named(tree, "Icon")


def test_a_button_inside_the_chosen_node_is_not_touched_for_it() -> None:
    button = element("Icon", "[0,0][100,30]", 'clickable="true"')
    tree = screen(element("Row", "[0,0][100,50]", 'clickable="true"', button))
    assert point_of(choose(tree, "Row"), tree, "click", FRAME)[2] is named(tree, "Row")
    button = element("Icon", "[0,0][100,50]", 'clickable="true"')
    tree = screen(element("Row", "[0,0][100,50]", 'clickable="true"', button))
    assert refusal("NODE_COVERED", tree, "Row", tree)


def test_the_operator_is_not_given_a_selector_where_it_would_touch_another_element() -> None:
    """It touches the centre of a node that nothing takes clicks for."""
    plain = element("Save", "[0,0][100,50]")
    button = element("Other", "[40,0][60,50]", 'clickable="true"')
    tree = screen(plain, button)
    assert click_selector(choose(tree, "Save"), "click", FRAME) is None
    x, _, _ = point_of(choose(tree, "Save"), tree, "click", FRAME)
    assert not 40 <= x < 60


def test_a_node_that_is_covered_is_not_touched() -> None:
    below, cover = element("Save", more='clickable="true"'), element("Wait", "[0,0][100,400]", 'clickable="true"')
    assert refusal("NODE_COVERED", screen(below), "Save", screen(below, cover))
    beside = element("Beside", "[0,20][100,400]", 'clickable="true"')
    assert point_of(choose(screen(below), "Save"), screen(below, beside), "click", FRAME)[2].text == "Save"


def test_a_cover_whose_click_goes_to_the_same_node_does_no_harm() -> None:
    tree = screen(row(element("Save"), element("Shade", "[0,0][100,50]")))
    assert point_of(choose(tree, "Save"), tree, "click", FRAME)[2].text == "Shade"
    apart = screen(row(element("Save")), row(element("Shade", "[0,0][100,50]")))
    assert refusal("NODE_COVERED", apart, "Save", apart)


def test_a_node_that_moved_before_the_touch_is_not_found() -> None:
    assert refusal("NODE_NOT_FOUND", screen(element("Save")), "Save", screen(element("Save", "[0,9][100,29]")))


# Guards


@pytest.mark.parametrize(
    ("attributes", "guard"),
    [
        ('text="Save" resource-id="a:id/b"', {"resourceId": "a:id/b", "textEquals": "Save"}),
        ('text="S"', {"textEquals": "S"}),
        ('text="secret" password="true" resource-id="a:id/b"', {"resourceId": "a:id/b"}),
        (f'text="{"x" * 512}"', {"textEquals": "x" * 512}),
        (f'text="{"x" * 513}" resource-id="a:id/b"', {"resourceId": "a:id/b"}),
        ("", {}),
    ],
)
def test_a_guard_is_what_a_node_has_itself(attributes: str, guard: dict[str, str]) -> None:
    node = parse_hierarchy(f'<hierarchy><node class="a" bounds="[0,0][9,9]" {attributes}/></hierarchy>').nodes[0]
    assert own_guard(node) == guard


# What the Operator matched

SAVE = screen(element("Save"))
PASSWORD = screen(element("Secret", more='password="true"'))


def report(tree: Hierarchy, text: str, **changes: Any) -> str:
    return json.dumps(json.loads(describe_node(named(tree, text))) | changes)


@pytest.mark.parametrize(
    ("data", "by_itself", "by_selector", "is_sure"),
    [
        ({}, True, True, True),
        ({"matched_target": report(SAVE, "Save")}, True, True, True),
        ({"matched_target": report(SAVE, "Save")}, False, False, True),
        ({"matched_target": "nonsense"}, True, True, False),
        ({"matched_target": "[]"}, True, True, False),
        ({"matched_target": "[]"}, False, False, False),
        ({"matched_target": report(SAVE, "Save", label="Delete")}, True, True, False),
        ({"matched_target": report(SAVE, "Save", label="Delete")}, False, False, False),
        ({"matched_target": report(SAVE, "Save", resourceId="a:id/b")}, True, True, False),
        ({"matched_target": report(SAVE, "Save"), "candidate_count": "1"}, True, True, True),
        ({"matched_target": report(SAVE, "Save"), "candidate_count": "2"}, True, True, False),
        ({"matched_target": report(SAVE, "Save"), "candidate_count": "2"}, True, False, True),
        ({"matched_target": report(SAVE, "Save", bounds="[0,9][9,9]")}, True, True, True),
        ({"matched_target": report(SAVE, "Save", bounds="[0,9][9,9]")}, True, False, False),
        ({"matched_target": report(SAVE, "Save", bounds="[0,9][9,9]")}, False, True, False),
    ],
)
def test_the_node_that_the_operator_reports_must_be_the_chosen_one(
    data: dict[str, str], *, by_itself: bool, by_selector: bool, is_sure: bool
) -> None:
    chosen = choose(SAVE, "Save", by_itself=by_itself)
    if is_sure:
        check_matched(data, chosen.node, chosen, by_selector=by_selector)
        return
    with pytest.raises(ClawError) as error:
        check_matched(data, chosen.node, chosen, by_selector=by_selector)
    assert (error.value.code, error.value.after_effect) == ("TARGET_CHANGED", True)
    assert (error.value.details or {})["acted_on"] == data["matched_target"]


def test_a_password_field_may_be_reported_with_another_label() -> None:
    chosen = choose(PASSWORD, "Secret")
    check_matched(
        {"matched_target": report(PASSWORD, "Secret", label="••••")}, chosen.node, chosen, by_selector=True
    )
    other = {"matched_target": report(PASSWORD, "Secret", **{"class": "b"})}
    with pytest.raises(ClawError):
        check_matched(other, chosen.node, chosen, by_selector=True)


def test_a_node_is_in_place_gone_or_elsewhere_after_a_touch() -> None:
    def gone(_: Hierarchy) -> Node:
        raise ClawError("NODE_NOT_FOUND", "gone")

    assert is_in_place(choose(SAVE, "Save"), SAVE) is True
    assert is_in_place(ChosenNode(SAVE, named(SAVE, "Save"), True, gone), SAVE) is False
    with pytest.raises(ClawError) as error:
        is_in_place(choose(SAVE, "Save"), screen(element("Save", "[0,9][100,29]")))
    assert error.value.code == "TARGET_CHANGED"
