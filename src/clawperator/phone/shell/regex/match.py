"""Matching regular expressions in a time that no pattern and no text makes long.

Python's own matcher is fast, but it can try for ever, and nothing else runs meanwhile. So it is used only
where the tree of a pattern shows that it cannot. Everywhere else the tree is made a program that notes each
place where a choice led nowhere, and never goes there again.
"""

import re
from collections.abc import Iterator
from typing import TypeAlias

from msgspec import Struct

from clawperator.phone.shell.regex.tree import Again, Group, Look, Node, One, Repeat, cost, write
from clawperator.phone.shell.toybox.options import UsageError

MAX_PROGRAM = 5_000
MAX_STEPS = 1_500_000  # choices and restarts in one line
_MAX_NOTES = 64 * 1024 * 1024
_QUICK = 3_000_000.0  # steps that Python's matcher may take at worst: some hundredths of a second
_CACHED = 4096


class Found(Struct, frozen=True):
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
    """A compiled pattern. ``UsageError`` when it is too large, or when a line takes too long."""

    def __init__(self, tree: Group, groups: int, *, ignore_case: bool = False) -> None:
        self.groups = groups
        self._tree = tree
        self._flags = re.IGNORECASE if ignore_case else 0
        self._quick = re.compile(write(tree), self._flags)
        self._program: Program | None = None
        self._is_quick: dict[int, bool] = {}  # by the number of digits of the length of a text

    def search(self, text: str) -> Found | None:
        """The first match."""
        return next(self.find_all(text), None)

    def find_all(self, text: str) -> Iterator[Found]:
        """Every match, from left to right. An empty one does not touch the one before."""
        digits = len(text).bit_length()
        quick = self._is_quick.get(digits)
        if quick is None:
            size = 1 << digits
            quick = self._is_quick[digits] = size * cost(self._tree, size) <= _QUICK
        run = None if quick else self._run(text)
        at, before = 0, -1
        while at <= len(text):
            if run is None:
                match = self._quick.search(text, at)
                found = Found(text, match.regs) if match else None
            else:
                found = run.search(at)
            if found is None:
                return
            if found.end > found.start or found.start != before:
                yield found
            before = found.end
            at = found.end if found.end > found.start else found.end + 1

    def _run(self, text: str) -> "_Run":
        if self._program is None:
            self._program = Program(self._tree, self.groups, self._flags)
        return _Run(self._program, text)


class _Characters(dict[str, bool]):
    """Which characters are meant, asked once for each."""

    def __init__(self, pattern: str, flags: int) -> None:
        super().__init__()
        self._match = re.compile(pattern, flags).fullmatch

    def __missing__(self, character: str) -> bool:
        found = self._match(character) is not None
        if len(self) < _CACHED:
            self[character] = found
        return found


class _Take(Struct, frozen=True):
    characters: _Characters


class _Check(Struct, frozen=True):
    pattern: re.Pattern[str]


class _Save(Struct, frozen=True):
    place: int


class _Choose(Struct, frozen=True):
    """Go on at ``first``, and at ``second`` when that leads nowhere."""

    number: int
    first: int
    second: int


class _Jump(Struct, frozen=True):
    to: int


_Step: TypeAlias = _Take | _Check | _Save | _Choose | _Jump | Again | None  # None is the end


