"""The nodes an action is aimed at: finding them, and telling which they were."""

from collections.abc import Callable, Iterator
from itertools import islice

import msgspec
from msgspec import UnsetType

from clawperator._text import printable
from clawperator.contract.selectors import NodeMatcher
from clawperator.engine.context import Scene
from clawperator.engine.privacy import shown_label
from clawperator.errors import ClawError
from clawperator.ui.node import Hierarchy, Node

# How far above a node the one that reacts may be.
LEVELS = 8
_LONGEST_LABEL = 120
_LOOK = "Run 'clawperator snapshot' to see what is on the screen."


def tell_matcher(matcher: NodeMatcher) -> str:
    return printable(msgspec.json.encode(matcher).decode())


def tell(**facts: str) -> str:
    """What an action was aimed at, as compact JSON without control characters. Empty facts are left out."""
    return msgspec.json.encode({name: printable(fact) for name, fact in facts.items() if fact}).decode()


def tell_node(node: Node) -> str:
    """Class, resource id, label and place of a node. A long label is cut, a password is not told."""
    label = shown_label(node)
    if len(label) > _LONGEST_LABEL:
        label = label[: _LONGEST_LABEL - 1] + "…"
    return tell(**{"class": node.class_name}, resourceId=node.resource_id, label=label, bounds=str(node.bounds))


def aim(scene: Scene, screen: Hierarchy, matcher: NodeMatcher, container: NodeMatcher | None = None) -> list[Node]:
    """The nodes that are meant, the first one first, inside the container if one is given.

    ``NODE_NOT_FOUND`` or ``CONTAINER_NOT_FOUND`` when there is none.
    """
    found = scene.find_all(screen if container is None else inside(scene, screen, container)[0], matcher)
    if not found:
        raise ClawError("NODE_NOT_FOUND", f"no visible node matches {tell_matcher(matcher)}", hint=_LOOK)
    return found


def inside(scene: Scene, screen: Hierarchy, container: NodeMatcher) -> list[Node]:
    """The containers that are meant, the first one first."""
    found = scene.find_all(screen, container)
    if not found:
        raise ClawError("CONTAINER_NOT_FOUND", f"no visible node matches {tell_matcher(container)}", hint=_LOOK)
    return found


def given(matcher: NodeMatcher | UnsetType) -> NodeMatcher | None:
    return matcher if isinstance(matcher, NodeMatcher) else None


def self_and_ancestors(node: Node) -> Iterator[Node]:
    yield node
    yield from islice(node.ancestors(), LEVELS)


def nearest(node: Node, holds: Callable[[Node], bool]) -> Node | None:
    """The node itself or the closest one above it for which something holds."""
    return next((n for n in self_and_ancestors(node) if holds(n)), None)


def visible_part(scene: Scene, node: Node) -> tuple[int, int]:
    """The middle of what the display shows of a node."""
    return node.bounds.normalised().intersection(scene.driver.frame()).centre
