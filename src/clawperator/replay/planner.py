"""The steps of a replay: what to do, how to find the target, and what the screen shows afterwards.

The user actions come from ``recording.actions``. This module adds what a replay needs of the snapshots and keeps
nothing else of them.
"""

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from clawperator.recording.actions import (
    ActionReader,
    AppOpened,
    Direction,
    UserAction,
    UserKey,
    UserScroll,
    UserTap,
    UserText,
    WindowShown,
)
from clawperator.recording.events import ClickFacts, EventFacts, ScrollFacts, TextChangeFacts
from clawperator.recording.heuristics import SYSTEM_UI, NavigationKey, is_keyboard, is_launcher
from clawperator.replay.screens import ScreenMarks, recorded_screen, screen_marks
from clawperator.replay.target import RecordedTarget, matching_nodes, recorded_target, switch_state

ReplayAction = Literal["open_app", "click", "enter_text", "press"]
# An event, and the XML of the screen it was recorded with.
EventWithScreen = tuple[EventFacts, str | None]

_START_NOTE = "the recording begins here"
_IGNORED_WINDOWS = ("transient", "system", "keyboard")
_OPPOSITE: dict[Direction, Direction] = {"down": "up", "up": "down", "left": "right", "right": "left"}


class ExpectedWindow(Struct, frozen=True):
    """The window that came after a step: its event, app and title, and the marks of its screen."""

    seq: int | float
    package: str
    title: str | None
    screens: tuple[ScreenMarks, ...]


class ReplayStep(Struct, frozen=True, kw_only=True):
    """One step. ``seq`` to ``last_seq`` are its events.

    ``window`` is the window that came after it; ``after``, ``after_seq`` and ``next_package`` are the screen, the
    event and the app of the next touch. ``changes``: the recorded screen changed; ``switches_to``: the state of
    the tapped switch afterwards; None where the recording does not show it. ``scrolls`` are the directions to
    search in for the target, and ``was_scrolled_to``: the user scrolled just before.
    """

    seq: int | float
    last_seq: int | float
    kind: ReplayAction
    package: str = ""
    target: RecordedTarget | None = None
    text: str = ""
    submit: bool = False
    secret: bool = False
    key: NavigationKey | None = None
    hides_keyboard: bool = False
    scrolls: tuple[Direction, ...] = ()
    was_scrolled_to: bool = False
    window: ExpectedWindow | None = None
    after: ScreenMarks | None = None
    after_seq: int | float | None = None
    next_package: str = ""
    changes: bool | None = None
    switches_to: bool | None = None
    note: str = ""

    @property
    def actions(self) -> list[dict[str, Any]]:
        """What it may do, for the policy: the action as it was recorded, and scrolling to its node.

        A replay finds the node by what is on the screen then.
        """
        scrolls = ({"type": "scroll", "params": {"direction": direction}} for direction in self.scrolls)
        return [self._action(), *scrolls]

    def _action(self) -> dict[str, Any]:
        if self.kind == "open_app":
            return {"type": "open_app", "params": {"applicationId": self.package}}
        if self.kind == "press":
            return {"type": "press_key", "params": {"key": self.key}}
        matcher = {}
        if self.target is not None:
            labels = {"textEquals": self.target.text or self.target.label, "role": self.target.role}
            ids = {"contentDescEquals": self.target.description, "resourceId": self.target.resource_id}
            matcher = {name: value for name, value in (labels | ids).items() if value}
        typed = {"text": self.text, "submit": self.submit} if self.kind == "enter_text" else {}
        return {"type": self.kind, "params": {"matcher": matcher, **typed}}

    @property
    def expected_seq(self) -> int | float:
        """The event with the screen that the step leads to, else the step's own one."""
        if self.window is not None:
            return self.window.seq
        return self.seq if self.after_seq is None else self.after_seq

    @property
    def description(self) -> str:
        if self.kind == "open_app":
            return f"open {self.package}"
        if self.kind == "press":
            return f"press {self.key}"
        where = self.target.name if self.target else "the focused field"
        if self.kind == "click":
            return f"click {where}"
        text = "a hidden text" if self.secret else repr(self.text)
        return f"enter {text} into {where}" + (" and submit" if self.submit else "")


class RecordedSteps(Struct, frozen=True):
    """All steps of a recording. ``warnings`` name what is inferred or missing.

    ``opened`` are the apps that the recording opens, with the event of each. An app that was open before, in front
    or among the recent ones, is not among them: the recording does not show how to get to its screen.
    """

    steps: tuple[ReplayStep, ...]
    warnings: tuple[str, ...]
    opened: tuple[tuple[str, int | float], ...] = ()

    @property
    def opened_apps(self) -> list[str]:
        """The apps that these steps open."""
        last = self.steps[-1].last_seq if self.steps else -1
        return [package for package, seq in self.opened if seq <= last]


