"""Text fields: focus, cursor, and an accessibility event for every change."""

from collections.abc import Callable
from typing import Protocol

from clawperator.phone.core.events import AccessibilityEvent, text_event
from clawperator.phone.core.window_manager import WindowManager
from clawperator.phone.toolkit.app import BackStackEntry
from clawperator.phone.toolkit.context import Effect
from clawperator.phone.toolkit.layout import PlacedView, field_text

MAX_TEXT_LENGTH = 10_000


class InputTarget(Protocol):
    """What input code uses of the phone. The phone's lock is held by the caller."""

    @property
    def windows(self) -> WindowManager: ...
    def emit(self, event: AccessibilityEvent, /) -> None: ...
    def perform(self, entry: BackStackEntry, effect: Effect, /) -> None: ...


def focus(phone: InputTarget, field: PlacedView) -> None:
    """Focus a field, with the cursor at its end."""
    entry = field.entry
    if entry.focus != field.key:
        entry.focus = field.key
        phone.windows.invalidate()
    _cursor(field, field_text(field.view, entry, field.key))


def _cursor(field: PlacedView, text: str) -> int:
    """The cursor's position in the text; the end when the app has changed the text meanwhile."""
    entry = field.entry
    if entry.edited != text:
        entry.edited, entry.cursor = text, len(text)
    return entry.cursor


def type_text(phone: InputTarget, text: str) -> None:
    """Insert text at the cursor, one character and one event at a time; nothing without a focused field."""
    for character in text:
        field = phone.windows.active().focused_field()
        if field is None:
            return
        before = field_text(field.view, field.entry, field.key)
        at = _cursor(field, before)
        if character == "\n" and field.view.on_submit:
            submit(phone, field)
            continue
        if len(before) >= MAX_TEXT_LENGTH:
            return
        _store(phone, field, before[:at] + character + before[at:], at + 1)


def delete(phone: InputTarget, *, forward: bool = False) -> None:
    """Delete the character before the cursor, or the one after it."""
    field = phone.windows.active().focused_field()
    if field is None:
        return
    before = field_text(field.view, field.entry, field.key)
    at = _cursor(field, before)
    cut = at if forward else at - 1
    if not 0 <= cut < len(before):
        return
    _store(phone, field, before[:cut] + before[cut + 1 :], cut)


def move_cursor(phone: InputTarget, to: Callable[[int, int], int]) -> None:
    """Move the cursor to ``to(position, length)``."""
    field = phone.windows.active().focused_field()
    if field is not None:
        text = field_text(field.view, field.entry, field.key)
        field.entry.cursor = max(0, min(len(text), to(_cursor(field, text), len(text))))


def replace(phone: InputTarget, field: PlacedView, text: str) -> bool:
    """Set the whole text at once, as accessibility does: one change, one event."""
    if not field.view.edits or not field.view.enabled or len(text) > MAX_TEXT_LENGTH:
        return False
    _store(phone, field, text, len(text))
    return True


def _store(phone: InputTarget, field: PlacedView, text: str, cursor: int) -> None:
    entry, view = field.entry, field.view
    entry.edited, entry.cursor = text, cursor
    if view.bind:
        entry.process.state[view.bind] = text
    else:
        entry.texts[field.key] = text
    notify_change(phone, field, text)
    phone.emit(text_event(field, text))


def notify_change(phone: InputTarget, placed: PlacedView, value: str) -> None:
    """Call the app's ``on_change`` handler with the new value of a field or a switch."""
    change = placed.view.on_change
    if change is not None:
        phone.perform(placed.entry, lambda context: change(context, value))
    phone.windows.invalidate()


def submit(phone: InputTarget, field: PlacedView) -> bool:
    """Run the field's own action, as the enter key does, and hide the keyboard."""
    phone.windows.hide_keyboard()
    if field.view.on_submit:
        phone.perform(field.entry, field.view.on_submit)
    phone.windows.invalidate()
    return True
