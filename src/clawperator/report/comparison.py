"""The comparison of a run with a recording: what was expected and what was found at each step, and the verdict."""

from bisect import bisect_right
from collections import deque
from collections.abc import Sequence

import msgspec
from msgspec import UNSET, Struct, UnsetType

from clawperator._base.files import open_regular
from clawperator.recording.compare.alignment import AlignmentRow
from clawperator.recording.compare.checkpoints import checkpoint_sentence
from clawperator.recording.compare.step_by_step import StepComparison
from clawperator.recording.describe import DescribedStep
from clawperator.report.builder import NOTHING, PageBuilder, RowScreens, RowStatus, compared_screens
from clawperator.report.page import PageRow, Tone, Verdict
from clawperator.report.runs import replay_screens

_RELATIONS: dict[str, RowStatus] = {
    "matched": RowStatus("matched", "good"),
    "missing": RowStatus("missing", "bad"),
    "extra": RowStatus("extra", "warn"),
    "out_of_order": RowStatus("out of order", "warn"),
    "wrong_status": RowStatus("failed", "bad"),
}
_OTHER_TEXT = RowStatus("other text", "bad")
_OTHER_END = RowStatus("differs", "bad")
# Outcomes that are not about the path or the end of the run.
_NOT_COMPARED = "normalization_insufficient"
# How many steps may overlap.
_OVERLAP = 8

RunSteps = dict[str, deque[tuple[DescribedStep, RowScreens]]]


class RunScreens(Struct):
    """The screens of a run.

    ``steps`` are those of a recorded run, by their checkpoints and in their order, ``last`` is its last screen.
    ``kept`` are the screens that a replay kept of its last step.
    """

    steps: RunSteps = {}
    last: RowScreens = NOTHING
    kept: RowScreens = NOTHING


class RecordedRows(Struct, frozen=True):
    """The steps of the recording with their rows, and its last screen."""

    steps: Sequence[DescribedStep]
    rows: Sequence[PageRow]
    last: RowScreens


class _KeptScreens(Struct, frozen=True):
    """The part of a saved replay that holds screens. Other runs have none."""

    recordedScreen: str | UnsetType = UNSET
    observedScreen: str | UnsetType = UNSET


def kept_screens(run: str, builder: PageBuilder) -> RowScreens:
    """The screens that the replay in a file kept; none of another run."""
    try:
        with open_regular(run) as file:
            kept = msgspec.json.decode(file.read(), type=_KeptScreens)
    except (OSError, ValueError):
        return NOTHING
    return replay_screens(kept.recordedScreen, kept.observedScreen, builder)


