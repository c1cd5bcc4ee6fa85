"""``settings``, ``getprop``, ``setprop``, ``ime``, ``svc``, ``reboot`` and ``wm``."""

from msgspec.structs import replace

from clawperator.phone.apps.system import KEYBOARD_COMPONENT as KEYBOARD
from clawperator.phone.core.settings import NAMESPACES
from clawperator.phone.core.user_input import KEY_CODES
from clawperator.phone.core.windows import Display
from clawperator.phone.shell.android.base import (
    Handler,
    ServiceArguments,
    ServiceError,
    add_service,
    print_error,
    read_int,
    run_service,
)
from clawperator.phone.shell.process import ShellProcess, command

_MAX_PROPERTIES = 2_000
_MAX_PROPERTY_LENGTH = 91
# The properties that the shell user may set.
_WRITABLE_PROPERTIES = ("debug.", "log.", "persist.log.", "sys.usb.")


# Settings


@command("settings")
def settings(process: ShellProcess) -> int:
    words = process.argv[1:]
    if words[:1] == ["--user"]:
        words = words[2:]
    return run_service(process, words, _SETTINGS, "Settings provider (settings)")


def _namespace(arguments: ServiceArguments) -> str:
    arguments.options("--user")
    name = arguments.required().lower()
    if name not in NAMESPACES:
        raise ServiceError(f"Invalid namespace '{name}'")
    return name


def _get(process: ShellProcess, arguments: ServiceArguments) -> int:
    namespace, key = _namespace(arguments), arguments.required()
    value = process.phone.settings.get(namespace, key)
    return process.write(f"{'null' if value is None else value}\n")


def _put(process: ShellProcess, arguments: ServiceArguments) -> int:
    namespace, key, value = _namespace(arguments), arguments.required(), arguments.required()
    with process.phone.lock:
        try:
            process.phone.settings.put(namespace, key, value)
        except ValueError as e:
            raise ServiceError(str(e)) from e
        if namespace == "system" and key in {"user_rotation", "accelerometer_rotation"}:
            _apply_rotation(process)
    return 0


def _apply_rotation(process: ShellProcess) -> None:
    """Rotate the display to ``user_rotation``, or upright, as the phone is held, during automatic rotation."""
    phone = process.phone
    is_locked = phone.settings.get("system", "accelerometer_rotation") == "0"
    rotation = (phone.settings.get("system", "user_rotation") or "0") if is_locked else "0"
    if rotation in {"0", "1", "2", "3"}:
        phone.windows.rotate(int(rotation))


def _delete(process: ShellProcess, arguments: ServiceArguments) -> int:
    gone = process.phone.settings.delete(_namespace(arguments), arguments.required())
    return process.write(f"Deleted {int(gone)} rows\n")


def _list(process: ShellProcess, arguments: ServiceArguments) -> int:
    table = process.phone.settings.table(_namespace(arguments))
    return process.write("".join(f"{key}={value}\n" for key, value in sorted(table.items())))


# Properties


@command("getprop")
def getprop(process: ShellProcess) -> int:
    properties, words = process.phone.properties, process.argv[1:]
    if words:
        default = words[1] if len(words) > 1 else ""
        process.write(f"{properties.get(words[0]) or default}\n")
    else:
        process.write("".join(f"[{key}]: [{value}]\n" for key, value in sorted(properties.items())))
    return 0


@command("setprop")
def setprop(process: ShellProcess) -> int:
    if len(process.argv) != 3:
        return process.error("Needs 2 arguments\nusage: setprop NAME VALUE")
    _, name, value = process.argv
    phone = process.phone
    with phone.lock:
        full = name not in phone.properties and len(phone.properties) >= _MAX_PROPERTIES
        if full or not name.startswith(_WRITABLE_PROPERTIES) or max(len(name), len(value)) > _MAX_PROPERTY_LENGTH:
            problem = f"Failed to set property '{name}' to '{value}'.\nSee dmesg for error reason."
            return print_error(process, problem, 1)
        phone.properties[name] = value
    return 0


