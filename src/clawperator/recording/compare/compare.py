"""compare: check a run against a demonstration.

The demonstration is a recording export, the run a saved ``skills run --json`` document or a second export. The
result is one of twelve outcomes; a run that is not proved never matches.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import IO, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from clawperator._base.text import printable
from clawperator.contract.skill_result import (
    CONTRACT_VERSION,
    AgentSource,
    Checkpoint,
    ScriptSource,
    SkillResult,
    TerminalVerification,
    TextEvidence,
)
from clawperator.recording.compare.alignment import (
    MAX_LISTED,
    Alignment,
    AlignmentRow,
    Rejoined,
    align,
    common_start,
    summarize_alignment,
)
from clawperator.recording.compare.checkpoints import (
    TERMINAL_CHECKPOINT,
    BaselineCheckpoint,
    Declaration,
    find_checkpoints,
    slug,
)
from clawperator.recording.compare.inputs import (
    ComparedRecording,
    RecordedCheckpoints,
    find_declaration,
    is_recording,
    read_baseline,
    read_result,
)
from clawperator.recording.export import Export, load_demonstration
from clawperator.recording.heuristics import is_masked
from clawperator.recording.kinds import CompareMode, CompareStrategy

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
    "upstream_failure": "the run reported its own failure",
    "runtime_poisoned": "the run failed on a runtime it reported as poisoned",
    "runtime_unavailable": "the run failed because its runtime was unavailable",
    "normalization_insufficient": "the baseline export does not hold the checkpoints a comparison needs",
    "baseline_uncovered": "terminal verification matched but the run names none of the baseline's checkpoints",
    "baseline_weakly_covered": (
        "terminal verification matched but the run names too few of the baseline's checkpoints"
    ),
}
# What to do when a strategy finds no checkpoints to compare with.
_HINTS: Mapping[CompareStrategy, str] = {
    "solax_heuristic": "Use the strategy derived to compare with the steps of the demonstration.",
    "declared": "Correct the rules of the declared checkpoints, or use the strategy derived.",
    "derived": "Record a demonstration in which an app is opened, something is clicked or text is entered.",
}
# Ids that are written in one piece.
_IDS_AT_ONCE = 10_000
# Characters of an entered text in a reason.
_MAX_SHOWN = 80
MATCHES = ("literal_match", "semantic_match", "outcome_matches_path_differs")


class BaselineFacts(Struct, frozen=True):
    appPackage: str | None
    checkpointIds: list[str]


class RunFacts(Struct, frozen=True, kw_only=True):
    skillId: str  # the session id, if the run is a recording
    sourceKind: Literal["script", "agent", "recording"]
    status: Literal["success", "failed", "indeterminate"]
    runtimeState: str | UnsetType = UNSET
    checkpointIds: list[str]


class Coverage(Struct, frozen=True):
    """How many checkpoints the baseline has, and how many of them the run names.

    With declared and derived checkpoints only those with status ``ok`` count.
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
    """The document ``compare`` prints. The fields after ``firstDivergence`` need declared or derived checkpoints.

    ``reason`` and ``hint`` are also present when nothing can be compared.

    ``warnings`` is present when events of a recording are missing: the result then holds for the others only.
    """

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
    hint: str | UnsetType = UNSET
    alignment: list[AlignmentRow] | UnsetType = UNSET
    alignmentOmitted: int | UnsetType = UNSET
    warnings: list[str] | UnsetType = UNSET

    @property
    def is_match(self) -> bool:
        return self.outcome in MATCHES

    def write_to(self, out: IO[bytes], *, pretty: bool) -> None:
        """Write the document as JSON, with the ids in pieces: there may be a million of them."""
        without = (replace(facts, checkpointIds=[]) for facts in (self.baseline, self.actual))
        text = msgspec.json.encode(replace(self, baseline=next(without), actual=next(without)))
        if pretty:
            text = msgspec.json.format(text, indent=2)
        before, between, after = text.split(b'"checkpointIds": []' if pretty else b'"checkpointIds":[]')
        out.write(before)
        _write_ids(out, self.baseline.checkpointIds, pretty=pretty)
        out.write(between)
        _write_ids(out, self.actual.checkpointIds, pretty=pretty)
        out.write(after)


