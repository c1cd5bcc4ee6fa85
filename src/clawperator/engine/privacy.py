"""What a password field holds is told to nobody."""

from clawperator._text import is_blank
from clawperator.ui.node import Hierarchy, Node

HIDDEN = "••••"


def holds_secret(node: Node) -> bool:
    return node.flag("password") and not is_blank(node.text)


def shown_label(node: Node) -> str:
    """The label as it may be told: four dots for what stands in a password field."""
    return HIDDEN if holds_secret(node) else node.label


def without_secrets(hierarchy: Hierarchy) -> Hierarchy:
    """The same tree with four dots in each password field; the very same when there is none to hide."""
    if not any(holds_secret(node) for node in hierarchy.nodes):
        return hierarchy
    copies: dict[int, Node] = {}
    for node in hierarchy.nodes:
        attributes = {**node.attributes, "text": HIDDEN} if holds_secret(node) else node.attributes
        parent = None if node.parent is None else copies[id(node.parent)]
        copy = copies[id(node)] = Node(attributes, parent, node.extras, node.source)
        if parent is not None:
            parent.children.append(copy)
    nodes = list(copies.values())
    return Hierarchy(hierarchy.attributes, [node for node in nodes if node.parent is None], nodes)
