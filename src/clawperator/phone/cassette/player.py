"""Playing a cassette on a simulated phone: its steps, the current one, what advances it, and the misses."""

from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager
from itertools import islice
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from clawperator._base.text import printable
from clawperator.phone.cassette.cassette import Cassette, CassetteSnapshot
from clawperator.phone.core.events import AccessibilityEvent
from clawperator.phone.core.kernel import SYSTEM_SERVER_PID, Timers
from clawperator.phone.core.tasks import Tasks
from clawperator.phone.core.user_input import InputTarget, focus_field
from clawperator.phone.log.buffer import LogBuffer, Priority
from clawperator.phone.toolkit.app import App, AppScreen, BackStackEntry
from clawperator.phone.toolkit.layout import PlacedView
from clawperator.phone.toolkit.views import View
from clawperator.recording.actions import (
    CAUSED_WITHIN_MS,
    UserKey,
    UserScroll,
    UserTap,
    UserText,
    WindowShown,
    read_actions,
)
from clawperator.recording.events import ClickFacts, Number
from clawperator.recording.heuristics import NavigationKey, is_launcher
from clawperator.ui.node import Bounds, Hierarchy, Node, is_field

# Recorded screens: the recorded nodes, each with a view that takes input


_MAX_ANCESTORS = 7
_MIN_TEXT_SIZE, _MAX_TEXT_SIZE = 6.0, 16.0
_BULLET = "•"


class TapTarget(Struct, frozen=True):
    """The target of a recorded click: a node of a snapshot by its key, or, with an empty key, only an area."""

    snapshot: int
    key: str
    area: Bounds


def fields(tree: Hierarchy) -> Iterator[tuple[str, Node]]:
    """The text fields of a screen, each with a key that is the same on the next screen."""
    seen: Counter[str] = Counter()
    for node in tree.nodes:
        if is_field(node):
            yield f"field {node.resource_id} {seen[node.resource_id]}", node
            seen[node.resource_id] += 1


def focused_field(tree: Hierarchy) -> str | None:
    """The key of the focused field."""
    return next((key for key, node in fields(tree) if node.flag("focused")), None)


def keys(tree: Hierarchy, number: int) -> list[str]:
    """The keys of all nodes of a snapshot. Only the key of a text field is valid on another snapshot."""
    named = {id(node): key for key, node in fields(tree)}
    return [named.get(id(node), f"{number}.{i}") for i, node in enumerate(tree.nodes)]


def find_target(tree: Hierarchy, number: int, click: ClickFacts) -> TapTarget | None:
    """The target of a recorded click: the node that matches most fields of the click, or what is clickable there.

    Real phones sometimes leave out the bounds or the label. Being clickable alone is no match.
    """
    where = click_area(click)
    best = max(tree.nodes, key=lambda node: _match_score(node, click, where), default=None)
    if best is None or not _match_score(best, click, where):
        return None
    above = (best, *islice(best.ancestors(), _MAX_ANCESTORS))
    best = next((node for node in above if node.flag("clickable")), best)
    return TapTarget(number, keys(tree, number)[tree.nodes.index(best)], best.bounds)


def click_area(click: ClickFacts) -> Bounds:
    """The bounds of a click; empty when they were not recorded."""
    box = click.bounds
    return Bounds(int(box.left), int(box.top), int(box.right), int(box.bottom))


def _match_score(node: Node, click: ClickFacts, where: Bounds) -> int:
    found = 0
    if not where.is_empty and node.bounds == where:
        found += 4
    if click.resourceId:
        found += 3 if node.resource_id == click.resourceId else -1
    if click.text:
        if node.text.strip() == click.text or node.content_desc.strip() == click.text:
            found += 3
        elif found and first_label(node) == click.text:
            found += 2
    if click.contentDesc and node.content_desc.strip() == click.contentDesc:
        found += 3
    if found > 0 and node.package != click.packageName:
        found -= 2
    return found * 2 + node.flag("clickable") if found > 0 else 0


def first_label(node: Node) -> str:
    """The first label of a node or its descendants."""
    return next((below.label.strip() for below in node.walk() if below.label), "")


def one_edit_apart(a: str, b: str) -> bool:
    """Whether one key press turns one text into the other: one character more or less."""
    if len(a) > len(b):
        a, b = b, a
    if len(b) - len(a) != 1:
        return False
    at = next((i for i, c in enumerate(a) if c != b[i]), len(a))
    return a[at:] == b[at + 1 :]


