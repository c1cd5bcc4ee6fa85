"""Playing a cassette on a simulated phone: the current step, what advances it, and the misses."""

from contextlib import AbstractContextManager
from typing import Any, Protocol

from clawperator._base.text import printable
from clawperator.phone.cassette.cassette import Cassette
from clawperator.phone.cassette.screen import (
    ScreenState,
    click_area,
    first_label,
    focused_field,
    live_tree,
    text_before,
)
from clawperator.phone.cassette.steps import (
    CassetteStep,
    CassetteSteps,
    CassetteWindow,
    EndStep,
    KeyStep,
    TapStep,
    TextStep,
    WaitStep,
    describe_step,
    first_snapshot,
    labels,
)
from clawperator.phone.core.events import AccessibilityEvent
from clawperator.phone.core.kernel import SYSTEM_SERVER_PID, Timers
from clawperator.phone.core.tasks import Tasks
from clawperator.phone.core.user_input import InputTarget, focus_field
from clawperator.phone.log.buffer import LogBuffer, Priority
from clawperator.phone.toolkit.app import App, AppScreen, BackStackEntry
from clawperator.phone.toolkit.layout import PlacedView
from clawperator.phone.toolkit.views import View
from clawperator.recording.heuristics import NavigationKey, is_launcher
from clawperator.ui.node import Hierarchy

_HOME = "home"
_TAG = "Cassette"
_MAX_NOTE_LENGTH = 120


class PlayerHost(InputTarget, Protocol):
    """The part of the phone that a player uses."""

    @property
    def lock(self) -> AbstractContextManager[object]: ...
    @property
    def log(self) -> LogBuffer: ...
    @property
    def tasks(self) -> Tasks: ...
    @property
    def timers(self) -> Timers: ...


