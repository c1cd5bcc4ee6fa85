"""The grammar's building blocks: quotations, verbs, quantities, targets of phrases, and the results of rules.

Quotations and JSON in braces are masked before a prompt is split and before rules see it, so that nothing inside
them is taken for a word of the grammar.
"""

import re
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from clawperator.agent.offline.instructions import Instruction, TargetPhrase
from clawperator.errors import ClawperatorException

# Quotations

QUOTES = {'"': '"', "“": "”", "„": "“", "«": "»", "`": "`", "'": "'", "\u2018": "\u2019"}
HIDDEN = "\0"
# Apostrophes occur inside words too, so they open a quotation only where a word can begin.
_APOSTROPHES = ("'", "\u2018")
_CURLY_APOSTROPHE = "\u2019"


def mask(text: str) -> str:
    """Replace quotations and braces by ``HIDDEN``, and curly apostrophes by plain ones. Keeps the length."""
    out: list[str] = []
    unclosed: set[str] = set()
    at = 0
    while at < len(text):
        end = _hidden_end(text, at, unclosed)
        out.append(text[at] if end is None else HIDDEN * (end - at))
        at = at + 1 if end is None else end
    return "".join(out).replace(_CURLY_APOSTROPHE, "'")


def _hidden_end(text: str, at: int, unclosed: set[str]) -> int | None:
    """The end of the quotation or JSON that opens at ``at``; None when none opens there or it never ends."""
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
    while end != -1 and closing in ("'", _CURLY_APOSTROPHE) and end + 1 < len(text) and text[end + 1].isalnum():
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


def unquote(text: str) -> tuple[str, bool]:
    """Remove quotation marks around the whole text. Also returns whether there were any."""
    text = text.strip()
    if (
        len(text) > 2
        and text[0] in QUOTES
        and mask(text) == HIDDEN * len(text)
        and _hidden_end(text, 0, set()) == len(text)
    ):
        return text[1:-1], True
    return text, False


# Words that begin instructions, and gerunds of verbs

# Verbs that begin an instruction when another word follows.
_VERBS = (
    "open|launch|start|begin|run|use|close|kill|quit|exit|force[- ]stop|tap|click|press|select|choose|touch|hit|"
    "pick|push|long[- ]?(?:press|tap|click)|hold|type|enter|write|input|insert|put|fill|search|look|clear|empty|"
    "erase|turn|switch|toggle|flip|set|change|adjust|update|enable|disable|activate|deactivate|tick|untick|uncheck|"
    "scroll|swipe|find|locate|go|navigate|browse|visit|return|jump|head|wait|what|what's|whats|which|how|describe|"
    "read|tell|give|is|are|isn't|do you|does|see|let|check|verify|confirm|make|take|bring|capture|record|stop|"
    r"finish|end|pull|fetch|list|show|play|watch|pause|resume|like|unlike|delete|remove|create|add|"
    r"save(?! it (?:as|to|in)\b)|send|share|"
    "subscribe|submit|cancel|refresh|reload|discard|shut|keep"
)
# Verbs of instructions that no rule understands. A name with one after "and" has swallowed an instruction.
_OTHER_VERBS = (
    "sign|log|download|install|uninstall|rename|edit|copy|paste|post|call|mute|unmute|skip|rewind|book|order|buy|"
    "pay|remind|translate|reply|comment|rate|follow|upload|move|drag|reboot|restart|lock|unlock|increase|decrease|"
    "raise|lower|dim|repeat|undo|redo"
)
# Words that are an instruction of their own.
_ALONE = "go back|go home|back|home|submit|search|screenshot|help|scroll"
# Verbs that name a button: after a text to type they tap it, otherwise they may be part of a label.
BUTTON_VERBS = (
    "confirm|save|cancel|continue|go on|ok|okay|done|next|send|share|subscribe|like|unlike|post|discard|refresh|"
    "reload|sign in|sign out|log in|log out|skip|pause|play|resume|reply|download|edit|add|apply|finish|delete|"
    "connect|disconnect"
)
INSTRUCTION_START = re.compile(rf"(?:(?:{_VERBS})\s+(?!and\b|&)\S|(?:{_ALONE})\s*(?:$|,|\sand\s))", re.IGNORECASE)
BUTTON_START = re.compile(rf"(?:{BUTTON_VERBS})\s*(?:$|,|\sand\s)", re.IGNORECASE)
OTHER_INSTRUCTION = re.compile(
    rf"(?:\s+and|,)\s+(?:{_OTHER_VERBS})\s+(?:it|the|a|an|this|that|to|my)\b", re.IGNORECASE
)
# The first words of "tap Save and continue": a label that consists of two verbs.
JOINED_LABEL = re.compile(
    rf"(?:tap|click|press|select|choose|hit|push|find|read|wait for|is|check that)(?: on)?\s+(?:the )?[\"']?"
    rf"(?:{BUTTON_VERBS}|accept|agree|close|copy|cut|drag|exit|install|log|open|search|sign|stop|submit|terms)\b",
    re.IGNORECASE,
)