def text_before(shown: str, first: str, second: str | None) -> str:
    """The text of a field before the first recorded change.

    It is the snapshot's text, if one key press leads on from it. Otherwise the snapshot shows a hint, or is older
    than the text: then it is the first text without its last character.
    """
    if one_edit_apart(shown, first):
        return shown
    return first[:-1] if second is not None or len(first) == 1 else ""


# Steps: what the user did in the recording, and what the phone showed before each step

MAX_WAIT_MS = 30_000
# A typed text is often submitted, and no event records that: leave time to do it.
_SUBMIT_MS = 3_000
_MAX_NAME_LENGTH = 60

# A window's package, class and title.
_WindowName = tuple[str, str, str | None]


class CassetteWindow(Struct, frozen=True):
    """A window that came to the front, and the screen it showed."""

    package: str
    class_name: str
    title: str | None
    snapshot: int


class CassetteStep(Struct, kw_only=True):
    """One step. ``windows`` come before it, ``snapshot`` is the screen it is done on.

    ``keyboard`` and ``scrolled``: a keyboard came up, or a list moved, since the step before.
    """

    seq: Number
    snapshot: int
    windows: list[CassetteWindow]
    keyboard: bool = False
    scrolled: bool = False


class TapStep(CassetteStep, kw_only=True):
    click: ClickFacts


class KeyStep(CassetteStep, kw_only=True):
    """A key, or a button of the navigation bar."""

    key: NavigationKey


class TextStep(CassetteStep, kw_only=True):
    """A text goes into a field; ``texts`` are the first and the second it held, and the last."""

    texts: tuple[str, str | None, str]
    is_masked: bool
    resource_id: str | None


class WaitStep(CassetteStep, kw_only=True):
    """No recorded action brings the next window: it comes after a while, or by any key.

    ``after_ms`` is None when only the user can have brought it, by going home or back.
    """

    after_ms: float | None


class EndStep(CassetteStep, kw_only=True):
    """The end of the recording."""


def steps_of(cassette: Cassette) -> list[CassetteStep]:
    """The steps of a recording, the last of them ``EndStep``. There is always a screen to show."""
    return _StepReader(cassette).steps


def labels(steps: list[CassetteStep], snapshots: list[CassetteSnapshot]) -> dict[str, str]:
    """Every package that is shown, with a name for its icon: that of the recorded icon, a title, or its own."""
    found: dict[str, str] = {}
    for i, step in enumerate(steps):
        before = steps[i - 1] if i else None
        click = before.click if isinstance(before, TapStep) else None
        icon = click.text if click is not None and is_launcher(click.packageName) else None
        for window in step.windows:
            name = printable(icon or window.title or _last_word(window.package))
            found.setdefault(window.package, name[:_MAX_NAME_LENGTH])
        package = snapshots[step.snapshot].package
        found.setdefault(package, _last_word(package))
    return found


def _describe_step(step: CassetteStep) -> str:
    """The action that a step waits for, as text."""
    match step:
        case TapStep(click=click):
            label = click.text or click.contentDesc or click.resourceId or "an element without a label"
            return f"a tap on {printable(label)[:_MAX_NAME_LENGTH]}"
        case KeyStep(key=key):
            return f"the key {key}"
        case TextStep(is_masked=True):
            return "a text of its recorded length"
        case TextStep(texts=(_, _, text)):
            return f'the text "{printable(text)[:_MAX_NAME_LENGTH]}"'
        case WaitStep(after_ms=None):
            return "a key that leaves this screen"
        case WaitStep():
            return "the next window, by itself or by a key"
        case _:
            return "nothing more"


def _last_word(package: str) -> str:
    return package.rpartition(".")[2]


