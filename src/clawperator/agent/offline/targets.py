"""What a phrase says of a thing on the screen: its name, its role, and which of several it is."""

import re

from clawperator.agent.offline.instructions import Target
from clawperator.agent.offline.quantities import read_ordinal
from clawperator.agent.offline.sentences import mask, unquote

LONGEST_NAME = 200

# The words people use for what a thing is, and the role that stands for them. An empty role says only "something".
ROLES = {
    **dict.fromkeys(("text field", "input field", "search field", "field", "text box"), "textfield"),
    **dict.fromkeys(("box", "bar", "input"), "textfield"),
    **dict.fromkeys(("switch", "toggle"), "switch"),
    **dict.fromkeys(("checkbox", "check box"), "checkbox"),
    "tab": "tab",
    "button": "button",
    "link": "link",
    **dict.fromkeys(("icon", "image", "picture"), "icon"),
    **dict.fromkeys(("row", "item", "entry", "option", "setting", "result", "suggestion"), "row"),
    **dict.fromkeys(("label", "text", "value"), ""),
}
_KINDS = "|".join(sorted(ROLES, key=len, reverse=True))
_ROLE = re.compile(rf"(?:(.*)\s)?({_KINDS})", re.IGNORECASE | re.DOTALL)
_CALLED = re.compile(
    rf"(?:({_KINDS})|[^\W\d_]+)\s+(?:called|named|labell?ed|titled)\s+(.+)", re.IGNORECASE | re.DOTALL
)
_BESIDE = re.compile(r"(.+?)\s+(?:next to|beside|in the row (?:of|with))\s+(.+)", re.IGNORECASE | re.DOTALL)
_BEHIND = re.compile(r"(?<=\S)\s+(?:>|\u203a|\u2192|->)\s+(?=\S)")
_ARTICLE = re.compile(r"(?:the|an?|my|this|your)\s+", re.IGNORECASE)
_LEFT_OPEN = re.compile(r"(?<!\w)(if|unless|but)(?!\w)", re.IGNORECASE)
_FROM_THE_END = re.compile(r"(?:to (?:the )?last|from the (?:end|bottom))\b", re.IGNORECASE)
_STANDING_FOR_OTHERS = ("it", "that", "them", "these", "those")
_NOBODY = frozenset(
    (
        *(*_STANDING_FOR_OTHERS, "this", "there", "here", "one", "other", "others", "something", "anything"),
        *("everything", "nothing", "all", "any", "both", "each", "every", "none", ""),
    )
)


class RefusedError(Exception):
    """A sentence that is not understood; the message says why."""


def read_target(phrase: str) -> Target:
    """What a phrase means. ``RefusedError`` when it names nothing, as "it" does, or leaves open what is meant."""
    words = without_article(phrase)
    name, exact = unquote(words)
    if exact:
        return Target(name, _checked(name), exact=True)
    _refuse_what_is_open(words)
    beside = ""
    found = _BESIDE.fullmatch(mask(words))
    if found:
        beside = unquote(without_article(words[found.start(2) :]))[0]
    name = words[: found.end(1)] if found else words
    first, _, rest = name.partition(" ")
    ordinal = read_ordinal(first) if rest else 0
    if ordinal and _FROM_THE_END.match(rest):
        raise RefusedError("things are counted from the top, or one is the last")
    name, role = _split_role(rest.strip() if ordinal else name)
    name, exact = unquote(name)
    if not exact and name.casefold() in _NOBODY:
        raise RefusedError(f"what {name!r} means here is not known" if name else "it names nothing")
    return Target(words, _checked(name), ordinal, role, exact, _checked(beside))


def read_path(phrase: str) -> list[str]:
    """The names in "Settings > Display": one thing is behind the other."""
    cuts = [found.span() for found in _BEHIND.finditer(mask(phrase))]
    starts, ends = [0, *(end for _, end in cuts)], [*(start for start, _ in cuts), len(phrase)]
    return [phrase[start:end] for start, end in zip(starts, ends, strict=True)]


def without_article(phrase: str) -> str:
    phrase = phrase.strip()
    return _ARTICLE.sub("", phrase, count=1) if _ARTICLE.match(phrase) else phrase


def _refuse_what_is_open(words: str) -> None:
    masked = mask(words)
    first = masked.partition(" ")[0]
    if first.casefold() in _STANDING_FOR_OTHERS:
        raise RefusedError(f"what {first!r} means here is not known")
    found = _LEFT_OPEN.search(masked)
    if found:
        raise RefusedError(f"conditions and exceptions are not understood; quote a name with {found[1]!r} in it")


def _split_role(name: str) -> tuple[str, str]:
    """The name without the word that says what the thing is, and the role that stands for that word."""
    masked = mask(name)
    called = _CALLED.fullmatch(masked)
    if called:
        return name[called.start(2) :].strip(), ROLES[called[1].casefold()] if called[1] else ""
    found = _ROLE.fullmatch(masked)
    if found:
        return name[: found.end(1)].strip() if found[1] else name, ROLES[found[2].casefold()]
    return name, ""


def is_bare(target: Target) -> bool:
    """Whether nothing but a role is said of it: the button, the second field."""
    return bool(target.role) and not target.exact and target.name.casefold() in ROLES


def _checked(name: str) -> str:
    if len(name) > LONGEST_NAME:
        raise RefusedError(f"a name may have {LONGEST_NAME} characters")
    return name
