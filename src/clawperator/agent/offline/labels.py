"""Labels: how well a name matches a node, and which nodes form a row."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from unicodedata import normalize

from clawperator._text import distance, is_blank, one_line
from clawperator.agent.inventory.tokens import stem
from clawperator.agent.offline.known_places import squash
from clawperator.engine.targets import nearest
from clawperator.ui.node import Node

# The ways a name may fit, the best first.
EXACT, ANY_CASE, DESCRIBED, BY_ID, BEGINS, PLURAL, HELD, ID_WORDS, SCATTERED = range(9)
WAYS = SCATTERED + 1
# How loosely a name may fit: what is turned on or off has just this name, what is touched begins with it, what is
# said to be there holds it, and what is read has its words anywhere.
WHOLE, TOUCHED, SEEN, READ = BY_ID, PLURAL, HELD, SCATTERED

# A number with its points, commas or colons is one word: 5,000 does not begin with 5.
_WORD = re.compile(r"\d+(?:[.,:]\d+)+|[^\W_]+(?:'[^\W_]+)*")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_PASSWORDS = frozenset(("password", "passcode", "passphrase", "pin"))
_DENIALS = frozenset(("not", "no", "never", "without", "cannot"))
# What these begin can hardly be taken back: with more words behind them it may be more than was asked for.
_LASTING = frozenset(
    (
        *("accept", "agree", "allow", "approve", "block", "buy", "call", "cancel", "clear", "confirm", "decline"),
        *("delete", "deny", "discard", "erase", "forget", "format", "install", "log", "order", "pay", "post"),
        *("publish", "purchase", "remove", "reset", "restart", "save", "send", "share", "sign", "stop", "submit"),
        *("subscribe", "transfer", "uninstall", "wipe"),
    )
)
# Words at the end of an id that say what a thing is, and not what it is called.
_KINDS = frozenset(
    (
        *("button", "btn", "icon", "image", "img", "view", "field", "edit", "text", "input", "box", "bar", "row"),
        *("card", "item", "cell", "tile", "container", "layout", "switch", "checkbox", "toggle", "tab", "label"),
    )
)
_LONGEST_READ = 1_000
_LONGEST_COMPARED = 40
_MOST_COMPARED = 200


def words(text: str) -> frozenset[str]:
    return frozenset(in_order(text))


def in_order(text: str) -> tuple[str, ...]:
    """The words of a text as they follow each other; the sign & is one."""
    return _in_order(text[:_LONGEST_READ])


@lru_cache(maxsize=1024)
def _in_order(text: str) -> tuple[str, ...]:
    text = normalize("NFC", text).casefold().replace("\u2019", "'").replace("&", " and ")
    return tuple(_WORD.findall(text))


def id_words(resource_id: str) -> tuple[str, ...]:
    """The words of a resource id: ``package:id/searchBar_title`` has three."""
    return _in_order(_CAMEL.sub(" ", resource_id[-_LONGEST_READ:].rpartition("/")[2]).replace("_", " "))


def fit(name: str, node: Node, most: int = READ) -> int | None:
    """The best way in which a name fits a node; None when it does not, or only more loosely than it may."""
    label = own_label(node)
    if label and label == name:
        return EXACT
    squashed = squash(name)
    if not squashed:
        return ANY_CASE if label and label.strip() == name.strip() else None
    way = _fit_whole(name, squashed, node, label, most)
    if way is None and most > WHOLE:
        way = _fit_part(in_order(name), node, label, most)
    return way if way is not None and way <= most else None


def _fit_whole(name: str, squashed: str, node: Node, label: str, most: int) -> int | None:
    if squash(label) == squashed:
        return ANY_CASE
    described, hint = node.content_desc, node.attributes.get("hint", "")
    if squashed in (squash(described), squash(hint)) or (node.flag("password") and name.casefold() in _PASSWORDS):
        return DESCRIBED
    # What has a label is called by it: a button "Unlike" may well have the id "like".
    if node.resource_id and (most > TOUCHED or is_blank(label) or is_field(node)):
        ids = id_words(node.resource_id)
        if "".join(ids) == squashed or (ids and _without_kind(ids) == in_order(name)):
            return BY_ID
    return None


def _fit_part(wanted: tuple[str, ...], node: Node, label: str, most: int) -> int | None:
    told = [in_order(text) for text in (label, node.content_desc, node.attributes.get("hint", "")) if text]
    told = [said for said in told if _denies(said) == _denies(wanted)]
    lasting = most <= TOUCHED and bool(wanted) and wanted[0] in _LASTING
    if not lasting and any(said[: len(wanted)] == wanted for said in told):
        return BEGINS
    if not lasting and any(_is_plural(wanted, said) for said in told):
        return PLURAL
    if most < HELD:
        return None
    if any(wanted == said[at : at + len(wanted)] for said in told for at in range(len(said))):
        return HELD
    every = frozenset(wanted)
    if every <= frozenset(id_words(node.resource_id)):
        return ID_WORDS
    return SCATTERED if _stems(every) <= _stems(frozenset().union(*told)) else None


def is_field(node: Node) -> bool:
    name = node.class_name.lower()
    return node.flag("password") or "edittext" in name or "autocompletetextview" in name


def own_label(node: Node) -> str:
    """The label; nothing for a password field, whose text is nobody's business."""
    return node.content_desc if node.flag("password") else node.label


