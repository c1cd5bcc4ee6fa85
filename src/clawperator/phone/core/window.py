"""What is on the glass at one moment: windows, one over the other, and the one that is active."""

from collections.abc import Callable

from clawperator.phone.core.display import Display
from clawperator.phone.core.tasks import Entry
from clawperator.phone.toolkit.app import Here
from clawperator.phone.toolkit.layout import Place, Placing
from clawperator.ui.node import Bounds, Hierarchy, Node
from clawperator.ui.write import ATTRIBUTES

_DIALOG_WIDTH = 0.86
# What a frame says of itself: nothing, but that it is enabled.
_PLAIN = {
    name: "true" if name == "enabled" else "false" for name in ATTRIBUTES[ATTRIBUTES.index("checkable") : -1]
}


class Window:
    """One laid-out window. ``nodes`` are depth first; ``places`` says what lies behind them."""

    __slots__ = ("bounds", "entry", "nodes", "places", "tree")

    def __init__(self, entry: Entry, bounds: Bounds, tree: Hierarchy, places: dict[str, Place]) -> None:
        self.entry = entry
        self.bounds = bounds
        self.tree = tree
        self.nodes = tree.nodes
        self.places = places

    def at(self, x: int, y: int, wanted: Callable[[Place], bool]) -> Place | None:
        """The topmost place at a point that is wanted: the last drawn, and there the innermost."""
        for node in reversed(self.nodes):
            place = node.source
            if isinstance(place, Place) and node.bounds.contains(x, y) and wanted(place):
                return place
        return None


def lay_out(here: Here, entry: Entry, display: Display, free: Bounds) -> Window:
    """The window of one screen. ``free`` is what bars and keyboard leave of the display."""
    view = entry.screen.build(here)
    placing = Placing(display, entry)
    if entry.screen.kind == "activity":
        bounds, area = display.bounds, free
    else:
        bounds = area = _dialog_area(placing.natural_height(view, _dialog_width(entry, free)), entry, free)
    root = _shell(entry, bounds, None, "", placing)
    content = _shell(entry, area, root, "android:id/content", placing)
    placing.lay_out(view, area, content)
    return Window(entry, bounds, _tree(root, placing, display), placing.places)


def show_tree(entry: Entry, display: Display, tree: Hierarchy) -> Window:
    """The window of a screen that is given node by node. It takes the touches of the whole display."""
    places = {node.source.key: node.source for node in tree.nodes if isinstance(node.source, Place)}
    return Window(entry, display.bounds, tree, places)


def lay_out_bar(here: Here, entry: Entry, display: Display, area: Bounds) -> Window:
    """A window that fills just its own strip: keyboard, navigation bar."""
    placing = Placing(display, entry)
    root = _shell(entry, area, None, "", placing)
    placing.lay_out(entry.screen.build(here), area, root)
    return Window(entry, area, _tree(root, placing, display), placing.places)


def _tree(root: Node, placing: Placing, display: Display) -> Hierarchy:
    return Hierarchy({"rotation": str(display.rotation)}, [root], placing.nodes)


def _dialog_width(entry: Entry, free: Bounds) -> int:
    return free.width if entry.screen.kind == "sheet" else int(free.width * _DIALOG_WIDTH)


def _dialog_area(height: int, entry: Entry, free: Bounds) -> Bounds:
    width, height = _dialog_width(entry, free), min(height, free.height)
    left = free.left + (free.width - width) // 2
    top = free.bottom - height if entry.screen.kind == "sheet" else free.top + (free.height - height) // 2
    return Bounds(left, top, left + width, top + height)


def _shell(entry: Entry, bounds: Bounds, parent: Node | None, name: str, placing: Placing) -> Node:
    """The frames around an app's own views."""
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
    placing.nodes.append(node)
    return node
