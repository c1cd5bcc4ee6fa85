"""The outline of a screen: one element for each thing a user can see or touch.

The texts of a clickable row belong to its element, and so does a switch that cannot be touched by itself. The
active tab is an element although it takes no clicks. Layouts without a label are left out. What the outline cannot
show is a notice. An outline is shown as text or as objects, with a limit on its size, or as the lines that changed
since an earlier one. That one is known by the references and checksums of its lines: no content of it is kept.
"""

import re
from collections import Counter
from itertools import islice
from typing import Any
from zlib import crc32

from msgspec import Struct

from clawperator._base.text import is_blank, printable
from clawperator.ui.node import HIDDEN, Bounds, Hierarchy, Node, role_of, visibility_test
from clawperator.ui.privacy import has_password

# An element with more texts is a page that can be clicked, not a row: its texts get their own lines.
_MAX_MERGED = 8
# Parts of the package names of keyboards.
_KEYBOARDS = ("inputmethod", "keyboard")
_ID_SEPARATOR = ":id/"
# Parts of class names that need an element of their own.
_SPECIAL = (
    ("edittext", "textfield"),
    ("autocompletetextview", "textfield"),
    ("webview", "webview"),
    ("seekbar", "slider"),
    ("ratingbar", "slider"),
    ("progressbar", "progress"),
    ("surfaceview", "surface"),
    ("textureview", "surface"),
    ("radiobutton", "radio"),
    ("spinner", "dropdown"),
    ("imageview", "image"),
    ("button", "button"),
)
# Elements even where they are inside a clickable row.
_OWN_ELEMENT = frozenset(("textfield", "webview", "slider", "surface"))
# Elements even without a label.
_WITHOUT_LABEL = frozenset(("textfield", "webview", "slider", "progress", "surface", "image", "button"))
# Elements whose role depends on more than their class, and the roles that say little about a touchable element.
_ROLE_OF_NODE = frozenset(("", "image", "button"))
_GENERIC = frozenset(("unknown", "container", "text", "label", "title", "listitem", "row", "column", "image"))
_MAX_CACHED = 4_096
_NOTHING_TO_READ = "nothing to read: still loading, a protected window, or content that only a picture shows"
_PICTURE = (
    "most of the screen is a picture without elements; take a screenshot to see it, and click it by coordinates"
)
# Large nodes without children that are no pictures: empty fields, and web pages, which have their own notice.
_NO_PICTURE = frozenset(("textfield", "webview"))
# A longer text is shown up to here.
MAX_SHOWN = 2_000
_FIRST_WITHOUT_SPACES = "\u2e80"
_CHECK_STATES = frozenset(("on", "off", "checked", "unchecked"))
# A screen with more elements has enough to read and to touch.
_MAX_AROUND_PICTURE = 16
# More siblings are a list, not tabs.
_MAX_TABS = 16
# How many nodes of a selected one are searched for a label.
_MAX_SEARCHED = 64
BYTES_PER_TOKEN = 4
_MAX_NAME = 256
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_TELLING_ROLES = frozenset(
    ("textfield", "webview", "slider", "progress", "surface", "radio", "dropdown", "switch", "checkbox", "image")
)


class OutlineElement(Struct, eq=False):
    """An element of an outline.

    ``texts`` are its label and the further texts of its row. ``content`` is what a field or slider holds; four
    dots for a password. ``ref`` is empty until the references number it. ``position`` is the part of the screen of
    a touchable element that nothing else names.
    """

    node: Node
    depth: int
    role: str
    texts: list[str]
    states: list[str]
    content: str | None = None
    ref: str = ""
    position: str = ""

    @property
    def label(self) -> str:
        return self.texts[0] if self.texts else ""

    @property
    def value(self) -> str:
        return "\n".join(self.texts[1:]) if self.content is None else self.content

    @property
    def is_touchable(self) -> bool:
        return _is_touchable(self.node.attributes) or self.role in _OWN_ELEMENT

    @property
    def short_id(self) -> str:
        """The resource id without its package."""
        return self.node.resource_id.rpartition(_ID_SEPARATOR)[2]


