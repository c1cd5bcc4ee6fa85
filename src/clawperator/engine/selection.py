"""Selectors that the host resolves: references, ambiguity, and how to select what is there instead."""

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import msgspec

from clawperator._base.text import one_line, printable
from clawperator.contract.selectors import NodeMatcher, NodeSelector
from clawperator.errors import ClawError
from clawperator.ui.node import Bounds, Hierarchy, Node
from clawperator.ui.outline import Outline
from clawperator.ui.privacy import shown_label
from clawperator.ui.refs import ElementFingerprint, locate, stale_reference
from clawperator.ui.select import AmbiguousSelectorError, find_nodes, select_nodes
from clawperator.ui.suggest import nearest_matches, suggest_selectors

MAX_CANDIDATES = 10
_MAX_LABEL = 120
# On a larger screen it takes too long to search for selectors.
_MAX_SEARCHED = 2_000


class ReferenceLookup(Protocol):
    """The references of a device. ``secrets`` are masked in them."""

    @property
    def secrets(self) -> Sequence[str]: ...
    def lookup(self, ref: str) -> ElementFingerprint:
        """The element that a reference names; ``REF_STALE`` when it is unknown or too old."""
        ...

    def assign(self, screen: Outline, snapshot_id: str | None = None) -> None:
        """Set the reference of each element; ``ClawError`` when the references cannot be kept.

        With an id, ``e12@<snapshot id>`` names an element of this screen.
        """
        ...


def select(
    within: Hierarchy | Node,
    selector: NodeSelector,
    frame: Bounds,
    references: ReferenceLookup | None,
    *,
    several: bool,
) -> list[Node]:
    """The visible nodes that match. ``REF_STALE`` or ``NODE_AMBIGUOUS`` when it is not certain which one is meant.

    ``several``: the caller takes all matches, so that they need not be unique.
    """
    if isinstance(selector.ref, str):
        return _located(within, selector.ref, frame, references)
    try:
        return select_nodes(within, selector, frame, several=several)
    except AmbiguousSelectorError as e:
        raise _ambiguous(within, selector, frame, e.nodes) from None


def may_be_element(
    screen: Hierarchy, ref: str, frame: Bounds, references: ReferenceLookup | None
) -> tuple[Node, ...]:
    """The nodes that may be the element of a reference. ``REF_STALE`` when the reference is unknown."""
    if references is None:
        raise stale_reference(ref, "is unknown: no snapshot of this device is kept")
    located = locate(screen, frame, references.lookup(ref), references.secrets)
    return located.alike if located.node is None else (located.node,)


def _located(within: Hierarchy | Node, ref: str, frame: Bounds, references: ReferenceLookup | None) -> list[Node]:
    if references is None:
        raise stale_reference(ref, "is unknown: no snapshot of this device is kept")
    fingerprint = references.lookup(ref)
    screen = _screen_of(within)
    located = locate(screen, frame, fingerprint, references.secrets)
    node = located.node
    if node is not None and (isinstance(within, Hierarchy) or node is within or within in node.ancestors()):
        return [node]
    alike = find_nodes(screen, NodeMatcher(textEquals=fingerprint.label), frame) if fingerprint.label else []
    if not alike and fingerprint.label:
        near = nearest_matches(screen, NodeMatcher(textEquals=fingerprint.label), frame)
        alike = [find_nodes(screen, NodeMatcher(textEquals=match.value), frame)[0] for match in near]
    reason = "is not on this screen"
    if located.alike:
        several = "matches several elements of this screen"
        reason = several if located.is_ambiguous else "may be another element now: the page around it has changed"
    found = {"candidates": candidates(screen, alike, frame)} if alike else {}
    raise stale_reference(ref, reason).with_(details={"ref": ref, **found})


def _ambiguous(within: Hierarchy | Node, selector: NodeSelector, frame: Bounds, nodes: list[Node]) -> ClawError:
    message = f"{len(nodes)} visible nodes match {printable(msgspec.json.encode(selector).decode())}"
    hint = "Add a field or a relation that only one of the candidates has, or choose one by its index."
    details = {"candidate_count": len(nodes), "candidates": candidates(_screen_of(within), nodes, frame)}
    return ClawError("NODE_AMBIGUOUS", message, hint=hint, details=details)


def candidates(screen: Hierarchy, nodes: Iterable[Node], frame: Bounds) -> str:
    """Up to ten nodes as JSON: role, label, id, class, bounds, and a selector that matches each one alone."""
    described = [_candidate(screen, node, frame) for node in list(nodes)[:MAX_CANDIDATES]]
    return msgspec.json.encode(described).decode()


def _candidate(screen: Hierarchy, node: Node, frame: Bounds) -> dict[str, Any]:
    facts = {
        "label": one_line(shown_label(node), _MAX_LABEL),
        "resourceId": printable(node.resource_id),
        "class": printable(node.class_name),
        "bounds": str(node.bounds),
    }
    suggested = suggest_selectors(screen, node, frame, 1) if len(screen.nodes) <= _MAX_SEARCHED else []
    unique = {"selector": msgspec.to_builtins(suggested[0])} if suggested else {}
    return {**{name: fact for name, fact in facts.items() if fact}, **unique}


def _screen_of(within: Hierarchy | Node) -> Hierarchy:
    if isinstance(within, Hierarchy):
        return within
    root = within
    while root.parent is not None:
        root = root.parent
    return Hierarchy({}, [root], list(root.walk()))
