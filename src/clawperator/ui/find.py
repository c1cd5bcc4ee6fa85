"""Find the nodes on a screen that a selector matches."""

from collections.abc import Iterator

from clawperator.contract.selectors import NodeMatcher, NodeSelector
from clawperator.ui.match import compile_matcher
from clawperator.ui.node import Bounds, Hierarchy, Node
from clawperator.ui.visible import keep_visible


def find_node(where: Hierarchy | Node, matcher: NodeMatcher, frame: Bounds) -> Node | None:
    """The first node of ``find_nodes``."""
    return next(_found(where, matcher, frame), None)


def find_nodes(where: Hierarchy | Node, matcher: NodeMatcher, frame: Bounds) -> list[Node]:
    """All nodes that match and are visible in ``frame``, depth first, or nearest first to a given position.

    That a selector must be unique is not checked. ``ValueError`` for a reference: only the store of a device
    knows what it names.
    """
    return list(_found(where, matcher, frame))


def _found(where: Hierarchy | Node, matcher: NodeMatcher, frame: Bounds) -> Iterator[Node]:
    if isinstance(matcher, NodeSelector) and not matcher.for_operator:
        from clawperator.ui.select import select_nodes

        return iter(select_nodes(where, matcher, frame, several=True))
    nodes = where.walk() if isinstance(where, Node) else where.nodes
    return keep_visible(filter(compile_matcher(matcher), nodes), where, frame)
