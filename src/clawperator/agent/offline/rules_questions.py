"""Grammar rules for questions and checks.

A question is answered Yes or No only about an element, a state, a value or an app that a rule resolves. Questions
whether something of a kind exists ("is there an update?") are rejected: labels do not decide them.
"""

import re
from typing import Literal

from msgspec.structs import replace

from clawperator.agent.offline.grammar import (
    HIDDEN,
    InstructionBuilder,
    InstructionSequence,
    Rule,
    RuleMatch,
    SentenceError,
    mask,
    parse_target,
    split_list,
    strip_article,
    unquote,
)
from clawperator.agent.offline.instructions import (
    CheckInstruction,
    Instruction,
    IsForegroundInstruction,
    MentionsInstruction,
    ReadInstruction,
    TargetPhrase,
)
from clawperator.agent.offline.known_places import find_place

State = tuple[Literal["on", "off"], Literal["", "enabled", "selected"]]

# The switch state of a word, and its meaning for an element without a switch.
_STATES: dict[str, State] = {
    **dict.fromkeys(("on", "checked", "ticked", "active"), ("on", "")),
    **dict.fromkeys(("off", "unchecked", "unticked", "inactive"), ("off", "")),
    "enabled": ("on", "enabled"),
    **dict.fromkeys(("disabled", "greyed out", "grayed out"), ("off", "enabled")),
    **dict.fromkeys(("selected", "chosen"), ("on", "selected")),
    **dict.fromkeys(("unselected", "deselected"), ("off", "selected")),
}
STATES = rf"(?:turned |switched )?({'|'.join(sorted(_STATES, key=len, reverse=True))})"
_SCREEN = r"(?:on (?:the |this |my )?(?:screen|display|page))"
_ON_SCREEN = rf"(?:(?:visible|shown|displayed|there|present)(?: {_SCREEN})?|{_SCREEN})(?: now)?"
_GONE = rf"(?:(?:is|are) (?:not|no longer)|isn't|aren't) {_ON_SCREEN}|(?:is|are|has|have) gone"
_IS_NOT = r"(?:is not|isn't|are not|is no longer)"
_HAS_VALUE = r"(?:is|says|shows|reads|equals)"
_REQUIRE = r"(?:check|verify|assert|confirm|test|make sure) that"
_WHETHER = r"(?:check|see|tell me|look) (?:whether|if)"
_WHAT = r"(?:what(?: is|'s| are)|whats)"
_NOW = r"(?: (?:right now|now|currently|at the moment))?"
_PHONE = r"(?:the|this|my) (?:phone|device)"
_ON_PHONE = rf"(?: on {_PHONE})?{_NOW}"
_OF_PHONE = (
    rf"\s+(?:(?:of|on|in) {_PHONE}|is this(?: phone| device)?|is on this phone|"
    rf"does {_PHONE} (?:run|have|use|show)|(?:is {_PHONE}|am i|are we) (?:running|using|on|connected to))"
)
_LEFT = r"(?:is |are )?(?:left|free|available|remaining)"
_HERE = rf"(?: (?:here|anywhere|{_SCREEN}|{_ON_SCREEN}))?"

# Questions about a kind of thing; the labels of a screen decide only what they mention.
_ABOUT = re.compile(
    r"(?:(?:an?|any|some)\s+)?(?:\S+\s+){0,2}?(?:about|mentioning|that mentions?|containing|with the words?|"
    r"regarding|related to|concerning|(?<=video )(?:of|with)|(?<=videos )(?:of|with)|(?<=song )by|(?<=songs )by)"
    r"\s+(.+)",
    re.IGNORECASE | re.DOTALL,
)
_CALLED = re.compile(r"(?:.+\s)?(?:called|named|titled|labell?ed)\s+(.+)", re.IGNORECASE | re.DOTALL)
_INDEFINITE = re.compile(r"(?:an?|any|some)\s+(.+)", re.IGNORECASE | re.DOTALL)
_UNSPECIFIC = re.compile(
    r"(?:any|some|every|no)(?:thing|one|body|where)\b.*|.*\bways?\b.*", re.IGNORECASE | re.DOTALL
)
_NEGATED = re.compile(r"(?:.*\s)?(?:not|no|never|without|\w+n't)(?:\s.*)?", re.IGNORECASE | re.DOTALL)
_EXISTENCE = (
    "labels do not show whether there is such a thing; ask 'is \"…\" on the screen?' or 'what is on the screen?'"
)
# The labels of an app do not answer what these are now.
_NOT_READABLE = frozenset(
    (
        *(
            "time",
            "date",
            "day",
            "weather",
            "temperature",
            "news",
            "location",
            "password",
            "wifi password",
            "joke",
        ),
        *("capital", "meaning", "wi-fi password", "current time", "ip address", "phone number"),
    )
)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?\s*(?:%|percent|\w+)?", re.IGNORECASE)
_JUDGEMENT = re.compile(
    r"(?:too|very|really|quite|so|the same|different|correct|right|wrong|set|changed|okay|fine|good|bad|working|"
    r"available|enough|big enough|long enough)(?:\s.*)?",
    re.IGNORECASE | re.DOTALL,
)
_ORDERS: dict[str, Literal["above", "below", "at least", "at most"]] = {
    **dict.fromkeys(("above", "over", "more than", "higher than", "greater than"), "above"),
    **dict.fromkeys(("below", "under", "less than", "lower than"), "below"),
    "at least": "at least",
    "at most": "at most",
}
_ORDER = rf"({'|'.join(_ORDERS)})"


