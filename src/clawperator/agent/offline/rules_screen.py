"""Grammar rules for screen actions and for questions about the screen."""

import re
from typing import Literal

from clawperator.agent.offline.grammar import (
    HIDDEN,
    MOST_TIMES,
    Maker,
    RefusedError,
    Rule,
    Said,
    Several,
    Submit,
    mask,
    read_path,
    read_seconds,
    read_target,
    read_times,
    unquote,
)
from clawperator.agent.offline.instructions import (
    Check,
    Clear,
    Direction,
    Instruction,
    Pause,
    Press,
    Read,
    Scroll,
    Seek,
    Settle,
    Tap,
    TapAt,
    Turn,
    Type,
    WaitFor,
)
from clawperator.agent.offline.known_places import find_place, known_app
from clawperator.contract.builders import LONGEST_WAIT_MS

State = tuple[Literal["on", "off"], Literal["", "enabled", "selected"]]

# What a state means, and what it means for a thing without a switch.
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
_SAYS = r"(?:is|says|shows|reads|equals)"
_MUST = r"(?:check|verify|assert|confirm|test|make sure) that"
_WHETHER = r"(?:check|see|tell me|look) (?:whether|if)"
_WHAT = r"(?:what(?: is|'s| are)|whats)"
_NOW = r"(?: (?:right now|now|currently|at the moment))?"
_PHONE = r"(?:the|this|my) (?:phone|device)"
_OF_PHONE = (
    rf"\s+(?:(?:of|on|in) {_PHONE}|is this(?: phone| device)?|is on this phone|is (?:running|installed)|"
    rf"does {_PHONE} (?:run|have|use|show)|(?:is {_PHONE}|am i|are we) (?:running|using|on|connected to))"
)
_LEFT = r"(?:is |are )?(?:left|free|available|remaining)"


def read_state(word: str) -> State:
    """On or off, and in what sense, of a word that ``STATES`` caught."""
    return _STATES[word.lower()]


def _shown(*, must: bool, holds: bool = True) -> Maker:
    return lambda said: Check(read_target(said[0]), holds=holds, must=must)


def _turned(*, must: bool, holds: bool = True) -> Maker:
    def make(said: Said) -> Instruction:
        state, sense = read_state(said[1])
        return Check(read_target(said[0]), state, holds=holds, must=must, sense=sense)

    return make


def _valued(*, must: bool, holds: bool = True) -> Maker:
    return lambda said: Check(read_target(said[0]), value=said.text(1), holds=holds, must=must)


def _read(said: Said) -> Instruction:
    return Read(read_target(said[0]))


def _read_rest(said: Said) -> Instruction:
    """What is left of something: free storage, if that is known, else the thing itself."""
    name = re.sub(r"^(?:free|available)\s+", "", said[0], flags=re.IGNORECASE)
    return Read(read_target(f"free {name}" if find_place(f"free {name}") else name))


QUESTION_RULES: tuple[Rule, ...] = (
    # is it on the screen?
    (rf"{_MUST}\s+(.+?)\s+(?:{_GONE})", _shown(must=True, holds=False)),
    (rf"{_MUST} there is no\s+(.+?)(?: {_ON_SCREEN})?", _shown(must=True, holds=False)),
    (rf"{_MUST}\s+(.+?)\s+(?:is|are) {_ON_SCREEN}", _shown(must=True)),
    (rf"{_WHETHER}\s+(.+?)\s+(?:is|are) {_ON_SCREEN}", _shown(must=False)),
    (rf"(?:is|are)(?: there)?\s+(.+?)\s+{_ON_SCREEN}", _shown(must=False)),
    (r"(?:is|are)\s+(.+?)\s+gone", _shown(must=False, holds=False)),
    # is it on?
    (rf"{_MUST}\s+(.+?)\s+{_IS_NOT} {STATES}", _turned(must=True, holds=False)),
    (rf"{_MUST}\s+(.+?)\s+is {STATES}", _turned(must=True)),
    (rf"(?:is|{_WHETHER})\s+(.+?)(?: is)? (?:on or off|off or on)", _read),
    (rf"{_WHETHER}\s+(.+?)\s+is {STATES}", _turned(must=False)),
    (rf"is\s+(.+?)\s+{STATES}{_NOW}", _turned(must=False)),
    # has it this value?
    (rf"{_MUST}\s+(.+?)\s+(?:{_IS_NOT}|does not (?:say|show))\s+(.+)", _valued(must=True, holds=False)),
    (rf"{_MUST}\s+(?!there is )(.+?)\s+{_SAYS}\s+(.+)", _valued(must=True)),
    (rf"{_WHETHER}\s+(?!there is )(.+?)\s+{_SAYS}\s+(.+)", _valued(must=False)),
    (rf"{_MUST}(?: there is)?\s+(.+)", _shown(must=True)),
    (rf"(?:(?:do|can|could) you see|is there|{_WHETHER} there is)\s+(.+?)(?: {_ON_SCREEN})?", _shown(must=False)),
    # what is its value?
    (r"what does\s+(.+?)\s+(?:say|show|read)", _read),
    (r"tell me what\s+(.+?)\s+(?:is|says|shows|reads)", _read),
    (rf"how much\s+(.+?)\s+(?:{_LEFT}|is there|(?:do (?:i|we)|does {_PHONE}) have(?: left)?)", _read_rest),
    (rf"{_WHAT}\s+(.+?)(?:{_OF_PHONE})?{_NOW}", _read),
    (rf"(?:which|what)\s+(.+?){_OF_PHONE}{_NOW}", _read),
    (rf"(?:read|read out|tell me|get)(?: me)?\s+(.+?)(?:{_OF_PHONE})?{_NOW}", _read),
)


