"""The argv parser: sorts tokens into flags and words by a command's row.

Lenient mode is that of ``clawperator``: flags that only other commands have are ignored and reported. Strict mode
is that of ``claw``: nothing is abbreviated, ignored or guessed, and errors use argparse's wording.
"""

from collections.abc import Iterable, Mapping
from typing import NoReturn

from msgspec import Struct

from clawperator._base.text import distance, nearest, read_number
from clawperator.commands.model import Command, Flag
from clawperator.errors import ClawError

MISSING = "<missing>"
HELP_HINT = "Run 'claw --help' for the commands."

_SIMILAR = 0.75
# Limits of numbers: what a clock can wait for, and what JSON readers can hold.
_MOST_SECONDS = 1_000_000_000
_MOST_WHOLE = 2**63 - 1
# Longer words get no suggestion, and are cut in messages.
_LONGEST_GUESSED = 64
_LONGEST_QUOTED = 200


class ParsedArguments(Struct, frozen=True):
    """Values by the flag's own name, words, and ignored flags. ``command`` is None when none is named."""

    command: Command | None
    words: tuple[str, ...] = ()
    values: Mapping[str, tuple[str, ...]] = {}
    ignored: tuple[str, ...] = ()

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

    def whole(self, flag: str, default: int, *, least: int | None = 0) -> int:
        """A whole number, not below ``least``."""
        text = self.get(flag)
        if text is None:
            return default
        number = read_number(text)
        if not isinstance(number, int) or (least is not None and number < least) or abs(number) > _MOST_WHOLE:
            expected = "a whole number" + ("" if least is None else f" from {least} up")
            raise parse_error(f"argument {flag}: it must be {expected}, not {_cut(text)!r}", self.name)
        return number

    def seconds(self, flag: str) -> float | None:
        text = self.get(flag)
        if text is None:
            return None
        number = read_number(text)
        if number is None or abs(number) > _MOST_SECONDS:
            expected = f"a number of seconds, {_MOST_SECONDS} at most"
            raise parse_error(f"argument {flag}: it must be {expected}, not {_cut(text)!r}", self.name)
        return float(number)

    def choice(self, flag: str, choices: tuple[str, ...], default: str) -> str:
        text = self.get(flag)
        if text is None:
            return default
        if text.casefold() not in choices:
            known = ", ".join(choices)
            raise parse_error(f"argument {flag}: invalid choice: {text!r} (choose from {known})", self.name)
        return text.casefold()


def usage(message: str, hint: str | None = None) -> ClawError:
    return ClawError("USAGE", message, hint=hint, operation="argparse")


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


def parse(  # noqa: PLR0913 - the parts of one command line
    command: Command | None,
    tokens: list[str],
    *,
    title: str,
    strict: bool,
    shared: Iterable[Flag] = (),
    foreign: Mapping[str, int] | None = None,
    skip: int = -1,
) -> ParsedArguments:
    """Parse the tokens after a command's name. Everything after a bare ``--`` is a word.

    ``title`` is the command's name in messages, ``shared`` are flags of every command. In lenient mode ``foreign``
    are the flags of other commands with their number of values. The token at ``skip`` is the command itself.
    """
    parser = _Parser(command, tokens, title=title, strict=strict, shared=shared, foreign=foreign or {})
    return parser.run(skip)


