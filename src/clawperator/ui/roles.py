"""What a view is for, inferred from its class, its parent and what accessibility knows of it."""

from collections.abc import Callable
from typing import Generic, TypeVar

from clawperator.contract.text import utf16_length
from clawperator.ui.node import Node

# The part of a class name that tells, in the order in which they are tried. RadioButton and ToggleButton are
# not here: like every other Button they are buttons.
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
# Kinds of class that leave more than one role open.
_UNSETTLED = frozenset(("collection", "image", "layout", ""))
_LAYOUTS = ("linearlayout", "framelayout", "constraintlayout", "coordinatorlayout")
_TAB_CLASSES = ("tablayout", "bottomnavigationview")
_TAB_NAMES = ("tab", "navigation", "bottom")
# How far up a click may be taken.
_CLICK_REACH = 3
# A clickable text that is longer than this and has a space is prose, not the label of a button.
_LONGEST_BUTTON = 20
_NOTHING: dict[str, str] = {}
_REMEMBERED = 4_096
_LONGEST_REMEMBERED = 256

Told = TypeVar("Told")


def role(node: Node) -> str:
    """The name of the role, in lower case; ``unknown`` when nothing tells.

    A tree read from XML has no extras, so there some roles (``title``, ``listitem``, ``grid``, ``row``,
    ``column``, ``label``) are not found where the phone itself would find them.
    """
    return _decide(node, _KIND[node.attributes.get("class", "")])


def role_test(wanted: str) -> Callable[[Node], bool]:
    """Whether a node has the wanted role. Most nodes are turned down by their class alone."""
    kinds = _KINDS.get(wanted, frozenset((wanted,)))
    known = _KIND

    def has_role(node: Node) -> bool:
        kind = known[node.attributes.get("class", "")]
        return kind in kinds and _decide(node, kind) == wanted

    return has_role


def takes_click(node: Node) -> bool:
    """Whether the node or one close above it is clickable."""
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
    # Searches by role ask this of every node, so what most nodes answer is asked first, and in one place.
    text = node.attributes.get("text", "")
    labelled = (text != "" and text[0].isalnum()) or node.label != ""
    parent = node.parent
    above = parent.attributes if parent is not None else _NOTHING
    if labelled and (_TAB_CLASS[above.get("class", "")] or _TAB_NAME[above.get("resource-id", "")]):
        return "tab"
    if kind == "":
        if not labelled or node.extras:
            return _decide_by_extras(node)
        if above.get("clickable") == "true" or takes_click(node):
            return "text" if " " in text and _is_prose(text) else "button"
        return "title" if "toolbar" in above.get("class", "").lower() else "text"
    if kind not in _UNSETTLED:
        return kind
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
    """The role of a node whose class says nothing, and of which more is known than its label, or less."""
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
    return " " in text and utf16_length(text) > _LONGEST_BUTTON


def _kind(class_name: str) -> str:
    """What the class alone tells; ``layout`` for the plain containers, nothing for the rest."""
    lowered = class_name.lower()
    for part, kind in _BY_CLASS:
        if part in lowered:
            return kind
    return "layout" if any(part in lowered for part in _LAYOUTS) else ""


def _any_of(parts: tuple[str, ...]) -> Callable[[str], bool]:
    def has_one(name: str) -> bool:
        lowered = name.lower()
        return any(part in lowered for part in parts)

    return has_one


# The kinds of class whose nodes may have a role, where it is not just the kind of that name.
_KINDS = {
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


class _Known(dict[str, Told], Generic[Told]):
    """What names tell. Apps choose the names, so only so many are remembered, and none that is long."""

    def __init__(self, tell: Callable[[str], Told]) -> None:
        super().__init__()
        self._tell = tell

    def __missing__(self, name: str) -> Told:
        told = self._tell(name)
        if len(self) < _REMEMBERED and len(name) <= _LONGEST_REMEMBERED:
            self[name] = told
        return told


_KIND = _Known(_kind)
_TAB_CLASS = _Known(_any_of(_TAB_CLASSES))
_TAB_NAME = _Known(_any_of(_TAB_NAMES))
