"""Selector keywords, converted to a selector document."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from clawperator.errors import ClawError

# Keywords whose value is a selector.
_NESTED = ("ancestor", "descendant", "sibling", "below", "above", "left_of", "right_of", "not_")


class SelectorKwargs(TypedDict, total=False):
    """Selector keywords beside the text. A node must match all of them.

    ``text_contains`` is part of the label, ignoring case, and ``text_matches`` a regular expression for all of it;
    ``desc``, ``desc_contains`` and ``desc_matches`` are the same for the content description. ``id`` is a resource
    id, ``package:id/name``, or only its name when that is unique. ``role`` is a role such as ``button``.
    ``class_name`` is a class, with or without its package. ``ref`` is a reference of an outline, alone.
    ``checked`` to ``password`` are states. ``ancestor`` to ``right_of`` relate the node to another one, given by
    its label or as a dictionary of keywords; ``not_`` excludes nodes, and of ``any_of`` one must match. ``index``
    chooses one of the matches, from 0; with ``unique`` several matches are an error.
    """

    text_contains: str
    text_matches: str
    id: str
    desc: str
    desc_contains: str
    desc_matches: str
    role: str
    class_name: str
    ref: str
    checked: bool
    enabled: bool
    focused: bool
    selected: bool
    scrollable: bool
    password: bool
    ancestor: "str | Selector"
    descendant: "str | Selector"
    sibling: "str | Selector"
    below: "str | Selector"
    above: "str | Selector"
    left_of: "str | Selector"
    right_of: "str | Selector"
    not_: "str | Selector"
    any_of: "Sequence[str | Selector]"
    index: int
    unique: bool


class Selector(SelectorKwargs, total=False):
    """A whole selector as a dictionary: ``container={"role": "list"}``."""

    text: str


def _field(keyword: str) -> str:
    """The name of a keyword in documents, where it is the same in camel case."""
    first, *rest = keyword.split("_")
    return first + "".join(map(str.capitalize, rest))


# The field of each keyword.
FIELDS = {name: _field(name) for name in ("text", *SelectorKwargs.__annotations__)} | {
    "text": "textEquals",
    "id": "resourceId",
    "desc": "contentDescEquals",
    "desc_contains": "contentDescContains",
    "desc_matches": "contentDescMatches",
}

KEYWORDS = {field: name for name, field in FIELDS.items()}


def find_matcher(text: str | None, selector: Mapping[str, Any]) -> dict[str, Any] | None:
    """The matcher of these keywords; None without any. ``TypeError`` for an unknown keyword."""
    given = selector if text is None else {"text": text, **selector}
    unknown = [name for name in given if name not in FIELDS]
    if unknown:
        raise TypeError(f"unknown selector keyword {unknown[0]!r}; use {', '.join(FIELDS)}")
    return {FIELDS[name]: _value(name, value) for name, value in given.items() if value is not None} or None


def _value(name: str, value: Any) -> Any:
    """A value of a document: nested selectors are converted, and a text stands for its label."""
    if name == "any_of" and isinstance(value, Sequence) and not isinstance(value, str):
        return [_value("not_", one) for one in value]
    if isinstance(value, Mapping):
        return require_matcher(None, value, name)
    return {"textEquals": value} if name in _NESTED and isinstance(value, str) else value


def require_matcher(text: str | None, selector: Mapping[str, Any], action: str) -> dict[str, Any]:
    """The matcher, or ``MISSING_SELECTOR``."""
    matcher = find_matcher(text, selector)
    if matcher is None:
        hint = f"Give one of {', '.join(FIELDS)}."
        raise ClawError("MISSING_SELECTOR", f"{action} needs a selector", hint=hint, operation=action)
    return matcher
