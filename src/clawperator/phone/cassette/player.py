"""The phone that shows a cassette: where it stands, what moves it on, and what missed."""

from contextlib import AbstractContextManager
from typing import Any, Protocol

from clawperator._text import printable
from clawperator.phone.cassette.cassette import Cassette
from clawperator.phone.cassette.screen import (
    Dress,
    click_area,
    dress,
    first_words,
    focused_field,
    text_before,
)
from clawperator.phone.cassette.script import Script
from clawperator.phone.cassette.steps import (
    CassetteStep,
    CassetteWindow,
    EndStep,
    KeyStep,
    TapStep,
    TextStep,
    WaitStep,
    describe_step,
    first_shot,
    labels,
)
from clawperator.phone.core import text_fields
from clawperator.phone.core.events import AccessibilityEvent
from clawperator.phone.core.process_list import SYSTEM_SERVER_PID
from clawperator.phone.core.tasks import Tasks
from clawperator.phone.core.text_fields import InputTarget
from clawperator.phone.core.timers import Timers
from clawperator.phone.log.buffer import LogBuffer, Priority
from clawperator.phone.toolkit.app import App, AppScreen, BackStackEntry
from clawperator.phone.toolkit.layout import PlacedView
from clawperator.phone.toolkit.views import View
from clawperator.recording.heuristics import NavigationKey, is_launcher
from clawperator.ui.node import Hierarchy

_HOME = "home"
_TAG = "Cassette"
_LONGEST_NOTE = 120


class PlayerHost(InputTarget, Protocol):
    """What a player uses of the phone it runs on."""

    @property
    def lock(self) -> AbstractContextManager[object]: ...
    @property
    def log(self) -> LogBuffer: ...
    @property
    def tasks(self) -> Tasks: ...
    @property
    def timers(self) -> Timers: ...


