"""From views to nodes with bounds: first how large each wants to be, then where each lies."""

from math import ceil

from clawperator.phone.core.display import Display
from clawperator.phone.core.tasks import Entry
from clawperator.phone.toolkit.views import Rows, View
from clawperator.ui.node import Bounds, Node

_LINE = 1.35  # the height of a line of text, in sizes of the text
_CHARACTER = 0.52  # the mean width of a character, likewise
_MOST_LINES = 40
_BULLET = "•"
_WEB = "android.webkit.WebView"

# What a view wants: width, height, and the same for each child that stands still.
Wish = tuple[int, int, list["Wish"]]


class Place:
    """What lies behind a node: its view, on which screen, under which name, and how far it scrolls."""

    __slots__ = ("entry", "extent", "key", "node", "offset", "view")

    def __init__(self, view: View, entry: Entry, key: str, node: Node) -> None:
        self.view = view
        self.entry = entry
        self.key = key
        self.node = node
        self.offset = (0, 0)
        self.extent = (0, 0)


class Slot:
    """Where a view is to lie: its area, what of it can be seen, in which node, under which name."""

    __slots__ = ("area", "clip", "index", "key", "parent")

    def __init__(self, area: Bounds, clip: Bounds, parent: Node, key: str, index: int) -> None:
        self.area = area
        self.clip = clip
        self.parent = parent
        self.key = key
        self.index = index

    def part(self, area: Bounds, index: int) -> "Slot":
        """A slot in this one, for the child of that number."""
        return Slot(area, self.clip, self.parent, f"{self.key}.{index}", index)


