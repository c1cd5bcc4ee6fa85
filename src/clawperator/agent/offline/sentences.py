"""Cutting a prompt into the sentences of its instructions.

What is quoted, and JSON in braces, is never cut. Full stops, semicolons, line ends and "then" always cut; "and",
"&" and a comma only where what follows begins like an instruction. The marks and numbers of a list are left out.
"""

import re

QUOTES = {'"': '"', "“": "”", "„": "“", "«": "»", "`": "`", "'": "'", "\u2018": "\u2019"}
HIDDEN = "\0"
# These stand inside words too, so they open a quotation only where a word could begin.
_APOSTROPHES = ("'", "\u2018")
_CURLED = "\u2019"

_HARD = re.compile(r"\s*(?:[;\r\n]+|[.!?]+(?=\s|$)|(?<!\w)(?:and\s+)?then(?!\w))\s*", re.IGNORECASE)
_SOFT = re.compile(r"\s*,\s*(?:and\s+)?|\s+(?:and|&)(?:\s*,\s*|\s+)", re.IGNORECASE)
_BULLET = re.compile(r"(?m)^[ \t]*[-*\u2022][ \t]+")
_NUMBERED = re.compile(r"\s*1[.)]\s")
_EDGES = " \t\r\n\v\f,;.!?:"

_POLITE_BEFORE = re.compile(
    r"(?:(?:please|pls|plz|kindly|now|next|first of all|first|finally|also|ok|okay|so|well|just|and|"
    r"(?:hello|hi|hey)(?: there| claw| clawperator)?|"
    r"(?:can|could|would|will) (?:you|u)(?! see\b)|"
    r"(?:i|we) (?:want|need)(?: you)? to|(?:i|we)(?: would|'d) like(?: you)? to|"
    r"let us|let's|go ahead and|try to)(?:\s*,\s*|\s+))+",
    re.IGNORECASE,
)
_POLITE_AFTER = re.compile(
    r"(?:(?:\s*,\s*|(?<!\bno)\s+)(?:please|pls|plz|for me|thanks|thank you|thank you very much))+", re.IGNORECASE
)
_GREETING = re.compile(r"(?:hello|hi|hey)(?: there| claw| clawperator)?", re.IGNORECASE)
_ONLY_POLITE = re.compile(
    r"(?:please|pls|plz|thanks|thank you|thank you very much|ok|okay|now|and)", re.IGNORECASE
)

_HEADS = re.compile(
    r"(?:(?:open|launch|start|begin|run|use|close|kill|quit|exit|force[- ]stop|tap|click|press|select|choose|"
    r"touch|hit|pick|push|long[- ]?(?:press|tap|click)|hold|type|enter|write|input|insert|put|fill|search|"
    r"look (?:for|up|at|whether|if)|clear|empty|erase|turn|switch|toggle|set|enable|disable|activate|deactivate|"
    r"tick|untick|uncheck|scroll|find|locate|go (?:to|back|home)|navigate|browse|visit|wait|what|what's|whats|"
    r"which|how much|describe|read|tell me|is|are|do you see|see (?:if|whether)|"
    r"check|verify|take|capture|record|stop|finish|end|pull|fetch|list|show)\s+\S"
    r"|(?:go back|go home|back|home|submit|search|screenshot|help|scroll)\s*(?:$|,|\sand\s))",
    re.IGNORECASE,
)
_HOLDING = re.compile(r"(?:^|\s)(?:press|tap|click|touch)$", re.IGNORECASE)


def mask(text: str) -> str:
    """The same text, of the same length, unreadable where it is quoted or in braces, with plain apostrophes."""
    out: list[str] = []
    unclosed: set[str] = set()
    at = 0
    while at < len(text):
        end = _closing(text, at, unclosed)
        out.append(text[at] if end is None else HIDDEN * (end - at))
        at = at + 1 if end is None else end
    return "".join(out).replace(_CURLED, "'")


