"""The moments of a demonstration: what a person would tell, folded from what the phone recorded.

Many events are one moment: a text is typed letter by letter, a list scrolls in a hundred steps, a window is
announced three times. Some are none: keyboards, splash screens, empty windows. And some moments left no event
of their own and are inferred, with a confidence and the reason for it. Snapshots are never looked into.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal

from msgspec import Struct

from clawperator._text import trim
from clawperator.recording.export import (
    ExportedClick,
    ExportedEvent,
    ExportedPressKey,
    ExportedScroll,
    ExportedTextChange,
    ExportedWindowChange,
)
from clawperator.recording.heuristics import (
    SYSTEM_UI,
    is_dialog,
    is_launcher,
    is_passing,
    is_vanished,
    keyboards,
    label_of,
    name_of,
)

Kind = Literal[
    "open_app",
    "screen",
    "dialog",
    "click",
    "enter_text",
    "choose_suggestion",
    "scroll",
    "back",
    "home",
    "recents",
]
Confidence = Literal["recorded", "high", "medium", "low"]

_KEYS: dict[str, Literal["back", "home", "recents"]] = {"back": "back", "home": "home", "recent_apps": "recents"}
_FIELD_WORDS = ("input", "edit", "field", "search", "query", "textbox")
_CAUSED_WITHIN_MS = 1_500
_REMEMBERED_SCREENS = 64
_ENOUGH_TYPED = 3  # less is part of too many labels


class Moment(Struct, kw_only=True, gc=False):
    """One thing that happened. ``label`` names its target as a person would; it may be empty."""

    kind: Kind
    seq: int | float  # of its first event
    last_seq: int | float
    package: str
    label: str = ""
    resource_id: str | None = None
    text: str | None = None  # all that the field held in the end
    events: int = 1
    direction: str | None = None
    confidence: Confidence = "recorded"
    why: str | None = None


def tell(events: Sequence[ExportedEvent]) -> list[Moment]:
    """The moments of a demonstration, in order."""
    teller = _Teller(keyboards(events))
    for event in events:
        teller.hear(event)
    return teller.moments


class _Teller:
    """Listens to events in order and keeps the moments so far."""

    def __init__(self, keyboards: frozenset[str]) -> None:
        self.moments: list[Moment] = []
        self._firm: list[int] = []  # where the moments are that are no scrolls
        self._keyboards = keyboards
        self._place: str | None = None
        self._path: list[
            tuple[str | None, str | None]
        ] = []  # the screens of this visit to the app, the last on top
        self._acted_at: int | float | None = None
        self._answered = True  # whether a window has come since the last act
        self._heard: dict[type, Callable[[Any], None]] = {
            ExportedWindowChange: self._window,
            ExportedScroll: self._scroll,
            ExportedClick: self._click,
            ExportedTextChange: self._typed,
        }

    def hear(self, event: ExportedEvent) -> None:
        if isinstance(event, ExportedPressKey):
            self._key("back", event, "", "recorded", None)
        elif event.packageName and event.packageName not in self._keyboards:
            self._heard[type(event)](event)

    def _add(self, moment: Moment) -> None:
        if moment.kind != "scroll":
            self._firm.append(len(self.moments))
        self.moments.append(moment)

    def _drop_last(self) -> None:
        del self.moments[self._firm.pop()]

    def _act(self, event: ExportedEvent) -> None:
        self._acted_at, self._answered = event.ts, False

    def _caused(self, event: ExportedEvent) -> bool:
        """Whether something that was done may have brought this window."""
        if self._acted_at is None:
            return False
        return not self._answered or event.ts - self._acted_at <= _CAUSED_WITHIN_MS

    def _last(self) -> Moment | None:
        """The last moment that is not a scroll: layouts scroll by themselves when a keyboard comes."""
        return self.moments[self._firm[-1]] if self._firm else None

    def _key(
        self,
        key: Literal["back", "home", "recents"],
        event: ExportedEvent,
        package: str,
        confidence: Confidence,
        why: str | None,
    ) -> None:
        self._add(
            Moment(kind=key, seq=event.seq, last_seq=event.seq, package=package, confidence=confidence, why=why)
        )
        self._act(event)

    # Windows

    def _window(self, event: ExportedWindowChange) -> None:
        window = event.className or ""
        if is_passing(window):
            return
        package = event.packageName
        if "recents" in window.lower() or (is_launcher(package) and "recent" in (event.title or "").lower()):
            if not self._just("recents"):
                self._key("recents", event, package, "medium", "the list of recent apps was shown")
            self._place, self._answered = package, True
            return
        if package == SYSTEM_UI:
            return
        if package != self._place:
            self._arrive(package, event)
            self._path = [(event.className, event.title)]
        else:
            self._screen(event)
        self._answered = True

    def _arrive(self, package: str, event: ExportedEvent) -> None:
        """Another app is in front."""
        came_from, self._place = self._place, package
        self._path = []
        if is_launcher(package):
            if came_from is not None and not (self._caused(event) and self._just("home", "back", "recents")):
                why = "the launcher came to the front" + (
                    "" if self._caused(event) else " and nothing was clicked"
                )
                self._key("home", event, package, "low" if self._caused(event) else "medium", why)
            return
        if came_from is None and not isinstance(event, ExportedWindowChange):
            return  # the recording began inside this app
        seq, label = event.seq, ""
        last = self._last()
        if last and last.kind == "click" and is_launcher(last.package):
            self._drop_last()
            seq, label = last.seq, last.label
        opened = Moment(kind="open_app", seq=seq, last_seq=event.seq, package=package, label=label)
        if not isinstance(event, ExportedWindowChange):
            opened.confidence, opened.why = "medium", "something was done in the app, its window was not recorded"
        self._add(opened)

    def _screen(self, event: ExportedWindowChange) -> None:
        """Another window of the app in front."""
        here = (event.className, event.title)
        if self._path and self._path[-1] == here:
            return
        if here in self._path:
            steps = len(self._path) - 1 - self._path.index(here)
            del self._path[len(self._path) - steps :]
            if not self._caused(event) and not self._just("back"):
                why = "an earlier screen came back and nothing was clicked"
                self._key("back", event, event.packageName, "medium" if steps == 1 else "low", why)
            return
        self._path.append(here)
        del self._path[:-_REMEMBERED_SCREENS]
        title = trim(event.title or "")
        kind: Kind = "dialog" if title and is_dialog(event.className or "") else "screen"
        label = title if kind == "dialog" else title or (event.className or "").rpartition(".")[2]
        self._add(Moment(kind=kind, seq=event.seq, last_seq=event.seq, package=event.packageName, label=label))

    def _just(self, *kinds: Kind) -> bool:
        last = self._last()
        return last is not None and last.kind in kinds

    # What a person does

    def _click(self, event: ExportedClick) -> None:
        package = event.packageName
        if package == SYSTEM_UI:
            key = _KEYS.get(name_of(event.resourceId))
            if key:
                self._key(key, event, package, "high", "the navigation bar was clicked")
                return
        elif package != self._place:
            self._arrive(package, event)
        self._act(event)
        moment = Moment(
            kind="click",
            seq=event.seq,
            last_seq=event.seq,
            package=package,
            label=label_of(event),
            resource_id=event.resourceId,
        )
        if is_vanished(event):
            moment.confidence = "low"
            moment.why = "the target was gone when the click was written down"
        last = self._last()
        if last and last.kind == "enter_text" and last.package == package and _completes(moment, last):
            moment.kind, moment.text = "choose_suggestion", last.text
            moment.confidence, moment.why = "medium", "its label completes what was typed"
        self._add(moment)

    def _typed(self, event: ExportedTextChange) -> None:
        if event.packageName not in (self._place, SYSTEM_UI):
            self._arrive(event.packageName, event)
        self._act(event)
        last = self._last()
        if last and self._takes(last, event):
            return
        seq, field = event.seq, event.resourceId
        if last and last.kind == "click" and last.package == event.packageName and _focuses(last, event):
            self._drop_last()
            seq, field = last.seq, last.resource_id
            last = self._last()
        if (
            last
            and last.kind == "enter_text"
            and last.package == event.packageName
            and (field == last.resource_id or event.resourceId is None)
        ):
            last.text, last.last_seq, last.events = event.text, event.seq, last.events + 1
            return
        self._add(
            Moment(
                kind="enter_text",
                seq=seq,
                last_seq=event.seq,
                package=event.packageName,
                label=name_of(field),
                resource_id=field,
                text=event.text,
            )
        )

    def _takes(self, click: Moment, event: ExportedTextChange) -> bool:
        """Whether the field took what was clicked: then it was a suggestion for what had been typed."""
        entry = self.moments[self._firm[-2]] if len(self._firm) > 1 else None
        if (
            click.kind not in ("click", "choose_suggestion")
            or trim(event.text).casefold() != click.label.casefold()
            or not (entry and entry.kind == "enter_text" and entry.package == event.packageName)
            or _focuses(click, event)
        ):
            return False
        click.kind, click.text, click.resource_id = "choose_suggestion", entry.text, entry.resource_id
        click.confidence, click.why = "recorded", None
        click.events += 1
        return True

    def _scroll(self, event: ExportedScroll) -> None:
        last = self.moments[-1] if self.moments else None
        if last and last.kind == "enter_text":
            return
        if (
            last
            and last.kind == "scroll"
            and (last.package, last.resource_id) == (event.packageName, event.resourceId)
        ):
            last.last_seq, last.events = event.seq, last.events + 1
            last.direction = last.direction or _direction(event)
            return
        self._add(
            Moment(
                kind="scroll",
                seq=event.seq,
                last_seq=event.seq,
                package=event.packageName,
                label=name_of(event.resourceId),
                resource_id=event.resourceId,
                direction=_direction(event),
            )
        )


def _direction(scroll: ExportedScroll) -> str | None:
    """Along which side the content moved, if the event tells."""
    if scroll.maxScrollY > 0 or scroll.scrollY > 0:
        return "vertical"
    return "horizontal" if scroll.maxScrollX > 0 or scroll.scrollX > 0 else None


def _completes(click: Moment, entry: Moment) -> bool:
    typed = trim(entry.text or "").casefold()
    return len(typed) >= _ENOUGH_TYPED and len(click.label) > len(typed) and typed in click.label.casefold()


def _focuses(click: Moment, event: ExportedTextChange) -> bool:
    """Whether the click put the cursor into the field the text went to."""
    if event.resourceId is not None:
        return click.resource_id == event.resourceId
    name = name_of(click.resource_id).lower()
    return any(word in name for word in _FIELD_WORDS)
