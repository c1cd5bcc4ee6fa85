"""What a phrase says of a thing on the screen: its name, its role, and which of several it is."""

import re

from clawperator.agent.brains.instructions import Target
from clawperator.agent.brains.quantities import read_ordinal
from clawperator.agent.brains.sentences import mask, unquote

LONGEST_NAME = 200

# The words people use for what a thing is, and the role that stands for them. An empty role says only "something".
ROLES = {
    "text field": "textfield",
    "input field": "textfield",
    "search field": "textfield",
    "field": "textfield",
    "text box": "textfield",
    "box": "textfield",
    "bar": "textfield",
    "input": "textfield",
    "switch": "switch",
    "toggle": "switch",
    "checkbox": "checkbox",
    "check box": "checkbox",
    "tab": "tab",
    "button": "button",
    "icon": "button",
    "image": "button",
    "picture": "button",
    "link": "button",
    "row": "button",
    "item": "button",
    "entry": "button",
    "option": "button",
    "setting": "button",
    "label": "",
    "text": "",
    "value": "",
}
_ROLE = re.compile(
    r"(?:(.*)\s)?(" + "|".join(sorted(ROLES, key=len, reverse=True)) + ")", re.IGNORECASE | re.DOTALL
)
_ARTICLE = re.compile(r"(?:the|an?|my|this|your)\s+", re.IGNORECASE)
_NOBODY = frozenset(
    (
        "it",
        "that",
        "this",
        "them",
        "these",
        "those",
        "there",
        "here",
        "one",
        "something",
        "anything",
        "everything",
        "",
    )
)


class RefusedError(Exception):
    """A sentence that is not understood; the message says why."""


def read_target(phrase: str) -> Target:
    """What a phrase means. ``RefusedError`` when it names nothing, as "it" does."""
    words = _ARTICLE.sub("", phrase.strip(), count=1) if _ARTICLE.match(phrase.strip()) else phrase.strip()
    name, exact = unquote(words)
    if exact:
        return Target(name, _checked(name), exact=True)
    first, _, rest = words.partition(" ")
    ordinal = read_ordinal(first) if rest else 0
    name = rest.strip() if ordinal else words
    role = ""
    found = _ROLE.fullmatch(mask(name))
    if found:
        role = ROLES[found[2].casefold()]
        name = name[: found.end(1)].strip() if found[1] else name
    name, exact = unquote(name)
    if not exact and name.casefold() in _NOBODY:
        raise RefusedError(f"what {name!r} means here is not known" if name else "it names nothing")
    return Target(words, _checked(name), ordinal, role, exact)


def is_bare(target: Target) -> bool:
    """Whether nothing but a role is said of it: the button, the second field."""
    return bool(target.role) and not target.exact and target.name.casefold() in ROLES


def _checked(name: str) -> str:
    if len(name) > LONGEST_NAME:
        raise RefusedError(f"a name may have {LONGEST_NAME} characters")
    return name
