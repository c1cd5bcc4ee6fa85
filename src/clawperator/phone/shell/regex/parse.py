"""Parse regular expressions as grep, sed and logcat write them, and write them as Python's ``re`` does."""

import re
from collections.abc import Iterator
from typing import TypeAlias

from msgspec import Struct

_MAX_COUNT = 1_000
_MAX_NESTING = 50
_BRACKET = re.compile(r"\[(\^?)(\]?(?:\[[:.=].*?[:.=]\]|[^\]])*)\]")
_ECMA_BRACKET = re.compile(r"\[\^?(?:\\.|[^\]\\])+\]", re.DOTALL)
_REPEAT = re.compile(r"[*+?]|\{\d*,?\d*\}")
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
}
# In basic expressions these are ordinary without a backslash and special with one.
_SWAPPED = "(){}|+?"


class RegexChar(Struct, frozen=True):
    """A single character, as a pattern of ``re``. ``literal`` is the character if it can only be one."""

    pattern: str
    literal: str = ""


class RegexAssertion(Struct, frozen=True):
    """A condition between two characters, such as ``^`` or ``\\b``."""

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


def to_python(node: RegexNode) -> str:
    """A tree as a pattern of ``re``."""
    match node:
        case RegexChar(pattern) | RegexAssertion(pattern):
            return pattern
        case RegexBackreference(group):
            return f"(?:\\{group})"
        case RegexGroup(number, alternatives):
            inner = "|".join("".join(map(to_python, alternative)) for alternative in alternatives)
            return f"({inner})" if number else f"(?:{inner})"
        case RegexRepeat(body, least, most):
            return f"(?:{to_python(body)}){{{least},{'' if most is None else most}}}"


def parse_regex(text: str, *, extended: bool, ecma: bool = False) -> tuple[RegexGroup, int]:
    """The tree of an expression and the number of its groups. ``ValueError`` when it is malformed.

    With ``ecma``, brackets hold escapes as in JavaScript; otherwise the syntax is POSIX's.
    """
    parser = _Parser()
    for kind, piece in _tokens(text, extended=extended, ecma=ecma):
        parser.add(kind, piece)
    return parser.finish(), parser.groups


class _Parser:
    """Builds the tree of an expression, token by token."""

    def __init__(self) -> None:
        self.groups = 0
        self._open = [RegexGroup(0, [[]])]

    def add(self, kind: str, piece: str) -> None:
        here = self._open[-1].alternatives
        match kind:
            case "repeat":
                self._repeat(here[-1], piece)
            case "open":
                self.groups += 1
                self._push(RegexGroup(self.groups, [[]]))
            case "open without capture":
                self._push(RegexGroup(0, [[]]))
            case "or":
                here.append([])
            case "close":
                if len(self._open) == 1:
                    raise ValueError("unmatched )")
                closed = self._open.pop()
                self._open[-1].alternatives[-1].append(closed)
            case "assertion":
                here[-1].append(RegexAssertion(piece))
            case "backreference":
                here[-1].append(RegexBackreference(self._group(int(piece))))
            case "plain":
                here[-1].append(RegexChar(re.escape(piece), piece))
            case _:
                here[-1].append(RegexChar(piece))

    def _push(self, group: RegexGroup) -> None:
        if len(self._open) > _MAX_NESTING:
            raise ValueError("nested too deeply")
        self._open.append(group)

    def finish(self) -> RegexGroup:
        if len(self._open) > 1:
            raise ValueError("unmatched (")
        return self._open[0]

    def _group(self, number: int) -> int:
        if number > self.groups or any(group.number == number for group in self._open):
            raise ValueError(f"invalid group reference {number}")
        return number

    def _repeat(self, sequence: list[RegexNode], piece: str) -> None:
        if not sequence or isinstance(sequence[-1], RegexAssertion):
            sequence.extend(RegexChar(re.escape(c), c) for c in piece)  # nothing to repeat: a literal
            return
        least, most = _counts(piece)
        sequence.append(RegexRepeat(sequence.pop(), least, most))