def parse_state(word: str) -> State:
    """The state and its kind of a word matched by ``STATES``."""
    return _STATES[word.lower()]


def _subject(phrase: str) -> TargetPhrase:
    """What a question is about. Negated questions are rejected: their Yes and No are easily misread."""
    if _NEGATED.fullmatch(mask(phrase)) and not find_place(strip_article(phrase)):
        raise SentenceError("negated questions are not supported")
    return parse_target(phrase)


def _is_visible(*, required: bool, holds: bool = True) -> InstructionBuilder:
    """A check for an element on the screen. Only one with a proper name is answered No when it is missing."""

    def build(match: RuleMatch) -> Instruction:
        if _INDEFINITE.fullmatch(mask(match[0])) and not required:
            return _exists(match)
        target = _subject(match[0])
        is_literal = not required and (target.exact or target.name[:1].isupper())
        return CheckInstruction(target, holds=holds, required=required, is_literal=is_literal)

    return build


def _exists(match: RuleMatch) -> Instruction:
    """ "Is there X?": an element with that name, or labels about it; rejected for a kind of thing."""
    phrase, masked = match[0].strip(), mask(match[0].strip())
    if _NEGATED.fullmatch(masked):
        raise SentenceError("negated questions are not supported")
    found = _ABOUT.fullmatch(masked)
    if found:
        return MentionsInstruction(unquote(strip_article(phrase[found.start(1) :]))[0])
    called = _CALLED.fullmatch(masked)
    if called:
        return CheckInstruction(parse_target(phrase[called.start(1) :]))
    if _UNSPECIFIC.fullmatch(masked):
        raise SentenceError(_EXISTENCE)
    indefinite = _INDEFINITE.fullmatch(masked)
    target = parse_target(phrase)
    if indefinite and not (target.exact or target.role):
        raise SentenceError(_EXISTENCE)
    return CheckInstruction(target)


def _several_exist(match: RuleMatch) -> Instruction:
    found = _ABOUT.fullmatch(mask(match[0]))
    called = _CALLED.fullmatch(mask(match[0]))
    if called and not _NEGATED.fullmatch(mask(match[0])):
        return CheckInstruction(parse_target(match[0][called.start(1) :]))
    if not found or _NEGATED.fullmatch(mask(match[0])):
        raise SentenceError(_EXISTENCE)
    return MentionsInstruction(unquote(strip_article(match[0][found.start(1) :]))[0])


def _mentions(*, is_literal: bool = False, required: bool = False) -> InstructionBuilder:
    def build(match: RuleMatch) -> Instruction:
        phrase = re.sub(r"^(?:anything |something )?about\s+|^the words?\s+", "", match[0], flags=re.IGNORECASE)
        target = _subject(phrase)
        return MentionsInstruction(target.name, is_literal and phrase == match[0], required)

    return build


def _has_state(*, required: bool, holds: bool = True, is_plain: bool = False) -> InstructionBuilder:
    def build(match: RuleMatch) -> Instruction:
        return _state_check(match[0], match[1], required=required, holds=holds, is_plain=is_plain)

    return build


def _state_check(
    name: str, word: str, *, required: bool = False, holds: bool = True, is_plain: bool = False
) -> CheckInstruction:
    state, state_kind = parse_state(word)
    return CheckInstruction(
        _subject(name), state, holds=holds, required=required, state_kind=state_kind, is_plain=is_plain
    )


def _have_state(match: RuleMatch) -> Instruction | InstructionSequence:
    """ "Are A and B on?": one check for each."""
    names = split_list(re.sub(r"^both\s+", "", match[0], flags=re.IGNORECASE))
    return InstructionSequence(tuple(_state_check(name, match[1]) for name in names))


def bare_state_check(name: str, word: str) -> Instruction:
    """ "Bluetooth on?" """
    return _state_check(name, word)


