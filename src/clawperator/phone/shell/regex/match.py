"""Regular expressions that no pattern and no text can make slow.

Python's ``re`` is fast, but it may backtrack for ever, and nothing else runs meanwhile. So it is used only where
the pattern and the length of the line prove that it cannot. Otherwise the pattern is matched by a program that
remembers every choice that it has tried at a position, and never tries it there again.
"""

import re
from collections.abc import Iterator
from typing import TypeAlias

from msgspec import Struct

from clawperator.phone.shell.regex.parse import (
    RegexAssertion,
    RegexBackreference,
    RegexChar,
    RegexGroup,
    RegexNode,
    RegexRepeat,
    parse_regex,
    to_python,
)
from clawperator.phone.shell.toybox.options import OptionError

MAX_PATTERN = 4096
MAX_PROGRAM = 5_000
MAX_STEPS = 600_000  # choices, groups, assertions and restarts in one line: less than a second
_MAX_TRIED = 64 * 1024 * 1024
_MAX_RE_STEPS = 3_000_000.0  # that ``re`` may take at worst: some hundredths of a second
_OVERFLOW = 1e9
_MAX_CACHED = 4096
_AROUND = {"word": (r"(?<!\w)", r"(?!\w)"), "line": ("^", "$")}


def compile_regex(
    text: str, *, extended: bool, ignore_case: bool = False, around: str = "", ecma: bool = False
) -> "Regex":
    """Compile a pattern; ``OptionError`` if malformed. ``around`` asks for a whole ``word`` or ``line``."""
    if len(text) > MAX_PATTERN:
        raise OptionError("regex too long")
    try:
        tree, groups = parse_regex(text, extended=extended, ecma=ecma)
        if around:
            before, after = _AROUND[around]
            tree = RegexGroup(0, [[RegexAssertion(before), tree, RegexAssertion(after)]])
        return Regex(tree, groups, ignore_case=ignore_case)
    except (re.error, RecursionError, OverflowError, ValueError) as e:
        raise OptionError(f"bad regex '{text}': {e}") from None


def compile_literal(text: str, *, ignore_case: bool = False, around: str = "") -> "Regex":
    """Compile a pattern that matches only this text."""
    escaped = re.sub(r"[][.*^$\\]", r"\\\g<0>", text)
    return compile_regex(escaped, extended=False, ignore_case=ignore_case, around=around)


class RegexMatch(Struct, frozen=True):
    """A match. Group 0 is all of it; a group that took no part is empty."""

    text: str
    spans: "tuple[tuple[int, int], ...]"

    @property
    def start(self) -> int:
        return self.spans[0][0]

    @property
    def end(self) -> int:
        return self.spans[0][1]

    def __getitem__(self, group: int) -> str:
        start, end = self.spans[group]
        return self.text[start:end] if start >= 0 else ""


class Regex:
    """A compiled pattern. Searching raises ``OptionError`` when the pattern is too large, or the line too long."""

    def __init__(self, tree: RegexGroup, groups: int, *, ignore_case: bool = False) -> None:
        self.groups = groups
        self._tree = tree
        self._flags = re.IGNORECASE if ignore_case else 0
        self._pattern = re.compile(to_python(tree), self._flags)
        self._program: Program | None = None
        self._is_quick: dict[int, bool] = {}  # by the bit length of the text's length

    def search(self, text: str) -> RegexMatch | None:
        """The first match."""
        return next(self.find_all(text), None)

    def find_all(self, text: str) -> Iterator[RegexMatch]:
        """Every match, from left to right. An empty one does not touch the one before."""
        bits = len(text).bit_length()
        quick = self._is_quick.get(bits)
        if quick is None:
            quick = self._is_quick[bits] = (1 << bits) * _max_steps(self._tree, 1 << bits) <= _MAX_RE_STEPS
        run = None if quick else ProgramRun(self._compiled(), text)
        at, before = 0, -1
        while at <= len(text):
            if run is None:
                match = self._pattern.search(text, at)
                found = RegexMatch(text, match.regs) if match else None
            else:
                found = run.search(at)
            if found is None:
                return
            if found.end > found.start or found.start != before:
                yield found
            before = found.end
            at = found.end if found.end > found.start else found.end + 1

    def _compiled(self) -> "Program":
        if self._program is None:
            self._program = Program(self._tree, self.groups, self._flags)
        return self._program


def _max_steps(node: RegexNode, size: int) -> float:
    """How many steps ``re`` takes at most to find no match from one position on, in a text of this size."""
    match node:
        case RegexChar() | RegexAssertion():
            return 1
        case RegexBackreference():
            return size
        case RegexGroup(_, alternatives):
            total = 0.0
            for alternative in alternatives:
                ways = 1.0
                for part in alternative:
                    ways = min(ways * _max_steps(part, size), _OVERFLOW)
                total += ways
            return min(total, _OVERFLOW)
        case RegexRepeat(body, least, most):
            top = size if most is None else min(most, size)
            ways = _max_steps(body, size)
            return min(max(top, least) + 1 if ways <= 1 else ways ** min(top, 30), _OVERFLOW)


