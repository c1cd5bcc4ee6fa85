"""The flags of a selector: which field of a ``NodeSelector`` each one sets.

``--state`` sets the field of its state. The flags of a relation take a label, or the JSON of a selector.
"""

from collections.abc import Mapping
from typing import Any

from clawperator.commands.model import Flag, switch

TEXT_FLAGS: Mapping[str, str] = {
    "text": "textEquals",
    "text-contains": "textContains",
    "text-matches": "textMatches",
    "id": "resourceId",
    "desc": "contentDescEquals",
    "desc-contains": "contentDescContains",
    "desc-matches": "contentDescMatches",
    "role": "role",
    "class": "className",
}
RELATION_FLAGS: Mapping[str, str] = {
    "ancestor": "ancestor",
    "descendant": "descendant",
    "sibling": "sibling",
    "below": "below",
    "above": "above",
    "left-of": "leftOf",
    "right-of": "rightOf",
    "not": "not",
}
STATES: Mapping[str, tuple[str, bool]] = {
    "checked": ("checked", True),
    "unchecked": ("checked", False),
    "enabled": ("enabled", True),
    "disabled": ("enabled", False),
    "focused": ("focused", True),
    "unfocused": ("focused", False),
    "selected": ("selected", True),
    "unselected": ("selected", False),
    "scrollable": ("scrollable", True),
    "unscrollable": ("scrollable", False),
    "password": ("password", True),
    "not-password": ("password", False),
}


def selector_flags(prefix: str, node: str) -> tuple[Flag, ...]:
    """The flags of the contract's fields, and the flag for JSON."""

    def flag(name: str, help_: str, metavar: str, *aliases: str) -> Flag:
        aliases = tuple(f"--{prefix}{alias}" for alias in aliases)
        return Flag(f"--{prefix}{name}", f"{node}: {help_}", metavar, aliases, literal=True)

    return (
        flag("selector", "selector JSON; cannot be combined with the flags below", "<json>", "matcher-json"),
        flag("text", "exact label", "<text>"),
        flag("text-contains", "part of the label, in any case", "<text>"),
        flag("id", "resource id, package:id/name, or only its name if it is unique", "<id>", "resource-id"),
        flag("desc", "exact content description", "<text>", "content-desc"),
        flag("desc-contains", "part of the content description", "<text>", "content-desc-contains"),
        flag("role", "role, such as button or textfield", "<role>"),
    )


def _relation(name: str, help_: str) -> Flag:
    return Flag(f"--{name}", f"element: {help_}", "<label|json>", literal=True)


ELEMENT: tuple[Flag, ...] = (
    *selector_flags("", "element"),
    Flag("--ref", "element: reference of a snapshot, such as e12; alone", "<ref>", literal=True),
    Flag("--text-matches", "element: regular expression for the whole label", "<regex>", literal=True),
    Flag("--desc-matches", "element: regular expression for the content description", "<regex>", literal=True),
    Flag("--class", "element: class, full or its last part", "<class>", ("--class-name",), literal=True),
    Flag(
        "--state",
        f"element: {', '.join(STATES)}; may be repeated",
        "<state>",
        literal=True,
        repeats=True,
        choices=tuple(STATES),
    ),
    _relation("ancestor", "inside this one"),
    _relation("descendant", "contains this one"),
    _relation("sibling", "has the same parent as this one"),
    _relation("below", "below this one, the nearest first"),
    _relation("above", "above this one, the nearest first"),
    _relation("left-of", "left of this one, the nearest first"),
    _relation("right-of", "right of this one, the nearest first"),
    _relation("not", "does not match this selector"),
    Flag("--any-of", "element: matches one of these; may be repeated", "<label|json>", literal=True, repeats=True),
    Flag("--index", "element: which of the matches, from 0", "<n>", literal=True),
    switch("--unique", "fail when several elements match"),
)
CONTAINER: tuple[Flag, ...] = selector_flags("container-", "container")


def render_flags(selector: Mapping[str, Any]) -> list[str]:
    """A selector as flags of a command. A nested selector with only a label is written as that label."""
    words: list[str] = []
    for field, value in selector.items():
        for name, text in _flags_of(field, value):
            # A value that begins with a dash must be written with "=".
            words += (
                [f"--{name}={text}"] if text.startswith("-") else [f"--{name}", text] if text else [f"--{name}"]
            )
    return words


def _flags_of(field: str, value: Any) -> list[tuple[str, str]]:
    if field == "unique":
        return [("unique", "")] if value else []
    if field in ("ref", "index"):
        return [(field, str(value))]
    if field == "shortId":
        return [("id", value)]
    if field == "anyOf":
        return [("any-of", _nested(one)) for one in value]
    if isinstance(value, bool):
        return [("state", next(name for name, state in STATES.items() if state == (field, value)))]
    names = {known: name for name, known in (*TEXT_FLAGS.items(), *RELATION_FLAGS.items())}
    return [(names[field], _nested(value) if isinstance(value, Mapping) else value)]


def _nested(selector: Mapping[str, Any]) -> str:
    if selector.keys() == {"textEquals"} and not selector["textEquals"].startswith(("{", "[")):
        return str(selector["textEquals"])
    import msgspec

    return msgspec.json.encode(selector).decode()
