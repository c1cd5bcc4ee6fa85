"""Grammar rules for screen actions: keys, waits, scrolling, switches, text and taps."""

import re

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
    split_list,
    strip_article,
    unquote,
)
from clawperator.agent.offline.instructions import (
    CheckInstruction,
    ClearInstruction,
    Direction,
    Instruction,
    PauseInstruction,
    PressKeyInstruction,
    ScrollInstruction,
    ScrollToInstruction,
    SetSwitchInstruction,
    SettleInstruction,
    TapAtInstruction,
    TapInstruction,
    TypeInstruction,
    WaitForInstruction,
)
from clawperator.agent.offline.known_places import find_page, find_place, known_app
from clawperator.agent.offline.rules_questions import STATES, parse_state
from clawperator.contract.execution import LONGEST_WAIT_MS

_MAX_WAIT_S = LONGEST_WAIT_MS // 1000
_DIRECTIONS: dict[str, Direction] = {"up": "up", "left": "left", "right": "right"}
# A swipe moves the content the other way.
_SWIPES: dict[str, Direction] = {"up": "down", "down": "up", "left": "right", "right": "left"}
_POWER = ("phone", "device", "tablet", "screen", "display", "power")

_NUMBER_WORDS = "one|two|three|four|five|six|seven|eight|nine|ten"
_AMOUNT = rf"(\d{{1,6}}(?:\.\d{{1,3}})?|an?|half a|{_NUMBER_WORDS})"
_UNIT = r"(milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|moment|bit|while)"
_REPEATS = rf"(?:twice|thrice|(?:\d+|{_NUMBER_WORDS}) times)"
_TIMES = (
    rf"((?:\s+(?:once|again|{_REPEATS}|(?:\d+|{_NUMBER_WORDS}) (?:pages|screens)|a (?:bit|little|page|screen)))?)"
    r"(?: more| further)?"
)
_CONTENT = r"(?:(?:on |in )?(?:the |this )?(?:page|list|screen|view|feed))"
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
_DESCRIBED = re.compile(r"(?:an?|the|some|any)\s", re.IGNORECASE)
_JOINED = re.compile(r"\s+(?:and|then|&)\s+|,\s*", re.IGNORECASE)
_UNSPECIFIED_TEXT = re.compile(
    r"(?:my|your|our)\s+\S+(?:\s+\S+)?|(?:some|any)(?:thing|one|where)?(?:\s.*)?|"
    r"(?:a|the) (?:text|word|letter|title)|"
    r"the .+ (?:menu|page|screen|settings|app|section)|"
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


def _swipe(match: RuleMatch) -> Instruction:
    return ScrollInstruction(_SWIPES[match[0].lower()], _times(match[1]))


def _scroll_to_end(match: RuleMatch) -> Instruction:
    return ScrollInstruction("up" if match[0].lower() in ("top", "start", "beginning", "up") else "down", 0)


def _scroll_to_target(match: RuleMatch) -> Instruction:
    found = re.search(r"\s(?:in|on)\s+(?:the )?(.+)", mask(match[0]), re.IGNORECASE)
    if found and known_app(match[0][found.start(1) :]):
        app = match[0][found.start(1) :]
        raise SentenceError(f"write 'search for … in {app}', or open {app} first")
    target = parse_target(match[0])
    if target.ordinal and not target.phrase[:1].isupper():
        raise SentenceError("scroll to an element by its name")
    return ScrollToInstruction(target)


def _set_switch(name: int, *, on: bool | None = None, state: int | None = None) -> InstructionBuilder:
    def build(match: RuleMatch) -> Instruction | InstructionSequence:
        wanted = on if state is None else match[state].lower() == "on"
        phrase = re.sub(r"^both\s+", "", match[name], flags=re.IGNORECASE)
        names = split_list(phrase)
        if len(names) > 1 and all(map(find_place, names)):  # otherwise "and" may be part of a label
            return InstructionSequence(tuple(_switch(each, on=wanted) for each in names))
        return _switch(phrase, on=wanted)

    return build


def _switch(phrase: str, *, on: bool | None) -> SetSwitchInstruction:
    target = parse_target(phrase)
    if target.name.casefold() in _POWER and not target.exact:
        raise SentenceError("turning the phone on or off is not supported")
    if re.search(r"\b(?:on|off)\s+(?:and|or)\b|^or\s", mask(phrase), re.IGNORECASE):
        raise SentenceError("write one 'turn on' or 'turn off' per switch")
    return SetSwitchInstruction(target, on)


def _set_two_switches(match: RuleMatch) -> InstructionSequence:
    """ "Turn A off and B on" """
    first, second = match[1].lower() == "on", match[3].lower() == "on"
    return InstructionSequence((_switch(match[0], on=first), _switch(match[2], on=second)))


def _set_two_switches_before(match: RuleMatch) -> InstructionSequence:
    """ "Turn on A and off B" """
    first, second = match[0].lower() == "on", match[2].lower() == "on"
    return InstructionSequence((_switch(match[1], on=first), _switch(match[3], on=second)))


def bare_switch(name: str, *, on: bool) -> Instruction:
    """ "Bluetooth off" """
    return _switch(name, on=on)


def _use(match: RuleMatch) -> Instruction:
    """ "Switch to dark mode": a known switch; other names are apps."""
    place = find_place(strip_article(match[0]))
    if place is None or not place.is_switch:
        raise SentenceError(f"unknown switch {match[0]!r}: write 'turn on …'")
    return _switch(match[0], on=True)


# Text


def parse_text(match: RuleMatch, place: int, *, is_delimited: bool = False) -> str:
    """A text to type. Rejected when its limits are unclear, or when it describes a text instead of giving it.

    An unquoted text that is not followed by its field may have swallowed an instruction: "35 and confirm".
    """
    text = match.text(place)
    masked = mask(match[place].strip())
    if HIDDEN in masked and masked.strip(HIDDEN):
        raise SentenceError("quote the whole text, and write one 'type' per text")
    if HIDDEN not in masked and (
        _UNSPECIFIED_TEXT.fullmatch(text) or (not is_delimited and _DESCRIBED.match(text))
    ):
        raise SentenceError(f"the value of {text!r} is not known; quote it to type it literally")
    joined = None if is_delimited or HIDDEN in masked else _JOINED.search(masked)
    if joined and not _is_plural_noun(masked[joined.end() :]):
        raise SentenceError(f"quote a text that contains {joined[0].strip()!r}")
    return text


def _is_plural_noun(words: str) -> bool:
    """Whether the words cannot be an instruction: "dogs" in "cats and dogs", or a number."""
    return re.fullmatch(r"\d\S*|\w+[^su\W]s", words.strip()) is not None


def _reject_page(match: RuleMatch) -> Instruction | None:
    """ "Enter the settings" means to open them."""
    name = strip_article(match[0])
    if known_app(name) or find_page(name):
        raise SentenceError(f"write 'open {name}', or quote a text to type")
    return None


def _type(text: int, field: int | None = None) -> InstructionBuilder:
    def build(match: RuleMatch) -> Instruction | InstructionSequence:
        target = None if field is None else parse_target(match[field])
        if target is not None and target.beside:
            raise SentenceError("name the field itself, not its neighbour")
        return TypeInstruction(parse_text(match, text, is_delimited=field is not None), target)

    return build


def _type_two(match: RuleMatch) -> InstructionSequence:
    """ "Type A in B and C in D": two fields, whose names end the texts."""
    pairs = ((0, 1), (2, 3))
    if any(HIDDEN in (masked := mask(match[place].strip())) and masked.strip(HIDDEN) for place in range(4)):
        raise SentenceError("quote the whole text, and write one 'type' per text")
    return InstructionSequence(
        tuple(
            TypeInstruction(parse_text(match, text, is_delimited=True), parse_target(match[field]))
            for text, field in pairs
        )
    )


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


_TO_GO = "(?:go|navigate|return|get|take me|bring me|get me|head)"
_PREVIOUS = r"(?:the )?(?:previous|last) (?:page|screen|view|step)"

ACTION_RULES: tuple[Rule, ...] = (
    # keys
    (
        (
            rf"(?:{_TO_GO} )?(?:back )?to (?:the |my )?home ?(?:screen)?|"
            rf"(?:{_TO_GO} )?(?:back )?home(?: again| now)?|"
            r"(?:show|open)(?: me)? (?:the |my )?(?:home ?screen|launcher)"
        ),
        lambda _: PressKeyInstruction("home"),
    ),
    (
        rf"{_TO_GO} (?:back )?to {_PREVIOUS}|(?:go )?back (?:one|a) (?:page|screen|step)|take me back|{_PREVIOUS}",
        lambda _: PressKeyInstruction("back"),
    ),
    (
        rf"(?:go |press |hit |navigate |push |tap )?(?:the )?back(?: button| key)?{_TIMES}",
        lambda s: PressKeyInstruction("back", _times(s[0])),
    ),
    (
        r"(?:go |press |hit |push )?(?:to )?(?:the )?home(?: screen| button| key)?",
        lambda _: PressKeyInstruction("home"),
    ),
    (
        r"(?:press |hit |open |show |go to )?(?:me )?(?:the )?(?:recents|recent apps|app switcher)(?: button)?",
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
    (rf"(?:keep )?scroll(?:ing)?(?: back)?(?: (down|up|left|right))?(?: {_CONTENT})?{_TIMES}", _scroll),
    (rf"(?:keep )?scroll(?:ing)? {_CONTENT} (?:back )?(down|up|left|right){_TIMES}", _scroll),
    (rf"page (down|up){_TIMES}", _scroll),
    (rf"swipe (?:to the )?(up|down|left|right){_TIMES}", _swipe),
    (r"scroll all the way(?: back)? (down|up)", _scroll_to_end),
    (
        (
            r"scroll(?: back| down| up| all the way)* to (?:the )?(?:very )?(bottom|end|top|start|beginning)"
            r"(?: of (?:the |this )?(?:page|list|screen))?"
        ),
        _scroll_to_end,
    ),
    (
        (
            r"(?:keep )?scroll(?:ing)?(?: back)?(?: down| up)? (?:to|until(?: you (?:see|find|reach))?|till)\s+"
            rf"(.+?){_APPEARS}"
        ),
        _scroll_to_target,
    ),
    (r"swipe(?:\s.+)?", _reject("write 'swipe' or 'scroll' and a direction")),
    (r"(?:find|look for|locate)\s+(.+?)(?: on (?:the )?screen)?", _scroll_to_target),
    # switches
    (r"(?:turn|switch) (on|off)\s+(.+?)\s+and (on|off)\s+(.+)", _set_two_switches_before),
    (r"(?:turn|switch)\s+(?!on\b|off\b)(.+?)\s+(on|off),? and\s+(.+?)\s+(on|off)", _set_two_switches),
    (r"(?:turn|switch|shut) (on|off)\s+(.+)", _set_switch(1, state=0)),
    (
        r"(?:turn|switch|set|put|shut|get|have)\s+(.+?)\s+(?:back )?(?:to )?(on|off)(?: again)?",
        _set_switch(0, state=1),
    ),
    (r"(?:enable|activate|tick)\s+(.+)", _set_switch(0, on=True)),
    (r"(?:disable|deactivate|untick|uncheck)\s+(.+)", _set_switch(0, on=False)),
    (r"(?:toggle|flip)\s+(.+)", _set_switch(0)),
    (r"(?:use|(?:switch|change|go) (?:over )?(?:in)?to)\s+(.+ (?:mode|theme))", _use),
    # text
    (r"enter\s+(.+)", _reject_page),
    (r"fill(?: in| out)?\s+(.+)\s+with\s+(.+)", _type(1, 0)),
    (rf"{_TO_TYPE}\s+(.+?)\s+(?:into|in to|in)\s+(.+?)\s+and\s+(.+?)\s+(?:into|in to|in)\s+(.+)", _type_two),
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
