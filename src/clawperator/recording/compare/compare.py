"""compare: did a run of a skill do what the demonstration showed?

The demonstration is a recording export, the run a saved ``skills run --json`` document or a second export.
Every verdict is one of twelve outcomes; a run that cannot be proved is never a match.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from clawperator.contract.skill_result import AgentSource, Checkpoint, SkillResult
from clawperator.recording.compare.alignment import MAX_LISTED, Aligned, Rejoined, align, rejoined
from clawperator.recording.compare.baseline import Ground, Strategy, checkpoints_of, ground_of
from clawperator.recording.compare.explain import tell_reason
from clawperator.recording.compare.inputs import find_declaration, read_baseline, read_result
from clawperator.recording.compare.recording_run import run_of_recording
from clawperator.recording.compare.strategies.declared import Declaration
from clawperator.recording.compare.strategies.solax import VERIFIED_ELSEWHERE
from clawperator.recording.export import Export

Mode = Literal["auto", "literal", "semantic"]
MODES: Mapping[str, Mode] = {"auto": "auto", "literal": "literal", "semantic": "semantic"}

Outcome = Literal[
    "literal_match",
    "semantic_match",
    "outcome_matches_path_differs",
    "baseline_drift",
    "verification_failed",
    "verification_indeterminate",
    "upstream_failure",
    "runtime_poisoned",
    "runtime_unavailable",
    "normalization_insufficient",
    "baseline_uncovered",
    "baseline_weakly_covered",
]
SUMMARIES: Mapping[Outcome, str] = {
    "literal_match": "checkpoint sequence and terminal verification matched the recording baseline",
    "semantic_match": "checkpoint sequence and terminal verification matched the recording baseline",
    "outcome_matches_path_differs": (
        "terminal verification matched even though the runtime path differed from the recording baseline"
    ),
    "baseline_drift": "checkpoint sequence diverged from the recording baseline",
    "verification_failed": (
        "checkpoint sequence matched the recording baseline but terminal verification did not match the "
        "requested outcome"
    ),
    "verification_indeterminate": (
        "checkpoint sequence matched the recording baseline but the run did not prove its final state"
    ),
    "upstream_failure": "the skill reported its own failure",
    "runtime_poisoned": "the skill failed on a runtime it reported as poisoned",
    "runtime_unavailable": "the skill failed because its runtime was unavailable",
    "normalization_insufficient": "the baseline export does not hold the checkpoints a comparison needs",
    "baseline_uncovered": "terminal verification matched but the run names none of the baseline's checkpoints",
    "baseline_weakly_covered": (
        "terminal verification matched but the run names too few of the baseline's checkpoints"
    ),
}
MATCHES = ("literal_match", "semantic_match", "outcome_matches_path_differs")


class BaselineFacts(Struct, frozen=True):
    appPackage: str | None
    checkpointIds: list[str]


class RunFacts(Struct, frozen=True, kw_only=True):
    skillId: str  # of a recording its session id
    sourceKind: Literal["script", "agent", "recording"]
    status: Literal["success", "failed", "indeterminate"]
    runtimeState: str | UnsetType = UNSET
    checkpointIds: list[str]


class Coverage(Struct, frozen=True):
    """How many of the baseline's checkpoints there are, and how many of them the run names.

    With declared and derived checkpoints only those count that the run names as ``ok``.
    """

    declared: int
    covered: int


class Divergence(Struct, frozen=True):
    """The first place where the run left the path."""

    index: int
    baselineCheckpoint: str
    actualCheckpoint: str
    baselineStatus: str | None
    actualStatus: str | None
    baselineSummary: str | UnsetType = UNSET
    actualNote: str | UnsetType = UNSET


class CompareReport(Struct, frozen=True):
    """The document ``compare`` prints. The last four members come with declared and derived checkpoints only."""

    compareMode: Literal["literal", "semantic"]
    outcome: Outcome
    summary: str
    pathMatches: bool
    terminalVerificationStatus: Literal["verified", "failed", "not_run", "missing"]
    baseline: BaselineFacts
    actual: RunFacts
    baselineCoverage: Coverage
    normalizationStrategy: str
    minimumSemanticCoverage: int
    firstDivergence: Divergence | UnsetType = UNSET
    rejoinedAt: Rejoined | UnsetType | None = UNSET
    reason: str | UnsetType = UNSET
    alignment: list[Aligned] | UnsetType = UNSET
    alignmentOmitted: int | UnsetType = UNSET

    @property
    def is_match(self) -> bool:
        return self.outcome in MATCHES


def compare_recording(
    baseline_path: str,
    result_path: str,
    mode: Mode = "auto",
    *,
    strategy: Strategy | None = None,
    checkpoints_path: str | None = None,
) -> CompareReport:
    """Compare the run or recording in ``result_path`` with the export in ``baseline_path``.

    Without a strategy the declared checkpoints count, if there are any. If there are none, a run is compared by
    the rules for the solar app, a second recording by derived checkpoints.
    """
    export = read_baseline(baseline_path)
    result = read_result(result_path)
    declaration = None
    if strategy in (None, "declared"):
        declaration = find_declaration(checkpoints_path, baseline_path, wanted=strategy == "declared")
    if strategy is None and isinstance(result, Export):
        strategy = "declared" if declaration else "derived"
    return compare(export, result, mode, strategy=strategy, declaration=declaration)


def compare(
    export: Export,
    result: SkillResult | Export,
    mode: Mode = "auto",
    *,
    strategy: Strategy | None = None,
    declaration: Declaration | None = None,
) -> CompareReport:
    """The verdict on a run. A declaration is used when no other strategy is asked for."""
    strategy = strategy or ("declared" if declaration else "solax_heuristic")
    ground = ground_of(export, strategy, declaration)
    if isinstance(result, Export):
        again = checkpoints_of(result, strategy, declaration).checkpoints
        run = run_of_recording(export, ground.checkpoints, result, again)
    else:
        run = result
    kind: Literal["script", "agent"] = "agent" if isinstance(run.source, AgentSource) else "script"
    chosen: Literal["literal", "semantic"]
    chosen = ("semantic" if kind == "agent" else "literal") if mode == "auto" else mode
    passed = [c for c in run.checkpoints if c.id != VERIFIED_ELSEWHERE]
    ids = [c.id for c in ground.checkpoints]
    strict = strategy != "solax_heuristic"
    covered = len(set(ids) & {c.id for c in passed if c.status == "ok" or not strict})
    verification = run.terminalVerification.status if run.terminalVerification else "missing"
    divergence = None if ground.lacking else _first_divergence(ground, passed, run)
    path_matches = not ground.lacking and divergence is None
    outcome: Outcome
    if ground.lacking:
        outcome = "normalization_insufficient"
    elif strict and run.status == "indeterminate" and verification == "verified":
        outcome = "verification_indeterminate" if path_matches else "baseline_drift"
    else:
        outcome = _outcome(run, chosen, verification, covered, ground.minimum, path_matches=path_matches)
    report = CompareReport(
        compareMode=chosen,
        outcome=outcome,
        summary=SUMMARIES[outcome],
        pathMatches=path_matches,
        terminalVerificationStatus=verification,
        baseline=BaselineFacts(ground.package, ids),
        actual=RunFacts(
            skillId=run.skillId,
            sourceKind="recording" if isinstance(result, Export) else kind,
            status=run.status,
            runtimeState=_runtime_state(run),
            checkpointIds=[c.id for c in passed],
        ),
        baselineCoverage=Coverage(len(ids), covered),
        normalizationStrategy=strategy,
        minimumSemanticCoverage=ground.minimum,
        firstDivergence=divergence or UNSET,
    )
    return _explained(report, ground, passed, run) if strict else report


def _explained(
    report: CompareReport, ground: Ground, passed: Sequence[Checkpoint], run: SkillResult
) -> CompareReport:
    """The report with its reason, and with both paths side by side."""
    rows = [] if ground.lacking else align(report.baseline.checkpointIds, passed)
    coverage = None
    if report.outcome in ("baseline_uncovered", "baseline_weakly_covered", "outcome_matches_path_differs"):
        of = report.baselineCoverage
        coverage = f"{of.covered} of {of.declared} checkpoints are proved, {ground.minimum} are needed"
    return replace(
        report,
        rejoinedAt=rejoined(rows) if report.firstDivergence else UNSET,
        reason=ground.lacking or tell_reason(rows, run, coverage),
        alignment=rows[:MAX_LISTED],
        alignmentOmitted=len(rows) - MAX_LISTED if len(rows) > MAX_LISTED else UNSET,
    )


def _outcome(  # noqa: PLR0913 - all that a verdict rests on
    run: SkillResult, mode: str, verification: str, covered: int, minimum: int, *, path_matches: bool
) -> Outcome:
    if run.status == "failed":
        state = _runtime_state(run)
        if state == "poisoned":
            return "runtime_poisoned"
        return "runtime_unavailable" if state == "unavailable" else "upstream_failure"
    if verification == "verified":
        if mode == "literal":
            return "literal_match" if path_matches else "baseline_drift"
        if path_matches:
            return "semantic_match"
        if covered == 0:
            return "baseline_uncovered"
        return "baseline_weakly_covered" if covered < minimum else "outcome_matches_path_differs"
    if not path_matches:
        return "baseline_drift"
    return "verification_failed" if verification == "failed" else "verification_indeterminate"


def _runtime_state(run: SkillResult) -> str | UnsetType:
    return run.diagnostics.runtimeState if run.diagnostics else UNSET


def _first_divergence(baseline: Ground, passed: Sequence[Checkpoint], run: SkillResult) -> Divergence | None:
    expected = baseline.checkpoints
    for i in range(max(len(expected), len(passed))):
        if i >= len(expected):
            extra = passed[i]
            return Divergence(
                i, "unexpected_extra_checkpoint", extra.id, None, extra.status, actualNote=extra.note or UNSET
            )
        want = expected[i]
        if i >= len(passed):
            gone = "failed_before_expected_checkpoint" if run.status == "failed" else "missing_expected_checkpoint"
            return Divergence(i, want.id, gone, "ok", None, want.summary)
        got = passed[i]
        if got.id != want.id or got.status != "ok":
            return Divergence(i, want.id, got.id, "ok", got.status, want.summary, got.note or UNSET)
    return None
