"""The one way a device command line is built: every argument quoted, none trusted."""

import re

_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")


def quote(argument: str) -> str:
    """One word of a POSIX shell that stands for exactly this text. ``ValueError`` for text with a NUL."""
    if "\0" in argument:
        raise ValueError("a device argument cannot hold a NUL character")
    if _PLAIN.fullmatch(argument):
        return argument
    return "'" + argument.replace("'", "'\"'\"'") + "'"


def command_line(*arguments: str) -> str:
    """A command line whose argv on the phone is just these arguments."""
    return " ".join(quote(argument) for argument in arguments)
