"""The alignment of a run with its baseline: every kind of row, at any size, for any input."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.contract.skill_result import Checkpoint
from clawperator.recording.compare.alignment import Rejoined, align, summarize_alignment

PATH = ["a", "b", "c", "d"]


def run(*names: str) -> list[Checkpoint]:
    """Checkpoints; one that ends in ``!`` failed."""
    return [Checkpoint(name.rstrip("!"), "failed" if name.endswith("!") else "ok") for name in names]


def relations(*names: str) -> list[str]:
    return [f"{row.relation} {row.checkpoint}" for row in align(PATH, run(*names))]


@pytest.mark.parametrize(
    ("names", "rows"),
    [
        ("abcd", ["matched a", "matched b", "matched c", "matched d"]),
        ("acd", ["matched a", "missing b", "matched c", "matched d"]),
        ("abxcd", ["matched a", "matched b", "extra x", "matched c", "matched d"]),
        ("acbd", ["matched a", "out_of_order c", "matched b", "matched d"]),
        ("axcd", ["matched a", "missing b", "extra x", "matched c", "matched d"]),
        ("", ["missing a", "missing b", "missing c", "missing d"]),
        ("aabcd", ["matched a", "extra a", "matched b", "matched c", "matched d"]),
        ("xyz", ["missing a", "missing b", "missing c", "missing d", "extra x", "extra y", "extra z"]),
    ],
)
def test_each_difference_has_its_row(names: str, rows: list[str]) -> None:
    assert relations(*names) == rows


def test_a_checkpoint_that_failed_has_the_wrong_status() -> None:
    assert relations("a", "b!", "c", "d") == ["matched a", "wrong_status b", "matched c", "matched d"]
    row = list(align(PATH, run("a", "b!")))[1]
    assert (row.baselineIndex, row.actualIndex, row.actualStatus) == (1, 1, "failed")


def test_the_success_after_a_failure_is_the_one_that_matches() -> None:
    assert relations("a", "b!", "b", "c", "d") == ["matched a", "extra b", "matched b", "matched c", "matched d"]


def test_the_return_to_the_path_is_reported() -> None:
    assert summarize_alignment(align(PATH, run("a", "x", "y", "c", "d"))).rejoined == Rejoined("c", 2, 3)
    assert summarize_alignment(align(PATH, run(*PATH))).rejoined is None
    assert summarize_alignment(align(PATH, run("a", "b"))).rejoined is None


names = st.lists(st.sampled_from(["a", "b", "c", "d", "e", "f", "x", "y"]), max_size=12)


@pytest.mark.random
@given(names.map(lambda n: list(dict.fromkeys(n))), names, st.data())
def test_every_checkpoint_is_listed_exactly_once(path: list[str], taken: list[str], data: st.DataObject) -> None:
    actual = [Checkpoint(n, data.draw(st.sampled_from(["ok", "failed", "skipped"]))) for n in taken]
    rows = list(align(path, actual))
    assert [row.actualIndex for row in rows if row.relation != "missing"] == list(range(len(actual)))
    assert sorted(row.baselineIndex for row in rows if isinstance(row.baselineIndex, int)) == list(
        range(len(path))
    )
    on_path = [row for row in rows if row.relation in ("matched", "wrong_status")]
    places = [row.baselineIndex for row in on_path if isinstance(row.baselineIndex, int)]
    assert places == sorted(set(places))
    assert all((row.relation == "matched") == (row.actualStatus == "ok") for row in on_path)
    same = [c.id for c in actual] == path and all(c.status == "ok" for c in actual)
    assert same == all(row.relation == "matched" for row in rows)


@pytest.mark.random
@given(st.permutations(range(9)))
def test_the_path_in_common_is_the_longest_there_is(order: list[int]) -> None:
    rows = list(align([str(n) for n in range(9)], run(*map(str, order))))
    best = [0] * len(order)  # the textbook way, quadratic
    for i, n in enumerate(order):
        best[i] = 1 + max((best[j] for j in range(i) if order[j] < n), default=0)
    assert sum(row.relation == "matched" for row in rows) == max(best)


@pytest.mark.parametrize("statuses", ["ok", "ok failed"])
def test_the_worst_case_does_not_grow_with_the_square(statuses: str) -> None:
    def seconds(count: int) -> float:
        ids = [str(n) for n in range(count)]
        kinds = statuses.split()
        actual = [Checkpoint(name, kinds[i % len(kinds)]) for i, name in enumerate(reversed(ids))]  # type: ignore[arg-type]
        began = time.thread_time()
        assert summarize_alignment(align(ids, actual)).count == count
        return time.thread_time() - began

    small = min(seconds(1_000) for _ in range(5))
    assert (
        min(seconds(40_000) for _ in range(3)) < 400 * small
    )  # forty times as many; the square would be 1600 times
