"""The argv parser: sorts tokens into flags and words by a command's row.

Strict mode is that of ``claw``: no abbreviations, and errors in argparse's wording. The other mode is that of
``clawperator``. Both refuse unknown flags and values that are not among the ``choices`` of a flag.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NoReturn

from msgspec import Struct

from clawperator._base.text import nearest, read_number
from clawperator.contract.commands import BACKENDS, GLOBALS, BackendName, Command, Flag, find_by_path, find_command
from clawperator.errors import ClawError

MISSING = "<missing>"
HELP_HINT = "Run 'claw --help' for the commands."

# Names of the same thing in different commands.
_ALSO_CALLED = {"--out": "--path", "--path": "--out", "--file": "--input", "--input": "--file"}
# Longer words get no suggestion, and are cut in messages.
_LONGEST_GUESSED = 64
_LONGEST_QUOTED = 200


class ParsedArguments(Struct, frozen=True):
    """Values by the flag's own name, and words. ``command`` is None when none is named."""

    command: Command | None
    words: tuple[str, ...] = ()
    values: Mapping[str, tuple[str, ...]] = {}

    @property
    def name(self) -> str:
        return self.command.name if self.command else MISSING

    def has(self, flag: str) -> bool:
        return flag in self.values

    def get(self, flag: str) -> str | None:
        given = self.values.get(flag)
        return given[-1] if given else None

    def all(self, flag: str) -> tuple[str, ...]:
        """The values of a flag that may be given several times."""
        return self.values.get(flag, ())


def chosen_backend(arguments: ParsedArguments) -> BackendName:
    """The backend that a line names, or that of the user's settings."""
    name = arguments.get("--backend")
    if not name:
        from clawperator.device.settings import default_backend

        return default_backend()
    return next(backend for backend in BACKENDS if backend == name)


def usage(message: str, hint: str | None = None) -> ClawError:
    return ClawError("USAGE", message, hint=hint, operation="argparse")


def help_hint(title: str) -> str:
    """The command that prints the help of a command; without a title, of all."""
    return f"Run 'clawperator {title} --help'." if title else "Run 'clawperator help'."


def needs_value(flag: Flag, title: str, following: str = "") -> ClawError:
    """The error of a flag without a value, before the ``following`` word."""
    count = "a value" if flag.values == 1 else f"{flag.values} values"
    hint = f"Write {flag.name} {flag.choices[0]}, for example." if flag.choices else help_hint(title)
    if title and flag.values == 1 and following.startswith("-"):
        hint = f"Write {flag.name}=... for a value that begins with a dash."
    return _refused(flag, f"{flag.name} needs {count}: {flag.name} {flag.metavar}", hint)


def takes_no_value(flag: Flag) -> ClawError:
    return usage(f"{flag.name} takes no value", f"Write {flag.name} alone.")


def chosen(flag: Flag, text: str, title: str) -> str:
    """A value of a flag with choices, in lower case. ``USAGE`` when it is not one of them."""
    if text.casefold() in flag.choices:
        return text.casefold()
    raise _refused(flag, not_a_choice(flag.name, flag.choices, text), choice_hint(flag.choices, text, title))


def choice_hint(choices: Iterable[str], text: str, title: str) -> str:
    """The most similar choice, or else the help."""
    near = similar_name(text.casefold(), choices)
    return f"Did you mean {near}?" if near else help_hint(title)


def not_a_choice(name: str, choices: Sequence[str], text: str) -> str:
    *most, last = choices
    return f"{name} must be {', '.join(most)}{' or ' if most else ''}{last}, not {cut_word(text)!r}"


