"""Selectors: matching nodes, relations and positions, compared with a plain implementation."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from clawperator.contract.selectors import HOST_FIELDS, NodeMatcher, NodeSelector
from clawperator.ui.node import Bounds, Hierarchy, Node, role_of, visible_nodes
from clawperator.ui.select import (
    AmbiguousSelectorError,
    compile_matcher,
    find_nodes,
    select_nodes,
)
from tests.ui.trees import hierarchies, hierarchy, node

LARGE_FRAME = Bounds(0, 0, 1000, 2000)
FRAME = Bounds(0, 0, 100, 100)


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
    assert compile_matcher(NodeMatcher(**matcher))(made) is expected


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
    assert compile_matcher(matcher)(node(content_desc="", resource_id="")) is bare
    assert compile_matcher(matcher)(node(text="a", content_desc="b", resource_id="c", class_="d")) is full


def test_the_first_found_is_the_first_depth_first() -> None:
    tree = hierarchy(node(node(node(text="x", resource_id="deep")), node(text="x", resource_id="beside")))
    assert [each.resource_id for each in find_nodes(tree, NodeMatcher(textEquals="x"), LARGE_FRAME)] == [
        "deep",
        "beside",
    ]


def test_what_cannot_be_seen_is_not_found() -> None:
    hidden = node(node(text="x"), bounds="[0,0][0,0]")
    away = node(text="x", bounds="[0,3000][10,3010]")
    assert find_nodes(hierarchy(node(hidden, away)), NodeMatcher(textEquals="x"), LARGE_FRAME) == []


def test_a_search_below_a_node_stays_there() -> None:
    box = node(node(text="x", resource_id="in"), text="x", resource_id="box")
    tree = hierarchy(node(node(text="x", resource_id="out"), box))
    assert [each.resource_id for each in find_nodes(box, NodeMatcher(textEquals="x"), LARGE_FRAME)] == [
        "box",
        "in",
    ]
    assert len(find_nodes(tree, NodeMatcher(textEquals="x"), LARGE_FRAME)) == 3


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
    expected = [each for each in visible_nodes(tree, LARGE_FRAME) if compile_matcher(matcher)(each)]
    assert find_nodes(tree, matcher, LARGE_FRAME) == expected
    for each in expected:
        wanted = given_fields.get("textContains", "")
        assert wanted.casefold() in each.label.casefold()
        assert given_fields.get("textEquals", each.label) == each.label


def selector(**fields: Any) -> NodeSelector:
    return msgspec.convert({name.rstrip("_"): value for name, value in fields.items()}, NodeSelector)


# A naive oracle: every definition of docs/guides/selectors.md, written as one condition on one node.


def _related(screen: list[Node], nested: NodeSelector) -> list[Node]:
    return _oracle(screen, screen, nested)


def _gap(name: str, a: Bounds, b: Bounds) -> int | None:
    columns, rows = a.left < b.right and b.left < a.right, a.top < b.bottom and b.top < a.bottom
    gaps = {
        "below": (a.top - b.bottom, columns),
        "above": (b.top - a.bottom, columns),
        "rightOf": (a.left - b.right, rows),
        "leftOf": (b.left - a.right, rows),
    }
    gap, shares = gaps[name]
    return gap if gap >= 0 and shares else None


def _has_flag(one: Node, name: str, wanted: bool) -> bool:  # noqa: FBT001 - a column of the table
    return one.flag(name) == wanted


def _is_placed(one: Node, name: str, related: Callable[[str], list[Node]], _wanted: object) -> bool:
    others = [other for other in related(name) if other is not one]
    return any(_gap(name, one.bounds, other.bounds) is not None for other in others)


def _ids_meant(screen: list[Node], name: str) -> set[str]:
    """The id itself, or, where no node has it and it has no package, every id that ends in it."""
    present = {one.resource_id for one in screen}
    return {name} if ":id/" in name or name in present else {one for one in present if one.endswith(f":id/{name}")}


def _holds(screen: list[Node], one: Node, wanted: NodeSelector) -> bool:
    def given_(name: str) -> Any:
        return getattr(wanted, name)

    def related(name: str) -> list[Node]:
        return _related(screen, given_(name))

    conditions: dict[str, Callable[[Any], Any]] = {
        "resourceId": lambda v: bool(v) and one.resource_id in _ids_meant(screen, v),
        "role": lambda v: role_of(one) == v.casefold(),
        "textEquals": lambda v: one.label == v,
        "textContains": lambda v: v.casefold() in one.label.casefold(),
        "contentDescEquals": lambda v: bool(v) and one.content_desc == v,
        "contentDescContains": lambda v: one.content_desc != "" and v.casefold() in one.content_desc.casefold(),
        "shortId": lambda v: one.resource_id == v or one.resource_id.endswith(":id/" + v),
        "className": lambda v: v in (one.class_name, one.class_name.split(".")[-1]),
        "textMatches": lambda v: re.fullmatch(v, one.label) is not None,
        "contentDescMatches": lambda v: re.fullmatch(v, one.content_desc) is not None,
        "enabled": lambda v: (one.attributes.get("enabled") != "false") == v,
        **{
            name: partial(_has_flag, one, name)
            for name in ("checked", "focused", "selected", "scrollable", "password")
        },
        "ancestor": lambda v: any(
            other in one.ancestors() for other in _containers(screen, v, replace(wanted, **_AFTER_ANCESTOR))
        ),
        "descendant": lambda _: any(one in other.ancestors() for other in related("descendant")),
        "sibling": lambda _: any(
            other is not one and other.parent is one.parent and one.parent for other in related("sibling")
        ),
        **{name: partial(_is_placed, one, name, related) for name in ("below", "above", "leftOf", "rightOf")},
        "not_": lambda _: one not in related("not_"),
        "anyOf": lambda v: any(one in _related(screen, each) for each in v),
    }
    return all(
        condition(given_(name)) for name, condition in conditions.items() if given_(name) is not msgspec.UNSET
    )


# What is tested after the ancestor.
_AFTER_ANCESTOR: dict[str, Any] = dict.fromkeys(
    (
        *("ancestor", "not_", "below", "above", "leftOf", "rightOf", "index"),
        *("checked", "enabled", "focused", "selected", "scrollable", "password"),
    ),
    msgspec.UNSET,
)


def _containers(screen: list[Node], ancestor: NodeSelector, candidate: NodeSelector) -> list[Node]:
    """The matches of an ancestor; with ``descendant``, the nearest around each one that contain a candidate."""
    matches = _related(screen, ancestor)
    if ancestor.descendant is msgspec.UNSET:
        return matches
    candidates = _related(screen, candidate)
    containers = []
    for inside in _related(screen, ancestor.descendant):
        around = [one for one in inside.ancestors() if one in matches]
        containers += [one for one in around if any(one in other.ancestors() for other in candidates)][:1]
    return containers


def _oracle(screen: list[Node], among: list[Node], wanted: NodeSelector) -> list[Node]:
    found = [one for one in among if _holds(screen, one, wanted)]

    def distance(one: Node) -> int:
        total = 0
        for name in ("below", "above", "leftOf", "rightOf"):
            nested = getattr(wanted, name)
            if nested is not msgspec.UNSET:
                gaps = [_gap(name, one.bounds, o.bounds) for o in _related(screen, nested) if o is not one]
                total += min(gap for gap in gaps if gap is not None)
        return total

    found.sort(key=distance)
    return found if wanted.index is msgspec.UNSET else found[wanted.index : wanted.index + 1]


_WORDS = ("Wi-Fi", "Delete", "a", "")
_attributes = st.fixed_dictionaries(
    {
        "bounds": st.builds(
            lambda x, y, w, h: f"[{x},{y}][{x + w},{y + h}]", *[st.integers(0, 60)] * 2, *[st.integers(1, 40)] * 2
        )
    },
    optional={
        "text": st.sampled_from(_WORDS),
        "content-desc": st.sampled_from(_WORDS),
        "class": st.sampled_from(("android.widget.Switch", "android.widget.Button", "a.b.C")),
        "resource-id": st.sampled_from(("p:id/title", "q:id/title", "p:id/switch", "title")),
        **{
            name: st.sampled_from(("true", "false"))
            for name in ("checked", "enabled", "focused", "selected", "scrollable", "password", "clickable")
        },
    },
)


@st.composite
def screens(draw: st.DrawFn) -> Hierarchy:
    made: list[Node] = []
    for attributes in draw(st.lists(_attributes, min_size=1, max_size=9)):
        parent = draw(st.sampled_from(made)) if made else None
        new = Node(attributes, parent)
        if parent is not None:
            parent.children.append(new)
        made.append(new)
    return Hierarchy({}, [made[0]], list(made[0].walk()))


_simple = st.fixed_dictionaries(
    {},
    optional={
        "textEquals": st.sampled_from(_WORDS[:3]),
        "textContains": st.sampled_from(("wi", "A")),
        "resourceId": st.sampled_from(("p:id/title", "title")),
        "role": st.sampled_from(("button", "switch")),
        "shortId": st.sampled_from(("title", "switch")),
        "className": st.sampled_from(("Switch", "android.widget.Button", "C")),
        "textMatches": st.sampled_from((".*i", "[A-Z].*", "a|Delete")),
        "contentDescMatches": st.sampled_from((".*i", "")),
        **{
            name: st.booleans() for name in ("checked", "enabled", "focused", "selected", "scrollable", "password")
        },
    },
)
_RELATIONS = ("ancestor", "descendant", "sibling", "below", "above", "leftOf", "rightOf", "not")


def _nest(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    more = st.fixed_dictionaries(
        {},
        optional={
            **dict.fromkeys(_RELATIONS, inner),
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "index": st.integers(0, 2),
        },
    )
    return st.builds(lambda a, b: {**a, **b}, _simple, more)


selectors = st.recursive(_simple, _nest, max_leaves=4).map(lambda fields: msgspec.convert(fields, NodeSelector))


@given(screens(), selectors)
def test_a_selector_finds_the_nodes_that_its_definitions_name(screen: Hierarchy, wanted: NodeSelector) -> None:
    shown = visible_nodes(screen, FRAME)
    assert find_nodes(screen, wanted, FRAME) == _oracle(shown, shown, wanted)


@given(screens(), selectors, st.data())
def test_a_container_limits_the_targets_and_not_what_they_relate_to(
    screen: Hierarchy, wanted: NodeSelector, data: st.DataObject
) -> None:
    shown = visible_nodes(screen, FRAME)
    container = data.draw(st.sampled_from(shown))
    assert find_nodes(container, wanted, FRAME) == _oracle(shown, visible_nodes(container, FRAME), wanted) or (
        wanted.for_operator
    )


@given(screens(), selectors)
def test_a_unique_selector_names_one_node_or_all_that_it_could_be(screen: Hierarchy, wanted: NodeSelector) -> None:
    found = find_nodes(screen, wanted, FRAME)
    unique = msgspec.structs.replace(wanted, unique=True)
    if len(found) <= 1:
        assert select_nodes(screen, unique, FRAME) == found
        return
    with pytest.raises(AmbiguousSelectorError) as caught:
        select_nodes(screen, unique, FRAME)
    assert caught.value.nodes == found


ROWS = hierarchy(
    node(
        node(
            node(text="Wi-Fi", bounds="[0,0][50,20]", resource_id="p:id/title"),
            node(
                class_="android.widget.Switch", checked="true", bounds="[60,0][90,20]", resource_id="p:id/switch"
            ),
            bounds="[0,0][100,20]",
        ),
        node(
            node(text="Bluetooth", bounds="[0,20][50,40]", resource_id="p:id/title"),
            node(class_="android.widget.Switch", bounds="[60,20][90,40]", resource_id="p:id/switch"),
            bounds="[0,20][100,40]",
        ),
        node(text="Delete", bounds="[0,40][50,60]", resource_id="p:id/delete"),
        class_="x.RecyclerView",
    )
)


@pytest.mark.parametrize(
    ("fields", "bounds"),
    [
        ({"className": "Switch", "rightOf": {"textEquals": "Bluetooth"}}, ["[60,20][90,40]"]),
        ({"role": "switch", "sibling": {"textEquals": "Wi-Fi"}}, ["[60,0][90,20]"]),
        ({"className": "Switch", "checked": False}, ["[60,20][90,40]"]),
        ({"shortId": "title", "above": {"textEquals": "Delete"}}, ["[0,20][50,40]", "[0,0][50,20]"]),
        ({"shortId": "title", "above": {"textEquals": "Delete"}, "index": 0}, ["[0,20][50,40]"]),
        ({"shortId": "title", "textMatches": "B.*h"}, ["[0,20][50,40]"]),
        ({"textMatches": "B"}, []),
        ({"descendant": {"textEquals": "Wi-Fi"}, "ancestor": {"role": "list"}}, ["[0,0][100,20]"]),
        ({"role": "switch", "ancestor": {"role": "list"}}, ["[60,0][90,20]", "[60,20][90,40]"]),
        ({"role": "switch", "ancestor": {"descendant": {"textEquals": "Bluetooth"}}}, ["[60,20][90,40]"]),
        ({"role": "switch", "ancestor": {"descendant": {"textEquals": "Bluetooth"}}, "checked": True}, []),
        (
            {"role": "switch", "ancestor": {"descendant": {"shortId": "title"}}},
            ["[60,0][90,20]", "[60,20][90,40]"],
        ),
        (
            {"role": "switch", "ancestor": {"descendant": {"textEquals": "Bluetooth"}, "role": "list"}},
            ["[60,0][90,20]", "[60,20][90,40]"],
        ),
        ({"textEquals": "Delete", "ancestor": {"descendant": {"textEquals": "Bluetooth"}}}, ["[0,40][50,60]"]),
        ({"shortId": "title", "not": {"textEquals": "Wi-Fi"}}, ["[0,20][50,40]"]),
        ({"anyOf": [{"textEquals": "Delete"}, {"textEquals": "Wi-Fi"}]}, ["[0,0][50,20]", "[0,40][50,60]"]),
        ({"textEquals": "Wi-Fi", "index": 1}, []),
    ],
)
def test_rows_of_settings(fields: dict[str, Any], bounds: list[str]) -> None:
    assert [str(one.bounds) for one in find_nodes(ROWS, selector(**fields), FRAME)] == bounds


def test_a_short_id_stands_for_one_node() -> None:
    assert len(select_nodes(ROWS, selector(shortId="delete"), FRAME)) == 1
    with pytest.raises(AmbiguousSelectorError) as caught:
        select_nodes(ROWS, selector(shortId="title"), FRAME)
    assert [one.text for one in caught.value.nodes] == ["Wi-Fi", "Bluetooth"]
    assert len(select_nodes(ROWS, selector(shortId="title"), FRAME, several=True)) == 2


def test_an_id_without_a_package_is_an_exact_one_or_else_a_short_one() -> None:
    tag = node(resource_id="title", bounds="[0,60][50,80]")
    with_tag = hierarchy(node(*(node(resource_id=f"p:id/{name}") for name in ("title", "other")), tag))

    assert select_nodes(with_tag, selector(resourceId="title"), FRAME) == [tag]
    assert [one.resource_id for one in select_nodes(with_tag, selector(resourceId="other"), FRAME)] == [
        "p:id/other"
    ]
    assert select_nodes(with_tag, selector(resourceId="p:id/none"), FRAME) == []
    assert [one.text for one in select_nodes(ROWS, selector(resourceId="delete"), FRAME)] == ["Delete"]
    assert len(find_nodes(ROWS, selector(className="Switch", rightOf={"resourceId": "title"}), FRAME)) == 2
    with pytest.raises(AmbiguousSelectorError):
        select_nodes(ROWS, selector(resourceId="title"), FRAME)


def test_several_nodes_may_have_the_same_exact_id() -> None:
    tags = hierarchy(node(node(resource_id="row"), node(resource_id="row")))

    assert len(select_nodes(tags, selector(resourceId="row"), FRAME)) == 2


def test_a_nested_selector_may_be_required_to_be_unique() -> None:
    with pytest.raises(AmbiguousSelectorError):
        find_nodes(ROWS, selector(textEquals="Delete", below={"className": "Switch", "unique": True}), FRAME)


def test_every_host_field_but_the_reference_is_in_the_oracle() -> None:
    assert {"ref", "index", "unique"} == set(HOST_FIELDS) - {
        "shortId", "className", "textMatches", "contentDescMatches", "checked", "enabled", "focused", "selected",
        "scrollable", "password", "ancestor", "descendant", "sibling", "below", "above", "leftOf", "rightOf", "not_",
        "anyOf",
    }  # fmt: skip


def test_a_reference_is_not_resolved_without_its_store() -> None:
    with pytest.raises(ValueError, match="e12"):
        find_nodes(ROWS, selector(ref="e12"), FRAME)