class Program:
    """A tree as a list of steps."""

    def __init__(self, tree: Group, groups: int, flags: int) -> None:
        self._flags = flags
        self.steps: list[_Step] = []
        self.groups = groups
        self.choices = 0
        self.looks_back = False  # then what was matched matters, not only where one is
        self._add(tree)
        self.steps.append(None)
        opening = tree.alternatives[0][0] if len(tree.alternatives) == 1 and tree.alternatives[0] else None
        self.opening = opening.literal if isinstance(opening, One) and not flags else ""

    def _add(self, node: Node) -> None:
        if len(self.steps) > MAX_PROGRAM:
            raise UsageError("regex too big")
        match node:
            case One(pattern):
                self.steps.append(_Take(_Characters(pattern, self._flags)))
            case Look(pattern):
                self.steps.append(_Check(re.compile(pattern, self._flags)))
            case Again():
                self.looks_back = True
                self.steps.append(node)
            case Group(number, alternatives):
                if number:
                    self.steps.append(_Save(2 * number))
                self._add_alternatives(alternatives)
                if number:
                    self.steps.append(_Save(2 * number + 1))
            case Repeat():
                self._add_repeat(node)

    def _add_alternatives(self, alternatives: list[list[Node]]) -> None:
        ends: list[int] = []
        for alternative in alternatives[:-1]:
            choice = self._reserve()
            self._add_all(alternative)
            ends.append(self._reserve())
            self._put_choice(choice, choice + 1, len(self.steps))
        self._add_all(alternatives[-1])
        for end in ends:
            self.steps[end] = _Jump(len(self.steps))

    def _add_all(self, nodes: list[Node]) -> None:
        for node in nodes:
            self._add(node)

    def _add_repeat(self, node: Repeat) -> None:
        for _ in range(node.least):
            self._add(node.body)
        if node.most is None:
            choice = self._reserve()
            self._add(node.body)
            self.steps.append(_Jump(choice))
            self._put_choice(choice, choice + 1, len(self.steps))
            return
        choices = []
        for _ in range(node.most - node.least):
            choices.append(self._reserve())
            self._add(node.body)
        for choice in choices:
            self._put_choice(choice, choice + 1, len(self.steps))

    def _reserve(self) -> int:
        self.steps.append(None)
        return len(self.steps) - 1

    def _put_choice(self, at: int, first: int, second: int) -> None:
        self.steps[at] = _Choose(self.choices, first, second)
        self.choices += 1


class _Run:
    """A program and a text."""

    def __init__(self, program: Program, text: str) -> None:
        self._program = program
        self._text = text
        self._spent = 0
        self._width = len(text) + 1
        if program.choices * self._width > _MAX_NOTES:
            raise UsageError("regex: out of memory")

    def search(self, begin: int) -> Found | None:
        program, text = self._program, self._text
        notes = bytearray(0 if program.looks_back else program.choices * self._width)
        self._spend(len(notes) // 1000)
        start = begin
        while start <= len(text):
            if program.opening:
                start = text.find(program.opening, start)
                if start < 0:
                    return None
            self._spend(1)
            if places := self._match(start, notes):
                return Found(text, tuple(zip(places[::2], places[1::2], strict=True)))
            start += 1
        return None

    def _match(  # noqa: C901, PLR0912 - one machine in one loop, where every call would cost
        self, start: int, notes: bytearray
    ) -> tuple[int, ...] | None:
        """Where the groups begin and end in a match from here on; None when there is none."""
        program, text, width = self._program, self._text, self._width
        waiting = [(0, start, (start, -1) + (-1, -1) * program.groups)]
        while waiting:
            step, at, places = waiting.pop()
            began = at
            while True:
                match program.steps[step]:
                    case _Take(characters):
                        if at == len(text) or not characters[text[at]]:
                            break
                        at += 1
                    case _Choose(number, first, second):
                        self._spend(1)
                        if notes:
                            note = number * width + at
                            if notes[note]:
                                break
                            notes[note] = 1
                        waiting.append((second, at, places))
                        step = first
                        continue
                    case _Jump(to):
                        step = to
                        continue
                    case _Save(place):
                        places = (*places[:place], at, *places[place + 1 :])
                    case _Check(pattern):
                        if not pattern.match(text, at):
                            break
                    case Again(group):
                        said = text[max(places[2 * group], 0) : max(places[2 * group + 1], 0)]
                        if places[2 * group + 1] < 0 or not text.startswith(said, at):
                            break
                        at += len(said)
                    case None:
                        return (start, at, *places[2:])
                step += 1
            self._spend((at - began) >> 3)
        return None

    def _spend(self, steps: int) -> None:
        self._spent += steps
        if self._spent > MAX_STEPS:
            raise UsageError("regex used up its time")
