"""Rows: what stands beside each other on a screen, and so belongs together."""

from collections.abc import Iterable, Iterator
from itertools import islice

from clawperator._text import is_blank
from clawperator.agent.offline.names import is_field, own_label
from clawperator.engine.targets import nearest
from clawperator.ui.node import Node

_CHECKABLE = ("switch", "checkbox", "togglebutton", "radiobutton")
# A row with more than so many labels is a list of rows: what follows a label there belongs to another.
_MOST_LABELS = 4
_MOST_NODES = 60
_LEVELS = 8


def is_checkable(node: Node) -> bool:
    name = node.class_name.lower()
    return node.flag("checkable") or any(part in name for part in _CHECKABLE)


def holder(node: Node) -> Node | None:
    """The node a click on this one goes to, if any."""
    return nearest(node, lambda n: n.flag("clickable") or n.flag("long-clickable"))


def label_of(node: Node) -> str:
    """What a thing is called: its own label, or the first one inside it; nothing when it has no name."""
    inside = (own_label(n) for n in islice(node.walk(), _MOST_NODES))
    return next((label for label in inside if not is_blank(label)), "")


def rows_around(node: Node) -> Iterator[tuple[Node, list[Node]]]:
    """What is around a node, from the inside out, and the nodes with labels in it. What holds a list is no row."""
    at = node.parent
    for _ in range(_LEVELS):
        if at is None:
            return
        inside = list(islice(at.walk(), _MOST_NODES + 1))
        labelled = [n for n in inside if not is_blank(own_label(n))]
        if len(inside) > _MOST_NODES or len(labelled) > _MOST_LABELS or any(n.flag("scrollable") for n in inside):
            return
        yield at, labelled
        at = at.parent


def value_beside(node: Node) -> str | None:
    """The label that follows in the same row: the summary of a setting, or the value at its end."""
    for _, labelled in rows_around(node):
        if len(labelled) > 1 and node in labelled:
            after = [n for n in labelled[labelled.index(node) + 1 :] if not n.flag("clickable")]
            return own_label(after[0]) if after else None
    return None


def switch_of(node: Node) -> Node | None:
    """What of a node or its row can be on or off; None when nothing is, or several are, or it has another name."""
    if is_checkable(node):
        return node
    for row, labelled in rows_around(node):
        switches = [n for n in islice(row.walk(), _MOST_NODES) if is_checkable(n)]
        inner = [n for n in switches if n is not row] or switches
        if inner:
            named = [n for n in inner if n in labelled]
            return inner[0] if len(inner) == 1 and not named else None
    return None


def state_beside(node: Node) -> str:
    """What the row of a node says of it when it says "on" or "off" in words; else nothing."""
    for _, labelled in rows_around(node):
        said = [
            word for n in labelled if n is not node and (word := own_label(n).strip().casefold()) in ("on", "off")
        ]
        if said:
            return said[0] if len(said) == 1 else ""
    return ""


def in_row_of(nodes: list[Node], others: Iterable[Node]) -> list[Node]:
    """Those of the nodes that share the closest row with one of the others."""
    found: dict[int, Node] = {}
    for other in islice(others, _MOST_NODES):
        at = other.parent
        while at is not None and not at.flag("scrollable"):
            inside = [node for node in nodes if node is at or at in node.ancestors()]
            if inside:
                found.update((id(node), node) for node in inside)
                break
            at = at.parent
    return list(found.values())


def rows_among(nodes: list[Node]) -> list[Node]:
    """The things in lists that take a click, or all that do where there is no list; no buttons, icons, fields."""
    rows = [node for node in nodes if _is_row(node)]
    return [node for node in rows if any(above.flag("scrollable") for above in node.ancestors())] or rows


def _is_row(node: Node) -> bool:
    if not (node.flag("clickable") or node.flag("long-clickable")) or is_field(node):
        return False
    name = node.class_name.lower()
    return "image" not in name and ("button" not in name or is_checkable(node))