class Player:
    """One showing of a cassette on one phone. The phone's lock guards it.

    It keeps one screen open per recorded package and lets that show one snapshot after the other. Whatever is
    done to the phone is told to it before anything else happens.
    """

    def __init__(self, phone: PlayerHost, cassette: Cassette) -> None:
        self._phone = phone
        self._cassette = cassette
        self._script = Script(cassette)
        self._steps = self._script.steps
        self._at = 0
        self._misses = 0
        self._last_miss: dict[str, Any] | None = None
        self._mistyped: tuple[int, str] | None = None
        # Counts moves: a timer that was set before the last one has nothing to say any more.
        self._visit = 0
        self._moving = False
        self._is_new = False
        self._shot: int | None = None
        self._screen: AppScreen | None = None
        self._entry: BackStackEntry | None = None
        self._windows: dict[str, CassetteWindow] = {}
        self._hints: frozenset[str] = frozenset()
        self._dressed: tuple[object, Hierarchy] | None = None
        self._apps = {
            package: self._make_app(package, label)
            for package, label in labels(self._steps, cassette.shots).items()
        }

    def apps(self) -> list[App]:
        """The recorded packages, as apps to be installed."""
        return list(self._apps.values())

    def begin(self) -> None:
        """Show the first screen if the recording begins at a launcher; otherwise its app waits to be opened."""
        if self._shot is None and self._begins_at_home():
            self._go(0)

    def status(self) -> dict[str, Any]:
        """Where it stands: so many of its steps are done, and so often something else was."""
        step = self._steps[self._at]
        return {
            "file": self._cassette.path,
            "sessionId": self._cassette.session_id,
            "step": self._at,
            "steps": len(self._steps) - 1,
            "done": isinstance(step, EndStep),
            "waitsFor": None if isinstance(step, EndStep) else {"seq": step.seq, "what": describe_step(step)},
            "misses": self._misses,
            "lastMiss": self._last_miss,
        }

    # What the phone tells

    def pressed(self, place: PlacedView | None, x: int, y: int, *, long: bool) -> bool:
        """A finger, or accessibility, on a screen. True when it was the recorded click, and all is done."""
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
            text_fields.focus(self._phone, place)
        self._go(self._at + 1)
        if takes_text and self._phone.windows.active().focused_field() is not None:
            self._phone.windows.show_keyboard()
        return True

    def wants(self, x: int, y: int) -> bool:
        """Whether a point belongs to the recorded place, where the bars of this phone would hide that."""
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
        """Back, home or recents. False when the phone is to do what it does on such a key."""
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
        """An app was brought to the front. True when somebody else did that, and all is done now."""
        if entry.package not in self._apps:
            return False
        if self._moving:
            self._put(entry)
            return False
        shown = self._shot is not None and self._cassette.shots[self._shot].package
        elsewhere = shown and shown != entry.package
        to, skip = self._script.beginning(entry.package, self._at if elsewhere else None)
        if to and is_launcher(entry.package):
            # The recording comes here later. Until its app is opened this is just what lies behind.
            entry.screen = self._make_screen(self._steps[to].shot, self._windows.get(entry.package))
            return False
        self._go(to, skip)
        return True

    def _typed(self, key: str, text: str) -> None:
        """A field holds another text."""
        at = self._script.type_step(self._at, key) if self._is_shown() else None
        if at is None:
            if self._mistyped != (self._at, key):  # key by key it is one miss
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

    # Moving

    def _go(self, to: int, skip: int = 0, *, typed: dict[str, str] | None = None) -> None:
        """Stand before a step: its windows come one after the other, then the screen it is done on is shown.

        With ``typed`` it goes back to what is being typed; nothing comes then.
        """
        while True:
            step = self._steps[to]
            target = self._script.target(to) if isinstance(step, TapStep) else None
            if typed is None:
                for came in step.windows[skip:]:
                    self._show(came.shot, came)
            self._show(step.shot if target is None else target.shot, None)
            if not isinstance(step, TapStep) or target is not None:
                break
            self._say("W", f"event {step.seq}: what was clicked is not on the screen; it is passed over")
            to, skip = to + 1, 0
        self._at = to
        self._visit += 1
        self._prepare(step, typed)
        self._say("I", f"step {to} of {len(self._steps) - 1} done, next: {describe_step(step)}")
        if isinstance(step, WaitStep) and step.after_ms is not None:
            self._later(step.after_ms)

    def _show(self, number: int, came: CassetteWindow | None) -> None:
        """Put a shot on the glass. A window that comes, or another app, is told."""
        shot = self._cassette.shots[number]
        package = shot.package if came is None else came.package
        moves = came is not None or self._phone.tasks.front.top.package != package
        if not moves and number == self._shot:
            return
        if came is not None:
            self._windows[package] = came
        self._screen = self._make_screen(number, self._windows.get(package))
        self._is_new, self._shot = number != self._shot, number
        self._phone.windows.rotate(shot.rotation)
        if not moves:
            self._put(self._phone.tasks.front.top)
            return
        self._moving = True
        try:
            self._phone.tasks.start(self._apps[package])
        finally:
            self._moving = False

    def _put(self, entry: BackStackEntry) -> None:
        """Let an app's one entry show the screen in hand. What was typed on another is forgotten."""
        assert self._screen is not None
        assert self._shot is not None
        entry.screen = self._screen
        if self._is_new or entry is not self._entry:
            entry.texts.clear()
            entry.focus = focused_field(self._cassette.shots[self._shot].tree())
            self._hints = frozenset()
        self._entry = entry
        self._phone.windows.invalidate()

    def _prepare(self, step: CassetteStep, typed: dict[str, str] | None) -> None:
        """Cursor and keyboard, where something is to be typed."""
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

    # What is meant

    def _begins_at_home(self) -> bool:
        return is_launcher(self._cassette.shots[first_shot(self._steps[0])].package)

    def _is_in_front(self) -> bool:
        """Whether one of the recorded apps takes the touches."""
        top = self._phone.windows.top()
        return top.package in self._apps and top is self._phone.tasks.front.top

    def _is_shown(self) -> bool:
        """Whether the screen of the step in hand is what the phone shows."""
        return self._screen is not None and self._phone.tasks.front.top.screen is self._screen

    def _hits(self, place: PlacedView | None, x: int, y: int) -> bool:
        """Whether a press is the recorded one: on that place, or on its area when nothing smaller is there."""
        target = self._script.target(self._at)
        if target is None or (place is not None and place.key == target.key):
            return target is not None
        if not target.area.contains(x, y):
            return False
        return place is None or place.node.bounds.intersection(target.area) == target.area

    # What is shown and said

    def _tree(self, number: int, entry: BackStackEntry) -> Hierarchy:
        """The nodes of a shot for the glass: the same ones until something in them changes."""
        of = (number, id(entry), entry.focus, tuple(entry.texts.items()), self._hints)
        if self._dressed is None or self._dressed[0] != of:
            scale = self._phone.windows.display.scale
            how = Dress(entry, scale, self._hints, self._typed, self._submitted)
            self._dressed = of, dress(self._cassette.shots[number], number, how)
        return self._dressed[1]

    def _make_screen(self, number: int, window: CassetteWindow | None) -> AppScreen:
        name, title = (window.class_name, window.title) if window is not None else ("", None)
        return AppScreen(
            _HOME, _blank, "activity", title, name, None, tree=lambda entry: self._tree(number, entry)
        )

    def _make_app(self, package: str, label: str) -> App:
        app = App(package, label, launchable=not is_launcher(package), system=is_launcher(package))
        at, skip = self._script.beginning(package, None)
        step = self._steps[at]
        came = step.windows[skip] if skip < len(step.windows) else None
        app.screens[_HOME] = self._make_screen(step.shot if came is None else came.shot, came)
        return app

    def _miss(self, kind: str, what: str, place: PlacedView | None = None) -> None:
        node = place.node if place is not None else None
        on = (first_words(node) or node.resource_id or node.class_name) if node is not None else ""
        told = printable(f"{what} on {on}" if on else what)[:_LONGEST_NOTE]
        step = self._steps[self._at]
        self._misses += 1
        self._last_miss = {"step": self._at, "kind": kind, "what": told}
        self._say("W", f"missed: {kind} {told}, while step {self._at} waits for: {describe_step(step)}")

    def _say(self, priority: Priority, message: str) -> None:
        self._phone.log.write(priority, _TAG, message, SYSTEM_SERVER_PID)


def _blank(_: object) -> View:
    """The screen of a cassette is not built: it has a tree."""
    return View()


def _is_recorded_text(step: TextStep, typed: str) -> bool:
    """Whether a text is the recorded one. Of a masked text only the length was recorded."""
    recorded = step.texts[2]
    return len(recorded) == len(typed) if step.is_masked else recorded == typed