class Outline(Struct, frozen=True):
    """The elements of a screen in tree order, and what they do not show."""

    elements: list[OutlineElement]
    notices: list[str]


def outline_of(hierarchy: Hierarchy, frame: Bounds, *, overlay: str | None = None) -> Outline:
    """The outline of what is visible in ``frame``. ``overlay`` is the package of a window above the app's."""
    found = _Walk(frame).run(hierarchy)
    pages = {id(one.node) for one in found.elements if len(one.texts) > _MAX_MERGED}
    if pages:
        found = _Walk(frame, pages).run(hierarchy)
    _mark_cut_rows(found.elements, found.scrollers)
    for scroller, directions in found.hidden.items():
        _mark_more(found.elements[scroller], directions)
    elements = _without_wrappers(found.elements, pages)
    _mark_positions(elements, frame)
    notices = _notices(elements, overlay)
    if len(elements) <= _MAX_AROUND_PICTURE and _NOTHING_TO_READ not in notices:
        notices += _picture_notices(hierarchy, elements, frame)
    return Outline(elements, notices)


def parents_of(elements: list[OutlineElement]) -> list[OutlineElement | None]:
    """The element that contains each element."""
    parents: list[OutlineElement | None] = []
    path: list[OutlineElement] = []
    for element in elements:
        del path[element.depth :]
        parents.append(path[-1] if path else None)
        path.append(element)
    return parents


def screen_frame(hierarchy: Hierarchy) -> Bounds:
    """The area that the windows of a tree cover."""
    roots = [root.bounds.normalised() for root in hierarchy.roots]
    if not roots:
        return Bounds(0, 0, 0, 0)
    left, top, right, bottom = zip(*roots, strict=True)
    return Bounds(min(left), min(top), max(right), max(bottom))


class _Walk:
    """One walk over a tree. ``pages`` are clickable nodes whose texts are not merged."""

    def __init__(self, frame: Bounds, pages: set[int] | frozenset[int] = frozenset()) -> None:
        self._shows = visibility_test(frame)
        self._pages = pages
        self.elements: list[OutlineElement] = []
        # Texts inside of fields that are the names of those.
        self._names: set[int] = set()
        # Of each element, the position of the scrollable one that contains it, or -1.
        self.scrollers: list[int] = []
        # Of a scrollable element, the directions in which it has nodes that are not visible.
        self.hidden: dict[int, set[str]] = {}

    def run(self, hierarchy: Hierarchy) -> "_Walk":  # noqa: C901, PLR0912, PLR0915 - one loop, for speed
        elements, scrollers, shows = self.elements, self.scrollers, self._shows
        # A node, its depth, the element that its texts belong to, and the position of the scrollable one.
        waiting: list[tuple[Node, int, OutlineElement | None, int]]
        waiting = [(root, 0, None, -1) for root in reversed(hierarchy.roots)]
        while waiting:
            node, depth, owner, scroller = waiting.pop()
            attributes = node.attributes
            get = attributes.get
            name = get("class", "")
            special = _SPECIAL_OF_CLASS.get(name)
            if special is None:
                special = _learn_special(name)
            if get("password") == "true":
                special = "textfield"
            is_scrollable = get("scrollable") == "true"
            is_checkable = get("checkable") == "true"
            is_clickable = get("clickable") == "true" or get("long-clickable") == "true"
            if is_clickable or is_scrollable or is_checkable or special in _OWN_ELEMENT:
                if is_checkable and not is_clickable and owner is not None and _merge_switch(owner, node):
                    _merge_texts(owner, node)
                else:
                    owner = _new_element(node, depth, special)
                    if is_scrollable:
                        scroller = len(elements)
                    elements.append(owner)
                    scrollers.append(scroller)
                    depth += 1
                    if special == "textfield" and node.children and not owner.texts:
                        self._take_name(owner)
                    if is_scrollable or id(node) in self._pages or special in _OWN_ELEMENT:
                        owner = None
            elif owner is None and "true" in (get("selected"), get("checked")) and _is_choice(node):
                owner = _new_choice(node, depth, special)
                elements.append(owner)
                scrollers.append(scroller)
                depth += 1
                if id(node) in self._pages:
                    owner = None
            elif get("text") or get("content-desc"):
                if owner is not None:
                    _merge_texts(owner, node)
                elif node.label and id(node) not in self._names:
                    element = _new_element(node, depth, special)
                    elements.append(element)
                    scrollers.append(scroller)
                    if node.children:
                        depth += 1
                        owner = None if id(node) in self._pages else element
            elif owner is None and special in _WITHOUT_LABEL:
                elements.append(_new_element(node, depth, special))
                scrollers.append(scroller)
                depth += 1
            if node.children:
                for child in reversed(node.children):
                    if shows(child):
                        waiting.append((child, depth, owner, scroller))
                    elif scroller >= 0:
                        self._note_hidden(scroller, child)
        return self

    def _take_name(self, field: OutlineElement) -> None:
        """Name a field by the first text inside of it: Compose has the hint and the label there."""
        buttons: set[int] = set()
        for node in islice(field.node.walk(), 1, _MAX_SEARCHED):
            if _is_touchable(node.attributes) or id(node.parent) in buttons:
                buttons.add(id(node))
            elif node.label not in ("", field.node.text) and not node.children and self._shows(node):
                _merge_texts(field, node)
                self._names.add(id(node))
                break

    def _note_hidden(self, scroller: int, node: Node) -> None:
        area, at = self.elements[scroller].node.bounds.normalised(), node.bounds.normalised()
        found = self.hidden.setdefault(scroller, set())
        if at.top >= area.bottom > area.top:
            found.add("below")
        elif at.bottom <= area.top < area.bottom:
            found.add("above")
        elif at.left >= area.right:
            found.add("right")
        elif at.right <= area.left:
            found.add("left")


