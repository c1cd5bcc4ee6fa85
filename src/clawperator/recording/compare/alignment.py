"""Aligning the checkpoints of a run with its baseline: matched, missing, extra, out of order, wrong status.

The ids of a baseline are unique, so each checkpoint of a run has at most one partner, and the common path is the
longest increasing subsequence of partners. That takes O(n log n) time for any input.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from clawperator.contract import Checkpoint

# All checkpoints are aligned; a report lists this many rows and counts the others.
MAX_LISTED = 5_000

Relation = Literal["matched", "missing", "extra", "out_of_order", "wrong_status"]


class AlignmentRow(Struct, frozen=True, kw_only=True, gc=False):
    """One row. A missing checkpoint has no index in the run, an extra one none in the baseline."""

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


def align(expected: Sequence[str], actual: Sequence[Checkpoint]) -> list[AlignmentRow]:
    """Both paths in one list. ``expected`` are unique ids.

    Proved checkpoints make the path: of one that failed and was then repeated with success, the second counts. The
    others are placed between the proved ones.
    """
    index = {name: i for i, name in enumerate(expected)}
    pairs = _partners(index, actual)
    rows: list[AlignmentRow] = []
    i = j = 0
    # A checkpoint out of order is listed where the run has it, and not as missing where the baseline has it.
    partners = {p for p, _ in pairs}
    elsewhere = {name for c in actual if (name := c.id) in index and index[name] not in partners}
    listed = set[str]()
    for p, q in [*pairs, (len(expected), len(actual))]:
        rows.extend(
            AlignmentRow(relation="missing", checkpoint=expected[k], baselineIndex=k)
            for k in range(i, p)
            if expected[k] not in elsewhere
        )
        for k in range(j, q):
            name = actual[k].id
            moved = name in elsewhere and name not in listed
            listed.add(name)
            rows.append(
                _row("out_of_order" if moved else "extra", index.get(name) if moved else None, k, actual[k])
            )
        if q < len(actual):
            rows.append(_row("matched" if actual[q].status == "ok" else "wrong_status", p, q, actual[q]))
        i, j = p + 1, q + 1
    return rows


def find_rejoin(rows: Sequence[AlignmentRow]) -> Rejoined | None:
    """Where the run returned to the path after it first left it."""
    diverged = False
    for row in rows:
        if row.relation != "matched":
            diverged = True
        elif diverged and row.baselineIndex is not UNSET and row.actualIndex is not UNSET:
            return Rejoined(row.checkpoint, row.baselineIndex, row.actualIndex)
    return None


def _row(relation: Relation, baseline: int | None, index: int, got: Checkpoint) -> AlignmentRow:
    return AlignmentRow(
        relation=relation,
        checkpoint=got.id,
        baselineIndex=UNSET if baseline is None else baseline,
        actualIndex=index,
        actualStatus=got.status,
        note=got.note or UNSET,
    )


def _partners(index: Mapping[str, int], actual: Sequence[Checkpoint]) -> list[tuple[int, int]]:
    """The indexes in baseline and run of the checkpoints on the common path."""
    common = 0  # the common beginning: so the first row that is not matched is where the run left the path
    for checkpoint in actual:
        if index.get(checkpoint.id) != common or checkpoint.status != "ok":
            break
        common += 1
    proved: list[tuple[int, int]] = []
    others: list[tuple[int, int]] = []
    for q in range(common, len(actual)):
        p = index.get(actual[q].id, -1)
        if p >= common:
            (proved if actual[q].status == "ok" else others).append((p, q))
    path = [(n, n) for n in range(common)] + _longest_increasing(proved)
    if not others:
        return path
    pending = iter([*others, (len(index), len(actual))])
    other = next(pending)
    result: list[tuple[int, int]] = []
    before = -1
    for p, q in [*path, (len(index), len(actual))]:
        between: list[tuple[int, int]] = []
        while other[1] < q:
            if before < other[0] < p:
                between.append(other)
            other = next(pending)
        result += _longest_increasing(between)
        if q < len(actual):
            result.append((p, q))
        before = p
    return result


def _longest_increasing(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest subsequence whose first members strictly increase."""
    tails: list[int] = []  # the smallest value at which a path of this length can end
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
