"""A recording folded into steps: what is to be done, by which clues, and what is to be seen afterwards."""

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from clawperator.recording import heuristics
from clawperator.recording.events import (
    ClickFacts,
    Facts,
    PressKeyFacts,
    ScrollFacts,
    TextChangeFacts,
    WindowChangeFacts,
)
from clawperator.recording.heuristics import SYSTEM_UI, is_launcher, name_of
from clawperator.replay.fingerprint import Landmarks, landmarks, recorded_screen
from clawperator.replay.target import Target, fit, recorded_target, state

Kind = Literal["open_app", "click", "enter_text", "press"]
Key = Literal["back", "home", "recents"]
Direction = Literal["down", "up", "left", "right"]
# An event, and the XML of the screen it was recorded with.
Seen = tuple[Facts, str | None]

# Keyboards whose window was not seen, by their names.
_KEYBOARDS = ("keyboard", "honeyboard", "swiftkey", ".ime")
_KEYS: dict[str, Key] = {"back": "back", "home": "home", "recent_apps": "recents", "overview": "recents"}
_BULLETS = "•●"
# A window that comes this long after a touch is hardly its effect.
_EFFECT_MS = 1_000
# A text that stands in a field this soon after a click elsewhere was put there by the click.
_FILLED_MS = 300
_SHORTEST_FILL = 3
_OPPOSITE: dict[Direction, Direction] = {"down": "up", "up": "down", "left": "right", "right": "left"}


class Expectation(Struct, frozen=True):
    """The screen that came: the window's app, title and number, and the marks it may be known by."""

    seq: int | float
    package: str
    title: str | None
    screens: tuple[Landmarks, ...]


class Step(Struct, frozen=True, kw_only=True):
    """One thing a person did. ``seq`` to ``last_seq`` are the events it stands for.

    ``window`` is the window that came of it, ``after`` and ``next_package`` the screen and the app of the next
    touch. ``changes`` tells whether the recorded screen changed, ``leaves_on`` whether the switch that was touched
    was on afterwards; None when nothing tells. ``scrolls`` are the ways to look for the target, which a person may
    have scrolled to just before.
    """

    seq: int | float
    last_seq: int | float
    kind: Kind
    package: str = ""
    target: Target | None = None
    text: str = ""
    submit: bool = False
    secret: bool = False
    key: Key | None = None
    hides_keyboard: bool = False
    scrolls: tuple[Direction, ...] = ()
    was_scrolled_to: bool = False
    window: Expectation | None = None
    after: Landmarks | None = None
    next_package: str = ""
    changes: bool | None = None
    leaves_on: bool | None = None
    note: str = ""

    @property
    def told(self) -> str:
        """The step in a few words."""
        if self.kind == "open_app":
            return f"open {self.package}"
        if self.kind == "press":
            return f"press {self.key}"
        where = self.target.name if self.target else "the focused field"
        if self.kind == "click":
            return f"click {where}"
        what = "a hidden text" if self.secret else repr(self.text)
        return f"enter {what} into {where}" + (" and submit" if self.submit else "")


class Steps(Struct, frozen=True):
    """The whole plan, and what about it is guessed or missing."""

    steps: tuple[Step, ...]
    warnings: tuple[str, ...]


def fold(events: Iterable[Seen]) -> Steps:
    """The steps of a recording whose events come in order. Only what a step needs of a snapshot is kept."""
    folding = _Fold()
    for event, xml in events:
        folding.take(event, xml)
    return Steps(tuple(folding.steps), tuple(folding.warnings))


def until(plan: Steps, seq: int | float) -> Steps:
    """The steps that begin at or before an event."""
    return Steps(tuple(step for step in plan.steps if step.seq <= seq), plan.warnings)


def is_keyboard(package: str, window: str | None = None) -> bool:
    """Whether a package is a keyboard, by its name or that of its window."""
    return heuristics.is_keyboard(package, window) or any(part in package.lower() for part in _KEYBOARDS)


def is_secret(text: str) -> bool:
    """Whether a text is bullets that stand for a password; the last character may still be shown."""
    return any(bullet in text for bullet in _BULLETS) and len(text.strip(_BULLETS)) <= 1