class CassetteSteps:
    """The steps of a cassette, with their targets. A target is searched when it is first needed, and cached."""

    def __init__(self, cassette: Cassette) -> None:
        self.steps = steps_of(cassette)
        self._snapshots: list[CassetteSnapshot] = cassette.snapshots
        self._targets: dict[int, TapTarget | None] = {}

    def beginning(self, package: str, after: int | None) -> tuple[int, int]:
        """Where an app begins: the step, and how many windows before it belong to other apps.

        If the recording goes to the app right ``after`` a step, that is the place; otherwise its first screen.
        """
        steps = list(enumerate(self.steps))
        if after is not None:
            steps = steps[after + 1 : after + 2] + steps
        for i, step in steps:
            for skip, window in enumerate(step.windows):
                if window.package == package:
                    return i, skip
            if self._snapshots[step.snapshot].package == package:
                return i, len(step.windows)
        raise KeyError(package)

    def target(self, at: int) -> TapTarget | None:
        """The target of a click: on its own snapshot, or, if that was taken too late, on the screen before."""
        if at not in self._targets:
            step = self.steps[at]
            assert isinstance(step, TapStep)
            earlier = [step.windows[-1].snapshot] if step.windows else [self.steps[at - 1].snapshot] if at else []
            snapshots = dict.fromkeys((step.snapshot, *earlier))
            found = (find_target(self._snapshots[n].tree(), n, step.click) for n in snapshots)
            target = next(filter(None, found), None)
            area = click_area(step.click)
            if target is None and not area.is_empty:
                target = TapTarget(step.snapshot, "", area)
            self._targets[at] = target
        return self._targets[at]

    def field_of(self, at: int) -> tuple[str, str] | None:
        """The key of the field of a text and the text it shows; None when the recording does not show it."""
        step = self.steps[at]
        assert isinstance(step, TextStep)
        found = dict(fields(self._snapshots[step.snapshot].tree()))
        clicked = self.target(at - 1) if at and isinstance(self.steps[at - 1], TapStep) else None
        for key, node in found.items():
            if node.resource_id == step.resource_id or (clicked is not None and key == clicked.key):
                return key, node.text
        focused = [key for key, node in found.items() if node.flag("focused")]
        for key in focused or (found if len(found) == 1 else ()):
            return key, found[key].text
        return None

    def type_step(self, now: int, key: str) -> int | None:
        """The step that a text in this field belongs to.

        It is the current one, or one after further taps into the same field, or the one just done: the user may go
        on typing.
        """
        at = now
        while isinstance(step := self.steps[at], TapStep) and (target := self.target(at)) and target.key == key:
            at += 1
        if not isinstance(step, TextStep):
            at = now - 1
            step = self.steps[at]
        if at < 0 or not isinstance(step, TextStep):
            return None
        found = self.field_of(at)
        return at if found is None or found[0] == key else None


class _StepReader:
    """One pass over the user actions."""

    def __init__(self, cassette: Cassette) -> None:
        self._events = cassette.events
        self._snapshots = cassette.snapshots
        self._display = cassette.display
        self.steps: list[CassetteStep] = []
        self._windows: list[CassetteWindow] = []
        self._keyboard = self._scrolled = False
        # What is on the screen: the last snapshot; before the first, the first there is.
        self._snapshot = next(row.snapshot for row in cassette.events if row.snapshot is not None)
        self._front: _WindowName | None = None
        # Windows of apps that no snapshot has shown yet.
        self._undrawn: dict[str, _WindowName] = {}
        # A key that is only inferred from the window after it.
        self._inferred_key: UserKey | None = None
        for action in read_actions(row.facts for row in cassette.events):
            match action:
                case WindowShown():
                    self._add_window(action)
                case UserTap():
                    self._show(self._events[action.at].snapshot)
                    self._add(TapStep(seq=action.seq, click=action.click, **self._context()))
                case UserText():
                    texts = (action.first_text, action.second_text, action.text)
                    context = {**self._context(), "is_masked": action.is_masked, "resource_id": action.field}
                    self._add(TextStep(seq=action.last_seq, texts=texts, **context))
                case UserKey(source="window"):
                    self._inferred_key = action
                case UserKey():
                    self._show(self._events[action.at].snapshot)
                    self._add(KeyStep(seq=action.seq, key=action.key, **self._context()))
                case UserScroll():
                    self._scrolled = True
        self._add(EndStep(seq=cassette.events[-1].facts.seq, **self._context()))

    def _add_window(self, window: WindowShown) -> None:
        snapshot = self._events[window.at].snapshot
        self._keyboard = self._keyboard or window.role == "keyboard"
        key, self._inferred_key = self._inferred_key, None
        if snapshot is None:
            return
        name = (window.package, window.class_name, window.title)
        if self._snapshots[snapshot].package != window.package:
            # A keyboard, a toast, a bar: the snapshot shows the app below it. Or the app is not drawn yet.
            self._show(snapshot)
            self._undrawn[window.package] = name
            return
        if window.role == "keyboard":
            return
        wait = self._wait_before(window, key)
        if wait is not None:
            self._add(WaitStep(seq=window.seq, after_ms=wait[0], **self._context()))
        self._windows.append(CassetteWindow(*name, snapshot))
        self._front = name
        self._show(snapshot)

    def _wait_before(self, window: WindowShown, key: UserKey | None) -> tuple[float | None] | None:
        """The wait before a window; None when it opens immediately."""
        if not self.steps and not self._windows:
            return None  # it is the first
        before = self._events[window.at - 1].facts.ts if window.at else window.ts
        elapsed = max(0.0, float(window.ts - before))
        typed = bool(self.steps) and isinstance(self.steps[-1], TextStep) and not self._windows
        if elapsed < CAUSED_WITHIN_MS and not typed:
            return None
        # A dialog or a loading screen may have closed by itself.
        if key is not None and not typed and (key.key != "back" or self._fills_display(self._snapshot)):
            return (None,)
        return (min(elapsed, MAX_WAIT_MS) + (_SUBMIT_MS if typed else 0),)

    def _fills_display(self, snapshot: int) -> bool:
        area, display = self._snapshots[snapshot].area, self._display
        return area.width * area.height * 10 >= display.natural_width * display.natural_height * 9

    def _show(self, snapshot: int | None) -> None:
        if snapshot is None:
            return
        self._snapshot = snapshot
        package = self._snapshots[snapshot].package
        name = self._undrawn.pop(package, None)
        if name is not None and (self._front is None or self._front[0] != package):
            self._windows.append(CassetteWindow(*name, snapshot))
            self._front = name

    def _context(self) -> dict[str, Any]:
        """The fields that all kinds of step share."""
        windows = {"windows": self._windows, "keyboard": self._keyboard, "scrolled": self._scrolled}
        return {"snapshot": self._snapshot, **windows}

    def _add(self, step: CassetteStep) -> None:
        self.steps.append(step)
        self._windows, self._keyboard, self._scrolled = [], False, False


