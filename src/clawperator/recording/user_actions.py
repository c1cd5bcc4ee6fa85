"""User actions: what ``read_actions`` makes of the events of a recording."""

from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from clawperator._base.text import trim
from clawperator.recording.events import ClickFacts, TextChangeFacts
from clawperator.recording.heuristics import NavigationKey, focuses_field, is_alike

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
