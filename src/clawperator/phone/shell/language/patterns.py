"""Shell patterns: ``*``, ``?`` and ``[...]``.

A pattern is matched in one pass: all positions in the pattern are tracked at once, as the bits of one number, so
no pattern is slow.
"""

import re
from collections.abc import Callable
from typing import TypeAlias

# Text, and whether it is quoted and therefore literal.
Segments: TypeAlias = "list[tuple[str, bool]]"
Test: TypeAlias = Callable[[str], object]


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


# The named classes of characters, as parts of a bracket expression of ``re``.
CLASSES = {
    "alpha": "A-Za-z",
    "digit": "0-9",
    "alnum": "A-Za-z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "space": r" \t-\r",
    "blank": r" \t",
    "punct": "!-/:-@\\[-`{-~",
    "xdigit": "0-9A-Fa-f",
}


def _read_class(characters: "list[tuple[str, bool]]", at: int) -> "tuple[int, Test] | None":
    """Read a bracket expression after its ``[``: its end and its test. None when it is not closed."""
    negated = at < len(characters) and characters[at] in (("!", False), ("^", False))
    at += negated
    accepted = "\\0"  # no text holds it: without any other character the class is empty
    start = at
    while at < len(characters):
        c, quoted = characters[at]
        if c == "]" and not quoted and at > start:
            return at + 1, re.compile(f"[{'^' * negated}{accepted}]").fullmatch
        if c == "[" and not quoted and characters[at + 1 : at + 2] == [(":", False)]:
            name = "".join(each for each, _ in characters[at + 2 : at + 10]).partition(":]")[0]
            if name in CLASSES:
                accepted += CLASSES[name]
                at += len(name) + 4
                continue
        if characters[at + 1 : at + 2] == [("-", False)] and at + 2 < len(characters):
            end = characters[at + 2]
            if end != ("]", False):
                accepted += f"{re.escape(c)}-{re.escape(end[0])}" if c <= end[0] else ""
                at += 3
                continue
        accepted += re.escape(c)
        at += 1
    return None
