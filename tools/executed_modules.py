"""List the modules of the package whose functions a command executes, in the order they are entered.

    python tools/executed_modules.py clawperator click --text Display

Runs the command in this process under a profile hook, prints its modules to stderr, and discards its output.
Module and class bodies that run at import do not count, only functions.
"""

import inspect
import os
import sys
import threading
from types import FrameType
from typing import Any

PACKAGE = "clawperator"


def main(argv: list[str]) -> int:
    program, *arguments = argv
    entered: dict[str, None] = {}

    def hook(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            name = frame.f_globals.get("__name__", "")
            # Module and class bodies do not have the flag.
            if name.partition(".")[0] == PACKAGE and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
                entered[name] = None

    if program == "claw":
        from clawperator.cli.claw.dispatch import run
    else:
        from clawperator.cli.dispatch import run
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        out, sys.stdout = sys.stdout, nowhere
        threading.setprofile(hook)
        sys.setprofile(hook)
        try:
            code = run(arguments)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
            sys.stdout = out
    for name in entered:
        print(name.removeprefix(f"{PACKAGE}."), file=sys.stderr)
    print(f"{len(entered)} modules, exit code {code}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
