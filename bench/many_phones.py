"""Programs with many phones in a process of their own: ``weigh`` prints bytes per phone, ``grow`` seconds."""

import resource
import sys
from contextlib import ExitStack
from time import process_time

from clawperator.testing import SimulatedPhone, simulated_phone

_SETTINGS = "com.android.settings"


def weigh(count: int) -> None:
    """Print the bytes of each phone, with an open app."""
    with simulated_phone() as first:
        first.open_app(_SETTINGS)
        first.xml()
        first.shell_script("ls /sdcard")
    before = _resident()
    with ExitStack() as stack:
        for _ in range(count):
            phone = stack.enter_context(simulated_phone())
            phone.open_app(_SETTINGS)
            phone.xml()
        print((_resident() - before) // count)


def _resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def grow(few: int, many: int) -> None:
    """Print the CPU seconds of a start and of a warm click, with few phones in the process and with many."""
    made: list[SimulatedPhone] = []
    with ExitStack() as stack:

        def start(count: int) -> float:
            begin = process_time()
            for _ in range(count):
                made.append(stack.enter_context(simulated_phone()))
                made[-1].open_app(_SETTINGS)
            return (process_time() - begin) / count

        start(20)
        for count in (few, many):
            start(count - len(made) - few // 2)
            started = start(few // 2)
            print(started, min(_click(made[-few // 2 :]) for _ in range(5)))


def _click(phones: list[SimulatedPhone]) -> float:
    begin = process_time()
    for label in ("Display", "Navigate up"):
        for phone in phones:
            phone.click(label)
    return (process_time() - begin) / len(phones) / 2


if __name__ == "__main__":
    program, *numbers = sys.argv[1:]
    if program == "weigh":
        weigh(*map(int, numbers))
    else:
        grow(*map(int, numbers))