class _Fold:
    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.warnings: list[str] = []
        self._acted_at = 0.0
        self._field: Target | None = None
        self._typing = False  # the last thing done was to type
        self._keyboards: set[str] = set()
        self._keyboard = False  # one is up, as far as the events tell
        self._gesture: Facts | None = None
        self._xml: str | None = None  # of the last touch
        self._scrolled: list[Direction] = []
        self._scrolls_in: dict[str, tuple[float, float]] = {}

    def take(self, event: Facts, xml: str | None) -> None:
        if isinstance(event, PressKeyFacts):
            if not self.steps:
                self.warnings.append(f"seq {event.seq}: nothing tells on which screen this first key was pressed")
            self._touch(event, xml)
            self._press(event.seq, event.key, event.ts)
            return
        package = getattr(event, "packageName", "")
        if package in self._keyboards or is_keyboard(package, getattr(event, "className", None)):
            self._keyboards.add(package)
            self._keyboard = True
        elif isinstance(event, WindowChangeFacts):
            self._window(event, xml)
        elif isinstance(event, ClickFacts):
            self._click(event, xml)
        elif isinstance(event, TextChangeFacts):
            self._text(event)
        elif isinstance(event, ScrollFacts):
            self._scroll(event)

    def _window(self, event: WindowChangeFacts, xml: str | None) -> None:
        package = event.packageName
        if not package:
            return
        if package == SYSTEM_UI:
            if event.className == "android.view.View":
                self._gesture = event
            return
        if not self.steps:
            self._begin(event, package)
        elif self._gesture is not None:
            self._press(self._gesture.seq, "back", self._gesture.ts, note="inferred from a gesture of the system")
        elif is_launcher(package) and not self._was_home():
            if (event.title or "").lower().startswith("recent"):
                return  # a swipe home passes by the recent apps
            if event.ts - self._acted_at <= _EFFECT_MS:
                self._amend(next_package=package)  # the touch before may have led here itself
            self._press(event.seq, "home", event.ts, note="inferred: the home screen came, no key was recorded")
        elif self._typing and not self.steps[-1].secret:
            self._amend(submit=True, note="submit is inferred: a window came of the text")
        self._gesture, self._typing, self._keyboard, self._field = None, False, False, None
        marks = _marks(xml)
        screens = () if marks is None else (marks,)
        self._changed(xml)
        self._amend(window=Expectation(event.seq, package, event.title, screens), last_seq=event.seq)

    def _was_home(self) -> bool:
        """Whether the last step was done on the home screen, led there, or is a key that may do so."""
        last = self.steps[-1]
        if last.window is not None:
            return is_launcher(last.window.package)
        return last.kind == "press" or is_launcher(last.package)

    def _click(self, event: ClickFacts, xml: str | None) -> None:
        key = _system_key(event)
        if not self.steps:
            # Whoever touches the system's bars first has left no trace of where that was.
            self._begin(event, "" if event.packageName == SYSTEM_UI else event.packageName)
        self._touch(event, xml)
        if key is not None:
            self._press(event.seq, key, event.ts)
            return
        if event.packageName == SYSTEM_UI:
            self.warnings.append(f"seq {event.seq}: a touch of the system's own windows may not be found again")
        screen = recorded_screen(xml)
        if screen is None:
            self.warnings.append(f"seq {event.seq}: no snapshot tells of the click, so it has fewer clues")
        target = recorded_target(event, screen)
        self._add(
            Step(
                seq=event.seq,
                last_seq=event.seq,
                kind="click",
                package=event.packageName,
                target=target,
                was_scrolled_to=bool(self._scrolled),
                scrolls=self._ways(event.packageName),
            ),
            event.ts,
        )
        self._xml = xml
        if target.is_field:
            self._field, self._keyboard = target, True
        elif screen is None:
            self._field = target

    def _text(self, event: TextChangeFacts) -> None:
        field = self._field if self._field and self._field.package == event.packageName else None
        if self._typing:
            last = self.steps[-1]
            self._amend(
                text=event.text, last_seq=event.seq, secret=last.secret or is_secret(event.text), changes=None
            )
            return
        if self._was_filled(event):
            self._amend(last_seq=event.seq, changes=True)
            return
        if not self.steps:
            self._begin(event, event.packageName)
        secret = is_secret(event.text) or (field is not None and field.is_password)
        self._add(
            Step(
                seq=event.seq,
                last_seq=event.seq,
                kind="enter_text",
                package=event.packageName,
                target=field,
                text=event.text,
                secret=secret,
            ),
            event.ts,
        )
        self._typing = self._keyboard = True

    def _was_filled(self, event: TextChangeFacts) -> bool:
        """Whether the click before put the text there: a suggestion that was taken, a field that was emptied."""
        last = self.steps[-1] if self.steps else None
        if last is None or last.kind != "click" or last.target is None or last.target.is_field:
            return False
        if last.last_seq != last.seq or event.ts - self._acted_at > _FILLED_MS:
            return False
        text, name = event.text.strip().lower(), last.target.name.lower()
        return not text or (len(text) >= _SHORTEST_FILL and (text in name or name in text))

    def _scroll(self, event: ScrollFacts) -> None:
        x, y = self._scrolls_in.get(event.packageName, (0.0, 0.0))
        across, down = event.scrollX - x, event.scrollY - y
        self._scrolls_in[event.packageName] = (event.scrollX, event.scrollY)
        sideways: Direction = "right" if across > 0 else "left"
        upright: Direction = "up" if down < 0 else "down"
        self._scrolled.append(sideways if abs(across) > abs(down) else upright)
        self._xml = None  # what is seen at the next touch is no longer what came of the last one

    def _ways(self, package: str) -> tuple[Direction, ...]:
        """How to look for a node that is not on the screen: as the person did, then back.

        Where a list was moved before, the live one may stand elsewhere, so it is searched too.
        """
        recent, self._scrolled = self._scrolled, []
        if not recent and package not in self._scrolls_in:
            return ()
        first = recent[-1] if recent else "down"
        return (first, _OPPOSITE[first])

    def _touch(self, event: Facts, xml: str | None) -> None:
        """A screen was seen at a touch: it is also what came of the step before."""
        self._gesture = None
        if self.steps and not self._scrolled:
            self._changed(xml)
            package = getattr(event, "packageName", "")
            self._amend(after=_marks(xml), next_package="" if package == SYSTEM_UI else package)
        if not isinstance(event, ClickFacts):
            self._scrolled = []
        self._typing = False

    def _changed(self, xml: str | None) -> None:
        """Learn from the next screen whether the last touch changed anything."""
        if xml and self._xml and self.steps[-1].changes is None:
            self._amend(changes=xml != self._xml, leaves_on=_state_after(self.steps[-1], xml))
        self._xml = None

    def _press(self, seq: int | float, key: Key, ts: float, note: str = "") -> None:
        hides = key == "back" and self._keyboard and not note
        step = Step(seq=seq, last_seq=seq, kind="press", key=key, hides_keyboard=hides, note=note)
        self._add(step, ts)
        self._keyboard = self._typing = False

    def _begin(self, event: Facts, package: str) -> None:
        """Go to where the recording begins."""
        where = "the recording begins here"
        if not package or is_launcher(package):
            step = Step(seq=event.seq, last_seq=event.seq, kind="press", key="home", package=package, note=where)
        else:
            step = Step(seq=event.seq, last_seq=event.seq, kind="open_app", package=package, note=where)
        self._add(step, event.ts)

    def _add(self, step: Step, ts: float) -> None:
        self.steps.append(step)
        self._acted_at = ts

    def _amend(self, **changes: object) -> None:
        self.steps[-1] = replace(self.steps[-1], **changes)


def _system_key(click: ClickFacts) -> Key | None:
    """The key of the navigation bar that was touched."""
    if click.packageName != SYSTEM_UI:
        return None
    names = (name_of(click.resourceId), click.contentDesc or "", click.text or "")
    return next((_KEYS[name.lower()] for name in names if name.lower() in _KEYS), None)


def _state_after(step: Step, xml: str) -> bool | None:
    """Whether what was touched is on, on the screen that came next; None when the touch did not switch it."""
    screen = recorded_screen(xml)
    if step.target is None or step.target.is_on is None or screen is None:
        return None
    found = (fit(clue.name, step.target, screen) for clue in step.target.clues)
    node = next((nodes[0] for nodes in found if len(nodes) == 1), None)
    after = None if node is None else state(node)
    return None if after is step.target.is_on else after


def _marks(xml: str | None) -> Landmarks | None:
    screen = recorded_screen(xml)
    return None if screen is None else landmarks(screen)
