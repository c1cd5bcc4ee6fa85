"""Missing sequence numbers are reported by every command that reads a recording."""

import json
from pathlib import Path
from typing import Any

import pytest

from clawperator.recording.gaps import SeqGaps
from tests.recording.samples import back, click, window, write
from tests.support.running import clawperator

HOLE = [window(0), click(4), click(5)]
MISSING = "3 events are missing: seq 1-3"


@pytest.mark.parametrize(
    ("numbers", "warning"),
    [
        ([0, 1, 2], None),
        ([], None),
        ([0, 1, 1, 2], None),
        ([-3, 0], None),
        ([0, 0.5, 1], None),
        ([0, 2], "1 event is missing: seq 1"),
        ([3], "3 events are missing: seq 0-2"),
        ([0, 4, 6], "4 events are missing: seq 1-3, 5"),
        ([0, 2.5], "2 events are missing: seq 1-2"),
        (
            list(range(0, 26, 2)),
            "12 events are missing: seq 1, 3, 5, 7, 9, 11, 13, 15, 17, 19 and 2 more ranges",
        ),
    ],
)
def test_the_missing_numbers_are_counted_and_listed(numbers: list[float], warning: str | None) -> None:
    gaps = SeqGaps()
    for number in numbers:
        gaps.add(number)
    assert gaps.warnings() == ([warning] if warning else [])


@pytest.mark.parametrize("events", [HOLE, HOLE[::-1]], ids=["in order", "out of order"])
@pytest.mark.parametrize("command", ["parse", "export", "describe"])
def test_a_hole_is_a_warning_of_the_document(tmp_path: Path, command: str, events: list[dict[str, Any]]) -> None:
    source = write(tmp_path / "a.ndjson", events)
    ran = clawperator("recording", command, "--input", str(source))
    assert (ran.code, ran.json["warnings"]) == (0, [MISSING])
    if command == "parse":
        assert json.loads((tmp_path / "a.steps.json").read_text())["_warnings"] == [MISSING]


@pytest.mark.parametrize("command", ["parse", "export", "describe"])
def test_a_whole_recording_has_no_warning(tmp_path: Path, command: str) -> None:
    source = write(tmp_path / "a.ndjson", [window(0), click(1), back(2)])
    assert "warnings" not in clawperator("recording", command, "--input", str(source)).json


def test_an_export_with_a_hole_is_described_with_a_warning(tmp_path: Path) -> None:
    source = write(tmp_path / "a.ndjson", HOLE)
    clawperator("recording", "export", "--input", str(source))
    ran = clawperator("recording", "describe", "--input", str(tmp_path / "a.export.json"))
    assert ran.json["warnings"] == [MISSING]


def test_a_comparison_reports_which_side_has_a_hole(tmp_path: Path) -> None:
    for name, events in (("hole", HOLE), ("whole", [window(0), click(1), click(2)])):
        clawperator("recording", "export", "--input", str(write(tmp_path / f"{name}.ndjson", events)))
    hole, whole = str(tmp_path / "hole.export.json"), str(tmp_path / "whole.export.json")

    def warnings(baseline: str, result: str) -> Any:
        ran = clawperator("recording", "compare", "--baseline", baseline, "--result", result)
        assert ran.json["outcome"] == "literal_match"
        return ran.json.get("warnings")

    assert warnings(hole, whole) == ["3 events are missing from the baseline: seq 1-3"]
    assert warnings(whole, hole) == ["3 events are missing from the result: seq 1-3"]
    assert warnings(whole, whole) is None


def test_a_replay_plan_reports_a_hole(tmp_path: Path) -> None:
    source = write(tmp_path / "a.ndjson", HOLE)
    ran = clawperator("recording", "replay", "--input", str(source), "--dry-run")
    assert MISSING in ran.json["warnings"]