def _has_value(*, required: bool, holds: bool = True) -> InstructionBuilder:
    return lambda match: CheckInstruction(
        _value_target(match[0]), value=match.text(1), holds=holds, required=required
    )


def _is_value(match: RuleMatch) -> Instruction | None:
    """ "Is the screen timeout 5 minutes?": the longest name, and the value after it."""
    words = strip_article(match[0]).split(" ")
    for end in range(len(words) - 1, 0, -1):
        name, value = " ".join(words[:end]), " ".join(words[end:])
        is_known = find_place(name) is not None or _NUMBER.fullmatch(value)
        if is_known and _is_readable(name, value):
            return CheckInstruction(_value_target(name), value=strip_article(unquote(value)[0]))
    return None


def _is_readable(name: str, value: str) -> bool:
    """Whether "X is Y" compares a value: with a number, a proper name, a quotation, or an option of X.

    Other words judge ("the battery is full", "Milk is in the list"), which no label decides.
    """
    place = find_place(strip_article(name))
    is_option = place is not None and (place.has_options or value.strip()[:1].isupper())
    return bool(HIDDEN in mask(value) or _NUMBER.fullmatch(value.strip()) or is_option) and not (
        _NEGATED.fullmatch(mask(value)) or _JUDGEMENT.fullmatch(value.strip())
    )


def _whether_value(match: RuleMatch) -> Instruction | None:
    if not _is_readable(match[0], match[1]):
        return None
    return CheckInstruction(_value_target(match[0]), value=match.text(1))


def _requires_other_value(match: RuleMatch) -> Instruction | None:
    if not _is_readable(match[0], match[1]):
        return None
    return CheckInstruction(_value_target(match[0]), value=match.text(1), holds=False, required=True)


def _has_order(match: RuleMatch) -> Instruction:
    return CheckInstruction(_value_target(match[0]), value=match.text(2), order=_ORDERS[match[1].lower()])


# Values


def _value_target(phrase: str, *, of_device: bool = False) -> TargetPhrase:
    """The name of a value; "of the phone" at its end means the device itself."""
    found = re.fullmatch(rf"(.+?)\s+(?:of|on|in|for) {_PHONE}", mask(phrase), re.IGNORECASE | re.DOTALL)
    target = _subject(phrase[: found.end(1)] if found else phrase)
    if not target.exact and target.name.casefold() in _NOT_READABLE:
        raise SentenceError(f"no label shows {target.name!r}; quote it to read the label of that name")
    owned = re.fullmatch(r"(?:phone|device) (.+)", target.name, re.IGNORECASE)
    if owned and not target.exact and find_place(owned[1]) and not find_place(target.name):
        return TargetPhrase(owned[1], owned[1], of_device=True)
    return replace(target, of_device=True) if found or of_device else target


def _read(match: RuleMatch) -> Instruction:
    return ReadInstruction(_value_target(match[0]))


def _show_value(match: RuleMatch) -> Instruction | None:
    """ "Show me X": a value with a known place, or a label that is written as one."""
    names = split_list(match[0])
    if not all(
        find_place(_value_target(name).name) or name[:1].isupper() or HIDDEN in mask(name) for name in names
    ):
        return None
    return ReadInstruction(_value_target(match[0]))


def _read_of_device(match: RuleMatch) -> Instruction:
    return ReadInstruction(_value_target(match[0], of_device=True))


def _read_remaining(match: RuleMatch) -> Instruction:
    """Read the free amount where that is a known place, otherwise the value itself."""
    name = re.sub(r"^(?:free|available)\s+", "", match[0], flags=re.IGNORECASE)
    found = find_place(f"free {name}")
    return ReadInstruction(_value_target(f"free {name}" if found else name, of_device=bool(match[1] or match[2])))


def _is_foreground(match: RuleMatch) -> Instruction:
    name = re.sub(r"\s+app$", "", strip_article(match[0]), flags=re.IGNORECASE)
    return IsForegroundInstruction(_subject(name).name, may_run_behind=match[1].lower() == "running")


def _is_in(match: RuleMatch) -> Instruction | None:
    """ "Am I in YouTube?", "is the phone in airplane mode?" """
    place = find_place(strip_article(match[0]))
    if place is not None and place.is_switch:
        return _state_check(match[0], "on")
    return _is_foreground(match)


