"""Labels: how well a name matches a node, and which nodes form a row."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from unicodedata import normalize

from clawperator._base.text import distance, is_blank, one_line
from clawperator.agent.inventory.routing import stem
from clawperator.agent.offline.known_places import normalize_label
from clawperator.engine.targets import nearest_self_or_ancestor
from clawperator.ui.node import Node, is_field

# How a name matches a node, best first.
EXACT, ANY_CASE, DESCRIPTION, RESOURCE_ID, PREFIX, PLURAL, PHRASE, ID_WORDS, ALL_WORDS = range(9)
LEVELS = ALL_WORDS + 1
# The loosest match allowed: a switch has the whole name, a tapped element begins with it, a visible element
# or a value that is read contains it, and a field has its words in any order.
WHOLE_NAME, TO_TAP, TO_SEE, TO_READ, TO_TYPE = RESOURCE_ID, PLURAL, PHRASE, PHRASE, ALL_WORDS

# A number with points, commas or colons is one word: "5,000" does not begin with "5".
_WORD = re.compile(r"\d+(?:[.,:]\d+)+|[^\W_]+(?:'[^\W_]+)*")
# A name is written without its article; "The lighthouse" is also "lighthouse".
_ARTICLE = re.compile(r"(?:the|an?)\s+", re.IGNORECASE)
_ARTICLES = (("the",), ("a",), ("an",))
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_PASSWORDS = frozenset(("password", "passcode", "passphrase", "pin"))
_NEGATIONS = frozenset(("not", "no", "never", "without", "cannot"))
# Actions that are hard to undo: a longer label that begins with one of these may do more than was asked.
_IRREVERSIBLE = frozenset(
    (
        *("accept", "agree", "allow", "approve", "block", "buy", "call", "cancel", "clear", "confirm", "decline"),
        *("delete", "deny", "discard", "erase", "forget", "format", "install", "log", "order", "pay", "post"),
        *("publish", "purchase", "remove", "reset", "restart", "save", "send", "share", "sign", "stop", "submit"),
        *("subscribe", "transfer", "uninstall", "wipe"),
    )
)
# Words at the end of an id that name the kind of element.
_KINDS = frozenset(
    (
        *("button", "btn", "icon", "image", "img", "view", "field", "edit", "text", "input", "box", "bar", "row"),
        *("card", "item", "cell", "tile", "container", "layout", "switch", "checkbox", "toggle", "tab", "label"),
    )
)
_MAX_TEXT = 1_000
_MAX_COMPARED_LENGTH = 40
_MAX_COMPARED = 200
_CHECKABLE = ("switch", "checkbox", "togglebutton", "radiobutton")
# A container with more labels is a list of rows, whose labels do not belong together.
_MAX_LABELS = 4
_MAX_NODES = 60
_MAX_DEPTH = 8


def word_set(text: str) -> frozenset[str]:
    return frozenset(split_words(text))


def split_words(text: str) -> tuple[str, ...]:
    """The words of a text in order; "&" counts as "and"."""
    return _split_words(text[:_MAX_TEXT])


@lru_cache(maxsize=1024)
def _split_words(text: str) -> tuple[str, ...]:
    text = normalize("NFC", text).casefold().replace("\u2019", "'").replace("&", " and ")
    return tuple(_WORD.findall(text))


def id_words(resource_id: str) -> tuple[str, ...]:
    """The words of a resource id: ``package:id/searchBar_title`` has three."""
    return _split_words(_CAMEL.sub(" ", resource_id[-_MAX_TEXT:].rpartition("/")[2]).replace("_", " "))


def match_name(name: str, node: Node, loosest: int = TO_TYPE) -> int | None:
    """The best match level of a name and a node; None when there is none up to ``loosest``."""
    label = own_label(node)
    if label and label == name:
        return EXACT
    normalized = normalize_label(name)
    if not normalized:
        return ANY_CASE if label and label.strip() == name.strip() else None
    level = _match_whole(name, normalized, node, label, loosest)
    if level is None and loosest > WHOLE_NAME:
        level = _match_part(split_words(name), node, label, loosest)
    return level if level is not None and level <= loosest else None


def _match_whole(name: str, normalized: str, node: Node, label: str, loosest: int) -> int | None:
    if normalized in (normalize_label(label), normalize_label(_without_article(label))):
        return ANY_CASE
    described, hint = node.content_desc, node.attributes.get("hint", "")
    if normalized in (normalize_label(described), normalize_label(hint)) or (
        node.flag("password") and name.casefold() in _PASSWORDS
    ):
        return DESCRIPTION
    # Ignore the id of an element with a label: a button "Unlike" may have the id "like".
    if node.resource_id and (loosest > TO_TAP or is_blank(label) or is_field(node)):
        ids = id_words(node.resource_id)
        if "".join(ids) == normalized or (ids and _without_kind(ids) == split_words(name)):
            return RESOURCE_ID
    return None


def _without_article(label: str) -> str:
    found = _ARTICLE.match(label)
    return label[found.end() :] if found else label


def _match_part(wanted: tuple[str, ...], node: Node, label: str, loosest: int) -> int | None:
    texts = [split_words(text) for text in (label, node.content_desc, node.attributes.get("hint", "")) if text]
    texts = [label_words for label_words in texts if _is_negated(label_words) == _is_negated(wanted)]
    texts += [label_words[1:] for label_words in texts if label_words[:1] in _ARTICLES]
    irreversible = loosest <= TO_TAP and bool(wanted) and wanted[0] in _IRREVERSIBLE
    if not irreversible and any(label_words[: len(wanted)] == wanted for label_words in texts):
        return PREFIX
    if not irreversible and any(_is_plural(wanted, label_words) for label_words in texts):
        return PLURAL
    if loosest < PHRASE:
        return None
    if any(
        wanted == label_words[start : start + len(wanted)]
        for label_words in texts
        for start in range(len(label_words))
    ):
        return PHRASE
    wanted_set = frozenset(wanted)
    if wanted_set <= frozenset(id_words(node.resource_id)):
        return ID_WORDS
    return ALL_WORDS if _stems(wanted_set) <= _stems(frozenset().union(*texts)) else None


def own_label(node: Node) -> str:
    """The label of a node; for a password field only its description, never its text."""
    return node.content_desc if node.flag("password") else node.label


def _without_kind(ids: tuple[str, ...]) -> tuple[str, ...]:
    end = len(ids)
    while end > 1 and ids[end - 1] in _KINDS:
        end -= 1
    return ids[:end]


def _is_negated(label_words: tuple[str, ...]) -> bool:
    return any(word in _NEGATIONS or word.endswith("n't") for word in label_words)


def _is_plural(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether two names differ only in a plural ending."""
    if len(one) != len(other) or one[:-1] != other[:-1] or other[0] in _IRREVERSIBLE:
        return False
    short, long = sorted((one[-1], other[-1]), key=len)
    return long in (f"{short}s", f"{short}es")


