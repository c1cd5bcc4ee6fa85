"""``monkey``: start an app, then inject random taps."""

from random import Random

from msgspec import Struct

from clawperator.phone.core.phone import Phone
from clawperator.phone.shell.android.am import log_start
from clawperator.phone.shell.android.base import print_error
from clawperator.phone.shell.android.intents import LAUNCHER, MAIN, Intent
from clawperator.phone.shell.android.package_manager import ResolvedActivity, find_all
from clawperator.phone.shell.process import INTERRUPTED, ShellProcess, command

_BAD_ARGUMENTS = 255
_NOTHING_TO_RUN = 252
_MOST_EVENTS = 100_000
_LONGEST_MS = 60_000
_WITH_VALUE = ("-p", "-c", "-s", "--throttle", "--pkg-blacklist-file", "--pkg-whitelist-file")


class _MonkeyOptions(Struct, frozen=True):
    packages: tuple[str, ...]
    categories: tuple[str, ...]
    seed: int
    throttle_ms: int
    count: int
    verbose: bool


@command("monkey")
def monkey(process: ShellProcess) -> int:
    words = process.argv[1:]
    process.write("".join(f"  bash arg: {word}\n" for word in words))
    lines = [f"args: [{', '.join(words)}]", *(f' arg: "{word}"' for word in words)]
    for line in lines:
        print_error(process, line)
    device = process.phone
    options = _read_options(words, device.seed)
    if options is None:
        print_error(process, "** Error: Unknown option or missing count")
        return _BAD_ARGUMENTS
    with device.lock:
        found = _launchable(device, options)
    if not found:
        process.write("** No activities found to run, monkey aborted.\n")
        return _NOTHING_TO_RUN
    if options.verbose:
        allowed = "".join(f":AllowPackage: {name}\n" for name in options.packages)
        process.write(f":Monkey: seed={options.seed} count={options.count}\n{allowed}")
    began = device.clock.monotonic()
    for number in range(options.count):
        if number and process.wait(options.throttle_ms / 1000):
            return INTERRUPTED
        if process.cancelled.is_set():
            return INTERRUPTED
        _inject(device, found, options, number)
    elapsed = round((device.clock.monotonic() - began) * 1000)
    process.write(
        f"Events injected: {options.count}\n"
        f"## Network stats: elapsed time={elapsed}ms (0ms mobile, 0ms wifi, {elapsed}ms not connected)\n"
    )
    return 0


def _read_options(words: list[str], seed: int) -> _MonkeyOptions | None:
    """Parse the command line; None when it is invalid."""
    values: dict[str, list[str]] = {name: [] for name in _WITH_VALUE}
    verbose, left = False, list(words)
    count = None
    while left:
        word = left.pop(0)
        if word in values:
            if not left:
                return None
            values[word].append(left.pop(0))
        elif word.startswith("-"):
            verbose = verbose or word.startswith("-v")
        else:
            count = word
    numbers = [*values["-s"][-1:], *values["--throttle"][-1:], count or ""]
    if not all(word.isascii() and word.isdigit() and len(word) < 20 for word in numbers):
        return None
    return _MonkeyOptions(
        packages=tuple(values["-p"]),
        categories=tuple(values["-c"]) or (LAUNCHER,),
        seed=int(values["-s"][-1]) if values["-s"] else seed,
        throttle_ms=min(int(values["--throttle"][-1]), _LONGEST_MS) if values["--throttle"] else 0,
        count=min(int(count or "0"), _MOST_EVENTS),
        verbose=verbose,
    )


def _launchable(device: Phone, options: _MonkeyOptions) -> list[ResolvedActivity]:
    found = [target for name in options.categories for target in find_all(device, _intent((name,)))]
    return [target for target in found if not options.packages or target.app.package in options.packages]


def _intent(categories: tuple[str, ...]) -> Intent:
    return Intent(action=MAIN, categories=categories)


def _inject(device: Phone, found: list[ResolvedActivity], options: _MonkeyOptions, number: int) -> None:
    """Inject one event: start the app if it is not in front, else tap at random."""
    random = Random(f"{options.seed}:{number}")  # noqa: S311 - reproducible on purpose
    with device.lock:
        if number == 0 or device.foreground() not in {target.app.package for target in found}:
            target = random.choice(found)
            cold = device.process_of(target.app.package) is None
            device.tasks.start(target.app)
            log_start(device, _intent(options.categories), cold=cold)
        else:
            area = device.windows.display.content
            device.tap(random.randrange(area.left, area.right), random.randrange(area.top, area.bottom))
