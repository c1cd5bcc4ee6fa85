"""Nodes and the meaning of their attributes."""

import pytest

from clawperator.ui.node import NOWHERE, Bounds, Node, read_bounds
from tests.ui.trees import hierarchy, node


def test_bounds_are_read_as_they_are_written() -> None:
    bounds = read_bounds("[-5,10][1080,2400]")
    assert bounds == Bounds(-5, 10, 1080, 2400)
    assert str(bounds) == "[-5,10][1080,2400]"
    assert (bounds.width, bounds.height, bounds.centre) == (1085, 2390, (537, 1205))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[0,0]",
        "[0,0][1,1][2,2]",
        "[0,0][1,x]",
        "[0,0][1.5,1]",
        "null",
        "\ud83d",
        "[0,0][1," + "9" * 9_999 + "]",
    ],
)
def test_invalid_bounds_are_empty(text: str) -> None:
    assert read_bounds(text) == NOWHERE


def test_swapped_edges_are_put_in_order() -> None:
    assert Bounds(10, 20, 0, 5).normalised() == Bounds(0, 5, 10, 20)
    assert Bounds(10, 20, 0, 5).is_empty


@pytest.mark.parametrize(
    ("text", "described", "label"),
    [
        ("a", "b", "a"),
        ("", "b", "b"),
        (" \u00a0\n", "b", "b"),
        ("", " ", ""),
        (" a ", "b", " a "),
        ("…", "b", "…"),
    ],
)
def test_the_label_is_the_text_or_else_the_description(text: str, described: str, label: str) -> None:
    assert Node({"text": text, "content-desc": described}).label == label


def test_a_node_without_attributes_has_empty_properties() -> None:
    bare = Node({})
    assert (bare.text, bare.label, bare.resource_id, bare.class_name, bare.package) == ("",) * 5
    assert bare.bounds == NOWHERE
    assert not bare.flag("clickable")


def test_nodes_are_equal_only_to_themselves_and_do_not_share_children() -> None:
    a, b = Node({"text": "x"}), Node({"text": "x"})
    assert a != b
    assert len({a, b, a}) == 2
    assert a.children is not b.children


def test_a_node_shows_itself_and_not_its_tree() -> None:
    inner = node(text="in\nside", class_="C")
    node(inner, text="outside")
    assert repr(inner) == "<Node C 'in\\nside' [0,0][100,100]>"


def test_a_walk_is_depth_first_and_ancestors_go_up() -> None:
    leaf = node(text="leaf")
    root = node(node(leaf, text="a"), node(text="b"), text="root")
    assert [n.text for n in root.walk()] == ["root", "a", "leaf", "b"]
    assert [n.text for n in leaf.ancestors()] == ["a", "root"]


def test_trees_of_another_shape_have_different_content() -> None:
    deep = hierarchy(node(node(node())))
    assert deep.has_same_content(hierarchy(node(node(node()))))
    assert not deep.has_same_content(hierarchy(node(node(), node())))
    assert not deep.has_same_content(hierarchy(node(node(node(text="x")))))
    assert not deep.has_same_content(hierarchy(node(node(node())), rotation="1"))


@pytest.mark.parametrize(("written", "rotation"), [("0", 0), ("3", 3), ("", 0), ("-1", 0), ("x", 0)])
def test_an_invalid_rotation_is_zero(written: str, rotation: int) -> None:
    assert hierarchy(rotation=written).rotation == rotation
