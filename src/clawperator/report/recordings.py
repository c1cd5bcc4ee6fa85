"""The report of a recording or of its export: steps, events, and the comparison with a run."""

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice

import msgspec
from msgspec import UNSET, Struct, UnsetType

from clawperator._base.files import open_regular
from clawperator._base.secrets import known_secrets
from clawperator.recording.actions import read_actions
from clawperator.recording.compare.alignment import AlignmentRow
from clawperator.recording.compare.checkpoints import checkpoint_sentence
from clawperator.recording.compare.compare import StepComparison, compare_step_by_step
from clawperator.recording.describe import DescribedStep, described_steps
from clawperator.recording.events import FACTS, ClickFacts, EventFacts, own_fields
from clawperator.recording.export import Export, load_demonstration
from clawperator.recording.heuristics import id_name, is_vanished
from clawperator.recording.reader import SeqGaps
from clawperator.replay.demonstration import read_events
from clawperator.replay.planner import EventWithScreen
from clawperator.report.builder import (
    MAX_ROWS,
    NOTHING,
    PageBuilder,
    ReportParts,
    RowScreens,
    RowStatus,
    compared_screens,
)
from clawperator.report.page import (
    NO_SCREEN,
    Mark,
    PageList,
    PageRow,
    ScreenTable,
    Tone,
    Verdict,
    filled,
    plural,
    seconds,
)
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


# The comparison of a run with a recording: what was expected and what was found at each step, and the verdict

STEPS, EVENTS, COMPARISON = "Steps", "Events", "Comparison"
# Steps that are the appearance of a window: what they brought is their screen.
_WINDOWS = frozenset(("open_app", "screen", "dialog"))
# Keys are clicks on the system's bar, which do not change the app in front.
_KEYS = frozenset(("back", "home", "recents"))
_FACT_NAMES = {
    "packageName": "Package",
    "className": "Window class",
    "title": "Window title",
    "resourceId": "Resource id",
    "text": "Text",
    "contentDesc": "Description",
    "bounds": "Bounds",
    "key": "Key",
}
_EVENT_TITLES = {
    "window_change": "Window",
    "click": "Click",
    "scroll": "Scroll",
    "press_key": "Key",
    "text_change": "Text",
}
_FACTS = {facts.kind: facts for facts in FACTS}
_FIELDS = {facts.kind: own_fields(facts) for facts in FACTS}
_YEAR_9999_MS = 253_402_300_800_000
_SNAPSHOTS_LEFT_OUT = "The export was written without snapshots. Report the recording itself to see its screens."
_NO_SNAPSHOTS = "The recording has no snapshots, so there are no screens to show."


class _SeenEvent(Struct, frozen=True, gc=False):
    """An event with the screen of its own snapshot, and the last screen known before it."""

    event: EventFacts
    screen: int
    before: int


def recording_report(path: str, builder: PageBuilder, run: str | None = None) -> ReportParts:
    """The report of the recording or export in ``path``, compared with ``run``, if that is given.

    A recording of any size is read twice, and its snapshots are never in memory or in a copy.
    """
    export = load_demonstration(path)
    report = _RecordingReport(export, _seen_events(path, export, builder), builder)
    if run is None:
        return report.parts()
    compared = compare_step_by_step(export, path, run)
    recorded = compared.recorded_run
    if recorded is None:
        return report.parts(compared, RunScreens(kept=kept_screens(run, builder)))
    seen = _seen_events(run, recorded, builder)
    return report.parts(compared, _RecordingReport(recorded, seen, builder).as_run())


def _seen_events(path: str, export: Export, builder: PageBuilder) -> list[_SeenEvent]:
    return read_events(path, lambda events: list(_see(events, builder.screens)), export, known_secrets())


def _see(events: Iterable[EventWithScreen], screens: ScreenTable) -> Iterator[_SeenEvent]:
    """The first events with their screens."""
    before = NO_SCREEN
    for event, xml in islice(events, MAX_ROWS):
        screen = screens.add(xml)
        yield _SeenEvent(_without_snapshot(event), screen, before)
        before = before if screen == NO_SCREEN else screen


