"""The commands: read argv, call one function, print one document, exit."""

import os
import sys


def main() -> int:
    """The ``clawperator`` command. It ends the process; a program calls ``clawperator.cli.door.run``.

    ``--version`` is answered before anything else is imported.
    """
    for token in sys.argv[1:]:
        if token == "--":
            break
        if token == "--version":
            from clawperator import __version__

            sys.stdout.write(__version__ + "\n")
            return 0
    import signal

    # While modules load there is nothing to clean up, and some of them do not survive an interrupt: Ctrl-C
    # simply ends the process then. It becomes an answer when there is a door to give one.
    interruptible = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if interruptible:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from clawperator.cli.door import run

    try:
        if interruptible:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        code = run(sys.argv[1:])
    except KeyboardInterrupt:  # after the answer was given
        code = 130
    # Everything is written, flushed and closed. Taking the interpreter apart would only add a sixth to the time.
    os._exit(code)
