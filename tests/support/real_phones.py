"""The table of what real phones answer: ``tests/fixtures/real_phones``, one file per group of commands.

A row has a fact (which Android, which vendor, which command, what it printed), where the fact is reported, what a
user does, and what must come out. Outputs are written from the facts in those reports.
"""

import tomllib
from collections.abc import Iterator
from functools import cache
from typing import Literal

import msgspec
from msgspec import Struct

from tests.support.paths import REPOSITORY

FOLDER = REPOSITORY / "tests" / "fixtures" / "real_phones"


class Answer(Struct, frozen=True, forbid_unknown_fields=True):
    """An answer of one Android command: ``run`` is its name and the pattern of its arguments.

    Answers of a row with the same ``run`` are given one after the other. ``screen`` is the hierarchy that a dump
    writes: ``home``, ``form`` or XML. With ``png`` a picture follows the text of stdout.
    """

    run: str
    stdout: str = ""
    stderr: str = ""
    code: int = 0
    screen: str | None = None
    png: bool = False


class Outcome(Struct, frozen=True, forbid_unknown_fields=True):
    """What must come out: success, or the error ``code`` with words of its message and hint.

    ``check`` names the check of ``doctor`` that is meant. ``shows`` and ``hint`` are parts of texts, ``data`` fields
    of the step; ``calls``, ``once`` and ``never`` are patterns of command lines that the phone got, got once and
    did not get.
    """

    code: str | None = None
    check: str | None = None
    data: dict[str, str] = {}
    shows: list[str] = []
    silent: list[str] = []
    hint: list[str] = []
    calls: list[str] = []
    once: list[str] = []
    never: list[str] = []
    saved: bool = False


class Row(Struct, frozen=True, forbid_unknown_fields=True):
    """One fact about real phones. ``inferred``: its report does not state the Android version."""

    id: str
    android: int
    vendor: str
    command: str
    behaviour: str
    source: str
    mark: Literal["reported", "documented"]
    do: list[str]
    expect: Outcome
    when: list[Answer] = []
    inferred: bool = False
    serial: str | None = None
    state: str = "device"


@cache
def rows() -> tuple[Row, ...]:
    return tuple(_rows())


def _rows() -> Iterator[Row]:
    for file in sorted(FOLDER.glob("*.toml")):
        table = tomllib.loads(file.read_text("utf-8"))
        yield from msgspec.convert(table["row"], list[Row])