def build_steps(events: Iterable[EventWithScreen]) -> RecordedSteps:
    """The steps of a recording whose events come in order."""
    screens = _ScreenReader()
    reader = ActionReader(screens.is_text_field)
    actions = list(reader.read(screens.read(events)))
    planner = _Planner(screens, reader)
    for action in actions:
        planner.add(action)
    steps = tuple(map(_with_switch, planner.steps))
    return RecordedSteps(steps, tuple(planner.warnings), tuple(planner.opened.items()))


def _with_switch(step: ReplayStep) -> ReplayStep:
    """Infer the state of a switch after a click where no later screen shows it, and the click opened no window."""
    target = step.target
    if step.kind != "click" or target is None or target.is_on is None or not target.toggles:
        return step
    is_unknown = step.switches_to is None and step.changes is None and step.window is None
    return replace(step, switches_to=not target.is_on) if is_unknown else step


def steps_until(recorded: RecordedSteps, seq: int | float) -> RecordedSteps:
    """The steps that begin at or before an event."""
    return replace(recorded, steps=tuple(step for step in recorded.steps if step.seq <= seq))


class _EventScreen(Struct, frozen=True):
    """The screen of one event, as far as a replay needs it.

    ``switch`` is the state, on this screen, of the switch that was tapped before.
    """

    digest: bytes | None = None
    marks: ScreenMarks | None = None
    target: RecordedTarget | None = None
    switch: bool | None = None


class _ScreenReader:
    """Passes events on, and keeps what is needed of the screens of windows, clicks and keys."""

    def __init__(self) -> None:
        self._screens: dict[int, _EventScreen] = {}
        self._tapped: RecordedTarget | None = None

    def read(self, events: Iterable[EventWithScreen]) -> Iterator[EventFacts]:
        for at, (event, xml) in enumerate(events):
            if not isinstance(event, ScrollFacts | TextChangeFacts):
                self._screens[at] = self._read(event, xml)
            yield event

    def at(self, position: int) -> _EventScreen:
        return self._screens[position]

    def is_text_field(self, position: int) -> bool | None:
        """Whether the click at a position was on a text field; None without a readable screen."""
        screen = self._screens[position]
        return None if screen.marks is None or screen.target is None else screen.target.is_field

    def _read(self, event: EventFacts, xml: str | None) -> _EventScreen:
        screen = recorded_screen(xml)
        target = recorded_target(event, screen) if isinstance(event, ClickFacts) else None
        switch = None
        tapped = self._tapped
        if tapped is not None and tapped.is_on is not None and screen is not None:
            found = (matching_nodes(locator.name, tapped, screen) for locator in tapped.locators)
            node = next((nodes[0] for nodes in found if len(nodes) == 1), None)
            switch = None if node is None else switch_state(node)
        if target is not None:
            self._tapped = target
        digest = blake2b(xml.encode("utf-8", "surrogatepass"), digest_size=16).digest() if xml else None
        return _EventScreen(digest, None if screen is None else screen_marks(screen), target, switch)


