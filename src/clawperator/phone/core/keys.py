"""Key events: the names and codes that ``input keyevent`` takes, and what each key does."""

from collections.abc import Callable
from typing import Protocol

from clawperator.phone.core import text_fields
from clawperator.phone.core.text_fields import InputTarget

CODES = {
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
    "ESCAPE": 111,
    "FORWARD_DEL": 112,
    "MOVE_HOME": 122,
    "MOVE_END": 123,
    "NUMPAD_ENTER": 160,
    "APP_SWITCH": 187,
    "SLEEP": 223,
    "WAKEUP": 224,
}
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


class KeyTarget(InputTarget, Protocol):
    """What keys use of the phone."""

    def go_back(self) -> None: ...
    def go_home(self) -> None: ...
    def show_recents(self) -> None: ...


def read_code(word: str) -> int | None:
    """The code of a name such as KEYCODE_BACK or BACK, or of a number; None for anything else."""
    if word.isdecimal() and len(word) < 6:
        return int(word)
    return CODES.get(word.upper().removeprefix("KEYCODE_"))


def press(phone: KeyTarget, code: int) -> None:
    """Press and release a key. Keys without a function here do nothing, as on a phone."""
    if code in _CHARACTERS:
        text_fields.type_text(phone, _CHARACTERS[code])
    elif code in _FUNCTIONS:
        _FUNCTIONS[code](phone)


def _enter(phone: KeyTarget) -> None:
    field = phone.windows.active().focused_field()
    if field is not None and field.view.multiline:
        text_fields.type_text(phone, "\n")
    elif field is not None:
        text_fields.submit(phone, field)


def _set_awake(phone: KeyTarget, *, awake: bool) -> None:
    phone.windows.awake = awake


_FUNCTIONS: dict[int, Callable[[KeyTarget], None]] = {
    3: lambda phone: phone.go_home(),
    4: lambda phone: phone.go_back(),
    21: lambda phone: text_fields.move_cursor(phone, lambda at, _: at - 1),
    22: lambda phone: text_fields.move_cursor(phone, lambda at, _: at + 1),
    26: lambda phone: _set_awake(phone, awake=not phone.windows.awake),
    66: _enter,
    67: text_fields.delete,
    82: lambda phone: _set_awake(phone, awake=True),
    111: lambda phone: phone.go_back(),
    112: lambda phone: text_fields.delete(phone, forward=True),
    122: lambda phone: text_fields.move_cursor(phone, lambda *_: 0),
    123: lambda phone: text_fields.move_cursor(phone, lambda _, length: length),
    160: _enter,
    187: lambda phone: phone.show_recents(),
    223: lambda phone: _set_awake(phone, awake=False),
    224: lambda phone: _set_awake(phone, awake=True),
}
