"""Rules for what is done to the phone: keys, waits, scrolling, switches, typing, touching, apps."""

import re

from clawperator.agent.brains.instructions import (
    Clear,
    Close,
    Direction,
    GoTo,
    Instruction,
    Open,
    Pause,
    Press,
    Scroll,
    Search,
    Seek,
    Tap,
    Turn,
    Type,
    WaitFor,
)
from clawperator.agent.brains.places import known_app
from clawperator.agent.brains.quantities import read_seconds, read_times
from clawperator.agent.brains.said import Maker, Rule, Said, Submit
from clawperator.agent.brains.sentences import mask, unquote
from clawperator.agent.brains.targets import RefusedError, read_target
from clawperator.contract.builders import LONGEST_WAIT_MS

_LONGEST_WAIT_S = LONGEST_WAIT_MS // 1000
_DIRECTIONS: dict[str, Direction] = {"up": "up", "left": "left", "right": "right"}
_THIS_APP = ("app", "this", "it", "current")

_DIGITS = "one|two|three|four|five|six|seven|eight|nine|ten"
_N = rf"(\d{{1,6}}(?:\.\d{{1,3}})?|an?|half a|{_DIGITS})"
_UNIT = r"(milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|moment|bit|while)"
_TIMES = rf"((?:\s+(?:once|twice|again|(?:\d+|{_DIGITS}) (?:times|pages|screens)|a (?:bit|little|page|screen)))?)"
_COMES = (
    r"(?:\s+(?:to (?:appear|come|come up|show|show up|load|be there|be visible|be on the screen)|"
    r"appears|comes|comes up|shows|shows up|loads|is there|is visible|is on the screen|is shown))?"
)
_TO_TYPE = "(?:type|enter|write|input|put|insert)"
_TO_TAP = "(?:tap|click|press|select|choose|touch|hit|pick|push)"


def _app(words: str) -> tuple[str, bool]:
    """The name of an app, and whether it was quoted. One that goes on with "and" is rather two wishes."""
    words = re.sub(r"^(?:the|my|this|an?)\s+", "", words.strip(), flags=re.IGNORECASE)
    name, exact = unquote(re.sub(r"\s+(?:app|application)$", "", words, flags=re.IGNORECASE))
    if not exact and (cut := re.search(r",|\sand\s", name, re.IGNORECASE)):
        raise RefusedError(f"no rule fits {name[cut.end() :].strip()!r}")
    return name, exact


def _open(said: Said) -> Instruction:
    name, exact = _app(said[0])
    if not exact:
        read_target(name)  # refuses what only stands for something
    return Open(name)


def _close(said: Said) -> Instruction:
    name, exact = _app(said[0])
    return Close("" if name.casefold() in _THIS_APP and not exact else name)


def _go_to(said: Said) -> Instruction:
    return GoTo(read_target(re.sub(r"\s+(?:app|application)$", "", said[0], flags=re.IGNORECASE)))


def _search(said: Said) -> Instruction:
    """The app counts only where it is known as one: a text may hold "in" and "on"."""
    found = re.fullmatch(r"(.+)\s+(?:in|on|using|with)\s+(.+)", mask(said[0]), re.IGNORECASE | re.DOTALL)
    if found:
        app = unquote(re.sub(r"^the\s+|\s+app$", "", said[0][found.start(2) :], flags=re.IGNORECASE))[0]
        if known_app(app):
            return Search(unquote(said[0][: found.end(1)])[0], app)
    return Search(said.text(0))


def _search_app(said: Said) -> Instruction:
    app = _app(said[0])[0]
    if not known_app(app):
        raise RefusedError(f"no app is known as {app!r}; open it first, then say what to search for")
    return Search(said.text(1), app)


def _turn(state: int, name: int) -> Maker:
    return lambda said: Turn(read_target(said[name]), said[state].lower() == "on")


def _scroll(said: Said) -> Instruction:
    return Scroll(_DIRECTIONS.get(said[0].lower(), "down"), read_times(said[1]))


def _scroll_to_end(said: Said) -> Instruction:
    return Scroll("up" if said[0].lower() in ("top", "start", "beginning") else "down", 0)


