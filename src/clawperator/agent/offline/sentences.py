"""The sentences of a prompt: split it into one instruction each, and rewrite indirect ones.

Quotations and JSON in braces are never split. Full stops, semicolons, line ends and "then" always split; "and",
"&" and a comma only where the next words begin like an instruction. List markers and numbers are ignored.

Polite words are removed. A rewrite keeps the meaning: "would you mind turning on Bluetooth" is "turn on
Bluetooth", and "I'd like to know whether Wi-Fi is on" is "is Wi-Fi on". Quotations are never changed.
"""

import re

from msgspec import Struct

from clawperator.agent.offline.grammar import BUTTON_START, GERUNDS, INSTRUCTION_START, JOINED_LABEL, mask

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


# Indirect sentences, as the direct instruction or question that the rules know

_MAX_REWRITES = 4
_WANT = r"(?:i|we)(?: want| need|(?: would|'d) (?:like|love|prefer))(?: to have)?"
_TELL = (
    r"(?:tell me|let me know|do you know|can you say|any idea|i wonder|i was wondering|find out|inform me|know|"
    r"remind me|say)"
)
_STATE = r"(?:turned |switched |to be )*(on|off|enabled|disabled|active|activated|deactivated)"
_PHONE = r"(?:the|my|this|your) (?:phone|device|tablet)"
_DO = "|".join(sorted(GERUNDS, key=len, reverse=True))

# Each row is a pattern and the sentence that replaces it; ``{1}`` is the first group.
_REWRITES: tuple[tuple[str, str], ...] = (
    # wishes
    (rf"{_WANT}\s+(?!to\b|you\b)(.+?)\s+{_STATE}", "turn {2} {1}"),
    (rf"(?:can|could|may) (?:i|we) (?:have|get)\s+(.+?)\s+{_STATE}", "turn {2} {1}"),
    (rf"have\s+(.+?)\s+{_STATE}", "turn {2} {1}"),
    (
        r"(?:make sure|ensure)(?: that)?\s+(.+?)\s+(?:is|are|stays)\s+(?:turned |switched )?(on|off)",
        "turn {2} {1}",
    ),
    (rf"{_WANT}\s+(?!to\b|you\b)(.+?)\s+(?:to be|to be set to|set to)\s+(.+)", "set {1} to {2}"),
    (r"have\s+(.+?)\s+set to\s+(.+)", "set {1} to {2}"),
    (rf"{_WANT}\s+(?!to\b|you\b)(.+)", "want {1}"),
    (r"(?:can|could|may) (?:i|we) (?:have|get|see)\s+(.+)", "show me {1}"),
    (r"(?:let me )?see\s+((?:the|my)\s.+)", "show me {1}"),
    (rf"(?:put|set|switch)\s+{_PHONE}\s+(?:in|into|in to|to|on)\s+(.+)", "turn on {1}"),
    # questions in a sentence
    (rf"{_TELL}\s+(?:whether|if)\s+(.+)", "check whether {1}"),
    (rf"{_TELL}\s+(?:what|which)\s+(.+?)\s+(?:is|are)(?: set to)?", "what is {1}"),
    (rf"{_TELL}\s+((?:what|which|how|who|where|when)\b.+)", "{1}"),
    (r"(?:know|find out)\s+(.+)", "what is {1}"),
    (r"(?:give|show) me\s+((?:what|which|how)\b.+)", "{1}"),
    (r"what(?:'s| is)\s+(.+?)\s+(?:set to|at|like)", "what is {1}"),
    (r"what(?:'s| is) the (?:current|present)\s+(.+)", "what is {1}"),
    (r"(?:what|which)\s+(.+?)\s+is (?:set|selected|chosen|used|active|in use|configured)", "what is {1}"),
    (rf"(?:what|which)\s+(.+?)\s+is {_PHONE} set to", "what is {1}"),
    (r"(?:what|which)\s+(?!apps\b)(.+?)\s+(?:do )?(?:i|we) have", "what is {1}"),
    (r"(?:what|which)\s+(.+?)\s+is installed", "what is {1}"),
    (r"(?:what|which) version of android\b.*", "what is the Android version"),
    (rf"how bright is (?:the screen|the display|{_PHONE})", "what is the brightness"),
    (rf"how (?:full|charged) is (?:the|my) battery(?: of {_PHONE})?", "what is the battery"),
    (r"how much is\s+(.+)", "what is {1}"),
    (r"how (?:long|big|large|high) is\s+(.+)", "what is {1}"),
    (
        rf"(?:what|which)(?: wi-?fi)? network (?:am i|is {_PHONE}|are we)(?: connected to| on| using)?",
        "what is the network",
    ),
    # states of the phone
    (rf"(?:do (?:i|we|you) have|does {_PHONE} have)\s+(.+?)\s+{_STATE}", "is {1} {2}"),
    (r"is\s+(.+?)\s+(?:currently|still|already|really|now)\s+(.+)", "is {1} {2}"),
)
_COMPILED = [(re.compile(pattern, re.IGNORECASE | re.DOTALL), direct) for pattern, direct in _REWRITES]
_GERUND = re.compile(
    r"(?:(?:would|do|will) you mind|mind|how about|what about|try|consider|i(?: would|'d) appreciate you)\s+"
    rf"(?:you\s+)?({_DO})\b(.*)",
    re.IGNORECASE | re.DOTALL,
)


def direct_form(sentence: str) -> str:
    """The direct form of a sentence; the sentence itself when it is direct."""
    for _ in range(_MAX_REWRITES):
        rewritten = _rewrite(sentence)
        if rewritten == sentence:
            break
        sentence = rewritten
    return sentence


def _rewrite(sentence: str) -> str:
    masked = mask(sentence)
    found = _GERUND.fullmatch(masked)
    if found:
        return f"{GERUNDS[found[1].lower()]}{sentence[found.start(2) :]}"
    for pattern, direct in _COMPILED:
        found = pattern.fullmatch(masked)
        if found:
            spans = [found.span(group) for group in range(pattern.groups + 1)]
            return direct.format(*(_state(sentence[start:end]) for start, end in spans))
    return sentence


def _state(text: str) -> str:
    """The word for a switch state: "on" for "enabled"."""
    word = text.casefold()
    if word in ("enabled", "active", "activated"):
        return "on"
    return "off" if word in ("disabled", "deactivated") else text
