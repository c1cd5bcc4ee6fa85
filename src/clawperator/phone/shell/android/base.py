"""What the phone's own commands have in common: the phone they run on, and the ways of Android's services.

A service takes a command and its arguments. What it cannot make sense of ends in a Java exception, printed to
stderr, and the exit code of -1.
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from clawperator.phone.shell.process import ShellProcess, encode

FAILED = 255
SHELL_UID = 2_000


class ServiceError(Exception):
    """What a service throws. ``kind`` is the Java class of it."""

    def __init__(self, message: str, kind: str = "java.lang.IllegalArgumentException") -> None:
        super().__init__(message)
        self.kind = kind


def denied(message: str) -> ServiceError:
    return ServiceError(message, "java.lang.SecurityException")


class Arguments:
    """The words of a command, read one after the other. The first is the command itself."""

    def __init__(self, words: list[str]) -> None:
        self._words = words
        self._at = 1

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
        """The next word. There must be one."""
        word = self.next()
        if word is None:
            raise ServiceError(f'Argument expected after "{self._words[self._at - 1]}"')
        return word

    def option(self) -> str | None:
        """The next word if it is an option. Two dashes end them."""
        word = self._words[self._at] if self._at < len(self._words) else ""
        if len(word) < 2 or word[0] != "-":
            return None
        self._at += 1
        return None if word == "--" else word

    def rest(self) -> list[str]:
        """All that is left."""
        words, self._at = self._words[self._at :], len(self._words)
        return words

    def whole(self) -> int:
        """The next word as an integer."""
        return read_whole(self.required())

    def pixel(self) -> int:
        """The next word as a coordinate; what lies between two pixels is the one before."""
        word = self.required()
        try:
            value = float(word)
        except ValueError:
            value = float("nan")
        if not abs(value) < 1_000_000:
            raise ServiceError(f"Invalid arguments for command: {self.command}")
        return int(value)


def read_whole(word: str) -> int:
    """An integer of Java: at most 32 bits."""
    digits = word[1:] if word[:1] in {"-", "+"} else word
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 10 and -(2**31) <= int(word) < 2**31):
        raise ServiceError(f'For input string: "{word[:200]}"', "java.lang.NumberFormatException")
    return int(word)


Handler: TypeAlias = Callable[[ShellProcess, Arguments], int]


def serve(process: ShellProcess, words: list[str], handlers: Mapping[str, Handler], usage: str) -> int:
    """Run the command of a service that the words name."""
    if not words or words[0] in {"help", "-h"}:
        process.write(usage)
        return FAILED
    handler = handlers.get(words[0])
    if handler is None:
        process.write(f"Unknown command: {words[0]}\n")
        return FAILED
    return attempt(process, handler, words)


def attempt(process: ShellProcess, handler: Handler, words: list[str]) -> int:
    """Run a handler; an exception of the service is told as Android tells it."""
    try:
        return handler(process, Arguments(words))
    except ServiceError as e:
        say_error(process, f"\nException occurred while executing '{words[0]}':\n{e.kind}: {e}")
        return FAILED


def say_error(process: ShellProcess, line: str) -> None:
    """A line on stderr, without the name of the command before it."""
    process.stderr.write(encode(f"{line}\n"))