class Comparison:
    """Builds the rows of a comparison. ``first_difference`` is the first row that is not matched, else 0."""

    def __init__(
        self, compared: StepComparison, recorded: RecordedRows, run: RunScreens, builder: PageBuilder
    ) -> None:
        self.first_difference = 0
        self._sentence = ""  # what differs first
        self._compared = compared
        self._run = run
        self._builder = builder
        self._recorded = recorded
        self._starts = [step.seq for step in recorded.steps]
        self._seen = NOTHING  # the last screens of the run so far

    def rows(self) -> list[PageRow]:
        rows = [self._row(at, row) for at, row in enumerate(self._compared.rows)]
        report = self._compared.report
        if report.terminalVerificationStatus == "failed" and not self._compared.texts:
            rows.append(self._end_row(len(rows)))
        return rows

    def _row(self, at: int, row: AlignmentRow) -> PageRow:
        point = self._compared.checkpoints.get(row.checkpoint)
        link = -1
        if point is not None and row.baselineIndex is not UNSET:
            link = _step_at(self._recorded.steps, self._starts, point.seq)
        recorded, mine = None, NOTHING
        if link >= 0:
            recorded, its = self._recorded.steps[link], self._recorded.rows[link]
            mine = RowScreens(its.before, its.after, its.mark)
        done, other = self._of_run(row)
        texts = self._compared.texts.get(row.checkpoint)
        title = _sentence(row.checkpoint, recorded or done)
        status = _RELATIONS[row.relation]
        expected = (
            "not in the recording" if row.baselineIndex is UNSET else f"step {row.baselineIndex + 1}: {title}"
        )
        found = "not reached"
        if row.actualIndex is not UNSET:
            ended = "" if row.actualStatus == "ok" else f", {row.actualStatus}"
            found = f"step {row.actualIndex + 1}: {_sentence(row.checkpoint, done or recorded)}{ended}"
        note = _places(row)
        if texts is not None:
            status, (expected, found) = _OTHER_TEXT, texts
            note = f"expected '{expected}', found '{found}'"
        is_matched = status.tone == "good"
        screens = mine
        if not is_matched:
            screens = self._difference(row, mine, other)
            self._note_difference(at, _difference_sentence(row, title, note, self._subject))
        return self._builder.row(
            "checkpoint",
            title,
            [
                ("Expected", expected),
                ("Found", found),
                ("First divergence", "The run left the recorded path here." if self._is_first(at) else None),
                ("Recorded step", recorded.sentence if recorded else None),
                ("Screen", None if screens.compares or link >= 0 or screens == NOTHING else "of the run"),
                ("Note", row.note or None),
                ("Checkpoint", row.checkpoint),
            ],
            note=f"{note} · first divergence" if self._is_first(at) else note,
            status=status,
            screens=screens,
            link=link,
        )

    def _of_run(self, row: AlignmentRow) -> tuple[DescribedStep | None, RowScreens]:
        """The step of a recorded run, and its screens."""
        if row.actualIndex is UNSET or not self._run.steps.get(row.checkpoint):
            return None, NOTHING
        step, screens = self._run.steps[row.checkpoint].popleft()
        self._seen = screens
        return step, screens

    def _difference(self, row: AlignmentRow, mine: RowScreens, other: RowScreens) -> RowScreens:
        """The recorded and the observed screen of a row that differs."""
        if other != NOTHING:
            return compared_screens(mine, other)
        if self._run.kept != NOTHING:
            kept, self._run.kept = self._run.kept, NOTHING  # of the step at which the replay stopped
            return kept if kept.compares else compared_screens(mine, kept)
        if row.relation == "missing" and self._seen != NOTHING:
            return compared_screens(RowScreens(mine.before, mark=mine.mark), self._seen)
        return mine

    def _end_row(self, at: int) -> PageRow:
        sentence = f"{self._subject} did not end in the expected state"
        report = self._compared.report
        reason = str(report.reason or "").rpartition("; ")[2] or None
        self._note_difference(at, f"{sentence}: {reason}." if reason else f"{sentence}.")
        return self._builder.row(
            "verification",
            sentence,
            [("Reason", reason), ("Terminal verification", report.terminalVerificationStatus)],
            note=reason or "",
            status=_OTHER_END,
            screens=compared_screens(self._recorded.last, self._run.last),
        )

    def _note_difference(self, at: int, sentence: str) -> None:
        if not self._sentence:
            self._sentence, self.first_difference = sentence, at

    def _is_first(self, at: int) -> bool:
        return bool(self._sentence) and self.first_difference == at

    @property
    def _subject(self) -> str:
        actual = self._compared.report.actual
        if actual.sourceKind == "recording":
            return "The other recording"
        return "The replay" if actual.skillId.startswith("replay.") else "The skill run"

    def verdict(self) -> Verdict:
        """The verdict on the rows, which were built before."""
        report = self._compared.report
        coverage = report.baselineCoverage
        about = (
            f"{report.outcome}: {coverage.covered} of {coverage.declared} checkpoints; terminal verification: "
            f"{report.terminalVerificationStatus}; compared with {report.actual.skillId} "
            f"({report.normalizationStrategy}, {report.compareMode})"
        )
        tone: Tone = "good" if report.is_match else "bad"
        lines = (report.reason or "", about, report.hint or "")
        if report.outcome == _NOT_COMPARED:
            return Verdict(tone, report.outcome, "Nothing could be compared.", lines, "not compared")
        if report.is_match:
            how = "" if report.pathMatches else ", on another path"
            sentence = (
                f"{self._subject} did what was recorded{how}: {coverage.covered} of {coverage.declared} steps."
            )
            return Verdict(tone, report.outcome, sentence, lines, "matches")
        sentence = self._sentence or f"{self._subject} does not prove what was recorded: {report.summary}."
        return Verdict(tone, report.outcome, sentence, lines, "differs")


def _sentence(checkpoint: str, step: DescribedStep | None) -> str:
    if step is None:
        return checkpoint_sentence(checkpoint)
    return checkpoint_sentence(checkpoint, step.target or "", step.text or None)


def _difference_sentence(row: AlignmentRow, title: str, note: str, subject: str) -> str:
    """What differs in the first row that is not matched."""
    step = "" if row.baselineIndex is UNSET else f" step {row.baselineIndex + 1}"
    match row.relation:
        case "matched":
            return f"{subject} entered another text at{step}: {note}."
        case "missing":
            return f"{subject} did not reach{step}: {title}."
        case "extra":
            return f"{subject} did what is not in the recording: {title}."
        case "out_of_order":
            return f"{subject} did{step} out of order: {title}."
    return f"{subject} failed at{step}: {row.note.removeprefix('could not prove: ') if row.note else title}."


def _places(row: AlignmentRow) -> str:
    """Where a checkpoint is in the recording and in the run, in a few words."""
    if row.baselineIndex is UNSET:
        return "not in the recording"
    expected = f"expected as step {row.baselineIndex + 1}"
    actual = "not reached" if row.actualIndex is UNSET else f"was step {row.actualIndex + 1}"
    return f"{expected}, {actual}"


def _step_at(steps: Sequence[DescribedStep], starts: Sequence[float], seq: float) -> int:
    """The position of the step that an event belongs to. Steps come in order, but may overlap a little."""
    last = bisect_right(starts, seq) - 1
    return next((i for i in range(last, max(last - _OVERLAP, -1), -1) if seq <= steps[i].lastSeq), -1)
