"""The report of a recording or of its export: steps, events, and the comparison with a run."""

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice

import msgspec
from msgspec import UNSET, Struct

from clawperator._base.files import open_regular
from clawperator.recording.actions import read_actions
from clawperator.recording.compare.step_by_step import StepComparison, compare_step_by_step
from clawperator.recording.describe import DescribedStep, described_steps
from clawperator.recording.events import FACTS, ClickFacts, Event, EventFacts, has_snapshot, own_fields
from clawperator.recording.export import Export, is_export, load_demonstration
from clawperator.recording.heuristics import id_name
from clawperator.recording.masking import PasswordMasker
from clawperator.recording.reader import Recording, SeqGaps
from clawperator.report.builder import MAX_ROWS, PageBuilder, ReportParts, RowScreens
from clawperator.report.comparison import Comparison, RecordedRows, RunScreens, kept_screens
from clawperator.report.page import NO_SCREEN, Mark, PageList, PageRow, filled, plural, seconds
from clawperator.report.screens import ScreenTable

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
_HEAD_BYTES = 4_096
_YEAR_9999_MS = 253_402_300_800_000


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
    if _is_export(path):
        return list(_see(((event, event.snapshot.xml) for event in export.events), builder.screens))
    with Recording(path) as recording:
        return recording.in_order(lambda events: list(_see(map(_with_xml, events), builder.screens)))


def _is_export(path: str) -> bool:
    with open_regular(path) as file:
        return is_export(file.read(_HEAD_BYTES))


def _with_xml(event: Event) -> tuple[EventFacts, str | None]:
    return event, msgspec.json.decode(event.snapshot, type=str) if has_snapshot(event) else None


def _see(events: Iterable[tuple[EventFacts, str | None]], screens: ScreenTable) -> Iterator[_SeenEvent]:
    """The first events, masked, with their screens."""
    masker = PasswordMasker()
    before = NO_SCREEN
    for event, xml in islice(events, MAX_ROWS):
        masker.mask_event(event, xml)
        screen = screens.add(None if xml is None else masker.mask_xml(xml))
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
            builder.warnings.append(self._why_no_screens())
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

    def _why_no_screens(self) -> str:
        if any(event.snapshot.present for event in self._export.events):
            return "The export was written without snapshots. Report the recording itself to see its screens."
        return "The recording has no snapshots, so there are no screens to show."

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
                (
                    "Events",
                    f"{count}, seq {step.seq}" + (f" to {step.lastSeq}" if step.lastSeq != step.seq else ""),
                ),
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
    if not isinstance(event, ClickFacts):
        return None
    box = event.bounds
    edges = (box.left, box.top, box.right, box.bottom)
    if box.right <= box.left or box.bottom <= box.top:
        return None
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