def _counts(sign: str) -> tuple[int, int | None]:
    if sign in {"*", "+", "?"}:
        return int(sign == "+"), 1 if sign == "?" else None
    low, comma, high = sign[1:-1].partition(",")
    least = int(low or 0)
    most = int(high) if high else None if comma else least
    if max(least, most or 0) > _MAX_COUNT or (most is not None and most < least):
        raise ValueError("bad repetition count")
    return least, most


def _tokens(text: str, *, extended: bool, ecma: bool) -> Iterator[tuple[str, str]]:
    """The tokens of an expression: their kind, and their pattern in ``re``."""
    at = 0
    while at < len(text):
        c = text[at]
        if c == "[" and (bracket := (_ECMA_BRACKET if ecma else _BRACKET).match(text, at)):
            yield "class", _translate_ecma(bracket[0]) if ecma else _translate_bracket(bracket)
            at = bracket.end()
            continue
        if extended and text.startswith("(?:", at):
            yield "open without capture", ""
            at += 3
            continue
        special = c in "^$.*" or (c in _SWAPPED and extended)
        if c == "\\" and at + 1 < len(text):
            at += 1
            c = text[at]
            special = c in _SWAPPED and not extended
            if not special:
                yield _escape(c)
                at += 1
                continue
        repetition = _repetition(text, at, extended=extended) if special and c in "*+{?" else None
        if repetition:
            piece, at = repetition
            yield "repeat", piece
            continue
        if c in "^$" and not extended and not _anchors(text, at):
            special = False
        kind = {"(": "open", ")": "close", "|": "or", ".": "class", "^": "assertion", "$": "assertion"}.get(c)
        yield (kind, c) if special and kind else ("plain", c)
        at += 1


def _anchors(text: str, at: int) -> bool:
    """Whether ``^`` or ``$`` is an anchor at this place of a basic expression."""
    if text[at] == "^":
        return at == 0 or text[max(at - 2, 0) : at] in {r"\(", r"\|"}
    return at == len(text) - 1 or text[at + 1 : at + 3] in {r"\)", r"\|"}


def _repetition(text: str, at: int, *, extended: bool) -> tuple[str, int] | None:
    if text[at] != "{":
        return text[at], at + 1
    end = text.find("}" if extended else r"\}", at)
    sign = text[at:end].rstrip("\\") + "}"
    if end < 0 or not _REPEAT.fullmatch(sign):
        return None
    return ("{0," + sign[2:] if sign.startswith("{,") else sign), end + (1 if extended else 2)


def _escape(c: str) -> tuple[str, str]:
    """The token of an escaped character."""
    if c in "wWsSdD":
        return "class", "\\" + c
    if c in "bB<>":
        return "assertion", {"<": r"\b(?=\w)", ">": r"\b(?<=\w)"}.get(c, "\\" + c)
    if c.isdigit() and c.isascii() and c != "0":
        return "backreference", c
    return "plain", {"n": "\n", "t": "\t"}.get(c, c)


def _translate_bracket(match: re.Match[str]) -> str:
    body = re.sub(r"\[:(\w+):\]", lambda m: f"\0{m[1]}\0", match[2])
    escaped = body.replace("\\", r"\\").replace("[", r"\[").replace("]", r"\]").replace("&&", r"&\&")
    escaped = re.sub(r"([-~|])\1", r"\1\\\1", escaped)
    classes = re.sub(r"\0(\w+)\0", lambda m: _CLASSES.get(m[1], ""), escaped)
    if not classes:
        return r"[^\s\S]" if not match[1] else r"[\s\S]"
    return f"[{match[1]}{classes}]"


def _translate_ecma(bracket: str) -> str:
    if bracket == "[^]":
        return r"[\s\S]"
    body = re.sub(r"\\.|\[", lambda m: m[0] if len(m[0]) > 1 else r"\[", bracket[1:], flags=re.DOTALL)
    return "[" + re.sub(r"([-~|&])\1", r"\1\\\1", body)
