"""User input: touches, text typed into fields, and keys, each with the accessibility events it causes.

The caller holds the phone's lock.
"""

from collections.abc import Callable
from typing import Protocol

from clawperator.engine.driver import Clock
from clawperator.phone.core.events import AccessibilityEvent, click_event, scroll_event, text_event
from clawperator.phone.core.windows import Window, WindowManager
from clawperator.phone.toolkit.app import BackStackEntry
from clawperator.phone.toolkit.context import Effect, SystemServices
from clawperator.phone.toolkit.layout import PlacedView, field_text

# A shorter movement is a tap; a longer touch is a long press.
SLOP_PX = 24
LONG_PRESS_MS = 500
# The longest time between the two taps of a double tap.
DOUBLE_TAP_SECONDS = 0.3
MAX_TEXT_LENGTH = 10_000


class TouchPlayback(Protocol):
    """A cassette's player, which receives touches on recorded screens first."""

    def pressed(self, placed: PlacedView | None, x: int, y: int, /, *, long: bool) -> bool: ...
    def swiped(self) -> None: ...


class InputTarget(SystemServices, Protocol):
    """The part of the phone that input code uses. The phone's lock is held by the caller."""

    windows: WindowManager
    clock: Clock

    @property
    def player(self) -> TouchPlayback | None: ...
    def emit(self, event: AccessibilityEvent, /) -> None: ...
    def perform(self, entry: BackStackEntry, effect: Effect, /) -> None: ...


def tap(phone: InputTarget, x: int, y: int, hold_ms: int = 100) -> None:
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
        _press_view(phone, window, placed, long=long and _accepts_press(placed, long=True))
    elif window is phone.windows.active() and not window.bounds.contains(x, y):
        phone.windows.touch_outside(window.entry)


def _accepts_touch(placed: PlacedView, *, long: bool) -> bool:
    if _accepts_press(placed, long=long) or _accepts_press(placed, long=False):
        return True
    return placed.view.enabled and placed.view.on_double_tap is not None


def _is_second_tap(phone: InputTarget, placed: PlacedView) -> bool:
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
    placed = window.focused()
    if placed is not None and not placed.view.edits:
        window.entry.focus = None
        phone.windows.invalidate()


def drag(phone: InputTarget, start: tuple[int, int], end: tuple[int, int], duration_ms: int) -> None:
    """Hold a view, then move: drop it on the view at the end, press it long, or scroll."""
    window = phone.windows.window_at(*start)
    held = window.view_at(*start, lambda p: bool(p.view.drag_name)) if window else None
    if window is None or held is None:
        pressed = window.view_at(*start, lambda p: _accepts_press(p, long=True)) if window else None
        if pressed is not None:
            tap(phone, *start, LONG_PRESS_MS + duration_ms)
        else:
            swipe(phone, start, end, duration_ms)
        return
    target = window.view_at(*end, lambda p: p.view.on_drop is not None and p.view.enabled)
    drop = target.view.on_drop if target is not None else None
    if target is not None and drop is not None:
        phone.perform(target.entry, lambda context: drop(context, held.view.drag_name))


def _accepts_press(placed: PlacedView, *, long: bool) -> bool:
    if not placed.view.enabled:
        return False
    return placed.view.on_long_click is not None if long else placed.node.flag("clickable")


def _press_view(phone: InputTarget, window: Window, placed: PlacedView, *, long: bool) -> bool:
    """Press a view: emit the event, then run its handlers. False when the view does not accept the press."""
    view, entry = placed.view, placed.entry
    if not _accepts_press(placed, long=long):
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
            _notify_change(phone, placed, "true" if entry.process.state[view.bind] else "false")
    if view.on_click:
        phone.perform(entry, view.on_click)
    phone.windows.invalidate()
    return True


def click(phone: InputTarget, placed: PlacedView, *, long: bool) -> bool:
    """Press a view at its current position, as accessibility does. False when it is gone or not clickable."""
    current = phone.windows.find_again(placed)
    if current is None:
        return False
    if phone.player is not None and phone.player.pressed(current, *current.node.bounds.centre, long=long):
        return True
    return _press_view(phone, phone.windows.active(), current, long=long)