def _new_element(node: Node, depth: int, special: str) -> OutlineElement:
    attributes = node.attributes
    texts: list[str] = []
    content: str | None = None
    if special == "textfield":
        content = _field_content(node, texts)
    elif special == "slider" and not is_blank(node.text):
        content = node.text.strip()
        _add_text(texts, node.content_desc)
    else:
        _add_text(texts, attributes.get("text", ""))
        _add_text(texts, attributes.get("content-desc", ""))
    role = role_of(node) if special in _ROLE_OF_NODE else special
    if role == "icon" and _is_touchable(attributes):
        role = "button"
    elif special == "" and (role in _GENERIC or role == "button"):
        is_button = _is_touchable(attributes) and attributes.get("scrollable") != "true"
        role = "button" if is_button else "text" if texts else "container"
    if role == "button" and special == "" and attributes.get("checkable") == "true":
        role = "checkbox"
    return OutlineElement(node, depth, role, texts, _states(role, attributes), content)


def _is_choice(node: Node) -> bool:
    """Whether a selected node is shown as such: it has a label, or it is one of several tabs."""
    return _is_tab(node) or any(below.label for below in islice(node.walk(), _MAX_SEARCHED))


def _is_tab(node: Node) -> bool:
    """Whether the siblings of a selected node can be touched: the active tab itself often takes no clicks."""
    siblings = node.parent.children if node.parent is not None else []
    return len(siblings) <= _MAX_TABS and any(_is_touchable(one.attributes) for one in siblings if one is not node)


def _new_choice(node: Node, depth: int, special: str) -> OutlineElement:
    element = _new_element(node, depth, special)
    if _is_tab(node):
        element.role = "tab"
    elif element.role == "container":
        element.role = "text"
    return element


def _states(role: str, attributes: dict[str, str]) -> list[str]:
    get = attributes.get
    states = [_switch_state(role, attributes)] if "true" in (get("checkable"), get("checked")) else []
    if get("password") == "true":
        states.append("password")
    if get("scrollable") == "true":
        states.append("scrollable")
    if get("enabled") == "false":
        states.append("disabled")
    if get("focused") == "true":
        states.append("focused")
    if get("selected") == "true":
        states.append("selected")
    if get("long-clickable") == "true" and get("clickable") != "true" and role != "textfield":
        states.append("long-press")
    return states


