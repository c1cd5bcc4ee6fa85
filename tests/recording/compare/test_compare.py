"""compare: all twelve outcomes, modes, coverage, the first divergence and the exit codes."""

import json
from pathlib import Path
from typing import Any

import pytest

from clawperator.recording.compare.compare import MATCHES, SUMMARIES, Outcome
from clawperator.recording.export import export_recording
from tests.recording.samples import HEADER, SOLAR, back, click, scroll, typed, window, write
from tests.support.paths import GOLDEN
from tests.support.running import Ran, clawperator
from tests.support.schema_checks import assert_fits_schema

FOUR = ["app_opened", "discharge_to_row_focused", "target_text_entered", "save_completed"]
FLOW = [
    click(0, "SolaX", "com.sec.android.app.launcher"),
    window(1, SOLAR),
    window(2, SOLAR),
    click(3, "Intelligence", SOLAR),
    scroll(4, SOLAR),
    click(5, "Discharge to ", SOLAR),
    click(6, "Discharge again", SOLAR),
    typed(7, "4", SOLAR),
    typed(8, "40", SOLAR),
    typed(9, " ", SOLAR),
    back(10),
    click(11, "Save", SOLAR),
    click(12, "Confirm", SOLAR),
]


def baseline(folder: Path, flow: list[Any] = FLOW, snapshots: Any = "omit") -> Path:
    source = write(folder / "flow.ndjson", flow)
    return Path(export_recording(str(source), snapshots=snapshots).outputFile)


