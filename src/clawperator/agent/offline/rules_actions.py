"""Grammar rules for screen actions and for questions about the screen."""

import re
from typing import Literal

from clawperator.agent.offline.grammar import (
    HIDDEN,
    MAX_TIMES,
    InstructionBuilder,
    InstructionSequence,
    Rule,
    RuleMatch,
    SentenceError,
    Submit,
    mask,
    parse_path,
    parse_seconds,
    parse_target,
    parse_times,
    unquote,
)
from clawperator.agent.offline.instructions import (
    CheckInstruction,
    ClearInstruction,
    Direction,
    Instruction,
    PauseInstruction,
    PressKeyInstruction,
    ReadInstruction,
    ScrollInstruction,
    ScrollToInstruction,
    SetSwitchInstruction,
    SettleInstruction,
    TapAtInstruction,
    TapInstruction,
    TypeInstruction,
    WaitForInstruction,
)
from clawperator.agent.offline.known_places import find_place, known_app
from clawperator.contract import LONGEST_WAIT_MS

State = tuple[Literal["on", "off"], Literal["", "enabled", "selected"]]

# The switch state of a word, and its meaning for an element without a switch.
_STATES: dict[str, State] = {
    **dict.fromkeys(("on", "checked", "ticked"), ("on", "")),
    **dict.fromkeys(("off", "unchecked", "unticked"), ("off", "")),
    **dict.fromkeys(("enabled", "active"), ("on", "enabled")),
    **dict.fromkeys(("disabled", "inactive", "greyed out", "grayed out"), ("off", "enabled")),
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
_OF_PHONE = (
    rf"\s+(?:(?:of|on|in) {_PHONE}|is this(?: phone| device)?|is on this phone|is (?:running|installed)|"
    rf"does {_PHONE} (?:run|have|use|show)|(?:is {_PHONE}|am i|are we) (?:running|using|on|connected to))"
)
_LEFT = r"(?:is |are )?(?:left|free|available|remaining)"


def parse_state(word: str) -> State:
    """The state and its kind of a word matched by ``STATES``."""
    return _STATES[word.lower()]


def _is_visible(*, required: bool, holds: bool = True) -> InstructionBuilder:
    return lambda match: CheckInstruction(parse_target(match[0]), holds=holds, required=required)


def _has_state(*, required: bool, holds: bool = True) -> InstructionBuilder:
    def build(match: RuleMatch) -> Instruction:
        state, state_kind = parse_state(match[1])
        return CheckInstruction(
            parse_target(match[0]), state, holds=holds, required=required, state_kind=state_kind
        )

    return build


def _has_value(*, required: bool, holds: bool = True) -> InstructionBuilder:
    return lambda match: CheckInstruction(
        parse_target(match[0]), value=match.text(1), holds=holds, required=required
    )


def _read(match: RuleMatch) -> Instruction:
    return ReadInstruction(parse_target(match[0]))


def _read_remaining(match: RuleMatch) -> Instruction:
    """Read the free amount where that is a known place, otherwise the value itself."""
    name = re.sub(r"^(?:free|available)\s+", "", match[0], flags=re.IGNORECASE)
    return ReadInstruction(parse_target(f"free {name}" if find_place(f"free {name}") else name))


QUESTION_RULES: tuple[Rule, ...] = (
    # is it on the screen?
    (rf"{_REQUIRE}\s+(.+?)\s+(?:{_GONE})", _is_visible(required=True, holds=False)),
    (rf"{_REQUIRE} there is no\s+(.+?)(?: {_ON_SCREEN})?", _is_visible(required=True, holds=False)),
    (rf"{_REQUIRE}\s+(.+?)\s+(?:is|are) {_ON_SCREEN}", _is_visible(required=True)),
    (rf"{_WHETHER}\s+(.+?)\s+(?:is|are) {_ON_SCREEN}", _is_visible(required=False)),
    (rf"(?:is|are)(?: there)?\s+(.+?)\s+{_ON_SCREEN}", _is_visible(required=False)),
    (r"(?:is|are)\s+(.+?)\s+gone", _is_visible(required=False, holds=False)),
    # is it on?
    (rf"{_REQUIRE}\s+(.+?)\s+{_IS_NOT} {STATES}", _has_state(required=True, holds=False)),
    (rf"{_REQUIRE}\s+(.+?)\s+is {STATES}", _has_state(required=True)),
    (rf"(?:is|{_WHETHER})\s+(.+?)(?: is)? (?:on or off|off or on)", _read),
    (rf"{_WHETHER}\s+(.+?)\s+is {STATES}", _has_state(required=False)),
    (rf"is\s+(.+?)\s+{STATES}{_NOW}", _has_state(required=False)),
    # has it this value?
    (rf"{_REQUIRE}\s+(.+?)\s+(?:{_IS_NOT}|does not (?:say|show))\s+(.+)", _has_value(required=True, holds=False)),
    (rf"{_REQUIRE}\s+(?!there is )(.+?)\s+{_HAS_VALUE}\s+(.+)", _has_value(required=True)),
    (rf"{_WHETHER}\s+(?!there is )(.+?)\s+{_HAS_VALUE}\s+(.+)", _has_value(required=False)),
    (rf"{_REQUIRE}(?: there is)?\s+(.+)", _is_visible(required=True)),
    (
        rf"(?:(?:do|can|could) you see|is there|{_WHETHER} there is)\s+(.+?)(?: {_ON_SCREEN})?",
        _is_visible(required=False),
    ),
    # what is its value?
    (r"what does\s+(.+?)\s+(?:say|show|read)", _read),
    (r"tell me what\s+(.+?)\s+(?:is|says|shows|reads)", _read),
    (rf"how much\s+(.+?)\s+(?:{_LEFT}|is there|(?:do (?:i|we)|does {_PHONE}) have(?: left)?)", _read_remaining),
    (rf"{_WHAT}\s+(.+?)(?:{_OF_PHONE})?{_NOW}", _read),
    (rf"(?:which|what)\s+(.+?){_OF_PHONE}{_NOW}", _read),
    (rf"(?:read|read out|tell me|get)(?: me)?\s+(.+?)(?:{_OF_PHONE})?{_NOW}", _read),
)


# Actions

_MAX_WAIT_S = LONGEST_WAIT_MS // 1000
_DIRECTIONS: dict[str, Direction] = {"up": "up", "left": "left", "right": "right"}
_POWER = ("phone", "device", "tablet", "screen", "display", "power")

_NUMBER_WORDS = "one|two|three|four|five|six|seven|eight|nine|ten"
_AMOUNT = rf"(\d{{1,6}}(?:\.\d{{1,3}})?|an?|half a|{_NUMBER_WORDS})"
_UNIT = r"(milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|moment|bit|while)"
_REPEATS = rf"(?:twice|thrice|(?:\d+|{_NUMBER_WORDS}) times)"
_TIMES = (
    rf"((?:\s+(?:once|again|{_REPEATS}|(?:\d+|{_NUMBER_WORDS}) (?:pages|screens)|a (?:bit|little|page|screen)))?)"
)
_UP_TO = rf"(?:up to|at most) {_AMOUNT} ?{_UNIT}"
_APPEARS = (
    r"(?:\s+(?:to (?:appear|come|come up|show|show up|load|be there|be visible|be on the screen)|"
    r"appears|comes|comes up|shows|shows up|loads|is there|is visible|is on the screen|is shown))?"
)
_DISAPPEARS = (
    r"\s+(?:to (?:disappear|vanish|go|go away|be gone)|disappears|vanishes|goes away|(?:is|has) gone|"
    r"is (?:not|no longer) (?:there|visible|on the screen))"
)
_IT_LOADS = (
    r"(?:it|the (?:page|screen|app|list|content)) (?:to (?:load|open|finish(?: loading)?|be ready|settle)|"
    r"loads|opens|is (?:loaded|open|ready|done|there)|has (?:loaded|opened|finished(?: loading)?|settled))"
)
_TO_TYPE = "(?:type|enter|write|input|put|insert)"
_TO_TAP = "(?:tap|click|press|select|choose|touch|hit|pick|push)"
_HOLD = r"(?:long[- ]?(?:press|tap|click)|(?:press|tap|click|touch) and hold|hold(?: down)?)"
_POINT = r"(?:at|(?:at |on )?the point)\s+\(?(\d{1,5})\s*(?:,\s*|\s+)(\d{1,5})\)?"
_UNSPECIFIED_TEXT = re.compile(
    r"(?:my|your|our)\s+\S+(?:\s+\S+)?|"
    r"the (?:password|passcode|pin|code|user ?name|name|e-?mail|address|text|number|date|time)",
    re.IGNORECASE | re.DOTALL,
)


def _times(phrase: str) -> int:
    times = parse_times(phrase)
    if not times:
        raise SentenceError(f"repeat an instruction 1 to {MAX_TIMES} times")
    return times


def _seconds(number: str, unit: str) -> float:
    seconds = parse_seconds(number, unit)
    if not 0 < seconds <= _MAX_WAIT_S:
        raise SentenceError(f"the longest wait is {_MAX_WAIT_S} seconds")
    return seconds


def _reject(reason: str) -> InstructionBuilder:
    def build(_: RuleMatch) -> Instruction:
        raise SentenceError(reason)

    return build


# Waits: until an element appears, disappears or has a state


def _wait(number: int | None, name: int, state: int | None = None, *, gone: bool = False) -> InstructionBuilder:
    """Build a wait from the rule's groups: time, name and, if there is one, state."""

    def build(match: RuleMatch) -> Instruction:
        check = CheckInstruction(parse_target(match[name]), holds=not gone, required=True)
        if state is not None:
            on, state_kind = parse_state(match[state])
            check = CheckInstruction(check.target, on, required=True, state_kind=state_kind)
        return (
            WaitForInstruction(check)
            if number is None
            else WaitForInstruction(check, _seconds(match[number], match[number + 1]))
        )

    return build


def _wait_rules() -> tuple[Rule, ...]:
    becomes = rf"\s+(?:is|becomes|to be|to become) {STATES}"
    rules: list[Rule] = []
    for ending in (_DISAPPEARS, becomes, _APPEARS):
        gone, states = ending == _DISAPPEARS, ending == becomes
        rules += [
            (
                rf"wait (?:for )?{_UP_TO} (?:for|until)\s+(.+?){ending}",
                _wait(0, 2, 3 if states else None, gone=gone),
            ),
            (
                rf"wait (?:for|until)\s+(.+?){ending},? (?:for )?{_UP_TO}",
                _wait(1 + states, 0, 1 if states else None, gone=gone),
            ),
            (rf"wait (?:for|until)\s+(.+?){ending}", _wait(None, 0, 1 if states else None, gone=gone)),
        ]
    return tuple(rules)


# Scrolling and switches


def _scroll(match: RuleMatch) -> Instruction:
    return ScrollInstruction(_DIRECTIONS.get(match[0].lower(), "down"), _times(match[1]))


def _scroll_to_end(match: RuleMatch) -> Instruction:
    return ScrollInstruction("up" if match[0].lower() in ("top", "start", "beginning", "up") else "down", 0)


def _scroll_to_target(match: RuleMatch) -> Instruction:
    found = re.search(r"\s(?:in|on)\s+(?:the )?(.+)", mask(match[0]), re.IGNORECASE)
    if found and known_app(match[0][found.start(1) :]):
        app = match[0][found.start(1) :]
        raise SentenceError(f"write 'search for … in {app}', or open {app} first")
    return ScrollToInstruction(parse_target(match[0]))


def _set_switch(name: int, *, on: bool | None = None, state: int | None = None) -> InstructionBuilder:
    def build(match: RuleMatch) -> Instruction | InstructionSequence:
        wanted = on if state is None else match[state].lower() == "on"
        names = re.split(r"\s*,\s*(?:and\s+)?|\s+and\s+", match[name], flags=re.IGNORECASE)
        if len(names) > 1 and all(map(find_place, names)):  # otherwise "and" may be part of a label
            return InstructionSequence(tuple(SetSwitchInstruction(parse_target(each), wanted) for each in names))
        target = parse_target(match[name])
        if target.name.casefold() in _POWER and not target.exact:
            raise SentenceError("turning the phone on or off is not supported")
        return SetSwitchInstruction(target, wanted)

    return build


# Text


def _text(match: RuleMatch, place: int) -> str:
    """A text to type. Rejected when its limits are unclear, or when it describes a text instead of giving it."""
    text = match.text(place)
    masked = mask(match[place].strip())
    if HIDDEN in masked and masked.strip(HIDDEN):
        raise SentenceError("quote the whole text, and write one 'type' per text")
    if HIDDEN not in masked and _UNSPECIFIED_TEXT.fullmatch(text):
        raise SentenceError(f"the value of {text!r} is not known; quote it to type it literally")
    return text


def _type(text: int, field: int | None = None) -> InstructionBuilder:
    def build(match: RuleMatch) -> Instruction:
        target = None if field is None else parse_target(match[field])
        if target is not None and target.beside:
            raise SentenceError("name the field itself, not its neighbour")
        return TypeInstruction(_text(match, text), target)

    return build


# Taps


def _tap(match: RuleMatch) -> Instruction | InstructionSequence:
    if re.search(rf"\s{_REPEATS}$", mask(match[0]), re.IGNORECASE):
        raise SentenceError("write one instruction per tap")
    steps = tuple(TapInstruction(parse_target(name)) for name in parse_path(match[0]))
    return steps[0] if len(steps) == 1 else InstructionSequence(steps)


def _submit_or_tap(match: RuleMatch) -> Instruction | Submit:
    return Submit(otherwise=TapInstruction(parse_target(unquote(match[0])[0])))


def _tap_at(*, hold: bool) -> InstructionBuilder:
    return lambda match: TapAtInstruction(int(match[0]), int(match[1]), hold)


ACTION_RULES: tuple[Rule, ...] = (
    # keys
    (
        r"(?:go |navigate |return )?(?:back )?to (?:the )?home ?screen|go back home",
        lambda _: PressKeyInstruction("home"),
    ),
    (
        rf"(?:go |press |hit |navigate |push )?(?:the )?back(?: button| key)?{_TIMES}",
        lambda s: PressKeyInstruction("back", _times(s[0])),
    ),
    (
        r"(?:go |press |hit |push )?(?:to )?(?:the )?home(?: screen| button| key)?",
        lambda _: PressKeyInstruction("home"),
    ),
    (
        r"(?:press |hit |open |show |go to )?(?:the )?(?:recents|recent apps|app switcher)(?: button| key)?",
        lambda _: PressKeyInstruction("recents"),
    ),
    (
        r"submit(?: it| the (?:form|text))?|search|(?:press|hit|tap) (?:the )?(?:enter|return)(?: key| button)?",
        lambda _: Submit(),
    ),
    (r"(?:press|hit) (?:the )?(search)(?: key)?", _submit_or_tap),
    # waiting and scrolling
    (rf"wait(?: for)? {_AMOUNT} ?{_UNIT}", lambda s: PauseInstruction(_seconds(s[0], s[1]))),
    (rf"wait (?:for|until) {_IT_LOADS}", lambda _: SettleInstruction()),
    *_wait_rules(),
    (rf"scroll(?: (down|up|left|right))?{_TIMES}", _scroll),
    (r"scroll all the way (down|up)", _scroll_to_end),
    (
        (
            r"scroll(?: down| up| all the way)* to (?:the )?(?:very )?(bottom|end|top|start|beginning)"
            r"(?: of (?:the )?(?:page|list|screen))?"
        ),
        _scroll_to_end,
    ),
    (
        rf"scroll(?: down| up)? (?:to|until(?: you (?:see|find|reach))?|till)\s+(.+?){_APPEARS}",
        lambda s: ScrollToInstruction(parse_target(s[0])),
    ),
    (r"swipe(?:\s.+)?", _reject("write 'scroll' and a direction: 'scroll down' shows what is below")),
    (r"(?:find|look for|locate)\s+(.+?)(?: on (?:the )?screen)?", _scroll_to_target),
    # switches
    (r"(?:turn|switch) (on|off)\s+(.+)", _set_switch(1, state=0)),
    (r"(?:turn|switch|set)\s+(.+?)\s+(?:to )?(on|off)", _set_switch(0, state=1)),
    (r"(?:enable|activate|tick)\s+(.+)", _set_switch(0, on=True)),
    (r"(?:disable|deactivate|untick|uncheck)\s+(.+)", _set_switch(0, on=False)),
    (r"toggle\s+(.+)", _set_switch(0)),
    (
        r"(?:set|change)\s+.+?\s+to\s+.+",
        _reject("setting a value by name is not supported: write 'tap …' or 'type … into …'"),
    ),
    # text
    (r"fill(?: in| out)?\s+(.+)\s+with\s+(.+)", _type(1, 0)),
    (rf"{_TO_TYPE}\s+(.+)\s+(?:into|in to)\s+(.+)", _type(0, 1)),
    (rf"{_TO_TYPE}\s+(.+)\s+in\s+(.+)", _type(0, 1)),
    (rf"{_TO_TYPE}\s+(.+)\s+as\s+((?:the|my|your)\s.+)", _type(0, 1)),
    (r"(?:type|enter|write|input)\s+(.+)", _type(0)),
    (r"(?:clear|empty|erase)\s+(.+)", lambda s: ClearInstruction(parse_target(s[0]))),
    # taps
    (rf"{_HOLD}\s+{_POINT}", _tap_at(hold=True)),
    (rf"{_TO_TAP}\s+{_POINT}", _tap_at(hold=False)),
    (rf"{_HOLD}(?: on)?\s+(.+)", lambda s: TapInstruction(parse_target(s[0]), hold=True)),
    (rf"{_TO_TAP}(?: on)?\s+(.+)", _tap),
)
