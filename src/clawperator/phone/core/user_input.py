"""User input: touches, and text typed into fields, each with the accessibility events it causes.

The caller holds the phone's lock.
"""

from collections.abc import Callable
from typing import Protocol

from clawperator.engine.driver import Clock
from clawperator.phone.core.events import AccessibilityEvent, click_event, scroll_event, text_event
from clawperator.phone.core.window import Window
from clawperator.phone.core.window_manager import WindowManager
from clawperator.phone.toolkit.app import BackStackEntry
from clawperator.phone.toolkit.context import Effect
from clawperator.phone.toolkit.layout import PlacedView, field_text

# A shorter movement is a tap; a longer touch is a long press.
SLOP_PX = 24
LONG_PRESS_MS = 500
# The longest time between the two taps of a double tap.
DOUBLE_TAP_SECONDS = 0.3
MAX_TEXT_LENGTH = 10_000


class InputTarget(Protocol):
    """The part of the phone that input code uses. The phone's lock is held by the caller."""

    @property
    def windows(self) -> WindowManager: ...
    def emit(self, event: AccessibilityEvent, /) -> None: ...
    def perform(self, entry: BackStackEntry, effect: Effect, /) -> None: ...


class TouchPlayback(Protocol):
    """A cassette's player, which receives touches on recorded screens first."""

    def pressed(self, placed: PlacedView | None, x: int, y: int, /, *, long: bool) -> bool: ...
    def swiped(self) -> None: ...


class TouchTarget(InputTarget, Protocol):
    @property
    def player(self) -> TouchPlayback | None: ...
    @property
    def clock(self) -> Clock: ...


def tap(phone: TouchTarget, x: int, y: int, hold_ms: int = 100) -> None:
    window = phone.windows.window_at(x, y)
    if window is None:
        return
    long = hold_ms >= LONG_PRESS_MS
    if phone.player is not None and window is phone.windows.active():
        under = window.view_at(x, y, lambda p: p.node.flag("clickable")) or window.view_at(x, y, lambda _: True)
        if phone.player.pressed(under, x, y, long=long):
            return
    placed = window.view_at(x, y, lambda p: _accepts_touch(p, long=long))
    _end_key_focus(phone, window)
    if placed is not None and not long and _is_second_tap(phone, placed):
        assert placed.view.on_double_tap is not None
        phone.perform(placed.entry, placed.view.on_double_tap)
    elif placed is not None:
        press_view(phone, window, placed, long=long and accepts_press(placed, long=True))
    elif window is phone.windows.active() and not window.bounds.contains(x, y):
        phone.windows.touch_outside(window.entry)


def _accepts_touch(placed: PlacedView, *, long: bool) -> bool:
    if accepts_press(placed, long=long) or accepts_press(placed, long=False):
        return True
    return placed.view.enabled and placed.view.on_double_tap is not None


def _is_second_tap(phone: TouchTarget, placed: PlacedView) -> bool:
    """Whether a tap on a view with a double-tap handler follows another one soon enough."""
    entry, now = placed.entry, phone.clock.monotonic()
    last, entry.last_tap = entry.last_tap, None
    if placed.view.on_double_tap is None:
        return False
    if last is not None and last[0] == placed.key and now - last[1] <= DOUBLE_TAP_SECONDS:
        return True
    entry.last_tap = (placed.key, now)
    return False


def _end_key_focus(phone: InputTarget, window: Window) -> None:
    """Remove the focus that keys gave to a view: in touch mode only fields have the focus."""
    entry = window.entry
    placed = window.views.get(entry.focus) if entry.focus is not None else None
    if placed is not None and not placed.view.edits:
        entry.focus = None
        phone.windows.invalidate()


def drag(phone: TouchTarget, start: tuple[int, int], end: tuple[int, int], duration_ms: int) -> None:
    """Hold a view, then move: drop it on the view at the end, press it long, or scroll."""
    window = phone.windows.window_at(*start)
    held = window.view_at(*start, lambda p: bool(p.view.drag_name)) if window else None
    if window is None or held is None:
        pressed = window.view_at(*start, lambda p: accepts_press(p, long=True)) if window else None
        if pressed is not None:
            tap(phone, *start, LONG_PRESS_MS + duration_ms)
        else:
            swipe(phone, start, end, duration_ms)
        return
    target = window.view_at(*end, lambda p: p.view.on_drop is not None and p.view.enabled)
    drop = target.view.on_drop if target is not None else None
    if target is not None and drop is not None:
        phone.perform(target.entry, lambda context: drop(context, held.view.drag_name))


def accepts_press(placed: PlacedView, *, long: bool) -> bool:
    if not placed.view.enabled:
        return False
    return placed.view.on_long_click is not None if long else placed.node.flag("clickable")


def press_view(phone: InputTarget, window: Window, placed: PlacedView, *, long: bool) -> bool:
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
        focus_field(phone, placed)
        phone.windows.show_keyboard()
    if view.checked is not None and view.bind:
        entry.process.state[view.bind] = not entry.process.state.get(view.bind, view.checked)
        if view.on_change:
            notify_change(phone, placed, "true" if entry.process.state[view.bind] else "false")
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
    return press_view(phone, phone.windows.active(), current, long=long)


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


def focus_field(phone: InputTarget, field: PlacedView) -> None:
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


def delete_character(phone: InputTarget, *, forward: bool = False) -> None:
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


def replace_text(phone: InputTarget, field: PlacedView, text: str) -> bool:
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