class _Planner:
    def __init__(self, screens: _ScreenReader, reader: ActionReader) -> None:
        self.steps: list[ReplayStep] = []
        self.warnings: list[str] = reader.warnings()
        self.opened: dict[str, int | float] = {}
        self._open_before = {reader.began_in}
        self._in_recents = False
        self._screens = screens
        self._field: RecordedTarget | None = None
        self._typing: UserText | None = None  # the last action was to type this
        self._touched: bytes | None = None  # the screen at the last touch, until it is compared with the next
        self._scrolled: list[Direction] = []
        self._scrolled_apps: set[str] = set()

    def add(self, action: UserAction) -> None:
        match action:
            case AppOpened():
                self._opened(action)
            case WindowShown():
                if action.role not in _IGNORED_WINDOWS:
                    self._in_recents = action.role == "recents"
                    self._window(action)
            case UserTap():
                self._tap(action)
            case UserText():
                self._text(action)
            case UserKey():
                self._key(action)
            case UserScroll():
                self._scrolled.append(action.direction)
                self._scrolled_apps.add(action.package)
                self._touched = None  # the next screen no longer shows only what the last touch did

    def _opened(self, app: AppOpened) -> None:
        if self._in_recents or (self.steps and self.steps[-1].key == "back"):
            self._open_before.add(app.package)
        if app.package not in self._open_before and not _is_of_system(app.package):
            self.opened.setdefault(app.package, app.seq)

    def _window(self, window: WindowShown) -> None:
        if not self.steps:
            self._begin(window, window.package)
        elif self._typing is not None:
            if window.at < self._typing.last_at:
                return  # the user went on typing
            if not self.steps[-1].secret:
                self._amend(submit=True, note="submit is inferred: a window came after the text")
        self._typing = self._field = None
        screen = self._screens.at(window.at)
        self._compare(screen)
        screens = () if screen.marks is None else (screen.marks,)
        expected = ExpectedWindow(window.seq, window.package, window.title, screens)
        self._amend(window=expected, last_seq=window.seq)

    def _tap(self, tap: UserTap) -> None:
        if not self.steps:
            # The first touch is on the system UI: the recording does not show which app was in front.
            self._begin(tap, "" if tap.package == SYSTEM_UI else tap.package)
        self._touch(tap)
        if tap.package == SYSTEM_UI:
            self.warnings.append(f"seq {tap.seq}: a tap on the system UI may not be found again")
        screen = self._screens.at(tap.at)
        target = screen.target
        assert target is not None
        if screen.marks is None:
            self.warnings.append(f"seq {tap.seq}: the click has no snapshot, so it has fewer locators")
        self._append(
            tap,
            "click",
            last_seq=tap.seq if tap.filled_seq is None else tap.filled_seq,
            package=tap.package,
            target=target,
            was_scrolled_to=bool(self._scrolled),
            scrolls=self._search_directions(tap.package),
            changes=None if tap.filled is None else True,
        )
        self._touched = screen.digest
        if target.is_field or screen.marks is None:
            self._field = target

    def _text(self, text: UserText) -> None:
        if not self.steps:
            self._begin(text, text.package)
        field = self._field if self._field and self._field.package == text.package else None
        if text.field and (field is None or field.resource_id != text.field):
            field = RecordedTarget(package=text.package, resource_id=text.field, is_field=True)
        secret = text.is_masked or (field is not None and field.is_password)
        found = {"package": text.package, "target": field, "text": text.text, "secret": secret}
        self._append(text, "enter_text", last_seq=text.last_seq, **found)
        self._typing = text

    def _key(self, key: UserKey) -> None:
        if key.source == "window":
            if key.key == "back":
                return  # the screen may have returned by itself
            if key.confidence == "low" and self.steps:
                self._amend(next_package=key.package)  # the step before may have led there itself
        elif key.source != "gesture":
            if not self.steps and key.source == "key":
                self.warnings.append(f"seq {key.seq}: the recording does not show the screen of this first key")
            elif not self.steps:
                self._begin(key, "")
            self._touch(key)
        note = f"inferred: {key.why}" if key.source in ("window", "gesture") else ""
        self._append(key, "press", key=key.key, hides_keyboard=key.hides_keyboard, note=note)
        self._typing = None

    def _search_directions(self, package: str) -> tuple[Direction, ...]:
        """How to search for a node that is not on the screen: as the user scrolled, then back.

        In an app that was scrolled before, the live list may stand elsewhere, so it is searched too.
        """
        recent, self._scrolled = self._scrolled, []
        if not recent and package not in self._scrolled_apps:
            return ()
        first = recent[-1] if recent else "down"
        return (first, _OPPOSITE[first])

    def _touch(self, action: UserTap | UserKey) -> None:
        """The screen at a touch also shows the effect of the step before."""
        if self.steps and not self._scrolled:
            screen = self._screens.at(action.at)
            self._compare(screen)
            package = "" if action.package == SYSTEM_UI else action.package
            self._amend(after=screen.marks, after_seq=action.seq, next_package=package)
        if isinstance(action, UserKey):
            self._scrolled = []
        self._typing = None

    def _compare(self, screen: _EventScreen) -> None:
        """Learn from the next screen whether the last touch changed anything."""
        step = self.steps[-1]
        if screen.digest and self._touched and step.changes is None:
            was_on = step.target.is_on if step.target else None
            switched = None if was_on is None or screen.switch is was_on else screen.switch
            self._amend(changes=screen.digest != self._touched, switches_to=switched)
        self._touched = None

    def _begin(self, action: UserAction, package: str) -> None:
        """Go to where the recording begins."""
        at_home = not package or is_launcher(package)
        key = "home" if at_home else None
        self._append(action, "press" if at_home else "open_app", key=key, package=package, note=_START_NOTE)

    def _append(self, action: UserAction, kind: ReplayAction, **more: Any) -> None:
        """Add the step of an action."""
        self.steps.append(ReplayStep(**{"seq": action.seq, "last_seq": action.seq, "kind": kind, **more}))

    def _amend(self, **changes: object) -> None:
        self.steps[-1] = replace(self.steps[-1], **changes)


def _is_of_system(package: str) -> bool:
    """Whether a package must not be closed: the system itself, its UI, a launcher or a keyboard."""
    return "." not in package or package == SYSTEM_UI or is_launcher(package) or is_keyboard(package)
