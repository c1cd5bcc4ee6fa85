"""Rules for questions: whether something is so, and what a value is."""

from clawperator.agent.brains.instructions import Check, Instruction, Read
from clawperator.agent.brains.said import Maker, Rule, Said
from clawperator.agent.brains.targets import read_target

_ON = ("on", "enabled", "checked", "ticked", "active")
_STATES = rf"(?:turned |switched )?({'|'.join(_ON)}|off|disabled|unchecked|unticked|inactive)"
_SCREEN = r"(?:on (?:the |this |my )?(?:screen|display|page))"
_ON_SCREEN = rf"(?:(?:visible|shown|displayed|there|present)(?: {_SCREEN})?|{_SCREEN})(?: now)?"
_IS_NOT = r"(?:is not|isn't|are not|is no longer)"
_SAYS = r"(?:is|says|shows|reads|equals)"
_MUST = r"(?:check|verify|assert|confirm|test) that"
_WHETHER = r"(?:check|see|tell me|look) (?:whether|if)"
_OF_PHONE = (
    r"\s+(?:(?:of|on|in) (?:the|this|my) (?:phone|device)|is this|is on this phone|is (?:running|installed)|"
    r"does (?:the|this|my) (?:phone|device) (?:run|have|use|show)|"
    r"is (?:the|this|my) (?:phone|device) (?:running|using|on))"
)


def _shown(*, must: bool, holds: bool = True) -> Maker:
    return lambda said: Check(read_target(said[0]), holds=holds, must=must)


def _turned(*, must: bool, holds: bool = True) -> Maker:
    return lambda said: Check(
        read_target(said[0]), "on" if said[1].lower() in _ON else "off", holds=holds, must=must
    )


def _valued(*, must: bool, holds: bool = True) -> Maker:
    return lambda said: Check(read_target(said[0]), value=said.text(1), holds=holds, must=must)


def _read(said: Said) -> Instruction:
    return Read(read_target(said[0]))


QUESTION_RULES: tuple[Rule, ...] = (
    # is it on the screen?
    (rf"{_MUST}\s+(.+?)\s+{_IS_NOT} {_ON_SCREEN}", _shown(must=True, holds=False)),
    (rf"{_MUST} there is no\s+(.+?)(?: {_ON_SCREEN})?", _shown(must=True, holds=False)),
    (rf"{_MUST}\s+(.+?)\s+(?:is|are) {_ON_SCREEN}", _shown(must=True)),
    (rf"{_WHETHER}\s+(.+?)\s+(?:is|are) {_ON_SCREEN}", _shown(must=False)),
    (rf"(?:is|are)(?: there)?\s+(.+?)\s+{_ON_SCREEN}", _shown(must=False)),
    # is it on?
    (rf"{_MUST}\s+(.+?)\s+{_IS_NOT} {_STATES}", _turned(must=True, holds=False)),
    (rf"{_MUST}\s+(.+?)\s+is {_STATES}", _turned(must=True)),
    (rf"{_WHETHER}\s+(.+?)\s+is {_STATES}", _turned(must=False)),
    (rf"is\s+(.+?)\s+{_STATES}", _turned(must=False)),
    # has it this value?
    (rf"{_MUST}\s+(.+?)\s+(?:{_IS_NOT}|does not (?:say|show))\s+(.+)", _valued(must=True, holds=False)),
    (rf"{_MUST}\s+(?!there is )(.+?)\s+{_SAYS}\s+(.+)", _valued(must=True)),
    (rf"{_WHETHER}\s+(?!there is )(.+?)\s+{_SAYS}\s+(.+)", _valued(must=False)),
    (rf"{_MUST}(?: there is)?\s+(.+)", _shown(must=True)),
    (rf"(?:do you see|see|is there|{_WHETHER} there is)\s+(.+)", _shown(must=False)),
    # what is its value?
    (r"what does\s+(.+?)\s+(?:say|show|read)", _read),
    (r"tell me what\s+(.+?)\s+(?:is|says|shows|reads)", _read),
    (rf"what(?: is|'s| are)\s+(.+?)(?:{_OF_PHONE})?", _read),
    (rf"(?:which|what)\s+(.+?){_OF_PHONE}", _read),
    (rf"(?:read|read out|tell me|get)(?: me)?\s+(.+?)(?:{_OF_PHONE})?", _read),
)