def _without_snapshot(event: EventFacts) -> EventFacts:
    """The event alone: a list of them must not keep every snapshot in memory."""
    facts = _FACTS[event.kind]
    return facts(**{name: getattr(event, name) for name in ("ts", "seq", *_FIELDS[event.kind])})


class _RecordingReport:
    def __init__(self, export: Export, seen: Sequence[_SeenEvent], builder: PageBuilder) -> None:
        self._export = export
        self._builder = builder
        self._start = export.timeline.firstEventTs
        self._seen = seen
        self._seqs = [one.event.seq for one in seen]
        self._next_screens = _next_screens(seen)
        self._screen_count = len(builder.screens)

    def _described(self) -> list[DescribedStep]:
        return list(islice(described_steps(read_actions(one.event for one in self._seen)), MAX_ROWS))

    def as_run(self) -> RunScreens:
        """The screens of a recording that is compared with another one."""
        found: dict[str, deque[tuple[DescribedStep, RowScreens]]] = {}
        for step in self._described():
            if step.checkpoint:
                own, last = self._own_events(step)
                found.setdefault(step.checkpoint, deque()).append((step, self._step_screens(step, own, last)))
        return RunScreens(found, self._last_screen())

    def _last_screen(self) -> RowScreens:
        last = next((one.screen for one in reversed(self._seen) if one.screen != NO_SCREEN), NO_SCREEN)
        return RowScreens(after=last)

    def parts(self, compared: StepComparison | None = None, of_run: RunScreens | None = None) -> ReportParts:
        """``of_run`` are the steps and screens of the run that it is compared with."""
        export, builder = self._export, self._builder
        events = [self._event_row(one) for one in self._seen]
        described = self._described()
        steps = [self._step_row(step) for step in described]
        lists = filled(PageList(STEPS, steps), PageList(EVENTS, events))
        total = len(export.events)
        if total > len(self._seen):
            builder.warnings.append(f"Only the first {len(self._seen):,} of {total:,} events are shown.")
        if not self._screen_count and not builder.screens.unreadable:
            has_some = any(event.snapshot.present for event in export.events)
            builder.warnings.append(_SNAPSHOTS_LEFT_OUT if has_some else _NO_SNAPSHOTS)
        verdict, selected = None, (0, 0)
        if compared is None:
            gaps = SeqGaps()
            deque(gaps.watch(export.events), maxlen=0)
            builder.warnings += gaps.warnings()
        else:
            builder.warnings += compared.report.warnings or []
            recorded = RecordedRows(described, steps, self._last_screen())
            found = Comparison(compared, recorded, of_run or RunScreens(), builder)
            rows = found.rows()
            lists = filled(PageList(COMPARISON, rows), *lists)
            verdict = found.verdict()
            selected = (0, found.first_difference)
        session = export.session
        return ReportParts(
            kind="Recording",
            title=session.sessionId,
            facts=[
                ("Started", _moment(session.startedAt)),
                ("Duration", seconds(export.timeline.durationMs) if export.timeline.durationMs else None),
                ("Steps", f"{len(steps):,}"),
                ("Events", f"{total:,}"),
                ("Screens", f"{self._screen_count:,}"),
                ("Package changes", f"{len(export.packageTransitions):,}"),
                ("Recorded by", session.operatorPackage),
            ],
            lists=lists,
            verdict=verdict,
            selected=selected,
        )

    # Events

    def _event_row(self, one: _SeenEvent) -> PageRow:
        event = one.event
        screen = one.before if one.screen == NO_SCREEN else one.screen
        facts = [(_FACT_NAMES.get(name, name), _value(getattr(event, name))) for name in _FIELDS[event.kind]]
        after = NO_SCREEN
        mark = _bounds(event)
        if event.kind == "window_change":
            screen, after = one.before, one.screen
        return self._builder.row(
            event.kind,
            _event_title(event),
            [("Event", f"{event.kind}, seq {event.seq}"), *facts],
            time=self._since_start(event.ts),
            package=getattr(event, "packageName", ""),
            screens=RowScreens(screen, after, mark),
        )

    def _since_start(self, ts: float) -> float | None:
        return None if self._start is None else ts - self._start

    # Steps

    def _own_events(self, step: DescribedStep) -> tuple[Sequence[_SeenEvent], int]:
        """The events of a step, and the position of its last one."""
        first = bisect_left(self._seqs, step.seq)
        last = max(bisect_right(self._seqs, step.lastSeq) - 1, first)
        return self._seen[first : last + 1], last

    def _step_row(self, step: DescribedStep) -> PageRow:
        own, last = self._own_events(step)
        text = "" if step.text is UNSET else step.text
        count = plural(step.events, "event")
        last_seq = f" to {step.lastSeq}" if step.lastSeq != step.seq else ""
        return self._builder.row(
            step.kind,
            step.sentence.removesuffix(f" ({step.confidence} confidence: {step.why or None})"),
            [
                ("Text entered", text if step.kind == "enter_text" else None),
                ("Text before", text if step.kind == "choose_suggestion" else None),
                ("Target", step.target or None),
                ("Resource id", step.resourceId or None),
                ("Package", step.packageName),
                ("Checkpoint", step.checkpoint or None),
                ("Confidence", None if step.confidence == "recorded" else f"{step.confidence}: {step.why or ''}"),
                ("Events", f"{count}, seq {step.seq}{last_seq}"),
            ],
            time=self._since_start(own[0].event.ts) if own else None,
            note="" if step.confidence == "recorded" else f"{step.confidence} confidence",
            package="" if step.kind in _KEYS else step.packageName,
            screens=self._step_screens(step, own, last),
            link=last + 1 - len(own) if own else -1,
        )

    def _step_screens(self, step: DescribedStep, own: Sequence[_SeenEvent], last: int) -> RowScreens:
        if not own:
            return RowScreens()
        click = next((one for one in own if isinstance(one.event, ClickFacts)), None)
        if click is None and step.kind in _WINDOWS:
            shown = next((one.screen for one in reversed(own) if one.screen != NO_SCREEN), NO_SCREEN)
            return RowScreens(own[0].before, shown)
        start = click or own[0]
        before = start.before if start.screen == NO_SCREEN else start.screen
        if click is None or step.kind not in _WINDOWS:
            after = self._next_screens[last + 1]
        else:
            after = next((one.screen for one in own[1:] if one.screen != NO_SCREEN), NO_SCREEN)
        return RowScreens(before, after, self._mark(step, before, click))

    def _mark(self, step: DescribedStep, screen: int, click: _SeenEvent | None) -> Mark | None:
        """What was touched: the bounds of the click, or else the node that the step names."""
        if click is not None:
            return _bounds(click.event)
        screens = self._builder.screens
        if step.kind in ("enter_text", "scroll") and step.resourceId and (name := id_name(step.resourceId)):
            return screens.find(screen, name=name)
        if step.kind == "enter_text":
            return screens.find(screen, kind="field", state="focused")
        return screens.find(screen, state="scrollable") if step.kind == "scroll" else None


