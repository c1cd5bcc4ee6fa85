"""Regular expressions that no pattern and no text can make slow.

Python's ``re`` is fast, but it may backtrack for ever, and nothing else runs meanwhile. So it is used only where
the pattern and the length of the text prove that it cannot. Otherwise the pattern is matched by a program that
remembers every choice that it has tried at a position, and never tries it there again.

There are four syntaxes. ``basic`` and ``extended`` are those of POSIX. ``common`` is what Python, Java and
JavaScript share, without look-around and back-references. ``ecma`` is the same as logcat reads it, with
back-references and with the empty brackets of JavaScript.
"""

import re
from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import Literal, TypeAlias

from msgspec import Struct

from clawperator.errors import ClawperatorException

MAX_PATTERN = 4096
MAX_PROGRAM = 5_000
MAX_STEPS = 600_000  # choices, groups, assertions and restarts in one line: less than a second
MAX_TEXT = 2_000  # for ``Regex.fullmatch``; a longer text never matches
_MAX_COMMON_PROGRAM = 2_000  # with texts of at most MAX_TEXT, this alone limits the time
_MAX_TRIED = 64 * 1024 * 1024
_MAX_RE_STEPS = 3_000_000.0  # that ``re`` may take at worst: some hundredths of a second
_OVERFLOW = 1e9
_MAX_CACHED = 4096
_MAX_COUNT = 1_000
_MAX_NESTING = 50

Syntax: TypeAlias = Literal["basic", "extended", "ecma", "common"]

_AROUND = {"word": (r"(?<!\w)", r"(?!\w)"), "line": ("^", "$")}
_CHARACTER = r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)"
_POSIX_TOKENS = r"(?P<set>\[\^?\]?(?:\[[:.=].*?[:.=]\]|[^\]])*\])|(?P<any>\.)|"
_COMMON_TOKENS = (
    r"(?P<any>\.)|(?P<open>\((?:\?:|\?P<[^>]*>|\?<[^\W\d_][^>]*>|(?!\?)))|(?P<close>\))|(?P<or>\|)|(?P<assertion>[\^$])"
    r"|(?P<repeat>(?:[*+?]|\{(?:[0-9]+,?[0-9]*|,[0-9]+)\})\??)|(?P<escape>" + _CHARACTER + r")|(?P<plain>[^\\\[(])"
)
_TOKENS: dict[Syntax, str] = {
    "basic": _POSIX_TOKENS
    + r"(?P<open>\\\()|(?P<close>\\\))|(?P<or>\\\|)|(?P<repeat>\*|\\[+?]|\\\{[0-9]*,?[0-9]*\\\})"
    r"|(?P<assertion>(?:\A|(?<=\\[(|]))\^|\$(?=\\[)|]|\Z))|(?P<escape>\\.)|(?P<plain>.)",
    "extended": _POSIX_TOKENS
    + r"(?P<open>\((?:\?:)?)|(?P<close>\))|(?P<or>\|)|(?P<repeat>[*+?]|\{[0-9]*,?[0-9]*\})"
    r"|(?P<assertion>[\^$])|(?P<escape>\\.)|(?P<plain>.)",
    "ecma": r"(?P<set>\[\^?(?:\\.|[^\]\\])*\])|" + _COMMON_TOKENS,
    "common": r"(?P<set>\[\^?+(?:\\.|[^\\])(?:\\.|[^\]\\])*\])|" + _COMMON_TOKENS,
}
# Why no token starts at a character.
_REFUSED = {"(": "look-around, inline flags and references are not supported", "[": "missing ]"}
_POSIX_ITEMS = r"\[:(\w+):\]|(.)(?:-(.))?"
_COMMON_ITEMS = rf"\\([dDwWsS])|({_CHARACTER}|.)(?:-({_CHARACTER}|.))?"
_CLASSES = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "space": r"\s",
    "blank": r" \t",
    "punct": r"!-/:-@\[-`{-~",
    "xdigit": "0-9a-fA-F",
    "print": r"\x20-\x7e",
    "cntrl": r"\x00-\x1f\x7f",
    **{letter: f"\\{letter}" for letter in "dDwWsS"},
}
_POSIX_ASSERTIONS = {"b": r"\b", "B": r"\B", "<": r"\b(?=\w)", ">": r"\b(?<=\w)"}
_COMMON_ASSERTIONS = {"b": r"\b", "B": r"\B", "A": r"\A", "Z": r"\Z", "z": r"\Z"}
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}


