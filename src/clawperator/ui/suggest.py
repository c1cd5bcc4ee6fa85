"""Selectors for a node, the most stable first, each checked to match that node alone."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from clawperator._base.text import is_blank, utf16_length
from clawperator.contract.limits import MAX_MATCHER_VALUE_LENGTH
from clawperator.contract.selectors import NodeMatcher, NodeSelector
from clawperator.ui.find import find_nodes
from clawperator.ui.node import Bounds, Hierarchy, Node
from clawperator.ui.passwords import has_password
from clawperator.ui.roles import role_of
from clawperator.ui.visible import visible_nodes

# How many labels around a node are tried as what it is next to.
_MAX_NEIGHBOURS = 6
_MAX_ROW_LEVELS = 4
_CONTRACT_CHOICES = (
    *(("resourceId",), ("contentDescEquals",), ("textEquals",)),
    *(("resourceId", "textEquals"), ("resourceId", "contentDescEquals"), ("textEquals", "contentDescEquals")),
)
Fields = dict[str, Any]


def contract_selector(hierarchy: Hierarchy, node: Node, frame: Bounds) -> NodeMatcher | None:
    """A selector with the fields that an Operator knows and that matches only this node; None when there is none.

    Roles are tried last: a device knows more about a node than its XML has, and may infer another role.
    """
    own = _own_fields(node)
    choices = [_pick(own, *names) for names in _CONTRACT_CHOICES]
    choices += [{**choice, "role": role_of(node)} for choice in choices if choice is not None]
    for choice in choices:
        if choice is not None:
            selector = msgspec.convert(choice, NodeMatcher)
            if find_nodes(hierarchy, selector, frame) == [node]:
                return selector
    return None


def suggest_selectors(hierarchy: Hierarchy, node: Node, frame: Bounds, most: int = 5) -> list[NodeSelector]:
    """At most ``most`` selectors of a visible node, ranked by stability.

    An id is the most stable, then a description, a label, a label with a role, a relation to a label, and last a
    position among equals. No selector has the text of a password field.
    """
    return _unique(_ranked(hierarchy, node, frame), hierarchy, node, frame, most)


def plain_selector(hierarchy: Hierarchy, node: Node, frame: Bounds) -> NodeSelector | None:
    """The most stable selector by the node's own id, description and label; None when none is unique."""
    return next(iter(_unique(_plain(node), hierarchy, node, frame, most=1)), None)


def _unique(
    choices: Iterable[Fields], hierarchy: Hierarchy, node: Node, frame: Bounds, most: int
) -> list[NodeSelector]:
    """The first selectors that match this node alone."""
    found: list[NodeSelector] = []
    for fields in choices:
        selector = msgspec.convert(fields, NodeSelector)
        if selector not in found and find_nodes(hierarchy, selector, frame) == [node]:
            found.append(selector)
            if len(found) == most:
                break
    return found


def _own_fields(node: Node) -> dict[str, str]:
    """The fields that a node has itself, as far as a selector can hold them."""
    label = "" if has_password(node) else node.label
    given = {"resourceId": node.resource_id, "contentDescEquals": node.content_desc, "textEquals": label}
    return {
        name: value
        for name, value in given.items()
        if not is_blank(value) and utf16_length(value) <= MAX_MATCHER_VALUE_LENGTH
    }


def _pick(own: Fields, *names: str) -> Fields | None:
    return {name: own[name] for name in names} if all(name in own for name in names) else None


def _plain(node: Node) -> Iterator[Fields]:
    own = _own_fields(node)
    short = own.get("resourceId", "").rpartition(":id/")[2]
    if short:
        yield {"shortId": short}
    for names in _CONTRACT_CHOICES[:-1]:
        yield from _given(_pick(own, *names))


def _ranked(hierarchy: Hierarchy, node: Node, frame: Bounds) -> Iterator[Fields]:
    yield from _plain(node)
    own = _own_fields(node)
    kind = _kind(node)
    for name in ("textEquals", "resourceId"):
        picked = _pick(own, name)
        if picked is not None:
            yield {**kind, **picked}
    if kind:
        yield kind
    base = {**kind, **(_pick(own, "resourceId") or _pick(own, "textEquals") or {})}
    for label, relations in _neighbours(hierarchy, node, frame):
        for relation in relations:
            yield {**base, relation: {"textEquals": label}}
    yield from _by_index(hierarchy, node, frame, [base, kind, *_given(_pick(own, "textEquals"))])


def _given(fields: Fields | None) -> list[Fields]:
    return [] if fields is None else [fields]


def _kind(node: Node) -> Fields:
    """The role of a node, or else its class."""
    role = role_of(node)
    if role not in ("unknown", "container"):
        return {"role": role}
    name = node.class_name.rpartition(".")[2]
    return {"className": name} if name else {}


def _neighbours(hierarchy: Hierarchy, node: Node, frame: Bounds) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Labels inside a node or in its row, each with the relations that the node may have to it."""
    shown = {id(one) for one in visible_nodes(hierarchy, frame)}

    def labels(nodes: Iterable[Node]) -> list[str]:
        found = [_own_fields(one).get("textEquals", "") for one in nodes if id(one) in shown and one is not node]
        return [label for label in dict.fromkeys(found) if label][:_MAX_NEIGHBOURS]

    for label in labels(node.walk()):
        yield label, ("descendant",)
    around = node
    for _ in range(_MAX_ROW_LEVELS):
        if around.parent is None:
            return
        around = around.parent
        siblings = labels(around.children) if around is node.parent else []
        for label in siblings:
            yield label, ("sibling",)
        for label in labels(around.walk()):
            yield label, ("rightOf", "leftOf", "below", "above")


def _by_index(hierarchy: Hierarchy, node: Node, frame: Bounds, bases: list[Fields]) -> Iterator[Fields]:
    for base in bases:
        if base:
            found = find_nodes(hierarchy, msgspec.convert(base, NodeSelector), frame)
            if node in found:
                yield {**base, "index": found.index(node)}