# The player

_HOME = "home"
_TAG = "Cassette"
_MAX_NOTE_LENGTH = 120


class PlayerHost(InputTarget, Protocol):
    """The part of the phone that a player uses."""

    log: LogBuffer
    tasks: Tasks
    timers: Timers

    @property
    def lock(self) -> AbstractContextManager[object]: ...


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
        # The fields whose recorded text is a hint: it is shown while they are empty.
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
            "waitsFor": None if is_done else {"seq": step.seq, "description": _describe_step(step)},
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
        self._log("I", f"step {to} of {len(self._steps) - 1} done, next: {_describe_step(step)}")
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
        first = self._steps[0]
        shown = first.windows[0].snapshot if first.windows else first.snapshot
        return is_launcher(self._cassette.snapshots[shown].package)

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
            self._cached_tree = key, self._live_tree(number, entry)
        return self._cached_tree[1]

    def _live_tree(self, number: int, entry: BackStackEntry) -> Hierarchy:
        """The tree of a snapshot with a view behind each node, and with the current texts and focus."""
        tree = self._cassette.snapshots[number].tree()
        names = keys(tree, number)
        focus = entry.focus if entry.focus in names else None
        for key, node in zip(names, tree.nodes, strict=True):
            node.source = PlacedView(self._view(node, key), entry, key, node)
            if not is_field(node):
                continue
            typed = entry.texts.get(key)
            if typed is not None and (typed or key not in self._hints):
                node.attributes["text"] = _BULLET * len(typed) if node.flag("password") else typed
            if focus is not None:
                node.attributes["focused"] = "true" if key == focus else "false"
        return tree

    def _view(self, node: Node, key: str) -> View:
        """A view that is painted like its node. Only a text field has behaviour."""
        labelled = bool(node.label) and not any(kid.label for kid in node.walk() if kid is not node)
        height = node.bounds.height / self._phone.windows.display.scale
        view = View(
            layout="frame" if node.children and not labelled else "leaf",
            class_name=node.class_name,
            text=node.text,
            desc=node.content_desc,
            id=node.resource_id,
            enabled=node.attributes.get("enabled") != "false",
            selected=node.flag("selected"),
            padding=2,
            size=max(_MIN_TEXT_SIZE, min(_MAX_TEXT_SIZE, height * 0.8)),
        )
        if not is_field(node):
            return view
        return replace(
            view,
            edits="password" if node.flag("password") else "text",
            on_change=lambda _, text: self._typed(key, text),
            on_submit=lambda _: self._submitted(),
        )

    def _make_screen(self, number: int, window: CassetteWindow | None) -> AppScreen:
        name, title = (window.class_name, window.title) if window is not None else ("", None)
        # It has a tree, so it is not built from views.
        return AppScreen(
            _HOME, lambda _: View(), "activity", title, name, None, tree=lambda entry: self._tree(number, entry)
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
        self._log("W", f"missed: {kind} {description}, while step {self._at} waits for: {_describe_step(step)}")

    def _log(self, priority: Priority, message: str) -> None:
        self._phone.log.write(priority, _TAG, message, SYSTEM_SERVER_PID)


def _is_recorded_text(step: TextStep, typed: str) -> bool:
    """Whether a text is the recorded one. Of a masked text only the length was recorded."""
    recorded = step.texts[2]
    return len(recorded) == len(typed) if step.is_masked else recorded == typed