# Verbs that occur as gerunds in "would you mind turning on …".
_BASES = (
    *("turn", "switch", "open", "launch", "start", "close", "tap", "click", "press", "type", "search", "scroll"),
    *("go", "show", "tell", "check", "take", "read", "set", "put", "create", "delete", "play", "pause", "look"),
    *("find", "change", "make", "write", "enter", "add", "bring", "enable", "disable", "activate", "deactivate"),
    *("give", "select", "choose", "wait", "save", "remove", "list", "describe", "navigate", "resume", "let"),
)


def _gerund(verb: str) -> str:
    if verb in ("tap", "put", "set", "let"):
        return f"{verb}{verb[-1]}ing"
    return f"{verb.removesuffix('e')}ing"


GERUNDS = {_gerund(verb): verb for verb in _BASES}


# Quantities

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
MAX_TIMES = 20


def parse_ordinal(word: str) -> int:
    """The position of an ordinal, counted from 1; -1 for "last", 0 when the word is not an ordinal."""
    word = word.casefold()
    if word == "last":
        return -1
    found = re.fullmatch(r"(\d{1,3})(?:st|nd|rd|th)", word)
    return int(found[1]) if found and found[1].isascii() else _ORDINALS.get(word, 0)


def parse_number(word: str) -> int:
    """The value of a number word from one to ten; 0 for other words."""
    return _NUMBERS.get(word.casefold(), 0)


def parse_times(phrase: str) -> int:
    """The count in "twice" or "3 times"; 1 for an empty phrase, 0 when it is not from 1 to 20."""
    text = phrase.casefold().split()
    if not text:
        return 1
    if text[0] in _TIMES:
        return _TIMES[text[0]]
    number = int(text[0]) if text[0].isdecimal() and len(text[0]) < 4 else _NUMBERS.get(text[0], 0)
    return number if number <= MAX_TIMES else 0


def parse_seconds(number: str, unit: str) -> float:
    """Convert a number and a unit to seconds; "a moment" is one second."""
    text = number.casefold()
    if text == "half a":
        amount = 0.5
    elif text in ("a", "an"):
        amount = 1.0
    else:
        amount = float(_NUMBERS.get(text) or text)
    unit = unit.casefold()
    if unit.startswith(("milli", "ms")):
        return amount / 1000
    return amount * 60 if unit.startswith("min") else amount


# Targets

MAX_NAME_LENGTH = 200

# Words for kinds of elements, and their role. An empty role matches any element.
ROLES = {
    **dict.fromkeys(("text field", "input field", "search field", "field", "text box"), "textfield"),
    **dict.fromkeys(("box", "bar", "input"), "textfield"),
    **dict.fromkeys(("switch", "toggle"), "switch"),
    **dict.fromkeys(("checkbox", "check box"), "checkbox"),
    "tab": "tab",
    "button": "button",
    "link": "link",
    **dict.fromkeys(("icon", "image", "picture"), "icon"),
    **dict.fromkeys(("row", "item", "entry", "option", "setting", "result", "suggestion", "one"), "row"),
    **dict.fromkeys(("label", "text", "value", "video", "note", "network", "radio button"), ""),
}
_KINDS = "|".join(sorted(ROLES, key=len, reverse=True))
_ROLE = re.compile(rf"(?:(.*?)\s)?({_KINDS})", re.IGNORECASE | re.DOTALL)
_NAMED = re.compile(
    rf"(?:({_KINDS})|[^\W\d_]+)\s+(?:called|named|labell?ed|titled)\s+(.+)", re.IGNORECASE | re.DOTALL
)
_KIND_BEFORE = re.compile(r"(?:note|video|entry|contact|network|page)\s+(?=[A-Z\0])(.+)", re.DOTALL)
_NEXT_TO = re.compile(r"(.+?)\s+(?:next to|beside|in the row (?:of|with))\s+(.+)", re.IGNORECASE | re.DOTALL)
_PATH_SEPARATOR = re.compile(r"(?<=\S)\s+(?:>|\u203a|\u2192|->)\s+(?=\S)")
_ARTICLE = re.compile(r"(?:the|an?|my|this|your)\s+", re.IGNORECASE)
_OF_DEVICE = re.compile(r"(?:the |my |this |your )?(?:phone|device|tablet)'s\s+", re.IGNORECASE)
_LIST_SEPARATOR = re.compile(r"\s*,\s*(?:and\s+)?|\s+and\s+", re.IGNORECASE)
_CONDITIONAL = re.compile(r"(?<!\w)(if|unless|but)(?!\w)", re.IGNORECASE)
_FROM_THE_END = re.compile(r"(?:to (?:the )?last|from the (?:end|bottom))\b", re.IGNORECASE)
_PRONOUNS = ("it", "that", "them", "these", "those")
_UNSPECIFIC_NAMES = frozenset(
    (
        *(*_PRONOUNS, "this", "there", "here", "one", "other", "others", "something", "anything"),
        *("everything", "nothing", "all", "any", "both", "each", "every", "none", ""),
    )
)


class SentenceError(ClawperatorException):
    """A sentence that cannot be parsed; the message is the reason."""


