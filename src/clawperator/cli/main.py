"""From the console script to a door, and out of the process."""

import os
import signal
import sys
from typing import NoReturn


def lead(door: str) -> NoReturn:
    """Call ``run`` of the module with argv, and end the process with what it returns."""
    # While modules load there is nothing to clean up, and some of them do not survive an interrupt: Ctrl-C
    # simply ends the process then. It becomes an answer when there is a door to give one.
    interruptible = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if interruptible:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    run = __import__(door, fromlist=("run",)).run  # importlib would cost every command a quarter of a millisecond
    try:
        if interruptible:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        code = run(sys.argv[1:])
    except KeyboardInterrupt:  # after the answer was given
        code = 130
    # Everything is written, flushed and closed. Taking the interpreter apart would only add a sixth to the time.
    os._exit(code)
