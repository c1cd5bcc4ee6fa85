"""Rules for what is not about one thing on the screen: help, tools, recordings, skills, phones, whole screens."""

import re

import msgspec

from clawperator.agent.offline.instructions import (
    CheckPhone,
    Describe,
    Help,
    Instruction,
    ListPhones,
    ListSkills,
    PullRecording,
    Record,
    RunSkill,
    Screenshot,
    StopRecording,
    Use,
)
from clawperator.agent.offline.rule_match import Rule, Said
from clawperator.agent.offline.sentences import HIDDEN, unquote
from clawperator.agent.offline.targets import RefusedError
from clawperator.contract.limits import MAX_ID_LENGTH

_AS = r"(?:as|called|named)"
_WITH = r"(?:\s+(?:with|for|using)\s+(.+))?"
_PHONE = r"(?:phone|device)"


def _session(words: str) -> str:
    """A name for a recording, with the characters such a name may have; nothing when none is said."""
    name, exact = unquote(words)
    if not exact and name.casefold() in ("", "this", "it", "that"):
        return ""
    named = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-")
    if not 0 < len(named) <= MAX_ID_LENGTH:
        raise RefusedError("the name of a recording has letters, digits, _ and -")
    return named


def _record(said: Said) -> Instruction:
    return Record(_session(said[0]))


def _run_skill(said: Said) -> Instruction:
    return RunSkill(said.name(0), said[1].strip())


def _use(said: Said) -> Instruction:
    try:
        params = msgspec.json.decode(said[1] or "{}", type=dict)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError) as e:
        raise RefusedError(f"what follows {said[0]} is no JSON object: {e}") from None
    return Use(said[0], params)


def _screenshot(said: Said) -> Instruction:
    return Screenshot(said.name(0))


JOB_RULES: tuple[Rule, ...] = (
    (r"(?:hello|hi|hey|help)(?: there| me| claw| clawperator)?", lambda _: Help()),
    (r"what (?:can|do) you (?:do|understand|know)|how (?:do you|does this) work", lambda _: Help()),
    (rf"use (?:the )?(?:tool )?([A-Za-z][\w-]*)(?: tool)?(?: with)?(?:\s+({HIDDEN}+))?", _use),
    (rf"(?:start|begin)(?: a| the| new)* recording(?: {_AS})?(?:\s+(.+))?", _record),
    (rf"record (?:this|that|it|what i do|what happens|the screen|everything)(?: {_AS}\s+(.+))?", _record),
    (rf"record {_AS}\s+(.+)", _record),
    (r"(?:stop|finish|end)(?: the)? recording(?:\s+(.+))?", lambda s: StopRecording(_session(s[0]))),
    (
        r"(?:pull|fetch|download)(?: the)?(?: last)? (?:it|recording)(?:\s+(.+))?",
        lambda s: PullRecording(_session(s[0])),
    ),
    (
        (
            r"(?:list|show|which|what)(?: me)?(?: all)?(?: the| your| available)* skills"
            r"(?: (?:are there|do you (?:have|know)|can you run))?"
        ),
        lambda _: ListSkills(),
    ),
    (rf"(?:run|start|use) (?:the )?(.+?) skill{_WITH}", _run_skill),
    (rf"run (?:the )?skill (.+?){_WITH}", _run_skill),
    (rf"run ([\w-]+(?:\.[\w-]+)+){_WITH}", _run_skill),
    (
        (
            rf"(?:which|what|list|show)(?: me)?(?: all)?(?: the)? {_PHONE}s?"
            r"(?: (?:are|is))?(?: connected| there| available| attached)?"
        ),
        lambda _: ListPhones(),
    ),
    (
        (
            rf"(?:check|test|diagnose) (?:the |my |this )?{_PHONE}|(?:run )?(?:the )?doctor|"
            rf"(?:is|check (?:that|whether|if)) (?:the|my|this) {_PHONE}(?: is)? "
            r"(?:ready|ok|okay|fine|working|healthy|connected)"
        ),
        lambda _: CheckPhone(),
    ),
    (
        (
            r"(?:take|make|get|capture|save|grab)(?: a| an| the| me)* (?:screenshot|picture of the screen)"
            rf"(?: of the screen)?(?:(?: and save it)?\s+(?:to|in|into|{_AS})\s+(.+))?"
        ),
        _screenshot,
    ),
    (rf"(?:screenshot|capture (?:the )?screen)(?:\s+(?:to|{_AS})\s+(.+))?", _screenshot),
    (
        (
            r"(?:tell me )?(?:what(?: is|'s)|whats)(?: there)? on (?:the |this |my )?(?:screen|phone|display)"
            r"(?: now)?|what (?:do|can) you see(?: now)?|what does the screen (?:show|say)|"
            r"read everything(?: on (?:the |this )?(?:screen|page))?|"
            r"(?:describe|look at|read|tell me about)(?: the| my| this)? (?:screen|display|page)"
        ),
        lambda _: Describe(),
    ),
)
