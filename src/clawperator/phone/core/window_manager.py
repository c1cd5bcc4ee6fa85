"""The display and what is on it: windows laid out when they are asked for, and kept until something changes."""

from typing import TYPE_CHECKING

from msgspec.structs import replace

from clawperator.phone.apps import system as system_apps
from clawperator.phone.core.display import Display
from clawperator.phone.core.keyboard import PACKAGE as KEYBOARD
from clawperator.phone.core.tasks import Entry
from clawperator.phone.core.text_fields import focused
from clawperator.phone.core.window import Window, lay_out, lay_out_bar, show_tree
from clawperator.phone.toolkit.app import App, Here
from clawperator.phone.toolkit.layout import Place
from clawperator.ui.node import Bounds, Hierarchy
from clawperator.ui.write import write_hierarchy

if TYPE_CHECKING:
    from clawperator.phone.core.phone import Phone

_TOAST_SECONDS = 2.0


class Glass:
    """What can be seen and touched. The phone's lock guards it.

    ``own`` are the apps whose windows belong to no task: bars, keyboard, alerts.
    """

    def __init__(self, phone: "Phone", own: tuple[App, ...]) -> None:
        self._phone = phone
        self.display = Display()
        self.awake: bool = True
        self._own = {app.package: Entry(phone.tasks.ensure_process(app), app.screens[app.home], {}) for app in own}
        self._active: Window | None = None
        self._bars: dict[str, Window] = {}
        self._hierarchy: Hierarchy | None = None
        self._earlier: Hierarchy | None = None
        self._xml: str | None = None
        self._keyboard_on = False
        self._alert: Entry | None = None
        self._toast: tuple[float, str] | None = None

    def changed(self) -> None:
        """What is shown may be different from now on."""
        if self._hierarchy is not None:
            self._earlier = self._hierarchy
        self._active = self._hierarchy = self._xml = None
        self._bars.clear()

    # Windows

    def top(self) -> Entry:
        """The screen in front of all others."""
        return self._alert or self._phone.tasks.front.top

    def active(self) -> Window:
        """The window that accessibility sees and that takes the touches."""
        while self._active is None:
            entry = self.top()
            try:
                self._active = self._lay_out(entry)
            except Exception as e:  # noqa: BLE001 - an app may be anybody's code
                self._phone.crash(entry, e)
        return self._active

    def windows(self) -> list[Window]:
        """The windows of apps, the lowest first."""
        entries = self._phone.tasks.shown()
        if self._alert:
            entries.append(self._alert)
        return [self.active() if entry is self.top() else self._lay_out(entry) for entry in entries]

    def keyboard(self) -> Window | None:
        """The keyboard, while it is shown."""
        place = self._keyboard_field()
        if place is None:
            return None
        entry = self._own[KEYBOARD]
        entry.screen = entry.process.app.screens["numbers" if place.view.edits == "number" else "letters"]
        return self._bar(entry, self.display.keyboard)

    def navigation(self) -> Window:
        """The bar with Back, Home and Overview."""
        return self._bar(self._own[system_apps.SYSTEM_UI], self.display.navigation_bar)

    def window_at(self, x: int, y: int) -> Window | None:
        """The window that takes a touch at a point."""
        if not self.awake or not self.display.bounds.contains(x, y):
            return None
        if self._phone.player is not None and self._phone.player.wants(x, y):
            return self.active()
        if self.display.status_bar.contains(x, y):
            return None
        if self.display.navigation_bar.contains(x, y):
            return self.navigation()
        keyboard = self.keyboard()
        if keyboard is not None and keyboard.bounds.contains(x, y):
            return keyboard
        return self.active()

    # Captures

    def hierarchy(self) -> Hierarchy:
        """The tree of the active window: the same object until something changes."""
        if self._hierarchy is None:
            self._hierarchy = self.active().tree
        return self._hierarchy

    def capture(self) -> Hierarchy:
        """The tree as a capture finds it, which a fault may make an old one."""
        if self._earlier is not None and self._phone.faults.happens("stale_tree"):
            return self._earlier
        return self.hierarchy()

    def xml(self) -> str:
        if self._xml is None:
            self._xml = write_hierarchy(self.hierarchy())
        return self._xml

    # The display itself

    def turn(self, rotation: int) -> None:
        """Turn the display by quarter turns, counted from upright."""
        if self.display.rotation != rotation % 4:
            self.resize(replace(self.display, rotation=rotation % 4))

    def resize(self, display: Display) -> None:
        """Another display in place of this one; everything is laid out anew."""
        self.display = display
        self.changed()

    # Keyboard, alerts, toasts

    def show_keyboard(self) -> None:
        if not self._keyboard_on:
            self._keyboard_on = True
            self.changed()
            window = self.keyboard()
            if window is not None:
                self._phone.tell_window(window.entry)

    def hide_keyboard(self) -> bool:
        """Whether there was one to hide."""
        if not self._keyboard_on:
            return False
        shown = self._keyboard_field() is not None
        self._keyboard_on = False
        self.changed()
        return shown

    def alert(self) -> None:
        """A system dialog over everything."""
        if self._alert is None:
            self._alert = self._own[system_apps.ANDROID]
            self._keyboard_on = False
            self.changed()
            self._phone.tell_window(self._alert)

    def dismiss_alert(self) -> bool:
        """Whether there was one to dismiss."""
        if self._alert is None:
            return False
        self._alert = None
        self.changed()
        self._phone.tell_window(self.top())
        return True

    def dismiss(self, entry: Entry) -> None:
        """A tap beside a dialog takes it away, when it may be taken away so."""
        if entry.screen.kind != "activity" and entry.screen.cancelable and not self.dismiss_alert():
            self._phone.tasks.leave(entry)

    def toast(self, message: str) -> None:
        self._toast = (self._phone.clock.monotonic() + _TOAST_SECONDS, message)

    def toast_text(self) -> str | None:
        """The line that is shown just now."""
        return self._toast[1] if self._toast and self._phone.clock.monotonic() < self._toast[0] else None

    def _keyboard_field(self) -> Place | None:
        return focused(self._phone) if self._keyboard_on else None

    def _lay_out(self, entry: Entry) -> Window:
        if entry.screen.tree is not None:
            return show_tree(entry, self.display, entry.screen.tree(entry))
        free = self.display.content
        if self._keyboard_on and entry is self.top():
            free = Bounds(free.left, free.top, free.right, self.display.keyboard.top)
        return lay_out(Here(self._phone, entry), entry, self.display, free)

    def _bar(self, entry: Entry, area: Bounds) -> Window:
        window = self._bars.get(entry.package)
        if window is None:
            window = self._bars[entry.package] = lay_out_bar(Here(self._phone, entry), entry, self.display, area)
        return window
