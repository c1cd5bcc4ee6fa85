"""Writing a hierarchy: from a tree to the XML a phone dumps, one node to a line."""

import re

from clawperator.ui.node import Hierarchy, Node
from clawperator.ui.parse import NOT_XML

ATTRIBUTES = (
    "index",
    "text",
    "resource-id",
    "class",
    "package",
    "content-desc",
    "checkable",
    "checked",
    "clickable",
    "enabled",
    "focusable",
    "focused",
    "scrollable",
    "long-clickable",
    "password",
    "selected",
    "bounds",
)
"""The attributes of a node in the order in which they are written. Any others follow in their own order."""

_DECLARATION = "<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>\n"
_ESCAPES = {
    "&": "&amp;",
    '"': "&quot;",
    "'": "&apos;",
    "<": "&lt;",
    ">": "&gt;",
    # As they are they would not survive: a reader takes them for spaces, and a log line ends at them.
    "\n": "&#10;",
    "\t": "&#9;",
    "\r": "&#13;",
}
_ESCAPED = re.compile("[" + "".join(_ESCAPES) + "]|" + NOT_XML.pattern)


def write_hierarchy(hierarchy: Hierarchy) -> str:
    """The XML of the tree. Reading it back gives the same tree, but for characters XML cannot hold: U+FFFD."""
    layouts = _Layouts()
    escape = _Escaped().__getitem__

    def said(attributes: dict[str, str]) -> str:
        names, form = layouts[tuple(attributes)]
        return form % tuple(map(escape, map(attributes.__getitem__, names)))

    rows = [f"{_DECLARATION}<hierarchy{said(hierarchy.attributes)}>\n"]
    add = rows.append
    # What is still to be written, the next thing last: nodes, and the closing lines of those that were opened.
    waiting: list[Node | str] = list(reversed(hierarchy.roots))
    indent = "  "
    while waiting:
        node = waiting.pop()
        if isinstance(node, str):
            add(node)
            indent = indent[2:]
            continue
        if node.children:
            add(f"{indent}<node{said(node.attributes)}>\n")
            waiting.append(f"{indent}</node>\n")
            waiting += reversed(node.children)
            indent += "  "
        else:
            add(f"{indent}<node{said(node.attributes)} />\n")
    add("</hierarchy>\n")
    return "".join(rows)


class _Escaped(dict[str, str]):
    """Values as they stand between quotes. A screen says few things many times, so each is worked out once."""

    def __missing__(self, value: str) -> str:
        escaped = self[value] = _ESCAPED.sub(_escape, value)
        return escaped


class _Layouts(dict[tuple[str, ...], tuple[tuple[str, ...], str]]):
    """For the names of a node's attributes: the order in which they are written, and the form they fill."""

    def __missing__(self, names: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
        rank = {name: i for i, name in enumerate(ATTRIBUTES)}
        ordered = tuple(sorted(names, key=lambda name: rank.get(name, len(rank))))
        form = "".join(f' {name.replace("%", "%%")}="%s"' for name in ordered)
        layout = self[names] = ordered, form
        return layout


def _escape(found: re.Match[str]) -> str:
    return _ESCAPES.get(found[0], "\ufffd")
