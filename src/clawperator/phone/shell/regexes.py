"""Regular expressions as grep and sed write them, made Python's.

A repetition of a repetition, or of alternatives that begin alike, can take Python for ever. It is refused.
"""

import re
from collections.abc import Iterator

from msgspec import Struct

from clawperator.phone.shell.options import UsageError

MAX_PATTERN = 4096
_BRACKET = re.compile(r"\[(\^?)(\]?(?:\[[:.=].*?[:.=]\]|[^\]])*)\]")
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


def compile_regex(text: str, *, extended: bool, ignore_case: bool = False) -> re.Pattern[str]:
    """A pattern; ``UsageError`` when it is none, or one that could run for ever."""
    if len(text) > MAX_PATTERN:
        raise UsageError("regex too long")
    try:
        return re.compile(_translate(text, extended=extended), re.IGNORECASE if ignore_case else 0)
    except (re.error, RecursionError, OverflowError) as e:
        raise UsageError(f"bad regex '{text}': {e}") from None


class _Group(Struct):
    """An open group: whether repeating it could take for ever, and how its alternatives begin."""

    repeats: bool = False
    begins: list[str] = []
    at_start: bool = True

    def begin(self, kind: str, piece: str) -> None:
        """Note how an alternative begins, if this is where one does."""
        if self.at_start and kind != "anchor":
            self.begins.append(piece if kind == "plain" else "")
            self.at_start = False

    def is_risky(self) -> bool:
        return self.repeats or (
            len(self.begins) > 1 and ("" in self.begins or len(set(self.begins)) < len(self.begins))
        )


def _translate(text: str, *, extended: bool) -> str:
    out: list[str] = []
    groups = [_Group()]
    risky = False
    for kind, piece in _tokens(text, extended=extended):
        here = groups[-1]
        if kind == "repeat" and here.at_start:
            out.append(re.escape(piece))  # nothing to repeat: the sign itself
            continue
        out.append(piece)
        if kind == "repeat":
            endless = piece in {"*", "+"} or piece.endswith(",}")
            if endless and risky:
                raise UsageError(f"bad regex '{text}': repetition of a repetition")
            here.repeats = here.repeats or endless
            continue
        risky = False
        here.begin(kind, piece)
        if kind == "open":
            groups.append(_Group())
        elif kind == "or":
            here.at_start = True
        elif kind == "close":
            groups.pop()
            if not groups:
                raise UsageError(f"bad regex '{text}': unmatched )")
            risky = here.is_risky()
            groups[-1].repeats = groups[-1].repeats or here.repeats
    return "".join(out)


def _tokens(text: str, *, extended: bool) -> Iterator[tuple[str, str]]:
    """The pieces of an expression: what each is, and how Python writes it."""
    at = 0
    while at < len(text):
        c = text[at]
        if c == "[" and (bracket := _BRACKET.match(text, at)):
            yield "class", _translate_bracket(bracket)
            at = bracket.end()
            continue
        special = c in "^$.*" or (c in _SWAPPED and extended)
        if c == "\\" and at + 1 < len(text):
            at += 1
            c = text[at]
            special = c in _SWAPPED and not extended
            if not special:
                yield "class" if c in "wWsS" or c.isdigit() else "plain", _escape(c)
                at += 1
                continue
        repetition = _repetition(text, at, extended=extended) if special and c in "*+{?" else None
        if repetition:
            piece, at = repetition
            yield "repeat", piece
            continue
        if c in "^$" and not extended and not _anchors(text, at):
            special = False
        kind = {"(": "open", ")": "close", "|": "or", ".": "class", "^": "anchor", "$": "anchor"}.get(c)
        yield (kind, c) if special and kind else ("plain", re.escape(c))
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


def _escape(c: str) -> str:
    if c in "wWsSbB" or (c.isdigit() and c != "0"):
        return "\\" + c
    return {"<": r"\b(?=\w)", ">": r"\b(?<=\w)", "n": "\n", "t": "\t"}.get(c) or re.escape(c)


def _translate_bracket(match: re.Match[str]) -> str:
    body = re.sub(r"\[:(\w+):\]", lambda m: f"\0{m[1]}\0", match[2])
    escaped = body.replace("\\", r"\\").replace("[", r"\[").replace("]", r"\]").replace("&&", r"&\&")
    escaped = re.sub(r"([-~|])\1", r"\1\\\1", escaped)
    classes = re.sub(r"\0(\w+)\0", lambda m: _CLASSES.get(m[1], ""), escaped)
    if not classes:
        return r"[^\s\S]" if not match[1] else r"[\s\S]"
    return f"[{match[1]}{classes}]"
