"""Grammar rules for apps, tools, recordings, skills, devices and screenshots."""

import re

import msgspec

from clawperator.agent.offline.grammar import (
    HIDDEN,
    InstructionSequence,
    Rule,
    RuleMatch,
    SentenceError,
    mask,
    parse_path,
    parse_target,
    split_list,
    unquote,
)
from clawperator.agent.offline.instructions import (
    CheckDeviceInstruction,
    CloseInstruction,
    DescribeScreenInstruction,
    FindAppInstruction,
    ForegroundAppInstruction,
    GoToInstruction,
    HelpInstruction,
    Instruction,
    ListAppsInstruction,
    ListDevicesInstruction,
    ListSkillsInstruction,
    OpenInstruction,
    PullRecordingInstruction,
    RunSkillInstruction,
    ScreenshotInstruction,
    SearchInstruction,
    StartRecordingInstruction,
    StopRecordingInstruction,
    TapInstruction,
    UseToolInstruction,
)
from clawperator.agent.offline.known_places import APPS, find_page, known_app, parse_link
from clawperator.agent.offline.rules_actions import parse_text
from clawperator.contract.limits import MAX_ID_LENGTH

_AS = r"(?:as|called|named)"
_WITH = r"(?:\s+(?:with|for|using)\s+(.+))?"
_PHONE = r"(?:phone|device)"


def _recording_name(phrase: str) -> str:
    """The name of a recording, with other characters replaced by "-"; empty when there is none."""
    name, exact = unquote(phrase)
    if not exact and name.casefold() in ("", "this", "it", "that"):
        return ""
    named = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-")
    if not 0 < len(named) <= MAX_ID_LENGTH:
        raise SentenceError("a recording name consists of letters, digits, '_' and '-'")
    return named


def _start_recording(match: RuleMatch) -> Instruction:
    return StartRecordingInstruction(_recording_name(match[0]))


def _run_skill(match: RuleMatch) -> Instruction:
    return RunSkillInstruction(match.name(0), match[1].strip())


def _use_tool(match: RuleMatch) -> Instruction:
    try:
        params = msgspec.json.decode(match[1] or "{}", type=dict)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError) as e:
        raise SentenceError(f"the parameters of {match[0]} are not a JSON object: {e}") from None
    return UseToolInstruction(match[0], params)


def _screenshot(match: RuleMatch) -> Instruction:
    return ScreenshotInstruction(match.name(0))


TOOL_RULES: tuple[Rule, ...] = (
    (r"(?:hello|hi|hey|help)(?: there| me| claw| clawperator)?", lambda _: HelpInstruction()),
    (r"what (?:can|do) you (?:do|understand|know)|how (?:do you|does this) work", lambda _: HelpInstruction()),
    (rf"use (?:the )?(?:tool )?([A-Za-z][\w-]*)(?: tool)?(?: with)?(?:\s+({HIDDEN}+))?", _use_tool),
    (rf"(?:start|begin)(?: a| the| new)* recording(?: {_AS})?(?:\s+(.+))?", _start_recording),
    (rf"record (?:this|that|it|what i do|what happens|the screen|everything)(?: {_AS}\s+(.+))?", _start_recording),
    (rf"record {_AS}\s+(.+)", _start_recording),
    (
        r"(?:stop|finish|end)(?: the)? recording(?:\s+(.+))?",
        lambda s: StopRecordingInstruction(_recording_name(s[0])),
    ),
    (
        r"(?:pull|fetch|download)(?: the)?(?: last)? (?:it|recording)(?:\s+(.+))?",
        lambda s: PullRecordingInstruction(_recording_name(s[0])),
    ),
    (
        (
            r"(?:list|show|which|what)(?: me)?(?: all)?(?: the| your| available)* skills"
            r"(?: (?:are there|do you (?:have|know)|can you run))?"
        ),
        lambda _: ListSkillsInstruction(),
    ),
    (rf"(?:run|start|use) (?:the )?(.+?) skill{_WITH}", _run_skill),
    (rf"run (?:the )?skill (.+?){_WITH}", _run_skill),
    (rf"run ([\w-]+(?:\.[\w-]+)+){_WITH}", _run_skill),
    (
        (
            rf"(?:which|what|list|show)(?: me)?(?: all)?(?: the)? {_PHONE}s?"
            r"(?: (?:are|is))?(?: connected| there| available| attached)?"
        ),
        lambda _: ListDevicesInstruction(),
    ),
    (
        (
            rf"(?:check|test|diagnose) (?:the |my |this )?{_PHONE}|(?:run )?(?:the )?doctor|"
            rf"(?:is|check (?:that|whether|if)) (?:the|my|this) {_PHONE}(?: is)? "
            r"(?:ready|ok|okay|fine|working|healthy|connected)"
        ),
        lambda _: CheckDeviceInstruction(),
    ),
    (
        (
            r"(?:take|make|get|capture|save|grab)(?: a| an| the| me)* (?:screen ?shot|picture of the screen)"
            rf"(?: of the screen)?(?:(?: and save it)?\s+(?:to|in|into|{_AS})\s+(.+))?"
        ),
        _screenshot,
    ),
    (rf"(?:screen ?shot|capture (?:the )?screen)(?:\s+(?:to|{_AS})\s+(.+))?", _screenshot),
    (
        (
            r"(?:tell me )?(?:what(?: is|'s)|whats)(?: there)?(?: shown| displayed)? on (?:the |this |my )?"
            r"(?:screen|phone|display|page)(?: (?:right )?now)?|what (?:do|can) (?:you|i) see(?: now| here)?|"
            r"what does (?:the|this) (?:screen|page) (?:show|say)|what(?: is|'s) here|"
            r"(?:read|list|show me) everything(?: on (?:the |this )?(?:screen|page))?|"
            r"(?:describe|look at|read|read out|tell me about|show me)(?: the| my| this)? (?:screen|display|page)"
            r"(?: to me)?|what (?:options|entries|buttons) (?:are there|do i have|are available)(?: here)?"
        ),
        lambda _: DescribeScreenInstruction(),
    ),
)