class RegexError(ClawperatorException, ValueError):
    """A pattern is invalid, too large, or too complex for a text."""


class RegexChar(Struct, frozen=True):
    """A single character, as a pattern of ``re``. ``literal`` is the character if it can only be one."""

    pattern: str
    literal: str = ""


class RegexAssertion(Struct, frozen=True):
    """A condition between two characters, such as ``^`` or ``\\b``, as a pattern of ``re``."""

    pattern: str


class RegexBackreference(Struct, frozen=True):
    """The text that a group has matched."""

    group: int


class RegexGroup(Struct, frozen=True):
    """Alternatives. ``number`` is 0 when the group does not capture."""

    number: int
    alternatives: "list[list[RegexNode]]"


class RegexRepeat(Struct, frozen=True):
    """``most`` is None when there is no limit."""

    body: "RegexNode"
    least: int
    most: int | None


RegexNode: TypeAlias = RegexChar | RegexAssertion | RegexBackreference | RegexGroup | RegexRepeat


def compile_regex(text: str, syntax: Syntax, *, ignore_case: bool = False, around: str = "") -> "Regex":
    """Compile a pattern; ``RegexError`` if malformed. ``around`` asks for a whole ``word`` or ``line``."""
    if len(text) > MAX_PATTERN:
        raise RegexError("regex too long")
    try:
        parser = _Parser(text, syntax)
        tree = parser.parse()
        if around:
            before, after = _AROUND[around]
            tree = RegexGroup(0, [[RegexAssertion(before), tree, RegexAssertion(after)]])
        return Regex(tree, parser.groups, ignore_case=ignore_case)
    except ValueError as e:
        raise RegexError(f"bad regex '{text}': {e}") from None


def compile_literal(text: str, *, ignore_case: bool = False, around: str = "") -> "Regex":
    """Compile a pattern that matches only this text."""
    escaped = re.sub(r"[][.*^$\\]", r"\\\g<0>", text)
    return compile_regex(escaped, "basic", ignore_case=ignore_case, around=around)


@lru_cache(maxsize=64)
def compile_linear(text: str) -> "Regex":
    """Compile a caller's pattern in the common syntax. ``(?i)`` at its start ignores case.

    ``RegexError`` with the reason when it is invalid, too large or needs backtracking. ``Regex.fullmatch`` of the
    result raises no error.
    """
    ignore_case = text.startswith("(?i)")
    parser = _Parser(text, "common", 4 if ignore_case else 0)
    try:
        tree = RegexGroup(0, [[parser.parse(), RegexAssertion(r"\Z")]])
    except ValueError as e:
        raise RegexError(f"{e} at position {parser.at}") from None
    regex = Regex(tree, 0, ignore_case=ignore_case)
    if len(regex.program.steps) > _MAX_COMMON_PROGRAM:
        raise RegexError("regex too big")
    return regex


