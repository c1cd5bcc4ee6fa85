"""Windows: the display's geometry, and the manager that lays out windows on demand.

Laid-out windows are cached until something changes.
"""

from collections import deque
from collections.abc import Callable, Iterable

from msgspec import Struct
from msgspec.structs import replace

from clawperator.engine.driver import Clock
from clawperator.phone.apps.system import ANDROID, KEYBOARD
from clawperator.phone.core.faults import Faults
from clawperator.phone.core.tasks import Tasks
from clawperator.phone.toolkit.app import App, BackStackEntry
from clawperator.phone.toolkit.context import AppContext
from clawperator.phone.toolkit.layout import LayoutPass, PlacedView
from clawperator.recording.heuristics import SYSTEM_UI
from clawperator.ui.node import Bounds, Hierarchy, Node
from clawperator.ui.write import ATTRIBUTES, write_hierarchy

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


class Window(Struct, eq=False):
    """One laid-out window: its ``nodes`` depth first, and its ``views`` by key."""

    entry: BackStackEntry
    bounds: Bounds
    tree: Hierarchy
    views: dict[str, PlacedView]

    @property
    def nodes(self) -> list[Node]:
        return self.tree.nodes

    def view_at(self, x: int, y: int, accepts: Callable[[PlacedView], bool]) -> PlacedView | None:
        """The topmost accepted view at a point: the one drawn last, and there the innermost."""
        for node in reversed(self.nodes):
            placed = node.source
            if isinstance(placed, PlacedView) and node.bounds.contains(x, y) and accepts(placed):
                return placed
        return None

    def focused(self) -> PlacedView | None:
        """The view that has the focus."""
        return self.views.get(self.entry.focus) if self.entry.focus is not None else None

    def focused_field(self) -> PlacedView | None:
        """The enabled text field that has the focus."""
        placed = self.focused()
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


# The window manager

_TOAST_SECONDS = 2.0
_RECENT_TREES = 4
_ROW_DP = 64


