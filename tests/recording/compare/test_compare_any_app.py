"""compare for any app: derived and declared checkpoints, the right verdict and the right step for every change."""

import io
import json
import tracemalloc
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from clawperator.recording.compare import compare as compare_module
from clawperator.recording.compare.alignment import MAX_LISTED
from clawperator.recording.compare.checkpoints import Declaration, derive_checkpoints, read_declaration
from clawperator.recording.compare.compare import CompareReport, compare
from clawperator.recording.compare.inputs import read_baseline
from clawperator.recording.export import Export, export_recording
from tests.recording.demonstrations import (
    LAUNCHER,
    NOTES,
    REAL,
    activity,
    demonstrations,
    dialog,
    entered,
    exported,
    ok_run,
    real,
    tapped,
)
from tests.recording.samples import click, window, write
from tests.support.running import clawperator
from tests.support.schema_checks import assert_fits_schema

FLOW = [
    tapped("Notes", LAUNCHER),
    activity("List"),
    tapped("Add note"),
    activity("Edit"),
    entered("Milk", "a:id/title"),
    tapped("Save"),
    dialog("Saved"),
    tapped("OK"),
    activity("List"),
]
IDS = ["opened:com.example.notes", "clicked:add-note", "typed:title", "clicked:save", "dialog:saved", "clicked:ok"]
EXPORT = exported(FLOW)
AGENT = {"source": {"kind": "agent", "agentCli": "codex"}}
RULES = {
    "checkpoints": [
        {"id": "opened", "type": "window_change", "package": NOTES},
        {"id": "named", "type": "text_change", "pick": "last"},
        {"id": "saved", "type": "click", "text": "save", "after": "named"},
    ]
}


def derived(run: Any, mode: Any = "auto", export: Export = EXPORT) -> CompareReport:
    return compare(export, run, mode, strategy="derived")


def without(ids: list[str], at: int) -> list[str]:
    return ids[:at] + ids[at + 1 :]


def swapped(ids: list[str], at: int) -> list[str]:
    return [*ids[:at], ids[at + 1], ids[at], *ids[at + 2 :]]


def check_every_mutation(export: Export, at: int) -> None:
    """A faithful run matches. With the step at ``at`` changed the verdict is the right one and names it."""
    ids = [c.id for c in derive_checkpoints(export)]
    faithful = derived(ok_run(ids), export=export)
    assert (faithful.outcome, faithful.pathMatches) == ("literal_match", True)
    assert all(row.relation == "matched" for row in faithful.alignment or ())
    assert derived(ok_run(ids, **AGENT), export=export).outcome == "semantic_match"

    step = ids[at]
    changes: list[tuple[str, Any]] = [
        ("missing", ok_run(without(ids, at))),
        ("wrong_status", ok_run(ids, statuses={step: "failed"})),
        ("wrong_status", ok_run(ids, statuses={step: "skipped"})),
    ]
    if at + 1 < len(ids):
        changes.append(("out_of_order", ok_run(swapped(ids, at))))
    for relation, run in changes:
        report = derived(run, export=export)
        assert (report.outcome, report.is_match) == ("baseline_drift", False)
        assert report.firstDivergence
        assert (report.firstDivergence.index, report.firstDivergence.baselineCheckpoint) == (at, step)
        assert report.alignment
        first = next(row for row in report.alignment if row.relation != "matched")
        assert first.relation == relation
        assert first.checkpoint == (ids[at + 1] if relation == "out_of_order" else step)
        assert report.reason
        assert first.checkpoint in report.reason
        assert report.baselineCoverage.covered == len(ids) - (relation in ("missing", "wrong_status"))

    extra = derived(ok_run([*ids[:at], "detour", *ids[at:]]), export=export)
    assert extra.outcome == "baseline_drift"
    assert extra.rejoinedAt
    assert (extra.rejoinedAt.checkpoint, extra.rejoinedAt.baselineIndex, extra.rejoinedAt.actualIndex) == (
        step,
        at,
        at + 1,
    )

    stopped = derived(ok_run(ids[:at], status="failed"), export=export)
    assert stopped.outcome == "upstream_failure"
    assert stopped.firstDivergence
    assert stopped.firstDivergence.actualCheckpoint == "failed_before_expected_checkpoint"
    for verification, outcome in (("failed", "verification_failed"), ("not_run", "verification_indeterminate")):
        run = ok_run(ids, terminalVerification={"status": verification, "note": "who knows"})
        report = derived(run, export=export)
        assert report.outcome == outcome
        assert "who knows" in str(report.reason)
    assert derived(ok_run(ids, terminalVerification=None), export=export).outcome == "verification_indeterminate"
    assert derived(ok_run(ids, status="indeterminate"), export=export).outcome == "verification_indeterminate"


@pytest.mark.parametrize("at", range(len(IDS)))
def test_every_change_of_a_run_gets_its_verdict(at: int) -> None:
    assert [c.id for c in derive_checkpoints(EXPORT)] == IDS
    check_every_mutation(EXPORT, at)


