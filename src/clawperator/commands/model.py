"""The form of a command: its name, flags, words of help and examples; and the flags of all that act."""

from typing import Literal

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
    usage: str = ""  # its arguments; as many as there are words here, any, and any flags, if it ends in "...]"
    synonyms: tuple[str, ...] = ()
    flags: tuple[Flag, ...] = ()
    examples: tuple[str, ...] = ()
    subcommands: tuple["Command", ...] = ()
    notes: str = ""


def switch(name: str, help_: str, *aliases: str) -> Flag:
    return Flag(name, help_, "", aliases, values=0)


BackendName = Literal["auto", "operator", "adb"]
BACKENDS: tuple[BackendName, ...] = ("auto", "operator", "adb")
BACKEND = Flag("--backend", "who carries it out: auto (the Operator), operator or adb", "<backend>")

PLAN = (
    BACKEND,
    switch("--validate-only", "check and print the execution; no phone is needed"),
    switch("--dry-run", "check and print the plan; no phone is needed"),
)
