"""Typing with ``input``: which text it supports, how to clear a field, and whether the field has the text."""

import math
import re

from clawperator._base.text import utf16_length
from clawperator.device.adb.quoting import command_line
from clawperator.errors import ClawError
from clawperator.ui.node import Node

ENTER = "66"
_DELETE, _DELETE_FORWARD, _TO_END, _PAGE_DOWN = "67", "112", "123", "93"
_MAX_DELETED = 5_000
# A text of no more characters is in one line of its field; a page of a field has at least so many.
_ONE_LINE = 20
_PAGE = 200
# For the captures and the typing beside the deletion.
_MORE_SECONDS = 30
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_BULLETS = frozenset("•●∙·*")
_FIELDS = ("edittext", "autocompletetextview")
_OPERATOR = "With an Operator on the device use '--backend operator': it sets any text."


def input_line(*words: str) -> str:
    return command_line("input", *words)


def check_typable(text: str) -> None:
    """``TEXT_NOT_ACCEPTED`` for control characters, which ``input`` sends as keys.

    A line break is the enter key, which may submit a form.
    """
    if _CONTROL.search(text):
        raise ClawError(
            "TEXT_NOT_ACCEPTED", "adb cannot type line breaks or other control characters", hint=_OPERATOR
        )


def typing_lines(text: str) -> list[str]:
    """The commands that type a text. ``input`` reads ``%s`` as a space, so a literal one is split over two."""
    pieces = text.replace("%s", "%\0s").split("\0")
    return [input_line("text", piece.replace(" ", "%s")) for piece in pieces]


def probe_text(text: str) -> str:
    """The characters that a device may have no keys for, once each. With one of them ``input`` types nothing."""
    return "".join(dict.fromkeys(character for character in text if not character.isascii()))


def clearing_keys(field: Node, probe: str = "") -> list[str]:
    """The keys that clear the focused field, with a probe that was typed into it; none when it is empty.

    The cursor moves to the end of its line first. A longer text may be wrapped, so that its line is not the last
    one: then as many characters are deleted after the cursor as before it. ``TEXT_NOT_ACCEPTED`` for a text that
    is too long.
    """
    current = field.entered_text
    length = utf16_length(current)
    if length > _MAX_DELETED:
        raise ClawError(
            "TEXT_NOT_ACCEPTED",
            f"the field has {length} characters; adb can delete at most {_MAX_DELETED}",
            hint=_OPERATOR,
        )
    if not length:
        return []
    length += utf16_length(probe)
    forward = [_DELETE_FORWARD] * length if _may_be_wrapped(current + probe) else []
    return [_TO_END, *[_DELETE] * length, *forward]


def end_keys(field: Node) -> list[str]:
    """The keys that move the cursor to the end of the focused field."""
    current = field.entered_text
    pages = [_PAGE_DOWN] * (1 + len(current) // _PAGE) if _may_be_wrapped(current) else []
    return [*pages, _TO_END] if current else []


def _may_be_wrapped(text: str) -> bool:
    return utf16_length(text) > _ONE_LINE or "\n" in text


def key_line(keys: list[str]) -> str:
    return input_line("keyevent", *keys)


def is_field(node: Node) -> bool:
    name = node.class_name.lower()
    return any(part in name for part in _FIELDS) or node.flag("password")


def find_again(nodes: list[Node], node: Node) -> Node | None:
    """The same view in a later capture: by class and resource id, then by bounds or by its index among those."""
    similar = [n for n in nodes if _is_similar(n, node)]
    for candidate in similar:
        if candidate.bounds == node.bounds:
            return candidate
    top = node
    for ancestor in node.ancestors():
        top = ancestor
    index = [n for n in top.walk() if _is_similar(n, node)].index(node)
    return similar[index] if index < len(similar) else None


def _is_similar(a: Node, b: Node) -> bool:
    return a.class_name == b.class_name and a.resource_id == b.resource_id


def has_text(field: Node, text: str) -> bool:
    """Whether the field has the text. An app may add separators, as in a telephone number.

    Of a password only the length is visible, and on some devices nothing.
    """
    shown = field.text
    if shown == text:
        return True
    if field.flag("password"):
        return not shown or (len(shown) in (len(text), utf16_length(text)) and _BULLETS.issuperset(shown[:-1]))
    rest = iter(shown)
    for character in text:
        for other in rest:
            if other == character:
                break
            if other.isalnum():
                return False
        else:
            return False
    return not any(other.isalnum() for other in rest)


def not_typed(text: str) -> ClawError:
    """The error of a text that ``input`` refused. It types nothing of a text with a character that has no key."""
    message = "the device did not type the text"
    if not text.isascii():
        message = (
            "nothing was typed: the text has characters for which adb has no key; most devices accept only ASCII"
        )
    return ClawError("TEXT_NOT_ACCEPTED", message, hint=_OPERATOR, after_effect=True)


def not_accepted() -> ClawError:
    return ClawError(
        "TEXT_NOT_ACCEPTED", "the field does not have the typed text", hint=_OPERATOR, after_effect=True
    )


def not_deleted(sent: int, wanted: int, seconds_per_key: float) -> ClawError:
    """The error of a text that is too long to delete in the time left."""
    needed = math.ceil(wanted * seconds_per_key)
    return ClawError(
        "TEXT_NOT_ACCEPTED",
        f"the text of the field is too long to delete in time: {sent} of {wanted} keys were sent, and nothing was "
        f"typed; all of them take about {needed} s",
        hint=f"Retry with '--timeout {(needed + _MORE_SECONDS) * 1000}'. {_OPERATOR}",
        after_effect=True,
    )