@pytest.mark.skipif(not REAL, reason="the real exports are not here")
@pytest.mark.parametrize("path", REAL, ids=lambda p: p.name)
def test_every_change_of_a_run_of_a_real_demonstration_gets_its_verdict(path: Path) -> None:
    export = real(path)
    for at in range(len(derive_checkpoints(export))):
        check_every_mutation(export, at)
    assert compare(export, export).outcome == "normalization_insufficient" or "solar" in path.name
    again = compare(export, export, strategy="derived")
    assert (again.outcome, again.actual.sourceKind) == ("literal_match", "recording")


@pytest.mark.random
@given(demonstrations, st.data())
def test_every_change_of_a_run_of_any_demonstration_gets_its_verdict(
    flow: list[dict[str, Any]], data: st.DataObject
) -> None:
    export = exported(flow)
    check_every_mutation(export, data.draw(st.integers(0, len(derive_checkpoints(export)) - 1)))


@pytest.mark.random
@given(demonstrations, st.data())
def test_only_a_recording_of_the_same_steps_matches(flow: list[dict[str, Any]], data: st.DataObject) -> None:
    shown = exported(flow)
    assert compare(shown, exported(flow, "again"), strategy="derived").outcome == "literal_match"
    at = data.draw(st.integers(0, len(flow) - 1))
    other = exported(without(flow, at))  # type: ignore[arg-type]
    ids = [[c.id for c in derive_checkpoints(export)] for export in (shown, other)]
    assume(ids[0] != ids[1])
    report = compare(shown, other, strategy="derived")
    assert not report.is_match
    assert report.firstDivergence


@pytest.mark.parametrize(
    ("flow", "outcome", "reason"),
    [
        (FLOW, "literal_match", "the end state is verified"),
        (without(FLOW, 2), "baseline_drift", "clicked:add-note, is missing"),  # type: ignore[arg-type]
        ([*FLOW[:-1], activity("Error")], "verification_failed", "the recording on"),
        (
            [*FLOW[:4], entered("Bread", "a:id/title"), *FLOW[5:]],
            "verification_failed",
            "another text was entered at typed:title",
        ),
        ([*FLOW, window(0, LAUNCHER, className="a.Launcher", title="Home")], "literal_match", "verified"),
        ([*FLOW[:2], dialog("Rate us"), *FLOW[2:]], "baseline_drift", "dialog:rate-us is not in the baseline"),
    ],
)
def test_a_second_recording_is_compared_with_the_first(flow: Any, outcome: str, reason: str) -> None:
    report = derived(exported(flow, "again"))
    assert (report.outcome, report.actual.skillId, report.actual.sourceKind) == (outcome, "again", "recording")
    assert reason in str(report.reason)


def test_an_unproved_run_is_not_a_match() -> None:
    hidden = exported([*FLOW[:4], entered("••••", "a:id/title"), *FLOW[5:]])
    report = compare(hidden, hidden, strategy="derived")
    assert report.outcome == "verification_indeterminate"
    assert "is masked" in str(report.reason)
    blind = exported([tapped("Add"), tapped("Save")])
    assert compare(blind, blind, strategy="derived").outcome == "verification_indeterminate"
    nothing = exported([])
    report = compare(nothing, nothing, strategy="derived")
    assert (report.outcome, report.alignment) == ("normalization_insufficient", [])
    assert "opens no app" in str(report.reason)


def test_an_agent_must_prove_half_of_the_path() -> None:
    outcomes = {n: derived(ok_run(IDS[:n], **AGENT)).outcome for n in (0, 1, 2, 3, 5)}
    assert outcomes == {
        0: "baseline_uncovered",
        1: "baseline_weakly_covered",
        2: "baseline_weakly_covered",
        3: "outcome_matches_path_differs",
        5: "outcome_matches_path_differs",
    }
    failed = derived(ok_run(IDS, statuses=dict.fromkeys(IDS[2:], "failed"), **AGENT))
    assert (failed.outcome, failed.baselineCoverage.covered) == ("baseline_weakly_covered", 2)
    assert "2 of 6 checkpoints are proved, 3 are needed" in str(failed.reason)


@pytest.mark.parametrize("run", [ok_run(IDS), ok_run(IDS[2:]), ok_run([]), EXPORT, ok_run(IDS, status="failed")])
def test_the_report_fits_its_schema(run: Any) -> None:
    assert_fits_schema("compare-report", msgspec.to_builtins(derived(run)))


def test_snapshots_change_no_verdict() -> None:
    for run in (ok_run(IDS), ok_run(IDS[1:]), EXPORT):
        assert derived(run) == derived(run, export=exported(FLOW, snapshots=True))


def declaration(rules: Any = RULES) -> Declaration:
    return read_declaration(json.dumps(rules).encode())


def test_declared_checkpoints_are_the_path() -> None:
    report = compare(EXPORT, ok_run(["opened", "named", "saved"]), declaration=declaration())
    assert (report.outcome, report.normalizationStrategy) == ("literal_match", "declared")
    assert report.baseline.checkpointIds == ["opened", "named", "saved"]
    report = compare(EXPORT, ok_run(["opened", "saved", "named"]), declaration=declaration())
    assert report.outcome == "baseline_drift"
    assert "out of order" in str(report.reason)
    assert compare(EXPORT, EXPORT, declaration=declaration()).outcome == "literal_match"
    report = compare(EXPORT, exported(FLOW[:4]), declaration=declaration())
    assert [row.relation for row in report.alignment or ()] == ["matched", "missing", "missing"]


