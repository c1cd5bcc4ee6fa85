"""Common parts of Android's service commands: arguments and error reports.

A service takes a command and its arguments. An invalid one ends in a Java exception, printed to stderr, and the
exit code -1.
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from msgspec import Struct

from clawperator.errors import ClawperatorException
from clawperator.phone.shell.process import COMMANDS, ShellProcess, encode

FAILED = 255
SHELL_UID = 2_000


class ServiceError(ClawperatorException):
    """An exception of a service. ``kind`` is its Java class."""

    def __init__(self, message: str, kind: str = "java.lang.IllegalArgumentException") -> None:
        super().__init__(message)
        self.kind = kind


def security_error(message: str) -> ServiceError:
    return ServiceError(message, "java.lang.SecurityException")


class ServiceArguments(Struct):
    """The words of a service command, read one after the other. The first is the command itself."""

    _words: list[str]
    _at: int = 1

    @property
    def command(self) -> str:
        return self._words[0]

    def next(self) -> str | None:
        """The next word, or None at the end."""
        if self._at >= len(self._words):
            return None
        self._at += 1
        return self._words[self._at - 1]

    def required(self) -> str:
        """The next word. ``ServiceError`` at the end."""
        word = self.next()
        if word is None:
            raise ServiceError(f'Argument expected after "{self._words[self._at - 1]}"')
        return word

    def option(self) -> str | None:
        """The next word if it is an option. Two dashes end the options."""
        word = self._words[self._at] if self._at < len(self._words) else ""
        if len(word) < 2 or word[0] != "-":
            return None
        self._at += 1
        return None if word == "--" else word

    def options(self, *with_value: str) -> dict[str, str]:
        """All options that follow, with the values of those that have one."""
        found = {}
        while (option := self.option()) is not None:
            found[option] = self.required() if option in with_value else ""
        return found

    def remaining(self) -> list[str]:
        """All words that are left."""
        words, self._at = self._words[self._at :], len(self._words)
        return words

    def integer(self) -> int:
        """The next word as an integer."""
        return read_int(self.required())

    def pixel(self) -> int:
        """The next word as a coordinate, rounded towards zero."""
        word = self.required()
        try:
            value = float(word)
        except ValueError:
            value = float("nan")
        if not abs(value) < 1_000_000:
            raise ServiceError(f"Invalid arguments for command: {self.command}")
        return int(value)


def read_int(word: str) -> int:
    """A Java ``int``. ``ServiceError`` for anything else."""
    digits = word[1:] if word[:1] in {"-", "+"} else word
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 10 and -(2**31) <= int(word) < 2**31):
        raise number_error(word)
    return int(word)


def number_error(word: str) -> ServiceError:
    return ServiceError(f'For input string: "{word[:200]}"', "java.lang.NumberFormatException")


Handler: TypeAlias = Callable[[ShellProcess, ServiceArguments], int]


def run_service(process: ShellProcess, words: list[str], handlers: Mapping[str, Handler], title: str) -> int:
    """Run the handler of the service command that the first word names. Without one, list them."""
    if not words or words[0] in {"help", "-h"}:
        process.write(f"{title} commands:\n" + "".join(f"  {name}\n" for name in handlers))
        return FAILED
    handler = handlers.get(words[0])
    if handler is None:
        process.write(f"Unknown command: {words[0]}\n")
        return FAILED
    return run_handler(process, handler, words)


def add_service(name: str, title: str, handlers: Mapping[str, Handler]) -> None:
    """Register a command whose words are those of a service command."""
    COMMANDS[name] = lambda process: run_service(process, process.argv[1:], handlers, title)


def run_handler(process: ShellProcess, handler: Handler, words: list[str]) -> int:
    """Run a handler; print a ``ServiceError`` as Android prints exceptions."""
    try:
        return handler(process, ServiceArguments(words))
    except ServiceError as e:
        return print_error(process, f"\nException occurred while executing '{words[0]}':\n{e.kind}: {e}")


def print_error(process: ShellProcess, line: str, code: int = FAILED) -> int:
    """Write a line to stderr, without the name of the command before it, and return the exit code."""
    process.stderr.write(encode(f"{line}\n"))
    return code