class WindowManager:
    """The visible windows and the areas that receive touches. The phone's lock guards it.

    ``make_context`` builds the context of an entry, ``crash`` ends an app whose builder failed, and ``announce``
    is called when another window is in front.
    """

    def __init__(  # noqa: PLR0913 - the parts of the phone that it uses
        self,
        tasks: Tasks,
        faults: Faults,
        clock: Clock,
        *,
        make_context: Callable[[BackStackEntry], AppContext],
        crash: Callable[[BackStackEntry, Exception], None],
        announce: Callable[[BackStackEntry], None],
    ) -> None:
        self._tasks = tasks
        self._faults = faults
        self._clock = clock
        self._make_context = make_context
        self._crash = crash
        self._announce = announce
        self.display = Display()
        self.awake: bool = True
        # How often what is shown may have changed.
        self.changes = 0
        # Whether a touch at a point goes to the app's window although a bar is there.
        self.app_claims: Callable[[int, int], bool] | None = None
        self._system: dict[str, BackStackEntry] = {}
        self._active: Window | None = None
        self._bars: dict[str, Window] = {}
        self._hierarchy: Hierarchy | None = None
        # The last trees, the newest first.
        self._recent: deque[Hierarchy] = deque(maxlen=_RECENT_TREES)
        self._xml: str | None = None
        self._keyboard_on = False
        self._bar_above = False
        self._alert: BackStackEntry | None = None
        self._toast: tuple[float, str] | None = None

    def add_system_windows(self, apps: Iterable[App]) -> None:
        """Add the apps whose windows belong to no task: bars, keyboard, alerts."""
        for app in apps:
            process = self._tasks.ensure_process(app)
            self._system[app.package] = BackStackEntry(process, app.screens[app.home], {})

    def invalidate(self) -> None:
        """Discard cached layouts: what is shown may have changed."""
        self.changes += 1
        self._active = self._hierarchy = self._xml = None
        self._bars.clear()

    # Windows

    def top(self) -> BackStackEntry:
        """The screen in front of all others."""
        return self._alert or self._tasks.front.top

    def active(self) -> Window:
        """The window that accessibility sees and that receives touches."""
        while self._active is None:
            entry = self.top()
            try:
                self._active = self._lay_out(entry)
            except Exception as e:  # noqa: BLE001 - apps are users' code
                self._crash(entry, e)
        return self._active

    def app_windows(self) -> list[Window]:
        """The visible windows of apps, the lowest first."""
        entries = self._tasks.shown()
        if self._alert:
            entries.append(self._alert)
        return [self.active() if entry is self.top() else self._lay_out(entry) for entry in entries]

    def keyboard(self) -> Window | None:
        """The keyboard, while it is shown."""
        field = self._keyboard_field()
        if field is None:
            return None
        entry = self._system[KEYBOARD]
        entry.screen = entry.process.app.screens["numbers" if field.view.edits == "number" else "letters"]
        return self._bar(entry, self.display.keyboard)

    def navigation(self) -> Window:
        """The bar with Back, Home and Overview."""
        return self._bar(self._system[SYSTEM_UI], self.display.navigation_bar)

    def window_at(self, x: int, y: int) -> Window | None:
        """The window that receives a touch at a point."""
        if not self.awake or not self.display.bounds.contains(x, y):
            return None
        if self.app_claims is not None and self.app_claims(x, y):
            return self.active()
        if self.display.status_bar.contains(x, y):
            return None
        if self.display.navigation_bar.contains(x, y):
            return self.navigation()
        keyboard = self.keyboard()
        if keyboard is not None and keyboard.bounds.contains(x, y):
            return keyboard
        return self.active()

    def find_again(self, placed: PlacedView) -> PlacedView | None:
        """The view in its current place, if it is still on the same screen.

        A view in a list may have moved with its row, which is the one with the same labels. Any other view keeps
        its place.
        """
        window = self.active()
        if window.entry is not placed.entry:
            return None
        current = window.views.get(placed.key)
        row = _row(placed)
        if row is None:
            return current if current is not None and _is_alike(current, placed) else None
        if current is not None and _is_alike(current, placed) and _row(current) == row:
            return current
        same = [view for view in window.views.values() if _is_alike(view, placed) and _row(view) == row]
        return same[0] if len(same) == 1 else None

    def shift(self) -> None:
        """Move the content by a row: a bar appears above it, or disappears."""
        self._bar_above = not self._bar_above
        self.invalidate()

    # Captures

    def hierarchy(self) -> Hierarchy:
        """The tree of the active window: the same object until something changes."""
        if self._hierarchy is None:
            self._hierarchy = self.active().tree
            self._recent.appendleft(self._hierarchy)
        return self._hierarchy

    def capture(self) -> Hierarchy:
        """The tree as a capture returns it: that before the last change when the fault ``stale_tree`` strikes."""
        current = self.hierarchy()
        if not self._faults.happens("stale_tree"):
            return current
        return next((tree for tree in self._recent if not tree.has_same_content(current)), current)

    def xml(self) -> str:
        if self._xml is None:
            self._xml = write_hierarchy(self.hierarchy())
        return self._xml

    # Display

    def rotate(self, rotation: int) -> None:
        """Set the rotation, in quarter turns from upright."""
        if self.display.rotation != rotation % 4:
            self.resize(replace(self.display, rotation=rotation % 4))

    def resize(self, display: Display) -> None:
        """Replace the display; everything is laid out again."""
        self.display = display
        self.invalidate()

    # Keyboard, alerts, toasts

    def show_keyboard(self) -> None:
        if not self._keyboard_on:
            self._keyboard_on = True
            self.invalidate()
            window = self.keyboard()
            if window is not None:
                self._announce(window.entry)

    def hide_keyboard(self) -> bool:
        """Hide the keyboard. False when none was shown."""
        if not self._keyboard_on:
            return False
        was_shown = self._keyboard_field() is not None
        self._keyboard_on = False
        self.invalidate()
        return was_shown

    def show_alert(self) -> None:
        """Show a system dialog over everything."""
        if self._alert is None:
            self._alert = self._system[ANDROID]
            self._keyboard_on = False
            self.invalidate()
            self._announce(self._alert)

    def dismiss_alert(self) -> bool:
        """Close the system dialog. False when none was shown."""
        if self._alert is None:
            return False
        self._alert = None
        self.invalidate()
        self._announce(self.top())
        return True

    def touch_outside(self, entry: BackStackEntry) -> None:
        """A tap beside a dialog closes it, if it is cancelable."""
        if entry.screen.kind != "activity" and entry.screen.cancelable and not self.dismiss_alert():
            self._tasks.leave(entry)

    def toast(self, message: str) -> None:
        self._toast = (self._clock.monotonic() + _TOAST_SECONDS, message)

    def toast_text(self) -> str | None:
        """The toast that is visible now."""
        return self._toast[1] if self._toast and self._clock.monotonic() < self._toast[0] else None

    def _keyboard_field(self) -> PlacedView | None:
        return self.active().focused_field() if self._keyboard_on else None

    def _lay_out(self, entry: BackStackEntry) -> Window:
        if entry.screen.tree is not None:
            # Ready nodes, which receive touches on the whole display.
            tree = entry.screen.tree(entry)
            views = {node.source.key: node.source for node in tree.nodes if isinstance(node.source, PlacedView)}
            return Window(entry, self.display.bounds, tree, views)
        free = self.display.content
        if self._bar_above:
            free = free._replace(top=free.top + self.display.px(_ROW_DP))
        if self._keyboard_on and entry is self.top():
            free = free._replace(bottom=self.display.keyboard.top)
        return lay_out(self._make_context(entry), entry, self.display, free)

    def _bar(self, entry: BackStackEntry, area: Bounds) -> Window:
        window = self._bars.get(entry.package)
        if window is None:
            window = lay_out_bar(self._make_context(entry), entry, self.display, area)
            self._bars[entry.package] = window
        return window


def _is_alike(view: PlacedView, other: PlacedView) -> bool:
    return view.view.class_name == other.view.class_name and view.view.id == other.view.id


def _row(placed: PlacedView) -> tuple[list[str], str] | None:
    """The labels in the list row of a view, and its own label; None when it is not in a list."""
    node, parent = placed.node, placed.node.parent
    while parent is not None:
        if isinstance(parent.source, PlacedView) and parent.source.view.scrolls:
            return [inner.label for inner in node.walk() if inner.label], placed.node.label
        node, parent = parent, parent.parent
    return None
