"""The labels and ids on a screen that are most like what a selector asked for."""

from collections.abc import Iterator

from msgspec import UNSET, Struct

from clawperator._base.text import distance, is_blank
from clawperator.contract.selectors import NodeMatcher
from clawperator.ui.node import Bounds, Hierarchy, Node
from clawperator.ui.passwords import has_password
from clawperator.ui.visible import visible_nodes

MAX_NEAREST = 5
_MAX_LENGTH = 80
_MIN_PART = 3
_LABEL_FIELDS = ("textEquals", "textContains", "contentDescEquals", "contentDescContains", "textMatches")
_ID = ":id/"


class NearMatch(Struct, frozen=True):
    """A label or id on the screen, and the contract field that selects it."""

    value: str
    field: str


def nearest_matches(hierarchy: Hierarchy, matcher: NodeMatcher, frame: Bounds) -> list[NearMatch]:
    """The labels and ids most like those of a selector, the nearest first; none that is too different."""
    labels = [value for name in _LABEL_FIELDS if (value := _value(matcher, name))]
    ids = [value for name in ("resourceId", "shortId") if (value := _value(matcher, name))]
    ranked: dict[NearMatch, float] = {}
    for node in visible_nodes(hierarchy, frame):
        for match, rank in _ranks(node, labels, ids):
            ranked[match] = min(rank, ranked.get(match, rank))
    return sorted(ranked, key=lambda match: ranked[match])[:MAX_NEAREST]


def _value(matcher: NodeMatcher, name: str) -> str:
    value = getattr(matcher, name, UNSET)
    return value if isinstance(value, str) and not is_blank(value) else ""


def _ranks(node: Node, labels: list[str], ids: list[str]) -> Iterator[tuple[NearMatch, float]]:
    label = node.label
    if labels and label and len(label) <= _MAX_LENGTH and not has_password(node):
        for wanted in labels:
            if (rank := _rank(wanted, label)) is not None:
                yield NearMatch(label, "textEquals"), rank
    if ids and node.resource_id:
        for wanted in ids:
            if (rank := _rank(wanted.rpartition(_ID)[2], node.resource_id.rpartition(_ID)[2])) is not None:
                yield NearMatch(node.resource_id, "resourceId"), rank


def _rank(wanted: str, found: str) -> float | None:
    """How different two names are: case, then a part of the other, then edits. None when too different."""
    a, b = wanted[:_MAX_LENGTH].casefold().strip(), found.casefold().strip()
    if a == b:
        return 0
    shorter, longer = sorted((a, b), key=len)
    if len(shorter) >= _MIN_PART and shorter in longer:
        return 1 + len(longer) / 1_000
    most = max(2, len(a) // 3) if len(a) >= _MIN_PART else 1
    if abs(len(a) - len(b)) > most:
        return None
    edits = distance(a, b)
    return 1 + edits if edits <= most else None