def contains_words(text: str, label: str) -> bool:
    """Whether a label has the words of a text in this order, in any grammatical number."""
    wanted = [stem(word) for word in split_words(text)]
    found = [stem(word) for word in split_words(label)]
    return bool(wanted) and any(wanted == found[at : at + len(wanted)] for at in range(len(found)))


def share_word(text: str, label: str) -> bool:
    """Whether a text and a label have a word in common, in any grammatical number."""
    return not _stems(word_set(text)).isdisjoint(_stems(word_set(label)))


def _stems(found: frozenset[str]) -> set[str]:
    return {stem(word) for word in found}


def quote(text: str) -> str:
    """A text from an app or a prompt in quotes, shortened and safe to print."""
    return f"'{one_line(text)}'"


def closest_labels(name: str, labels: list[str], count: int = 5) -> list[str]:
    """The labels most similar to a name: by shared words first, then by spelling."""
    wanted, folded = word_set(name), name.casefold()[:_MAX_COMPARED_LENGTH]

    def dissimilarity(label: str) -> tuple[int, int]:
        return -len(wanted & word_set(label)), distance(folded, label.casefold()[:_MAX_COMPARED_LENGTH])

    distinct = list(dict.fromkeys(label for label in labels if label.strip()))[:_MAX_COMPARED]
    return sorted(distinct, key=dissimilarity)[:count]


