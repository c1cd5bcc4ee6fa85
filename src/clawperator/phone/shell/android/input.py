"""``input``: inject touches, text and keys."""

import threading
from weakref import WeakKeyDictionary

from clawperator.phone.core import keys, touch
from clawperator.phone.core.phone import Phone
from clawperator.phone.shell.android.base import Handler, ServiceArguments, ServiceError, read_int, run_handler
from clawperator.phone.shell.process import INTERRUPTED, ShellProcess, command

_SOURCES = (
    "dpad",
    "gamepad",
    "joystick",
    "keyboard",
    "mouse",
    "rotaryencoder",
    "stylus",
    "touchnavigation",
    "touchpad",
    "touchscreen",
    "trackball",
)
_SWIPE_MS = 300
_LONG_PRESS_MS = 500
_LONGEST_MS = 60_000
_MOST_KEYS = 10_000
_USAGE = f"""\
Usage: input [<source>] [-d DISPLAY_ID] <command> [<arg>...]

The sources are: {" ".join(_SOURCES)}

The commands are:
      text <string>
      keyevent [--longpress|--doubletap|--async|--delay <ms>] <key code number or name> ...
      tap <x> <y>
      swipe <x1> <y1> <x2> <y2> [duration(ms)]
      draganddrop <x1> <y1> <x2> <y2> [duration(ms)]
      press
      roll <dx> <dy>
      motionevent <DOWN|UP|MOVE|CANCEL> <x> <y>
"""


class _Touch:
    """A touch held between two ``motionevent`` commands: where and when it began, and where it is."""

    __slots__ = ("at", "down", "since")

    def __init__(self, x: int, y: int, since: float) -> None:
        self.down = self.at = (x, y)
        self.since = since


_touches: WeakKeyDictionary[Phone, _Touch] = WeakKeyDictionary()
_touches_lock = threading.Lock()


@command("input")
def input_(process: ShellProcess) -> int:
    words = process.argv[1:]
    if words and words[0] in _SOURCES:
        words = words[1:]
    if words and words[0] == "-d":
        words = words[2:]
    if not words or words[0] not in _HANDLERS:
        # Android's input prints this and still exits with 0.
        process.write(f"Unknown command: {words[0]}\n" if words and words[0] not in {"help", "-h"} else _USAGE)
        return 0
    return run_handler(process, _HANDLERS[words[0]], words)


def _tap(process: ShellProcess, arguments: ServiceArguments) -> int:
    process.phone.tap(arguments.pixel(), arguments.pixel())
    return 0


def _swipe(process: ShellProcess, arguments: ServiceArguments) -> int:
    start, end, duration = _read_stroke(arguments)
    if process.wait(duration / 1000):
        return INTERRUPTED
    process.phone.swipe(start, end, duration)
    return 0


def _drag(process: ShellProcess, arguments: ServiceArguments) -> int:
    """A long press that then moves: a long press where the view accepts one, else a swipe."""
    start, end, duration = _read_stroke(arguments)
    if process.wait((_LONG_PRESS_MS + duration) / 1000):
        return INTERRUPTED
    device = process.phone
    with device.lock:
        window = device.windows.window_at(*start)
        held = window.view_at(*start, lambda placed: touch.accepts_press(placed, long=True)) if window else None
        if held is not None:
            device.tap(*start, hold_ms=_LONG_PRESS_MS + duration)
        else:
            device.swipe(start, end, duration)
    return 0


def _read_stroke(arguments: ServiceArguments) -> tuple[tuple[int, int], tuple[int, int], int]:
    start, end = (arguments.pixel(), arguments.pixel()), (arguments.pixel(), arguments.pixel())
    given = arguments.next()
    duration = read_int(given) if given is not None else -1
    return start, end, min(duration, _LONGEST_MS) if duration >= 0 else _SWIPE_MS


def _text(process: ShellProcess, arguments: ServiceArguments) -> int:
    """Type text; ``%s`` is a space. Unlike many phones, this one also accepts non-ASCII text."""
    process.phone.type_text(arguments.required().replace("%s", " "))
    return 0


def _key_event(process: ShellProcess, arguments: ServiceArguments) -> int:
    device = process.phone
    repeat, delay = 1, 0
    while (option := arguments.option()) is not None:
        if option == "--delay":
            delay = min(arguments.integer(), _LONGEST_MS)
        elif option == "--longpress":
            delay = max(delay, _LONG_PRESS_MS)
        elif option == "--doubletap":
            repeat = 2
    words = [arguments.required(), *arguments.remaining()]
    for word in words[:_MOST_KEYS]:
        code = keys.read_code(word)
        if delay > 0 and process.wait(delay / 1000):
            return INTERRUPTED
        for _ in range(repeat if code is not None else 0):
            assert code is not None
            device.key(code)
    return 0


def _press(process: ShellProcess, _: ServiceArguments) -> int:
    """Press the trackball: on a phone without one, a tap in the corner."""
    process.phone.tap(0, 0)
    return 0


def _roll(_: ShellProcess, arguments: ServiceArguments) -> int:
    """Roll the trackball: without effect."""
    arguments.pixel()
    arguments.pixel()
    return 0


def _motion(process: ShellProcess, arguments: ServiceArguments) -> int:
    """Touch down, move and up as separate commands. The gesture takes effect on up."""
    word = arguments.required()
    action = word.upper()
    if action not in {"DOWN", "UP", "MOVE", "CANCEL"}:
        raise ServiceError(f"Unknown action: {word}")
    device = process.phone
    if action == "CANCEL":
        with _touches_lock:
            _touches.pop(device, None)
        return 0
    x, y = arguments.pixel(), arguments.pixel()
    with _touches_lock:
        if action == "DOWN":
            _touches[device] = _Touch(x, y, device.clock.monotonic())
            return 0
        held_touch = _touches.get(device)
        if held_touch is None:
            return 0
        held_touch.at = (x, y)
        if action == "MOVE":
            return 0
        del _touches[device]
    held = round((device.clock.monotonic() - held_touch.since) * 1000)
    device.swipe(held_touch.down, held_touch.at, min(held, _LONGEST_MS))
    return 0


_HANDLERS: dict[str, Handler] = {
    "tap": _tap,
    "swipe": _swipe,
    "draganddrop": _drag,
    "text": _text,
    "keyevent": _key_event,
    "press": _press,
    "roll": _roll,
    "motionevent": _motion,
}