def _field_content(node: Node, texts: list[str]) -> str:
    """What a text field holds, without a shown hint; adds its label to ``texts``."""
    hint, text = node.attributes.get("hint", ""), node.text
    _add_text(texts, node.content_desc)
    _add_text(texts, hint)
    if is_blank(text) or text == hint:
        return ""
    if not node.flag("password"):
        return text.strip()
    if has_password(node):
        return HIDDEN
    _add_text(texts, text)
    return ""


def _add_text(texts: list[str], text: str) -> None:
    # White space that strip() leaves is never ASCII.
    if text and (text := text.strip()) and text not in texts and (text.isascii() or not is_blank(text)):
        texts.append(text)


def _merge_texts(owner: OutlineElement, node: Node) -> None:
    """Add the texts of a node to the element that contains it, except for those that its description repeats.

    A selected text selects its row.
    """
    get = node.attributes.get
    if get("selected") == "true" and "selected" not in owner.states:
        owner.states.append("selected")
    described = owner.node.attributes.get("content-desc")
    text, description = get("text"), get("content-desc")
    if text and not (described and _has_words(described, text)):
        _add_text(owner.texts, text)
    if description and not (described and _has_words(described, description)):
        _add_text(owner.texts, description)


def _has_words(text: str, words: str) -> bool:
    """Whether a text contains the words as whole words."""
    at = text.find(words)
    while at >= 0:
        end = at + len(words)
        if not (at and _is_in_word(text[at - 1 : at + 1])) and not _is_in_word(text[end - 1 : end + 1]):
            return True
        at = text.find(words, at + 1)
    return False


def _is_in_word(pair: str) -> bool:
    """Whether two neighbours belong to one word. Chinese, Japanese and Korean have no space between words."""
    return len(pair) == 2 and pair.isalnum() and max(pair) < _FIRST_WITHOUT_SPACES


def _merge_switch(owner: OutlineElement, node: Node) -> bool:
    """Make the state of a switch the state of its row, unless the row has another one.

    A row may have a second view for the same state: one that draws it, and one with the label.
    """
    if owner.states and owner.states[0] in _CHECK_STATES and (owner.node.flag("checkable") or not owner.texts):
        return (owner.states[0] in ("on", "checked")) == node.flag("checked")
    if owner.role != "button":
        return False
    role = _learn_special(node.class_name) if "radio" in node.class_name.lower() else role_of(node)
    owner.role = role if role in ("switch", "checkbox", "radio") else "checkbox"
    owner.states.insert(0, _switch_state(owner.role, node.attributes))
    return True


def _switch_state(role: str, attributes: dict[str, str]) -> str:
    checked = attributes.get("checked") == "true"
    if role in ("switch", "button"):
        return "on" if checked else "off"
    return "checked" if checked else "unchecked"


def _is_touchable(attributes: dict[str, str]) -> bool:
    get = attributes.get
    return get("clickable") == "true" or get("long-clickable") == "true" or get("checkable") == "true"


def _without_wrappers(elements: list[OutlineElement], pages: set[int]) -> list[OutlineElement]:
    """The elements without clickable layouts that have no label and only surround other elements."""
    kept: list[OutlineElement] = []
    # The depths of the left out elements that surround the current one.
    left_out: list[int] = []
    for at, element in enumerate(elements):
        depth = element.depth
        while left_out and left_out[-1] >= depth:
            left_out.pop()
        element.depth = depth - len(left_out)
        if (
            not element.texts
            and element.states in ([], ["long-press"])
            and element.role == "button"
            and id(element.node) not in pages
            and at + 1 < len(elements)
            and elements[at + 1].depth > depth
        ):
            left_out.append(depth)
        else:
            kept.append(element)
    return kept


