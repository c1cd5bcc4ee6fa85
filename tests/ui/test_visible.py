"""Which nodes are visible."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.ui.node import Bounds, Hierarchy, keep_visible, visible_nodes
from tests.ui.trees import hierarchies, hierarchy, node

FRAME = Bounds(0, 0, 1000, 2000)


def seen(tree: Hierarchy) -> list[str]:
    return [each.text for each in visible_nodes(tree, FRAME)]


@pytest.mark.parametrize(
    ("bounds", "shown"),
    [
        ("[0,0][10,10]", True),
        ("[-5,-5][1,1]", True),
        ("[999,1999][3000,3000]", True),
        ("[-10,-10][2000,3000]", True),
        ("[10,10][5,5]", True),
        ("[0,0][0,10]", False),
        ("[0,5][10,5]", False),
        ("[1000,0][1010,10]", False),
        ("[0,2000][10,2010]", False),
        ("[-10,0][0,10]", False),
        ("[0,-10][10,0]", False),
        ("", False),
    ],
)
def test_a_node_is_seen_when_it_covers_part_of_the_frame(bounds: str, shown: bool) -> None:  # noqa: FBT001 - a column of the table
    assert seen(hierarchy(node(node(text="x", bounds=bounds), text="root"))) == ["root", "x"][: 1 + shown]


def test_the_frame_need_not_begin_at_zero() -> None:
    tree = hierarchy(node(node(text="bar", bounds="[0,0][100,60]"), node(text="app", bounds="[0,60][100,100]")))
    assert [each.text for each in visible_nodes(tree, Bounds(0, 60, 100, 100))] == ["", "app"]


def test_nodes_reported_as_hidden_are_not_visible() -> None:
    hidden = node(text="hidden", visible_to_user="false")
    unseen = node(text="known", extras=("invisible",))
    shown = node(text="shown", visible_to_user="true", extras=("heading",))
    assert seen(hierarchy(node(hidden, unseen, shown))) == ["", "shown"]


def test_a_hidden_node_hides_all_below_it() -> None:
    tree = hierarchy(node(node(node(node(text="deep")), bounds="[0,0][0,0]"), node(text="beside")))
    assert seen(tree) == ["", "beside"]


def test_roots_are_always_kept_and_so_is_the_node_a_search_starts_from() -> None:
    inner = node(node(text="leaf"), text="inner", bounds="")
    tree = hierarchy(node(inner, text="a", bounds=""), node(text="b", visible_to_user="false"))
    assert seen(tree) == ["a", "b"]
    assert [each.text for each in visible_nodes(inner, FRAME)] == ["inner", "leaf"]


def test_a_deep_tree_is_seen_without_recursion() -> None:
    inner = leaf = node(text="leaf")
    for _ in range(5_000):
        inner = node(inner)
    tree = hierarchy(inner)
    assert len(visible_nodes(tree, FRAME)) == 5_001
    assert list(keep_visible([leaf], tree, FRAME)) == [leaf]


@pytest.mark.random
@given(tree=hierarchies(), data=st.data())
def test_asking_for_some_nodes_gives_those_of_all(tree: Hierarchy, data: st.DataObject) -> None:
    all_seen = set(visible_nodes(tree, FRAME))
    some = data.draw(st.lists(st.sampled_from(tree.nodes), unique_by=id)) if tree.nodes else []
    assert list(keep_visible(some, tree, FRAME)) == [each for each in some if each in all_seen]
    for start in some:
        below = list(start.walk())
        assert list(keep_visible(below, start, FRAME)) == visible_nodes(start, FRAME)
