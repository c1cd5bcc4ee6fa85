"""The commands: read argv, call one function, print one document, exit.

This module is imported at every start. Whatever it imports, every command pays for.
"""

import os
import sys


def main() -> int:
    """The ``clawperator`` command. It ends the process; a program calls ``clawperator.cli.dispatch.run``.

    ``--version`` is answered before anything else is imported.
    """
    for token in sys.argv[1:]:
        if token == "--":
            break
        if token == "--version":
            return _version()
    from clawperator.cli.main import lead

    return lead("clawperator.cli.dispatch")


def claw() -> int:
    """The ``claw`` command. It ends the process, whatever a worker still does."""
    if sys.argv[1:] in (["--version"], ["-V"]) and not os.environ.get("CLAW_OUTPUT_FORMAT"):
        return _version()
    from clawperator.cli.main import lead

    return lead("clawperator.cli.claw.dispatch")


def _version() -> int:
    from clawperator import __version__

    sys.stdout.write(__version__ + "\n")
    return 0
