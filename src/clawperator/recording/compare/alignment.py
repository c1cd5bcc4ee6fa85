"""Aligning the checkpoints of a run with its baseline: matched, missing, extra, out of order, wrong status.

The ids of a baseline are unique, so each checkpoint of a run has at most one partner, and the common path is the
longest increasing subsequence of partners. That takes O(n log n) time for any input.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from clawperator.contract.skill_result import Checkpoint

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


class Alignment(Struct, frozen=True):
    """Both paths in one list: its first rows, and what a report needs of the others."""

    rows: list[AlignmentRow]
    count: int
    first_difference: AlignmentRow | None
    rejoined: Rejoined | None


def summarize_alignment(rows: Iterable[AlignmentRow]) -> Alignment:
    """Read the rows once, and keep those that a report lists."""
    listed: list[AlignmentRow] = []
    count = 0
    first: AlignmentRow | None = None
    rejoined: Rejoined | None = None
    for row in rows:
        count += 1
        if len(listed) < MAX_LISTED:
            listed.append(row)
        if row.relation != "matched":
            first = first or row
        elif first is not None and rejoined is None:
            rejoined = _rejoined(row)
    return Alignment(listed, count, first, rejoined)


def align(expected: Sequence[str], actual: Sequence[Checkpoint]) -> Iterator[AlignmentRow]:
    """Both paths in one list. ``expected`` are unique ids.

    Proved checkpoints make the path: of one that failed and was then repeated with success, the second counts. The
    others are placed between the proved ones.
    """
    common = common_start(expected, actual)
    for k in range(common):
        yield _row("matched", k, k, actual[k])
    if common < max(len(expected), len(actual)):
        yield from _align_rest(expected, actual, common)


def _align_rest(expected: Sequence[str], actual: Sequence[Checkpoint], common: int) -> Iterator[AlignmentRow]:
    # Of a million ids, most may be in one path only.
    named = {actual[k].id for k in range(common, len(actual))}
    index = {expected[i]: i for i in range(common, len(expected)) if expected[i] in named}
    del named
    pairs = _partners(index, actual, common, len(expected))
    # A checkpoint out of order is listed where the run has it, and not as missing where the baseline has it.
    elsewhere = bytearray(len(expected))
    for k in range(common, len(actual)):
        if (p := index.get(actual[k].id)) is not None:
            elsewhere[p] = 1
    for p, _ in pairs:
        elsewhere[p] = 0
    moved = bytearray(elsewhere)  # of these, the ones that are not listed yet
    i = j = common
    for p, q in chain(pairs, [(len(expected), len(actual))]):
        for k in range(i, p):
            if not elsewhere[k]:
                yield AlignmentRow(relation="missing", checkpoint=expected[k], baselineIndex=k)
        for k in range(j, q):
            place = index.get(actual[k].id)
            if place is None or not moved[place]:
                yield _row("extra", None, k, actual[k])
            else:
                moved[place] = 0
                yield _row("out_of_order", place, k, actual[k])
        if q < len(actual):
            yield _row("matched" if actual[q].status == "ok" else "wrong_status", p, q, actual[q])
        i, j = p + 1, q + 1


def _rejoined(row: AlignmentRow) -> Rejoined | None:
    if row.baselineIndex is UNSET or row.actualIndex is UNSET:
        return None
    return Rejoined(row.checkpoint, row.baselineIndex, row.actualIndex)


def _row(relation: Relation, baseline: int | None, index: int, got: Checkpoint) -> AlignmentRow:
    return AlignmentRow(
        relation=relation,
        checkpoint=got.id,
        baselineIndex=UNSET if baseline is None else baseline,
        actualIndex=index,
        actualStatus=got.status,
        note=got.note or UNSET,
    )


def common_start(expected: Sequence[str], actual: Sequence[Checkpoint]) -> int:
    """The length of the common beginning: so the first row that is not matched is where the run left the path."""
    common = 0
    for checkpoint in islice(actual, len(expected)):
        if checkpoint.id != expected[common] or checkpoint.status != "ok":
            break
        common += 1
    return common


class _Pairs:
    """Pairs of indexes, in baseline and run. There may be a million, so they are kept as numbers, not objects."""

    def __init__(self) -> None:
        self.first, self.second = array("q"), array("q")

    def __len__(self) -> int:
        return len(self.first)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return zip(self.first, self.second, strict=True)

    def append(self, p: int, q: int) -> None:
        self.first.append(p)
        self.second.append(q)

    def extend(self, more: "_Pairs") -> None:
        self.first.extend(more.first)
        self.second.extend(more.second)


def _partners(index: Mapping[str, int], actual: Sequence[Checkpoint], common: int, length: int) -> _Pairs:
    """The checkpoints on the common path, after the common beginning."""
    proved, others = _Pairs(), _Pairs()
    for q in range(common, len(actual)):
        checkpoint = actual[q]
        p = index.get(checkpoint.id)
        if p is not None:
            (proved if checkpoint.status == "ok" else others).append(p, q)
    path = _longest_increasing(proved)
    if not others:
        return path
    end = (length, len(actual))
    pending = chain(others, [end])
    other = next(pending)
    result = _Pairs()
    before = common - 1
    for p, q in chain(path, [end]):
        between = _Pairs()
        while other[1] < q:
            if before < other[0] < p:
                between.append(*other)
            other = next(pending)
        result.extend(_longest_increasing(between))
        if q < len(actual):
            result.append(p, q)
        before = p
    return result


def _longest_increasing(pairs: _Pairs) -> _Pairs:
    """The longest subsequence whose first members strictly increase."""
    tails = array("q")  # the smallest value at which a path of this length can end
    ends = array("q")  # and which pair that is
    before = array("q")
    for n, p in enumerate(pairs.first):
        at = bisect_left(tails, p)
        before.append(ends[at - 1] if at else -1)
        if at == len(tails):
            tails.append(p)
            ends.append(n)
        else:
            tails[at], ends[at] = p, n
    path = array("q")
    n = ends[-1] if ends else -1
    while n >= 0:
        path.append(n)
        n = before[n]
    found = _Pairs()
    for n in reversed(path):
        found.append(pairs.first[n], pairs.second[n])
    return found
