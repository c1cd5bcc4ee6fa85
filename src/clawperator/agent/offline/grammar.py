"""Text of the grammar: split a prompt into sentences, and read the targets and quantities in them.

Quotations and JSON in braces are never split. Full stops, semicolons, line ends and "then" always split; "and",
"&" and a comma only where the next words begin like an instruction. List markers and numbers are ignored.
"""

import re
from collections.abc import Callable

from msgspec import Struct

from clawperator.agent.offline.instructions import Instruction, Target

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


_NUMBERS = {
    name: number
    for number, name in enumerate(
        ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"), 1
    )
}
_ORDINALS = {
    name: number
    for number, name in enumerate(
        ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"), 1
    )
}
_TIMES = {"once": 1, "again": 1, "a": 1, "twice": 2, "thrice": 3}
MOST_TIMES = 20


def read_ordinal(word: str) -> int:
    """The place an ordinal means, counted from 1; -1 for the last, 0 when the word is no ordinal."""
    word = word.casefold()
    if word == "last":
        return -1
    found = re.fullmatch(r"(\d{1,3})(?:st|nd|rd|th)", word)
    return int(found[1]) if found and found[1].isascii() else _ORDINALS.get(word, 0)


def read_times(words: str) -> int:
    """How often, from "twice" or "3 times"; 1 when nothing is said, 0 when it is not from 1 to 20."""
    said = words.casefold().split()
    if not said:
        return 1
    if said[0] in _TIMES:
        return _TIMES[said[0]]
    number = int(said[0]) if said[0].isdecimal() and len(said[0]) < 4 else _NUMBERS.get(said[0], 0)
    return number if number <= MOST_TIMES else 0


def read_seconds(number: str, unit: str) -> float:
    """So many seconds; "a moment" is one."""
    said = number.casefold()
    if said == "half a":
        amount = 0.5
    elif said in ("a", "an"):
        amount = 1.0
    else:
        amount = float(_NUMBERS.get(said) or said)
    unit = unit.casefold()
    if unit.startswith(("milli", "ms")):
        return amount / 1000
    return amount * 60 if unit.startswith("min") else amount


LONGEST_NAME = 200

# The words people use for what a thing is, and the role that stands for them. An empty role says only "something".
ROLES = {
    **dict.fromkeys(("text field", "input field", "search field", "field", "text box"), "textfield"),
    **dict.fromkeys(("box", "bar", "input"), "textfield"),
    **dict.fromkeys(("switch", "toggle"), "switch"),
    **dict.fromkeys(("checkbox", "check box"), "checkbox"),
    "tab": "tab",
    "button": "button",
    "link": "link",
    **dict.fromkeys(("icon", "image", "picture"), "icon"),
    **dict.fromkeys(("row", "item", "entry", "option", "setting", "result", "suggestion"), "row"),
    **dict.fromkeys(("label", "text", "value"), ""),
}
_KINDS = "|".join(sorted(ROLES, key=len, reverse=True))
_ROLE = re.compile(rf"(?:(.*)\s)?({_KINDS})", re.IGNORECASE | re.DOTALL)
_CALLED = re.compile(
    rf"(?:({_KINDS})|[^\W\d_]+)\s+(?:called|named|labell?ed|titled)\s+(.+)", re.IGNORECASE | re.DOTALL
)
_BESIDE = re.compile(r"(.+?)\s+(?:next to|beside|in the row (?:of|with))\s+(.+)", re.IGNORECASE | re.DOTALL)
_BEHIND = re.compile(r"(?<=\S)\s+(?:>|\u203a|\u2192|->)\s+(?=\S)")
_ARTICLE = re.compile(r"(?:the|an?|my|this|your)\s+", re.IGNORECASE)
_LEFT_OPEN = re.compile(r"(?<!\w)(if|unless|but)(?!\w)", re.IGNORECASE)
_FROM_THE_END = re.compile(r"(?:to (?:the )?last|from the (?:end|bottom))\b", re.IGNORECASE)
_STANDING_FOR_OTHERS = ("it", "that", "them", "these", "those")
_NOBODY = frozenset(
    (
        *(*_STANDING_FOR_OTHERS, "this", "there", "here", "one", "other", "others", "something", "anything"),
        *("everything", "nothing", "all", "any", "both", "each", "every", "none", ""),
    )
)


