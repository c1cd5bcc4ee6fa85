"""The only conversion of recorded events to user actions: apps opened, taps, texts, keys, scrolls, windows.

``read_actions`` reads the events once, in order, without their snapshots, and returns every action and window.
Texts of one field are one action, and so are the scrolls of one list. Keys without an event are inferred, with a
confidence and the reason. A tap that put the cursor into a field, or opened an app by its icon, is ``merged``.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

from msgspec import Struct

from clawperator._base.text import trim
from clawperator.recording.events import (
    ClickFacts,
    EventFacts,
    PressKeyFacts,
    ScrollFacts,
    TextChangeFacts,
    WindowChangeFacts,
)
from clawperator.recording.heuristics import (
    GESTURE_WINDOW,
    SYSTEM_UI,
    NavigationKey,
    focuses_field,
    is_alike,
    is_dialog,
    is_keyboard,
    is_launcher,
    is_masked,
    is_recents,
    is_transient,
    is_vanished,
    label_of,
    navigation_key,
    scroll_axis,
)

# A text that a field holds this soon after a tap elsewhere was put there by the tap.
FILLED_WITHIN_MS = 300
# Whether the click at a position was on a text field; None when that is unknown.
IsTextField = Callable[[int], bool | None]

Confidence = Literal["recorded", "high", "medium", "low"]
Direction = Literal["down", "up", "left", "right"]
KeySource = Literal["key", "navigation_bar", "gesture", "window"]
# app: another app; screen, dialog: a new window of the app in front; return: an earlier one; repeat: the same one.
# system: of the system UI, or of no package at all.
WindowRole = Literal[
    "app", "screen", "dialog", "return", "repeat", "launcher", "recents", "transient", "system", "keyboard"
]


class UserAction(Struct, gc=False):
    """One action or window. ``at`` is the position of its first event among the events."""

    at: int
    seq: int | float
    ts: int | float
    package: str
    events: int = 1
    confidence: Confidence = "recorded"
    why: str | None = None
    merged: bool = False
    # The seq of the first event merged into it, and of its last event; None where that is its first event.
    start: int | float | None = None
    end: int | float | None = None

    @property
    def first_seq(self) -> int | float:
        return self.seq if self.start is None else self.start

    @property
    def last_seq(self) -> int | float:
        return self.seq if self.end is None else self.end


class AppOpened(UserAction, kw_only=True, gc=False):
    """An app came to the front. ``label`` is that of its icon, if the icon was tapped."""

    label: str = ""


class WindowShown(UserAction, kw_only=True, gc=False):
    role: WindowRole
    class_name: str
    title: str | None


class UserTap(UserAction, kw_only=True, gc=False):
    """A click. ``filled`` is the text that it put into a field; ``typed_before`` the text typed just before it."""

    click: ClickFacts
    label: str
    is_vanished: bool = False
    typed_before: "UserText | None" = None
    filled: str | None = None
    filled_seq: int | float | None = None

    def fills(self, event: TextChangeFacts, is_text_field: IsTextField) -> bool:
        """Whether the tap put the text into the field: a suggestion that was taken, a field that was emptied."""
        is_soon = event.ts - self.ts <= FILLED_WITHIN_MS
        if self.package != event.packageName or not (is_soon or self.typed_before):
            return False
        is_field = is_text_field(self.at)
        if focuses_field(self.click, event) if is_field is None else is_field:
            return False
        text, label = trim(event.text).casefold(), self.label.casefold()
        if not text:
            return is_soon and not self.is_vanished
        return (text == label and self.typed_before is not None) or (is_soon and is_alike(text, label))


class UserText(UserAction, kw_only=True, gc=False):
    """A text typed into a field: the first and the second text the field held, and the last one.

    ``field`` is the field's resource id, as far as the text or the tap before it has one.
    """

    field: str | None
    first_text: str
    second_text: str | None = None
    text: str
    last_at: int
    is_masked: bool


class UserKey(UserAction, kw_only=True, gc=False):
    key: NavigationKey
    source: KeySource
    hides_keyboard: bool = False


class UserScroll(UserAction, kw_only=True, gc=False):
    """Scrolls of one list. ``follows_text``: the layout may have scrolled by itself for the keyboard."""

    resource_id: str | None
    axis: Literal["vertical", "horizontal"] | None
    direction: Direction
    follows_text: bool


# A window that comes later than this after an action, and after another window, has another cause.
CAUSED_WITHIN_MS = 1_000

_GESTURE = "the back gesture of the system was seen"
_NAVIGATION_BAR = "the navigation bar was clicked"
_RECENTS = "the list of recent apps was shown"
_RETURNED = "an earlier screen came back and nothing was clicked"
_MAX_PATH = 64
_PAGE = 1_000
_APP_WINDOWS = ("app", "screen", "dialog", "return", "repeat")


def read_actions(events: Iterable[EventFacts]) -> list[UserAction]:
    """The actions of a recording whose events come in order."""
    return list(ActionReader().read(events))


class ActionReader:
    """One pass over the events of a recording of any size. See ``read_actions``.

    ``is_text_field`` answers whether the click at a position was on a text field, where the caller has the
    snapshots; None means unknown.
    ``last_screen`` is the last window of an app that is no launcher. ``began_in`` is the app that was already open
    when the recording began; empty when it began elsewhere. With ``only_steps`` windows that are neither
    a screen nor a dialog are left out.
    """

    def __init__(self, is_text_field: IsTextField | None = None, *, only_steps: bool = False) -> None:
        self.last_screen: WindowShown | None = None
        self._actions: list[UserAction] = []
        self._is_text_field = is_text_field or (lambda _: None)
        self._only_steps = only_steps
        self._at = 0
        # The last two actions that are not scrolls: layouts scroll by themselves when a keyboard comes.
        self._last: UserAction | None = None
        self._previous: UserAction | None = None
        self._tap: UserTap | None = None  # the last action, also when its target had vanished
        self._typing: UserText | None = None
        self._scrolling: UserScroll | None = None
        self._offsets: dict[str, tuple[int | float, int | float]] = {}  # where the lists of an app stand
        self.began_in = ""
        self._front: str | None = None
        self._path: list[tuple[str | None, str | None]] = []  # windows of this visit to the app, the last on top
        self._acted_at: int | float | None = None
        self._answered = True  # a window has come since the last action
        self._keyboards: set[str] = set()
        self._keyboard_up = False
        self._gesture: tuple[int, WindowChangeFacts] | None = None
        self._handlers: dict[str, Callable[[Any], None]] = {
            WindowChangeFacts.kind: self._window,
            ScrollFacts.kind: self._scroll,
            ClickFacts.kind: self._click,
            TextChangeFacts.kind: self._text,
            PressKeyFacts.kind: self._press,
        }

    def read(self, events: Iterable[EventFacts]) -> Iterator[UserAction]:
        """The actions in order, each when later events can no longer change it."""
        handlers = self._handlers
        full = _PAGE
        for self._at, event in enumerate(events):
            handlers[event.kind](event)
            if len(self._actions) >= full:
                yield from self._finished()
                full = 2 * len(self._actions) + _PAGE
        yield from self._actions

    def warnings(self) -> list[str]:
        """What keeps a replay from starting where the recording began. Complete after the last event."""
        if not self.began_in:
            return []
        app = f"{self.began_in} was open when the recording began, so the way to its screen is not recorded"
        return [f"{app}. Before a replay, go to that screen; or record again, from the home screen."]

    def _finished(self) -> list[UserAction]:
        """Take the actions before the first one that a later event may change."""
        known = {id(a) for a in (self._last, self._previous, self._tap, self._typing, self._scrolling)}
        count = next((i for i, action in enumerate(self._actions) if id(action) in known), len(self._actions))
        finished, self._actions = self._actions[:count], self._actions[count:]
        return finished

    def _append(self, action: UserAction) -> None:
        """Add an action that ends a text and a scroll."""
        self._actions.append(action)
        self._previous, self._last = self._last, action
        self._tap = self._typing = self._scrolling = None

    def _is_caused(self, event: EventFacts) -> bool:
        """Whether the last action may have brought this window: the first one after it, or one soon after it."""
        if self._acted_at is None:
            return False
        return not self._answered or event.ts - self._acted_at <= CAUSED_WITHIN_MS

    def _is_keyboard(self, package: str, window: str | None = None) -> bool:
        """Whether an event is of a keyboard, which is then up. A package is one from its first such window on."""
        if package not in self._keyboards:
            if not is_keyboard(package, window):
                return False
            self._keyboards.add(package)
        self._keyboard_up = True
        return True

    def _last_key(self) -> NavigationKey | None:
        return self._last.key if type(self._last) is UserKey else None

    # Keys

    def _press(self, event: PressKeyFacts) -> None:
        self._key(event.key, event, "", "key")
        self._gesture = None

    def _key(  # noqa: PLR0913 - what a key is known by
        self,
        key: NavigationKey,
        event: EventFacts,
        package: str,
        source: KeySource,
        *,
        confidence: Confidence = "recorded",
        why: str | None = None,
    ) -> None:
        action = UserKey(
            self._at, event.seq, event.ts, package, key=key, source=source, confidence=confidence, why=why
        )
        action.hides_keyboard = key == "back" and self._keyboard_up and source in ("key", "navigation_bar")
        self._append(action)
        self._keyboard_up = False
        self._acted_at, self._answered = event.ts, False

    # Windows

    def _window(self, event: WindowChangeFacts) -> None:
        package, name = event.packageName, event.className or ""
        if package != self._front and self._is_keyboard(package, name):
            self._show("keyboard", event)
        elif not package or (package == SYSTEM_UI and not is_recents(package, name, event.title)):
            self._show("system", event)
            if package and name == GESTURE_WINDOW:
                self._gesture = (self._at, event)
        elif is_transient(name):
            self._show("transient", event)
        else:
            self._front_window(event, package, name)

    def _front_window(self, event: WindowChangeFacts, package: str, name: str) -> None:
        if self._gesture is not None:
            now, (self._at, gesture) = self._at, self._gesture
            self._key("back", gesture, package, "gesture", confidence="high", why=_GESTURE)
            self._at, self._gesture = now, None
        role: WindowRole
        if is_recents(package, name, event.title):
            role = "recents"
            if self._last_key() != "recents":
                self._key("recents", event, package, "window", confidence="medium", why=_RECENTS)
            self._front = package
        elif package != self._front:
            role = "launcher" if is_launcher(package) else "app"
            self._arrive(package, event)
            self._path = [(event.className, event.title)]
        else:
            role = self._role_in_front(event)
        self._show(role, event)
        self._answered = True
        self._keyboard_up = False

    def _show(self, role: WindowRole, event: WindowChangeFacts) -> None:
        seq, package, name = event.seq, event.packageName, event.className or ""
        window = WindowShown(self._at, seq, event.ts, package, role=role, class_name=name, title=event.title)
        if role in _APP_WINDOWS and not is_launcher(package):
            self.last_screen = window
        if role in ("screen", "dialog"):
            self._append(window)
            return
        if not self._only_steps:
            self._actions.append(window)
        if role in ("app", "launcher", "recents", "return"):
            self._typing = None

    def _arrive(self, package: str, event: EventFacts) -> None:
        """Another app is in front."""
        left, self._front = self._front, package
        self._path = []
        if is_launcher(package):
            caused = self._is_caused(event)
            if left is not None and not (caused and self._last_key()):
                why = "the launcher came to the front" + ("" if caused else " and nothing was clicked")
                self._key("home", event, package, "window", confidence="low" if caused else "medium", why=why)
            return
        is_window = isinstance(event, WindowChangeFacts)
        if left is None and not is_window:
            self.began_in = package
            return
        opened = AppOpened(self._at, event.seq, event.ts, package)
        icon = self._last
        if type(icon) is UserTap and is_launcher(icon.package):
            icon.merged = True
            opened.start, opened.label = icon.seq, icon.label
        if not is_window:
            opened.confidence, opened.why = "medium", "something was done in the app, its window was not recorded"
        self._append(opened)

    def _role_in_front(self, event: WindowChangeFacts) -> WindowRole:
        """The role of another window of the foreground app."""
        here = (event.className, event.title)
        path = self._path
        if self._last_key() == "recents" and is_launcher(event.packageName) and self._passes_recents(event):
            self._path = [here]
            return "launcher"
        if path and path[-1] == here:
            return "repeat"
        if here in path:
            steps = len(path) - 1 - path.index(here)
            del path[len(path) - steps :]
            if not self._is_caused(event) and self._last_key() != "back":
                confidence: Confidence = "medium" if steps == 1 else "low"
                self._key("back", event, event.packageName, "window", confidence=confidence, why=_RETURNED)
            return "return"
        path.append(here)
        del path[:-_MAX_PATH]
        return "dialog" if trim(event.title or "") and is_dialog(event.className or "") else "screen"

    def _passes_recents(self, event: WindowChangeFacts) -> bool:
        """Whether the recent apps were only shown on the way to the home screen, as a swipe home does."""
        key = self._last
        assert type(key) is UserKey
        if key.source != "window" or event.ts - key.ts > CAUSED_WITHIN_MS:
            return False
        key.key, key.why = "home", "the launcher came to the front and nothing was clicked"
        return True

    # Taps

    def _click(self, event: ClickFacts) -> None:
        package = event.packageName
        self._gesture = None
        if package != self._front and self._is_keyboard(package):
            return
        vanished = is_vanished(event)
        if package == SYSTEM_UI:
            key = navigation_key(event)
            if key:
                self._key(key, event, package, "navigation_bar", confidence="high", why=_NAVIGATION_BAR)
                return
        elif package and package != self._front and not vanished:
            self._arrive(package, event)
        self._acted_at, self._answered = event.ts, False
        tap = UserTap(
            self._at, event.seq, event.ts, package, click=event, label=label_of(event), is_vanished=vanished
        )
        last = self._last
        if type(last) is UserText and last.package == package:
            tap.typed_before = last
        if vanished:
            tap.confidence, tap.why = "low", "the target was gone when the click was recorded"
            if not is_launcher(package):
                self._actions.append(tap)  # it may be no click of the user, and comes between no two others
                self._tap, self._typing, self._scrolling = tap, None, None
                return
        self._append(tap)
        self._tap = tap
        if self._is_text_field(self._at):
            self._keyboard_up = True

    # Texts

    def _text(self, event: TextChangeFacts) -> None:
        package = event.packageName
        if package in self._keyboards:
            return
        if package and package not in (self._front, SYSTEM_UI):
            self._arrive(package, event)
        typing, tap = self._typing, self._tap
        if typing is not None and typing.package == package and event.resourceId in (None, typing.field):
            self._acted_at, self._answered = event.ts, False
            if typing.second_text is None:
                typing.second_text = event.text
            typing.is_masked = is_masked(event.text) or (
                typing.is_masked and not event.text.startswith(typing.text)
            )
            typing.text, typing.end, typing.last_at = event.text, event.seq, self._at
            typing.events += 1
            return
        if tap is not None and tap.filled is None and tap.fills(event, self._is_text_field):
            self._acted_at, self._answered = event.ts, False
            tap.filled, tap.filled_seq = event.text, event.seq
            tap.events += 1
            return
        self._acted_at, self._answered = event.ts, False
        self._keyboard_up = True
        self._start_text(event, self._last)

    def _start_text(self, event: TextChangeFacts, last: UserAction | None) -> None:
        at, package, field, typed = self._at, event.packageName, event.resourceId, event.text
        masked = is_masked(typed)
        text = UserText(
            at,
            event.seq,
            event.ts,
            package,
            field=field,
            first_text=typed,
            text=typed,
            last_at=at,
            is_masked=masked,
        )
        before = last
        if type(last) is UserTap and last.package == package and focuses_field(last.click, event):
            last.merged = True
            text.start, text.field = last.seq, last.click.resourceId
            before = self._previous
        if (
            type(before) is UserText
            and before.package == package
            and (before.field == text.field or field is None)
        ):
            before.merged = True  # the user went on typing into the same field
            text.start, text.field, text.events = before.first_seq, before.field, before.events + 1
        self._append(text)
        self._typing = text

    # Scrolls

    def _scroll(self, event: ScrollFacts) -> None:
        package = event.packageName
        if not package or (package != self._front and self._is_keyboard(package)):
            return
        x, y = self._offsets.get(package, (0, 0))
        across, down = event.scrollX - x, event.scrollY - y
        self._offsets[package] = (event.scrollX, event.scrollY)
        direction: Direction = "up" if down < 0 else "down"
        if abs(across) > abs(down):
            direction = "right" if across > 0 else "left"
        scroll = self._scrolling
        if scroll is not None and scroll.package == package and scroll.resource_id == event.resourceId:
            scroll.end, scroll.direction = event.seq, direction
            scroll.events += 1
            scroll.axis = scroll.axis or scroll_axis(event)
            return
        self._scrolling = UserScroll(
            self._at,
            event.seq,
            event.ts,
            package,
            resource_id=event.resourceId,
            axis=scroll_axis(event),
            direction=direction,
            follows_text=type(self._last) is UserText,
        )
        self._actions.append(self._scrolling)
