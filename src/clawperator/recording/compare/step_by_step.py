"""A comparison step by step, with the place of each checkpoint in the demonstration: for reports to people."""

from collections.abc import Mapping, Sequence

from msgspec import UNSET, Struct

from clawperator._base.files import open_regular, why
from clawperator.contract.skill_result import Checkpoint, SkillResult
from clawperator.recording.compare.alignment import AlignmentRow, align, summarize_alignment
from clawperator.recording.compare.checkpoints import (
    TERMINAL_CHECKPOINT,
    BaselineCheckpoint,
    Declaration,
    derive_checkpoints,
    find_declared_checkpoints,
    find_solax_checkpoints,
)
from clawperator.recording.compare.compare import CompareReport, compare, differs
from clawperator.recording.compare.inputs import (
    RecordedCheckpoints,
    find_declaration,
    read_result,
    unusable,
)
from clawperator.recording.export import Export, load_demonstration

_HEAD_BYTES = 4_096


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
    result = load_demonstration(result_path) if _is_recording(result_path) else read_result(result_path)
    if isinstance(result, Export) and declaration is None:
        report = compare(baseline, result, strategy="derived")
    else:
        report = compare(baseline, result, declaration=declaration)
        if declaration is None and report.outcome == "normalization_insufficient":
            report = compare(baseline, result, strategy="derived")
    rows = report.alignment
    if rows is UNSET:
        rows = _aligned(report, _path(result, report.actual.checkpointIds))
    strategy = report.normalizationStrategy
    points = {checkpoint.id: checkpoint for checkpoint in _checkpoints(baseline, strategy, declaration)}
    if not isinstance(result, Export):
        return StepComparison(report, rows, points)
    entered = {point.id: point.text for point in _checkpoints(result, strategy, declaration)}
    texts = {name: (point.text, text) for name, point in points.items() if (text := entered.get(name))}
    differing = {name: (a, b) for name, (a, b) in texts.items() if a is not None and differs(a, b)}
    return StepComparison(report, rows, points, result, differing)


def _path(result: SkillResult | Export, ids: list[str]) -> Sequence[Checkpoint]:
    if isinstance(result, Export):
        return RecordedCheckpoints(ids)
    return [checkpoint for checkpoint in result.checkpoints if checkpoint.id != TERMINAL_CHECKPOINT]


def _aligned(report: CompareReport, path: Sequence[Checkpoint]) -> list[AlignmentRow]:
    if report.outcome == "normalization_insufficient":
        return []
    return summarize_alignment(align(report.baseline.checkpointIds, path)).rows


def _checkpoints(export: Export, strategy: str, declaration: Declaration | None) -> tuple[BaselineCheckpoint, ...]:
    if strategy == "derived":
        return derive_checkpoints(export)
    if strategy == "declared" and declaration is not None:
        return find_declared_checkpoints(declaration, export).checkpoints
    return find_solax_checkpoints(export).checkpoints


def _is_recording(path: str) -> bool:
    try:
        with open_regular(path) as file:
            return b'"recording_header"' in file.read(_HEAD_BYTES).lstrip().partition(b"\n")[0]
    except (OSError, ValueError) as e:
        raise unusable(path, "result", why(e)) from e