def _next_screens(seen: Sequence[_SeenEvent]) -> list[int]:
    """For each event, and for the end, the first screen at or after it."""
    screens = [NO_SCREEN]
    for one in reversed(seen):
        screens.append(screens[-1] if one.screen == NO_SCREEN else one.screen)
    screens.reverse()
    return screens


def _bounds(event: EventFacts) -> Mark | None:
    if not isinstance(event, ClickFacts) or is_vanished(event):
        return None
    box = event.bounds
    edges = (box.left, box.top, box.right, box.bottom)
    left, top, right, bottom = (round(min(max(edge, 0), 100_000)) for edge in edges)
    return left, top, right, bottom


def _event_title(event: EventFacts) -> str:
    name = _EVENT_TITLES[event.kind]
    for field in ("text", "contentDesc", "title", "key", "resourceId", "className", "packageName"):
        value = getattr(event, field, None)
        if value and value.strip():
            return f"{name} {value}"
    return name


def _value(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value or None
    if isinstance(value, int | float):
        return f"{value}"
    edges = [getattr(value, edge) for edge in ("left", "top", "right", "bottom")]
    return "[{},{}][{},{}]".format(*edges)


def _moment(ms: float) -> str | None:
    if not 0 < ms < _YEAR_9999_MS:
        return None
    return f"{datetime.fromtimestamp(ms / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"