def run_of(
    ids: list[str] = FOUR,
    *,
    kind: str = "agent",
    status: str = "success",
    verification: Any = "verified",
    statuses: dict[str, str] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """A saved ``skills run --json`` document."""
    points = [{"id": name, "status": (statuses or {}).get(name, "ok")} for name in ids]
    result = {
        "contractVersion": "1.0.0",
        "skillId": "com.solaxcloud.starter.set-discharge-to-limit-orchestrated",
        "source": {"kind": "agent", "agentCli": "codex"} if kind == "agent" else {"kind": "script"},
        "status": status,
        "checkpoints": [*points, {"id": "terminal_state_verified", "status": "ok"}],
        "terminalVerification": {"status": verification} if verification else None,
        **more,
    }
    return {"status": "success", "skillId": result["skillId"], "output": "...", "skillResult": result}


def compare(folder: Path, run: Any, *more: str, flow: list[Any] = FLOW) -> Ran:
    (folder / "run.json").write_text(json.dumps(run))
    argv = ("--baseline", str(baseline(folder, flow)), "--result", str(folder / "run.json"), *more)
    return clawperator("recording", "compare", *argv)


STATE: dict[str, Any] = {"diagnostics": {"runtimeState": "healthy", "anything": [1]}}


@pytest.mark.parametrize(
    ("outcome", "run", "mode"),
    [
        ("literal_match", run_of(kind="script"), "auto"),
        ("literal_match", run_of(), "literal"),
        ("semantic_match", run_of(), "auto"),
        ("semantic_match", run_of(kind="script"), "semantic"),
        ("outcome_matches_path_differs", run_of(["app_opened", "detour", *FOUR[1:]]), "auto"),
        ("outcome_matches_path_differs", run_of([*FOUR, "extra"]), "auto"),
        ("outcome_matches_path_differs", run_of(FOUR[:2]), "auto"),
        ("baseline_drift", run_of(["app_opened", "detour", *FOUR[1:]], kind="script"), "auto"),
        ("baseline_drift", run_of(FOUR[:3], verification="failed"), "auto"),
        ("baseline_drift", run_of(FOUR[:3], verification=None), "semantic"),
        ("baseline_drift", run_of(statuses={"save_completed": "skipped"}), "literal"),
        ("verification_failed", run_of(verification="failed"), "auto"),
        ("verification_failed", run_of(kind="script", verification="failed"), "auto"),
        ("verification_indeterminate", run_of(verification="not_run"), "auto"),
        ("verification_indeterminate", run_of(verification=None, status="indeterminate"), "auto"),
        ("upstream_failure", run_of(FOUR[:1], status="failed"), "auto"),
        ("upstream_failure", run_of(status="failed", **STATE), "auto"),
        ("runtime_poisoned", run_of(status="failed", diagnostics={"runtimeState": "poisoned"}), "auto"),
        ("runtime_unavailable", run_of([], status="failed", diagnostics={"runtimeState": "unavailable"}), "auto"),
        ("baseline_uncovered", run_of(["a", "b"]), "auto"),
        ("baseline_weakly_covered", run_of(["save_completed"]), "auto"),
    ],
)
def test_each_outcome_is_reached_and_has_its_exit_code(
    tmp_path: Path, outcome: Outcome, run: Any, mode: str
) -> None:
    ran = compare(tmp_path, run, "--mode", mode)
    report = ran.json
    assert report["outcome"] == outcome
    assert report["summary"] == SUMMARIES[outcome]
    assert ran.code == (0 if outcome in MATCHES else 1)
    assert report["normalizationStrategy"] == "solax_heuristic"
    assert report["minimumSemanticCoverage"] == 2
    assert report["pathMatches"] == ("firstDivergence" not in report)
    assert_fits_schema("compare-report", report)


def test_every_outcome_has_a_summary_and_three_are_matches() -> None:
    assert len(SUMMARIES) == 12
    assert set(MATCHES) < set(SUMMARIES)


def test_the_report_is_the_documented_one(tmp_path: Path) -> None:
    ran = compare(tmp_path, run_of(["app_opened", "device_discharging_card_opened", *FOUR[1:]], **STATE))
    golden = GOLDEN / "compare-report.json"
    assert json.dumps(ran.json, indent=2) + "\n" == golden.read_text()


@pytest.mark.parametrize(
    ("ids", "status", "statuses", "expected"),
    [
        (
            FOUR[:2],
            "success",
            {},
            {
                "index": 2,
                "baselineCheckpoint": "target_text_entered",
                "actualCheckpoint": "missing_expected_checkpoint",
                "baselineStatus": "ok",
                "actualStatus": None,
                "baselineSummary": "text_change:com.solaxcloud.starter:seq-8",
            },
        ),
        (
            FOUR[:1],
            "failed",
            {},
            {
                "index": 1,
                "baselineCheckpoint": "discharge_to_row_focused",
                "actualCheckpoint": "failed_before_expected_checkpoint",
                "baselineStatus": "ok",
                "actualStatus": None,
                "baselineSummary": "click:com.solaxcloud.starter:discharge to",
            },
        ),
        (
            [*FOUR, "more"],
            "success",
            {},
            {
                "index": 4,
                "baselineCheckpoint": "unexpected_extra_checkpoint",
                "actualCheckpoint": "more",
                "baselineStatus": None,
                "actualStatus": "ok",
            },
        ),
        (
            FOUR,
            "success",
            {"app_opened": "failed"},
            {
                "index": 0,
                "baselineCheckpoint": "app_opened",
                "actualCheckpoint": "app_opened",
                "baselineStatus": "ok",
                "actualStatus": "failed",
                "baselineSummary": "window_change:com.solaxcloud.starter",
            },
        ),
    ],
)
def test_the_first_divergence_is_reported(
    tmp_path: Path, ids: list[str], status: str, statuses: dict[str, str], expected: Any
) -> None:
    report = compare(tmp_path, run_of(ids, status=status, statuses=statuses)).json
    assert report["firstDivergence"] == expected


def test_a_note_of_the_run_is_kept_in_the_divergence(tmp_path: Path) -> None:
    run = run_of()
    run["skillResult"]["checkpoints"][0] |= {"status": "failed", "note": "no window"}
    assert compare(tmp_path, run).json["firstDivergence"]["actualNote"] == "no window"


@pytest.mark.parametrize(
    "lost", [lambda e: e["type"] != "window_change", lambda e: e["type"] != "text_change", lambda e: e["seq"] < 11]
)
def test_a_baseline_without_its_four_checkpoints_is_insufficient(tmp_path: Path, lost: Any) -> None:
    ran = compare(tmp_path, run_of(), flow=[e for e in FLOW if lost(e)])
    assert (ran.code, ran.json["outcome"]) == (1, "normalization_insufficient")
    assert ran.json["pathMatches"] is False
    assert "firstDivergence" not in ran.json
    assert ran.json["baselineCoverage"]["declared"] == 3
    assert ran.json["reason"].startswith("the demonstration has no event for ")
    assert "strategy derived" in ran.json["hint"]


def test_confirm_stands_in_for_save(tmp_path: Path) -> None:
    ran = compare(tmp_path, run_of(), flow=[e for e in FLOW if e["seq"] != 11])
    assert ran.json["outcome"] == "semantic_match"


def test_another_app_is_insufficient_and_named(tmp_path: Path) -> None:
    ran = compare(tmp_path, run_of(), flow=[window(0), click(1), typed(2, "discharge save")])
    assert ran.json["outcome"] == "normalization_insufficient"
    assert ran.json["reason"] == (
        "the demonstration is of com.android.settings, and the rules solax_heuristic are for com.solaxcloud.starter"
    )
    assert "strategy derived" in ran.json["hint"]
    assert ran.json["baseline"] == {"appPackage": "com.android.settings", "checkpointIds": []}
    assert compare(tmp_path, run_of(), flow=[]).json["baseline"]["appPackage"] is None


def test_snapshots_change_nothing_even_when_they_mention_the_words(tmp_path: Path) -> None:
    noisy = [{**e, "snapshot": "<node text='discharge save confirm'/>"} for e in FLOW[:5]]
    (tmp_path / "run.json").write_text(json.dumps(run_of()))
    for flow in (FLOW, noisy, noisy + FLOW[7:]):
        reports = []
        for mode in ("omit", "include"):
            path = baseline(tmp_path, flow, mode)
            result = str(tmp_path / "run.json")
            reports.append(clawperator("record", "compare", "--baseline", str(path), "--result", result).json)
        assert reports[0] == reports[1]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "not a saved skills run"),
        ("{", "not a saved skills run"),
        ("[]", "not a saved skills run"),
        ("{}", "missing required field skillResult"),
        ('{"skillResult":null}', "printed no result frame"),
        (json.dumps(run_of()["skillResult"]), "missing required field skillResult"),
        (json.dumps(run_of()).replace('"1.0.0"', '"2.0.0"'), "contract version: 2.0.0"),
        (json.dumps(run_of()).replace('"1.0.0"', '"1"'), "contractVersion"),
        (json.dumps(run_of()).replace('"1.0.0"', '"1. 0.0"'), "contractVersion"),
        (json.dumps(run_of(checkpoints=[{"id": "a", "status": "ok", "note": None}])), "note"),
        (json.dumps(run_of(checkpoints=[{"id": "a", "status": "ok", "evidence": None}])), "evidence"),
        (json.dumps(run_of(goal=None)), "goal"),
        (json.dumps(run_of(inputs=None)), "inputs"),
        (json.dumps(run_of(diagnostics=None)), "diagnostics"),
        (json.dumps(run_of()).replace('"app_opened"', '""'), "checkpoints"),
        (json.dumps(run_of()).replace('"status": "ok"', '"status": "fine"'), "fine"),
        (json.dumps(run_of()).replace('"kind": "agent"', '"kind": "ghost"'), "ghost"),
        ('{"skillResult":' + "[" * 90_000, ""),
    ],
)
def test_a_result_that_is_not_a_saved_run_is_rejected(tmp_path: Path, text: str, what: str) -> None:
    (tmp_path / "run.json").write_text(text)
    result = str(tmp_path / "run.json")
    ran = clawperator("recording", "compare", "--baseline", str(baseline(tmp_path)), "--result", result)
    assert (ran.code, ran.json["code"]) == (1, "RECORDING_COMPARE_FAILED")
    assert what.lower() in ran.json["message"].lower()
    assert "result of a skill" in ran.json["hint"]


