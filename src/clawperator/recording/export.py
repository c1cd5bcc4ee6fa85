"""export: every event of a recording in one JSON document, the evidence for authoring and comparing.

The writer streams; ``read_export`` reads and validates a whole document.
"""

import os
import re
import stat
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import IO, Any, Generic, Literal, TypeVar, cast

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from clawperator._base.files import Spill, open_regular, why
from clawperator._base.secrets import known_secrets
from clawperator._base.text import whole
from clawperator.contract.limits import RECORDING_EXPORT_VERSION
from clawperator.errors import ClawError, ClawperatorException
from clawperator.recording.events import (
    FACTS,
    Click,
    ClickFacts,
    Event,
    EventFacts,
    Header,
    Number,
    PressKey,
    PressKeyFacts,
    Scroll,
    ScrollFacts,
    TextChangeFacts,
    WindowChangeFacts,
    has_snapshot,
    own_fields,
    whole_bounds,
)
from clawperator.recording.kinds import SnapshotMode
from clawperator.recording.masking import PasswordMasker
from clawperator.recording.reader import Progress, Recording, SeqGaps, unreadable
from clawperator.recording.writing import ListWriter, derived_path, open_output, pretty_json

# A list in a large JSON document, decoded page by page each time it is read
#
# It works for documents that are indented by two spaces, as ``export`` writes them. There a line end is never
# inside a string, so an element of a top-level list ends where a line closes an object at the second level.

T = TypeVar("T")

_PAGE = 1024 * 1024
_LIST_HEAD_BYTES = 64 * 1024
_NEXT, _LAST = b"\n    },\n", b"\n    }\n  ]"


class NotPagedError(ClawperatorException, ValueError):
    """The document is not indented in this way, or it is not valid."""


class PagedList(Generic[T]):
    """The elements of the list ``name``. Each iteration reads the file again; nothing of it is kept in memory.

    ``decode`` turns a JSON list into its elements. ``rest`` is the document with an empty list. All elements are
    read once when the object is created: an invalid list is found before the first use.
    """

    def __init__(self, file: IO[bytes], name: str, decode: Callable[[bytes], list[T]]) -> None:
        self._descriptor = os.dup(file.fileno())
        self._decode = decode
        start = b'\n  "%b": [' % name.encode()
        head = os.pread(self._descriptor, _LIST_HEAD_BYTES, 0)
        at = head.find(start)
        if at < 0:
            raise NotPagedError
        self._start = at + len(start)
        self._count = 0
        self._end = 0
        for page in self.pages():
            self._count += len(page)
        self.rest = head[: self._start] + self._tail()

    def __del__(self) -> None:
        os.close(self._descriptor)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[T]:
        for page in self.pages():
            yield from page

    def pages(self) -> Iterator[list[T]]:
        """The elements in lists of about a megabyte of JSON."""
        position, text = self._start, b""
        while True:
            block = os.pread(self._descriptor, _PAGE, position)
            position += len(block)
            searched = max(len(text) - len(_LAST), 0)
            text += block
            end = text.find(_LAST, searched)
            cut = end if end >= 0 else text.rfind(_NEXT, searched)
            if cut >= 0:
                cut += len(_NEXT) - len(b",\n")
                yield self._elements(text[:cut])
                if end >= 0:
                    self._end = position - len(text) + cut
                    return
                text = text[cut + 1 :]
            if not block:
                raise NotPagedError

    def _elements(self, text: bytes) -> list[T]:
        try:
            return self._decode(b"[" + text + b"]")
        except ValueError:
            raise NotPagedError from None

    def _tail(self) -> bytes:
        """The document after the last element."""
        pieces, position = [], self._end
        while block := os.pread(self._descriptor, _PAGE, position):
            pieces.append(block)
            position += len(block)
        return b"".join(pieces)


def _pages_of(elements: Iterable[T]) -> Iterable[Sequence[T]]:
    """The elements of a list that is in memory, or of a paged one, page by page."""
    if isinstance(elements, PagedList):
        return elements.pages()
    return (elements if isinstance(elements, Sequence) else list(elements),)


# Documents

# The difference of two 64-bit numbers may not fit 64 bits.
Difference = int | float