class Placing:
    """One pass over one window. ``nodes`` are all it made, depth first; ``places`` them by their names."""

    def __init__(self, display: Display, entry: Entry) -> None:
        self._scale = display.scale
        self._entry = entry
        self._package = entry.package
        self._keeping = False
        self._in_web = False
        self.nodes: list[Node] = []
        self.places: dict[str, Place] = {}

    def lay_out(self, view: View, area: Bounds, parent: Node) -> None:
        self._place(view, self._measure(view, area.width), Slot(area, area, parent, "0", 0))

    def natural_height(self, view: View, width: int) -> int:
        return self._measure(view, width)[1]

    # How large

    def _measure(self, view: View, width: int) -> Wish:
        scale = self._scale
        width = min(round(view.width * scale), width) if view.width else width
        pad = round(view.padding * scale)
        inner = max(0, width - 2 * pad)
        kids: list[Wish]
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

    def _measure_row(self, view: View, inner: int) -> list[Wish]:
        if view.scrolls:
            return [self._measure(child, inner) for child in view.children]
        fixed = {i: self._measure(child, inner) for i, child in enumerate(view.children) if not child.weight}
        left = max(0, inner - sum(wish[0] for wish in fixed.values()) - self._gaps(view))
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
            return 0, round(line * _LINE) if view.edits else 0
        per_line = max(1, int(inner / (line * _CHARACTER)))
        pieces = shown.split("\n", _MOST_LINES)
        lines = sum(max(1, ceil(len(piece) / per_line)) for piece in pieces)
        widest = min(per_line, max(len(piece) for piece in pieces))
        return ceil(widest * line * _CHARACTER), round(min(lines, _MOST_LINES) * line * _LINE)

    def _gaps(self, view: View) -> int:
        return round(view.gap * self._scale) * max(0, len(view.children) - 1)

    # Where

    def _place(self, view: View, wish: Wish, slot: "Slot") -> None:
        area, clip = slot.area, slot.clip
        shown = area.intersection(clip)
        hidden = shown.is_empty
        if hidden and not self._keeping:
            return
        if hidden:
            # Kept in the tree as a sliver at the edge, as phones tell of what is scrolled away.
            left, top = min(max(area.left, clip.left), clip.right), min(max(area.top, clip.top), clip.bottom)
            shown = Bounds(left, top, left, top)
        place = self._node(view, shown, slot, hidden=hidden)
        if view.layout == "leaf":
            return
        keeping, in_web = self._keeping, self._in_web
        self._in_web = in_web or view.class_name == _WEB
        pad = round(view.padding * self._scale)
        inner = Bounds(area.left + pad, area.top + pad, area.right - pad, area.bottom - pad)
        if view.scrolls:
            inner = self._scrolled(view, wish, inner, place)
            clip = shown
            self._keeping = keeping or view.keeps_hidden
        within = Slot(inner, clip, place.node, place.key, 0)
        {"frame": self._place_frame, "column": self._place_column, "row": self._place_row}[view.layout](
            view, wish, within
        )
        self._keeping, self._in_web = keeping, in_web

    def _place_frame(self, view: View, wish: Wish, within: "Slot") -> None:
        inner = within.area
        for i, (child, kid) in enumerate(zip(view.children, wish[2], strict=True)):
            width = kid[0] if child.width else inner.width
            height = inner.height if child.weight else kid[1]
            area = Bounds(inner.left, inner.top, inner.left + width, inner.top + height)
            if child.corner:
                area = Bounds(inner.right - width, inner.bottom - height, inner.right, inner.bottom)
            self._place(child, kid, within.part(area, i))

    def _place_column(self, view: View, wish: Wish, within: "Slot") -> None:
        inner = within.area
        gap = round(view.gap * self._scale)
        weights = 0.0 if view.scrolls else sum(child.weight for child in view.children)
        fixed = sum(kid[1] for kid, child in zip(wish[2], view.children, strict=True) if not child.weight)
        left = max(0, inner.height - fixed - self._gaps(view))
        y = inner.top
        for i, (child, kid) in enumerate(zip(view.children, wish[2], strict=True)):
            high = int(left * child.weight / weights) if weights and child.weight else kid[1]
            wide = min(inner.width, kid[0]) if child.width else inner.width
            area = Bounds(inner.left, y, inner.left + wide, y + high)
            y += high + gap
            self._place(child, kid, within.part(area, i))
        if view.rows:
            self._place_rows(view.rows, y, within)

    def _place_rows(self, rows: Rows, y: int, within: "Slot") -> None:
        """Just the rows that can be seen, from ``y`` on."""
        inner, clip = within.area, within.clip
        high = max(1, round(rows.height * self._scale))
        first = max(0, (clip.top - y) // high)
        last = min(rows.count, (clip.bottom - y + high - 1) // high)
        for i in range(first, last):
            child = rows.build(i)
            area = Bounds(inner.left, y + i * high, inner.right, y + (i + 1) * high)
            slot = Slot(area, clip, within.parent, f"{within.key}.r{i}", i)
            self._place(child, self._measure(child, inner.width), slot)

    def _place_row(self, view: View, wish: Wish, within: "Slot") -> None:
        inner = within.area
        gap = round(view.gap * self._scale)
        x = inner.left
        for i, (child, kid) in enumerate(zip(view.children, wish[2], strict=True)):
            high = min(inner.height, kid[1]) if child.height else inner.height
            top = inner.top + (inner.height - high) // 2
            area = Bounds(x, top, x + kid[0], top + high)
            x += kid[0] + gap
            self._place(child, kid, within.part(area, i))

    def _scrolled(self, view: View, wish: Wish, inner: Bounds, place: Place) -> Bounds:
        """The area of the content, moved by how far it is scrolled; the entry's memory is put in range."""
        pad = 2 * round(view.padding * self._scale)
        across, down = 0, 0
        if view.scrolls == "vertical":
            content = sum(kid[1] for kid in wish[2]) + self._gaps(view)
            if view.rows:
                content += view.rows.count * round(view.rows.height * self._scale)
            down = max(0, content - inner.height)
        else:
            across = max(0, wish[0] - pad - inner.width)
        x, y = self._entry.scroll.get(place.key, (0, 0))
        x, y = min(x, across), min(y, down)
        if x or y:
            self._entry.scroll[place.key] = (x, y)
        place.offset, place.extent = (x, y), (across, down)
        return Bounds(inner.left - x, inner.top - y, inner.right - x + across, inner.bottom - y + down)

    def _node(self, view: View, shown: Bounds, slot: "Slot", *, hidden: bool) -> Place:
        key, parent = slot.key, slot.parent
        if view.scrolls or view.edits:
            # What has a memory is known by its name, so that the memory outlives a change around it.
            named = view.bind or view.id
            key = named if named and named not in self.places else key
        package = self._package
        name = view.id
        entry = self._entry
        text, checked = view.text, view.checked
        if view.edits:
            text = field_text(view, entry, key)
            if view.edits == "password":
                text = _BULLET * len(text)
            text = text or view.hint
        elif checked is not None and view.bind:
            checked = bool(entry.process.state.get(view.bind, checked))
        clickable = view.clickable
        if clickable is None:
            clickable = view.on_click is not None or bool(view.edits) or checked is not None
        # The ids of a web page are its own.
        as_it_is = not name or self._in_web or ":" in name or "/" in name
        attributes = {
            "index": str(slot.index),
            "text": text,
            "resource-id": name if as_it_is else f"{package}:id/{name}",
            "class": view.class_name,
            "package": package,
            "content-desc": view.desc,
            "checkable": "true" if checked is not None else "false",
            "checked": "true" if checked else "false",
            "clickable": "true" if clickable else "false",
            "enabled": "true" if view.enabled else "false",
            "focusable": "true" if clickable or view.scrolls else "false",
            "focused": "true" if view.edits and entry.focus == key else "false",
            "scrollable": "false",
            "long-clickable": "true" if view.on_long_click else "false",
            "password": "true" if view.edits == "password" else "false",
            "selected": "true" if view.selected else "false",
            "bounds": f"[{shown.left},{shown.top}][{shown.right},{shown.bottom}]",
        }
        node = Node(attributes, parent, _extras(view, hidden=hidden))
        place = node.source = Place(view, entry, key, node)
        if view.scrolls:
            attributes["scrollable"] = "true"
        self.places[key] = place
        parent.children.append(node)
        self.nodes.append(node)
        return place


def field_text(view: View, entry: Entry, key: str) -> str:
    """What a field holds: in the app's state when it is bound to it, in the screen's memory otherwise."""
    if view.bind:
        return str(entry.process.state.get(view.bind, ""))
    return entry.texts.get(key, view.text)


_NO_EXTRAS: frozenset[str] = frozenset()


def _extras(view: View, *, hidden: bool) -> frozenset[str]:
    if not (view.heading or view.collection_item or hidden or view.columns > 1):
        return _NO_EXTRAS
    names = ("heading", "collection_item", "invisible", "columns")
    told = (view.heading, view.collection_item, hidden, view.columns > 1)
    return frozenset(name for name, is_so in zip(names, told, strict=True) if is_so)