# Rows


def is_checkable(node: Node) -> bool:
    name = node.class_name.lower()
    return node.flag("checkable") or any(part in name for part in _CHECKABLE)


def click_target(node: Node) -> Node | None:
    """The node that receives a click on this one, if any."""
    return nearest_self_or_ancestor(node, lambda n: n.flag("clickable") or n.flag("long-clickable"))


def display_label(node: Node) -> str:
    """The node's own label, or the first one inside it; empty when there is none."""
    inside = (own_label(n) for n in islice(node.walk(), _MAX_NODES))
    return next((label for label in inside if not is_blank(label)), "")


def enclosing_rows(node: Node) -> Iterator[tuple[Node, list[Node]]]:
    """The containers of a node from the inside out, with their labelled nodes, up to the first list."""
    container = node.parent
    for _ in range(_MAX_DEPTH):
        if container is None:
            return
        inside = list(islice(container.walk(), _MAX_NODES + 1))
        labelled = [n for n in inside if not is_blank(own_label(n))]
        if len(inside) > _MAX_NODES or len(labelled) > _MAX_LABELS or any(n.flag("scrollable") for n in inside):
            return
        yield container, labelled
        container = container.parent


def row_value(node: Node) -> str | None:
    """The next label in the same row: the summary of a setting, or the value at its end."""
    for _, labelled in enclosing_rows(node):
        if len(labelled) > 1 and node in labelled:
            after = [n for n in labelled[labelled.index(node) + 1 :] if not n.flag("clickable")]
            return own_label(after[0]) if after else None
    return None


def row_switch(node: Node) -> Node | None:
    """The checkable node of a row; None when there is none, several, or one with a label of its own."""
    if is_checkable(node):
        return node
    for row, labelled in enclosing_rows(node):
        switches = [n for n in islice(row.walk(), _MAX_NODES) if is_checkable(n)]
        inner = [n for n in switches if n is not row] or switches
        if inner:
            named = [n for n in inner if n in labelled]
            return inner[0] if len(inner) == 1 and not named else None
    return None


def selected_option(node: Node) -> str | None:
    """The selected option of the radio group right after a label."""
    siblings = node.parent.children if node.parent is not None else []
    after = siblings[siblings.index(node) + 1 :][:1] if node in siblings else []
    selected = [
        own_label(option)
        for group in after
        if "radiogroup" in group.class_name.lower()
        for option in islice(group.walk(), _MAX_NODES)
        if is_checkable(option) and option.flag("checked") and own_label(option)
    ]
    return selected[0] if len(selected) == 1 else None


def row_state(node: Node) -> str:
    """The text "on" or "off" in the row of a node; otherwise empty."""
    for _, labelled in enclosing_rows(node):
        states = [
            word for n in labelled if n is not node and (word := own_label(n).strip().casefold()) in ("on", "off")
        ]
        if states:
            return states[0] if len(states) == 1 else ""
    return ""


def in_same_row(nodes: list[Node], others: Iterable[Node]) -> list[Node]:
    """The nodes that share the closest row with one of the others."""
    found: dict[int, Node] = {}
    for other in islice(others, _MAX_NODES):
        container = other.parent
        while container is not None and not container.flag("scrollable"):
            inside = [node for node in nodes if node is container or container in node.ancestors()]
            if inside:
                found.update((id(node), node) for node in inside)
                break
            container = container.parent
    return list(found.values())


def list_rows(nodes: list[Node], *, in_list: bool = False) -> list[Node]:
    """The clickable rows of lists, without buttons, icons and fields; of the screen when there are none.

    With ``in_list`` only rows of lists count.
    """
    rows = [node for node in nodes if _is_row(node)]
    listed = [node for node in rows if any(above.flag("scrollable") for above in node.ancestors())]
    return listed if in_list else listed or rows


def _is_row(node: Node) -> bool:
    if not (node.flag("clickable") or node.flag("long-clickable")) or is_field(node):
        return False
    name = node.class_name.lower()
    return "image" not in name and ("button" not in name or is_checkable(node))
