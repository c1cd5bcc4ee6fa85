"""Selectors that are suggested for a node, and near matches."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.contract.selectors import NodeMatcher, NodeSelector
from clawperator.ui.node import Bounds, Hierarchy, visible_nodes
from clawperator.ui.select import find_nodes
from clawperator.ui.suggest import contract_selector, nearest_matches, plain_selector, suggest_selectors
from tests.ui.test_select import ROWS, screens
from tests.ui.trees import hierarchy, node

FRAME = Bounds(0, 0, 100, 100)


@given(screens(), st.data())
def test_every_suggested_selector_matches_its_node_alone(screen: Hierarchy, data: st.DataObject) -> None:
    wanted = data.draw(st.sampled_from(visible_nodes(screen, FRAME)))
    for selector in suggest_selectors(screen, wanted, FRAME):
        assert find_nodes(screen, selector, FRAME) == [wanted]
        assert next(selector.problems(), None) is None
    selector_of_contract = contract_selector(screen, wanted, FRAME)
    assert selector_of_contract is None or find_nodes(screen, selector_of_contract, FRAME) == [wanted]


@given(screens(), st.data())
def test_a_plain_selector_is_the_first_suggestion(screen: Hierarchy, data: st.DataObject) -> None:
    wanted = data.draw(st.sampled_from(visible_nodes(screen, FRAME)))
    first = suggest_selectors(screen, wanted, FRAME, 1)
    plain = {"shortId", "resourceId", "textEquals", "contentDescEquals"}
    is_plain = bool(first) and set(msgspec.to_builtins(first[0])) <= plain
    assert plain_selector(screen, wanted, FRAME) == (first[0] if is_plain else None)


def test_suggestions_are_ranked_by_stability() -> None:
    switch = ROWS.nodes[6]
    delete = ROWS.nodes[7]
    assert [msgspec.to_builtins(one) for one in suggest_selectors(ROWS, delete, FRAME)] == [
        {"shortId": "delete"},
        {"resourceId": "p:id/delete"},
        {"textEquals": "Delete"},
        {"resourceId": "p:id/delete", "textEquals": "Delete"},
        {"role": "text", "textEquals": "Delete"},
    ]
    assert msgspec.to_builtins(suggest_selectors(ROWS, switch, FRAME)[0]) == {
        "role": "switch",
        "resourceId": "p:id/switch",
        "sibling": {"textEquals": "Bluetooth"},
    }


def test_equal_nodes_are_told_apart_by_their_index() -> None:
    screen = hierarchy(node(node(text="Delete"), node(text="Delete")))
    assert [msgspec.to_builtins(one) for one in suggest_selectors(screen, screen.nodes[2], FRAME, 1)] == [
        {"role": "text", "textEquals": "Delete", "index": 1}
    ]
    assert contract_selector(screen, screen.nodes[2], FRAME) is None


def test_no_suggestion_has_the_text_of_a_password_field() -> None:
    field = node(text="hunter2", password="true", class_="android.widget.EditText")
    screen = hierarchy(node(field))
    for selector in (*suggest_selectors(screen, field, FRAME), contract_selector(screen, field, FRAME)):
        assert "hunter2" not in str(selector)
    assert nearest_matches(screen, NodeMatcher(textEquals="hunter"), FRAME) == []


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        (NodeMatcher(textEquals="bluetooth"), ["Bluetooth"]),
        (NodeMatcher(textEquals="Blutooth"), ["Bluetooth"]),
        (NodeMatcher(contentDescEquals="wifi"), ["Wi-Fi"]),
        (NodeMatcher(textContains="Delete all"), ["Delete"]),
        (NodeMatcher(resourceId="p:id/delte"), ["p:id/delete"]),
        (NodeSelector(shortId="swich"), ["p:id/switch"]),
        (NodeMatcher(textEquals="Storage"), []),
        (NodeMatcher(role="button"), []),
    ],
)
def test_near_matches_are_the_labels_and_ids_most_like_the_selector(
    selector: NodeMatcher, expected: list[str]
) -> None:
    assert [match.value for match in nearest_matches(ROWS, selector, FRAME)] == expected