# Apps

_FOREGROUND_APP_NAMES = ("app", "current", "current app")
_IN_FOREGROUND = (
    r"(?:open|in front|in the foreground|running|on (?:the )?screen|this|active|being shown)"
    r"(?: (?:right )?now| currently)?"
)
_KNOWN_APPS = "|".join(map(re.escape, sorted(APPS, key=len, reverse=True)))
_AND = re.compile(r",|\s(?:and|without)\s", re.IGNORECASE)


def _parse_app(phrase: str) -> tuple[str, bool]:
    """The name of an app, and whether it was quoted. An unquoted name with "and" is taken for two instructions."""
    phrase = re.sub(r"^(?:the|my|this|an?)\s+", "", phrase.strip(), flags=re.IGNORECASE)
    phrase = re.sub(r"^(?:app|application) (?:called|named)\s+", "", phrase, flags=re.IGNORECASE)
    name, exact = unquote(re.sub(r"\s+(?:app|application)$", "", phrase, flags=re.IGNORECASE))
    if not exact and (cut := _AND.search(name)) and not find_page(name):
        raise SentenceError(f"unknown instruction {name[cut.end() :].strip()!r}")
    return name, exact


def _open(match: RuleMatch) -> Instruction | InstructionSequence:
    name, *pages = parse_path(match[0])
    names = split_list(name)
    if not pages and len(names) > 1 and known_app(_without_app(names[0])):
        if all(known_app(_without_app(each)) for each in names):
            return InstructionSequence(tuple(OpenInstruction(_without_app(each)) for each in names))
        if all(each[:1].isupper() for each in names[1:]):  # "open Settings, Display": a path
            name, *pages = names
    return _then_tap(_open_one(name), pages)


def _without_app(name: str) -> str:
    return re.sub(r"\s+(?:app|application)$", "", name, flags=re.IGNORECASE)


def _open_one(phrase: str) -> Instruction:
    name, exact = _parse_app(phrase)
    if exact or parse_link(name):
        return OpenInstruction(name)
    if "://" in name:
        raise SentenceError("a link must not contain spaces")
    target = parse_target(name)  # rejects pronouns
    return GoToInstruction(target) if target.ordinal else OpenInstruction(name)


def _then_tap(first: Instruction, pages: list[str]) -> Instruction | InstructionSequence:
    return (
        InstructionSequence((first, *(TapInstruction(parse_target(page)) for page in pages))) if pages else first
    )


def _close(match: RuleMatch) -> Instruction | InstructionSequence:
    names = [_without_app(each) for each in split_list(match[0])]
    if len(names) > 1 and all(map(known_app, names)):
        return InstructionSequence(tuple(map(CloseInstruction, names)))
    name, exact = _parse_app(match[0])
    if exact:
        return CloseInstruction(name)
    if name.casefold() in _FOREGROUND_APP_NAMES:
        return CloseInstruction("")
    parse_target(name)
    return CloseInstruction(name)


