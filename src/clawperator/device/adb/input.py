"""Typing by ``input``: what it can carry, how a field is emptied, and whether the field took it."""

import re

from clawperator._text import utf16_length
from clawperator.device.adb.quoting import command_line
from clawperator.errors import ClawError
from clawperator.ui.node import Node

ENTER = "66"
_DELETE, _DELETE_FORWARD, _TO_END = "67", "112", "123"
_MOST_DELETED = 5_000
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_BULLETS = frozenset("•●∙·*")
_FIELDS = ("edittext", "autocompletetextview")
_OPERATOR = "Leave '--backend adb' out: the Operator sets any text."


def input_line(*words: str) -> str:
    return command_line("input", *words)


def check_typable(text: str) -> None:
    """``TEXT_NOT_ACCEPTED`` for text that would be pressed as keys which do something else.

    A line break is the enter key, and that may send a form.
    """
    if _CONTROL.search(text):
        raise ClawError(
            "TEXT_NOT_ACCEPTED", "adb cannot type line breaks or other control characters", hint=_OPERATOR
        )


def typing_lines(text: str) -> list[str]:
    """The commands that type a text. ``input`` reads ``%s`` as a space, so a real one goes in two commands."""
    pieces = text.replace("%s", "%\0s").split("\0")
    return [input_line("text", piece.replace(" ", "%s")) for piece in pieces]


def clearing_lines(field: Node, *, around: bool = False) -> list[str]:
    """The command that empties the field with the focus, if it holds anything.

    The cursor goes to the end of its line first. Where there may be lines below it, or with ``around``, as much
    is deleted behind the cursor as before it. ``TEXT_NOT_ACCEPTED`` for a text too long to be deleted so.
    """
    held = "" if field.text == field.attributes.get("hint") else field.text
    length = utf16_length(held)
    if length > _MOST_DELETED:
        raise ClawError(
            "TEXT_NOT_ACCEPTED",
            f"the field holds {length} characters; adb deletes at most {_MOST_DELETED}, one by one",
            hint=_OPERATOR,
        )
    if not length:
        return []
    forward = [_DELETE_FORWARD] * length if around or "\n" in held else []
    return [input_line("keyevent", _TO_END, *[_DELETE] * length, *forward)]


def is_field(node: Node) -> bool:
    name = node.class_name.lower()
    return any(part in name for part in _FIELDS) or node.flag("password")


def find_again(nodes: list[Node], node: Node) -> Node | None:
    """The same view in a later capture: by class and resource id, then by its place or its turn among those."""
    alike = [n for n in nodes if _is_alike(n, node)]
    for candidate in alike:
        if candidate.bounds == node.bounds:
            return candidate
    top = node
    for above in node.ancestors():
        top = above
    turn = [n for n in top.walk() if _is_alike(n, node)].index(node)
    return alike[turn] if turn < len(alike) else None


def _is_alike(a: Node, b: Node) -> bool:
    return a.class_name == b.class_name and a.resource_id == b.resource_id


def holds(field: Node, text: str) -> bool:
    """Whether the text is in the field. An app may put signs between what is typed, as in a telephone number.

    Of a password only its length can be seen, and on some phones nothing.
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


def not_taken(text: str) -> ClawError:
    message = "the field does not hold the text that was typed"
    if not text.isascii():
        message += "; most phones take only ASCII from adb"
    return ClawError("TEXT_NOT_ACCEPTED", message, hint=_OPERATOR)