_LONGEST_WAIT_S = LONGEST_WAIT_MS // 1000
_DIRECTIONS: dict[str, Direction] = {"up": "up", "left": "left", "right": "right"}
_POWER = ("phone", "device", "tablet", "screen", "display", "power")

_DIGITS = "one|two|three|four|five|six|seven|eight|nine|ten"
_N = rf"(\d{{1,6}}(?:\.\d{{1,3}})?|an?|half a|{_DIGITS})"
_UNIT = r"(milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|moment|bit|while)"
_OFTEN = rf"(?:twice|thrice|(?:\d+|{_DIGITS}) times)"
_TIMES = rf"((?:\s+(?:once|again|{_OFTEN}|(?:\d+|{_DIGITS}) (?:pages|screens)|a (?:bit|little|page|screen)))?)"
_UP_TO = rf"(?:up to|at most) {_N} ?{_UNIT}"
_COMES = (
    r"(?:\s+(?:to (?:appear|come|come up|show|show up|load|be there|be visible|be on the screen)|"
    r"appears|comes|comes up|shows|shows up|loads|is there|is visible|is on the screen|is shown))?"
)
_GOES = (
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
_UNSAID = re.compile(
    r"(?:my|your|our)\s+\S+(?:\s+\S+)?|"
    r"the (?:password|passcode|pin|code|user ?name|name|e-?mail|address|text|number|date|time)",
    re.IGNORECASE | re.DOTALL,
)


def _times(words: str) -> int:
    times = read_times(words)
    if not times:
        raise RefusedError(f"it can be done 1 to {MOST_TIMES} times in a row")
    return times


def _seconds(number: str, unit: str) -> float:
    seconds = read_seconds(number, unit)
    if not 0 < seconds <= _LONGEST_WAIT_S:
        raise RefusedError(f"a wait may take up to {_LONGEST_WAIT_S} seconds")
    return seconds


def _refuse(reason: str) -> Maker:
    def make(_: Said) -> Instruction:
        raise RefusedError(reason)

    return make


# Waiting: for something to be there, to be gone, or to be so


def _wait(number: int | None, name: int, state: int | None = None, *, gone: bool = False) -> Maker:
    """The rule's groups of the time, of the name, and of the state, if there is one."""

    def make(said: Said) -> Instruction:
        check = Check(read_target(said[name]), holds=not gone, must=True)
        if state is not None:
            on, sense = read_state(said[state])
            check = Check(check.target, on, must=True, sense=sense)
        return WaitFor(check) if number is None else WaitFor(check, _seconds(said[number], said[number + 1]))

    return make


def _waits() -> tuple[Rule, ...]:
    becomes = rf"\s+(?:is|becomes|to be|to become) {STATES}"
    rules: list[Rule] = []
    for ending in (_GOES, becomes, _COMES):
        gone, states = ending == _GOES, ending == becomes
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


# Scrolling, switches


def _scroll(said: Said) -> Instruction:
    return Scroll(_DIRECTIONS.get(said[0].lower(), "down"), _times(said[1]))


def _scroll_to_end(said: Said) -> Instruction:
    return Scroll("up" if said[0].lower() in ("top", "start", "beginning", "up") else "down", 0)


def _seek(said: Said) -> Instruction:
    found = re.search(r"\s(?:in|on)\s+(?:the )?(.+)", mask(said[0]), re.IGNORECASE)
    if found and known_app(said[0][found.start(1) :]):
        app = said[0][found.start(1) :]
        raise RefusedError(f"say 'search for … in {app}', or open {app} first")
    return Seek(read_target(said[0]))


def _turn(name: int, *, on: bool | None = None, state: int | None = None) -> Maker:
    def make(said: Said) -> Instruction | Several:
        wanted = on if state is None else said[state].lower() == "on"
        names = re.split(r"\s*,\s*(?:and\s+)?|\s+and\s+", said[name], flags=re.IGNORECASE)
        if len(names) > 1 and all(map(find_place, names)):  # else "and" may be a word of a label
            return Several(tuple(Turn(read_target(each), wanted) for each in names))
        target = read_target(said[name])
        if target.name.casefold() in _POWER and not target.exact:
            raise RefusedError("the phone itself is not turned on or off")
        return Turn(target, wanted)

    return make


# Typing


def _text(said: Said, place: int) -> str:
    """A text to type: taken as it is, when it is clear where it begins and ends and that it is the text itself."""
    text = said.text(place)
    masked = mask(said[place].strip())
    if HIDDEN in masked and masked.strip(HIDDEN):
        raise RefusedError("the whole of a text is quoted, and each text has its own 'type'")
    if HIDDEN not in masked and _UNSAID.fullmatch(text):
        raise RefusedError(f"what {text!r} is, is not known; quote it if it is the text itself")
    return text


def _type(text: int, field: int | None = None) -> Maker:
    def make(said: Said) -> Instruction:
        target = None if field is None else read_target(said[field])
        if target is not None and target.beside:
            raise RefusedError("a field is called by its own name")
        return Type(_text(said, text), target)

    return make


# Touching


def _tap(said: Said) -> Instruction | Several:
    if re.search(rf"\s{_OFTEN}$", mask(said[0]), re.IGNORECASE):
        raise RefusedError("one tap is one instruction: say it once for each")
    steps = tuple(Tap(read_target(name)) for name in read_path(said[0]))
    return steps[0] if len(steps) == 1 else Several(steps)


def _submit_or_tap(said: Said) -> Instruction | Submit:
    return Submit(otherwise=Tap(read_target(unquote(said[0])[0])))


def _tap_at(*, hold: bool) -> Maker:
    return lambda said: TapAt(int(said[0]), int(said[1]), hold)


ACT_RULES: tuple[Rule, ...] = (
    # keys
    (r"(?:go |navigate |return )?(?:back )?to (?:the )?home ?screen|go back home", lambda _: Press("home")),
    (
        rf"(?:go |press |hit |navigate |push )?(?:the )?back(?: button| key)?{_TIMES}",
        lambda s: Press("back", _times(s[0])),
    ),
    (r"(?:go |press |hit |push )?(?:to )?(?:the )?home(?: screen| button| key)?", lambda _: Press("home")),
    (
        r"(?:press |hit |open |show |go to )?(?:the )?(?:recents|recent apps|app switcher)(?: button| key)?",
        lambda _: Press("recents"),
    ),
    (
        r"submit(?: it| the (?:form|text))?|search|(?:press|hit|tap) (?:the )?(?:enter|return)(?: key| button)?",
        lambda _: Submit(),
    ),
    (r"(?:press|hit) (?:the )?(search)(?: key)?", _submit_or_tap),
    # waiting and scrolling
    (rf"wait(?: for)? {_N} ?{_UNIT}", lambda s: Pause(_seconds(s[0], s[1]))),
    (rf"wait (?:for|until) {_IT_LOADS}", lambda _: Settle()),
    *_waits(),
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
        rf"scroll(?: down| up)? (?:to|until(?: you (?:see|find|reach))?|till)\s+(.+?){_COMES}",
        lambda s: Seek(read_target(s[0])),
    ),
    (r"swipe(?:\s.+)?", _refuse("say which way to scroll: 'scroll down' shows what is below")),
    (r"(?:find|look for|locate)\s+(.+?)(?: on (?:the )?screen)?", _seek),
    # switches
    (r"(?:turn|switch) (on|off)\s+(.+)", _turn(1, state=0)),
    (r"(?:turn|switch|set)\s+(.+?)\s+(?:to )?(on|off)", _turn(0, state=1)),
    (r"(?:enable|activate|tick)\s+(.+)", _turn(0, on=True)),
    (r"(?:disable|deactivate|untick|uncheck)\s+(.+)", _turn(0, on=False)),
    (r"toggle\s+(.+)", _turn(0)),
    (
        r"(?:set|change)\s+.+?\s+to\s+.+",
        _refuse("a value is not set by its name: say what to tap, or 'type … into …'"),
    ),
    # typing
    (r"fill(?: in| out)?\s+(.+)\s+with\s+(.+)", _type(1, 0)),
    (rf"{_TO_TYPE}\s+(.+)\s+(?:into|in to)\s+(.+)", _type(0, 1)),
    (rf"{_TO_TYPE}\s+(.+)\s+in\s+(.+)", _type(0, 1)),
    (rf"{_TO_TYPE}\s+(.+)\s+as\s+((?:the|my|your)\s.+)", _type(0, 1)),
    (r"(?:type|enter|write|input)\s+(.+)", _type(0)),
    (r"(?:clear|empty|erase)\s+(.+)", lambda s: Clear(read_target(s[0]))),
    # touching
    (rf"{_HOLD}\s+{_POINT}", _tap_at(hold=True)),
    (rf"{_TO_TAP}\s+{_POINT}", _tap_at(hold=False)),
    (rf"{_HOLD}(?: on)?\s+(.+)", lambda s: Tap(read_target(s[0]), hold=True)),
    (rf"{_TO_TAP}(?: on)?\s+(.+)", _tap),
)
