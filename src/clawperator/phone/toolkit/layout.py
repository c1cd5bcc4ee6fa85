"""Layout: measure views, then place them as nodes with bounds."""

from functools import cache
from math import ceil

from msgspec import Struct

from clawperator.phone.toolkit.app import BackStackEntry
from clawperator.phone.toolkit.views import Rows, View
from clawperator.ui.node import Bounds, Node

_LINE_HEIGHT = 1.35  # in multiples of the text size
_CHARACTER_WIDTH = 0.52  # the mean, in multiples of the text size
_MAX_LINES = 40
_CORNER_MARGIN = 16
_BULLET = "•"
_WEB = "android.webkit.WebView"

# The measured width and height of a view, and the measurements of its children.
Measured = tuple[int, int, list["Measured"]]


class PlacedView(Struct, eq=False):
    """The view behind a node: its screen, its key there, and how far it is scrolled.

    ``area`` is its whole area when only a part of it is visible; the node has the visible part.
    """

    view: View
    entry: BackStackEntry
    key: str
    node: Node
    area: Bounds | None = None
    offset: tuple[int, int] = (0, 0)
    extent: tuple[int, int] = (0, 0)


class LayoutSlot(Struct, frozen=True):
    """Where a view goes: its area, the visible clip, the parent node, and the view's key."""

    area: Bounds
    clip: Bounds
    parent: Node
    key: str
    index: int

    def child(self, area: Bounds, index: int) -> "LayoutSlot":
        """The slot of a child, by its index."""
        return LayoutSlot(area, self.clip, self.parent, f"{self.key}.{index}", index)