# Keyboards


def _list_keyboards(process: ShellProcess, arguments: ServiceArguments) -> int:
    """List the one keyboard; ``-a`` lists it even while it is disabled."""
    options = arguments.options()
    enabled = KEYBOARD in _enabled_keyboards(process)
    if not enabled and "-a" not in options:
        return 0
    package, _, name = KEYBOARD.partition("/")
    return process.write(
        f"{KEYBOARD}\n"
        if "-s" in options
        else f"{KEYBOARD}:\n  mId={KEYBOARD} mSettingsActivityName=null\n  mIsDefaultResId=0x0\n"
        f"  Service:\n    packageName={package}\n    name={name}\n"
    )


def _change_keyboard(process: ShellProcess, arguments: ServiceArguments) -> int:
    done = {"enable": "enabled", "disable": "disabled", "set": "selected"}[arguments.command]
    arguments.options("--user")
    name = arguments.required()
    if name != KEYBOARD:
        return print_error(process, f"Unknown input method {name} cannot be {done} for user #0")
    was = KEYBOARD in _enabled_keyboards(process)
    _store_keyboard(process, KEYBOARD if done != "disabled" else "")
    if done == "selected":
        return process.write(f"Input method {name} selected for user #0\n")
    already = was == (done == "enabled")
    return process.write(f"Input method {name}: {'already' if already else 'now'} {done} for user #0\n")


def _reset_keyboards(process: ShellProcess, _: ServiceArguments) -> int:
    _store_keyboard(process, KEYBOARD)
    return process.write(f"Reset current and enabled IMEs for user #0\n  Newly selected IME is {KEYBOARD}\n")


def _enabled_keyboards(process: ShellProcess) -> list[str]:
    return (process.phone.settings.get("secure", "enabled_input_methods") or "").split(":")


def _store_keyboard(process: ShellProcess, name: str) -> None:
    with process.phone.lock:
        for key in ("enabled_input_methods", "default_input_method"):
            process.phone.settings.put("secure", key, name)


# Switches

_SWITCHES = {"wifi": "wifi_on", "data": "mobile_data", "bluetooth": "bluetooth_on", "nfc": "nfc_on"}
_STAY_ON = {"true": "15", "false": "0", "ac": "1", "usb": "2", "wireless": "4", "dock": "8"}


@command("svc")
def svc(process: ShellProcess) -> int:
    words = process.argv[1:]
    match words:
        case [name, "enable" | "disable" as state] if name in _SWITCHES:
            process.phone.settings.put("global", _SWITCHES[name], "1" if state == "enable" else "0")
            return 0
        case ["power", "stayon", when] if when in _STAY_ON:
            process.phone.settings.put("global", "stay_on_while_plugged_in", _STAY_ON[when])
            return 0
        case ["power", "reboot" | "shutdown", *_]:
            return process.run(["reboot"])
        case _:
            names = "\n    ".join((*_SWITCHES, "power"))
            print_error(process, f"Available commands:\n    help\n    {names}")
            return 0


@command("reboot")
def reboot(process: ShellProcess) -> int:
    """Refuse: a simulated phone is restarted with ``clawperator phone``."""
    return print_error(process, "reboot: Permission denied", 1)


_SETTINGS: dict[str, Handler] = {"get": _get, "put": _put, "delete": _delete, "list": _list}
_IME: dict[str, Handler] = {
    "list": _list_keyboards,
    **dict.fromkeys(("enable", "disable", "set"), _change_keyboard),
    "reset": _reset_keyboards,
}
add_service("ime", "Input method (ime)", _IME)


# ``wm``: the size, density and rotation of the display

_MIN_SIDE, _MAX_SIDE = 200, 8_000
_MAX_DENSITY = 1_200
_FIXED = "persist.wm.fixed_to_user_rotation"


