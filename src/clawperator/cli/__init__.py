"""The commands: read argv, call one function, print one document, exit."""

import sys


def main() -> int:
    """The ``clawperator`` command. ``--version`` is answered before anything else is imported."""
    for token in sys.argv[1:]:
        if token == "--":
            break
        if token == "--version":
            from clawperator import __version__

            sys.stdout.write(__version__ + "\n")
            return 0
    from clawperator.cli.door import run

    return run(sys.argv[1:])
