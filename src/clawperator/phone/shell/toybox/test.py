"""``test``, ``[`` and ``[[``."""

import stat
from collections.abc import Callable

from msgspec import Struct

from clawperator.phone.shell.language.patterns import Pattern
from clawperator.phone.shell.process import ShellProcess, command
from clawperator.phone.storage.filesystem import FileStat, may_write

_MAX_WORDS = 500
_FILES: dict[str, Callable[[FileStat], bool]] = {
    "-e": lambda _: True,
    "-f": lambda status: stat.S_ISREG(status.mode),
    "-d": lambda status: status.is_dir,
    "-s": lambda status: status.size > 0,
    "-r": lambda status: bool(status.mode & 0o444),
    "-x": lambda status: bool(status.mode & 0o111),
    "-c": lambda status: stat.S_ISCHR(status.mode),
    **dict.fromkeys(("-L", "-h"), lambda status: stat.S_ISLNK(status.mode)),
    **dict.fromkeys(("-b", "-p", "-S"), lambda _: False),
}
_NUMBERS: dict[str, Callable[[int, int], bool]] = {
    "-eq": lambda a, b: a == b,
    "-ne": lambda a, b: a != b,
    "-lt": lambda a, b: a < b,
    "-le": lambda a, b: a <= b,
    "-gt": lambda a, b: a > b,
    "-ge": lambda a, b: a >= b,
}
_TEXTS: dict[str, Callable[[str, str], bool]] = {
    **dict.fromkeys(("=", "=="), lambda a, b: a == b),
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
}


class _Condition(Struct):
    """Evaluates an expression, word by word."""

    process: ShellProcess
    words: list[str]
    patterns: bool
    depth: int = 0

    def whole(self) -> bool:
        value = self._either()
        if self.words:
            raise ValueError(f"{self.words[0]}: unexpected operator/operand")
        return value

    def _take(self, word: str) -> bool:
        found = self.words[:1] == [word]
        del self.words[: int(found)]
        return found

    def _either(self) -> bool:
        value = self._both()
        while self._take("-o"):
            value = self._both() or value
        return value

    def _both(self) -> bool:
        value = self._negation()
        while self._take("-a"):
            value = self._negation() and value
        return value

    def _negation(self) -> bool:
        negated = False
        while len(self.words) > 1 and not self._is_binary() and self._take("!"):
            negated = not negated
        return self._primary() != negated

    def _is_binary(self) -> bool:
        return len(self.words) > 2 and (self.words[1] in _TEXTS or self.words[1] in _NUMBERS)

    def _primary(self) -> bool:
        if not self.words:
            raise ValueError("missing argument")
        if self._is_binary():
            left, operator, right = (self.words.pop(0) for _ in range(3))
            return self._compare(left, operator, right)
        if len(self.words) > 2 and self._take("("):
            return self._parenthesis()
        word = self.words.pop(0)
        if self.words and (word in _FILES or word in {"-n", "-z", "-w", "-t"}):
            return self._single(word, self.words.pop(0))
        return word != ""

    def _parenthesis(self) -> bool:
        self.depth += 1
        if self.depth > 20:
            raise ValueError("nested too deeply")
        value = self._either()
        self.depth -= 1
        if not self._take(")"):
            raise ValueError("missing )")
        return value

    def _single(self, operator: str, operand: str) -> bool:
        if operator in {"-n", "-z"}:
            return (operand != "") == (operator == "-n")
        if operator == "-t":
            return False
        try:
            status = self.process.phone.storage.stat(self.process.path(operand))
        except OSError:
            return False
        return may_write(self.process.path(operand)) if operator == "-w" else _FILES[operator](status)

    def _compare(self, left: str, operator: str, right: str) -> bool:
        if operator in _NUMBERS:
            return _NUMBERS[operator](_whole(left), _whole(right))
        if self.patterns and operator in {"=", "==", "!="}:
            return Pattern([(right, False)]).matches(left) == (operator != "!=")
        return _TEXTS[operator](left, right)


def _whole(text: str) -> int:
    try:
        return int(text[:40])
    except ValueError:
        raise ValueError(f"{text[:40]}: bad number") from None


@command("test", "[", "[[")
def test(process: ShellProcess) -> int:
    words = process.argv[1:]
    closing = {"[": "]", "[[": "]]"}.get(process.name)
    if closing:
        if words[-1:] != [closing]:
            return process.error(f"missing {closing}", 2)
        words = words[:-1]
    if len(words) > _MAX_WORDS:
        return process.error("too many arguments", 2)
    if not words:
        return 1
    try:
        return int(not _Condition(process, words, patterns=process.name == "[[").whole())
    except ValueError as e:
        return process.error(str(e), 2)
