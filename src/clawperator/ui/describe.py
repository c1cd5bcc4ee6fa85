"""Elements as data: what a query lists."""

from typing import Any

import msgspec

from clawperator._text import printable
from clawperator.contract import NodeSelector
from clawperator.ui.find import find_nodes
from clawperator.ui.node import HIDDEN, Bounds, Hierarchy, Node
from clawperator.ui.outline import outline_of
from clawperator.ui.outline_text import shorten
from clawperator.ui.passwords import has_password
from clawperator.ui.roles import role_of
from clawperator.ui.suggest import suggest_selectors

_STATES = ("clickable", "checked", "focused", "selected", "scrollable", "password")


def query_nodes(hierarchy: Hierarchy, selector: NodeSelector | None, frame: Bounds) -> list[Node]:
    """The visible nodes that match; without a selector every element a user can see or touch."""
    if selector is None:
        return [element.node for element in outline_of(hierarchy, frame).elements]
    return find_nodes(hierarchy, selector, frame)


def describe_matches(
    hierarchy: Hierarchy, nodes: list[Node], frame: Bounds, *, suggest: bool = False
) -> list[dict[str, Any]]:
    """Role, label, id, class, bounds and states of each node. The text of a password field is masked."""
    described = []
    for node in nodes:
        label = HIDDEN if has_password(node) else node.label
        facts = {
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
            found["selectors"] = [msgspec.to_builtins(one) for one in suggest_selectors(hierarchy, node, frame)]
        described.append(found)
    return described
