"""What a person did in a recording, step by step, and what the phone showed before each step."""

from typing import Literal, TypedDict

from msgspec import Struct

from clawperator._text import printable
from clawperator.phone.cassette.cassette import Cassette, Row, Shot
from clawperator.recording.events import (
    ClickFacts,
    Number,
    PressKeyFacts,
    ScrollFacts,
    TextChangeFacts,
    WindowChangeFacts,
)

Key = Literal["back", "home", "recents"]

# A window that comes sooner after what was done belongs to it; a later one came by itself, or by a gesture.
SOON_MS = 1_000
LONGEST_WAIT_MS = 30_000
# What is typed is often submitted, and no event tells of that: the one who types gets the time to do it.
_SUBMIT_MS = 3_000
_LONGEST_NAME = 60
_BARS = "com.android.systemui"
_BUTTONS: dict[str, Key] = {"back": "back", "home": "home", "overview": "recents", "recents": "recents"}


# A window's package, class and title.
_Name = tuple[str, str, str | None]


class Came(Struct, frozen=True):
    """A window that came to the front, and the screen it showed."""

    package: str
    class_name: str
    title: str | None
    shot: int


class Step(Struct, kw_only=True):
    """One thing to do. ``came`` are the windows before it, ``shot`` is the screen it is done on."""

    seq: Number
    shot: int
    came: list[Came]
    # Whether a keyboard was seen, or a list moved, since the step before.
    keyboard: bool = False
    scrolled: bool = False


class Tap(Step, kw_only=True):
    """A click on what the event tells of."""

    click: ClickFacts


class Press(Step, kw_only=True):
    """A key, or a button of the bar at the bottom."""

    key: Key


class Type(Step, kw_only=True):
    """A text goes into a field; ``texts`` are the first and the second it held, and the last."""

    texts: tuple[str, str | None, str]
    resource_id: str | None


class Wait(Step, kw_only=True):
    """Nothing that was recorded brings the next window: it comes after a while, or by any key.

    ``after_ms`` is None when only a person can have brought it: by going home, or back.
    """

    after_ms: float | None


class End(Step, kw_only=True):
    """All is done."""


def steps_of(cassette: Cassette) -> list[Step]:
    """The steps of a recording, the last of them ``End``. There is always a screen to show."""
    return _Reading(cassette).steps


def is_launcher(package: str) -> bool:
    return "launcher" in package.lower()


def first_shot(step: Step) -> int:
    """What is shown first on the way to a step."""
    return step.came[0].shot if step.came else step.shot


def labels(steps: list[Step], shots: list[Shot]) -> dict[str, str]:
    """Every package that is shown, with a name for its icon: that of the recorded icon, a title, or its own."""
    found: dict[str, str] = {}
    for i, step in enumerate(steps):
        before = steps[i - 1] if i else None
        for came in step.came:
            icon = before.click.text if isinstance(before, Tap) and is_launcher(before.click.packageName) else None
            found.setdefault(
                came.package, printable(icon or came.title or _last_word(came.package))[:_LONGEST_NAME]
            )
        package = shots[step.shot].package
        found.setdefault(package, _last_word(package))
    return found


def tell_step(step: Step) -> str:
    """What a step waits for, in words."""
    match step:
        case Tap(click=click):
            words = click.text or click.contentDesc or click.resourceId or "a place without a name"
            return f"a tap on {printable(words)[:_LONGEST_NAME]}"
        case Press(key=key):
            return f"the key {key}"
        case Type():
            return "a text of its recorded length" if _is_secret(step) else f"the text {_quoted(step.texts[2])}"
        case Wait(after_ms=None):
            return "a key that leaves this screen"
        case Wait():
            return "the next window, by itself or by a key"
        case _:
            return "nothing more"


def _is_secret(step: Type) -> bool:
    return bool(step.texts[2]) and not step.texts[2].strip("•")


def _quoted(text: str) -> str:
    return f'"{printable(text)[:_LONGEST_NAME]}"'


def _last_word(package: str) -> str:
    return package.rpartition(".")[2]


class _Before(TypedDict):
    """What is known of a step before it is known what it is."""

    shot: int
    came: list[Came]
    keyboard: bool
    scrolled: bool