def _go_to(match: RuleMatch) -> Instruction | InstructionSequence:
    name, *pages = parse_path(match[0])
    names = split_list(name)
    if not pages and len(names) > 1 and known_app(names[0]) and all(each[:1].isupper() for each in names[1:]):
        name, *pages = names
    name = _without_app(name)
    return _then_tap(OpenInstruction(name) if parse_link(name) else GoToInstruction(parse_target(name)), pages)


def _show(match: RuleMatch) -> Instruction:
    name = _without_app(re.sub(r"^(?:the|my)\s+", "", match[0], flags=re.IGNORECASE))
    return OpenInstruction(name)


def _go_back_to(match: RuleMatch) -> Instruction:
    name = _parse_app(match[0])[0]
    if not known_app(name):
        raise SentenceError("repeat 'go back' until the page is shown")
    return OpenInstruction(name)


def _search(match: RuleMatch) -> Instruction:
    """Only a known app ends the text: the text itself may contain "in" or "on"."""
    found = re.fullmatch(r"(.+)\s+(?:in|on|using|with)\s+(.+)", mask(match[0]), re.IGNORECASE | re.DOTALL)
    if found:
        app = unquote(re.sub(r"^the\s+|\s+app$", "", match[0][found.start(2) :], flags=re.IGNORECASE))[0]
        if known_app(app):
            return SearchInstruction(unquote(match[0][: found.end(1)])[0], app)
    text = parse_text(match, 0)
    if known_app(text) and text == match[0].strip():
        raise SentenceError(f"the search text is missing: write 'search for … in {text}'")
    return SearchInstruction(text)


def _search_app(match: RuleMatch) -> Instruction:
    app = _parse_app(match[0])[0]
    if not known_app(app):
        raise SentenceError(f"unknown app {app!r}: open it first, then write 'search for …'")
    return SearchInstruction(parse_text(match, 1), app)


def _in_app(match: RuleMatch) -> Instruction:
    name = _parse_app(match[0])[0]
    if not known_app(name):
        raise SentenceError(f"unknown app {name!r}")
    return OpenInstruction(name)


def _find_app(match: RuleMatch) -> Instruction:
    return FindAppInstruction(_parse_app(match[0])[0])


APP_RULES: tuple[Rule, ...] = (
    (
        (
            r"(?:list|show|what|which)(?: me)?(?: all)?(?: the| my)? (?:installed )?(?:apps|packages)"
            r"(?: (?:are|do (?:i|you|we)) .+| on (?:the|this|my) phone)?|"
            r"how many apps (?:are (?:there|installed)|do i have)(?: installed)?(?: on (?:the|this|my) phone)?"
        ),
        lambda _: ListAppsInstruction(),
    ),
    (
        (
            rf"(?:which|what) app is (?:currently )?{_IN_FOREGROUND}|"
            r"(?:which|what) app (?:am i|are we) (?:in|using|on|looking at)(?: (?:right )?now)?|"
            r"what(?: is|'s) the (?:open|current|foreground|active|running) app|"
            r"(?:what(?: is|'s)|whats) (?:open|running|in front|in the foreground)(?: (?:right )?now)?"
        ),
        lambda _: ForegroundAppInstruction(),
    ),
    (r"(?:is|check (?:that|whether|if)) (?:there )?(?:is )?an app (?:called|named)\s+(.+?)", _find_app),
    (r"(?:is|check (?:that|whether|if))\s+(.+?)(?: is)? installed(?: on (?:the|this|my) phone)?", _find_app),
    (r"do (?:i|we|you) have (?:the )?(.+) app", _find_app),
    (r"(?:search(?: for| up)|look up)\s+(.+)", _search),
    (r"search\s+(?:in |on )?(.+?)\s+for\s+(.+)", _search_app),
    (r"search\s+(.+)", _search),
    (r"(?:close|kill|quit|exit|force[- ]stop)\s+(.+)", _close),
    (r"(?:open|launch|start|visit|bring up|pull up|fire up|load)(?: up)?\s+(.+)", _open),
    (rf"(?:show|show me|run)\s+(?:the |my )?({_KNOWN_APPS})(?: app)?", _show),
    (r"in\s+(.+)", _in_app),
    (r"(?:go|switch|navigate) back to\s+(.+)", _go_back_to),
    (
        r"(?:go|navigate|switch|browse|jump|head|take me|get me|bring me)(?: over| back)? (?:in)?to\s+(.+)",
        _go_to,
    ),
)