def swipe(phone: InputTarget, start: tuple[int, int], end: tuple[int, int], duration_ms: int) -> None:
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
        above = (node.source for node in placed.node.ancestors())
        placed = next((p for p in above if isinstance(p, PlacedView) and p.view.scrolls == axis), None)


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


def _delete_character(phone: InputTarget, *, forward: bool = False) -> None:
    """Delete the character before the cursor, or the one after it."""
    field = phone.windows.active().focused_field()
    if field is not None:
        before = field_text(field.view, field.entry, field.key)
        cut = _cursor(field, before) - (not forward)
        if 0 <= cut < len(before):
            _store(phone, field, before[:cut] + before[cut + 1 :], cut)


def _move_cursor(phone: InputTarget, to: Callable[[int, int], int]) -> None:
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
    _notify_change(phone, field, text)
    phone.emit(text_event(field, text))


def _notify_change(phone: InputTarget, placed: PlacedView, value: str) -> None:
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


# Keys: what each does on the phone, in the app in front, and in the field or view that has the focus

VOLUME = "volume_music_speaker"
MAX_VOLUME = 15
_UNMUTED = "volume_music_unmuted"
# The keys that ``input keyevent`` takes: their names in the order of their codes, from the first code of each run.
_KEYS = {
    3: "HOME BACK",
    7: "0 1 2 3 4 5 6 7 8 9",
    19: "DPAD_UP DPAD_DOWN DPAD_LEFT DPAD_RIGHT DPAD_CENTER VOLUME_UP VOLUME_DOWN POWER",
    29: "A B C D E F G H I J K L M N O P Q R S T U V W X Y Z",
    55: "COMMA PERIOD",
    61: "TAB SPACE",
    66: "ENTER DEL",
    69: "MINUS EQUALS",
    76: "SLASH AT",
    81: "PLUS MENU",
    84: "SEARCH MEDIA_PLAY_PAUSE MEDIA_STOP MEDIA_NEXT MEDIA_PREVIOUS MEDIA_REWIND MEDIA_FAST_FORWARD MUTE",
    111: "ESCAPE FORWARD_DEL",
    122: "MOVE_HOME MOVE_END",
    126: "MEDIA_PLAY MEDIA_PAUSE",
    160: "NUMPAD_ENTER",
    164: "VOLUME_MUTE",
    187: "APP_SWITCH",
    223: "SLEEP WAKEUP",
}
KEY_CODES = {name: code for first, names in _KEYS.items() for code, name in enumerate(names.split(), first)}
_NAMES = {code: name for name, code in KEY_CODES.items()}
_CHARACTERS = {
    **{code: name.lower() for name, code in KEY_CODES.items() if len(name) == 1},
    55: ",",
    56: ".",
    62: " ",
    69: "-",
    70: "=",
    76: "/",
    77: "@",
    81: "+",
}


# Keys that never reach an app.
_SYSTEM_KEYS = frozenset({3, 26, 187, 223, 224})


def read_key_code(word: str) -> int | None:
    """The code of a name such as KEYCODE_BACK or BACK, or of a number; None for anything else."""
    if word.isdecimal() and len(word) < 6:
        return int(word)
    return KEY_CODES.get(word.upper().removeprefix("KEYCODE_"))


def press_key(phone: InputTarget, code: int, *, long: bool = False) -> None:
    """Press and release a key. Keys without a function here do nothing, as on a phone.

    A screen of an app may handle a key itself. A long press makes a difference only where a view has the focus.
    """
    entry = phone.windows.top()
    effect = entry.screen.keys.get(_NAMES.get(code, ""))
    if effect is not None and code not in _SYSTEM_KEYS:
        phone.perform(entry, effect)
    elif code in _CHARACTERS:
        type_text(phone, _CHARACTERS[code])
    elif code in _CONFIRM:
        _confirm(phone, long=long, submits=code != _DPAD_CENTER)
    elif code in _FUNCTIONS:
        _FUNCTIONS[code](phone)


