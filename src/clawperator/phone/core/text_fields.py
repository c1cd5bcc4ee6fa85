"""Text fields: the focus, the cursor, and every change told as it happens."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from clawperator.phone.core.events import AccessibilityEvent
from clawperator.phone.toolkit.layout import Place, field_text

if TYPE_CHECKING:
    from clawperator.phone.core.phone import Phone

LONGEST_TEXT = 10_000


def focused(phone: "Phone") -> Place | None:
    """The field that takes what is typed."""
    window = phone.glass.active()
    focus = window.entry.focus
    place = window.places.get(focus) if focus is not None else None
    return place if place is not None and place.view.edits and place.view.enabled else None


def focus(phone: "Phone", place: Place) -> None:
    """Give a field the focus, the cursor at its end."""
    entry = place.entry
    if entry.focus != place.key:
        entry.focus = place.key
        phone.changed()
    _cursor(place, field_text(place.view, entry, place.key))


def _cursor(place: Place, text: str) -> int:
    """Where the cursor stands in the text; at its end when the app has changed the text meanwhile."""
    entry = place.entry
    if entry.edited != text:
        entry.edited, entry.cursor = text, len(text)
    return entry.cursor


def type_text(phone: "Phone", text: str) -> None:
    """Put text in at the cursor, a character at a time, each with its event. No field, no text."""
    for character in text:
        place = focused(phone)
        if place is None:
            return
        entry = place.entry
        before = field_text(place.view, entry, place.key)
        at = _cursor(place, before)
        if character == "\n" and place.view.on_submit:
            submit(phone, place)
            continue
        if len(before) >= LONGEST_TEXT:
            return
        store(phone, place, before[:at] + character + before[at:], at + 1)


def delete(phone: "Phone", *, forward: bool = False) -> None:
    """Take away the character before the cursor, or the one behind it."""
    place = focused(phone)
    if place is None:
        return
    entry = place.entry
    before = field_text(place.view, entry, place.key)
    at = _cursor(place, before)
    cut = at if forward else at - 1
    if not 0 <= cut < len(before):
        return
    store(phone, place, before[:cut] + before[cut + 1 :], cut)


def move(phone: "Phone", to: Callable[[int, int], int]) -> None:
    """Move the cursor: ``to`` gets where it is and how long the text is."""
    place = focused(phone)
    if place is not None:
        text = field_text(place.view, place.entry, place.key)
        place.entry.cursor = max(0, min(len(text), to(_cursor(place, text), len(text))))


def replace(phone: "Phone", place: Place, text: str) -> bool:
    """Set the whole text at once, as accessibility does: one change, one event."""
    if not place.view.edits or not place.view.enabled or len(text) > LONGEST_TEXT:
        return False
    store(phone, place, text, len(text))
    return True


def store(phone: "Phone", place: Place, text: str, cursor: int) -> None:
    """Put a text into a field, the cursor at a place in it, and tell of it."""
    entry, view = place.entry, place.view
    entry.edited, entry.cursor = text, cursor
    if view.bind:
        entry.process.state[view.bind] = text
    else:
        entry.texts[place.key] = text
    tell_change(phone, place, text)
    shown = "•" * len(text) if view.edits == "password" else text
    phone.emit(
        AccessibilityEvent(kind="view_text_changed", package=entry.package, class_name=view.class_name, text=shown)
    )


def tell_change(phone: "Phone", place: Place, value: str) -> None:
    """Let the app know what a field or a switch holds now."""
    change = place.view.on_change
    if change is not None:
        phone.perform(place.entry, lambda here: change(here, value))
    phone.changed()


def submit(phone: "Phone", place: Place) -> bool:
    """What the enter key does in this field: the field's own action, or away with the keyboard."""
    phone.glass.hide_keyboard()
    if place.view.on_submit:
        phone.perform(place.entry, place.view.on_submit)
    phone.changed()
    return True
