"""Messages that an app shows after an action, such as "Title is required" below a field.

An app rejects an input on the same page: the page stays, and a text appears. A text counts when it is new, when it
cannot be clicked or edited, and when at least one of these holds: its id or class is that of an error, snackbar or
toast; it is directly below a text field that kept its text (below a new text are results and suggestions); it is
worded like an error. On a page that was replaced by another one every text is new, so none counts there.
"""

import re

from clawperator._base.text import is_blank
from clawperator.ui.node import Hierarchy, Node
from clawperator.ui.roles import role_of, takes_click

_MOST_NOTICES = 3
_LONGEST_NOTICE = 200
# At most this many heights of the text between a field and the text below it.
_GAP_IN_HEIGHTS = 1.5
_NAMED = ("error", "snackbar", "toast", "invalid", "warning")
_APOSTROPHES = str.maketrans("\u2019", "'")
_WORDED = re.compile(
    r"\b(?:required|invalid|incorrect|wrong|mandatory|missing|denied|expired|rejected|failed|failure|error|unable"
    r"|must|cannot|can't|couldn't|could not|did not|didn't|does not|doesn't|is not|isn't"
    r"|not (?:valid|found|allowed|supported|available)|already (?:exists|taken|used|in use)"
    r"|too (?:long|short|many|few|large|small|weak|high|low)|at (?:least|most)|no more than|try again"
    r"|no (?:internet|connection|network))\b|^(?:please )?(?:enter|use|choose|select) ",
    re.IGNORECASE,
)


def appeared_notices(before: Hierarchy, after: Hierarchy) -> list[str]:
    """The error and validation messages of ``after`` that ``before`` does not show, in tree order."""
    known = {node.label for node in before.nodes if node.label}
    labelled = [node for node in after.nodes if node.label]
    if not _is_same_page(known, labelled):
        return []
    entered = {(node.resource_id, node.text) for node in before.nodes if role_of(node) == "textfield"}
    fields = [
        node for node in after.nodes if role_of(node) == "textfield" and (node.resource_id, node.text) in entered
    ]
    found = (
        node.text[:_LONGEST_NOTICE]
        for node in labelled
        if node.label not in known and _is_static(node) and _is_notice(node, fields)
    )
    return list(dict.fromkeys(found))[:_MOST_NOTICES]


def _is_same_page(known: set[str], labelled: list[Node]) -> bool:
    """Whether most of the labels that were there before remain."""
    kept = known.intersection(node.label for node in labelled)
    return bool(kept) and 2 * len(kept) >= len(known)


def _is_static(node: Node) -> bool:
    """Whether the node is plain text. Rows, buttons and suggestions can be clicked."""
    return not (
        is_blank(node.text)
        or node.children
        or node.flag("checkable")
        or role_of(node) == "textfield"
        or takes_click(node)
    )


def _is_notice(node: Node, fields: list[Node]) -> bool:
    name = f"{node.resource_id.rpartition('/')[2]} {node.class_name}".lower()
    if any(part in name for part in _NAMED) or _is_worded(node.text[:_LONGEST_NOTICE]):
        return True
    has_words = any(character.isalpha() for character in node.text)  # a counter such as 3/40 has none
    return has_words and any(_is_below(node, field) for field in fields)


def _is_worded(text: str) -> bool:
    return _WORDED.search(text.translate(_APOSTROPHES)) is not None


def _is_below(node: Node, field: Node) -> bool:
    """Whether the text is directly below the field, as input forms place their messages."""
    text, box = node.bounds.normalised(), field.bounds.normalised()
    overlaps = text.left < box.right and box.left < text.right
    return overlaps and 0 <= text.top - box.bottom <= _GAP_IN_HEIGHTS * text.height