class _CharacterTest(dict[str, bool]):
    """Whether a character matches, computed once for each."""

    def __init__(self, pattern: str, flags: int) -> None:
        super().__init__()
        self._match = re.compile(pattern, flags).fullmatch

    def __missing__(self, character: str) -> bool:
        found = self._match(character) is not None
        if len(self) < _MAX_CACHED:
            self[character] = found
        return found


class _Take(Struct, frozen=True):
    """Match one character."""

    test: _CharacterTest


class _Save(Struct, frozen=True):
    """Remember the position as the start or the end of a group."""

    slot: int


class _Choose(Struct, frozen=True):
    """Continue at the first target; at each later one when those before it lead to no match."""

    number: int
    targets: tuple[int, ...]


_Step: TypeAlias = _Take | _Save | _Choose | re.Pattern[str] | None  # None is the end


class Program:
    """A tree as a list of steps. Patterns with back-references have none."""

    def __init__(self, tree: RegexGroup, groups: int, flags: int) -> None:
        self._flags = flags
        self.steps: list[_Step] = []
        self.groups = groups
        self.choices = 0
        self._add(tree)
        self.steps.append(None)
        first = tree.alternatives[0][0] if len(tree.alternatives) == 1 and tree.alternatives[0] else None
        self.prefix = first.literal if isinstance(first, RegexChar) and not flags else ""

    def _add(self, node: RegexNode) -> None:
        if len(self.steps) > MAX_PROGRAM:
            raise OptionError("regex too big")
        match node:
            case RegexChar(pattern):
                self.steps.append(_Take(_CharacterTest(pattern, self._flags)))
            case RegexAssertion(pattern):
                self.steps.append(re.compile(pattern, self._flags))
            case RegexBackreference():
                raise OptionError("regex with a back-reference is too complex for this line")
            case RegexGroup(number, alternatives):
                self._add_group(number, alternatives)
            case RegexRepeat():
                self._add_repeat(node)

    def _add_group(self, number: int, alternatives: list[list[RegexNode]]) -> None:
        if number:
            self.steps.append(_Save(2 * number))
        choice = self._reserve()
        starts, ends = [], []
        for alternative in alternatives:
            starts.append(len(self.steps))
            for node in alternative:
                self._add(node)
            ends.append(self._reserve())
        self._choose(choice, *starts)
        for end in ends:
            self._choose(end, len(self.steps))
        if number:
            self.steps.append(_Save(2 * number + 1))

    def _add_repeat(self, node: RegexRepeat) -> None:
        for _ in range(node.least):
            self._add(node.body)
        if node.most is None:
            choices = [self._reserve()]
            self._add(node.body)
            self._choose(self._reserve(), choices[0])
        else:
            choices = []
            for _ in range(node.most - node.least):
                choices.append(self._reserve())
                self._add(node.body)
        for choice in choices:
            self._choose(choice, choice + 1, len(self.steps))

    def _reserve(self) -> int:
        self.steps.append(None)
        return len(self.steps) - 1

    def _choose(self, at: int, *targets: int) -> None:
        self.steps[at] = _Choose(self.choices, targets)
        self.choices += 1


class ProgramRun:
    """The searches of a program in one text, which together take at most ``MAX_STEPS``."""

    def __init__(self, program: Program, text: str) -> None:
        self._program = program
        self._text = text
        self._spent = 0
        self._width = len(text) + 1
        if program.choices * self._width > _MAX_TRIED:
            raise OptionError("regex: out of memory")

    def search(self, begin: int) -> RegexMatch | None:
        program, text = self._program, self._text
        tried = bytearray(program.choices * self._width)
        self._spend(len(tried) // 1000)
        start = begin
        while start <= len(text):
            if program.prefix:
                start = text.find(program.prefix, start)
                if start < 0:
                    return None
            self._spend(1)
            if slots := self._match(start, tried):
                return RegexMatch(text, tuple(zip(slots[::2], slots[1::2], strict=True)))
            start += 1
        return None

    def _match(self, start: int, tried: bytearray) -> tuple[int, ...] | None:
        """Where the groups of a match at this position start and end; None without a match."""
        program, text, width = self._program, self._text, self._width
        pending = [(0, start, (start, -1) + (-1, -1) * program.groups)]
        while pending:
            step, at, slots = pending.pop()
            began = at
            while True:
                match program.steps[step]:
                    case _Take(test):
                        if at == len(text) or not test[text[at]]:
                            break
                        at += 1
                    case _Choose(number, targets):
                        self._spend(1)
                        if tried[number * width + at]:
                            break
                        tried[number * width + at] = 1
                        pending += [(target, at, slots) for target in reversed(targets[1:])]
                        step = targets[0]
                        continue
                    case _Save(slot):
                        self._spend(1 + (len(slots) >> 5))
                        slots = (*slots[:slot], at, *slots[slot + 1 :])
                    case None:
                        return (start, at, *slots[2:])
                    case assertion:
                        self._spend(1)
                        if not assertion.match(text, at):
                            break
                step += 1
            self._spend((at - began) >> 3)
        return None

    def _spend(self, steps: int) -> None:
        self._spent += steps
        if self._spent > MAX_STEPS:
            raise OptionError("regex used up its time")
