"""Split a prompt into sentences of one instruction each, and remove polite words.

Quotations and JSON in braces are never split. Full stops, semicolons, line ends and "then" always split; "and",
"&" and a comma only where the next words begin like an instruction. List markers and numbers are ignored.
"""

import re

from msgspec import Struct

from clawperator.agent.offline.quoting import mask
from clawperator.agent.offline.verbs import BUTTON_START, INSTRUCTION_START, JOINED_LABEL

_HARD_BREAK = re.compile(
    r"\s*(?:[;\r\n]+|[.!?]+(?=\s|$)|(?<!\w)(?:and\s+)?(?:then|after that|afterwards)(?!\w))\s*", re.IGNORECASE
)
_SOFT_BREAK = re.compile(r"\s*,\s*(?:and\s+)?|\s+(?:and|&)(?:\s*,\s*|\s+)", re.IGNORECASE)
_BULLET = re.compile(r"(?m)^[ \t]*[-*\u2022][ \t]+")
_NUMBERED = re.compile(r"\s*1[.)]\s")
_EDGES = " \t\r\n\v\f,;.!?:"

_GREETING_WORDS = r"(?:hello|hi|hey|good morning|good evening)(?: there| claw| clawperator)?|claw|clawperator"
_COULD_YOU = r"(?:can|could|would|will) (?:you|u)(?: (?:please|kindly|possibly|maybe|just|quickly))*"
_WISH = r"(?:i|we)(?: want| need| have|(?: would|'d) (?:like|love|prefer|want|need))"
_POLITE_BEFORE = re.compile(
    rf"(?:(?:{_GREETING_WORDS}|please|pls|plz|kindly|now|next|first of all|first|finally|also|ok|okay|alright|so|"
    r"well|just|and|quickly|maybe|perhaps|actually|"
    rf"(?:{_COULD_YOU})(?! see\b| mind\b)|{_WISH}(?: you| for you)? to|"
    r"(?:would you )?be so kind as to|i(?: would|'d) appreciate it if you (?:could|would)|"
    r"(?:i was wondering|i wonder) (?:if|whether) you (?:could|can|would)|do you think you (?:could|can)|"
    r"i(?: would|'d) be (?:grateful|glad|happy|pleased) if you (?:could|would)|might you|"
    r"(?:are you |be )able to|would it be possible to|if it's not too much trouble|"
    r"it(?: would|'d) be (?:great|nice|good|lovely|helpful|kind) if you (?:could|would|can)|"
    r"excuse me|sorry to bother you|any chance (?:that )?you (?:could|can)|why don't (?:you|we)|feel free to|"
    r"(?:can|could|shall|may) we(?! have\b| get\b| see\b)|(?:we|you) (?:should|can|may)(?! see\b)|"
    r"do me a favou?r and|be so kind and|help me(?: to)?|let us|let's|go ahead and|try to|be sure to|remember to|"
    r"if you (?:can|could|would|like|want|don't mind|wouldn't mind|please)|"
    r"when you (?:can|have a moment|get a chance))(?:\s*,\s*|\s+))+",
    re.IGNORECASE,
)
_POLITE_AFTER = re.compile(
    r"(?:(?:\s*,\s*|(?<!\bno)\s+)(?:please|pls|plz|for me|thanks|thank you|thank you very much|thanks a lot|"
    r"(?:would|could|will|can) you|shall we|if possible|"
    r"if you (?:can|could|would|please|don't mind|wouldn't mind)|"
    r"when you (?:can|have a moment|get a chance)|claw|clawperator))+",
    re.IGNORECASE,
)
_GREETING = re.compile(_GREETING_WORDS, re.IGNORECASE)
_ONLY_POLITE = re.compile(
    r"(?:please|pls|plz|kindly|thanks|thank you|thank you very much|thanks a lot|ok|okay|alright|now|and|"
    r"(?:would|could|will|can) you|shall we|if possible|"
    r"if you (?:can|could|would|please|don't mind|wouldn't mind)|"
    r"when you (?:can|have a moment|get a chance)|excuse me|do me a favou?r|be so kind|sorry to bother you)",
    re.IGNORECASE,
)
_BEFORE_HOLD = re.compile(r"(?:^|\s)(?:press|tap|click|touch)$", re.IGNORECASE)


class Sentence(Struct, frozen=True):
    """One sentence of a prompt, without polite words. ``is_question`` means that it ends with a question mark."""

    text: str
    is_question: bool = False


def split_sentences(prompt: str) -> list[Sentence]:
    """Split a prompt into sentences of one instruction each. Empty sentences are dropped."""
    found = []
    masked = _without_list_markers(mask(prompt))
    for start, end in _split(masked):
        whole = prompt[start:end].strip(_EDGES)
        text = whole if _GREETING.fullmatch(whole) else strip_politeness(whole)
        if text and not _ONLY_POLITE.fullmatch(text):
            found.append(Sentence(text, masked[end:].lstrip().startswith("?")))
    others = [sentence for sentence in found if not _GREETING.fullmatch(sentence.text)]
    return others or found


def _without_list_markers(masked: str) -> str:
    """Replace list markers and numbers by a line end and spaces. The length stays the same."""
    masked = _BULLET.sub(lambda found: "\n".ljust(len(found[0])), masked)
    found = _NUMBERED.match(masked)
    number = 1
    while found:
        masked = masked[: found.start()] + "\n".ljust(len(found[0])) + masked[found.end() :]
        number += 1
        found = re.compile(rf"\s{number}[.)]\s").search(masked, found.end() - 1)
    return masked


def _split(masked: str) -> list[tuple[int, int]]:
    """The spans of the sentences."""
    pieces = []
    start = 0
    for gap in [*_HARD_BREAK.finditer(masked), None]:
        end = len(masked) if gap is None else gap.start()
        pieces += _split_softly(masked, start, end)
        start = end if gap is None else gap.end()
    return pieces


def _split_softly(masked: str, start: int, end: int) -> list[tuple[int, int]]:
    pieces = []
    for gap in _SOFT_BREAK.finditer(masked, start, end):
        before, rest = masked[start : gap.start()], masked[gap.end() : end]
        if not _begins_instruction(before, rest):
            continue
        pieces.append((start, gap.start()))
        start = gap.end()
    return [*pieces, (start, end)]


def _begins_instruction(before: str, rest: str) -> bool:
    """Whether ``rest`` is an instruction of its own. A verb alone may end a label: "tap Save and continue"."""
    if rest[:4].lower() == "hold" and _BEFORE_HOLD.search(before):
        return False
    polite = _POLITE_BEFORE.match(rest)
    first = polite.end() if polite else 0
    if INSTRUCTION_START.match(rest, first):
        return True
    before_polite = _POLITE_BEFORE.match(before)
    head = before[before_polite.end() if before_polite else 0 :]
    return BUTTON_START.match(rest, first) is not None and not JOINED_LABEL.match(head)


def strip_politeness(sentence: str) -> str:
    """Remove polite words from the beginning and the end of a sentence."""
    sentence = sentence.strip(_EDGES)
    before = _POLITE_BEFORE.match(mask(sentence))
    if before:
        sentence = sentence[before.end() :].strip(_EDGES)
    masked = mask(sentence)
    for after in _POLITE_AFTER.finditer(masked):
        if after.end() == len(masked) and after.start():
            return sentence[: after.start()].strip(_EDGES)
    return sentence