def _mark_positions(elements: list[OutlineElement], frame: Bounds) -> None:
    """Mark touchable elements without a label by their part of the screen, numbered where several share it.

    An id that no other of them has is enough, and so is a labelled element around only one of them.
    """
    unnamed = [at for at, one in enumerate(elements) if not one.texts and _is_touchable(one.node.attributes)]
    if not unnamed:
        return
    parents = parents_of(elements)
    around = [id(above) if (above := parents[at]) and above.texts else 0 for at in unnamed]
    names = [(above, elements[at].node.resource_id) for at, above in zip(unnamed, around, strict=True)]
    known = Counter(names)
    places: dict[str, list[OutlineElement]] = {}
    for at, name in zip(unnamed, names, strict=True):
        if name == (0, "") or known[name] > 1:
            places.setdefault(_part_of(frame, elements[at].node.bounds), []).append(elements[at])
    for place, sharing in places.items():
        sharing.sort(key=lambda element: element.node.bounds.centre[::-1])
        for number, element in enumerate(sharing, 1):
            element.position = f"{place} {number}/{len(sharing)}" if len(sharing) > 1 else place


def _part_of(frame: Bounds, area: Bounds) -> str:
    """The part of the frame, in thirds, where the centre of an area is: ``top-left``, ``top``, ``centre``, ..."""
    x, y = area.centre
    width, height = frame.width, frame.height
    row = "top" if (y - frame.top) * 3 < height else "bottom" if (frame.bottom - y) * 3 < height else ""
    column = "left" if (x - frame.left) * 3 < width else "right" if (frame.right - x) * 3 < width else ""
    return "-".join(filter(None, (row, column))) or "centre"


def _mark_cut_rows(elements: list[OutlineElement], scrollers: list[int]) -> None:
    """Mark lists whose first or last row is cut off: they have more above or below.

    A row is cut off where its text touches the edge of the list, while other rows of its kind have a margin there.
    """
    rows: dict[tuple[int, str, str], list[OutlineElement]] = {}
    for at, element in enumerate(elements):
        if element.node.children and at != scrollers[at] >= 0:
            kind = (scrollers[at], element.node.class_name, element.node.resource_id)
            rows.setdefault(kind, []).append(element)
    for (scroller, _, _), alike in rows.items():
        if len(alike) < 2:
            continue
        area = elements[scroller].node.bounds.normalised()
        first, last = _margins(alike[0].node), _margins(alike[-1].node)
        others = _margins(alike[1].node), _margins(alike[-2].node)
        more = set()
        if first.top == 0 < others[0].top and alike[0].node.bounds.normalised().top == area.top:
            more.add("above")
        if last.bottom == 0 < others[1].bottom and alike[-1].node.bounds.normalised().bottom == area.bottom:
            more.add("below")
        _mark_more(elements[scroller], more)


def _margins(row: Node) -> Bounds:
    """The space between the edges of a row and its labels."""
    area = row.bounds.normalised()
    inner = [b for node in row.walk() if node.label and not (b := node.bounds.normalised()).is_empty]
    return Bounds(
        min((b.left for b in inner), default=area.left) - area.left,
        min((b.top for b in inner), default=area.top) - area.top,
        area.right - max((b.right for b in inner), default=area.right),
        area.bottom - max((b.bottom for b in inner), default=area.bottom),
    )


def _mark_more(scroller: OutlineElement, directions: set[str]) -> None:
    known = {state.removeprefix("more ") for state in scroller.states if state.startswith("more ")}
    ordered = [name for name in ("above", "below", "left", "right") if name in known | directions]
    if ordered:
        others = [state for state in scroller.states if state != "scrollable" and not state.startswith("more ")]
        scroller.states = [f"more {name}" for name in ordered] + others


