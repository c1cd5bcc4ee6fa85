"""Selector keywords, converted to a NodeMatcher document."""

from collections.abc import Mapping
from typing import Any, TypedDict

from clawperator.errors import ClawError

_FIELDS = {
    "text": "textEquals",
    "text_contains": "textContains",
    "id": "resourceId",
    "desc": "contentDescEquals",
    "desc_contains": "contentDescContains",
    "role": "role",
}


class SelectorKwargs(TypedDict, total=False):
    """Selector keywords beside the text. A node must match all of them.

    ``text_contains`` is part of the label, ignoring case; ``id`` is a resource id, ``package:id/name``; ``desc``
    is the exact content description and ``desc_contains`` part of it; ``role`` is a role such as ``button``.
    """

    text_contains: str
    id: str
    desc: str
    desc_contains: str
    role: str


class Selector(SelectorKwargs, total=False):
    """A whole selector as a dictionary: ``container={"role": "list"}``."""

    text: str


def find_matcher(text: str | None, selector: Mapping[str, Any]) -> dict[str, Any] | None:
    """The matcher of these keywords; None without any. ``TypeError`` for an unknown keyword."""
    given = selector if text is None else {"text": text, **selector}
    unknown = [name for name in given if name not in _FIELDS]
    if unknown:
        raise TypeError(f"unknown selector keyword {unknown[0]!r}; use {', '.join(_FIELDS)}")
    return {_FIELDS[name]: value for name, value in given.items() if value is not None} or None


def require_matcher(text: str | None, selector: Mapping[str, Any], action: str) -> dict[str, Any]:
    """The matcher, or ``MISSING_SELECTOR``."""
    matcher = find_matcher(text, selector)
    if matcher is None:
        raise ClawError(
            "MISSING_SELECTOR",
            f"{action} needs a selector",
            hint=f"Give one of {', '.join(_FIELDS)}.",
            operation=action,
        )
    return matcher