def _confirm(phone: InputTarget, *, long: bool, submits: bool) -> None:
    """Enter, or the centre of the pad: submit a field, or click the view that has the focus."""
    window = phone.windows.active()
    field = window.focused_field()
    if field is not None and submits and field.view.multiline:
        type_text(phone, "\n")
    elif field is not None and submits:
        submit(phone, field)
    elif (focused := window.focused()) is not None:
        _press_view(phone, window, focused, long=long)


def _move_focus(phone: InputTarget, by: int, *, wraps: bool = False) -> None:
    """Give the focus to the next or previous view that can have it."""
    window = phone.windows.active()
    views = [
        node.source
        for node in window.nodes
        if isinstance(node.source, PlacedView)
        and node.flag("focusable")
        and node.source.view.enabled
        and not node.source.view.scrolls
        and not node.bounds.is_empty
    ]
    keys = [placed.key for placed in views]
    if not views:
        return
    if window.entry.focus in keys:
        at = keys.index(window.entry.focus) + by
        at = at % len(views) if wraps else max(0, min(len(views) - 1, at))
    else:
        at = 0 if by > 0 else len(views) - 1
    if views[at].view.edits:
        focus_field(phone, views[at])
    else:
        window.entry.focus = views[at].key
    phone.windows.invalidate()


def _sideways(phone: InputTarget, by: int) -> None:
    if phone.windows.active().focused_field() is not None:
        _move_cursor(phone, lambda at, _: at + by)
    else:
        _move_focus(phone, by)


def _set_awake(phone: InputTarget, *, awake: bool) -> None:
    phone.windows.awake = awake


def _change_volume(phone: InputTarget, by: int) -> None:
    volume = _volume(phone, _UNMUTED) or _volume(phone, VOLUME)
    _set_volume(phone, volume + by)


def _toggle_mute(phone: InputTarget) -> None:
    volume = _volume(phone, VOLUME)
    if volume:
        phone.settings.put("system", _UNMUTED, str(volume))
        phone.settings.put("system", VOLUME, "0")
    else:
        _set_volume(phone, _volume(phone, _UNMUTED))


def _set_volume(phone: InputTarget, volume: int) -> None:
    phone.settings.put("system", _UNMUTED, "0")
    phone.settings.put("system", VOLUME, str(max(0, min(MAX_VOLUME, volume))))


def _volume(phone: InputTarget, name: str) -> int:
    value = phone.settings.get("system", name) or "0"
    return min(MAX_VOLUME, int(value)) if value.isascii() and value.isdigit() and len(value) < 4 else 0


_DPAD_CENTER = 23
_CONFIRM = frozenset({_DPAD_CENTER, 66, 160})
_FUNCTIONS: dict[int, Callable[[InputTarget], None]] = {
    3: lambda phone: phone.go_home(),
    4: lambda phone: phone.go_back(),
    19: lambda phone: _move_focus(phone, -1),
    20: lambda phone: _move_focus(phone, 1),
    21: lambda phone: _sideways(phone, -1),
    22: lambda phone: _sideways(phone, 1),
    24: lambda phone: _change_volume(phone, 1),
    25: lambda phone: _change_volume(phone, -1),
    26: lambda phone: _set_awake(phone, awake=not phone.windows.awake),
    61: lambda phone: _move_focus(phone, 1, wraps=True),
    67: _delete_character,
    82: lambda phone: _set_awake(phone, awake=True),
    111: lambda phone: phone.go_back(),
    112: lambda phone: _delete_character(phone, forward=True),
    122: lambda phone: _move_cursor(phone, lambda *_: 0),
    123: lambda phone: _move_cursor(phone, lambda _, length: length),
    164: _toggle_mute,
    187: lambda phone: phone.show_recents(),
    223: lambda phone: _set_awake(phone, awake=False),
    224: lambda phone: _set_awake(phone, awake=True),
}