class _Parser:
    """Parses a pattern token by token. ``at`` is the position of the token; ``ValueError`` when it is invalid."""

    def __init__(self, text: str, syntax: Syntax, at: int = 0) -> None:
        self.at = at
        self.groups = 0
        self._text = text
        self._tokens = re.compile(_TOKENS[syntax], re.DOTALL)
        self._is_posix = syntax in {"basic", "extended"}
        self._is_common = syntax == "common"
        self._open = [RegexGroup(0, [[]])]

    def parse(self) -> RegexGroup:
        while self.at < len(self._text):
            token = self._tokens.match(self._text, self.at)
            if token is None:
                raise ValueError(_REFUSED.get(self._text[self.at], "the pattern ends too early"))
            self._add(token.lastgroup or "", token[0])
            self.at = token.end()
        if len(self._open) > 1:
            raise ValueError("unmatched (")
        return self._open[0]

    def _add(self, kind: str, piece: str) -> None:
        alternatives = self._open[-1].alternatives
        sequence = alternatives[-1]
        match kind:
            case "repeat":
                self._repeat(sequence, piece.replace("\\", ""))
            case "open":
                self._push(captures=not self._is_common and not piece.endswith(":"))
            case "close":
                if len(self._open) == 1:
                    raise ValueError("unmatched )")
                closed = self._open.pop()
                self._open[-1].alternatives[-1].append(closed)
            case "or":
                alternatives.append([])
            case "set":
                sequence.append(RegexChar(self._set(piece)))
            case "any":
                sequence.append(RegexChar("."))
            case "assertion":
                # In ``re``, "$" also matches before a newline at the end.
                sequence.append(RegexAssertion(piece.replace("$", r"\Z") if self._is_common else piece))
            case "escape":
                sequence.append(self._escaped(piece))
            case _:
                sequence.append(_literal(piece))

    def _push(self, *, captures: bool) -> None:
        if len(self._open) > _MAX_NESTING:
            raise ValueError("groups are nested too deeply")
        self.groups += captures
        self._open.append(RegexGroup(self.groups if captures else 0, [[]]))

    def _repeat(self, sequence: list[RegexNode], sign: str) -> None:
        if not sequence or isinstance(sequence[-1], RegexAssertion):
            if not self._is_posix:
                raise ValueError("nothing to repeat")
            sequence.extend(map(_literal, sign))
            return
        if not self._is_posix and isinstance(sequence[-1], RegexRepeat):
            raise ValueError("multiple repeat")
        least, most = _counts(sign)
        sequence.append(RegexRepeat(sequence.pop(), least, most))

    def _escaped(self, piece: str) -> RegexNode:
        letter = piece[1:]
        if letter in "wWsSdD":
            return RegexChar(piece)
        assertions = _POSIX_ASSERTIONS if self._is_posix else _COMMON_ASSERTIONS
        if letter in assertions:
            return RegexAssertion(assertions[letter])
        if letter in "123456789" and not self._is_common:
            number = int(letter)
            if number > self.groups or any(group.number == number for group in self._open):
                raise ValueError(f"invalid group reference {number}")
            return RegexBackreference(number)
        return _literal(self._character(piece))

    def _character(self, piece: str) -> str:
        """The character that a piece of a pattern stands for."""
        if piece[0] != "\\" or piece == "\\":
            return piece
        letter = piece[1:]
        if self._is_posix:
            return {"n": "\n", "t": "\t"}.get(letter, letter)
        if len(letter) > 1:
            return chr(int(letter[1:], 16))
        if letter.isalnum() and letter not in _CONTROLS:
            raise ValueError(f"the escape {piece} is not supported")
        return _CONTROLS.get(letter, letter)

    def _set(self, bracket: str) -> str:
        """A bracket expression as ``re`` writes it."""
        is_negated = bracket[1] == "^"
        inner = ""
        for item in re.finditer(
            _POSIX_ITEMS if self._is_posix else _COMMON_ITEMS, bracket[1 + is_negated : -1], re.DOTALL
        ):
            name, first, last = item.groups()
            if name:
                inner += _CLASSES.get(name, "")
                continue
            ends = [self._character(end) for end in (first, last) if end]
            if ends != sorted(ends):
                raise ValueError(f"invalid range {item[0]} in a character set")
            inner += "-".join(map(re.escape, ends))
        return f"[{'^' * is_negated}{inner}]" if inner else r"[\s\S]" if is_negated else r"[^\s\S]"


def _literal(character: str) -> RegexChar:
    return RegexChar(re.escape(character), character)


def _counts(sign: str) -> tuple[int, int | None]:
    """How often a sign repeats. A lazy one is read as a greedy one: it matches the same texts."""
    if sign[0] != "{":
        return int(sign[0] == "+"), 1 if sign[0] == "?" else None
    low, comma, high = sign.rstrip("?")[1:-1].partition(",")
    least = int(low or 0)
    most = int(high) if high else None if comma else least
    if max(least, most or 0) > _MAX_COUNT or (most is not None and most < least):
        raise ValueError("bad repetition count")
    return least, most


