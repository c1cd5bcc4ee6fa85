"""Shell patterns: ``*``, ``?`` and ``[...]``.

A pattern is matched in one pass: all positions in the pattern are tracked at once, as the bits of one number, so
no pattern is slow.
"""

from collections.abc import Callable, Iterable
from typing import TypeAlias

# Text, and whether it is quoted and therefore literal.
Segments: TypeAlias = "list[tuple[str, bool]]"
Test: TypeAlias = "Callable[[str], bool]"


def is_pattern(segments: Segments) -> bool:
    return any(not quoted and any(c in text for c in "*?[") for text, quoted in segments)


class Pattern:
    """A compiled pattern."""

    def __init__(self, segments: Segments) -> None:
        self._tests: list[str | Test] = []
        self._loops = 0
        characters = [(c, quoted) for text, quoted in segments for c in text]
        at = 0
        while at < len(characters):
            c, quoted = characters[at]
            at += 1
            if quoted or c not in "*?[":
                if c == "\\" and not quoted and at < len(characters):
                    c = characters[at][0]
                    at += 1
                self._tests.append(c)
            elif c == "*":
                self._loops |= 1 << len(self._tests)
            elif c == "?":
                self._tests.append(lambda _: True)
            elif test := _read_class(characters, at):
                at, accepts = test
                self._tests.append(accepts)
            else:
                self._tests.append("[")
        self._masks: dict[str, int] = {}
        self.examined = 0  # characters, in all matches together

    @property
    def starts_with_dot(self) -> bool:
        return not self._loops & 1 and self._tests[:1] == ["."]

    def matches(self, text: str) -> bool:
        return len(text) in self.ends(text)

    def ends(self, text: str, start: int = 0) -> list[int]:
        """Every position where a match from ``start`` can end, in order."""
        final = 1 << len(self._tests)
        active = 1
        found = [start] if active & final else []
        at = start
        for at in range(start, len(text)):
            active = ((active & self._mask(text[at])) << 1) | (active & self._loops)
            if not active:
                break
            if active & final:
                found.append(at + 1)
        self.examined += at - start
        return found

    def reversed(self) -> "Pattern":
        """The pattern that matches the reversed texts."""
        backwards = Pattern([])
        backwards._tests = self._tests[::-1]
        size = len(self._tests)
        backwards._loops = sum(1 << (size - bit) for bit in range(size + 1) if self._loops >> bit & 1)
        return backwards

    def _mask(self, c: str) -> int:
        mask = self._masks.get(c)
        if mask is None:
            mask = 0
            for bit, test in enumerate(self._tests):
                if test == c if isinstance(test, str) else test(c):
                    mask |= 1 << bit
            self._masks[c] = mask
        return mask


CLASSES: dict[str, Test] = {
    "alpha": str.isalpha,
    "digit": str.isdigit,
    "alnum": str.isalnum,
    "upper": str.isupper,
    "lower": str.islower,
    "space": str.isspace,
    "blank": lambda c: c in " \t",
    "punct": lambda c: c.isascii() and c.isprintable() and not c.isalnum() and c != " ",
    "xdigit": lambda c: c in "0123456789abcdefABCDEF",
}


def _read_class(characters: "list[tuple[str, bool]]", at: int) -> "tuple[int, Test] | None":
    """Read a bracket expression after its ``[``: its end and its test. None when it is not closed."""
    negated = at < len(characters) and characters[at] in (("!", False), ("^", False))
    at += negated
    single: set[str] = set()
    ranges: list[tuple[str, str]] = []
    named: list[Test] = []
    start = at
    while at < len(characters):
        c, quoted = characters[at]
        if c == "]" and not quoted and at > start:
            return at + 1, _accept(single, ranges, named, negated=negated)
        if c == "[" and not quoted and characters[at + 1 : at + 2] == [(":", False)]:
            name = _text(characters[at + 2 : at + 10]).partition(":]")[0]
            if name in CLASSES:
                named.append(CLASSES[name])
                at += len(name) + 4
                continue
        if characters[at + 1 : at + 2] == [("-", False)] and at + 2 < len(characters):
            end = characters[at + 2]
            if end != ("]", False):
                ranges.append((c, end[0]))
                at += 3
                continue
        single.add(c)
        at += 1
    return None


def _text(characters: Iterable[tuple[str, bool]]) -> str:
    return "".join(c for c, _ in characters)


def _accept(single: set[str], ranges: "list[tuple[str, str]]", named: list[Test], *, negated: bool) -> Test:
    def accepts(c: str) -> bool:
        inside = c in single or any(a <= c <= b for a, b in ranges) or any(test(c) for test in named)
        return inside != negated

    return accepts