class RefusedError(Exception):
    """A sentence that is not understood; the message says why."""


def read_target(phrase: str) -> Target:
    """What a phrase means. ``RefusedError`` when it names nothing, as "it" does, or leaves open what is meant."""
    words = without_article(phrase)
    name, exact = unquote(words)
    if exact:
        return Target(name, _checked(name), exact=True)
    _refuse_what_is_open(words)
    beside = ""
    found = _BESIDE.fullmatch(mask(words))
    if found:
        beside = unquote(without_article(words[found.start(2) :]))[0]
    name = words[: found.end(1)] if found else words
    first, _, rest = name.partition(" ")
    ordinal = read_ordinal(first) if rest else 0
    if ordinal and _FROM_THE_END.match(rest):
        raise RefusedError("things are counted from the top, or one is the last")
    name, role = _split_role(rest.strip() if ordinal else name)
    name, exact = unquote(name)
    if not exact and name.casefold() in _NOBODY:
        raise RefusedError(f"what {name!r} means here is not known" if name else "it names nothing")
    return Target(words, _checked(name), ordinal, role, exact, _checked(beside))


def read_path(phrase: str) -> list[str]:
    """The names in "Settings > Display": one thing is behind the other."""
    cuts = [found.span() for found in _BEHIND.finditer(mask(phrase))]
    starts, ends = [0, *(end for _, end in cuts)], [*(start for start, _ in cuts), len(phrase)]
    return [phrase[start:end] for start, end in zip(starts, ends, strict=True)]


def without_article(phrase: str) -> str:
    phrase = phrase.strip()
    return _ARTICLE.sub("", phrase, count=1) if _ARTICLE.match(phrase) else phrase


def _refuse_what_is_open(words: str) -> None:
    masked = mask(words)
    first = masked.partition(" ")[0]
    if first.casefold() in _STANDING_FOR_OTHERS:
        raise RefusedError(f"what {first!r} means here is not known")
    found = _LEFT_OPEN.search(masked)
    if found:
        raise RefusedError(f"conditions and exceptions are not understood; quote a name with {found[1]!r} in it")


def _split_role(name: str) -> tuple[str, str]:
    """The name without the word that says what the thing is, and the role that stands for that word."""
    masked = mask(name)
    called = _CALLED.fullmatch(masked)
    if called:
        return name[called.start(2) :].strip(), ROLES[called[1].casefold()] if called[1] else ""
    found = _ROLE.fullmatch(masked)
    if found:
        return name[: found.end(1)].strip() if found[1] else name, ROLES[found[2].casefold()]
    return name, ""


def is_bare(target: Target) -> bool:
    """Whether nothing but a role is said of it: the button, the second field."""
    return bool(target.role) and not target.exact and target.name.casefold() in ROLES


def _checked(name: str) -> str:
    if len(name) > LONGEST_NAME:
        raise RefusedError(f"a name may have {LONGEST_NAME} characters")
    return name


class Submit(Struct, frozen=True):
    """Belongs to the text typed before it; ``otherwise`` is what the words mean where nothing was typed."""

    otherwise: Instruction | None = None


class Several(Struct, frozen=True):
    """Instructions that one sentence asks for, one after the other."""

    instructions: tuple[Instruction, ...]


Meaning = Instruction | Submit | Several


class Said:
    """The words that the groups of a rule caught, by their place; nothing for a group that caught none."""

    def __init__(self, sentence: str, found: re.Match[str]) -> None:
        spans = (found.span(group) for group in range(1, found.re.groups + 1))
        self._words = [sentence[start:end] if start >= 0 else "" for start, end in spans]

    def __getitem__(self, place: int) -> str:
        return self._words[place]

    def text(self, place: int) -> str:
        """A text that is taken as it is. What only stands for another is refused, unless it is quoted."""
        text, exact = unquote(self._words[place])
        if not exact and text.casefold() in ("it", "that", "this", "them"):
            raise RefusedError(f"what {text!r} means here is not known")
        return text

    def name(self, place: int) -> str:
        """A name, without quotes around it."""
        return unquote(self._words[place])[0]


Maker = Callable[[Said], Meaning]
Rule = tuple[str, Maker]