class Session(Struct, frozen=True):
    sessionId: str
    schemaVersion: Number
    startedAt: Number
    operatorPackage: str


class ExportedSnapshot(Struct, frozen=True, gc=False):
    present: bool
    xml: str | None


# The same two fields in each: a Struct has one base, so they cannot come from a second one.
class ExportedWindowChange(WindowChangeFacts, tag_field="type", tag="window_change", kw_only=True, gc=False):
    deltaMsSincePrevious: Difference | None
    snapshot: ExportedSnapshot


class ExportedClick(ClickFacts, tag_field="type", tag="click", kw_only=True, gc=False):
    deltaMsSincePrevious: Difference | None
    snapshot: ExportedSnapshot


class ExportedScroll(ScrollFacts, tag_field="type", tag="scroll", kw_only=True, gc=False):
    deltaMsSincePrevious: Difference | None
    snapshot: ExportedSnapshot


class ExportedPressKey(PressKeyFacts, tag_field="type", tag="press_key", kw_only=True, gc=False):
    deltaMsSincePrevious: Difference | None
    snapshot: ExportedSnapshot


class ExportedTextChange(TextChangeFacts, tag_field="type", tag="text_change", kw_only=True, gc=False):
    deltaMsSincePrevious: Difference | None
    snapshot: ExportedSnapshot


ExportedEvent = ExportedWindowChange | ExportedClick | ExportedScroll | ExportedPressKey | ExportedTextChange


class Counts(Struct, frozen=True):
    totalEvents: int
    byType: dict[str, int]


class PackageTransition(Struct, frozen=True):
    seq: Number
    ts: Number
    fromPackageName: str
    toPackageName: str


class Timeline(Struct, frozen=True):
    firstEventTs: Number | None
    lastEventTs: Number | None
    durationMs: Difference | None


class Export(Struct, frozen=True):
    """The document ``export`` writes."""

    exportVersion: Literal[1]
    session: Session
    snapshotMode: SnapshotMode
    events: list[ExportedEvent]
    counts: Counts
    packageTransitions: list[PackageTransition]
    timeline: Timeline


class ExportResult(Struct, frozen=True, kw_only=True):
    """The result of ``export``. ``warnings`` is present when events are missing."""

    ok: bool = True
    outputFile: str
    sessionId: str
    eventCount: int
    packageTransitionCount: int
    byType: dict[str, int]
    warnings: list[str] | UnsetType = UNSET


class _RowWriter:
    """The exported form of one event type: the fields of all events, then its own."""

    def __init__(self, facts: type[EventFacts]) -> None:
        own = own_fields(facts)
        names = ("seq", "ts", "deltaMsSincePrevious", "type", *own, "snapshot")
        self._make = msgspec.defstruct(f"{facts.kind}_row", [(name, Any) for name in names], gc=False)
        # The first name twice, so that the result is always a tuple.
        self._own: Callable[[EventFacts], tuple[Any, ...]] = attrgetter(own[0], *own)
        self._kind = facts.kind

    def __call__(self, event: Event, since: int | float | None, snapshot: ExportedSnapshot) -> Any:
        _, *own = self._own(event)
        if isinstance(event, Click):
            own[-1] = whole_bounds(event.bounds)
        elif isinstance(event, Scroll) and float in map(type, own):
            own[2:] = map(whole, own[2:])
        return self._make(event.seq, event.ts, since, self._kind, *own, snapshot)


_ROWS: Mapping[str, _RowWriter] = {facts.kind: _RowWriter(facts) for facts in FACTS}
_ABSENT = ExportedSnapshot(False, None)
_PRESENT = ExportedSnapshot(True, None)
_ODD_ESCAPE = re.compile(rb"\\[/u]")


