"""The commands of ``claw``: parsing, suggestions, ``--help``, the inventory and the reference derive from them.

A command line imports only the module that has the row of its command.
"""

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any

from msgspec import Meta, UnsetType
from msgspec.structs import replace

from clawperator.contract.commands import Command, Flag, switch
from clawperator.contract.fields import Level, about
from clawperator.operations.commands import command_of
from clawperator.operations.model import Operation, Params, cli_operation

_FORMAT = Flag(
    "--output-format", "text, or json: one document on one line", "<text|json>", choices=("text", "json")
)
CLAW_GLOBALS = (_FORMAT, switch("--help", "print help", "-h"), switch("--version", "print the version", "-V"))
# The commands in the order of lists, by the module that has their rows.
_ROWS = (
    ("turns", "bootstrap turn-loop exec-tool exec-command"),
    ("sessions", "route show-tool show-command"),
    ("turns", "tool-pool"),
    ("sessions", "command-graph bootstrap-graph flush-transcript list-sessions load-session delete-session trust"),
)
CLAW: Mapping[str, str] = {
    name: f"clawperator.operations.{module}" for module, names in _ROWS for name in names.split()
}
# Agents cannot run these, so they are in no inventory.
FOR_USERS = ("trust",)
READS_STDIN = "If the prompt is -, it is read from stdin."

Count = Annotated[int, Meta(ge=0)]
Prompt = Annotated[str, about("the prompt", word=1)]
Name = Annotated[str, about("name in the inventory, or a synonym", word=1)]
Limit = Annotated[Count, about("maximum number of matches", metavar="<n>")]
Directory = Annotated[
    str | UnsetType, about("session folder (default: .claw/sessions)", metavar="<folder>", path="sessions")
]
NewSession = Annotated[str | UnsetType, about("id of the new session (default: generated)")]
Resumed = Annotated[str | UnsetType, about("continue the session with this id", metavar="<id>")]


_operations: dict[str, Operation] = {}  # of the modules that are imported


def claw_operation(
    name: str, purpose: str, params: type[Params], handler: str, *, level: Level, **columns: Any
) -> None:
    """Add the row of a command. ``handler`` is its function in a module of ``cli.claw``."""
    around = f"clawperator.cli.claw.{handler}"
    _operations[name] = cli_operation(name, params, around, level=level, purpose=purpose, **columns)


def find_claw_operation(name: str) -> Operation:
    """The row of the command with this name; KeyError for another one."""
    __import__(CLAW[name])
    return _operations[name]


@cache
def claw_command(name: str) -> Command:
    """The command with this name, without those of other rows; KeyError for another one."""
    row = find_claw_operation(name)
    made = command_of(row)
    return replace(made, derive_flags=cache(lambda: (*made.flags, _FORMAT)), handler=row.around)


def claw_commands() -> tuple[Command, ...]:
    """Every command. Imports all rows."""
    return tuple(map(claw_command, CLAW))
