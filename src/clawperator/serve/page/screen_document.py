"""A captured screen as the page needs it: every node with its place, and the outline with references.

Text of apps is not trusted: it is cut to a length, and control and bidi characters are escaped.
"""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Raw, Struct

from clawperator._base.text import one_line, printable
from clawperator.device.run.references import References
from clawperator.device.screen.snapshot_views import outline_with_references
from clawperator.engine.targets import touch_point
from clawperator.errors import ClawError
from clawperator.report.page import drawing_of
from clawperator.ui.node import HIDDEN, Bounds, Hierarchy, Node, role_of, visible_nodes
from clawperator.ui.outline import Outline, render_element, screen_frame
from clawperator.ui.parse import parse_hierarchy
from clawperator.ui.privacy import has_password
from clawperator.ui.suggest import describe_matches

MAX_NODES = 3_000
_MAX_TEXT = 300
_MAX_VALUE = 2_000
_MAX_LINE = 400
_STATES = (
    *("clickable", "long-clickable", "checkable", "checked", "focusable", "focused", "selected", "scrollable"),
    "password",
)


class ShownScreen(Struct, frozen=True, eq=False):
    """A screen of a device. ``document`` has its nodes and its outline, encoded once for all readers."""

    id: str
    package: str
    hierarchy: Hierarchy
    frame: Bounds
    outline: Outline
    document: dict[str, Raw]

    def node(self, index: int) -> Node | None:
        """The node with this index in the document."""
        return self.hierarchy.nodes[index] if 0 <= index < len(self.hierarchy.nodes) else None

    def index(self, node: Node) -> int:
        return next(at for at, one in enumerate(self.hierarchy.nodes) if one is node)


def read_screen(data: dict[str, str], references: References) -> ShownScreen:
    """The screen of a snapshot's data. ``HIERARCHY_INVALID`` when it has no well-formed hierarchy."""
    hierarchy = parse_hierarchy(data["text"])
    outline, _ = outline_with_references(hierarchy, data, references)
    frame = screen_frame(hierarchy)
    positions = {id(node): at for at, node in enumerate(hierarchy.nodes)}
    document = {
        "nodes": list(_nodes(hierarchy, frame, positions)),
        "cutNodes": max(0, len(hierarchy.nodes) - MAX_NODES),
        "outline": [
            {"line": one_line(render_element(one).strip(), _MAX_LINE), "depth": one.depth, "ref": one.ref}
            | {"node": positions[id(one.node)]}
            for one in outline.elements
            if id(one.node) in positions
        ],
        "drawing": drawing_of(data["text"]),
        "notices": [one_line(notice, _MAX_LINE) for notice in outline.notices],
    }
    encoded = {name: Raw(msgspec.json.encode(value)) for name, value in document.items()}
    return ShownScreen(data["snapshot_id"], data.get("foreground_package", ""), hierarchy, frame, outline, encoded)


def _nodes(hierarchy: Hierarchy, frame: Bounds, positions: dict[int, int]) -> Iterator[dict[str, Any]]:
    shown = {id(node) for node in visible_nodes(hierarchy, frame)}
    for node in hierarchy.nodes[:MAX_NODES]:
        box = node.bounds.normalised()
        states = [name for name in _STATES if node.flag(name)]
        if node.attributes.get("enabled") == "false":
            states.append("disabled")
        yield {
            "parent": -1 if node.parent is None else positions[id(node.parent)],
            "className": one_line(node.class_name.rpartition(".")[2], _MAX_TEXT),
            "role": role_of(node),
            "text": _shown_text(node, "text"),
            "description": _shown_text(node, "content-desc"),
            "resourceId": one_line(node.resource_id, _MAX_TEXT),
            "bounds": (box.left, box.top, box.right, box.bottom),
            "states": states,
            "visible": id(node) in shown,
        }


def _shown_text(node: Node, name: str) -> str:
    if name == "text" and has_password(node) and node.text:
        return HIDDEN
    return one_line(node.attributes.get(name, ""), _MAX_TEXT)


def describe_element(screen: ShownScreen, node: Node) -> dict[str, Any]:
    """Every attribute of a node, where it is touched, and its unique selectors, the most stable first."""
    (facts,) = describe_matches(screen.hierarchy, [node], screen.frame, suggest=True, numbered=screen.outline)
    attributes = {
        printable(name[:_MAX_TEXT]): HIDDEN
        if name == "text" and has_password(node) and value
        else printable(value[:_MAX_VALUE])
        for name, value in node.attributes.items()
    }
    touch, covered = None, ""
    try:
        touch = touch_point(screen.hierarchy, node, screen.frame)
    except ClawError as e:
        covered = one_line(e.message, _MAX_VALUE)
    return {
        "touch": touch,
        "covered": covered,
        "node": screen.index(node),
        "screenId": screen.id,
        "ref": facts.get("ref", ""),
        "role": facts["role"],
        "label": one_line(facts.get("label", ""), _MAX_TEXT),
        "attributes": attributes,
        "selectors": [
            {"selector": selector, "flags": flags}
            for selector, flags in zip(facts["selectors"], facts["flags"], strict=True)
        ],
    }
