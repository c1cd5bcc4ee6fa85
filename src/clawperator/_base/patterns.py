"""Regular expressions that match a whole text in linear time: no pattern can hang.

Python's ``re`` may backtrack for ever, and nothing can stop it. These patterns are run as sets of states instead,
one character after the other. They know characters, classes, groups, alternatives and repeats, but neither
look-around nor backreferences, which need backtracking.
"""

from collections.abc import Callable
from functools import lru_cache
from string import hexdigits

from msgspec import Struct

MAX_STATES = 1_000
# A longer text never matches: the time grows with its length.
MAX_TEXT = 2_000
_MAX_DEPTH = 50
_MAX_REPEAT = 1_000

CharTest = Callable[[str], bool]

_MATCHED = -1
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}
_HEX = {"x": 2, "u": 4}
_CLASSES: dict[str, CharTest] = {
    "d": str.isdecimal,
    "w": lambda c: c.isalnum() or c == "_",
    "s": str.isspace,
}
_ASSERTIONS = {"b": "word", "B": "inside", "A": "start", "Z": "end", "z": "end"}


class _Chars(Struct, frozen=True):
    test: CharTest


class _Assertion(Struct, frozen=True):
    kind: str


class _Sequence(Struct, frozen=True):
    parts: "tuple[_Part, ...]"


class _Choice(Struct, frozen=True):
    branches: "tuple[_Part, ...]"


class _Repeat(Struct, frozen=True):
    part: "_Part"
    least: int
    most: int | None


_Part = _Chars | _Assertion | _Sequence | _Choice | _Repeat


class _State(Struct):
    """A state: one that takes a character, one with an assertion, or one with several ways on."""

    then: tuple[int, ...] = ()
    test: CharTest | None = None
    assertion: str = ""


class Pattern:
    """A compiled pattern. ``fullmatch`` takes time in proportion to the length of the text."""

    def __init__(self, states: list[_State], start: int) -> None:
        self._states = states
        self._start = start

    def fullmatch(self, text: str) -> bool:
        """Whether the pattern matches the whole text. One of more than ``MAX_TEXT`` characters never matches."""
        if len(text) > MAX_TEXT:
            return False
        states = self._states
        current = self._reached([self._start], text, 0)
        for at, char in enumerate(text, 1):
            after: list[int] = []
            for number in current:
                if number == _MATCHED:
                    continue
                state = states[number]
                if state.test is not None and state.test(char):
                    after += state.then
            if not after:
                return False
            current = self._reached(after, text, at)
        return _MATCHED in current

    def _reached(self, numbers: list[int], text: str, at: int) -> set[int]:
        """The states that are reached without a character."""
        reached: set[int] = set()
        while numbers:
            number = numbers.pop()
            if number in reached:
                continue
            reached.add(number)
            if number == _MATCHED:
                continue
            state = self._states[number]
            if state.test is None and (not state.assertion or _holds(state.assertion, text, at)):
                numbers += state.then
        return reached


@lru_cache(maxsize=64)
def compile_linear(text: str) -> Pattern:
    """Compile a pattern; ``ValueError`` with the reason when it is invalid or needs backtracking."""
    part = _Parser(text).parse()
    builder = _Builder()
    start = builder.build(part, _MATCHED)
    return Pattern(builder.states, start)


def _holds(assertion: str, text: str, at: int) -> bool:
    if assertion == "start":
        return at == 0
    if assertion == "end":
        return at == len(text)
    is_word = _CLASSES["w"]
    edge = (at > 0 and is_word(text[at - 1])) != (at < len(text) and is_word(text[at]))
    return edge == (assertion == "word")


class _Builder:
    """Builds the states of a pattern from its end to its start."""

    def __init__(self) -> None:
        self.states: list[_State] = []

    def build(self, part: _Part, then: int) -> int:
        """Add the states of a part that goes on at ``then``. Returns its first state."""
        match part:
            case _Chars(test):
                return self._add(_State((then,), test))
            case _Assertion(kind):
                return self._add(_State((then,), assertion=kind))
            case _Sequence(parts):
                for one in reversed(parts):
                    then = self.build(one, then)
                return then
            case _Choice(branches):
                return self._add(_State(tuple(self.build(branch, then) for branch in branches)))
            case _Repeat(repeated, least, most):
                return self._repeat(repeated, least, most, then)

    def _repeat(self, part: _Part, least: int, most: int | None, then: int) -> int:
        if most is None:
            loop = self._add(_State())
            self.states[loop].then = (self.build(part, loop), then)
            first = loop
        else:
            first = then
            for _ in range(most - least):
                first = self._add(_State((self.build(part, first), then)))
        for _ in range(least):
            first = self.build(part, first)
        return first

    def _add(self, state: _State) -> int:
        if len(self.states) >= MAX_STATES:
            raise ValueError(f"the pattern is too large: more than {MAX_STATES} states")
        self.states.append(state)
        return len(self.states) - 1


