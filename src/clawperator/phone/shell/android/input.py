"""``input`` and ``monkey``: inject touches, text, keys and random taps."""

from random import Random

from clawperator.phone.core.phone import Phone
from clawperator.phone.core.user_input import read_key_code
from clawperator.phone.shell.android.am import log_start
from clawperator.phone.shell.android.base import (
    Handler,
    ServiceArguments,
    ServiceError,
    print_error,
    read_int,
    run_handler,
)
from clawperator.phone.shell.android.package_manager import LAUNCHER, MAIN, Intent, ResolvedActivity, find_all
from clawperator.phone.shell.process import INTERRUPTED, ShellProcess, command

_SOURCES = (
    "dpad gamepad joystick keyboard mouse rotaryencoder stylus touchnavigation touchpad touchscreen trackball"
)
_SWIPE_MS = 300
_LONG_PRESS_MS = 500
_MAX_MS = 60_000
_MAX_KEYS = 10_000
_NOTHING_TO_RUN = 252
_MAX_EVENTS = 100_000
_MONKEY_VALUES = ("-p", "-c", "-s", "--throttle", "--pct-", "--pkg-")
_USAGE = f"""\
Usage: input [<source>] [-d DISPLAY_ID] <command> [<arg>...]

The sources are: {_SOURCES}

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


@command("input")
def input_(process: ShellProcess) -> int:
    words = process.argv[1:]
    if words and words[0] in _SOURCES.split():
        words = words[1:]
    if words and words[0] == "-d":
        words = words[2:]
    if not words or words[0] not in _HANDLERS:
        # Android's input prints this and still exits with 0.
        is_unknown = words and words[0] not in {"help", "-h"}
        return process.write(f"Unknown command: {words[0]}\n" if is_unknown else _USAGE)
    return run_handler(process, _HANDLERS[words[0]], words)


def _tap(process: ShellProcess, arguments: ServiceArguments) -> int:
    process.phone.tap(arguments.pixel(), arguments.pixel())
    return 0


def _stroke(process: ShellProcess, arguments: ServiceArguments) -> int:
    """Swipe, or drag after a long press."""
    start, end = (arguments.pixel(), arguments.pixel()), (arguments.pixel(), arguments.pixel())
    given = arguments.next()
    duration = read_int(given) if given is not None else -1
    duration = min(duration, _MAX_MS) if duration >= 0 else _SWIPE_MS
    is_drag = arguments.command == "draganddrop"
    if process.wait((duration + is_drag * _LONG_PRESS_MS) / 1000):
        return INTERRUPTED
    (process.phone.drag if is_drag else process.phone.swipe)(start, end, duration)
    return 0


def _text(process: ShellProcess, arguments: ServiceArguments) -> int:
    """Type text; ``%s`` is a space. Unlike many phones, this one also accepts non-ASCII text."""
    process.phone.type_text(arguments.required().replace("%s", " "))
    return 0


def _key_event(process: ShellProcess, arguments: ServiceArguments) -> int:
    repeat, delay, long = 1, 0, False
    while (option := arguments.option()) is not None:
        if option == "--delay":
            delay = min(arguments.integer(), _MAX_MS)
        elif option == "--longpress":
            delay, long = max(delay, _LONG_PRESS_MS), True
        elif option == "--doubletap":
            repeat = 2
    words = [arguments.required(), *arguments.remaining()]
    for word in words[:_MAX_KEYS]:
        code = read_key_code(word)
        if delay > 0 and process.wait(delay / 1000):
            return INTERRUPTED
        if code is not None:
            for _ in range(repeat):
                process.phone.key(code, long=long)
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
    phone = process.phone
    at = (arguments.pixel(), arguments.pixel()) if action != "CANCEL" else (0, 0)
    with phone.lock:
        # A touch is held between two commands: where and when it began.
        touch = phone.command_state.pop("motionevent", None) if action in {"UP", "CANCEL"} else None
        if action == "DOWN":
            phone.command_state["motionevent"] = at, phone.clock.monotonic()
    if touch is not None and action == "UP":
        held = round((phone.clock.monotonic() - touch[1]) * 1000)
        phone.swipe(touch[0], at, min(held, _MAX_MS))
    return 0


_HANDLERS: dict[str, Handler] = {
    "tap": _tap,
    **dict.fromkeys(("swipe", "draganddrop"), _stroke),
    "text": _text,
    "keyevent": _key_event,
    "press": _press,
    "roll": _roll,
    "motionevent": _motion,
}


# monkey


@command("monkey")
def monkey(process: ShellProcess) -> int:
    words = process.argv[1:]
    process.write("".join(f"  bash arg: {word}\n" for word in words))
    for line in (f"args: [{', '.join(words)}]", *(f' arg: "{word}"' for word in words)):
        print_error(process, line)
    return run_handler(process, _run_monkey, ["monkey", *words])


def _run_monkey(process: ShellProcess, arguments: ServiceArguments) -> int:
    phone = process.phone
    values: dict[str, list[str]] = {}
    while (option := arguments.option()) is not None:
        if option.startswith(_MONKEY_VALUES):
            values.setdefault(option, []).append(arguments.required())
    throttle_ms = min(read_int(values.get("--throttle", ["0"])[-1]), _MAX_MS)
    seed = values.get("-s", [str(phone.seed)])[-1]
    count = min(arguments.integer(), _MAX_EVENTS)
    intents = [Intent(action=MAIN, categories=(name,)) for name in values.get("-c", [LAUNCHER])]
    with phone.lock:
        found = [target for intent in intents for target in find_all(phone, intent)]
    packages = values.get("-p")
    found = [target for target in found if packages is None or target.app.package in packages]
    if not found:
        process.write("** No activities found to run, monkey aborted.\n")
        return _NOTHING_TO_RUN
    began = phone.clock.monotonic()
    for number in range(count):
        if process.wait(throttle_ms / 1000 if number else 0):
            return INTERRUPTED
        _inject(phone, found, intents[0], number, Random(f"{seed}:{number}"))  # noqa: S311 - reproducible on purpose
    elapsed = round((phone.clock.monotonic() - began) * 1000)
    return process.write(
        f"Events injected: {count}\n"
        f"## Network stats: elapsed time={elapsed}ms (0ms mobile, 0ms wifi, {elapsed}ms not connected)\n"
    )


def _inject(phone: Phone, found: list[ResolvedActivity], intent: Intent, number: int, random: Random) -> None:
    """Inject one event: start the app if it is not in front, else tap at random."""
    with phone.lock:
        if number == 0 or phone.foreground() not in {target.app.package for target in found}:
            target = random.choice(found)
            cold = phone.process_of(target.app.package) is None
            phone.tasks.start(target.app)
            log_start(phone, intent, cold=cold)
        else:
            area = phone.windows.display.content
            phone.tap(random.randrange(area.left, area.right), random.randrange(area.top, area.bottom))
