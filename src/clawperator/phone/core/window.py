"""The display's geometry and laid-out windows."""

from collections.abc import Callable

from msgspec import Struct

from clawperator.phone.toolkit.app import BackStackEntry
from clawperator.phone.toolkit.context import AppContext
from clawperator.phone.toolkit.layout import LayoutPass, PlacedView
from clawperator.ui.node import Bounds, Hierarchy, Node
from clawperator.ui.write import ATTRIBUTES

_DIALOG_WIDTH = 0.86
# The flags of a plain frame: enabled, and nothing else.
_PLAIN = {
    name: "true" if name == "enabled" else "false" for name in ATTRIBUTES[ATTRIBUTES.index("checkable") : -1]
}
# Heights in dp, as on a phone with a camera cutout and three-button navigation.
_STATUS_BAR = 52
_NAVIGATION_BAR = 48
_KEYBOARD = 300


class Display(Struct, frozen=True):
    """The size in pixels of the upright display; ``rotation`` counts quarter turns to the left."""

    natural_width: int = 1080
    natural_height: int = 2400
    density: int = 420
    rotation: int = 0

    @property
    def scale(self) -> float:
        return self.density / 160

    @property
    def width(self) -> int:
        return self.natural_height if self.rotation % 2 else self.natural_width

    @property
    def height(self) -> int:
        return self.natural_width if self.rotation % 2 else self.natural_height

    def px(self, dp: float) -> int:
        return round(dp * self.scale)

    @property
    def bounds(self) -> Bounds:
        return Bounds(0, 0, self.width, self.height)

    @property
    def status_bar(self) -> Bounds:
        return Bounds(0, 0, self.width, self._bar_height(_STATUS_BAR))

    @property
    def navigation_bar(self) -> Bounds:
        return Bounds(0, self.height - self._bar_height(_NAVIGATION_BAR), self.width, self.height)

    @property
    def keyboard(self) -> Bounds:
        """The keyboard's area: above the navigation bar, at most half of the content area."""
        content = self.content
        return Bounds(0, content.bottom - min(self.px(_KEYBOARD), content.height // 2), self.width, content.bottom)

    @property
    def content(self) -> Bounds:
        """The area between the two bars."""
        return Bounds(0, self.status_bar.bottom, self.width, self.navigation_bar.top)

    def _bar_height(self, dp: float) -> int:
        # On a very small or dense display the bars must leave most of it to apps.
        return min(self.px(dp), self.height // 8)


class Window:
    """One laid-out window: its ``nodes`` depth first, and its ``views`` by key."""

    __slots__ = ("bounds", "entry", "nodes", "tree", "views")

    def __init__(
        self, entry: BackStackEntry, bounds: Bounds, tree: Hierarchy, views: dict[str, PlacedView]
    ) -> None:
        self.entry = entry
        self.bounds = bounds
        self.tree = tree
        self.nodes = tree.nodes
        self.views = views

    def view_at(self, x: int, y: int, accepts: Callable[[PlacedView], bool]) -> PlacedView | None:
        """The topmost accepted view at a point: the one drawn last, and there the innermost."""
        for node in reversed(self.nodes):
            placed = node.source
            if isinstance(placed, PlacedView) and node.bounds.contains(x, y) and accepts(placed):
                return placed
        return None

    def focused_field(self) -> PlacedView | None:
        """The enabled text field that has the focus."""
        focus = self.entry.focus
        placed = self.views.get(focus) if focus is not None else None
        return placed if placed is not None and placed.view.edits and placed.view.enabled else None


def lay_out(context: AppContext, entry: BackStackEntry, display: Display, free: Bounds) -> Window:
    """Lay out one screen. ``free`` is the area that bars and keyboard leave."""
    view = entry.screen.build(context)
    layout = LayoutPass(display.scale, entry)
    if entry.screen.kind == "activity":
        bounds, area = display.bounds, free
    else:
        bounds = area = _dialog_area(layout.natural_height(view, _dialog_width(entry, free)), entry, free)
    root = _frame(entry, bounds, None, "", layout)
    content = _frame(entry, area, root, "android:id/content", layout)
    layout.lay_out(view, area, content)
    return Window(entry, bounds, _tree(root, layout, display), layout.views)


def show_tree(entry: BackStackEntry, display: Display, tree: Hierarchy) -> Window:
    """The window of a screen made of ready nodes. It receives touches on the whole display."""
    views = {node.source.key: node.source for node in tree.nodes if isinstance(node.source, PlacedView)}
    return Window(entry, display.bounds, tree, views)


def lay_out_bar(context: AppContext, entry: BackStackEntry, display: Display, area: Bounds) -> Window:
    """Lay out a window that fills a strip of its own: keyboard, navigation bar."""
    layout = LayoutPass(display.scale, entry)
    root = _frame(entry, area, None, "", layout)
    layout.lay_out(entry.screen.build(context), area, root)
    return Window(entry, area, _tree(root, layout, display), layout.views)


def _tree(root: Node, layout: LayoutPass, display: Display) -> Hierarchy:
    return Hierarchy({"rotation": str(display.rotation)}, [root], layout.nodes)


def _dialog_width(entry: BackStackEntry, free: Bounds) -> int:
    return free.width if entry.screen.kind == "sheet" else int(free.width * _DIALOG_WIDTH)


def _dialog_area(height: int, entry: BackStackEntry, free: Bounds) -> Bounds:
    width, height = _dialog_width(entry, free), min(height, free.height)
    left = free.left + (free.width - width) // 2
    top = free.bottom - height if entry.screen.kind == "sheet" else free.top + (free.height - height) // 2
    return Bounds(left, top, left + width, top + height)


def _frame(entry: BackStackEntry, bounds: Bounds, parent: Node | None, name: str, layout: LayoutPass) -> Node:
    """A frame around an app's own views."""
    attributes = {
        "index": "0",
        "text": "",
        "resource-id": name,
        "class": "android.widget.FrameLayout",
        "package": entry.package,
        "content-desc": "",
        **_PLAIN,
        "bounds": str(bounds),
    }
    node = Node(attributes, parent)
    if parent is not None:
        parent.children.append(node)
    layout.nodes.append(node)
    return node