class _Tally:
    """The counts and times at the end of the document."""

    def __init__(self) -> None:
        self.by_type: dict[str, int] = {}
        self.transitions = Spill()
        self.first: int | float | None = None
        self.last: int | float | None = None
        self._package: str | None = None

    def add(self, event: Event) -> int | float | None:
        """Count the event. Returns the time since the one before."""
        self.by_type[event.kind] = self.by_type.get(event.kind, 0) + 1
        if not isinstance(event, PressKey) and event.packageName != self._package:
            if self._package is not None:
                change = PackageTransition(event.seq, event.ts, self._package, event.packageName)
                self.transitions.append(b",\n    " + pretty_json(change, 2))
            self._package = event.packageName
        previous, self.last = self.last, event.ts
        if previous is None:
            self.first = event.ts
            return None
        return whole(event.ts - previous)

    def timeline(self) -> Timeline:
        if self.first is None or self.last is None:
            return Timeline(None, None, None)
        return Timeline(self.first, self.last, whole(self.last - self.first))


def export_recording(
    source: str, out: str | None = None, *, snapshots: SnapshotMode = "omit", progress: Progress | None = None
) -> ExportResult:
    """Write the export of a recording, or of the newest one in a folder."""
    source = newest_recording(source)
    target = out or derived_path(source, ".export.json")
    include = snapshots == "include"
    secrets = known_secrets()
    with (
        Recording(source, code="RECORDING_EXPORT_FAILED", progress=progress) as recording,
        open_output(target, source, "RECORDING_EXPORT_FAILED", make_folders=True) as result,
    ):
        write = result.file.write

        def build(events: Iterator[Event]) -> _Tally:
            result.restart()
            write(_head(recording.header, snapshots))
            tally = _Tally()
            listed = ListWriter(result.file)
            masker = PasswordMasker(secrets)
            for event in events:
                masker.mask(event)
                since = tally.add(event)
                present = has_snapshot(event) and len(event.snapshot) > len('""')
                row = _ROWS[event.kind](event, since, _PRESENT if present else _ABSENT)
                if include and present:
                    masker.mask_snapshot(event)
                    before, _, after = listed.text_of(row).rpartition(b"null")
                    listed.add_text(before, _normalised(event.snapshot), after)
                else:
                    listed.add(row)
            listed.end()
            return tally

        tally = recording.in_order(build)
        total = sum(tally.by_type.values())
        write(b',\n  "counts": ' + pretty_json(Counts(total, tally.by_type), 1))
        write(b',\n  "packageTransitions": [')
        tally.transitions.copy_to(result.file, skip=1)
        write(b"\n  ]" if tally.transitions.count else b"]")
        write(b',\n  "timeline": ' + pretty_json(tally.timeline(), 1) + b"\n}")
    return ExportResult(
        outputFile=target,
        sessionId=recording.header.sessionId,
        eventCount=total,
        packageTransitionCount=tally.transitions.count,
        byType=tally.by_type,
        warnings=recording.gaps.warnings() or UNSET,
    )


def _head(header: Header, snapshots: SnapshotMode) -> bytes:
    session = Session(header.sessionId, header.schemaVersion, header.startedAt, header.operatorPackage)
    head = {"exportVersion": RECORDING_EXPORT_VERSION, "session": session, "snapshotMode": snapshots}
    return pretty_json(head)[: -len(b"\n}")] + b',\n  "events": '


def _normalised(snapshot: Raw) -> Raw:
    """The JSON string as the reference writes it: only what must be escaped is."""
    if _ODD_ESCAPE.search(snapshot):
        return Raw(msgspec.json.encode(msgspec.json.decode(snapshot)))
    return snapshot


def newest_recording(path: str) -> str:
    """``path`` itself, or the newest ``*.ndjson`` of the folder it names; of equals the first by name."""
    try:
        if not stat.S_ISDIR(os.stat(path).st_mode):
            return path
        found = [
            (-entry.stat().st_mtime_ns, entry.name)
            for entry in os.scandir(path)
            if entry.name.endswith(".ndjson") and entry.is_file()
        ]
    except (OSError, ValueError) as e:
        raise unreadable(path, why(e), "RECORDING_EXPORT_FAILED") from e
    if not found:
        message = f"There is no .ndjson file in {path}"
        hint = "Pull a recording into this folder first, or pass the file itself."
        raise ClawError("RECORDING_EXPORT_FAILED", message, hint=hint, operation="read", target=path)
    return os.path.join(path, min(found)[1])