def _without_kind(ids: tuple[str, ...]) -> tuple[str, ...]:
    end = len(ids)
    while end > 1 and ids[end - 1] in _KINDS:
        end -= 1
    return ids[:end]


def _denies(said: tuple[str, ...]) -> bool:
    return any(word in _DENIALS or word.endswith("n't") for word in said)


def _is_plural(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether they differ in nothing but an s at the end."""
    if len(one) != len(other) or one[:-1] != other[:-1] or other[0] in _LASTING:
        return False
    short, long = sorted((one[-1], other[-1]), key=len)
    return long in (f"{short}s", f"{short}es")


def _stems(found: frozenset[str]) -> set[str]:
    return {stem(word) for word in found}


def shown(text: str) -> str:
    """A text from an app or a prompt between quotes, fit to be printed."""
    return f"'{one_line(text)}'"


def closest(name: str, labels: list[str], most: int = 5) -> list[str]:
    """The labels that are most like a name: those that share words with it first, then by spelling."""
    wanted, folded = words(name), name.casefold()[:_LONGEST_COMPARED]

    def unlikeness(label: str) -> tuple[int, int]:
        return -len(wanted & words(label)), distance(folded, label.casefold()[:_LONGEST_COMPARED])

    distinct = list(dict.fromkeys(label for label in labels if label.strip()))[:_MOST_COMPARED]
    return sorted(distinct, key=unlikeness)[:most]


_CHECKABLE = ("switch", "checkbox", "togglebutton", "radiobutton")
# A row with more than so many labels is a list of rows: what follows a label there belongs to another.
_MOST_LABELS = 4
_MOST_NODES = 60
_LEVELS = 8


def is_checkable(node: Node) -> bool:
    name = node.class_name.lower()
    return node.flag("checkable") or any(part in name for part in _CHECKABLE)


def holder(node: Node) -> Node | None:
    """The node a click on this one goes to, if any."""
    return nearest(node, lambda n: n.flag("clickable") or n.flag("long-clickable"))


def label_of(node: Node) -> str:
    """What a thing is called: its own label, or the first one inside it; nothing when it has no name."""
    inside = (own_label(n) for n in islice(node.walk(), _MOST_NODES))
    return next((label for label in inside if not is_blank(label)), "")


def rows_around(node: Node) -> Iterator[tuple[Node, list[Node]]]:
    """What is around a node, from the inside out, and the nodes with labels in it. What holds a list is no row."""
    at = node.parent
    for _ in range(_LEVELS):
        if at is None:
            return
        inside = list(islice(at.walk(), _MOST_NODES + 1))
        labelled = [n for n in inside if not is_blank(own_label(n))]
        if len(inside) > _MOST_NODES or len(labelled) > _MOST_LABELS or any(n.flag("scrollable") for n in inside):
            return
        yield at, labelled
        at = at.parent


def value_beside(node: Node) -> str | None:
    """The label that follows in the same row: the summary of a setting, or the value at its end."""
    for _, labelled in rows_around(node):
        if len(labelled) > 1 and node in labelled:
            after = [n for n in labelled[labelled.index(node) + 1 :] if not n.flag("clickable")]
            return own_label(after[0]) if after else None
    return None


def switch_of(node: Node) -> Node | None:
    """What of a node or its row can be on or off; None when nothing is, or several are, or it has another name."""
    if is_checkable(node):
        return node
    for row, labelled in rows_around(node):
        switches = [n for n in islice(row.walk(), _MOST_NODES) if is_checkable(n)]
        inner = [n for n in switches if n is not row] or switches
        if inner:
            named = [n for n in inner if n in labelled]
            return inner[0] if len(inner) == 1 and not named else None
    return None


def state_beside(node: Node) -> str:
    """What the row of a node says of it when it says "on" or "off" in words; else nothing."""
    for _, labelled in rows_around(node):
        said = [
            word for n in labelled if n is not node and (word := own_label(n).strip().casefold()) in ("on", "off")
        ]
        if said:
            return said[0] if len(said) == 1 else ""
    return ""


def in_row_of(nodes: list[Node], others: Iterable[Node]) -> list[Node]:
    """Those of the nodes that share the closest row with one of the others."""
    found: dict[int, Node] = {}
    for other in islice(others, _MOST_NODES):
        at = other.parent
        while at is not None and not at.flag("scrollable"):
            inside = [node for node in nodes if node is at or at in node.ancestors()]
            if inside:
                found.update((id(node), node) for node in inside)
                break
            at = at.parent
    return list(found.values())


def rows_among(nodes: list[Node]) -> list[Node]:
    """The things in lists that take a click, or all that do where there is no list; no buttons, icons, fields."""
    rows = [node for node in nodes if _is_row(node)]
    return [node for node in rows if any(above.flag("scrollable") for above in node.ancestors())] or rows


def _is_row(node: Node) -> bool:
    if not (node.flag("clickable") or node.flag("long-clickable")) or is_field(node):
        return False
    name = node.class_name.lower()
    return "image" not in name and ("button" not in name or is_checkable(node))