def unknown_flag(token: str, title: str, own: Iterable[Flag], shared: Iterable[Flag]) -> ClawError:
    """``USAGE`` with the nearest name among the flags of the command and the global ones, or the flag that has the
    name as one of its choices."""
    name = cut_word(token.partition("=")[0])
    flags = by_name((*own, *shared))
    word = name.lstrip("-").casefold()
    likely = (
        f"{text} {word}" if word in flag.choices else text
        for text, flag in flags.items()
        if text.endswith(f"-{word}")
        or text == _ALSO_CALLED.get(name)
        or name.startswith(f"{text}-")
        or word in flag.choices
    )
    near = nearest(name.casefold(), flags, len(name) // 3) or (next(likely, None) if word else None)
    offer = f" Did you mean {near}?" if near else ""
    return usage(f"{title or 'clawperator'} has no option {name}.{offer}", help_hint(title))


def early_flag(rest: Sequence[str]) -> ClawError:
    """``USAGE`` for a line that begins with a flag that is not global; it may be one of the command after it."""
    from shlex import join

    name = rest[0].partition("=")[0]
    at = next((at for at, word in enumerate(rest) if not word.startswith("-") and find_command(word)), 0)
    command = find_by_path(list(rest[at : at + 2])) if at else None
    if command is None or name not in by_name(command.flags):
        return unknown_flag(rest[0], "", (), GLOBALS)
    line = join(["clawperator", *rest[at:], *rest[:at]])
    return usage(f"{name} belongs after the command", f"Run '{line}'.")


def invalid(message: str, hint: str) -> ClawError:
    return ClawError("EXECUTION_VALIDATION_FAILED", message, hint=hint, operation="argparse")


def parse_error(message: str, command: str, hint: str | None = None) -> ClawError:
    """A usage error of strict mode. ``command`` is what the line names as its command, known or not."""
    hint = hint or f"Run 'claw {command} --help' for its arguments."
    return ClawError("ARGUMENTS_INVALID", message, hint=hint, operation="argparse", target=command)


def by_name(flags: Iterable[Flag]) -> dict[str, Flag]:
    return {name: flag for flag in flags for name in (flag.name, *flag.aliases)}


def similar_name(word: str, names: Iterable[str]) -> str | None:
    """The most similar name to a mistyped one."""
    return nearest(word, names, max(2, len(word) // 3)) if len(word) <= _LONGEST_GUESSED else None


class ArgvParser:
    """Parses the tokens after a command's name. Everything after a bare ``--`` is a word.

    ``title`` is the command's name in messages, ``shared`` are flags of every command: strict mode reads them, the
    other only suggests them.
    """

    def __init__(
        self, command: Command | None, tokens: list[str], *, title: str, strict: bool, shared: Iterable[Flag]
    ) -> None:
        self._command = command
        self._tokens = tokens
        self._title = title
        self._strict = strict
        self._shared = tuple(shared)
        own = command.flags if command else ()
        self._flags = by_name((*self._shared, *own) if strict else own)
        self._help_hint = HELP_HINT if command is None else None
        self._place = 0
        self._words: list[str] = []
        self._values: dict[str, tuple[str, ...]] = {}

    def run(self, skip: int = -1) -> ParsedArguments:
        """Parse the line. The token at ``skip`` is the command itself."""
        while self._place < len(self._tokens):
            token = self._tokens[self._place]
            self._place += 1
            if token == "--":
                self._words += self._tokens[self._place :]
                break
            flag = self._flags.get(token.partition("=")[0])
            if self._is_word(token, flag):
                if self._place - 1 != skip:
                    self._words.append(token)
            elif flag is None:
                self._refuse_unknown(token)
            else:
                self._take(flag, token)
        return ParsedArguments(self._command, tuple(self._words), self._values)

    def _is_word(self, token: str, flag: Flag | None) -> bool:
        if self._strict:
            return is_word(token)
        if not token.startswith("--"):
            return True
        # 'exec' accepts a file whose name begins with dashes, as its first and only word.
        is_first = self._command is not None and self._command.name == "exec" and self._place == 1
        return flag is None and is_first and all(token.startswith("--") for token in self._tokens[1:2])

    def _refuse_unknown(self, token: str) -> NoReturn:
        if not self._strict:
            assert self._command is not None
            error = unknown_flag(token, self._title, self._command.flags, self._shared)
            if "--" in self._command.usage:
                raise error.with_(hint=f"{error.hint} Put arguments that begin with a dash after '--'.")
            raise error
        name = token.partition("=")[0]
        near = similar_name(name, self._flags) if name.startswith("--") else None
        hint = (f"Did you mean {near}? " if near else "") + "Put a word that begins with a dash after '--'."
        raise parse_error(f"unrecognized arguments: {token[:_LONGEST_QUOTED]}", self._title, hint)

    def _take(self, flag: Flag, token: str) -> None:
        taken = self._strict_values(flag, token) if self._strict else self._lenient_values(flag, token)
        if flag.choices:
            taken = tuple(self._chosen(flag, text) for text in taken)
        self._values[flag.name] = (*self._values.get(flag.name, ()), *taken)

    def _chosen(self, flag: Flag, text: str) -> str:
        if not self._strict:
            return chosen(flag, text, self._title)
        if text.casefold() not in flag.choices:
            message = f"argument {flag.name}: invalid choice: {text!r} (choose from {', '.join(flag.choices)})"
            raise parse_error(message, self._title, self._help_hint)
        return text.casefold()

    def _strict_values(self, flag: Flag, token: str) -> tuple[str, ...]:
        _, equals, inline = token.partition("=")
        if flag.values == 0:
            if equals:
                raise parse_error(f"argument {flag.name}: it takes no value", self._title, self._help_hint)
            return ()
        if not equals:
            following = self._tokens[self._place : self._place + 1]
            if not following or following[0].startswith("--"):
                hint = f"Write {flag.name}=... for a value that begins with dashes."
                raise parse_error(f"argument {flag.name}: expected one argument", self._title, hint)
            inline = following[0]
            self._place += 1
        if flag.name in self._values and not flag.repeats and flag not in self._shared:
            raise parse_error(f"argument {flag.name}: it is given more than once", self._title, self._help_hint)
        return (inline,)

    def _lenient_values(self, flag: Flag, token: str) -> tuple[str, ...]:
        if flag.name in self._values and not flag.repeats:
            raise _refused(flag, f"{flag.name} is given more than once", f"Give {flag.name} once.")
        _, equals, inline = token.partition("=")
        if flag.values == 0:
            if equals:
                raise takes_no_value(flag)
            return ()
        if flag.values == 1 and equals and (inline or flag.literal):
            return (inline,)
        following = self._tokens[self._place :]
        if flag.values == 1 and following[:1] == ["--"] and len(following) > 1:  # --flag -- --any-text
            self._place += 2
            return (following[1],)
        values = following[: flag.values]
        forbidden = "-" if flag.literal else "--"
        is_missing = equals or len(values) < flag.values or (values == [""] and not flag.literal)
        if is_missing or any(value.startswith(forbidden) for value in values):
            raise needs_value(flag, self._title, values[0] if values else "")
        self._place += flag.values
        return tuple(values)


def is_word(token: str) -> bool:
    """Whether a token cannot be a flag in strict mode: no leading dash, a number, or white space in its name."""
    name = token.partition("=")[0]
    return not token.startswith("-") or token == "-" or len(name.split()) > 1 or read_number(token) is not None


def _refused(flag: Flag, message: str, hint: str) -> ClawError:
    return invalid(message, hint) if flag.literal else usage(message, hint)


def cut_word(text: str) -> str:
    """A word of the line, for a message."""
    return text if len(text) <= _LONGEST_GUESSED else text[:_LONGEST_GUESSED] + "…"