class LayoutPass:
    """One layout of one window: its ``nodes`` depth first, and its ``views`` by key."""

    def __init__(self, scale: float, entry: BackStackEntry) -> None:
        self._scale = scale
        self._entry = entry
        self._package = entry.package
        self._keeps_hidden = False
        self._in_web = False
        self.nodes: list[Node] = []
        self.views: dict[str, PlacedView] = {}

    def lay_out(self, view: View, area: Bounds, parent: Node) -> None:
        self._place(view, self._measure(view, area.width), LayoutSlot(area, area, parent, "0", 0))

    def natural_height(self, view: View, width: int) -> int:
        return self._measure(view, width)[1]

    # Measuring

    def _measure(self, view: View, width: int) -> Measured:
        scale = self._scale
        width = min(round(view.width * scale), width) if view.width else width
        pad = round(view.padding * scale)
        inner = max(0, width - 2 * pad)
        kids: list[Measured]
        if view.layout == "leaf":
            wide, high = self._measure_text(view, inner)
            kids = []
        elif view.layout == "column":
            kids = [self._measure(child, inner) for child in view.children]
            high = sum(kid[1] for kid in kids) + self._gaps(view)
            if view.rows:
                high += view.rows.count * round(view.rows.height * scale)
            wide = inner
        elif view.layout == "row":
            kids = self._measure_row(view, inner)
            high = max((kid[1] for kid in kids), default=0)
            wide = sum(kid[0] for kid in kids) + self._gaps(view)
        else:
            kids = [self._measure(child, inner) for child in view.children]
            high = max((kid[1] for kid in kids), default=0)
            wide = inner
        height = round(view.height * scale) if view.height else high + 2 * pad
        return (width if view.width else wide + 2 * pad), height, kids

    def _measure_row(self, view: View, inner: int) -> list[Measured]:
        if view.scrolls:
            return [self._measure(child, inner) for child in view.children]
        fixed = {i: self._measure(child, inner) for i, child in enumerate(view.children) if not child.weight}
        left = max(0, inner - sum(measured[0] for measured in fixed.values()) - self._gaps(view))
        weights = sum(child.weight for child in view.children) or 1
        shares = [int(left * child.weight / weights) for child in view.children]
        return [
            fixed[i] if i in fixed else (shares[i], *self._measure(child, shares[i])[1:])
            for i, child in enumerate(view.children)
        ]

    def _measure_text(self, view: View, inner: int) -> tuple[int, int]:
        shown = view.text or view.hint
        line = view.size * self._scale
        if not shown:
            return 0, round(line * _LINE_HEIGHT) if view.edits else 0
        per_line = max(1, int(inner / (line * _CHARACTER_WIDTH)))
        pieces = shown.split("\n", _MAX_LINES)
        lines = sum(max(1, ceil(len(piece) / per_line)) for piece in pieces)
        widest = min(per_line, max(len(piece) for piece in pieces))
        return ceil(widest * line * _CHARACTER_WIDTH), round(min(lines, _MAX_LINES) * line * _LINE_HEIGHT)

    def _gaps(self, view: View) -> int:
        return round(view.gap * self._scale) * max(0, len(view.children) - 1)

    # Placing

    def _place(self, view: View, measured: Measured, slot: "LayoutSlot") -> None:
        area, clip = slot.area, slot.clip
        shown = area.intersection(clip)
        hidden = shown.is_empty
        if hidden and not self._keeps_hidden:
            return
        if hidden:
            # Android keeps a view that is scrolled away in the tree, with empty bounds at the edge.
            left, top = min(max(area.left, clip.left), clip.right), min(max(area.top, clip.top), clip.bottom)
            shown = Bounds(left, top, left, top)
        placed = self._node(view, shown, slot, hidden=hidden)
        if shown != area:
            placed.area = area
        if view.layout == "leaf":
            return
        keeping, in_web = self._keeps_hidden, self._in_web
        self._in_web = in_web or view.class_name == _WEB
        pad = round(view.padding * self._scale)
        inner = Bounds(area.left + pad, area.top + pad, area.right - pad, area.bottom - pad)
        if view.scrolls:
            inner = self._scrolled(view, measured, inner, placed)
            clip = shown
            self._keeps_hidden = keeping or view.keeps_hidden
        inside = LayoutSlot(inner, clip, placed.node, placed.key, 0)
        place = {"frame": self._place_frame, "column": self._place_column, "row": self._place_row}[view.layout]
        place(view, measured, inside)
        self._keeps_hidden, self._in_web = keeping, in_web

    def _place_frame(self, view: View, measured: Measured, inside: "LayoutSlot") -> None:
        inner = inside.area
        for i, (child, kid) in enumerate(zip(view.children, measured[2], strict=True)):
            width = kid[0] if child.width else inner.width
            height = inner.height if child.weight else kid[1]
            area = Bounds(inner.left, inner.top, inner.left + width, inner.top + height)
            if child.corner:
                margin = round(_CORNER_MARGIN * self._scale)
                right, bottom = inner.right - margin, inner.bottom - margin
                area = Bounds(right - width, bottom - height, right, bottom)
            self._place(child, kid, inside.child(area, i))

    def _place_column(self, view: View, measured: Measured, inside: "LayoutSlot") -> None:
        inner = inside.area
        gap = round(view.gap * self._scale)
        weights = 0.0 if view.scrolls else sum(child.weight for child in view.children)
        fixed = sum(kid[1] for kid, child in zip(measured[2], view.children, strict=True) if not child.weight)
        left = max(0, inner.height - fixed - self._gaps(view))
        y = inner.top
        for i, (child, kid) in enumerate(zip(view.children, measured[2], strict=True)):
            high = int(left * child.weight / weights) if weights and child.weight else kid[1]
            wide = min(inner.width, kid[0]) if child.width else inner.width
            area = Bounds(inner.left, y, inner.left + wide, y + high)
            y += high + gap
            self._place(child, kid, inside.child(area, i))
        if view.rows:
            self._place_rows(view.rows, y, inside)

    def _place_rows(self, rows: Rows, y: int, inside: "LayoutSlot") -> None:
        """Place only the visible rows, from ``y`` on."""
        inner, clip = inside.area, inside.clip
        high = max(1, round(rows.height * self._scale))
        first = max(0, (clip.top - y) // high)
        last = min(rows.count, (clip.bottom - y + high - 1) // high)
        for i in range(first, last):
            child = rows.build(i)
            area = Bounds(inner.left, y + i * high, inner.right, y + (i + 1) * high)
            slot = LayoutSlot(area, clip, inside.parent, f"{inside.key}.r{i}", i)
            self._place(child, self._measure(child, inner.width), slot)

    def _place_row(self, view: View, measured: Measured, inside: "LayoutSlot") -> None:
        inner = inside.area
        gap = round(view.gap * self._scale)
        x = inner.left
        for i, (child, kid) in enumerate(zip(view.children, measured[2], strict=True)):
            high = min(inner.height, kid[1]) if child.height else inner.height
            top = inner.top + (inner.height - high) // 2
            area = Bounds(x, top, x + kid[0], top + high)
            x += kid[0] + gap
            self._place(child, kid, inside.child(area, i))

    def _scrolled(self, view: View, measured: Measured, inner: Bounds, placed: PlacedView) -> Bounds:
        """The content's area, moved by the scroll offset. Stored offsets are clamped to the content."""
        pad = 2 * round(view.padding * self._scale)
        across, down = 0, 0
        if view.scrolls == "vertical":
            content = sum(kid[1] for kid in measured[2]) + self._gaps(view)
            if view.rows:
                content += view.rows.count * round(view.rows.height * self._scale)
            down = max(0, content - inner.height)
        else:
            across = max(0, measured[0] - pad - inner.width)
        x, y = self._entry.scroll.get(placed.key, (0, 0))
        x, y = min(x, across), min(y, down)
        if x or y:
            self._entry.scroll[placed.key] = (x, y)
        placed.offset, placed.extent = (x, y), (across, down)
        return Bounds(inner.left - x, inner.top - y, inner.right - x + across, inner.bottom - y + down)

    def _node(self, view: View, shown: Bounds, slot: "LayoutSlot", *, hidden: bool) -> PlacedView:
        key, parent = slot.key, slot.parent
        if view.scrolls or view.edits:
            # A view with state is keyed by its name, so that the state survives changes around it.
            named = view.bind or view.id
            key = named if named and named not in self.views else key
        package = self._package
        name = view.id
        entry = self._entry
        text, checked = view.text, view.checked
        shows_hint = False
        if view.edits:
            text = field_text(view, entry, key)
            if view.edits == "password":
                text = _BULLET * len(text)
            shows_hint = not text and bool(view.hint)
            text = text or view.hint
        elif checked is not None and view.bind:
            checked = bool(entry.process.state.get(view.bind, checked))
        clickable = view.clickable
        if clickable is None:
            clickable = view.on_click is not None or bool(view.edits) or checked is not None
        # The ids of a web page have no package prefix.
        is_full_id = not name or self._in_web or ":" in name or "/" in name
        attributes = {
            "index": str(slot.index),
            "text": text,
            "resource-id": name if is_full_id else f"{package}:id/{name}",
            "class": view.class_name,
            "package": package,
            "content-desc": view.desc,
            "checkable": "true" if checked is not None else "false",
            "checked": "true" if checked else "false",
            "clickable": "true" if clickable else "false",
            "enabled": "true" if view.enabled else "false",
            "focusable": "true" if clickable or view.scrolls else "false",
            "focused": "true" if entry.focus == key and (clickable or view.edits) else "false",
            "scrollable": "false",
            "long-clickable": "true" if view.on_long_click else "false",
            "password": "true" if view.edits == "password" else "false",
            "selected": "true" if view.selected else "false",
            "bounds": f"[{shown.left},{shown.top}][{shown.right},{shown.bottom}]",
        }
        node = Node(
            attributes, parent, _extras(view.heading, view.collection_item, hidden, shows_hint, view.columns > 1)
        )
        placed = node.source = PlacedView(view, entry, key, node)
        if view.scrolls:
            attributes["scrollable"] = "true"
        self.views[key] = placed
        parent.children.append(node)
        self.nodes.append(node)
        return placed


def field_text(view: View, entry: BackStackEntry, key: str) -> str:
    """The text of a field: from the app's state when it is bound, else from the screen's own state."""
    if view.bind:
        return str(entry.process.state.get(view.bind, ""))
    return entry.texts.get(key, view.text)


_EXTRAS = ("heading", "collection_item", "invisible", "hint", "columns")


@cache
def _extras(*flags: bool) -> frozenset[str]:
    """The set of these names: a few, which all nodes share."""
    return frozenset(name for name, is_set in zip(_EXTRAS, flags, strict=True) if is_set)