def _notices(elements: list[OutlineElement], overlay: str | None) -> list[str]:
    notices = []
    if overlay and any(part in overlay.lower() for part in _KEYBOARDS):
        notices.append("the keyboard is open")
    elif overlay:
        is_name = overlay.isascii() and overlay.replace(".", "").replace("_", "").isalnum()
        name = overlay if is_name else "(invalid name)"
        notices.append(f"another app's window covers part of the screen: {name}")
    if not any(element.texts or element.is_touchable for element in elements):
        notices.append(_NOTHING_TO_READ)
    cut = 0
    for element in elements:
        for text in element.texts if element.content is None else (*element.texts, element.content):
            cut += len(text) > MAX_SHOWN
    if cut:
        notices.append(f"{cut} long text{'s' if cut > 1 else ''} cut after {MAX_SHOWN} characters")
    for at, element in enumerate(elements):
        if element.role == "webview":
            following = elements[at + 1 :]
            inside = next((one for one in following if one.depth <= element.depth or one.texts), None)
            if inside is None or inside.depth <= element.depth:
                notices.append("the web page has no readable content; take a screenshot to see it")
    return notices


def _picture_notices(hierarchy: Hierarchy, elements: list[OutlineElement], frame: Bounds) -> list[str]:
    """A notice where one node without children or text covers more than 60 % of the screen: a game or a canvas.

    Nothing that can be touched lies on it. A node that is no element must take the focus and have no text on it:
    others are empty space.
    """
    known = {id(element.node) for element in elements}
    shows = visibility_test(frame)
    for node in hierarchy.nodes:
        if node.children or node.text or node.scrollable or not shows(node):
            continue
        seen = node.bounds.normalised().intersection(frame)
        if (
            seen.width * seen.height * 10 > frame.width * frame.height * 6
            and (id(node) in known or node.focusable)
            and _learn_special(node.class_name) not in _NO_PICTURE
            and not any(
                one.node is not node
                and (one.is_touchable or (one.texts and id(node) not in known))
                and seen.contains(*one.node.bounds.centre)
                for one in elements
            )
        ):
            return [_PICTURE]
    return []


# Class names are chosen by apps, so the number of cached ones is limited.
_SPECIAL_OF_CLASS: dict[str, str] = {}


def _learn_special(name: str) -> str:
    lowered = name.lower()
    special = next((role for part, role in _SPECIAL if part in lowered), "")
    if len(_SPECIAL_OF_CLASS) < _MAX_CACHED and len(name) <= 256:
        _SPECIAL_OF_CLASS[name] = special
    return special


# Outlines as text and as objects, and the lines that changed between two


def render_outline(outline: Outline, max_tokens: int | None = None) -> str:
    """One line per element, then the notices. With ``max_tokens``, whole lines are cut at the end."""
    return "\n".join(cut_lines([render_element(one) for one in outline.elements], outline.notices, max_tokens))


def cut_lines(lines: list[str], notices: list[str], max_tokens: int | None) -> list[str]:
    """The lines that fit, and the notices; one more notice when lines were cut."""
    ending = [f"! {notice}" for notice in notices]
    if max_tokens is None:
        return lines + ending
    sizes = [len(line.encode()) + 1 for line in lines]
    kept, cut = _fitting(sizes, sum(len(line.encode()) + 1 for line in ending), max_tokens)
    return [*lines[:kept], *ending, *(f"! {notice}" for notice in cut)]