class _Parser:
    def __init__(  # noqa: PLR0913 - the parts of one command line
        self,
        command: Command | None,
        tokens: list[str],
        *,
        title: str,
        strict: bool,
        shared: Iterable[Flag],
        foreign: Mapping[str, int],
    ) -> None:
        self._command = command
        self._tokens = tokens
        self._title = title
        self._strict = strict
        self._shared = tuple(shared)
        own = command.flags if command else ()
        self._flags = by_name((*self._shared, *own) if strict else own)
        self._help_hint = HELP_HINT if command is None else None
        self._foreign = foreign
        self._open_ended = command is not None and command.usage.endswith("...]")
        self._place = 0
        self._words: list[str] = []
        self._values: dict[str, tuple[str, ...]] = {}
        self._ignored: list[str] = []

    def run(self, skip: int) -> ParsedArguments:
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
                self._unknown(token)
            else:
                self._take(flag, token)
        return ParsedArguments(self._command, tuple(self._words), self._values, tuple(self._ignored))

    def _is_word(self, token: str, flag: Flag | None) -> bool:
        if self._strict:
            return is_word(token)
        if not token.startswith("--"):
            return True
        return flag is None and (self._open_ended or self._is_dashed_file())

    def _is_dashed_file(self) -> bool:
        """``exec`` accepts a file whose name begins with dashes, as its first and only word."""
        if self._command is None or self._command.name != "exec" or self._place != 1:
            return False
        next_is_flag = all(token.startswith("--") for token in self._tokens[1:2])
        return next_is_flag and self._tokens[0].partition("=")[0] not in self._foreign

    def _unknown(self, token: str) -> None:
        """Ignore a flag of another command with its values, or refuse it."""
        name, equals, _ = token.partition("=")
        most = None if self._strict else self._foreign.get(name)
        if most is None:
            self._refuse_unknown(token)
        self._ignored.append(name)
        last = self._place if equals else min(self._place + most, len(self._tokens))
        while self._place < last and not self._tokens[self._place].startswith("--"):
            self._place += 1

    def _refuse_unknown(self, token: str) -> NoReturn:
        name = token.partition("=")[0]
        if self._strict:
            near = similar_name(name, self._flags) if name.startswith("--") else None
            raise parse_error(
                f"unrecognized arguments: {token[:_LONGEST_QUOTED]}",
                self._title,
                (f"Did you mean {near}? " if near else "") + "Put a word that begins with a dash after '--'.",
            )
        near = _most_similar(name, [*self._flags, *by_name(self._shared)])
        raise usage(
            f"unknown flag {name} for {self._title}" + (f"; did you mean {near}?" if near else ""),
            f"Run 'clawperator {self._title} --help' for its flags.",
        )

    def _take(self, flag: Flag, token: str) -> None:
        taken = self._strict_values(flag, token) if self._strict else self._lenient_values(flag, token)
        self._values[flag.name] = (*self._values.get(flag.name, ()), *taken)

    def _strict_values(self, flag: Flag, token: str) -> tuple[str, ...]:
        _, equals, inline = token.partition("=")
        if flag.values == 0:
            if equals:
                raise parse_error(f"argument {flag.name}: it takes no value", self._title, self._help_hint)
            return ()
        if not equals:
            following = self._tokens[self._place : self._place + 1]
            if not following or following[0].startswith("--"):
                raise parse_error(
                    f"argument {flag.name}: expected one argument",
                    self._title,
                    f"Write {flag.name}=... for a value that begins with dashes.",
                )
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
                raise usage(f"{flag.name} takes no value", f"Write {flag.name} alone.")
            return ()
        if flag.values == 1 and equals:
            return (inline,)
        following = self._tokens[self._place :]
        if flag.values == 1 and following[:1] == ["--"] and len(following) > 1:  # --flag -- --any-text
            self._place += 2
            return (following[1],)
        values = following[: flag.values]
        forbidden = "-" if flag.literal else "--"
        if equals or len(values) < flag.values or any(value.startswith(forbidden) for value in values):
            hint = f"Write {flag.name}=... for a value that begins with a dash."
            if flag.values > 1:
                hint = f"Run 'clawperator {self._title} --help' for an example."
            count = "a value" if flag.values == 1 else f"{flag.values} values"
            raise _refused(flag, f"{flag.name} needs {count}: {flag.name} {flag.metavar}", hint)
        self._place += flag.values
        return tuple(values)


def is_word(token: str) -> bool:
    """Whether a token cannot be a flag in strict mode: no leading dash, a number, or white space in its name."""
    name = token.partition("=")[0]
    return not token.startswith("-") or token == "-" or len(name.split()) > 1 or read_number(token) is not None


def _refused(flag: Flag, message: str, hint: str) -> ClawError:
    return invalid(message, hint) if flag.literal else usage(message, hint)


def _most_similar(name: str, known: list[str]) -> str | None:
    scored = [(1 - distance(name, other) / max(len(name), len(other)), other) for other in known]
    best = max(scored, key=lambda pair: pair[0], default=(0.0, ""))
    return best[1] if best[0] > _SIMILAR else None


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_GUESSED else text[:_LONGEST_GUESSED] + "…"
