"""Regular expressions as grep, sed and logcat write them, made trees."""

import re
from collections.abc import Iterator

from clawperator.phone.shell.regex.match import Regex
from clawperator.phone.shell.regex.tree import Again, Group, Look, Node, One, Repeat
from clawperator.phone.shell.toybox.options import UsageError

MAX_PATTERN = 4096
_MAX_COUNT = 1_000
_BRACKET = re.compile(r"\[(\^?)(\]?(?:\[[:.=].*?[:.=]\]|[^\]])*)\]")
_MODERN_BRACKET = re.compile(r"\[\^?(?:\\.|[^\]\\])+\]", re.DOTALL)
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
_AROUND = {"word": (r"(?<!\w)", r"(?!\w)"), "line": ("^", "$")}


def compile_regex(
    text: str, *, extended: bool, ignore_case: bool = False, around: str = "", modern: bool = False
) -> Regex:
    """A pattern; ``UsageError`` when it is none. ``around`` asks for a whole ``word`` or ``line``.

    A ``modern`` one has backslashes in its brackets, as in JavaScript.
    """
    if len(text) > MAX_PATTERN:
        raise UsageError("regex too long")
    try:
        parser = _Parser()
        for kind, piece in _tokens(text, extended=extended, modern=modern):
            parser.add(kind, piece)
        tree = parser.finish()
        if around:
            before, after = _AROUND[around]
            tree = Group(0, [[Look(before), tree, Look(after)]])
        return Regex(tree, parser.groups, ignore_case=ignore_case)
    except (re.error, RecursionError, OverflowError, ValueError) as e:
        raise UsageError(f"bad regex '{text}': {e}") from None


def compile_literal(text: str, *, ignore_case: bool = False, around: str = "") -> Regex:
    """A pattern that means itself."""
    escaped = re.sub(r"[][.*^$\\]", r"\\\g<0>", text)
    return compile_regex(escaped, extended=False, ignore_case=ignore_case, around=around)


class _Parser:
    """The tree of an expression, piece by piece."""

    def __init__(self) -> None:
        self.groups = 0
        self._open = [Group(0, [[]])]

    def add(self, kind: str, piece: str) -> None:
        here = self._open[-1].alternatives
        match kind:
            case "repeat":
                self._repeat(here[-1], piece)
            case "open":
                self.groups += 1
                self._open.append(Group(self.groups, [[]]))
            case "plainly open":
                self._open.append(Group(0, [[]]))
            case "or":
                here.append([])
            case "close":
                if len(self._open) == 1:
                    raise ValueError("unmatched )")
                closed = self._open.pop()
                self._open[-1].alternatives[-1].append(closed)
            case "look":
                here[-1].append(Look(piece))
            case "again":
                here[-1].append(Again(self._group(int(piece))))
            case "plain":
                here[-1].append(One(re.escape(piece), piece))
            case _:
                here[-1].append(One(piece))

    def finish(self) -> Group:
        if len(self._open) > 1:
            raise ValueError("unmatched (")
        return self._open[0]

    def _group(self, number: int) -> int:
        if number > self.groups or any(group.number == number for group in self._open):
            raise ValueError(f"invalid group reference {number}")
        return number

    def _repeat(self, sequence: list[Node], piece: str) -> None:
        if not sequence or isinstance(sequence[-1], Look):
            sequence.extend(One(re.escape(c), c) for c in piece)  # nothing to repeat: the sign itself
            return
        least, most = _counts(piece)
        sequence.append(Repeat(sequence.pop(), least, most))


def _counts(sign: str) -> tuple[int, int | None]:
    if sign in {"*", "+", "?"}:
        return int(sign == "+"), 1 if sign == "?" else None
    low, comma, high = sign[1:-1].partition(",")
    least = int(low or 0)
    most = int(high) if high else None if comma else least
    if max(least, most or 0) > _MAX_COUNT or (most is not None and most < least):
        raise ValueError("bad repetition count")
    return least, most


def _tokens(text: str, *, extended: bool, modern: bool) -> Iterator[tuple[str, str]]:
    """The pieces of an expression: what each is, and how Python writes it."""
    at = 0
    while at < len(text):
        c = text[at]
        if c == "[" and (bracket := (_MODERN_BRACKET if modern else _BRACKET).match(text, at)):
            yield "class", _translate_modern(bracket[0]) if modern else _translate_bracket(bracket)
            at = bracket.end()
            continue
        if extended and text.startswith("(?:", at):
            yield "plainly open", ""
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
        kind = {"(": "open", ")": "close", "|": "or", ".": "class", "^": "look", "$": "look"}.get(c)
        yield (kind, c) if special and kind else ("plain", c)
        at += 1


def _anchors(text: str, at: int) -> bool:
    """Whether ``^`` or ``$`` stands where a basic expression takes it for an anchor."""
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
    """What a backslash makes of a character."""
    if c in "wWsSdD":
        return "class", "\\" + c
    if c in "bB<>":
        return "look", {"<": r"\b(?=\w)", ">": r"\b(?<=\w)"}.get(c, "\\" + c)
    if c.isdigit() and c.isascii() and c != "0":
        return "again", c
    return "plain", {"n": "\n", "t": "\t"}.get(c, c)


def _translate_bracket(match: re.Match[str]) -> str:
    body = re.sub(r"\[:(\w+):\]", lambda m: f"\0{m[1]}\0", match[2])
    escaped = body.replace("\\", r"\\").replace("[", r"\[").replace("]", r"\]").replace("&&", r"&\&")
    escaped = re.sub(r"([-~|])\1", r"\1\\\1", escaped)
    classes = re.sub(r"\0(\w+)\0", lambda m: _CLASSES.get(m[1], ""), escaped)
    if not classes:
        return r"[^\s\S]" if not match[1] else r"[\s\S]"
    return f"[{match[1]}{classes}]"


def _translate_modern(bracket: str) -> str:
    body = re.sub(r"\\.|\[", lambda m: m[0] if len(m[0]) > 1 else r"\[", bracket[1:], flags=re.DOTALL)
    return "[" + re.sub(r"([-~|&])\1", r"\1\\\1", body)