def _size(process: ShellProcess, arguments: ServiceArguments) -> int:
    manager, first = process.phone.windows, Display()
    arguments.options("-d")
    given = arguments.next()
    if given is None:
        pair = [f"{display.natural_width}x{display.natural_height}" for display in (first, manager.display)]
        return _show(process, "size", *pair)
    if given == "reset":
        sizes = [first.natural_width, first.natural_height]
    else:
        sides = given.split("x")
        is_pair = len(sides) == 2 and all(sides)
        sizes = [_read_side(side, manager.display) for side in sides] if is_pair else [0]
        if not all(_MIN_SIDE <= side <= _MAX_SIDE for side in sizes):
            return print_error(process, f"Error: bad size {given}")
    _resize(process, natural_width=sizes[0], natural_height=sizes[1])
    return 0


def _show(process: ShellProcess, name: str, physical: str, now: str) -> int:
    override = f"Override {name}: {now}\n" if now != physical else ""
    return process.write(f"Physical {name}: {physical}\n{override}")


def _read_side(word: str, display: Display) -> int:
    if word.endswith("dp"):
        return read_int(word.removesuffix("dp")) * display.density // 160
    return read_int(word.removesuffix("px"))


def _density(process: ShellProcess, arguments: ServiceArguments) -> int:
    manager, first = process.phone.windows, Display()
    arguments.options("-d")
    given = arguments.next()
    if given is None:
        return _show(process, "density", str(first.density), str(manager.display.density))
    density = first.density if given == "reset" else read_int(given)
    if density < 72:
        return print_error(process, "Error: density must be >= 72")
    _resize(process, density=min(density, _MAX_DENSITY))
    return 0


def _resize(process: ShellProcess, **changes: int) -> None:
    phone = process.phone
    with phone.lock:
        phone.windows.resize(replace(phone.windows.display, **changes))


def _rotation(process: ShellProcess, arguments: ServiceArguments) -> int:
    phone = process.phone
    arguments.options("-d")
    given = arguments.next()
    if given is None:
        free = phone.settings.get("system", "accelerometer_rotation") == "1"
        return process.write("free\n" if free else f"lock {phone.settings.get('system', 'user_rotation') or 0}\n")
    if given not in {"free", "lock"}:
        return print_error(process, "Error: argument needs to be either -d, free or lock.")
    turn = arguments.next()
    rotation = read_int(turn) if turn is not None else phone.windows.display.rotation
    if not 0 <= rotation <= 3:
        return print_error(process, f"Error: rotation argument is not a valid rotation constant: {rotation}")
    with phone.lock:
        phone.settings.put("system", "accelerometer_rotation", "1" if given == "free" else "0")
        if given == "lock":
            phone.settings.put("system", "user_rotation", str(rotation))
        _apply_rotation(process)
    return 0


def _fixed(process: ShellProcess, arguments: ServiceArguments) -> int:
    """Store whether apps may rotate the display. No app does, so it has no other effect."""
    properties = process.phone.properties
    given = arguments.next()
    if given is None:
        return process.write(f"{properties.get(_FIXED, 'default')}\n")
    if given not in {"enabled", "disabled", "default"}:
        return print_error(process, f"Error: expecting enabled, disabled or default, but we get {given}")
    properties[_FIXED] = given
    return 0


def _dismiss_keyguard(process: ShellProcess, _: ServiceArguments) -> int:
    """Wake the phone: there is no lock screen."""
    process.phone.key(KEY_CODES["WAKEUP"])
    return 0


_HANDLERS: dict[str, Handler] = {
    "size": _size,
    "density": _density,
    **dict.fromkeys(("user-rotation", "set-user-rotation"), _rotation),
    **dict.fromkeys(("fixed-to-user-rotation", "set-fix-to-user-rotation"), _fixed),
    "dismiss-keyguard": _dismiss_keyguard,
}
add_service("wm", "Window manager (window)", _HANDLERS)
