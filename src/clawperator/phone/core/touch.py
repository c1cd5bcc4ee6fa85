"""Fingers: what a tap, a long press and a swipe do, and what accessibility's own click does."""

from typing import TYPE_CHECKING

from clawperator.phone.core import text_fields
from clawperator.phone.core.events import AccessibilityEvent
from clawperator.phone.core.window import Window
from clawperator.phone.toolkit.layout import Place

if TYPE_CHECKING:
    from clawperator.phone.core.phone import Phone

# A finger that moved less has tapped; one that stayed longer has pressed.
SLOP_PX = 24
LONG_PRESS_MS = 500


def tap(phone: "Phone", x: int, y: int, hold_ms: int = 100) -> None:
    window = phone.glass.window_at(x, y)
    if window is None:
        return
    long = hold_ms >= LONG_PRESS_MS
    if phone.player is not None and window is phone.glass.active():
        under = window.at(x, y, lambda p: p.node.flag("clickable")) or window.at(x, y, lambda _: True)
        if phone.player.pressed(under, x, y, long=long):
            return
    place = window.at(x, y, lambda p: takes_press(p, long=long) or takes_press(p, long=False))
    if place is not None:
        press(phone, window, place, long=long and takes_press(place, long=True))
    elif window is phone.glass.active() and not window.bounds.contains(x, y):
        phone.glass.dismiss(window.entry)


def takes_press(place: Place, *, long: bool) -> bool:
    if not place.view.enabled:
        return False
    return place.view.on_long_click is not None if long else place.node.flag("clickable")


def press(phone: "Phone", window: Window, place: Place, *, long: bool) -> bool:
    """A press that reached its view: told first, then done."""
    view, entry = place.view, place.entry
    if not takes_press(place, long=long):
        return False
    if long:
        assert view.on_long_click is not None
        phone.perform(entry, view.on_long_click)
        return True
    if window is not phone.glass.keyboard():
        phone.emit(clicked(place))
    if view.edits:
        text_fields.focus(phone, place)
        phone.glass.show_keyboard()
    if view.checked is not None and view.bind:
        entry.process.state[view.bind] = not entry.process.state.get(view.bind, view.checked)
        if view.on_change:
            text_fields.tell_change(phone, place, "true" if entry.process.state[view.bind] else "false")
    if view.on_click:
        phone.perform(entry, view.on_click)
    phone.changed()
    return True


def clicked(place: Place) -> AccessibilityEvent:
    """The event of a click: the words of the view itself, or the first of what lies in it."""
    node = place.node
    words = next((n.label for n in node.walk() if n.label), None)
    return AccessibilityEvent(
        kind="view_clicked",
        package=place.entry.package,
        class_name=place.view.class_name,
        text=node.text or words,
        content_desc=node.content_desc or None,
        resource_id=node.resource_id or None,
        bounds=node.bounds,
    )


def swipe(phone: "Phone", start: tuple[int, int], end: tuple[int, int], duration_ms: int) -> None:
    """Drag what lies under the finger. What cannot move further hands the rest to what it lies in."""
    across, down = start[0] - end[0], start[1] - end[1]
    if max(abs(across), abs(down)) < SLOP_PX:
        tap(phone, *start, duration_ms)
        return
    window = phone.glass.window_at(*start)
    if window is None:
        return
    if phone.player is not None and window is phone.glass.active():
        phone.player.swiped()
    axis = "vertical" if abs(down) >= abs(across) else "horizontal"
    place = window.at(*start, lambda p: p.view.scrolls == axis)
    moved = down if axis == "vertical" else across
    while place is not None and moved:
        moved = scroll(phone, place, moved)
        place = next(
            (
                n.source
                for n in place.node.ancestors()
                if isinstance(n.source, Place) and n.source.view.scrolls == axis
            ),
            None,
        )


def scroll(phone: "Phone", place: Place, by: int) -> int:
    """Move a list's content by so many pixels. Gives back what could not be moved."""
    (x, y), (across, down) = place.offset, place.extent
    if place.view.scrolls == "vertical":
        goal = max(0, min(down, y + by))
        left, place.offset = y + by - goal, (x, goal)
    else:
        goal = max(0, min(across, x + by))
        left, place.offset = x + by - goal, (goal, y)
    if place.offset == (x, y):
        return left
    place.entry.scroll[place.key] = place.offset
    phone.changed()
    phone.emit(
        AccessibilityEvent(
            kind="view_scrolled",
            package=place.entry.package,
            class_name=place.view.class_name,
            scroll=(*place.offset, across, down),
        )
    )
    return left