def parse_target(phrase: str) -> TargetPhrase:
    """Parse a phrase that names an element. ``SentenceError`` for pronouns, conditions and empty names."""
    owner = _OF_DEVICE.match(mask(phrase.strip()))
    if owner:
        return replace(parse_target(phrase.strip()[owner.end() :]), of_device=True)
    phrase = strip_article(phrase)
    name, exact = unquote(phrase)
    if exact:
        return TargetPhrase(name, _check_length(name), exact=True)
    _reject_open_phrases(phrase)
    beside = ""
    found = _NEXT_TO.fullmatch(mask(phrase))
    if found:
        beside = unquote(strip_article(phrase[found.start(2) :]))[0]
    name = phrase[: found.end(1)] if found else phrase
    first, _, rest = name.partition(" ")
    ordinal = parse_ordinal(first) if rest else 0
    if ordinal and _FROM_THE_END.match(rest):
        raise SentenceError("count from the top, or write 'the last'")
    name, role = _split_role(rest.strip() if ordinal else name)
    name, exact = unquote(name)
    if not exact and name.casefold() in _UNSPECIFIC_NAMES:
        raise SentenceError(f"{name!r} does not name an element" if name else "the name is missing")
    return TargetPhrase(phrase, _check_length(name), ordinal, role, exact, _check_length(beside))


def parse_path(phrase: str) -> list[str]:
    """The names in a path such as "Settings > Display"."""
    separators = [found.span() for found in _PATH_SEPARATOR.finditer(mask(phrase))]
    starts, ends = [0, *(end for _, end in separators)], [*(start for start, _ in separators), len(phrase)]
    return [phrase[start:end] for start, end in zip(starts, ends, strict=True)]


def split_list(phrase: str) -> list[str]:
    """The names in "A, B and C", without articles. Quotations are not split."""
    masked = mask(phrase)
    cuts = [found.span() for found in _LIST_SEPARATOR.finditer(masked)]
    starts, ends = [0, *(end for _, end in cuts)], [*(start for start, _ in cuts), len(phrase)]
    return [strip_article(phrase[start:end]) for start, end in zip(starts, ends, strict=True)]


def strip_article(phrase: str) -> str:
    phrase = phrase.strip()
    return _ARTICLE.sub("", phrase, count=1) if _ARTICLE.match(phrase) else phrase


def _reject_open_phrases(phrase: str) -> None:
    masked = mask(phrase)
    first = masked.partition(" ")[0]
    if first.casefold() in _PRONOUNS:
        raise SentenceError(f"{first!r} does not name an element")
    found = _CONDITIONAL.search(masked)
    if found:
        raise SentenceError(f"conditions are not supported; quote a name that contains {found[1]!r}")
    other = OTHER_INSTRUCTION.search(masked)
    if other:
        raise SentenceError(f"unknown instruction {phrase[other.start() :].lstrip(', ')!r}")


def _split_role(name: str) -> tuple[str, str]:
    """Split "Save button" into the name and the role of its last word."""
    masked = mask(name)
    named = _NAMED.fullmatch(masked)
    if named:
        return name[named.start(2) :].strip(), ROLES[named[1].casefold()] if named[1] else ""
    kind = _KIND_BEFORE.fullmatch(masked)
    if kind:
        return name[kind.start(1) :].strip(), ""
    found = _ROLE.fullmatch(masked)
    if found:
        return name[: found.end(1)].strip() if found[1] else name, ROLES[found[2].casefold()]
    return name, ""


def is_role_only(target: TargetPhrase) -> bool:
    """Whether the phrase has a role and no name: "the button", "the second field"."""
    return bool(target.role) and not target.exact and target.name.casefold() in ROLES


def _check_length(name: str) -> str:
    if len(name) > MAX_NAME_LENGTH:
        raise SentenceError(f"the name has more than {MAX_NAME_LENGTH} characters")
    return name


# Results of rules


class Submit(Struct, frozen=True):
    """Submit the text typed by the instruction before; ``otherwise`` applies when that is not a "type"."""

    otherwise: Instruction | None = None


class InstructionSequence(Struct, frozen=True):
    """Several instructions from one sentence, in order."""

    instructions: tuple[Instruction, ...]


Meaning = Instruction | Submit | InstructionSequence


class RuleMatch:
    """The texts captured by a rule's groups; empty for a group that did not take part."""

    def __init__(self, sentence: str, found: re.Match[str]) -> None:
        spans = (found.span(group) for group in range(1, found.re.groups + 1))
        self._words = [sentence[start:end] if start >= 0 else "" for start, end in spans]

    def __getitem__(self, place: int) -> str:
        return self._words[place]

    def text(self, place: int) -> str:
        """A literal text. Unquoted pronouns are rejected."""
        text, exact = unquote(self._words[place])
        if not exact and text.casefold() in ("it", "that", "this", "them"):
            raise SentenceError(f"{text!r} is not a text; quote it to use it literally")
        return text

    def name(self, place: int) -> str:
        """A name without quotation marks."""
        return unquote(self._words[place])[0]


# A builder returns None to leave the sentence to the rules after its own.
InstructionBuilder = Callable[[RuleMatch], Meaning | None]
Rule = tuple[str, InstructionBuilder]