_EXPORT = msgspec.json.Decoder(Export)
_EVENTS = msgspec.json.Decoder(list[ExportedEvent])
# A larger export is not read into memory.
LARGE_BYTES = 16 * 1024 * 1024


def read_export(data: bytes) -> Export:
    """The export in ``data``; ``ValueError`` with the reason when it is none."""
    return decode_document(_EXPORT.decode, data)


def decode_document(decode: Callable[[bytes], T], data: bytes) -> T:
    """What a decoder of msgspec makes of a file; ``ValueError`` with the reason when it is invalid."""
    try:
        return decode(data)
    except UnicodeDecodeError:
        raise ValueError("not valid UTF-8") from None
    except msgspec.DecodeError as e:
        raise ValueError(str(e).replace("`", "")) from None
    except RecursionError:
        raise ValueError("nested too deeply") from None


_EXPORT_KEY = b'"exportVersion"'
# How much of a file shows what it is.
HEAD_BYTES = 4_096


def read_export_file(file: IO[bytes]) -> Export:
    """The export in a file, with declared secrets masked; ``ValueError`` with the reason when it is none.

    The events of a large one are read from the file whenever they are iterated over, and not kept in memory.
    """
    secrets = known_secrets()
    if os.fstat(file.fileno()).st_size > LARGE_BYTES:
        try:
            events = PagedList(file, "events", lambda page: _masked(_EVENTS.decode(page), secrets))
            rest = _masked(read_export(events.rest), secrets)
        except NotPagedError:
            pass  # formatted in another way, or invalid: the whole document shows which
        else:
            return msgspec.structs.replace(rest, events=cast("list[ExportedEvent]", events))
    return _masked(read_export(file.read()), secrets)


def _masked(document: T, secrets: Sequence[str]) -> T:
    if not secrets:
        return document
    from clawperator.ui.privacy import mask

    return mask(document, secrets)


def load_demonstration(path: str, *, snapshots: SnapshotMode = "omit") -> Export:
    """The export in ``path``, or the one of the recording there, with its snapshots when they are included."""
    try:
        with open_regular(path) as file:
            if is_export(file.read(HEAD_BYTES)):
                file.seek(0)
                return read_export_file(file)
        import tempfile

        with tempfile.TemporaryDirectory(prefix="clawperator-") as folder:
            out = os.path.join(folder, "export.json")
            export_recording(path, out, snapshots=snapshots)
            with open_regular(out) as file:
                return read_export_file(file)
    except OSError as e:
        raise unreadable(path, why(e), "RECORDING_PARSE_FAILED") from e
    except ValueError as e:
        raise ClawError(
            "RECORDING_PARSE_FAILED",
            f"{path} is not a valid recording export: {e}",
            hint="Give a recording, or its export.",
            details={"path": path, "reason": str(e)},
            operation="read",
            target=path,
        ) from None


def is_export(head: bytes) -> bool:
    """Whether a document begins like an export: its version comes early, where a recording has a header."""
    head = head[:HEAD_BYTES]
    return _EXPORT_KEY in head and b'"recording_header"' not in head.lstrip().partition(b"\n")[0]


class EventSurvey:
    """What is known of all events after they have passed: the missing ones, and the main package."""

    def __init__(self) -> None:
        self.gaps = SeqGaps()
        self._packages: Counter[str] = Counter()

    def watch(self, events: Iterable[ExportedEvent]) -> Iterator[ExportedEvent]:
        """The events; they are counted page by page, before the first of a page passes."""
        for page in _pages_of(events):
            self.gaps.add_page([event.seq for event in page])
            self._packages.update(_packages(page))
            yield from page

    @property
    def main_package(self) -> str | None:
        """The package most events belong to; of equals the one seen first."""
        return max(self._packages, key=self._packages.__getitem__) if self._packages else None


def main_package(events: Iterable[ExportedEvent]) -> str | None:
    """The package most events belong to; of equals the one seen first."""
    survey = EventSurvey()
    deque(survey.watch(events), maxlen=0)
    return survey.main_package


def _packages(events: Iterable[ExportedEvent]) -> list[str]:
    return [e.packageName for e in events if not isinstance(e, ExportedPressKey) and e.packageName]
