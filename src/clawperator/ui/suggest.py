"""What a query lists: elements as data, selectors of a node, the most stable first; the nearest labels and ids."""

import shlex
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from clawperator._base.text import distance, is_blank, printable, utf16_length
from clawperator.contract.limits import MAX_MATCHER_VALUE_LENGTH
from clawperator.contract.selectors import NodeMatcher, NodeSelector, render_flags
from clawperator.ui.node import HIDDEN, Bounds, Hierarchy, Node, role_of, visible_nodes
from clawperator.ui.outline import Outline, outline_of, shorten
from clawperator.ui.privacy import has_password
from clawperator.ui.select import find_nodes

# How many labels around a node are tried as what it is next to.
_MAX_NEIGHBOURS = 6
_MAX_ROW_LEVELS = 4
_CONTRACT_CHOICES = (
    *(("resourceId",), ("contentDescEquals",), ("textEquals",)),
    *(("resourceId", "textEquals"), ("resourceId", "contentDescEquals"), ("textEquals", "contentDescEquals")),
)
Fields = dict[str, Any]
MAX_NEAREST = 5
_MAX_LENGTH = 80
_MIN_PART = 3
_LABEL_FIELDS = ("textEquals", "textContains", "contentDescEquals", "contentDescContains", "textMatches")
_ID = ":id/"
_STATES = ("clickable", "checked", "focused", "selected", "scrollable", "password")


def contract_selector(hierarchy: Hierarchy, node: Node, frame: Bounds) -> NodeMatcher | None:
    """A selector with the fields that an Operator knows and that matches only this node; None when there is none.

    Roles are tried last: a device knows more about a node than its XML has, and may infer another role.
    """
    own = _own_fields(node)
    choices = [choice for names in _CONTRACT_CHOICES for choice in _pick(own, *names)]
    choices += [{**choice, "role": role_of(node)} for choice in choices]
    for choice in choices:
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


def _pick(own: Fields, *names: str) -> list[Fields]:
    """The fields of these names as the only choice; none unless the node has all of them."""
    return [{name: own[name] for name in names}] if all(name in own for name in names) else []


def _plain(node: Node) -> Iterator[Fields]:
    own = _own_fields(node)
    short = own.get("resourceId", "").rpartition(":id/")[2]
    if short:
        yield {"shortId": short}
    for names in _CONTRACT_CHOICES[:-1]:
        yield from _pick(own, *names)


def _ranked(hierarchy: Hierarchy, node: Node, frame: Bounds) -> Iterator[Fields]:
    yield from _plain(node)
    own = _own_fields(node)
    kind = _kind(node)
    labels, ids = _pick(own, "textEquals"), _pick(own, "resourceId")
    for picked in (*labels, *ids):
        yield {**kind, **picked}
    if kind:
        yield kind
    base = {**kind, **next(iter(ids or labels), {})}
    for label, relations in _neighbours(hierarchy, node, frame):
        for relation in relations:
            yield {**base, relation: {"textEquals": label}}
    yield from _by_index(hierarchy, node, frame, [base, kind, *labels])


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


class NearMatch(Struct, frozen=True):
    """A label or id on the screen, and the contract field that selects it."""

    value: str
    field: str


def nearest_matches(hierarchy: Hierarchy, matcher: NodeMatcher, frame: Bounds) -> list[NearMatch]:
    """The labels and ids most like those of a selector, the nearest first; none that is too different."""
    labels = [value for name in _LABEL_FIELDS if (value := _value(matcher, name))]
    ids = [value for name in ("resourceId", "shortId") if (value := _value(matcher, name))]
    ranked: dict[NearMatch, float] = {}
    for node in visible_nodes(hierarchy, frame):
        for match, rank in _ranks(node, labels, ids):
            ranked[match] = min(rank, ranked.get(match, rank))
    return sorted(ranked, key=lambda match: ranked[match])[:MAX_NEAREST]


def _value(matcher: NodeMatcher, name: str) -> str:
    value = getattr(matcher, name, UNSET)
    return value if isinstance(value, str) and not is_blank(value) else ""


def _ranks(node: Node, labels: list[str], ids: list[str]) -> Iterator[tuple[NearMatch, float]]:
    label = node.label
    if labels and label and len(label) <= _MAX_LENGTH and not has_password(node):
        for wanted in labels:
            if (rank := _rank(wanted, label)) is not None:
                yield NearMatch(label, "textEquals"), rank
    if ids and node.resource_id:
        for wanted in ids:
            if (rank := _rank(wanted.rpartition(_ID)[2], node.resource_id.rpartition(_ID)[2])) is not None:
                yield NearMatch(node.resource_id, "resourceId"), rank


def _rank(wanted: str, found: str) -> float | None:
    """How different two names are: case, then a part of the other, then edits. None when too different."""
    a, b = wanted[:_MAX_LENGTH].casefold().strip(), found.casefold().strip()
    if a == b:
        return 0
    shorter, longer = sorted((a, b), key=len)
    if len(shorter) >= _MIN_PART and shorter in longer:
        return 1 + len(longer) / 1_000
    most = max(2, len(a) // 3) if len(a) >= _MIN_PART else 1
    if abs(len(a) - len(b)) > most:
        return None
    edits = distance(a, b)
    return 1 + edits if edits <= most else None


def query_nodes(hierarchy: Hierarchy, selector: NodeSelector | None, frame: Bounds) -> list[Node]:
    """The visible nodes that match; without a selector every element a user can see or touch."""
    if selector is None:
        return [element.node for element in outline_of(hierarchy, frame).elements]
    return find_nodes(hierarchy, selector, frame)


def describe_matches(
    hierarchy: Hierarchy,
    nodes: list[Node],
    frame: Bounds,
    *,
    suggest: bool = False,
    numbered: Outline | None = None,
) -> list[dict[str, Any]]:
    """Role, label, id, class, bounds and states of each node. The text of a password field is masked.

    ``numbered`` is the outline of the same screen, with references.
    """
    described = []
    for node in nodes:
        label = HIDDEN if has_password(node) else node.label
        facts = {
            "ref": "" if numbered is None else reference_of(node, numbered),
            "role": role_of(node),
            "label": printable(shorten(label)),
            "resourceId": printable(node.resource_id),
            "class": printable(node.class_name),
            "bounds": str(node.bounds),
        }
        states = [name for name in _STATES if node.flag(name)]
        if node.attributes.get("enabled") == "false":
            states.append("disabled")
        found: dict[str, Any] = {name: fact for name, fact in facts.items() if fact}
        found["states"] = states
        if suggest:
            selectors = suggest_selectors(hierarchy, node, frame)
            found["selectors"] = [msgspec.to_builtins(one) for one in selectors]
            found["flags"] = [selector_flags(one) for one in selectors]
        described.append(found)
    return described


def reference_of(node: Node, outline: Outline) -> str:
    """The reference of a node in a numbered outline: its own, or that of the row that takes a click on it.

    Empty when the node has none.
    """
    taker = next((one for one in (node, *node.ancestors()) if one.flag("clickable")), node)
    refs = {id(element.node): element.ref for element in outline.elements if element.node in (node, taker)}
    return refs.get(id(node)) or refs.get(id(taker), "")


def selector_flags(selector: NodeSelector) -> str:
    """The flags of ``click``, ``read``, ``wait`` and ``query`` for a selector, quoted for a shell."""
    return shlex.join(render_flags(msgspec.to_builtins(selector)))