def test_a_newer_minor_version_is_taken(tmp_path: Path) -> None:
    run = run_of(contractVersion="1.9.3", added={"later": True})
    assert compare(tmp_path, run).json["outcome"] == "semantic_match"


def test_spaces_around_the_version_are_ignored(tmp_path: Path) -> None:
    assert compare(tmp_path, run_of(contractVersion=" 1.0.0\t")).json["outcome"] == "semantic_match"


def test_a_verification_may_have_null_members(tmp_path: Path) -> None:
    verification = {"status": "verified", "expected": None, "observed": None, "note": None}
    run = run_of(terminalVerification=verification, result=None)
    assert compare(tmp_path, run).json["outcome"] == "semantic_match"


def test_a_baseline_that_is_not_an_export_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(json.dumps(run_of()))
    (tmp_path / "x.json").write_text(json.dumps(HEADER))
    for path in (tmp_path / "x.json", tmp_path / "nowhere", tmp_path):
        argv = ("--baseline", str(path), "--result", str(tmp_path / "run.json"))
        ran = clawperator("recording", "compare", *argv)
        assert (ran.code, ran.json["code"]) == (1, "RECORDING_COMPARE_FAILED")


def test_missing_flags_and_a_bad_mode_are_usage_errors(tmp_path: Path) -> None:
    for argv in ([], ["--baseline", "a"], ["--baseline", "a", "--result", "b", "--mode", "fuzzy"]):
        ran = clawperator("recording", "compare", *argv)
        assert (ran.code, ran.json["code"]) == (1, "USAGE")
    assert compare(tmp_path, run_of(), "--mode", "auto").code == 0
