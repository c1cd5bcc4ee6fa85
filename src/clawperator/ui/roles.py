"""The role of a view, inferred from its class, its parent and accessibility properties."""

from collections.abc import Callable
from typing import Protocol, TypeVar

from clawperator._base.text import utf16_length

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


class RoleNode(Protocol):
    """The part of a node that decides its role. ``Node`` itself reads its role from this module."""

    @property
    def attributes(self) -> dict[str, str]: ...
    @property
    def parent(self) -> "RoleNode | None": ...
    @property
    def extras(self) -> frozenset[str]: ...
    @property
    def label(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def class_name(self) -> str: ...


def role_of(node: RoleNode) -> str:
    """The name of the role, in lower case, or ``unknown``.

    A tree parsed from XML has no extras, so some roles (``title``, ``listitem``, ``grid``, ``row``, ``column``,
    ``label``) are not found where the device itself would find them.
    """
    name = node.attributes.get("class", "")
    kind = _KIND_OF_CLASS.get(name)
    return _decide(node, _learn_kind(name) if kind is None else kind)


def role_test(wanted: str) -> Callable[[RoleNode], bool]:
    """A function that tests for a role. The class alone rejects most nodes."""
    kinds = _KINDS_OF_ROLE.get(wanted, frozenset((wanted,)))

    def has_role(node: RoleNode) -> bool:
        name = node.attributes.get("class", "")
        try:
            kind = _KIND_OF_CLASS[name]
        except KeyError:
            kind = _learn_kind(name)
        return kind in kinds and _decide(node, kind) == wanted

    return has_role


def takes_click(node: RoleNode) -> bool:
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


def _decide(node: RoleNode, kind: str) -> str:
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


def _decide_by_kind(node: RoleNode, kind: str, *, labelled: bool) -> str:
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


def _decide_by_extras(node: RoleNode) -> str:
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
    "listitem": frozenset(("layout", "")),
    "title": frozenset(("layout", "")),
    "row": frozenset(("layout",)),
    "column": frozenset(("layout",)),
    "container": frozenset(("layout",)),
    "button": frozenset(("button", "")),
    "text": frozenset(("",)),
    "label": frozenset(("",)),
    "unknown": frozenset(("",)),
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
