"""Mask password fields."""

from clawperator.ui import HIDDEN, Hierarchy, Node, has_password


def shown_label(node: Node) -> str:
    """The label to report: four dots for the text of a password field."""
    return HIDDEN if has_password(node) else node.label


def mask_passwords(hierarchy: Hierarchy) -> Hierarchy:
    """The tree with four dots in each password field; the same object when there is none."""
    if not any(has_password(node) for node in hierarchy.nodes):
        return hierarchy
    copies: dict[int, Node] = {}
    for node in hierarchy.nodes:
        attributes = {**node.attributes, "text": HIDDEN} if has_password(node) else node.attributes
        parent = None if node.parent is None else copies[id(node.parent)]
        copy = copies[id(node)] = Node(attributes, parent, node.extras, node.source)
        if parent is not None:
            parent.children.append(copy)
    nodes = list(copies.values())
    return Hierarchy(hierarchy.attributes, [node for node in nodes if node.parent is None], nodes)
