"""Elements as data: what a query lists."""

import shlex
from typing import Any

import msgspec

from clawperator._base.text import printable
from clawperator.commands.selectors import render_flags
from clawperator.contract.selectors import NodeSelector
from clawperator.ui.node import HIDDEN, Bounds, Hierarchy, Node
from clawperator.ui.outline import Outline, outline_of
from clawperator.ui.outline_text import shorten
from clawperator.ui.privacy import has_password
from clawperator.ui.roles import role_of
from clawperator.ui.select import find_nodes
from clawperator.ui.suggest import suggest_selectors

_STATES = ("clickable", "checked", "focused", "selected", "scrollable", "password")


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