def _closing(text: str, at: int, unclosed: set[str]) -> int | None:
    """Where what is opened at ``at`` ends; None when nothing is, or when it never ends."""
    opening = text[at]
    if opening in unclosed or (opening not in QUOTES and opening != "{"):
        return None
    if opening in _APOSTROPHES and at and (text[at - 1].isalnum() or text[at - 1] == "_"):
        return None
    end = _brace_end(text, at) if opening == "{" else _quote_end(text, at, QUOTES[opening])
    if end is None:
        unclosed.add(opening)
    return end


def _quote_end(text: str, at: int, closing: str) -> int | None:
    end = text.find(closing, at + 1)
    while end != -1 and closing in ("'", _CURLED) and end + 1 < len(text) and text[end + 1].isalnum():
        end = text.find(closing, end + 1)
    return None if end == -1 else end + 1


def _brace_end(text: str, at: int) -> int | None:
    depth = 0
    quoted = False
    i = at
    while i < len(text):
        c = text[i]
        if quoted and c == "\\":
            i += 1
        elif c == '"':
            quoted = not quoted
        elif not quoted and c in "{}":
            depth += 1 if c == "{" else -1
            if depth == 0:
                return i + 1
        i += 1
    return None


def sentences(text: str) -> list[str]:
    """The sentences, each of which asks for one thing, without politeness. What says nothing else is left out."""
    found = []
    for start, end in _cut(_without_marks(mask(text))):
        sentence = without_politeness(text[start:end])
        if sentence and not _ONLY_POLITE.fullmatch(sentence):
            found.append(sentence)
    others = [sentence for sentence in found if not _GREETING.fullmatch(sentence)]
    return others or found


def _without_marks(masked: str) -> str:
    """The same text, of the same length, with line ends and spaces for the marks and numbers of a list."""
    masked = _BULLET.sub(lambda found: "\n".ljust(len(found[0])), masked)
    found = _NUMBERED.match(masked)
    number = 1
    while found:
        masked = masked[: found.start()] + "\n".ljust(len(found[0])) + masked[found.end() :]
        number += 1
        found = re.compile(rf"\s{number}[.)]\s").search(masked, found.end() - 1)
    return masked


def _cut(masked: str) -> list[tuple[int, int]]:
    """Where the sentences begin and end."""
    pieces = []
    start = 0
    for gap in [*_HARD.finditer(masked), None]:
        end = len(masked) if gap is None else gap.start()
        pieces += _cut_softly(masked, start, end)
        start = end if gap is None else gap.end()
    return pieces


def _cut_softly(masked: str, start: int, end: int) -> list[tuple[int, int]]:
    pieces = []
    for gap in _SOFT.finditer(masked, start, end):
        before, rest = masked[start : gap.start()], masked[gap.end() : end]
        polite = _POLITE_BEFORE.match(rest)
        if not _HEADS.match(rest, polite.end() if polite else 0):
            continue
        if rest[:4].lower() == "hold" and _HOLDING.search(before):
            continue
        pieces.append((start, gap.start()))
        start = gap.end()
    return [*pieces, (start, end)]


def without_politeness(sentence: str) -> str:
    """What is left of a sentence without the words that ask for nothing."""
    sentence = sentence.strip(_EDGES)
    before = _POLITE_BEFORE.match(mask(sentence))
    if before:
        sentence = sentence[before.end() :].strip(_EDGES)
    masked = mask(sentence)
    for after in _POLITE_AFTER.finditer(masked):
        if after.end() == len(masked) and after.start():
            return sentence[: after.start()].strip(_EDGES)
    return sentence


def unquote(text: str) -> tuple[str, bool]:
    """The text without the quotation marks around the whole of it, and whether there were some."""
    text = text.strip()
    if (
        len(text) > 2
        and text[0] in QUOTES
        and mask(text) == HIDDEN * len(text)
        and _closing(text, 0, set()) == len(text)
    ):
        return text[1:-1], True
    return text, False
