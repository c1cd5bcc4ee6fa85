"""How well a name fits what is on the screen."""

import re
from functools import lru_cache

from clawperator.agent.brains.places import squash
from clawperator.contract.text import distance, printable
from clawperator.ui.node import Node

# The ways a name may fit, the best first.
EXACT, ANY_CASE, DESCRIBED, BY_ID, ALL_WORDS, ID_WORDS, STEMS = range(7)
WAYS = STEMS + 1
_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ENDINGS = ("ing", "ed", "es", "s")
_SHORTEST_STEM = 3
_PASSWORDS = frozenset(("password", "passcode", "passphrase", "pin"))
_LONGEST_SHOWN = 80
_LONGEST_COMPARED = 40
_MOST_COMPARED = 200


def words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))


@lru_cache(maxsize=1024)
def id_words(resource_id: str) -> frozenset[str]:
    """The words of a resource id: ``package:id/searchBar_title`` has three."""
    return words(_CAMEL.sub(" ", resource_id.rpartition("/")[2]))


def fit(name: str, node: Node) -> int | None:
    """The best way in which a name fits a node; None when it does not."""
    label = own_label(node)
    if label and label == name:
        return EXACT
    squashed = squash(name)
    if not squashed:
        return ANY_CASE if label and label.strip() == name.strip() else None
    if squash(label) == squashed:
        return ANY_CASE
    described, hint = node.content_desc, node.attributes.get("hint", "")
    if squashed in (squash(described), squash(hint)) or (node.flag("password") and name.casefold() in _PASSWORDS):
        return DESCRIBED
    ids = id_words(node.resource_id)
    if squash(node.resource_id.rpartition("/")[2]) == squashed:
        return BY_ID
    wanted = words(name)
    told = words(label) | words(described) | words(hint)
    if wanted <= told:
        return ALL_WORDS
    if wanted <= ids:
        return ID_WORDS
    return STEMS if _stems(wanted) <= _stems(told) else None


def own_label(node: Node) -> str:
    """The label; nothing for a password field, whose text is nobody's business."""
    return node.content_desc if node.flag("password") else node.label


def _stems(found: frozenset[str]) -> set[str]:
    return {_stem(word) for word in found}


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            return word[: -len(ending)]
    return word


def shown(text: str) -> str:
    """A text from an app or a prompt between quotes, fit to be printed."""
    text = printable(" ".join(text.split()))
    return f"'{text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + '…'}'"


def closest(name: str, labels: list[str], most: int = 5) -> list[str]:
    """The labels that are most like a name: those that share words with it first, then by spelling."""
    wanted, folded = words(name), name.casefold()[:_LONGEST_COMPARED]

    def unlikeness(label: str) -> tuple[int, int]:
        return -len(wanted & words(label)), distance(folded, label.casefold()[:_LONGEST_COMPARED])

    distinct = list(dict.fromkeys(label for label in labels if label.strip()))[:_MOST_COMPARED]
    return sorted(distinct, key=unlikeness)[:most]
