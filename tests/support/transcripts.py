"""Golden transcripts of text mode: command lines and what they print, one file per command.

A transcript has the command line after ``$ ``, stdout, stderr with ``stderr: `` before each line, and the exit code if it
is not 0. Values that differ from run to run are ``…``. ``UPDATE_GOLDEN=1`` writes the files anew.
"""

import difflib
import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from clawperator import __version__
from tests.support.golden import UPDATE
from tests.support.paths import REPOSITORY, TEXT_GOLDEN
from tests.support.running import Ran, clawperator

_VARYING = [
    (re.compile(r"\b(in|after) \d+(\.\d)? m?s\b"), lambda found: f"{found[1]} …"),
    (re.compile(r"record-\d{13}-\w+|\b[\w-]+[-_]\d{13}(-\w+)?\b"), lambda _: "…"),
    (re.compile(r"(\d\d-\d\d )?\d\d:\d\d:\d\d\.\d{3}"), lambda _: "…"),
    (re.compile(r"127\.0\.0\.1:\d+"), lambda _: "127.0.0.1:…"),
    (re.compile(r"\d+ bytes\b"), lambda _: "… bytes"),
    (re.compile(r"(?<=durationMs=)\d+"), lambda _: "…"),
    (re.compile(r"\d{4}-\d\d-\d\d(?=\.ndjson)"), lambda _: "…"),
    (re.compile(r"(?m)(pid: +|127\.0\.0\.1:….*  )\d+$"), lambda found: f"{found[1]}…"),
    (re.compile(rf"\b{re.escape(__version__)}\b"), lambda _: "{version}"),
    (re.compile(r"Python 3\.\d+\.\d+\S*"), lambda _: "Python …"),
]


def golden_file(command: str) -> Path:
    return TEXT_GOLDEN / f"{command.replace(' ', '-')}.txt"


def transcript(lines: Sequence[str], folders: Mapping[str, Path]) -> str:
    """Run command lines in text mode. A line that ends with ``# hidden`` is run and not shown."""
    shown = []
    for line in lines:
        command, hidden = line.removesuffix("# hidden").strip(), line.endswith("# hidden")
        ran = run_text(command)
        if hidden:
            assert ran.code == 0, (line, ran)
        else:
            shown.append(f"$ {command}\n{_printed(ran)}")
    return _masked("\n".join(shown), folders)


def run_text(line: str) -> Ran:
    """Run a command line in text mode. Its stdin is empty, or the file that ends it after ``<``."""
    program, *argv = shlex.split(line)
    assert program == "clawperator"
    stdin = b""
    if argv[-2:-1] == ["<"]:
        stdin = Path(argv[-1]).read_bytes()
        argv = argv[:-2]
    words = [*argv, "--output", "text"] if "--" not in argv else ["--output", "text", *argv]
    return clawperator(*words, stdin=stdin)


def _printed(ran: Ran) -> str:
    errors = "".join(f"stderr: {line}\n" for line in ran.err.splitlines())
    return ran.out.decode() + errors + (f"exit {ran.code}\n" if ran.code else "")


def _masked(text: str, folders: Mapping[str, Path]) -> str:
    known = {"user": Path(os.environ["HOME"]), "bin": Path(sys.executable).parent, "repository": REPOSITORY}
    for name, folder in {**folders, **known}.items():
        text = text.replace(str(folder), f"{{{name}}}")
    for pattern, replacement in _VARYING:
        text = pattern.sub(replacement, text)
    return text


def differences(command: str, found: str) -> list[str]:
    """The differences from the golden file of a command. With ``UPDATE_GOLDEN`` set it is written first."""
    path = golden_file(command)
    if os.environ.get(UPDATE):
        path.parent.mkdir(exist_ok=True)
        path.write_text(found, encoding="utf-8")
    wanted = path.read_text(encoding="utf-8").splitlines()
    return list(difflib.unified_diff(wanted, found.splitlines(), str(path), "found", lineterm="", n=2))