class _Parser:
    """Parses the syntax that Python, Java and JavaScript share."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0
        self._ignores_case = text.startswith("(?i)")
        if self._ignores_case:
            self._at = len("(?i)")

    def parse(self) -> _Part:
        part = self._choice()
        if self._at < len(self._text):
            raise self._error("unbalanced )")
        return part

    def _error(self, reason: str) -> ValueError:
        return ValueError(f"{reason} at position {self._at}")

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _next(self) -> str:
        char = self._peek()
        if not char:
            raise self._error("the pattern ends too early")
        self._at += 1
        return char

    def _take(self, text: str) -> bool:
        taken = self._text.startswith(text, self._at)
        self._at += len(text) if taken else 0
        return taken

    def _choice(self) -> _Part:
        branches = [self._sequence()]
        while self._take("|"):
            branches.append(self._sequence())
        return branches[0] if len(branches) == 1 else _Choice(tuple(branches))

    def _sequence(self) -> _Part:
        parts: list[_Part] = []
        while self._peek() not in ("", "|", ")"):
            parts.append(self._repeated(self._one()))
        return _Sequence(tuple(parts))

    def _repeated(self, part: _Part) -> _Part:
        limits = self._limits()
        if limits is None:
            return part
        if isinstance(part, _Assertion):
            raise self._error("nothing to repeat")
        # Lazy and possessive repeats accept the same whole texts, except that a possessive one may accept fewer.
        self._take("?")
        if self._limits() is not None:
            raise self._error("multiple repeat")
        return _Repeat(part, *limits)

    def _limits(self) -> tuple[int, int | None] | None:
        for mark, limits in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._take(mark):
                return limits
        end = self._text.find("}", self._at)
        if self._peek() != "{" or end < 0:
            return None
        least, comma, most = self._text[self._at + 1 : end].partition(",")
        numbers = [number for number in (least, most) if number]
        if not numbers or not all(n.isascii() and n.isdecimal() for n in numbers):
            return None  # a brace that is meant literally
        self._at = end + 1
        low = int(least or 0)
        high = (int(most) if most else None) if comma else low
        if low > _MAX_REPEAT or (high is not None and (high > _MAX_REPEAT or high < low)):
            raise self._error("invalid repeat")
        return low, high

    def _one(self) -> _Part:
        char = self._next()
        match char:
            case "(":
                return self._group()
            case "[":
                return _Chars(self._set())
            case ".":
                return _Chars(lambda c: c != "\n")
            case "^":
                return _Assertion("start")
            case "$":
                return _Assertion("end")
            case "\\":
                if self._peek() in _ASSERTIONS:
                    return _Assertion(_ASSERTIONS[self._next()])
                test, _ = self._escape()
                return _Chars(test)
            case "*" | "+" | "?":
                raise self._error("nothing to repeat")
        return _Chars(self._is_char(char))

    def _group(self) -> _Part:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise self._error("groups are nested too deeply")
        if self._take("?"):
            named = self._take("P<") or (self._peek() == "<" and self._text[self._at + 1 : self._at + 2].isalpha())
            if named:
                end = self._text.find(">", self._at)
                if end < 0:
                    raise self._error("a group without a name")
                self._at = end + 1
            elif not self._take(":"):
                raise self._error("look-around, inline flags and references are not supported")
        inner = self._choice()
        if not self._take(")"):
            raise self._error("missing )")
        self._depth -= 1
        return inner

    def _escape(self) -> tuple[CharTest, str]:
        """The test of an escape, and its character; an empty one for a class such as ``\\d``."""
        char = self._next()
        if char.lower() in _CLASSES:
            test = _CLASSES[char.lower()]
            return (test if char.islower() else lambda c: not test(c)), ""
        if char in _CONTROLS:
            char = _CONTROLS[char]
        elif char in _HEX:
            digits = self._text[self._at : self._at + _HEX[char]]
            if len(digits) < _HEX[char] or not all(digit in hexdigits for digit in digits):
                raise self._error(f"invalid escape \\{char}")
            self._at += len(digits)
            char = chr(int(digits, 16))
        elif char.isalnum():
            raise self._error(f"the escape \\{char} is not supported")
        return self._is_char(char), char

    def _is_char(self, wanted: str) -> CharTest:
        if self._ignores_case:
            folded = wanted.casefold()
            return lambda c: c.casefold() == folded
        return lambda c: c == wanted

    def _set(self) -> CharTest:
        is_negated = self._take("^")
        tests: list[CharTest] = []
        while not tests or self._peek() != "]":
            test, first = self._set_item()
            if first and self._peek() == "-" and self._text[self._at + 1 : self._at + 2] not in ("", "]"):
                self._next()
                _, last = self._set_item()
                if not last or last < first:
                    raise self._error("invalid range in a character set")
                test = self._is_between(first, last)
            tests.append(test)
        self._next()
        return lambda c: any(test(c) for test in tests) != is_negated

    def _set_item(self) -> tuple[CharTest, str]:
        char = self._next()
        return self._escape() if char == "\\" else (self._is_char(char), char)

    def _is_between(self, first: str, last: str) -> CharTest:
        if self._ignores_case:
            return lambda c: first <= c <= last or first <= c.lower() <= last or first <= c.upper() <= last
        return lambda c: first <= c <= last
