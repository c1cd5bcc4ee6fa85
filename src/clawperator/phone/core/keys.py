"""Keys: what each does on the phone, in the app in front, and in the field or view that has the focus.

The caller holds the phone's lock.
"""

from collections.abc import Callable
from typing import Protocol

from clawperator.phone.core.user_input import (
    InputTarget,
    delete_character,
    focus_field,
    move_cursor,
    press_view,
    submit,
    type_text,
)
from clawperator.phone.toolkit.context import SettingsService
from clawperator.phone.toolkit.layout import PlacedView

VOLUME = "volume_music_speaker"
MAX_VOLUME = 15
_UNMUTED = "volume_music_unmuted"
# The names and codes that ``input keyevent`` takes.
KEY_CODES = {
    "HOME": 3,
    "BACK": 4,
    **{str(n): 7 + n for n in range(10)},
    "DPAD_UP": 19,
    "DPAD_DOWN": 20,
    "DPAD_LEFT": 21,
    "DPAD_RIGHT": 22,
    "DPAD_CENTER": 23,
    "VOLUME_UP": 24,
    "VOLUME_DOWN": 25,
    "POWER": 26,
    **{chr(ord("A") + n): 29 + n for n in range(26)},
    "COMMA": 55,
    "PERIOD": 56,
    "TAB": 61,
    "SPACE": 62,
    "ENTER": 66,
    "DEL": 67,
    "MINUS": 69,
    "EQUALS": 70,
    "SLASH": 76,
    "AT": 77,
    "PLUS": 81,
    "MENU": 82,
    "SEARCH": 84,
    "MEDIA_PLAY_PAUSE": 85,
    "MEDIA_STOP": 86,
    "MEDIA_NEXT": 87,
    "MEDIA_PREVIOUS": 88,
    "MEDIA_REWIND": 89,
    "MEDIA_FAST_FORWARD": 90,
    "MUTE": 91,
    "ESCAPE": 111,
    "FORWARD_DEL": 112,
    "MOVE_HOME": 122,
    "MOVE_END": 123,
    "MEDIA_PLAY": 126,
    "MEDIA_PAUSE": 127,
    "NUMPAD_ENTER": 160,
    "VOLUME_MUTE": 164,
    "APP_SWITCH": 187,
    "SLEEP": 223,
    "WAKEUP": 224,
}
_NAMES = {code: name for name, code in KEY_CODES.items()}
_CHARACTERS = {
    **{7 + n: str(n) for n in range(10)},
    **{29 + n: chr(ord("a") + n) for n in range(26)},
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


class KeyTarget(InputTarget, Protocol):
    """The part of the phone that keys use."""

    @property
    def settings(self) -> SettingsService: ...
    def go_back(self) -> None: ...
    def go_home(self) -> None: ...
    def show_recents(self) -> None: ...


def read_key_code(word: str) -> int | None:
    """The code of a name such as KEYCODE_BACK or BACK, or of a number; None for anything else."""
    if word.isdecimal() and len(word) < 6:
        return int(word)
    return KEY_CODES.get(word.upper().removeprefix("KEYCODE_"))


def press_key(phone: KeyTarget, code: int, *, long: bool = False) -> None:
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


def _confirm(phone: KeyTarget, *, long: bool, submits: bool) -> None:
    """Enter, or the centre of the pad: submit a field, or click the view that has the focus."""
    window = phone.windows.active()
    field = window.focused_field()
    if field is not None and submits and field.view.multiline:
        type_text(phone, "\n")
    elif field is not None and submits:
        submit(phone, field)
    elif (focused := _focused(phone)) is not None:
        press_view(phone, window, focused, long=long)


def _focused(phone: KeyTarget) -> PlacedView | None:
    window = phone.windows.active()
    focus = window.entry.focus
    return window.views.get(focus) if focus is not None else None


def _move_focus(phone: KeyTarget, by: int, *, wraps: bool = False) -> None:
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


def _sideways(phone: KeyTarget, by: int) -> None:
    if phone.windows.active().focused_field() is not None:
        move_cursor(phone, lambda at, _: at + by)
    else:
        _move_focus(phone, by)


def _set_awake(phone: KeyTarget, *, awake: bool) -> None:
    phone.windows.awake = awake


def _change_volume(phone: KeyTarget, by: int) -> None:
    volume = _volume(phone, _UNMUTED) or _volume(phone, VOLUME)
    _set_volume(phone, volume + by)


def _toggle_mute(phone: KeyTarget) -> None:
    volume = _volume(phone, VOLUME)
    if volume:
        phone.settings.put("system", _UNMUTED, str(volume))
        phone.settings.put("system", VOLUME, "0")
    else:
        _set_volume(phone, _volume(phone, _UNMUTED))


def _set_volume(phone: KeyTarget, volume: int) -> None:
    phone.settings.put("system", _UNMUTED, "0")
    phone.settings.put("system", VOLUME, str(max(0, min(MAX_VOLUME, volume))))


def _volume(phone: KeyTarget, name: str) -> int:
    value = phone.settings.get("system", name) or "0"
    return min(MAX_VOLUME, int(value)) if value.isascii() and value.isdigit() and len(value) < 4 else 0


_DPAD_CENTER = 23
_CONFIRM = frozenset({_DPAD_CENTER, 66, 160})
_FUNCTIONS: dict[int, Callable[[KeyTarget], None]] = {
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
    67: delete_character,
    82: lambda phone: _set_awake(phone, awake=True),
    111: lambda phone: phone.go_back(),
    112: lambda phone: delete_character(phone, forward=True),
    122: lambda phone: move_cursor(phone, lambda *_: 0),
    123: lambda phone: move_cursor(phone, lambda _, length: length),
    164: _toggle_mute,
    187: lambda phone: phone.show_recents(),
    223: lambda phone: _set_awake(phone, awake=False),
    224: lambda phone: _set_awake(phone, awake=True),
}