class _Reading:
    """One pass over the rows."""

    def __init__(self, cassette: Cassette) -> None:
        self._shots = cassette.shots
        self._display = cassette.display
        self.steps: list[Step] = []
        self._came: list[Came] = []
        self._keyboard = self._scrolled = False
        # What is on the screen: the last snapshot; before the first, the first there is.
        self._shot = next(row.shot for row in cassette.rows if row.shot is not None)
        self._seen: set[_Name] = set()
        self._front: _Name | None = None
        # Windows of apps that no snapshot has shown yet.
        self._undrawn: dict[str, _Name] = {}
        self._last: Number = 0  # when the event before was
        for row in cassette.rows:
            self._take(row)
            self._last = row.facts.ts
        self._add(End(seq=cassette.rows[-1].facts.seq, **self._before()))

    def _take(self, row: Row) -> None:
        match row.facts:
            case WindowChangeFacts() as window:
                self._take_window(window, row.shot)
            case ClickFacts() as click:
                self._look(row.shot)
                key = _button(click)
                if key is not None:
                    self._add(Press(seq=click.seq, key=key, **self._before()))
                else:
                    self._add(Tap(seq=click.seq, click=click, **self._before()))
            case PressKeyFacts(seq=seq, key=key):
                self._look(row.shot)
                self._add(Press(seq=seq, key=key, **self._before()))
            case TextChangeFacts() as change:
                self._take_text(change)
            case ScrollFacts():
                self._scrolled = True

    def _take_window(self, window: WindowChangeFacts, shot: int | None) -> None:
        if shot is None:
            return
        name = (window.packageName, window.className or "", window.title)
        if self._shots[shot].package != window.packageName:
            # A keyboard, a toast, a bar: the app below it is what the snapshot shows. Or the app is not drawn yet.
            self._keyboard = True
            self._look(shot)
            self._undrawn[window.packageName] = name
            return
        wait = self._wait_for(name, window.ts)
        if wait is not None:
            self._add(Wait(seq=window.seq, after_ms=wait[0], **self._before()))
        self._came.append(Came(*name, shot))
        self._seen.add(name)
        self._front = name
        self._look(shot)

    def _wait_for(self, name: _Name, ts: Number) -> tuple[float | None] | None:
        """How long the phone waits before a window: None when it comes at once."""
        if not self.steps and not self._came:
            return None  # it is the first
        before = self._shots[self._shot]
        since = max(0.0, float(ts - self._last))
        typed = bool(self.steps) and isinstance(self.steps[-1], Type) and not self._came
        if since < SOON_MS and not typed:
            return None
        # The first window after a step is its own, however late; but no tap leads to a launcher.
        pressed = isinstance(self.steps[-1] if self.steps else None, Press) and not self._came
        leaves = is_launcher(name[0]) and before.package != name[0] and not pressed
        returns = name in self._seen and name != self._front and bool(self._came) and self._is_whole(self._shot)
        if not typed and (leaves or returns):
            return (None,)
        return (min(since, LONGEST_WAIT_MS) + (_SUBMIT_MS if typed else 0),)

    def _is_whole(self, shot: int) -> bool:
        """Whether a window fills the display, as a dialog or a loading sign does not."""
        area, display = self._shots[shot].area, self._display
        return area.width * area.height * 10 >= display.natural_width * display.natural_height * 9

    def _take_text(self, change: TextChangeFacts) -> None:
        last = self.steps[-1] if self.steps else None
        if isinstance(last, Type) and not self._came:
            first, second, _ = last.texts
            last.texts = (first, change.text if second is None else second, change.text)
            last.seq = change.seq
            return
        texts = (change.text, None, change.text)
        self._add(Type(seq=change.seq, texts=texts, resource_id=change.resourceId, **self._before()))

    def _look(self, shot: int | None) -> None:
        if shot is None:
            return
        self._shot = shot
        package = self._shots[shot].package
        name = self._undrawn.pop(package, None)
        if name is not None and (self._front is None or self._front[0] != package):
            self._came.append(Came(*name, shot))
            self._seen.add(name)
            self._front = name

    def _before(self) -> "_Before":
        return _Before(shot=self._shot, came=self._came, keyboard=self._keyboard, scrolled=self._scrolled)

    def _add(self, step: Step) -> None:
        self.steps.append(step)
        self._came, self._keyboard, self._scrolled = [], False, False


def _button(click: ClickFacts) -> Key | None:
    """The button of the bar at the bottom that was clicked."""
    if click.packageName != _BARS:
        return None
    word = (click.contentDesc or click.text or "").lower()
    return _BUTTONS.get(word) or _BUTTONS.get((click.resourceId or "").rpartition("/")[2].split("_")[0])
