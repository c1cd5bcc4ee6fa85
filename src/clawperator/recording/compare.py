"""compare: did a run of a skill do what the demonstration showed?

The demonstration is a recording export, the run a saved ``skills run --json`` document. Every verdict is
one of twelve outcomes; a run that cannot be proved is never a match.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from clawperator.contract.errors import ClawError
from clawperator.contract.skill_result import AgentSource, Checkpoint, SkillResult, SkillsRun, check_version
from clawperator.files import why
from clawperator.recording.checkpoints import (
    MINIMUM_SEMANTIC_COVERAGE,
    REQUIRED,
    STRATEGY,
    Baseline,
    baseline_of,
)
from clawperator.recording.export import Export, read_export

Mode = Literal["auto", "literal", "semantic"]
MODES: Mapping[str, Mode] = {"auto": "auto", "literal": "literal", "semantic": "semantic"}
VERIFIED_ELSEWHERE = "terminal_state_verified"

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
    skillId: str
    sourceKind: Literal["script", "agent"]
    status: Literal["success", "failed", "indeterminate"]
    runtimeState: str | UnsetType = UNSET
    checkpointIds: list[str]


class Coverage(Struct, frozen=True):
    """How many of the baseline's checkpoints there are, and how many of them the run names."""

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
    """The document ``compare`` prints."""

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

    @property
    def is_match(self) -> bool:
        return self.outcome in MATCHES


def compare_recording(baseline_path: str, result_path: str, mode: Mode = "auto") -> CompareReport:
    """Compare the run saved in ``result_path`` with the export in ``baseline_path``."""
    data = _read(baseline_path, "baseline")
    try:
        export = read_export(data)
    except ValueError as e:
        raise _unusable(baseline_path, "baseline", f"it is not a valid recording export: {e}") from None
    return compare(export, _skill_result(result_path), mode)


def compare(export: Export, run: SkillResult, mode: Mode = "auto") -> CompareReport:
    kind: Literal["script", "agent"] = "agent" if isinstance(run.source, AgentSource) else "script"
    chosen: Literal["literal", "semantic"]
    chosen = ("semantic" if kind == "agent" else "literal") if mode == "auto" else mode
    baseline = baseline_of(export)
    sufficient = len(baseline.checkpoints) == len(REQUIRED)
    passed = [c for c in run.checkpoints if c.id != VERIFIED_ELSEWHERE]
    divergence = _first_divergence(baseline, passed, run) if sufficient else None
    ids = [c.id for c in baseline.checkpoints]
    covered = len(set(ids) & {c.id for c in passed})
    verification = run.terminalVerification.status if run.terminalVerification else "missing"
    path_matches = sufficient and divergence is None
    outcome: Outcome = (
        _outcome(run, chosen, verification, covered, path_matches=path_matches)
        if sufficient
        else "normalization_insufficient"
    )
    return CompareReport(
        compareMode=chosen,
        outcome=outcome,
        summary=SUMMARIES[outcome],
        pathMatches=path_matches,
        terminalVerificationStatus=verification,
        baseline=BaselineFacts(baseline.package, ids),
        actual=RunFacts(
            skillId=run.skillId,
            sourceKind=kind,
            status=run.status,
            runtimeState=_runtime_state(run),
            checkpointIds=[c.id for c in passed],
        ),
        baselineCoverage=Coverage(len(ids), covered),
        normalizationStrategy=STRATEGY,
        minimumSemanticCoverage=MINIMUM_SEMANTIC_COVERAGE,
        firstDivergence=divergence or UNSET,
    )


def _outcome(run: SkillResult, mode: str, verification: str, covered: int, *, path_matches: bool) -> Outcome:
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
        return "baseline_weakly_covered" if covered < MINIMUM_SEMANTIC_COVERAGE else "outcome_matches_path_differs"
    if not path_matches:
        return "baseline_drift"
    return "verification_failed" if verification == "failed" else "verification_indeterminate"


def _runtime_state(run: SkillResult) -> str | UnsetType:
    return run.diagnostics.runtimeState if run.diagnostics else UNSET


def _first_divergence(baseline: Baseline, passed: Sequence[Checkpoint], run: SkillResult) -> Divergence | None:
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


_RUN = msgspec.json.Decoder(SkillsRun)


def _skill_result(path: str) -> SkillResult:
    data = _read(path, "result")
    try:
        run = _RUN.decode(data).skillResult
        if run is not None:
            check_version(run)
    except UnicodeDecodeError:
        raise _unusable(path, "result", "it is not valid UTF-8") from None
    except (msgspec.DecodeError, RecursionError) as e:
        reason = str(e).replace("`", "")
        raise _unusable(path, "result", f"it is not a saved skills run with a skillResult: {reason}") from None
    except ClawError as e:
        raise _unusable(path, "result", e.message) from None
    if run is None:
        raise _unusable(path, "result", "its skillResult is null: the skill printed no result frame")
    return run


def _read(path: str, role: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except (OSError, ValueError) as e:
        reason = why(e)
        raise _unusable(path, role, reason) from e


_HINTS: dict[str, str] = {
    "baseline": "--baseline takes what 'clawperator recording export' wrote.",
    "result": "--result takes the whole output of 'clawperator skills run <id> --json', not the bare skillResult.",
}


def _unusable(path: str, role: str, reason: str) -> ClawError:
    details: dict[str, Any] = {"path": path, "role": role, "reason": reason}
    return ClawError(
        "RECORDING_COMPARE_FAILED",
        f"Cannot use the {role} {path}: {reason}",
        hint=_HINTS[role],
        details=details,
        operation="read",
        target=path,
    )
