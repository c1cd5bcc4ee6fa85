"""Loading a cassette: a recording with snapshots, as events and screens for a simulated phone.

Every snapshot is parsed once, so that a damaged one is refused before the phone starts. It is then kept
compressed, and equal ones only once: most of a recording is the same screen again and again.
"""

import os
import zlib
from collections.abc import Iterable, Iterator, Mapping

import msgspec
from msgspec import Struct

from clawperator._base.files import open_regular, why
from clawperator.contract.action_params import PACKAGE_NAME
from clawperator.errors import ClawError
from clawperator.phone.core.windows import Display
from clawperator.recording.events import Event, EventFacts, has_snapshot
from clawperator.recording.export import ExportedEvent, read_export
from clawperator.recording.reader import Recording
from clawperator.ui.node import Bounds, Hierarchy
from clawperator.ui.parse import parse_hierarchy

MAX_FILE_BYTES = 64 * 1024 * 1024
MAX_EVENTS = 100_000
# The compressed screens of a real recording take about a tenth of this.
MAX_PACKED_BYTES = 64 * 1024 * 1024

_MIN_SIDE, _MAX_SIDE = 100, 8_192
_DEFAULT_DISPLAY = Display()
_HEADER = b'"recording_header"'
_HINT = "Run 'clawperator recording export --input <file> --snapshots include' to export one with snapshots."


class CassetteSnapshot(Struct, frozen=True):
    """One snapshot: its compressed XML, and the package, area and rotation of its first window."""

    packed: bytes
    package: str
    area: Bounds
    rotation: int

    def tree(self) -> Hierarchy:
        """A new tree of the snapshot."""
        return parse_hierarchy(zlib.decompress(self.packed))


class CassetteEvent(Struct, frozen=True):
    """One event, and the index of its snapshot."""

    facts: EventFacts
    snapshot: int | None


class Cassette(Struct, frozen=True):
    """A recording, ready to be played. ``events`` are in the order of ``seq``."""

    path: str
    session_id: str
    events: list[CassetteEvent]
    snapshots: list[CassetteSnapshot]
    display: Display


def load_cassette(path: str) -> Cassette:
    """Load a recording, or an export with snapshots; ``PHONE_CASSETTE_INVALID`` when it is neither."""
    try:
        size = os.path.getsize(path)
        if size > MAX_FILE_BYTES:
            raise _invalid(path, f"it has {size} bytes; a cassette has at most {MAX_FILE_BYTES}")
        with open_regular(path) as file:
            is_recording = _HEADER in file.readline(4_096)
        return _load_recording(path) if is_recording else _load_export(path)
    except (OSError, ValueError) as e:
        raise _invalid(path, why(e) if isinstance(e, OSError) else str(e)) from e
    except ClawError as e:
        if e.code == "PHONE_CASSETTE_INVALID":
            raise
        raise _invalid(path, e.message, e.details, e.hint) from e


def _load_recording(path: str) -> Cassette:
    with Recording(path) as recording:
        loader = recording.in_order(lambda events: _Loader(path, map(_with_xml, events)))
        return loader.cassette(recording.header.sessionId)


def _load_export(path: str) -> Cassette:
    with open_regular(path) as file:
        export = read_export(file.read(MAX_FILE_BYTES))
    if export.snapshotMode == "omit":
        raise _invalid(path, "it was exported without snapshots")
    events = sorted(export.events, key=lambda event: event.seq)
    return _Loader(path, ((event, event.snapshot.xml) for event in events)).cassette(export.session.sessionId)


def _with_xml(event: Event) -> tuple[Event, str | None]:
    return event, msgspec.json.decode(event.snapshot, type=str) if has_snapshot(event) else None


class _Loader:
    """One pass over the events, which separates them from their snapshots."""

    def __init__(self, path: str, events: Iterable[tuple[Event | ExportedEvent, str | None]]) -> None:
        self._path = path
        self._snapshots: list[CassetteSnapshot] = []
        self._known: dict[bytes, int | None] = {}
        self._packed = 0
        self._events = list(self._read(events))

    def cassette(self, session_id: str) -> Cassette:
        if not self._snapshots:
            raise _invalid(self._path, "no event has a snapshot")
        return Cassette(self._path, session_id, self._events, self._snapshots, self._display())

    def _read(self, events: Iterable[tuple[Event | ExportedEvent, str | None]]) -> Iterator[CassetteEvent]:
        for i, (event, xml) in enumerate(events):
            if i == MAX_EVENTS:
                raise _invalid(self._path, f"it has more than {MAX_EVENTS} events")
            yield CassetteEvent(_without_snapshot(event), self._index(event, xml) if xml else None)

    def _index(self, event: EventFacts, xml: str) -> int | None:
        """The index of a snapshot; None when it shows no window."""
        import hashlib

        raw = xml.encode("utf-8", "surrogatepass")
        digest = hashlib.blake2b(raw, digest_size=16).digest()
        if digest in self._known:
            return self._known[digest]
        try:
            tree = parse_hierarchy(raw)
        except ClawError as e:
            raise self._refusal(event, f": {e.message}", e) from e
        index = self._known[digest] = len(self._snapshots) if tree.roots else None
        if index is not None:
            self._snapshots.append(self._pack(event, raw, tree))
        return index

    def _pack(self, event: EventFacts, raw: bytes, tree: Hierarchy) -> CassetteSnapshot:
        root = tree.roots[0]
        package = root.package or str(getattr(event, "packageName", ""))
        if not PACKAGE_NAME.fullmatch(package):
            raise self._refusal(event, f" has an invalid package: {package[:80]!a}")
        packed = zlib.compress(raw, 1)
        self._packed += len(packed)
        if self._packed > MAX_PACKED_BYTES:
            raise _invalid(self._path, f"the screens up to event {event.seq} are too large")
        area = root.bounds
        if max(area.right, area.bottom) > _MAX_SIDE:
            raise self._refusal(event, f" has an impossible display size: {area}")
        return CassetteSnapshot(packed, package, area, tree.rotation % 4)

    def _refusal(self, event: EventFacts, problem: str, error: ClawError | None = None) -> ClawError:
        details = {"seq": event.seq, "type": event.kind, **((error.details or {}) if error is not None else {})}
        return _invalid(self._path, f"the snapshot of event {event.seq}{problem}", details)

    def _display(self) -> Display:
        """In natural orientation, as large as the largest window, with bars in proportion."""
        corners = [((s.area.right, s.area.bottom), s.rotation % 2) for s in self._snapshots]
        sides = [corner[::-1] if is_turned else corner for corner, is_turned in corners]
        width, height = (max(side) for side in zip(*sides, strict=True))
        if min(width, height) < _MIN_SIDE:
            return _DEFAULT_DISPLAY
        density = round(_DEFAULT_DISPLAY.density * min(width, height) / _DEFAULT_DISPLAY.natural_width)
        return Display(width, height, density, self._snapshots[0].rotation)


def _without_snapshot(event: Event | ExportedEvent) -> EventFacts:
    facts = next(base for base in type(event).__mro__[1:] if issubclass(base, EventFacts))
    return facts(**{name: getattr(event, name) for name in facts.__struct_fields__})


def _invalid(
    path: str, message: str, details: Mapping[str, object] | None = None, hint: str | None = None
) -> ClawError:
    code, message = "PHONE_CASSETTE_INVALID", f"{path}: {message}"
    return ClawError(code, message, hint=hint or _HINT, details=details, operation="load cassette", target=path)
