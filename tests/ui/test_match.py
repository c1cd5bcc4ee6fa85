"""Which nodes match a selector."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.contract.selectors import NodeMatcher
from clawperator.ui.find import find_node, find_nodes
from clawperator.ui.match import compile_matcher, matches
from clawperator.ui.node import Bounds, Hierarchy
from clawperator.ui.visible import visible_nodes
from tests.ui.trees import hierarchies, hierarchy, node

FRAME = Bounds(0, 0, 1000, 2000)


@pytest.mark.parametrize(
    ("attributes", "matcher", "expected"),
    [
        ({"resource_id": "a:id/b"}, {"resourceId": "a:id/b"}, True),
        ({"resource_id": "a:id/b"}, {"resourceId": "A:id/b"}, False),
        ({"resource_id": "a:id/bc"}, {"resourceId": "a:id/b"}, False),
        ({"text": "Save"}, {"textEquals": "Save"}, True),
        ({"text": "Save"}, {"textEquals": "save"}, False),
        ({"content_desc": "Save"}, {"textEquals": "Save"}, True),
        ({"text": " ", "content_desc": "Save"}, {"textEquals": "Save"}, True),
        ({"text": "x", "content_desc": "Save"}, {"textEquals": "Save"}, False),
        ({"text": "  "}, {"textEquals": "  "}, False),
        ({"text": "Save all"}, {"textContains": "SAVE"}, True),
        ({"text": "ÄPFEL"}, {"textContains": "äpf"}, True),
        ({"text": "ΟΔΟΣ 5"}, {"textContains": "οδος"}, True),
        ({"content_desc": "Save all"}, {"textContains": "ALL"}, True),
        ({"text": "x", "content_desc": "Save"}, {"textContains": "save"}, False),
        ({"text": "a b"}, {"textContains": " "}, True),
        ({"text": " ", "content_desc": "ab"}, {"textContains": " "}, False),
        ({"content_desc": "Save"}, {"contentDescEquals": "Save"}, True),
        ({"text": "Save"}, {"contentDescEquals": "Save"}, False),
        ({"content_desc": "Save all"}, {"contentDescContains": "AVE"}, True),
        ({"text": "Save all"}, {"contentDescContains": "ave"}, False),
        ({"class_": "x.Button"}, {"role": "BUTTON"}, True),
        ({"class_": "x.Button"}, {"role": "switch"}, False),
        ({"class_": "x.Button", "text": "OK"}, {"role": "button", "textEquals": "OK"}, True),
        ({"class_": "x.Button", "text": "No"}, {"role": "button", "textEquals": "OK"}, False),
    ],
)
def test_a_node_matches_when_every_field_holds(
    attributes: dict[str, str],
    matcher: dict[str, str],
    expected: bool,  # noqa: FBT001 - a column of the table
) -> None:
    made = node(**attributes)  # type: ignore[arg-type] # none of the keys is extras
    assert matches(made, NodeMatcher(**matcher)) is expected


@pytest.mark.parametrize(
    ("field", "bare", "full"),
    [
        ("textEquals", True, False),
        ("textContains", True, True),
        ("contentDescContains", False, True),
        ("contentDescEquals", False, False),
        ("resourceId", False, False),
        ("role", False, False),
    ],
)
def test_an_empty_field_is_a_demand_too(field: str, bare: bool, full: bool) -> None:  # noqa: FBT001 - columns of the table
    matcher = NodeMatcher(**{field: ""})
    assert matches(node(content_desc="", resource_id=""), matcher) is bare
    assert matches(node(text="a", content_desc="b", resource_id="c", class_="d"), matcher) is full


def test_the_first_found_is_the_first_depth_first() -> None:
    tree = hierarchy(node(node(node(text="x", resource_id="deep")), node(text="x", resource_id="beside")))
    found = find_node(tree, NodeMatcher(textEquals="x"), FRAME)
    assert found is not None
    assert found.resource_id == "deep"
    assert [each.resource_id for each in find_nodes(tree, NodeMatcher(textEquals="x"), FRAME)] == [
        "deep",
        "beside",
    ]


def test_what_cannot_be_seen_is_not_found() -> None:
    hidden = node(node(text="x"), bounds="[0,0][0,0]")
    away = node(text="x", bounds="[0,3000][10,3010]")
    assert find_node(hierarchy(node(hidden, away)), NodeMatcher(textEquals="x"), FRAME) is None


def test_a_search_below_a_node_stays_there() -> None:
    box = node(node(text="x", resource_id="in"), text="x", resource_id="box")
    tree = hierarchy(node(node(text="x", resource_id="out"), box))
    assert [each.resource_id for each in find_nodes(box, NodeMatcher(textEquals="x"), FRAME)] == ["box", "in"]
    assert len(find_nodes(tree, NodeMatcher(textEquals="x"), FRAME)) == 3


def test_a_matcher_is_compiled_once() -> None:
    assert compile_matcher(NodeMatcher(role="button")) is compile_matcher(NodeMatcher(role="button"))


@pytest.mark.random
@given(
    tree=hierarchies(),
    given_fields=st.dictionaries(
        st.sampled_from(
            ("resourceId", "textEquals", "textContains", "contentDescEquals", "contentDescContains", "role")
        ),
        st.sampled_from(("", "true", "TRUE", " ", "a", "unknown")),
        min_size=1,
    ),
)
def test_a_search_finds_what_matches_among_what_is_seen(tree: Hierarchy, given_fields: dict[str, str]) -> None:
    matcher = NodeMatcher(**given_fields)
    expected = [each for each in visible_nodes(tree, FRAME) if matches(each, matcher)]
    assert find_nodes(tree, matcher, FRAME) == expected
    assert find_node(tree, matcher, FRAME) is (expected[0] if expected else None)
    for each in expected:
        wanted = given_fields.get("textContains", "")
        assert wanted.casefold() in each.label.casefold()
        assert given_fields.get("textEquals", each.label) == each.label