def _to_python(node: RegexNode) -> str:
    """A tree as a pattern of ``re``."""
    match node:
        case RegexChar(pattern) | RegexAssertion(pattern):
            return pattern
        case RegexBackreference(group):
            return f"(?:\\{group})"
        case RegexGroup(number, alternatives):
            inner = "|".join("".join(map(_to_python, alternative)) for alternative in alternatives)
            return f"({inner})" if number else f"(?:{inner})"
        case RegexRepeat(body, least, most):
            return f"(?:{_to_python(body)}){{{least},{'' if most is None else most}}}"


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
    """A compiled pattern. Searching raises ``RegexError`` when the pattern is too large, or the line too long."""

    def __init__(self, tree: RegexGroup, groups: int, *, ignore_case: bool = False) -> None:
        self.groups = groups
        self._tree = tree
        self._flags = re.IGNORECASE if ignore_case else 0
        try:
            self._pattern = re.compile(_to_python(tree), self._flags)
        except (re.error, RecursionError, OverflowError) as e:
            raise RegexError(str(e)) from None
        self._is_quick: dict[int, bool] = {}  # by the bit length of the text's length

    def search(self, text: str) -> RegexMatch | None:
        """The first match."""
        return next(self.find_all(text), None)

    def find_all(self, text: str) -> Iterator[RegexMatch]:
        """Every match, from left to right. An empty one does not touch the one before."""
        run = None if self._suits_re(len(text)) else ProgramRun(self.program, text, MAX_STEPS)
        at, before = 0, -1
        while at <= len(text):
            if run is None:
                match = self._pattern.search(text, at)
                found = RegexMatch(text, match.regs) if match else None
            else:
                found = run.search(at, len(text))
            if found is None:
                return
            if found.end > found.start or found.start != before:
                yield found
            before = found.end
            at = found.end if found.end > found.start else found.end + 1

    def fullmatch(self, text: str) -> bool:
        """Whether a pattern of ``compile_linear`` matches the whole text; never if beyond ``MAX_TEXT``."""
        if len(text) > MAX_TEXT:
            return False
        if self._suits_re(len(text)):
            return self._pattern.match(text) is not None
        # The sizes of the program and of the text limit the steps.
        return ProgramRun(self.program, text, float("inf")).search(0, 0) is not None

    def _suits_re(self, length: int) -> bool:
        """Whether ``re`` is quick with every text of about this length."""
        bits = length.bit_length()
        quick = self._is_quick.get(bits)
        if quick is None:
            quick = self._is_quick[bits] = (1 << bits) * _max_steps(self._tree, 1 << bits) <= _MAX_RE_STEPS
        return quick

    @cached_property
    def program(self) -> "Program":
        return Program(self._tree, self.groups, self._flags)


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
        self._pattern = pattern
        self._flags = flags

    def __missing__(self, character: str) -> bool:
        found = re.fullmatch(self._pattern, character, self._flags) is not None
        if len(self) < _MAX_CACHED:
            self[character] = found
        return found


class _Choose(Struct, frozen=True):
    """Continue at the first target; at each later one when those before it lead to no match."""

    number: int
    targets: tuple[int, ...]


# A number is a slot to remember the position in, as the start or the end of a group; None is the end.
_Step: TypeAlias = _CharacterTest | int | _Choose | re.Pattern[str] | None


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
            raise RegexError("regex too big")
        match node:
            case RegexChar(pattern):
                self.steps.append(_CharacterTest(pattern, self._flags))
            case RegexAssertion(pattern):
                self.steps.append(re.compile(pattern, self._flags))
            case RegexBackreference():
                raise RegexError("regex with a back-reference is too complex for this line")
            case RegexGroup(number, alternatives):
                self._add_group(number, alternatives)
            case RegexRepeat():
                self._add_repeat(node)

    def _add_group(self, number: int, alternatives: list[list[RegexNode]]) -> None:
        if number:
            self.steps.append(2 * number)
        starts, ends = [], []
        choice = len(self.steps)
        for alternative in alternatives:
            if len(alternatives) > 1:
                ends.append(self._reserve())
            starts.append(len(self.steps))
            for node in alternative:
                self._add(node)
        for end in ends[1:]:
            self._choose(end, len(self.steps))
        if ends:
            self._choose(choice, *starts)
        if number:
            self.steps.append(2 * number + 1)

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
    """The searches of a program in one text, which together take at most ``max_steps``."""

    def __init__(self, program: Program, text: str, max_steps: float) -> None:
        self._program = program
        self._text = text
        self._steps_left = max_steps
        self._width = len(text) + 1
        if program.choices * self._width > _MAX_TRIED:
            raise RegexError("regex: out of memory")

    def search(self, begin: int, last: int) -> RegexMatch | None:
        """The first match that starts at ``begin`` or later, and at ``last`` at the latest."""
        program, text = self._program, self._text
        tried = bytearray(program.choices * self._width)
        self._spend(len(tried) // 1000)
        start = begin
        while start <= last:
            if program.prefix:
                start = text.find(program.prefix, start)
                if not 0 <= start <= last:
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
                    case _CharacterTest() as test:
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
                    case int(slot):
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
        self._steps_left -= steps
        if self._steps_left < 0:
            raise RegexError("regex used up its time")
