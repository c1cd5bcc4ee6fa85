"""Grammar rules for tasks: set values, open Settings pages, create and delete notes, play videos."""

import re

from clawperator.agent.offline.grammar import (
    BUTTON_VERBS,
    Rule,
    RuleMatch,
    SentenceError,
    parse_number,
    parse_ordinal,
    parse_target,
    strip_article,
    unquote,
)
from clawperator.agent.offline.instructions import (
    CreateInstruction,
    DeleteInstruction,
    Instruction,
    OpenInstruction,
    OpenPageInstruction,
    PressButtonInstruction,
    ReadInstruction,
    SetSwitchInstruction,
    SetValueInstruction,
    TapInstruction,
    TargetPhrase,
)
from clawperator.agent.offline.known_places import (
    PAGES,
    find_page,
    find_place,
    find_titled_page,
    known_app,
    similar_known_names,
)
from clawperator.agent.offline.rules_actions import parse_text

_TO_OPEN = (
    r"(?:open|launch|go (?:in)?to|navigate to|switch to|show(?: me)?|bring up|pull up|(?:take|get|bring) me to|"
    r"jump to|head (?:over )?to|want|visit|start|display)"
)
_PAGE = r"(?:settings? (?:page|screen|menu|section)|settings?|preferences)"
_IN_SETTINGS = r"(?: (?:in|of|under|inside) (?:the )?settings(?: app)?)?"
_PHONE_SETTINGS = ("phone", "device", "android", "phone's", "my phone's")
_VIDEO = r"(?:video|clip|song|movie|film|one|result|suggestion|item)"
_ORDINAL = r"(first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last|top|\d+(?:st|nd|rd|th))"
_THIS_VIDEO = r"(?: (?:it|(?:(?:the|this|that) )?(?:video|clip|song|movie|playback|player)|this|that))?"
_NEW_NOTE = r"(?:create|make|add|write|start|take)(?: me)?(?: an?| another| the| one)?(?: new)? note"
_TITLED = r"(?: (?:called|named|titled|entitled|with (?:the )?title)\s+|:\s*)"
_WITH_BODY = (
    r"(?:\s+(?:saying|that says|which says|with (?:the )?(?:text|body|content|words)|"
    r"(?:and )?(?:the )?(?:text|body))\s+(.+))?"
)
_OBJECT = (
    r"(?: it| this| that| the (?:note|form|changes?|dialog|page|automation|settings?|text|file|entry)|"
    r" (?:my|these) changes)?"
)
_UNSPECIFIC = (
    "all",
    "everything",
    "every",
    "all notes",
    "any",
    "both",
    "them",
    "notes",
    "all the notes",
    "my notes",
)
# The buttons that a verb means, besides the button with the verb as its label.
_BUTTONS = {
    "pause": ("Pause video", "Pause"),
    "play": ("Play video", "Play"),
    "resume": ("Resume video", "Resume", "Play video", "Play"),
    "refresh": ("Refresh", "Reload"),
    "reload": ("Reload", "Refresh"),
    "ok": ("OK",),
    "okay": ("OK",),
}


_PAGE_NAMES = "|".join(sorted(map(re.escape, PAGES), key=len, reverse=True))


# Settings pages


def open_page(name: str) -> OpenPageInstruction | None:
    page = find_page(name)
    return None if page is None else OpenPageInstruction(page.rows, page.title)


def _open_settings_page(match: RuleMatch) -> Instruction:
    name = strip_article(match[0])
    page = open_page(name)
    if page is not None:
        return page
    if name.casefold() in _PHONE_SETTINGS:
        return OpenInstruction("Settings")
    near = ", ".join(map(repr, similar_known_names(name)))
    raise SentenceError(f"unknown Settings page {name!r}" + (f"; nearest: {near}" if near else ""))


def _open_known_page(match: RuleMatch) -> Instruction | None:
    return open_page(strip_article(match[0]))


def _show_page(match: RuleMatch) -> Instruction | None:
    """A Settings page by its title, when it is not a value to read."""
    name = strip_article(match[0])
    page = find_titled_page(name)
    return None if page is None or find_place(name) else OpenPageInstruction(page.rows, page.title)


def _want(match: RuleMatch) -> Instruction:
    """ "I need X": an app or a value. A switch may be wanted on or off."""
    name = re.sub(r"\s+app$", "", strip_article(match[0]), flags=re.IGNORECASE)
    if known_app(name):
        return OpenInstruction(name)
    target = parse_target(re.sub(r"\s+of (?:the|this|my) (?:phone|device)$", "", match[0], flags=re.IGNORECASE))
    place = find_place(target.name)
    if place is None or place.is_switch:
        raise SentenceError("write what to do: 'open …', 'turn on …' or 'what is …'")
    return ReadInstruction(target)


# Values


def _set_value(match: RuleMatch) -> Instruction:
    place = find_place(strip_article(match[0]))
    is_state = match[1].strip().casefold() in ("on", "off")
    if is_state and (place is None or place.is_switch):
        return SetSwitchInstruction(parse_target(match[0]), match[1].strip().casefold() == "on")
    return SetValueInstruction(parse_target(match[0]), _in_digits(strip_article(parse_text(match, 1))))


