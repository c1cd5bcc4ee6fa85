"""Keywords to a NodeMatcher document."""

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


class Marks(TypedDict, total=False):
    """What else may tell a node from others, beside its text. All that is given must hold.

    ``text_contains`` is part of the label in any case, ``id`` a resource id as ``package:id/name``, ``desc`` the
    exact content description, ``desc_contains`` part of it, ``role`` what the node is, such as ``button``.
    """

    text_contains: str
    id: str
    desc: str
    desc_contains: str
    role: str


class Selector(Marks, total=False):
    """Which node is meant, where it is written as a whole: ``container={"role": "list"}``."""

    text: str


def find_matcher(text: str | None, marks: Mapping[str, Any]) -> dict[str, Any] | None:
    """The matcher that the keywords describe; None when they describe none. ``TypeError`` for a strange one."""
    given = marks if text is None else {"text": text, **marks}
    strange = [name for name in given if name not in _FIELDS]
    if strange:
        raise TypeError(f"a selector has no {strange[0]!r}; it has {', '.join(_FIELDS)}")
    return {_FIELDS[name]: value for name, value in given.items() if value is not None} or None


def require_matcher(text: str | None, marks: Mapping[str, Any], action: str) -> dict[str, Any]:
    """The matcher, or ``MISSING_SELECTOR``."""
    matcher = find_matcher(text, marks)
    if matcher is None:
        raise ClawError(
            "MISSING_SELECTOR",
            f"{action} needs a selector",
            hint=f"Give one of {', '.join(_FIELDS)}.",
            operation=action,
        )
    return matcher