def test_a_declaration_that_does_not_fit_the_demonstration_is_insufficient() -> None:
    wrong = {"checkpoints": [*RULES["checkpoints"], {"id": "sent", "type": "click", "text": "send"}]}
    report = compare(EXPORT, ok_run(["opened", "named", "saved"]), declaration=declaration(wrong))
    assert (report.outcome, report.reason) == ("normalization_insufficient", "no event matches sent")


def test_a_long_alignment_is_listed_in_part_and_counted() -> None:
    many = exported([activity("List"), *(tapped(f"Item {n}") for n in range(MAX_LISTED + 9))])
    report = compare(many, ok_run([]), strategy="derived")
    assert len(report.alignment or ()) == MAX_LISTED
    assert report.alignmentOmitted == 10


# By the command.


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    references = tmp_path / "references"
    references.mkdir()
    (references / "compare-baseline.export.json").write_bytes(msgspec.json.encode(EXPORT))
    run = msgspec.to_builtins(ok_run(["opened", "named", "saved"]))
    (tmp_path / "run.json").write_text(json.dumps({"skillResult": run}))
    return tmp_path


def compared(folder: Path, *more: str, result: str = "run.json", code: int = 0) -> Any:
    base = folder / "references" / "compare-baseline.export.json"
    ran = clawperator("recording", "compare", "--baseline", str(base), "--result", str(folder / result), *more)
    assert ran.code == code
    return ran.json


def test_without_a_declaration_the_contract_stays_as_it_was(folder: Path) -> None:
    report = compared(folder, code=1)
    assert (report["outcome"], report["normalizationStrategy"]) == (
        "normalization_insufficient",
        "solax_heuristic",
    )
    assert list(report)[-3:] == ["minimumSemanticCoverage", "reason", "hint"]
    assert report == compared(folder, "--strategy", "solax_heuristic", code=1)


def test_a_declaration_beside_the_baseline_is_found(folder: Path) -> None:
    (folder / "references" / "compare-checkpoints.json").write_text(json.dumps(RULES))
    assert compared(folder)["normalizationStrategy"] == "declared"
    assert compared(folder, "--strategy", "derived", code=1)["normalizationStrategy"] == "derived"
    assert compared(folder, "--strategy", "solax_heuristic", code=1)["normalizationStrategy"] == "solax_heuristic"


def test_a_declaration_can_be_named(folder: Path) -> None:
    (folder / "rules.json").write_text(json.dumps(RULES))
    assert compared(folder, "--checkpoints", str(folder / "rules.json"))["outcome"] == "literal_match"


def test_two_exports_are_compared_by_derived_checkpoints(folder: Path) -> None:
    report = compared(folder, result="references/compare-baseline.export.json")
    assert (report["outcome"], report["normalizationStrategy"]) == ("literal_match", "derived")


def test_a_broken_second_export_is_refused(folder: Path) -> None:
    (folder / "b.export.json").write_text('{"exportVersion": 2}')
    assert compared(folder, result="b.export.json", code=1)["code"] == "RECORDING_COMPARE_FAILED"


@pytest.mark.parametrize("argv", [("--strategy", "magic"), ("--strategy", "derived", "--checkpoints", "x.json")])
def test_flags_that_make_no_sense_are_usage_errors(folder: Path, argv: tuple[str, ...]) -> None:
    assert compared(folder, *argv, code=1)["code"] == "USAGE"


@pytest.mark.parametrize("count", [0, 1, 3])
@pytest.mark.parametrize("pretty", [False, True])
def test_a_report_is_written_in_pieces_as_in_one(
    count: int, monkeypatch: pytest.MonkeyPatch, *, pretty: bool
) -> None:
    monkeypatch.setattr(compare_module, "_IDS_AT_ONCE", 2)
    report = derived(exported(FLOW, "again"))
    facts = replace(report.baseline, checkpointIds=[f'"{i}"\n' for i in range(count)])
    report = replace(report, baseline=facts)
    whole = msgspec.json.encode(report)
    out = io.BytesIO()
    report.write_to(out, pretty=pretty)
    assert out.getvalue() == (msgspec.json.format(whole, indent=2) if pretty else whole)


def test_a_comparison_keeps_little_more_than_the_ids(tmp_path: Path) -> None:
    count = 20_000
    source = write(tmp_path / "a.ndjson", (click(i, f"Item {i} of the list") for i in range(count)))
    export_recording(str(source), str(tmp_path / "a.json"))
    export = read_baseline(str(tmp_path / "a.json"))
    tracemalloc.start()
    try:
        report = compare(export, export, strategy="derived")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(report.baseline.checkpointIds) == count
    assert peak < 400 * count  # an id, and the table in which it is looked up while ids are given
