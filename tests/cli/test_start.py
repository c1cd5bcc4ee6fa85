"""The start of the console commands: what they do not load, and what they leave as it was."""

import subprocess
import sys

import pytest

from tests.support.hanging import HANG_SECONDS

# Runs a command in this process and prints what is loaded where the process would end.
_SCRIPT = """
import os, sys

def end(code):
    print(code, "msgspec" in sys.modules, "typing_extensions" in sys.modules)
    import typing_extensions
    print(sys.modules["typing_extensions"] is typing_extensions, typing_extensions.Literal["a"])
    import msgspec
    class Optional(typing_extensions.TypedDict):
        a: typing_extensions.Required[int]
        b: typing_extensions.NotRequired[int]
    print(msgspec.convert({"a": 1}, Optional))

os._exit = end
entry, *sys.argv[1:] = sys.argv[1:]
if entry == "imported":
    import typing_extensions
    entry = "main"
from clawperator.cli import main
getattr(main, entry)()
"""


@pytest.mark.parametrize(
    ("entry", "command", "is_loaded"),
    [
        ("main", ["schema"], False),
        ("claw", ["bootstrap-graph"], False),
        ("imported", ["schema"], True),
    ],
)
def test_a_command_does_without_typing_extensions_and_leaves_it_to_others(
    entry: str,
    command: list[str],
    is_loaded: bool,  # noqa: FBT001 - a parameter
) -> None:
    words = [sys.executable, "-c", _SCRIPT, entry, *command]
    ran = subprocess.run(words, capture_output=True, text=True, timeout=HANG_SECONDS, check=True)
    assert ran.stdout.splitlines()[-3:] == [f"0 True {is_loaded}", "True typing.Literal['a']", "{'a': 1}"]


_WHILE_A_COMMAND_RUNS = """
import gc, sys
from clawperator.cli import dispatch, main

def run(argv):
    print(gc.isenabled(), gc.get_freeze_count() > 1000, flush=True)
    return 0

dispatch.run = run
sys.argv[1:] = ["schema"]
main.main()
"""


def test_garbage_is_collected_while_a_command_runs() -> None:
    words = [sys.executable, "-c", _WHILE_A_COMMAND_RUNS]
    ran = subprocess.run(words, capture_output=True, text=True, timeout=HANG_SECONDS, check=True)
    assert ran.stdout == "True True\n"
