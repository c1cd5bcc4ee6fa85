"""A screen as a tree of nodes, as UI Automator tells it.

A node keeps its attributes just as they were written; what they mean is worked out when it is asked for.
"""

from collections.abc import Iterator

from msgspec import MsgspecError, Struct
from msgspec.json import Decoder

from clawperator._text import is_blank

# A rectangle is two JSON arrays side by side. Reading it as one takes a third of the time a pattern takes.
decode_edges = Decoder(tuple[int, int, int, int]).decode


class Bounds(Struct, frozen=True):
    """A rectangle in pixels; right and bottom lie just outside."""

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
        """What both cover; empty when they do not meet."""
        left, top = max(self.left, other.left), max(self.top, other.top)
        return Bounds(left, top, max(left, min(self.right, other.right)), max(top, min(self.bottom, other.bottom)))

    def __str__(self) -> str:
        return f"[{self.left},{self.top}][{self.right},{self.bottom}]"


NOWHERE = Bounds(0, 0, 0, 0)


def read_bounds(text: str) -> Bounds:
    """The rectangle written as ``[l,t][r,b]``; an empty one when that cannot be read."""
    try:
        return Bounds(*decode_edges(text.replace("][", ",")))
    except (MsgspecError, ValueError):
        return NOWHERE


class Node(Struct, eq=False):
    """One view on the screen. It is a Struct because those are made fastest; it equals only itself.

    ``extras`` holds what accessibility knows of a view and XML does not say: ``heading``,
    ``collection_item``, ``columns`` (a collection with more than one), ``horizontal``, ``vertical``,
    ``invisible``, ``screen_reader_focusable``. ``source`` is for the driver that made the node.
    """

    attributes: dict[str, str]
    parent: "Node | None" = None
    extras: frozenset[str] = frozenset()
    source: object = None
    children: list["Node"] = []
    _bounds: Bounds | None = None

    def __repr__(self) -> str:
        """The node alone: its parent and children would show the whole tree."""
        return f"<Node {self.class_name} {self.label!r} {self.attributes.get('bounds', '')}>"

    @property
    def text(self) -> str:
        return self.attributes.get("text", "")

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
        """The text, or the content description when there is no text, or nothing."""
        text = self.attributes.get("text", "")
        # Asking the first character saves most texts from being searched for blanks.
        if text and (text[0].isalnum() or not is_blank(text)):
            return text
        described = self.attributes.get("content-desc", "")
        return described if described and not is_blank(described) else ""

    def flag(self, name: str) -> bool:
        """Whether an attribute such as ``clickable`` is true."""
        return self.attributes.get(name) == "true"

    def ancestors(self) -> Iterator["Node"]:
        """Its parent, that one's parent, up to the root."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    def walk(self) -> Iterator["Node"]:
        """The node and all below it, depth first, without recursion."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.children))


class Hierarchy:
    """One window's tree, or several roots one after the other. ``nodes`` are all of them, depth first."""

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
        """Whether both show the same: every node with the same attributes in the same place."""
        if self is other:
            return True
        return (
            len(self.nodes) == len(other.nodes)
            and self.attributes == other.attributes
            and all(a.attributes == b.attributes for a, b in zip(self.nodes, other.nodes, strict=True))
            and all(len(a.children) == len(b.children) for a, b in zip(self.nodes, other.nodes, strict=True))
        )
