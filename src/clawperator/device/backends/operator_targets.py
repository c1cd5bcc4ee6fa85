"""How an Operator acts on a node that the host chose: by a selector of its contract, else at a point.

The Operator reports the node that it matched. When that is not the chosen one, the step fails: ``TARGET_CHANGED``.
After a touch of a point it also fails when the node is elsewhere: it may have moved before the touch.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from clawperator._base.text import printable
from clawperator._base.typed import decode
from clawperator.contract.selectors import NodeMatcher
from clawperator.engine.driver import ChosenNode
from clawperator.engine.targets import (
    describe_node,
    nearest_self_or_ancestor,
    target_changed,
    target_moved,
    touch_point,
)
from clawperator.errors import ClawError
from clawperator.ui.hit_test import HitTest
from clawperator.ui.node import Bounds, Hierarchy, Node
from clawperator.ui.suggest import contract_selector
from clawperator.ui.visible import visible_nodes

# The attribute of nodes that take each kind of click for what is inside them.
_TAKES = {"click": "clickable", "long_click": "long-clickable"}
_MAX_EQUIVALENTS = 24
_COMPARED = ("class", "resourceId", "label")


class OperatorTarget(Struct, frozen=True):
    """A selector for an Operator, and the node that it must match: the chosen one, or one with the same effect."""

    selector: NodeMatcher
    node: Node

    def params(self) -> dict[str, Any]:
        return {"matcher": msgspec.to_builtins(self.selector), "retry": {"maxAttempts": 1}}


def click_selector(chosen: ChosenNode, kind: str, frame: Bounds) -> OperatorTarget | None:
    """The selector for a click on the chosen node, or on one whose click goes to the same clickable node.

    None where the Operator would touch the centre of the node, and another element covers that.
    """
    node = chosen.node
    if kind in _TAKES and _taker(node, kind) is None:
        centre = node.bounds.normalised().intersection(frame).centre
        if HitTest(chosen.screen, frame).find(node).point != centre:
            return None
    return _first_selector(chosen.screen, _same_click(chosen.node, kind), frame)


def field_selector(chosen: ChosenNode, frame: Bounds) -> OperatorTarget | None:
    """The selector for typing into the chosen node."""
    return _first_selector(chosen.screen, iter([chosen.node]), frame)


def _first_selector(screen: Hierarchy, nodes: Iterator[Node], frame: Bounds) -> OperatorTarget | None:
    for node in nodes:
        selector = contract_selector(screen, node, frame)
        if selector is not None:
            return OperatorTarget(selector, node)
    return None


def _same_click(node: Node, kind: str) -> Iterator[Node]:
    """The node, then those for which the same node takes the click."""
    yield node
    if kind not in _TAKES:
        return
    taker = _taker(node, kind)
    if taker is None:
        return
    tried = 0
    for other in taker.walk():
        if other is not node and _taker(other, kind) is taker:
            yield other
            tried += 1
            if tried == _MAX_EQUIVALENTS:
                return


def _taker(node: Node, kind: str) -> Node | None:
    return nearest_self_or_ancestor(node, lambda one: one.flag(_TAKES[kind]))


def point_of(chosen: ChosenNode, again: Hierarchy, kind: str, frame: Bounds) -> tuple[int, int, Node]:
    """A point of the chosen node, and the topmost node there.

    ``NODE_NOT_FOUND`` when the node is not where it was, ``NODE_COVERED`` when others lie above all of it.
    """
    node = chosen.again(again)
    if describe_node(node) != describe_node(chosen.node):
        raise ClawError("NODE_NOT_FOUND", "the screen is changing: the node is not where it was")
    x, y = touch_point(again, node, frame, _taker(node, kind))
    shown = [one for one in visible_nodes(again, frame) if one.bounds.normalised().contains(x, y)]
    return x, y, shown[-1] if shown else node


def own_guard(node: Node) -> dict[str, str]:
    """Contract fields that the node has, to check that its screen is still there."""
    own = {"resourceId": node.resource_id, "textEquals": "" if node.flag("password") else node.label}
    return {name: value for name, value in own.items() if 0 < len(value) <= 512}


def check_matched(data: Mapping[str, str], expected: Node, chosen: ChosenNode, *, by_selector: bool) -> None:
    """``TARGET_CHANGED`` when the Operator reports that it acted on another node than expected.

    A node that was chosen by its place must also be where it was. An Operator that does not report the node is
    trusted: it had a selector that only this node matched, or found it on the same screen.
    """
    written = data.get("matched_target")
    if written is None:
        return
    try:
        found = decode(written)
    except ValueError:
        found = None
    wanted = decode(describe_node(expected))
    # A password field may be reported with its hint, or masked.
    compared = _COMPARED[:2] if expected.flag("password") else _COMPARED
    is_same = isinstance(found, dict) and all(found.get(name) == wanted.get(name) for name in compared)
    if is_same and by_selector and data.get("candidate_count", "1") != "1":
        is_same = False
    if is_same and not (chosen.by_itself and by_selector):
        is_same = found.get("bounds") == wanted.get("bounds")
    if not is_same:
        acted = f"it acted on {printable(written)}, not on {describe_node(expected)}"
        raise target_changed(acted, expected, {"acted_on": written})


def is_in_place(chosen: ChosenNode, after: Hierarchy) -> bool:
    """Whether the chosen node is where it was, after a touch of its point. Elsewhere: ``TARGET_CHANGED``.

    False when it is gone: the touch may have opened another page, and nothing is known of the node then.
    """
    try:
        node = chosen.again(after)
    except ClawError:
        return False
    if node.bounds != chosen.node.bounds:
        raise target_moved(chosen.node)
    return True