def _seconds(number: str, unit: str) -> float:
    seconds = read_seconds(number, unit)
    if not 0 < seconds <= _LONGEST_WAIT_S:
        raise RefusedError(f"a wait may take up to {_LONGEST_WAIT_S} seconds")
    return seconds


def _wait_for(name: int, number: int | None = None) -> Maker:
    def make(said: Said) -> Instruction:
        target = read_target(said[name])
        return WaitFor(target) if number is None else WaitFor(target, _seconds(said[number], said[number + 1]))

    return make


def _type(text: int, field: int | None = None) -> Maker:
    return lambda said: Type(said.text(text), None if field is None else read_target(said[field]))


ACT_RULES: tuple[Rule, ...] = (
    # keys
    (
        rf"(?:go |press |hit |navigate |push )?(?:the )?back(?: button| key)?{_TIMES}",
        lambda s: Press("back", read_times(s[0])),
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
    # waiting and scrolling
    (rf"wait(?: for)? {_N} ?{_UNIT}", lambda s: Pause(_seconds(s[0], s[1]))),
    (rf"wait (?:for )?(?:up to |at most ){_N} ?{_UNIT} (?:for|until)\s+(.+?){_COMES}", _wait_for(2, 0)),
    (rf"wait (?:for|until)\s+(.+?){_COMES},? (?:for )?(?:up to|at most) {_N} ?{_UNIT}", _wait_for(0, 1)),
    (rf"wait (?:for|until)\s+(.+?){_COMES}", _wait_for(0)),
    (rf"scroll(?: (down|up|left|right))?{_TIMES}", _scroll),
    (
        (
            r"scroll(?: down| up| all the way)* to (?:the )?(bottom|end|top|start|beginning)"
            r"(?: of (?:the )?(?:page|list|screen))?"
        ),
        _scroll_to_end,
    ),
    (
        rf"scroll(?: down| up)? (?:to|until(?: you (?:see|find|reach))?|till)\s+(.+?){_COMES}",
        lambda s: Seek(read_target(s[0])),
    ),
    (r"(?:find|look for|locate)\s+(.+?)(?: on (?:the )?screen)?", lambda s: Seek(read_target(s[0]))),
    # switches
    (r"(?:turn|switch) (on|off)\s+(.+)", _turn(0, 1)),
    (r"(?:turn|switch|set)\s+(.+?)\s+(?:to )?(on|off)", _turn(1, 0)),
    (r"(?:enable|activate|tick)\s+(.+)", lambda s: Turn(read_target(s[0]), True)),
    (r"(?:disable|deactivate|untick|uncheck)\s+(.+)", lambda s: Turn(read_target(s[0]), False)),
    # typing
    (r"fill(?: in| out)?\s+(.+)\s+with\s+(.+)", _type(1, 0)),
    (rf"{_TO_TYPE}\s+(.+)\s+(?:into|in to)\s+(.+)", _type(0, 1)),
    (rf"{_TO_TYPE}\s+(.+)\s+in\s+(.+)", _type(0, 1)),
    (r"(?:type|enter|write|input)\s+(.+)", _type(0)),
    (r"(?:search(?: for| up)|look up)\s+(.+)", _search),
    (r"search\s+(.+?)\s+for\s+(.+)", _search_app),
    (r"(?:clear|empty|erase)\s+(.+)", lambda s: Clear(read_target(s[0]))),
    # touching
    (
        r"(?:long[- ]?(?:press|tap|click)|(?:press|tap|click|touch) and hold|hold(?: down)?)(?: on)?\s+(.+)",
        lambda s: Tap(read_target(s[0]), hold=True),
    ),
    (rf"{_TO_TAP}(?: on)?\s+(.+)", lambda s: Tap(read_target(s[0]))),
    # apps
    (r"(?:close|kill|quit|exit|force[- ]stop)\s+(.+)", _close),
    (r"(?:open|launch|start|visit)(?: up)?\s+(.+)", _open),
    (r"(?:go|navigate|switch|browse) to\s+(.+)", _go_to),
)