def _write_ids(out: IO[bytes], ids: Sequence[str], *, pretty: bool) -> None:
    line, end = (b"\n      ", b"\n    ]") if pretty and ids else (b"", b"]")
    out.write(b'"checkpointIds": [' if pretty else b'"checkpointIds":[')
    for start in range(0, len(ids), _IDS_AT_ONCE):
        pieces = map(msgspec.json.encode, ids[start : start + _IDS_AT_ONCE])
        out.write((b"," if start else b"") + b",".join(line + piece for piece in pieces))
    out.write(end)


def compare_recording(
    baseline_path: str,
    result_path: str,
    mode: CompareMode = "auto",
    *,
    strategy: CompareStrategy | None = None,
    checkpoints_path: str | None = None,
) -> CompareReport:
    """Compare the run or recording in ``result_path`` with the export in ``baseline_path``.

    Without a strategy, declared checkpoints are used if there are any. Otherwise a run is compared by the SolaX
    heuristic, a second recording by derived checkpoints.
    """
    export = read_baseline(baseline_path)
    result = read_result(result_path)
    declaration = None
    if strategy in (None, "declared"):
        declaration = find_declaration(checkpoints_path, baseline_path, required=strategy == "declared")
    if strategy is None and isinstance(result, Export):
        strategy = "declared" if declaration else "derived"
    return compare(export, result, mode, strategy=strategy, declaration=declaration)


def compare(
    export: Export,
    result: SkillResult | Export,
    mode: CompareMode = "auto",
    *,
    strategy: CompareStrategy | None = None,
    declaration: Declaration | None = None,
) -> CompareReport:
    """Compare a run with a demonstration. A declaration is used unless another strategy is given."""
    strategy = strategy or ("declared" if declaration else "solax_heuristic")
    baseline = ComparedRecording(export, "baseline", strategy, declaration)
    warnings = baseline.warnings
    path: Sequence[Checkpoint]
    if isinstance(result, Export):
        repeated = ComparedRecording(result, "result", strategy, declaration, like=baseline.ids)
        run = _recording_run(baseline, repeated)
        path = RecordedCheckpoints(repeated.ids)
        warnings = [*warnings, *repeated.warnings]
    else:
        run = result
        path = _path_of(run)
    kind: Literal["script", "agent"] = "agent" if isinstance(run.source, AgentSource) else "script"
    chosen: Literal["literal", "semantic"]
    chosen = ("semantic" if kind == "agent" else "literal") if mode == "auto" else mode
    ids = baseline.ids
    strict = strategy != "solax_heuristic"
    covered = _covered(ids, path, strict=strict)
    verification = run.terminalVerification.status if run.terminalVerification else "missing"
    divergence = None if baseline.problem else _first_divergence(baseline, path, run)
    path_matches = not baseline.problem and divergence is None
    outcome: Outcome
    if baseline.problem:
        outcome = "normalization_insufficient"
    elif strict and run.status == "indeterminate" and verification == "verified":
        outcome = "verification_indeterminate" if path_matches else "baseline_drift"
    else:
        minimum = baseline.minimum_coverage
        outcome = _outcome(run, chosen, verification, covered, minimum, path_matches=path_matches)
    report = CompareReport(
        compareMode=chosen,
        outcome=outcome,
        summary=SUMMARIES[outcome],
        pathMatches=path_matches,
        terminalVerificationStatus=verification,
        baseline=BaselineFacts(baseline.package, ids),
        actual=RunFacts(
            skillId=run.skillId,
            sourceKind="recording" if isinstance(result, Export) else kind,
            status=run.status,
            runtimeState=_runtime_state(run),
            checkpointIds=path.ids if isinstance(path, RecordedCheckpoints) else [c.id for c in path],
        ),
        baselineCoverage=Coverage(len(ids), covered),
        normalizationStrategy=strategy,
        minimumSemanticCoverage=baseline.minimum_coverage,
        firstDivergence=divergence or UNSET,
        reason=baseline.problem or UNSET,
        hint=_HINTS[strategy] if baseline.problem else UNSET,
        warnings=warnings or UNSET,
    )
    return _explained(report, baseline, path, run) if strict else report