class Player:
    """Plays one cassette on one phone, guarded by the phone's lock.

    Each recorded package has one screen, which shows one snapshot after the other. The phone reports every input
    to the player before it handles it.
    """

    def __init__(self, phone: PlayerHost, cassette: Cassette) -> None:
        phone.windows.display = cassette.display
        phone.windows.app_claims = self.wants
        self._phone = phone
        self._cassette = cassette
        self._script = CassetteSteps(cassette)
        self._steps = self._script.steps
        self._at = 0
        self._misses = 0
        self._last_miss: dict[str, Any] | None = None
        self._mistyped: tuple[int, str] | None = None
        # Counts moves: a timer that was set before the last move is obsolete.
        self._visit = 0
        self._moving = False
        self._is_new = False
        self._snapshot: int | None = None
        self._screen: AppScreen | None = None
        self._entry: BackStackEntry | None = None
        self._windows: dict[str, CassetteWindow] = {}
        self._hints: frozenset[str] = frozenset()
        self._cached_tree: tuple[object, Hierarchy] | None = None
        self._apps = {
            package: self._make_app(package, label)
            for package, label in labels(self._steps, cassette.snapshots).items()
        }

    def apps(self) -> list[App]:
        """The recorded packages, as apps to install."""
        return list(self._apps.values())

    def begin(self) -> None:
        """Show the first screen if the recording begins at a launcher; otherwise wait until its app is opened."""
        if self._snapshot is None and self._begins_at_home():
            self._go(0)

    def status(self) -> dict[str, Any]:
        """The current step and the number of misses: inputs that were not the recorded ones."""
        step = self._steps[self._at]
        is_done = isinstance(step, EndStep)
        return {
            "file": self._cassette.path,
            "sessionId": self._cassette.session_id,
            "step": self._at,
            "steps": len(self._steps) - 1,
            "done": is_done,
            "waitsFor": None if is_done else {"seq": step.seq, "description": describe_step(step)},
            "misses": self._misses,
            "lastMiss": self._last_miss,
        }

    # Input

    def pressed(self, place: PlacedView | None, x: int, y: int, *, long: bool) -> bool:
        """A tap or an accessibility click. True when it was the recorded click and is handled."""
        if not self._is_in_front():
            return False
        step = self._steps[self._at]
        if long or not (isinstance(step, TapStep) and self._is_shown() and self._hits(place, x, y)):
            if not (isinstance(step, TextStep) and place is not None and place.view.edits):
                self._miss("long tap" if long else "tap", f"({x},{y})", place)
            return False
        click = step.click
        self._phone.emit(
            AccessibilityEvent(
                kind="view_clicked",
                package=click.packageName,
                text=click.text,
                content_desc=click.contentDesc,
                resource_id=click.resourceId,
                bounds=click_area(click),
            )
        )
        takes_text = place is not None and place.view.edits
        if place is not None and takes_text:
            focus_field(self._phone, place)
        self._go(self._at + 1)
        if takes_text and self._phone.windows.active().focused_field() is not None:
            self._phone.windows.show_keyboard()
        return True

    def wants(self, x: int, y: int) -> bool:
        """Whether a point belongs to the recorded target, which a system bar of this phone covers."""
        step = self._steps[self._at]
        target = self._script.target(self._at) if isinstance(step, TapStep) and self._is_shown() else None
        if target is None or not target.area.contains(x, y):
            return False
        display, centre = self._phone.windows.display, target.area.centre
        return display.navigation_bar.contains(*centre) or display.status_bar.contains(*centre)

    def swiped(self) -> None:
        if self._is_in_front() and not self._steps[self._at].scrolled:
            self._miss("swipe", "nothing was scrolled here")

    def key(self, key: NavigationKey) -> bool:
        """Back, home or recents. False when the phone shall handle the key itself."""
        if self._phone.tasks.front.top.package not in self._apps:
            return False
        step = self._steps[self._at]
        if self._is_shown() and (isinstance(step, WaitStep) or (isinstance(step, KeyStep) and step.key == key)):
            self._phone.windows.hide_keyboard()
            self._go(self._at + 1)
            return True
        if key == "back" and self._phone.windows.keyboard() is not None:
            return False
        if key == "home" and isinstance(step, EndStep) and self._begins_at_home():
            self._go(0)
        elif key != "home" or not is_launcher(self._phone.tasks.front.top.package):
            self._miss("key", key)
        return True

    def came_to_front(self, entry: BackStackEntry) -> bool:
        """An app came to the front. True when the player did not bring it there and has handled it."""
        if entry.package not in self._apps:
            return False
        if self._moving:
            self._show_screen(entry)
            return False
        shown = self._snapshot is not None and self._cassette.snapshots[self._snapshot].package
        elsewhere = shown and shown != entry.package
        to, skip = self._script.beginning(entry.package, self._at if elsewhere else None)
        if to and is_launcher(entry.package):
            # The recording comes here later. Until its app is opened, this screen is only the background.
            entry.screen = self._make_screen(self._steps[to].snapshot, self._windows.get(entry.package))
            return False
        self._go(to, skip)
        return True

    def _typed(self, key: str, text: str) -> None:
        """The text of a field changed."""
        at = self._script.type_step(self._at, key) if self._is_shown() else None
        if at is None:
            if self._mistyped != (self._at, key):  # typing several keys is one miss
                self._mistyped = (self._at, key)
                self._miss("text", "no text was recorded here")
            return
        step = self._steps[at]
        if isinstance(step, TextStep) and _is_recorded_text(step, text):
            self._go(at + 1)
        elif at < self._at:
            self._go(at, typed={key: text})
        else:
            self._at = at

    def _submitted(self) -> None:
        if self._is_shown() and isinstance(self._steps[self._at], WaitStep):
            self._go(self._at + 1)

    # Moves

    def _go(self, to: int, skip: int = 0, *, typed: dict[str, str] | None = None) -> None:
        """Go to a step: show its windows one after the other, then the screen it is done on.

        With ``typed`` the move is back to a text that the user goes on typing; no window is shown.
        """
        while True:
            step = self._steps[to]
            target = self._script.target(to) if isinstance(step, TapStep) else None
            if typed is None:
                for window in step.windows[skip:]:
                    self._show(window.snapshot, window)
            self._show(step.snapshot if target is None else target.snapshot, None)
            if not isinstance(step, TapStep) or target is not None:
                break
            self._log("W", f"event {step.seq}: the clicked element is not on the screen; skipped")
            to, skip = to + 1, 0
        self._at = to
        self._visit += 1
        self._prepare(step, typed)
        self._log("I", f"step {to} of {len(self._steps) - 1} done, next: {describe_step(step)}")
        if isinstance(step, WaitStep) and step.after_ms is not None:
            self._later(step.after_ms)

    def _show(self, number: int, window: CassetteWindow | None) -> None:
        """Show a snapshot. A new window, or another app, is announced as an event."""
        snapshot = self._cassette.snapshots[number]
        package = snapshot.package if window is None else window.package
        is_announced = window is not None or self._phone.tasks.front.top.package != package
        if not is_announced and number == self._snapshot:
            return
        if window is not None:
            self._windows[package] = window
        self._screen = self._make_screen(number, self._windows.get(package))
        self._is_new, self._snapshot = number != self._snapshot, number
        self._phone.windows.rotate(snapshot.rotation)
        if not is_announced:
            self._show_screen(self._phone.tasks.front.top)
            return
        self._moving = True
        try:
            self._phone.tasks.start(self._apps[package])
        finally:
            self._moving = False

    def _show_screen(self, entry: BackStackEntry) -> None:
        """Let an app's only entry show the current screen. Text typed on another screen is cleared."""
        assert self._screen is not None
        assert self._snapshot is not None
        entry.screen = self._screen
        if self._is_new or entry is not self._entry:
            entry.texts.clear()
            entry.focus = focused_field(self._cassette.snapshots[self._snapshot].tree())
            self._hints = frozenset()
        self._entry = entry
        self._phone.windows.invalidate()

    def _prepare(self, step: CassetteStep, typed: dict[str, str] | None) -> None:
        """Set focus, text and keyboard for a step that types."""
        entry = self._phone.tasks.front.top
        if typed is not None:
            entry.texts.update(typed)
        if isinstance(step, TextStep):
            found = self._script.field_of(self._at)
            if found is not None:
                key, shown = found
                entry.focus = key
                first, second, _ = step.texts
                before = text_before(entry.texts.get(key, shown), first, second)
                if typed is None and before != entry.texts.get(key, shown):
                    entry.texts[key] = before
                    self._hints |= {key} if not before else set()
        self._phone.windows.invalidate()
        if entry.focus is not None and (isinstance(step, TextStep) or step.keyboard):
            self._phone.windows.show_keyboard()

    def _later(self, milliseconds: float) -> None:
        visit = self._visit

        def run() -> None:
            with self._phone.lock:
                if visit == self._visit and self._is_shown():
                    self._go(self._at + 1)

        self._phone.timers.later(milliseconds / 1000, run)

    # Questions

    def _begins_at_home(self) -> bool:
        return is_launcher(self._cassette.snapshots[first_snapshot(self._steps[0])].package)

    def _is_in_front(self) -> bool:
        """Whether one of the recorded apps gets the input."""
        top = self._phone.windows.top()
        return top.package in self._apps and top is self._phone.tasks.front.top

    def _is_shown(self) -> bool:
        """Whether the phone shows the screen of the current step."""
        return self._screen is not None and self._phone.tasks.front.top.screen is self._screen

    def _hits(self, place: PlacedView | None, x: int, y: int) -> bool:
        """Whether a press is the recorded one: on the target, or in its area if nothing smaller is there."""
        target = self._script.target(self._at)
        if target is None or (place is not None and place.key == target.key):
            return target is not None
        if not target.area.contains(x, y):
            return False
        return place is None or place.node.bounds.intersection(target.area) == target.area

    # Screens and log

    def _tree(self, number: int, entry: BackStackEntry) -> Hierarchy:
        """The nodes of a snapshot, cached until its texts or focus change."""
        key = (number, id(entry), entry.focus, tuple(entry.texts.items()), self._hints)
        if self._cached_tree is None or self._cached_tree[0] != key:
            scale = self._phone.windows.display.scale
            state = ScreenState(entry, scale, self._hints, self._typed, self._submitted)
            self._cached_tree = key, live_tree(self._cassette.snapshots[number], number, state)
        return self._cached_tree[1]

    def _make_screen(self, number: int, window: CassetteWindow | None) -> AppScreen:
        name, title = (window.class_name, window.title) if window is not None else ("", None)
        return AppScreen(
            _HOME, _blank, "activity", title, name, None, tree=lambda entry: self._tree(number, entry)
        )

    def _make_app(self, package: str, label: str) -> App:
        app = App(package, label, launchable=not is_launcher(package), system=is_launcher(package))
        at, skip = self._script.beginning(package, None)
        step = self._steps[at]
        window = step.windows[skip] if skip < len(step.windows) else None
        app.screens[_HOME] = self._make_screen(step.snapshot if window is None else window.snapshot, window)
        return app

    def _miss(self, kind: str, detail: str, place: PlacedView | None = None) -> None:
        node = place.node if place is not None else None
        on = (first_label(node) or node.resource_id or node.class_name) if node is not None else ""
        description = printable(f"{detail} on {on}" if on else detail)[:_MAX_NOTE_LENGTH]
        step = self._steps[self._at]
        self._misses += 1
        self._last_miss = {"step": self._at, "kind": kind, "description": description}
        self._log("W", f"missed: {kind} {description}, while step {self._at} waits for: {describe_step(step)}")

    def _log(self, priority: Priority, message: str) -> None:
        self._phone.log.write(priority, _TAG, message, SYSTEM_SERVER_PID)


def _blank(_: object) -> View:
    """Cassette screens are not built from views: they have a tree."""
    return View()


def _is_recorded_text(step: TextStep, typed: str) -> bool:
    """Whether a text is the recorded one. Of a masked text only the length was recorded."""
    recorded = step.texts[2]
    return len(recorded) == len(typed) if step.is_masked else recorded == typed
