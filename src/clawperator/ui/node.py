"""The screen as a tree of nodes, as UI Automator dumps it: which of them are visible, and their roles.

A node keeps its attributes as they were written; they are interpreted on access. Its role is inferred from its
class, its parent and accessibility properties.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar

from msgspec import MsgspecError, Struct
from msgspec.json import Decoder

from clawperator._base.text import is_blank, one_line, utf16_length

# A rectangle is two JSON arrays side by side. Decoding it as JSON is three times faster than a regular expression.
decode_edges = Decoder(tuple[int, int, int, int]).decode
# Parts of class names, in the order they are tried. RadioButton and ToggleButton are buttons like every other.
_BY_CLASS = (
    ("viewpager", "pager"),
    ("button", "button"),
    ("edittext", "textfield"),
    ("autocompletetextview", "textfield"),
    ("switch", "switch"),
    ("checkbox", "checkbox"),
    ("recyclerview", "collection"),
    ("listview", "list"),
    ("gridview", "grid"),
    ("toolbar", "toolbar"),
    ("tablayout", "tabbar"),
    ("bottomnavigationview", "tabbar"),
    ("imageview", "image"),
    ("chip", "chip"),
)
# Kinds of class that allow more than one role.
_AMBIGUOUS = frozenset(("collection", "image", "layout", ""))
_FIELD_CLASSES = ("edittext", "autocompletetextview")
_LAYOUTS = ("linearlayout", "framelayout", "constraintlayout", "coordinatorlayout")
_TAB_CLASSES = ("tablayout", "bottomnavigationview")
_TAB_NAMES = ("tab", "navigation", "bottom")
# How many levels above a node its clickable ancestor may be.
_CLICK_REACH = 3
# A longer clickable text with a space is prose, not the label of a button.
_MAX_BUTTON = 20
_NOTHING: dict[str, str] = {}
_MAX_CACHED = 4_096
_MAX_CACHED_NAME = 256

Value = TypeVar("Value")


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


def visible_nodes(where: Hierarchy | Node, frame: Bounds) -> list[Node]:
    """The nodes that are visible in ``frame``, depth first.

    A node is visible when it covers part of the frame and the device does not report it as hidden. Descendants of
    an invisible node are invisible. The start of the search, a node or the roots, is always kept.
    """
    shows = visibility_test(frame)
    kept: list[Node] = []
    waiting = _tops(where)[::-1]
    while waiting:
        node = waiting.pop()
        kept.append(node)
        if node.children:
            waiting += [child for child in reversed(node.children) if shows(child)]
    return kept


def node_at(where: Hierarchy | Node, frame: Bounds, x: int, y: int) -> Node | None:
    """The visible node under a point: the one drawn last, and there the innermost."""
    found = None
    for node in visible_nodes(where, frame):
        if node.bounds.normalised().contains(x, y):
            found = node
    return found


def keep_visible(nodes: Iterable[Node], where: Hierarchy | Node, frame: Bounds) -> Iterator[Node]:
    """Those of ``nodes`` that ``visible`` would keep. All must be at or below ``where``.

    It tests only the nodes and their ancestors, so a search that tests names first is faster.
    """
    shows = visibility_test(frame)
    known: dict[Node | None, bool] = dict.fromkeys(_tops(where), True)
    last: Node | None = None
    over = True
    for node in nodes:
        above = node.parent
        if above is None or node is where:
            yield node
            continue
        if above is not last:  # siblings usually follow each other
            last = above
            found = known.get(above)
            over = _climb(above, known, shows) if found is None else found
        if over and shows(node):
            yield node


def _climb(node: Node, known: dict[Node | None, bool], shows: Callable[[Node], bool]) -> bool:
    """Whether a node is visible, from its nearest ancestor whose visibility is known."""
    above = node.parent
    seen = above is None or known.get(above)
    if seen is not None:
        seen = known[node] = seen and shows(node)
        return seen
    climbed = [node]
    while above is not None and above not in known:
        climbed.append(above)
        above = above.parent
    seen = above is None or known[above]
    for below in reversed(climbed):
        seen = known[below] = seen and shows(below)
    return seen


def _tops(where: Hierarchy | Node) -> list[Node]:
    return [where] if isinstance(where, Node) else where.roots


def visibility_test(frame: Bounds) -> Callable[[Node], bool]:
    """A function that tests whether a node by itself is visible in the frame."""
    from_x, from_y, to_x, to_y = frame.left, frame.top, frame.right, frame.bottom

    def shows(node: Node) -> bool:
        attributes = node.attributes
        try:
            left, top, right, bottom = decode_edges(attributes["bounds"].replace("][", ","))
        except (KeyError, MsgspecError, ValueError):
            return False
        if not (from_x <= left < right <= to_x and from_y <= top < bottom <= to_y):
            left, right = min(left, right), max(left, right)
            top, bottom = min(top, bottom), max(top, bottom)
            if (
                left == right
                or top == bottom
                or not (left < to_x and from_x < right and top < to_y and from_y < bottom)
            ):
                return False
        if "visible-to-user" in attributes and attributes["visible-to-user"] == "false":
            return False
        return not (node.extras and "invisible" in node.extras)

    return shows


def role_of(node: Node) -> str:
    """The name of the role, in lower case, or ``unknown``.

    A tree parsed from XML has no extras, so some roles (``title``, ``listitem``, ``grid``, ``row``, ``column``,
    ``label``) are not found where the device itself would find them.
    """
    name = node.attributes.get("class", "")
    kind = _KIND_OF_CLASS.get(name)
    return _decide(node, _learn_kind(name) if kind is None else kind)


def role_test(wanted: str) -> Callable[[Node], bool]:
    """A function that tests for a role. The class alone rejects most nodes."""
    kinds = _KINDS_OF_ROLE.get(wanted, frozenset((wanted,)))

    def has_role(node: Node) -> bool:
        name = node.attributes.get("class", "")
        try:
            kind = _KIND_OF_CLASS[name]
        except KeyError:
            kind = _learn_kind(name)
        return kind in kinds and _decide(node, kind) == wanted

    return has_role


def is_field(node: Node) -> bool:
    """Whether a user can type into it: a text field by its class, or a password field."""
    name = node.class_name.lower()
    return any(part in name for part in _FIELD_CLASSES) or node.password


def takes_click(node: Node) -> bool:
    """Whether the node or a close ancestor is clickable."""
    if node.attributes.get("clickable") == "true":
        return True
    at = node.parent
    reach = _CLICK_REACH
    while at is not None and reach:
        if at.attributes.get("clickable") == "true":
            return True
        at = at.parent
        reach -= 1
    return False


def _decide(node: Node, kind: str) -> str:
    """The role of a node whose class is of this kind."""
    # Searches by role call this for every node, so the most common cases come first.
    text = node.attributes.get("text", "")
    labelled = "!" <= text < "\x7f" or node.label != ""  # a printable first character: not blank
    parent = node.parent
    above = parent.attributes if parent is not None else _NOTHING
    if labelled and above:
        try:
            tabs = _TAB_CLASS[above["class"]] or _TAB_NAME[above["resource-id"]]
        except KeyError:
            tabs = _learn_tabs(above)
        if tabs:
            return "tab"
    if kind == "":
        if not labelled or node.extras:
            return _decide_by_extras(node)
        if above.get("clickable") == "true" or takes_click(node):
            return "text" if " " in text and _is_prose(text) else "button"
        return "title" if "toolbar" in above.get("class", "").lower() else "text"
    return _decide_by_kind(node, kind, labelled=labelled) if kind in _AMBIGUOUS else kind


def _decide_by_kind(node: Node, kind: str, *, labelled: bool) -> str:
    """The role of a node whose class allows more than one."""
    extras = node.extras
    if kind == "collection":
        return "grid" if "columns" in extras else "list"
    if kind == "image":
        return "icon" if takes_click(node) else "image"
    if "collection_item" in extras:
        return "listitem"
    if "heading" in extras and labelled:
        return "title"
    return "row" if "horizontal" in extras else "column" if "vertical" in extras else "container"


def _decide_by_extras(node: Node) -> str:
    """The role of a node without a known class, by its extras."""
    extras = node.extras
    if "collection_item" in extras:
        return "listitem"
    if not node.label:
        return "unknown"
    if "heading" in extras:
        return "title"
    if takes_click(node):
        return "text" if _is_prose(node.text) else "button"
    if node.parent is not None and "toolbar" in node.parent.class_name.lower():
        return "title"
    return "label" if "screen_reader_focusable" in extras else "text"


def _is_prose(text: str) -> bool:
    return " " in text and utf16_length(text) > _MAX_BUTTON


def _kind(class_name: str) -> str:
    """The kind of a class; ``layout`` for plain containers, empty for unknown classes."""
    lowered = class_name.lower()
    for part, kind in _BY_CLASS:
        if part in lowered:
            return kind
    return "layout" if any(part in lowered for part in _LAYOUTS) else ""


# The kinds of class that may have a role, where it is not only the kind of the same name.
_KINDS_OF_ROLE = {
    "tab": frozenset((*(kind for _, kind in _BY_CLASS), "layout", "")),
    "list": frozenset(("collection", "list")),
    "grid": frozenset(("collection", "grid")),
    "icon": frozenset(("image",)),
    "button": frozenset(("button", "")),
    **dict.fromkeys(("listitem", "title"), frozenset(("layout", ""))),
    **dict.fromkeys(("row", "column", "container"), frozenset(("layout",))),
    **dict.fromkeys(("text", "label", "unknown"), frozenset(("",))),
}

# Caches by name. Apps choose the names, so number and length are limited. Plain dictionaries, read in place,
# because a search reads them for every node.
_KIND_OF_CLASS: dict[str, str] = {}
_TAB_CLASS: dict[str, bool] = {}
_TAB_NAME: dict[str, bool] = {}


def _learn_kind(name: str) -> str:
    return _cache(_KIND_OF_CLASS, name, _kind(name))


def _learn_tabs(above: dict[str, str]) -> bool:
    """Whether the children of a node with these attributes are tabs, by its class or its name."""
    class_name, name = above.get("class", ""), above.get("resource-id", "")
    by_class = _cache(_TAB_CLASS, class_name, any(part in class_name.lower() for part in _TAB_CLASSES))
    by_name = _cache(_TAB_NAME, name, any(part in name.lower() for part in _TAB_NAMES))
    return by_class or by_name


def _cache(cache: dict[str, Value], name: str, value: Value) -> Value:
    if len(cache) < _MAX_CACHED and len(name) <= _MAX_CACHED_NAME:
        cache[name] = value
    return value
