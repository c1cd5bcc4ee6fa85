"""Write a hierarchy as the XML that a device dumps, one node per line."""

import re

from clawperator.ui.node import Hierarchy, Node
from clawperator.ui.parse import NOT_XML

ATTRIBUTES = (
    *("index", "text", "resource-id", "class", "package", "content-desc", "checkable", "checked", "clickable"),
    *("enabled", "focusable", "focused", "scrollable", "long-clickable", "password", "selected", "bounds"),
)
"""The attributes of a node in the order in which UI Automator writes them. A tree is written in its own order."""

_DECLARATION = "<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>\n"
_ESCAPES = {
    "&": "&amp;",
    '"': "&quot;",
    "'": "&apos;",
    "<": "&lt;",
    ">": "&gt;",
    # Unescaped, a parser would read them as spaces, and a log line would end there.
    "\n": "&#10;",
    "\t": "&#9;",
    "\r": "&#13;",
}
_ESCAPED = re.compile("[" + "".join(_ESCAPES) + "]|" + NOT_XML.pattern)


def write_hierarchy(hierarchy: Hierarchy) -> str:
    """The XML of the tree. Parsing it gives the same tree, except for characters that XML cannot contain."""
    layouts = _Layouts()
    escape = _Escaped().__getitem__

    def render(attributes: dict[str, str]) -> str:
        return layouts[tuple(attributes)] % tuple(map(escape, attributes.values()))

    rows = [f"{_DECLARATION}<hierarchy{render(hierarchy.attributes)}>\n"]
    add = rows.append
    # The rest of the output in reverse order: nodes, and the closing lines of open nodes.
    waiting: list[Node | str] = list(reversed(hierarchy.roots))
    indent = "  "
    while waiting:
        node = waiting.pop()
        if isinstance(node, str):
            add(node)
            indent = indent[2:]
            continue
        if node.children:
            add(f"{indent}<node{render(node.attributes)}>\n")
            waiting.append(f"{indent}</node>\n")
            waiting += reversed(node.children)
            indent += "  "
        else:
            add(f"{indent}<node{render(node.attributes)} />\n")
    add("</hierarchy>\n")
    return "".join(rows)


class _Escaped(dict[str, str]):
    """Escaped attribute values. A screen repeats few values many times, so each is escaped once."""

    def __missing__(self, value: str) -> str:
        escaped = self[value] = _ESCAPED.sub(_escape, value)
        return escaped


class _Layouts(dict[tuple[str, ...], str]):
    """By attribute names: a template. Devices differ in the order of attributes, so it is kept."""

    def __missing__(self, names: tuple[str, ...]) -> str:
        form = self[names] = "".join(f' {name.replace("%", "%%")}="%s"' for name in names)
        return form


def _escape(found: re.Match[str]) -> str:
    return _ESCAPES.get(found[0], "\ufffd")
