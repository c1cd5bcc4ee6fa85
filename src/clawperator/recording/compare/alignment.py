"""Laying a run beside its baseline: what matched, what is missing, what was added, what came at another time.

The ids of a baseline are all different, so each checkpoint of a run has at most one partner, and the longest
common path is the longest run of partners whose places only grow. That takes n log n steps, whatever the input.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from clawperator.contract.skill_result import Checkpoint

# All checkpoints are aligned; a report lists this many rows of it, and counts the others.
MAX_LISTED = 5_000

Relation = Literal["matched", "missing", "extra", "out_of_order", "wrong_status"]


class Aligned(Struct, frozen=True, kw_only=True, gc=False):
    """One row. What is missing has no place in the run, what is extra none in the baseline."""

    relation: Relation
    checkpoint: str
    baselineIndex: int | UnsetType = UNSET
    actualIndex: int | UnsetType = UNSET
    actualStatus: str | UnsetType = UNSET
    note: str | UnsetType = UNSET


class Rejoined(Struct, frozen=True):
    """The first checkpoint after the divergence at which the run was on the path again."""

    checkpoint: str
    baselineIndex: int
    actualIndex: int


def align(expected: Sequence[str], actual: Sequence[Checkpoint]) -> list[Aligned]:
    """Both paths in one list. ``expected`` are ids, all different.

    Proved checkpoints make the path: one that failed and was then repeated with success counts as the second,
    and only between proved ones do the others find their places.
    """
    place = {name: i for i, name in enumerate(expected)}
    pairs = _partners(place, actual)
    rows: list[Aligned] = []
    i = j = 0
    # What came at another time is told where the run has it, and not as missing where the baseline has it.
    partners = {p for p, _ in pairs}
    elsewhere = {name for c in actual if (name := c.id) in place and place[name] not in partners}
    told = set[str]()
    for p, q in [*pairs, (len(expected), len(actual))]:
        rows.extend(
            Aligned(relation="missing", checkpoint=expected[k], baselineIndex=k)
            for k in range(i, p)
            if expected[k] not in elsewhere
        )
        for k in range(j, q):
            name = actual[k].id
            moved = name in elsewhere and name not in told
            told.add(name)
            rows.append(
                _row("out_of_order" if moved else "extra", place.get(name) if moved else None, k, actual[k])
            )
        if q < len(actual):
            rows.append(_row("matched" if actual[q].status == "ok" else "wrong_status", p, q, actual[q]))
        i, j = p + 1, q + 1
    return rows


def rejoined(rows: Sequence[Aligned]) -> Rejoined | None:
    """Where the run came back to the path after it first left it."""
    left = False
    for row in rows:
        if row.relation != "matched":
            left = True
        elif left and row.baselineIndex is not UNSET and row.actualIndex is not UNSET:
            return Rejoined(row.checkpoint, row.baselineIndex, row.actualIndex)
    return None


def _row(relation: Relation, baseline: int | None, index: int, got: Checkpoint) -> Aligned:
    return Aligned(
        relation=relation,
        checkpoint=got.id,
        baselineIndex=UNSET if baseline is None else baseline,
        actualIndex=index,
        actualStatus=got.status,
        note=got.note or UNSET,
    )


def _partners(place: Mapping[str, int], actual: Sequence[Checkpoint]) -> list[tuple[int, int]]:
    """The places in baseline and run of the checkpoints on the common path."""
    together = 0  # both begin the same way: the first row that did not match is then where the run left the path
    for checkpoint in actual:
        if place.get(checkpoint.id) != together or checkpoint.status != "ok":
            break
        together += 1
    proved: list[tuple[int, int]] = []
    others: list[tuple[int, int]] = []
    for q in range(together, len(actual)):
        p = place.get(actual[q].id, -1)
        if p >= together:
            (proved if actual[q].status == "ok" else others).append((p, q))
    path = [(n, n) for n in range(together)] + _longest_growing(proved)
    if not others:
        return path
    waiting = iter([*others, (len(place), len(actual))])
    one = next(waiting)
    result: list[tuple[int, int]] = []
    before = -1
    for p, q in [*path, (len(place), len(actual))]:
        between: list[tuple[int, int]] = []
        while one[1] < q:
            if before < one[0] < p:
                between.append(one)
            one = next(waiting)
        result += _longest_growing(between)
        if q < len(actual):
            result.append((p, q))
        before = p
    return result


def _longest_growing(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest subsequence whose first members strictly grow."""
    tails: list[int] = []  # the smallest place at which a path of this length can end
    ends: list[int] = []  # and which pair that is
    before: list[int] = []
    for n, (p, _) in enumerate(pairs):
        at = bisect_left(tails, p)
        before.append(ends[at - 1] if at else -1)
        tails[at : at + 1] = [p]
        ends[at : at + 1] = [n]
    path = []
    n = ends[-1] if ends else -1
    while n >= 0:
        path.append(pairs[n])
        n = before[n]
    return path[::-1]
