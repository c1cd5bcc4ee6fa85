"""The only way to build a device command line: every argument is quoted."""

import re

_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")


def quote(argument: str) -> str:
    """A POSIX shell word for exactly this text. ``ValueError`` for text with a NUL."""
    if "\0" in argument:
        raise ValueError("a device argument cannot contain a NUL character")
    if _PLAIN.fullmatch(argument):
        return argument
    return "'" + argument.replace("'", "'\"'\"'") + "'"


def command_line(*arguments: str) -> str:
    """A command line whose argv on the device is exactly these arguments."""
    return " ".join(quote(argument) for argument in arguments)
