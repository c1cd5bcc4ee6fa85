"""What can follow a command line, as plain rows for the scripts of all shells."""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from clawperator.commands.claw import CLAW_COMMANDS, CLAW_GLOBALS
from clawperator.commands.model import Command, Flag
from clawperator.commands.registry import COMMANDS, GLOBALS

# Markers among the values of a row. The shell replaces each by what it finds.
FILES = "@files"
FOLDERS = "@folders"
SERIALS = "@serials"

# Prints one serial per line in every shell. Errors are not printed, and a hanging adb server ends no key press.
LIST_SERIALS = (
    "if command -v timeout >/dev/null 2>&1; then timeout 3 clawperator devices --json; "
    "else clawperator devices --json; fi 2>/dev/null </dev/null | "
    r"""grep -oE '"serial":"([^"\\]|\\.)*"' | sed 's/^"serial":"//; s/"$//; s/\\\(.\)/\1/g'"""
)


class Row(Struct, frozen=True):
    """One command with its full name, such as ``clawperator recording parse``, or a program.

    ``names`` are its subcommands with their summaries, ``flags`` its own flags, ``shared`` those of every command.
    ``word`` are the values of its first word, ``spellings`` other full names that mean the same.
    """

    path: str
    spellings: tuple[str, ...]
    names: tuple[tuple[str, str], ...]
    flags: tuple[Flag, ...]
    shared: tuple[Flag, ...]
    word: tuple[str, ...] = ()

    @property
    def is_program(self) -> bool:
        return " " not in self.path


class ValueRule(Struct, frozen=True):
    """The flags, with the commands that have them, that take ``count`` values such as ``values``.

    A pattern is ``<path> <flag>``. It is ``* <flag>`` when the flag is the same wherever it exists.
    """

    count: int
    values: tuple[str, ...]
    patterns: tuple[str, ...]


def rows() -> Iterator[Row]:
    """Both programs and every command of theirs. A program comes before its commands."""
    for program, commands, shared in (("clawperator", COMMANDS, GLOBALS), ("claw", CLAW_COMMANDS, CLAW_GLOBALS)):
        names = _names(commands)
        if program == "claw":
            names += (("help", "Print help for all commands, or for one."),)
        yield Row(program, (), names, (), shared)
        for command in commands:
            yield from _rows(command, program, (program,), shared)
    # claw has this command besides its rows.
    yield Row("claw help", (), (), (), CLAW_GLOBALS, tuple(command.name for command in CLAW_COMMANDS))


def _rows(command: Command, path: str, parents: Iterable[str], shared: tuple[Flag, ...]) -> Iterator[Row]:
    own = f"{path} {command.name}"
    spellings = tuple(f"{parent} {name}" for parent in parents for name in (command.name, *command.synonyms))
    yield Row(
        own,
        tuple(name for name in spellings if name != own),
        _names(command.subcommands),
        tuple(flag for flag in command.flags if flag not in shared),
        shared,
        _word_values(command),
    )
    for below in command.subcommands:
        yield from _rows(below, own, (own,), shared)


def _names(commands: Iterable[Command]) -> tuple[tuple[str, str], ...]:
    return tuple((command.name, command.summary) for command in commands)


def _word_values(command: Command) -> tuple[str, ...]:
    if command.name == "help":
        return tuple(other.name for other in COMMANDS)
    paths = (FILES,) if command.word_path else ()
    serials = (SERIALS,) if "<serial>" in command.usage else ()
    return (*command.word_choices, *paths, *serials)


def flag_values(flag: Flag) -> tuple[str, ...]:
    """The values of a flag: its choices, and markers. Empty when any text can follow."""
    if flag.name == "--device":
        return (SERIALS,)
    paths = (FOLDERS if flag.metavar == "<folder>" else FILES,) if flag.path else ()
    return (*flag.choices, *flag.not_paths, *paths)


def value_rules(all_rows: Iterable[Row]) -> list[ValueRule]:
    """The flags that take values, by what follows them. Rules about single commands come first."""
    found: dict[str, dict[str, tuple[int, tuple[str, ...]]]] = {}
    for row in all_rows:
        for flag in (*row.flags, *row.shared):
            for name in (flag.name, *flag.aliases):
                found.setdefault(name, {})[row.path] = (flag.values, flag_values(flag))
    general: dict[tuple[int, tuple[str, ...]], list[str]] = {}
    special: dict[tuple[int, tuple[str, ...]], list[str]] = {}
    for name, by_path in found.items():
        kinds = set(by_path.values())
        for path, kind in by_path.items():
            if kind[0] and len(kinds) > 1:
                special.setdefault(kind, []).append(f"{path} {name}")
        if len(kinds) == 1 and (kind := kinds.pop())[0]:
            general.setdefault(kind, []).append(f"* {name}")
    ordered = (*special.items(), *general.items())
    return [ValueRule(count, values, tuple(patterns)) for (count, values), patterns in ordered]
