"""The form of a command: its name, flags, words of help and examples."""

from msgspec import Struct


class Flag(Struct, frozen=True):
    """A flag with ``values`` values; one that ``repeats`` may be given several times.

    A ``literal`` one takes no value that begins with a dash, unless by ``=``.
    """

    name: str
    help: str
    metavar: str = "<value>"
    aliases: tuple[str, ...] = ()
    values: int = 1
    literal: bool = False
    repeats: bool = False


class Command(Struct, frozen=True):
    name: str
    summary: str
    usage: str = ""  # its arguments; as many as there are words here
    synonyms: tuple[str, ...] = ()
    flags: tuple[Flag, ...] = ()
    examples: tuple[str, ...] = ()
    subcommands: tuple["Command", ...] = ()
    notes: str = ""


def switch(name: str, help_: str, *aliases: str) -> Flag:
    return Flag(name, help_, "", aliases, values=0)