def _fitting(sizes: list[int], fixed: int, max_tokens: int) -> tuple[int, list[str]]:
    """How many of the lines fit beside ``fixed`` bytes, and a notice when some are cut."""
    most, kept, used = max_tokens * BYTES_PER_TOKEN, len(sizes), sum(sizes) + fixed
    if used <= most:
        return kept, []
    needed = -(-used // BYTES_PER_TOKEN)
    while True:
        cut = f"{len(sizes) - kept} of {len(sizes)} lines cut"
        notice = f"{cut}; all of them take {needed} tokens"
        if not kept or used + len(notice) + 3 <= most:
            return kept, [notice]
        kept -= 1
        used -= sizes[kept]


def render_element(element: OutlineElement) -> str:
    """The line of an element."""
    words = [element.ref] if element.ref else []
    texts = element.texts
    if not texts:
        words.append(element.role + element_hint(element))
        if element.position:
            words.append(element.position)
    else:
        if element.role != "text":
            words.append(element.role)
        words += [quote(text if len(text) <= MAX_SHOWN else shorten(text)) for text in texts]
    if element.content:
        words.append("= " + quote(shorten(element.content)))
    words += element.states
    return " " * element.depth + " ".join(words)


def element_hint(element: OutlineElement) -> str:
    """`` #id`` of an element without a label, else `` .Class``; nothing where the role says as much."""
    mark, name = "#", element.short_id
    if not name and element.role not in _TELLING_ROLES:
        mark, name = ".", element.node.class_name.rpartition(".")[2]
    if not name:
        return ""
    return f" {mark}{name if _NAME.fullmatch(name) else quote(name[:_MAX_NAME])}"


def outline_objects(outline: Outline, max_tokens: int | None = None) -> dict[str, Any]:
    """The outline as ``elements`` and ``notices``. With ``max_tokens``, elements are cut at the end."""
    import msgspec

    objects = [element_object(one) for one in outline.elements]
    notices = list(outline.notices)
    if max_tokens is not None:
        sizes = [len(msgspec.json.encode(one)) + 1 for one in objects]
        fixed = len(msgspec.json.encode({"elements": [], "notices": notices}))
        kept, cut = _fitting(sizes, fixed, max_tokens)
        objects, notices = objects[:kept], [*notices, *cut]
    return {"elements": objects, "notices": notices}


def element_object(element: OutlineElement) -> dict[str, Any]:
    """An element as an object of the ``json`` view. ``id`` only where there is no label."""
    bounds = element.node.bounds.normalised()
    values = element.texts[1:] if element.content is None else [element.content]
    made = {
        "ref": element.ref,
        "role": element.role,
        "label": printable(shorten(element.label)),
        "value": "\n".join(printable(shorten(text)) for text in values),
        "states": list(element.states),
        "bounds": [bounds.left, bounds.top, bounds.right, bounds.bottom],
        "depth": element.depth,
    }
    if not element.texts and element.short_id:
        made["id"] = printable(element.short_id[:_MAX_NAME])
    return made


def shorten(text: str) -> str:
    """Text of an app, cut where it is too long to be shown."""
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"


def quote(text: str) -> str:
    """App text in double quotes on one line: quotes, backslashes, control and bidi characters are escaped."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{printable(escaped)}"'


class EarlierLine(Struct, frozen=True, array_like=True):
    """A line of an earlier outline: its reference, the checksum of its text without spaces, its role and label."""

    ref: str
    checksum: int
    role: str
    label: str


def earlier_lines(outline: Outline) -> list[EarlierLine]:
    """What has to be kept of an outline in order to compare a later one with it."""
    return [
        EarlierLine(one.ref, _checksum(render_element(one)), one.role, one.label[:80]) for one in outline.elements
    ]


def changed_lines(before: list[EarlierLine], after: Outline) -> list[str]:
    """``+`` for each added line, ``~`` for each changed one, then ``-`` for each removed one."""
    known = {line.ref: line for line in before}
    lines = []
    for element in after.elements:
        line = render_element(element)
        earlier = known.pop(element.ref, None)
        if earlier is None:
            lines.append(f"+{line}")
        elif earlier.checksum != _checksum(line):
            lines.append(f"~{line}")
    return lines + [f"-{_removed(line)}" for line in known.values()]


def has_other_order(before: list[EarlierLine], after: Outline) -> bool:
    """Whether the lines that both have are in another order."""
    common = {line.ref for line in before}.intersection(element.ref for element in after.elements)
    order = [line.ref for line in before if line.ref in common]
    return order != [element.ref for element in after.elements if element.ref in common]


def _removed(line: EarlierLine) -> str:
    words = [line.ref, *([] if line.role == "text" else [line.role]), *([quote(line.label)] if line.label else [])]
    return " ".join(words)


def _checksum(line: str) -> int:
    return crc32(line.strip().encode("utf-8", "replace"))
