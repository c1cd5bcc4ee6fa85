"""Grammar rules for apps, tools, recordings, skills, devices and screenshots."""

import re

import msgspec

from clawperator.agent.offline.grammar import (
    HIDDEN,
    RefusedError,
    Rule,
    Said,
    Several,
    mask,
    read_path,
    read_target,
    unquote,
)
from clawperator.agent.offline.instructions import (
    CheckPhone,
    Close,
    Describe,
    FindApp,
    GoTo,
    Help,
    Instruction,
    ListApps,
    ListPhones,
    ListSkills,
    Open,
    PullRecording,
    Record,
    RunSkill,
    Screenshot,
    Search,
    StopRecording,
    Tap,
    TellFront,
    Use,
)
from clawperator.agent.offline.known_places import as_link, known_app
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


_THIS_APP = ("app", "current", "current app")
_FRONT = r"(?:open|in front|in the foreground|running|on (?:the )?screen|this)(?: now)?"
_AND = re.compile(r",|\s(?:and|without)\s", re.IGNORECASE)


def _app(words: str) -> tuple[str, bool]:
    """The name of an app, and whether it was quoted. One that goes on with "and" is rather two wishes."""
    words = re.sub(r"^(?:the|my|this|an?)\s+", "", words.strip(), flags=re.IGNORECASE)
    words = re.sub(r"^(?:app|application) (?:called|named)\s+", "", words, flags=re.IGNORECASE)
    name, exact = unquote(re.sub(r"\s+(?:app|application)$", "", words, flags=re.IGNORECASE))
    if not exact and (cut := _AND.search(name)):
        raise RefusedError(f"no rule fits {name[cut.end() :].strip()!r}")
    return name, exact


def _open(said: Said) -> Instruction | Several:
    name, *pages = read_path(said[0])
    return _then_tap(_open_one(name), pages)


def _open_one(words: str) -> Instruction:
    name, exact = _app(words)
    if exact or as_link(name):
        return Open(name)
    if "://" in name:
        raise RefusedError("a link has no spaces in it")
    target = read_target(name)  # refuses what only stands for something
    return GoTo(target) if target.ordinal else Open(name)


def _then_tap(first: Instruction, pages: list[str]) -> Instruction | Several:
    return Several((first, *(Tap(read_target(page)) for page in pages))) if pages else first


def _close(said: Said) -> Instruction:
    name, exact = _app(said[0])
    if exact:
        return Close(name)
    if name.casefold() in _THIS_APP:
        return Close("")
    read_target(name)
    return Close(name)


def _go_to(said: Said) -> Instruction | Several:
    name, *pages = read_path(said[0])
    name = re.sub(r"\s+(?:app|application)$", "", name, flags=re.IGNORECASE)
    return _then_tap(Open(name) if as_link(name) else GoTo(read_target(name)), pages)


def _go_back_to(said: Said) -> Instruction:
    name = _app(said[0])[0]
    if not known_app(name):
        raise RefusedError("say 'go back' as often as it takes")
    return Open(name)


def _search(said: Said) -> Instruction:
    """The app counts only where it is known as one: a text may hold "in" and "on"."""
    found = re.fullmatch(r"(.+)\s+(?:in|on|using|with)\s+(.+)", mask(said[0]), re.IGNORECASE | re.DOTALL)
    if found:
        app = unquote(re.sub(r"^the\s+|\s+app$", "", said[0][found.start(2) :], flags=re.IGNORECASE))[0]
        if known_app(app):
            return Search(unquote(said[0][: found.end(1)])[0], app)
    text = said.text(0)
    if known_app(text) and text == said[0].strip():
        raise RefusedError(f"say what to search for: 'search for … in {text}'")
    return Search(text)


def _search_app(said: Said) -> Instruction:
    app = _app(said[0])[0]
    if not known_app(app):
        raise RefusedError(f"no app is known as {app!r}; open it first, then say what to search for")
    return Search(said.text(1), app)


def _in_app(said: Said) -> Instruction:
    name = _app(said[0])[0]
    if not known_app(name):
        raise RefusedError(f"no app is known as {name!r}")
    return Open(name)


def _find_app(said: Said) -> Instruction:
    return FindApp(_app(said[0])[0])


APP_RULES: tuple[Rule, ...] = (
    (
        (
            r"(?:list|show|what|which)(?: me)?(?: all)?(?: the| my)? (?:installed )?(?:apps|packages)"
            r"(?: (?:are|do (?:i|you|we)) .+| on (?:the|this|my) phone)?"
        ),
        lambda _: ListApps(),
    ),
    (
        rf"(?:which|what) app is {_FRONT}|(?:which|what) app am i in|what is the (?:open|current) app",
        lambda _: TellFront(),
    ),
    (r"(?:is|check (?:that|whether|if)) (?:there )?(?:is )?an app (?:called|named)\s+(.+?)", _find_app),
    (r"(?:is|check (?:that|whether|if))\s+(.+?)(?: is)? installed(?: on (?:the|this|my) phone)?", _find_app),
    (r"do (?:i|we|you) have (?:the )?(.+) app", _find_app),
    (r"(?:search(?: for| up)|look up)\s+(.+)", _search),
    (r"search\s+(?:in |on )?(.+?)\s+for\s+(.+)", _search_app),
    (r"search\s+(.+)", _search),
    (r"(?:close|kill|quit|exit|force[- ]stop)\s+(.+)", _close),
    (r"(?:open|launch|start|visit)(?: up)?\s+(.+)", _open),
    (r"in\s+(.+)", _in_app),
    (r"(?:go|switch|navigate) back to\s+(.+)", _go_back_to),
    (r"(?:go|navigate|switch|browse) to\s+(.+)", _go_to),
)
