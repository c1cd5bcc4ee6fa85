"""Rules for questions: whether something is so, and what a value is."""

import re
from typing import Literal

from clawperator.agent.offline.instructions import Check, Instruction, Read
from clawperator.agent.offline.known_places import find_place
from clawperator.agent.offline.rule_match import Maker, Rule, Said
from clawperator.agent.offline.targets import read_target

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
