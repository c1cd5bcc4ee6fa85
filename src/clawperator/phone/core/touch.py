"""Touch input: taps, long presses and swipes, and the click action of accessibility."""

from typing import Protocol

from clawperator.phone.core import text_fields
from clawperator.phone.core.events import click_event, scroll_event
from clawperator.phone.core.text_fields import InputTarget
from clawperator.phone.core.window import Window
from clawperator.phone.toolkit.layout import PlacedView

# A shorter movement is a tap; a longer touch is a long press.
SLOP_PX = 24
LONG_PRESS_MS = 500


class TouchPlayback(Protocol):
    """A cassette's player, which receives touches on recorded screens first."""

    def pressed(self, placed: PlacedView | None, x: int, y: int, /, *, long: bool) -> bool: ...
    def swiped(self) -> None: ...


class TouchTarget(InputTarget, Protocol):
    @property
    def player(self) -> TouchPlayback | None: ...


def tap(phone: TouchTarget, x: int, y: int, hold_ms: int = 100) -> None:
    window = phone.windows.window_at(x, y)
    if window is None:
        return
    long = hold_ms >= LONG_PRESS_MS
    if phone.player is not None and window is phone.windows.active():
        under = window.view_at(x, y, lambda p: p.node.flag("clickable")) or window.view_at(x, y, lambda _: True)
        if phone.player.pressed(under, x, y, long=long):
            return
    placed = window.view_at(x, y, lambda p: accepts_press(p, long=long) or accepts_press(p, long=False))
    if placed is not None:
        press(phone, window, placed, long=long and accepts_press(placed, long=True))
    elif window is phone.windows.active() and not window.bounds.contains(x, y):
        phone.windows.touch_outside(window.entry)


def accepts_press(placed: PlacedView, *, long: bool) -> bool:
    if not placed.view.enabled:
        return False
    return placed.view.on_long_click is not None if long else placed.node.flag("clickable")


def press(phone: InputTarget, window: Window, placed: PlacedView, *, long: bool) -> bool:
    """Press a view: emit the event, then run its handlers. False when the view does not accept the press."""
    view, entry = placed.view, placed.entry
    if not accepts_press(placed, long=long):
        return False
    if long:
        assert view.on_long_click is not None
        phone.perform(entry, view.on_long_click)
        return True
    if window is not phone.windows.keyboard():
        phone.emit(click_event(placed))
    if view.edits:
        text_fields.focus(phone, placed)
        phone.windows.show_keyboard()
    if view.checked is not None and view.bind:
        entry.process.state[view.bind] = not entry.process.state.get(view.bind, view.checked)
        if view.on_change:
            text_fields.notify_change(phone, placed, "true" if entry.process.state[view.bind] else "false")
    if view.on_click:
        phone.perform(entry, view.on_click)
    phone.windows.invalidate()
    return True


def click(phone: TouchTarget, placed: PlacedView, *, long: bool) -> bool:
    """Press a view at its current position, as accessibility does. False when it is gone or not clickable."""
    current = phone.windows.find_again(placed)
    if current is None:
        return False
    if phone.player is not None and phone.player.pressed(current, *current.node.bounds.centre, long=long):
        return True
    return press(phone, phone.windows.active(), current, long=long)


def swipe(phone: TouchTarget, start: tuple[int, int], end: tuple[int, int], duration_ms: int) -> None:
    """Drag the content under the finger. A list at its end passes the rest on to the list around it."""
    across, down = start[0] - end[0], start[1] - end[1]
    if max(abs(across), abs(down)) < SLOP_PX:
        tap(phone, *start, duration_ms)
        return
    window = phone.windows.window_at(*start)
    if window is None:
        return
    if phone.player is not None and window is phone.windows.active():
        phone.player.swiped()
    axis = "vertical" if abs(down) >= abs(across) else "horizontal"
    placed = window.view_at(*start, lambda p: p.view.scrolls == axis)
    moved = down if axis == "vertical" else across
    while placed is not None and moved:
        moved = scroll(phone, placed, moved)
        placed = next(
            (
                n.source
                for n in placed.node.ancestors()
                if isinstance(n.source, PlacedView) and n.source.view.scrolls == axis
            ),
            None,
        )


def scroll(phone: InputTarget, placed: PlacedView, by: int) -> int:
    """Scroll a list by a number of pixels. Returns the pixels that were left over at its end."""
    (x, y), (across, down) = placed.offset, placed.extent
    if placed.view.scrolls == "vertical":
        goal = max(0, min(down, y + by))
        left, placed.offset = y + by - goal, (x, goal)
    else:
        goal = max(0, min(across, x + by))
        left, placed.offset = x + by - goal, (goal, y)
    if placed.offset == (x, y):
        return left
    placed.entry.scroll[placed.key] = placed.offset
    phone.windows.invalidate()
    phone.emit(scroll_event(placed))
    return left
