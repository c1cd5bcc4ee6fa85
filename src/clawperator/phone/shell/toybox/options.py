"""Reading the options and the input files of a command, as toybox does."""

from collections.abc import Iterator, Sequence
from typing import BinaryIO

from clawperator.errors import ClawperatorException
from clawperator.phone.shell.pipes import InputStream
from clawperator.phone.shell.process import ShellProcess, decode

BLOCK = 64 * 1024
# A longer line is read as several.
MAX_LINE = 1024 * 1024


class OptionError(ClawperatorException):
    """Invalid arguments; the message is what the command prints."""


class CommandOptions:
    """The flags and operands of a command line. ``OptionError`` for unknown flags.

    With ``leading`` the flags end at the first operand: it is a command, with flags of its own.
    """

    def __init__(
        self,
        process: ShellProcess,
        flags: str,
        valued: str = "",
        long: Sequence[str] = (),
        *,
        leading: bool = False,
    ) -> None:
        self._flags: dict[str, str] = {}
        self.operands: list[str] = []
        name, words = process.name, process.argv[1:]
        while words:
            word = words.pop(0)
            if word == "--":
                self.operands += words
                break
            if word.startswith("--") and (key := word[2:].partition("=")[0]) in long:
                self._flags[key] = word.partition("=")[2]
            elif len(word) < 2 or word[0] != "-":
                self.operands.append(word)
                if leading:
                    self.operands += words
                    break
            else:
                self._read(name, word[1:], words, flags, valued)

    def _read(self, name: str, letters: str, words: list[str], flags: str, valued: str) -> None:
        for at, letter in enumerate(letters):
            if letter in valued:
                attached = letters[at + 1 :]
                if not attached and not words:
                    raise OptionError(f'Missing argument to -{letter} (see "{name} --help")')
                value = attached or words.pop(0)
                # The values of a repeated flag are joined by newlines, as grep -e expects.
                self._flags[letter] = f"{self._flags[letter]}\n{value}" if letter in self._flags else value
                return
            if letter not in flags:
                raise OptionError(f"Unknown option '{letters}' (see \"{name} --help\")")
            self._flags[letter] = ""

    def __contains__(self, flag: str) -> bool:
        return flag in self._flags

    def any_of(self, *flags: str) -> bool:
        return any(flag in self._flags for flag in flags)

    def value(self, flag: str) -> str | None:
        return self._flags.get(flag)

    def number(self, flag: str, default: int) -> int:
        """The number of a flag, with an optional unit of k, m or g."""
        text = self._flags.get(flag)
        if text is None:
            return default
        factor = {"k": 1024, "m": 1024**2, "g": 1024**3}.get(text[-1:].lower(), 1)
        try:
            return int(text[:-1] if factor > 1 else text) * factor
        except ValueError:
            raise OptionError(f"not integer: {text}") from None


def require_operands(process: ShellProcess, operands: Sequence[str], count: int = 1) -> None:
    """``OptionError`` when there are too few operands."""
    if len(operands) < count:
        raise OptionError(f'Needs {count} argument{"s" * (count > 1)} (see "{process.name} --help")')


class InputFiles:
    """The files that a command reads, one after another; its stdin when it names none.

    Files that cannot be read are reported and skipped; ``status`` is then 1.
    """

    def __init__(self, process: ShellProcess, names: Sequence[str], *, quiet: bool = False) -> None:
        self._process = process
        self._quiet = quiet
        self._names = list(names) or ["-"]
        self.failed = False

    def __iter__(self) -> Iterator[tuple[str, BinaryIO]]:
        for name in self._names:
            try:
                with self._process.open(name) as file:
                    yield name, file
            except OSError as e:
                self.failed = True
                if not self._quiet:
                    self._process.failed(name, e)

    def lines(self) -> Iterator[str]:
        """The lines of all files, without their newlines."""
        for _, file in self:
            for line in read_lines(self._process, file):
                yield decode(line).removesuffix("\n")

    @property
    def status(self) -> int:
        return int(self.failed)


def read_blocks(process: ShellProcess, source: InputStream) -> Iterator[bytes]:
    """All of a stream, in blocks as they arrive, until the command is cancelled."""
    while not process.cancelled.is_set() and (block := source.read(BLOCK)):
        yield block


def read_lines(process: ShellProcess, source: InputStream) -> Iterator[bytes]:
    """The lines of a stream as they arrive, each with its newline if it has one."""
    rest = b""
    for block in read_blocks(process, source):
        pieces = (rest + block).split(b"\n")
        rest = pieces.pop()
        for piece in pieces:
            if process.cancelled.is_set():  # handling a line may take long
                return
            yield piece + b"\n"
        if len(rest) > MAX_LINE:
            yield rest
            rest = b""
    if rest:
        yield rest
