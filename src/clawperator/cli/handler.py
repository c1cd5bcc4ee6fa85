"""Arguments and results of command handlers."""

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from clawperator.cli.command_line import GlobalOptions
from clawperator.cli.console import Console
from clawperator.cli.parsing import ParsedArguments


class Call(Struct, frozen=True):
    """A parsed command. ``name`` is its full canonical name: ``recording parse``."""

    name: str
    arguments: ParsedArguments
    options: GlobalOptions
    console: Console


class CommandResult(Struct, frozen=True):
    """A document to print, and the exit code."""

    document: Any
    exit_code: int = 0


class TextResult(Struct, frozen=True):
    """Text to print as it is, and the exit code."""

    text: str
    exit_code: int = 0


class StreamedResult(Struct, frozen=True):
    """The result of a command that has written its output to stdout already."""


HandlerResult = CommandResult | TextResult | StreamedResult
Handler = Callable[[Call], HandlerResult]


def incomplete(message: str, **more: Any) -> CommandResult:
    """The USAGE document of an incomplete command. It is not an error: exit code 0."""
    return CommandResult({"code": "USAGE", "message": message, **more})
