"""How an Operator acts on a node that the host chose, and whether it acted on that one."""

import json
from typing import Any

import pytest

from clawperator.device.backends.operator_driver import (
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

FRAME = Bounds(0, 0, 100, 400)


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

TWINS = (element("Name"), element("Name", "[0,380][100,400]"))


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
        row(TWINS[0], element("Delete", more=flags), element("Only"), more=more), row(TWINS[1], more=more)
    )
    target = click_selector(choose(tree, "Name"), kind, FRAME)
    assert (None if target is None else target.node.text) == selected


@pytest.mark.parametrize(("twins", "is_found"), [(21, True), (22, False)])
def test_at_most_24_other_nodes_are_tried(twins: int, *, is_found: bool) -> None:
    # The row itself, the other twins, then the only one.
    tree = screen(row(*[TWINS[0]] * (twins + 2), element("Only")))
    assert (click_selector(choose(tree, "Name"), "click", FRAME) is not None) is is_found


def test_only_the_field_itself_is_typed_into() -> None:
    tree = screen(row(TWINS[0], element("Only")), row(TWINS[1]))
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
