"""The screen as a tree of nodes, as UI Automator dumps it.

A node keeps its attributes as they were written; they are interpreted on access.
"""

from collections.abc import Iterator
from typing import NamedTuple

from msgspec import MsgspecError, Struct
from msgspec.json import Decoder

from clawperator._base.text import is_blank, one_line

# A rectangle is two JSON arrays side by side. Decoding it as JSON is three times faster than a regular expression.
decode_edges = Decoder(tuple[int, int, int, int]).decode


class Bounds(NamedTuple):
    """A rectangle in pixels; right and bottom are exclusive. It is the tuple of its edges."""

    left: int
    top: int
    right: int
    bottom: int

    @property
    def width(self) -> int:
        return self.right - self.left

    @property
    def height(self) -> int:
        return self.bottom - self.top

    @property
    def centre(self) -> tuple[int, int]:
        return (self.left + self.right) // 2, (self.top + self.bottom) // 2

    @property
    def is_empty(self) -> bool:
        return self.right <= self.left or self.bottom <= self.top

    def normalised(self) -> "Bounds":
        """The same rectangle with its edges in order."""
        if self.left <= self.right and self.top <= self.bottom:
            return self
        return Bounds(
            min(self.left, self.right),
            min(self.top, self.bottom),
            max(self.left, self.right),
            max(self.top, self.bottom),
        )

    def contains(self, x: int, y: int) -> bool:
        return self.left <= x < self.right and self.top <= y < self.bottom

    def intersection(self, other: "Bounds") -> "Bounds":
        """The common part; empty when they do not overlap."""
        left, top = max(self.left, other.left), max(self.top, other.top)
        return Bounds(left, top, max(left, min(self.right, other.right)), max(top, min(self.bottom, other.bottom)))

    def __str__(self) -> str:
        return f"[{self.left},{self.top}][{self.right},{self.bottom}]"


NOWHERE = Bounds(0, 0, 0, 0)
HIDDEN = "••••"
"""Shown instead of the content of a password field."""


def read_bounds(text: str) -> Bounds:
    """Parse ``[l,t][r,b]``; an empty rectangle when it is malformed."""
    try:
        return Bounds(*decode_edges(text.replace("][", ",")))
    except (MsgspecError, ValueError):
        return NOWHERE


class Node(Struct, eq=False):
    """A view on the screen. A Struct, because those are created fastest; compared by identity.

    ``attributes`` are those of the XML; the properties read them. ``extras`` are accessibility properties that the
    XML lacks: ``heading``, ``collection_item``, ``columns`` (a collection with more than one), ``horizontal``,
    ``vertical``, ``invisible``, ``screen_reader_focusable``, ``hint`` (the text is the hint of an empty field).
    ``source`` is for the driver that made the node.
    """

    attributes: dict[str, str]
    parent: "Node | None" = None
    extras: frozenset[str] = frozenset()
    source: object = None
    children: list["Node"] = []
    _bounds: Bounds | None = None

    def __repr__(self) -> str:
        """The node alone, without the whole tree."""
        name, place = one_line(self.class_name, 40), one_line(self.attributes.get("bounds", ""), 30)
        return f"<Node {name} {one_line(repr(self.label), 50)} {place}>"

    @property
    def text(self) -> str:
        return self.attributes.get("text", "")

    @property
    def entered_text(self) -> str:
        """The text of a field, without the hint that an empty field shows."""
        text = self.attributes.get("text", "")
        return "" if text == self.attributes.get("hint") else text

    @property
    def content_desc(self) -> str:
        return self.attributes.get("content-desc", "")

    @property
    def resource_id(self) -> str:
        return self.attributes.get("resource-id", "")

    @property
    def class_name(self) -> str:
        return self.attributes.get("class", "")

    @property
    def package(self) -> str:
        return self.attributes.get("package", "")

    @property
    def bounds(self) -> Bounds:
        if self._bounds is None:
            self._bounds = read_bounds(self.attributes.get("bounds", ""))
        return self._bounds

    @property
    def label(self) -> str:
        """The text, or else the content description, or else nothing."""
        text = self.attributes.get("text", "")
        # Testing the first character avoids a search for blanks in most texts.
        if text and (text[0].isalnum() or not is_blank(text)):
            return text
        described = self.attributes.get("content-desc", "")
        return described if described and not is_blank(described) else ""

    @property
    def role(self) -> str:
        """What it is to a user: ``button``, ``switch``, ``textfield``, ``listitem``, ... or ``unknown``."""
        from clawperator.ui.roles import role_of

        return role_of(self)

    @property
    def clickable(self) -> bool:
        return self.attributes.get("clickable") == "true"

    @property
    def long_clickable(self) -> bool:
        return self.attributes.get("long-clickable") == "true"

    @property
    def enabled(self) -> bool:
        return self.attributes.get("enabled") == "true"

    @property
    def checkable(self) -> bool:
        return self.attributes.get("checkable") == "true"

    @property
    def checked(self) -> bool:
        """Whether a switch or a checkbox is on."""
        return self.attributes.get("checked") == "true"

    @property
    def focusable(self) -> bool:
        return self.attributes.get("focusable") == "true"

    @property
    def focused(self) -> bool:
        return self.attributes.get("focused") == "true"

    @property
    def selected(self) -> bool:
        return self.attributes.get("selected") == "true"

    @property
    def scrollable(self) -> bool:
        return self.attributes.get("scrollable") == "true"

    @property
    def password(self) -> bool:
        """Whether it is a password field. Its text is masked."""
        return self.attributes.get("password") == "true"

    def flag(self, name: str) -> bool:
        """Whether an attribute such as ``clickable`` is true."""
        return self.attributes.get(name) == "true"

    def ancestors(self) -> Iterator["Node"]:
        """Its parent and so on, up to the root."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    def walk(self) -> Iterator["Node"]:
        """The node and its descendants, depth first, without recursion."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))


class Hierarchy:
    """The tree of a window, or several roots. ``nodes`` are all nodes, depth first."""

    __slots__ = ("attributes", "nodes", "roots")

    def __init__(self, attributes: dict[str, str], roots: list[Node], nodes: list[Node]) -> None:
        self.attributes = attributes
        self.roots = roots
        self.nodes = nodes

    @property
    def rotation(self) -> int:
        written = self.attributes.get("rotation", "0")
        return int(written) if written.isdecimal() else 0

    def has_same_content(self, other: "Hierarchy") -> bool:
        """Whether both have the same nodes with the same attributes in the same places."""
        if self is other:
            return True
        return (
            len(self.nodes) == len(other.nodes)
            and self.attributes == other.attributes
            and all(a.attributes == b.attributes for a, b in zip(self.nodes, other.nodes, strict=True))
            and all(len(a.children) == len(b.children) for a, b in zip(self.nodes, other.nodes, strict=True))
        )
