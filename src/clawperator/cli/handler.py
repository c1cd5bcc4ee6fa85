"""What a handler gets and gives."""

from typing import Any

from msgspec import Struct

from clawperator.cli.console import Console
from clawperator.cli.parsing import Arguments, Options


class Call(Struct, frozen=True):
    """One command, read from the command line."""

    name: str  # the canonical one, "recording parse"
    arguments: Arguments
    options: Options
    console: Console


class Text(Struct, frozen=True):
    """An answer for people, printed as it is."""

    text: str
    exit_code: int = 0


class Printed(Struct, frozen=True):
    """An answer that came bit by bit and is on stdout already."""


class Verdict(Struct, frozen=True):
    """A document whose exit code the rules of the frame cannot tell."""

    document: Any
    exit_code: int


def soft_usage(message: str, **more: Any) -> dict[str, Any]:
    """The USAGE object of an incomplete command: it is an answer, not a failure, and exits 0."""
    return {"code": "USAGE", "message": message, **more}