def _path_of(run: SkillResult) -> list[Checkpoint]:
    return [checkpoint for checkpoint in run.checkpoints if checkpoint.id != TERMINAL_CHECKPOINT]


def _outcome(  # noqa: PLR0913 - everything an outcome depends on
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


def _covered(ids: Sequence[str], path: Sequence[Checkpoint], *, strict: bool) -> int:
    """How many of the baseline's ids, which are unique, the run names. The common beginning needs no set."""
    common = common_start(ids, path)
    named = {c.id for c in islice(path, common, None) if c.status == "ok" or not strict}
    return common + sum(name in named for name in islice(ids, common, None))


def _runtime_state(run: SkillResult) -> str | UnsetType:
    return run.diagnostics.runtimeState if run.diagnostics else UNSET


def _first_divergence(
    baseline: ComparedRecording, path: Sequence[Checkpoint], run: SkillResult
) -> Divergence | None:
    expected = baseline.ids
    for i in range(max(len(expected), len(path))):
        if i >= len(expected):
            extra = path[i]
            return Divergence(
                i, "unexpected_extra_checkpoint", extra.id, None, extra.status, actualNote=extra.note or UNSET
            )
        want = expected[i]
        if i >= len(path):
            is_failed = run.status == "failed"
            missing = "failed_before_expected_checkpoint" if is_failed else "missing_expected_checkpoint"
            return Divergence(i, want, missing, "ok", None, baseline.summary(i))
        got = path[i]
        if got.id != want or got.status != "ok":
            return Divergence(i, want, got.id, "ok", got.status, baseline.summary(i), got.note or UNSET)
    return None


# The reason


def _explained(
    report: CompareReport, baseline: ComparedRecording, path: Sequence[Checkpoint], run: SkillResult
) -> CompareReport:
    """The report with its reason and the alignment of both paths."""
    rows = iter(()) if baseline.problem else align(report.baseline.checkpointIds, path)
    alignment = summarize_alignment(rows)
    reasons = [*_path_reason(alignment)]
    if report.outcome in ("baseline_uncovered", "baseline_weakly_covered", "outcome_matches_path_differs"):
        of, needed = report.baselineCoverage, baseline.minimum_coverage
        reasons.append(f"{of.covered} of {of.declared} checkpoints are proved, {needed} are needed")
    reasons += [*_status_reason(run), _end_reason(run)]
    return replace(
        report,
        rejoinedAt=alignment.rejoined if report.firstDivergence else UNSET,
        reason=baseline.problem or "; ".join(reasons),
        alignment=alignment.rows,
        alignmentOmitted=alignment.count - MAX_LISTED if alignment.count > MAX_LISTED else UNSET,
    )


def _path_reason(alignment: Alignment) -> Iterator[str]:
    row = alignment.first_difference
    if row is None:
        yield f"all {alignment.count} checkpoints were proved in order"
        return
    step = "" if row.baselineIndex is UNSET else f"step {row.baselineIndex + 1}, "
    note = f" ({row.note})" if row.note else ""
    match row.relation:
        case "missing":
            yield f"{step}{row.checkpoint}, is missing"
        case "extra":
            yield f"{row.checkpoint} is not in the baseline{note}"
        case "out_of_order":
            yield f"{step}{row.checkpoint}, is out of order{note}"
        case _:
            yield f"{step}{row.checkpoint}, has the status {row.actualStatus}{note}"


def _status_reason(run: SkillResult) -> Iterator[str]:
    if run.status == "failed":
        state = _runtime_state(run)
        yield "the run reported `failed`" + (f" with runtime state `{state}`" if state else "")
    elif run.status == "indeterminate":
        yield "the run reported `indeterminate`"


def _end_reason(run: SkillResult) -> str:
    verification = run.terminalVerification
    if not verification:
        return "the run has no terminal verification"
    states = {"verified": "is verified", "failed": "differs from the requested one", "not_run": "was not verified"}
    note = f": {verification.note}" if verification.note else ""
    return f"the end state {states[verification.status]}{note}"


# A second recording as the run


def _recording_run(demonstration: ComparedRecording, repeated: ComparedRecording) -> SkillResult:
    """A second recording as a run, without its checkpoints."""
    return SkillResult(
        contractVersion=CONTRACT_VERSION,
        skillId=repeated.session_id,
        status="success",
        checkpoints=[],
        source=ScriptSource(),
        terminalVerification=_verify_end(demonstration, repeated),
    )


def _verify_end(demonstration: ComparedRecording, repeated: ComparedRecording) -> TerminalVerification:
    """The end state is verified by the same last screen and the same texts. Masked texts verify nothing."""
    expected, observed = _last_screen(demonstration), _last_screen(repeated)
    if expected is None:
        return TerminalVerification("not_run", note="the demonstration shows no window to end on")
    evidence = (TextEvidence(expected), TextEvidence(observed) if observed else None)
    if expected != observed:
        note = f"the demonstration ends on {expected}, the recording on {observed or 'no window'}"
        return TerminalVerification("failed", *evidence, note)
    entered = repeated.texts
    masked = None
    for name, text in demonstration.texts.items():
        other = entered.get(name)
        if other is None:
            continue  # the path reports a missing checkpoint
        if differs(text, other):
            words = f"expected {_quoted(text)}, found {_quoted(other)}"
            return TerminalVerification("failed", *evidence, f"another text was entered at {name}: {words}")
        if is_masked(text) or is_masked(other):
            masked = masked or name
    if masked:
        return TerminalVerification("not_run", *evidence, f"the text entered at {masked} is masked")
    return TerminalVerification("verified", *evidence)


def differs(expected: str, found: str) -> bool:
    """Whether another text was entered. A masked one is unknown, and differs from none."""
    return expected != found and not is_masked(expected) and not is_masked(found)


def _quoted(text: str) -> str:
    shown = printable(text)
    return f"'{shown if len(shown) <= _MAX_SHOWN else shown[:_MAX_SHOWN] + '…'}'"


def _last_screen(recording: ComparedRecording) -> str | None:
    window = recording.last_screen
    if window is None:
        return None
    return " ".join(filter(None, (window.package, window.class_name, slug(window.title or ""))))


# A comparison step by step, with the place of each checkpoint in the demonstration: for reports to people


class StepComparison(Struct, frozen=True):
    """The report of compare, both paths in one list, and the checkpoints of the demonstration by their ids.

    ``recorded_run`` is a run that is itself a recording or an export, ``texts`` the texts that were expected and
    entered where they differ, by their checkpoints.
    """

    report: CompareReport
    rows: list[AlignmentRow]
    checkpoints: Mapping[str, BaselineCheckpoint]
    recorded_run: Export | None = None
    texts: Mapping[str, tuple[str, str]] = {}


def compare_step_by_step(baseline: Export, baseline_path: str, result_path: str) -> StepComparison:
    """Compare a run, or another recording or export, with a demonstration.

    The strategy is the one that compare chooses; where that finds nothing to compare with, they are derived.
    """
    declaration = find_declaration(None, baseline_path, required=False)
    result = load_demonstration(result_path) if is_recording(result_path) else read_result(result_path)
    if isinstance(result, Export) and declaration is None:
        report = compare(baseline, result, strategy="derived")
    else:
        report = compare(baseline, result, declaration=declaration)
        if declaration is None and report.outcome == "normalization_insufficient":
            report = compare(baseline, result, strategy="derived")
    rows = report.alignment
    if rows is UNSET:  # the SolaX heuristic, by which only runs are compared here, has none
        assert isinstance(result, SkillResult)
        rows = summarize_alignment(align(report.baseline.checkpointIds, _path_of(result))).rows
    strategy = report.normalizationStrategy
    points = {point.id: point for point in find_checkpoints(baseline, strategy, declaration).checkpoints}
    if not isinstance(result, Export):
        return StepComparison(report, rows, points)
    entered = {point.id: point.text for point in find_checkpoints(result, strategy, declaration).checkpoints}
    texts = {name: (point.text, text) for name, point in points.items() if (text := entered.get(name))}
    differing = {name: (a, b) for name, (a, b) in texts.items() if a is not None and differs(a, b)}
    return StepComparison(report, rows, points, result, differing)
