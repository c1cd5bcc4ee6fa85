"""``wm``: the size, density and rotation of the display."""

from msgspec.structs import replace

from clawperator.phone.core.windows import Display
from clawperator.phone.shell.android.base import (
    FAILED,
    Handler,
    ServiceArguments,
    print_error,
    read_int,
    run_service,
)
from clawperator.phone.shell.process import ShellProcess, command

_MIN_SIDE, _MAX_SIDE = 200, 8_000
_MAX_DENSITY = 1_200
_FIXED = "persist.wm.fixed_to_user_rotation"
_USAGE = """\
Window manager (window) commands:
  size [reset|WxH|WdpxHdp] [-d DISPLAY_ID]
  density [reset|DENSITY] [-d DISPLAY_ID]
  user-rotation [-d DISPLAY_ID] [free|lock] [rotation]
  set-user-rotation [free|lock] [rotation]
  fixed-to-user-rotation [enabled|disabled|default]
  dismiss-keyguard
"""


@command("wm")
def wm(process: ShellProcess) -> int:
    return run_service(process, process.argv[1:], _HANDLERS, _USAGE)


def _size(process: ShellProcess, arguments: ServiceArguments) -> int:
    manager, first = process.phone.windows, Display()
    given = arguments.next()
    if given in {None, "-d"}:
        now = manager.display
        process.write(f"Physical size: {first.natural_width}x{first.natural_height}\n")
        if (now.natural_width, now.natural_height) != (first.natural_width, first.natural_height):
            process.write(f"Override size: {now.natural_width}x{now.natural_height}\n")
        return 0
    assert given is not None
    if given == "reset":
        sizes = [first.natural_width, first.natural_height]
    else:
        sides = given.split("x")
        if len(sides) != 2 or not all(sides):
            print_error(process, f"Error: bad size {given}")
            return FAILED
        sizes = [_read_side(side, manager.display) for side in sides]
        if not all(_MIN_SIDE <= side <= _MAX_SIDE for side in sizes):
            print_error(process, f"Error: bad size {given}")
            return FAILED
    _resize(process, natural_width=sizes[0], natural_height=sizes[1])
    return 0


def _read_side(word: str, display: Display) -> int:
    if word.endswith("dp"):
        return read_int(word.removesuffix("dp")) * display.density // 160
    return read_int(word.removesuffix("px"))


def _density(process: ShellProcess, arguments: ServiceArguments) -> int:
    manager, first = process.phone.windows, Display()
    given = arguments.next()
    if given in {None, "-d"}:
        process.write(f"Physical density: {first.density}\n")
        if manager.display.density != first.density:
            process.write(f"Override density: {manager.display.density}\n")
        return 0
    assert given is not None
    density = first.density if given == "reset" else read_int(given)
    if density < 72:
        print_error(process, "Error: density must be >= 72")
        return FAILED
    _resize(process, density=min(density, _MAX_DENSITY))
    return 0


def _resize(process: ShellProcess, **changes: int) -> None:
    phone = process.phone
    with phone.lock:
        phone.windows.resize(replace(phone.windows.display, **changes))


def _rotation(process: ShellProcess, arguments: ServiceArguments) -> int:
    phone = process.phone
    given = arguments.next()
    if given == "-d":
        arguments.required()
        given = arguments.next()
    if given is None:
        free = phone.settings.get("system", "accelerometer_rotation") == "1"
        process.write("free\n" if free else f"lock {phone.settings.get('system', 'user_rotation') or 0}\n")
        return 0
    if given not in {"free", "lock"}:
        print_error(process, "Error: argument needs to be either -d, free or lock.")
        return FAILED
    turn = arguments.next()
    rotation = read_int(turn) if turn is not None else phone.windows.display.rotation
    if not 0 <= rotation <= 3:
        print_error(process, f"Error: rotation argument is not a valid rotation constant: {rotation}")
        return FAILED
    with phone.lock:
        phone.settings.put("system", "accelerometer_rotation", "1" if given == "free" else "0")
        if given == "lock":
            phone.settings.put("system", "user_rotation", str(rotation))
            phone.windows.rotate(rotation)
    return 0


def _fixed(process: ShellProcess, arguments: ServiceArguments) -> int:
    """Store whether apps may rotate the display. No app does, so it has no other effect."""
    properties = process.phone.properties
    given = arguments.next()
    if given is None:
        process.write(f"{properties.get(_FIXED, 'default')}\n")
        return 0
    if given not in {"enabled", "disabled", "default"}:
        print_error(process, f"Error: expecting enabled, disabled or default, but we get {given}")
        return FAILED
    properties[_FIXED] = given
    return 0


def _dismiss_keyguard(process: ShellProcess, _: ServiceArguments) -> int:
    """Wake the phone: there is no lock screen."""
    phone = process.phone
    with phone.lock:
        phone.windows.awake = True
    return 0


_HANDLERS: dict[str, Handler] = {
    "size": _size,
    "density": _density,
    "user-rotation": _rotation,
    "set-user-rotation": _rotation,
    "fixed-to-user-rotation": _fixed,
    "set-fix-to-user-rotation": _fixed,
    "dismiss-keyguard": _dismiss_keyguard,
}