QUESTION_RULES: tuple[Rule, ...] = (
    # is it mentioned?
    (rf"{_REQUIRE}\s+(.+?)\s+(?:is|are) (?:mentioned|listed){_HERE}", _mentions(required=True)),
    (rf"(?:is|are)\s+(?!there\b)(.+?)\s+mentioned{_HERE}", _mentions(is_literal=True)),
    (rf"(?:is|are)\s+(?!there\b)(.+?)\s+(?:listed|written|named){_HERE}", _mentions()),
    (
        r"does (?:the|this) (?:screen|page|display) (?:mention|contain|say|show|list|include)\s+(.+)",
        _mentions(is_literal=True),
    ),
    (rf"{_WHETHER}\s+(.+?)\s+(?:is|are) (?:mentioned|listed){_HERE}", _mentions()),
    # is it on the screen?
    (rf"{_REQUIRE}\s+(.+?)\s+(?:{_GONE})", _is_visible(required=True, holds=False)),
    (rf"{_REQUIRE} there is no\s+(.+?)(?: {_ON_SCREEN})?", _is_visible(required=True, holds=False)),
    (rf"{_REQUIRE}\s+(.+?)\s+(?:is|are) {_ON_SCREEN}", _is_visible(required=True)),
    (rf"{_WHETHER}\s+(?!there\b)(.+?)\s+(?:is|are) {_ON_SCREEN}", _is_visible(required=False)),
    (rf"is there\s+(.+?){_HERE}", _exists),
    (rf"are there\s+(.+?){_HERE}", _several_exist),
    (rf"do (?:i|we) have\s+((?:an?|any)\s.+?){_HERE}", _several_exist),
    (rf"(?:is|are)\s+(.+?)\s+{_ON_SCREEN}", _is_visible(required=False)),
    (r"(?:is|are)\s+(.+?)\s+gone", _is_visible(required=False, holds=False)),
    # is it on?
    (rf"{_REQUIRE}\s+(.+?)\s+{_IS_NOT} {STATES}", _has_state(required=True, holds=False)),
    (rf"{_REQUIRE}\s+(.+?)\s+is {STATES}", _has_state(required=True)),
    (rf"(?:is|{_WHETHER})\s+(.+?)(?: is)? (?:on or off|off or on)", _read),
    (rf"{_WHETHER}\s+(.+?)\s+(?:is|are) {STATES}{_ON_PHONE}", _has_state(required=False)),
    (rf"is\s+(.+?)\s+{STATES}{_ON_PHONE}", _has_state(required=False)),
    (rf"are\s+(.+?)\s+(?:both )?{STATES}{_ON_PHONE}", _have_state),
    (rf"(?:isn't|is not)\s+(.+?)\s+{STATES}{_ON_PHONE}", _has_state(required=False, is_plain=True)),
    # is this app open?
    (
        r"(?:is|check whether)\s+(.+?)(?: is)? (open|running|in front|in the foreground|the current app)",
        _is_foreground,
    ),
    (rf"(?:is {_PHONE}|am i|are we)\s+(?:in|using|on)\s+(.+?)()", _is_in),
    # has it this value?
    (rf"is\s+(.+?)\s+{_ORDER}\s+(.+)", _has_order),
    (rf"(?:is|{_WHETHER})\s+(.+?)(?: is)? (?:set to|equal to)\s+(.+)", _has_value(required=False)),
    (rf"(?:is|{_WHETHER})\s+(.+?)(?: is)? at\s+(.+)", _whether_value),
    (rf"{_REQUIRE}\s+(.+?)\s+(?:{_IS_NOT}|does not (?:say|show))\s+(.+)", _requires_other_value),
    (rf"{_REQUIRE}\s+(?!there is )(.+?)\s+{_HAS_VALUE}\s+(.+)", _has_value(required=True)),
    (rf"{_WHETHER}\s+(?!there is )(.+?)\s+{_HAS_VALUE}\s+(.+)", _whether_value),
    (rf"{_REQUIRE}(?: there is)?\s+(.+)", _is_visible(required=True)),
    (rf"(?:(?:do|can|could) you see|{_WHETHER} there is)\s+(.+?){_HERE}", _exists),
    (r"is\s+(.+)", _is_value),
    # what is its value?
    (r"what does\s+(.+?)\s+(?:say|show|read)", _read),
    (r"tell me what\s+(.+?)\s+(?:is|says|shows|reads)", _read),
    (
        (
            rf"how much\s+(.+?)\s+(?:{_LEFT}|is there|(do (?:i|we)|does {_PHONE}) have(?: left)?)"
            rf"(\s+(?:on|in) {_PHONE})?"
        ),
        _read_remaining,
    ),
    (rf"{_WHAT}\s+(.+?){_NOW}", _read),
    (rf"(?:which|what)\s+(.+?){_OF_PHONE}{_NOW}", _read_of_device),
    (rf"(?:read|read out|tell me)(?: me)?\s+(.+?){_NOW}", _read),
    (rf"(?:get|show|give)(?: me)?\s+(.+?){_NOW}", _show_value),
)