def _in_digits(value: str) -> str:
    """ "five mins" as "5 minutes" """
    first, _, rest = value.partition(" ")
    number = str(parse_number(first)) if parse_number(first) else first
    unit = {"min": "minutes", "mins": "minutes", "sec": "seconds", "secs": "seconds"}.get(rest.casefold(), rest)
    return f"{number} {unit}" if unit else value


def _set_value_reversed(match: RuleMatch) -> Instruction:
    return SetValueInstruction(parse_target(match[1]), match.text(0))


def _make_value(match: RuleMatch) -> Instruction | None:
    """ "Make the font size large": the longest known name, and the value after it."""
    words = strip_article(match[0]).split(" ")
    for end in range(len(words) - 1, 0, -1):
        place = find_place(" ".join(words[:end]))
        if place is not None and not place.is_switch:
            return SetValueInstruction(parse_target(" ".join(words[:end])), " ".join(words[end:]))
    return None


# Notes


def _create(match: RuleMatch) -> Instruction:
    body = parse_text(match, 1) if match[1] else ""
    return CreateInstruction(parse_text(match, 0), body)


def _new_note(_: RuleMatch) -> Instruction:
    return CreateInstruction("")


def _delete(match: RuleMatch) -> Instruction:
    is_note = bool(match[0] or match[2])
    name, exact = unquote(match[1])
    if not exact and (name.casefold() in _UNSPECIFIC or name.split(" ")[0].casefold() in ("all", "every")):
        raise SentenceError("name one entry to delete")
    if not is_note and known_app(re.sub(r"\s+app$", "", name, flags=re.IGNORECASE)):
        raise SentenceError("removing apps is not supported")
    return DeleteInstruction(parse_target(match[1]), is_note)


def _open_note(match: RuleMatch) -> Instruction:
    return TapInstruction(parse_target(match[0]))


# Videos and buttons


def _play_ordinal(match: RuleMatch) -> Instruction:
    ordinal = 1 if match[0].lower() == "top" else parse_ordinal(match[0])
    phrase = f"{match[0]} {match[1]}"
    if match[1].lower() in ("one", "result", "suggestion", "item"):
        return TapInstruction(TargetPhrase(phrase, match[1].lower(), ordinal, "row"))
    return TapInstruction(TargetPhrase(phrase, match[1], ordinal))


def _press_button(match: RuleMatch) -> Instruction:
    verb = match[0].lower()
    return PressButtonInstruction(_BUTTONS.get(verb, (verb.capitalize(),)))


TASK_RULES: tuple[Rule, ...] = (
    # Settings pages
    (
        rf"{_TO_OPEN}\s+(.+?)(?:\s+(?:page|screen|menu|section))? (?:in|of|under) (?:the )?settings(?: app)?",
        _open_settings_page,
    ),
    (rf"(?:{_TO_OPEN}\s+)?(?:the |my )?settings (?:for|of)\s+(.+)", _open_settings_page),
    (rf"{_TO_OPEN}\s+(?!(?:up )?(?:the |my )?settings?\b)(.+?)\s+{_PAGE}{_IN_SETTINGS}", _open_settings_page),
    (rf"(?:the |my )?({_PAGE_NAMES})\s+{_PAGE}", _open_settings_page),
    (rf"{_TO_OPEN}\s+(.+?)\s+(?:page|screen|menu|section)", _open_known_page),
    (r"show(?: me)?\s+(.+)", _show_page),
    (r"want\s+(.+)", _want),
    # values
    (r"(?:set|change|adjust|switch|update)\s+(.+?)\s+to\s+(.+)", _set_value),
    (r"(?:select|choose|pick|use)\s+(.+?)\s+(?:as|for) (the\s.+)", _set_value_reversed),
    # notes
    (rf"{_NEW_NOTE}{_TITLED}(.+?){_WITH_BODY}", _create),
    (rf"{_NEW_NOTE}", _new_note),
    (
        (
            r"(?:delete|remove|trash)\s+(?:the |my )?(note\s+(?:called |named |titled )?)?"
            r"(?!it$|this$|that$)(.+?)(\s+note)?"
        ),
        _delete,
    ),
    (r"(?:edit|view|read|open)\s+(?:the |my )?note\s+(?:called |named |titled )?(?!$)(.+)", _open_note),
    # videos and buttons
    (rf"(?:play|watch|start|open|tap|click|select)\s+(?:on )?the {_ORDINAL} ({_VIDEO})", _play_ordinal),
    (
        r"(?:play|watch)\s+(?!it$|this$|that$|the video$|the \w+$)(.+)",
        lambda s: TapInstruction(parse_target(s[0])),
    ),
    (rf"(pause|play|resume){_THIS_VIDEO}", _press_button),
    (r"(like|unlike|share) (?:the|this|that) (?:video|clip|song)", _press_button),
    (rf"({BUTTON_VERBS}){_OBJECT}", _press_button),
    (r"(refresh|reload)(?: (?:it|(?:the|this) page))?", _press_button),
    (r"make\s+(.+ \S+)", _make_value),
)
