"""Cassettes: a recording with snapshots, read into the screens and steps of a phone that shows it again.

Every snapshot is read once, so that a damaged one is refused before the phone starts. It is then kept packed, and
alike ones only once: most of a recording is the same screen over and over.
"""

import os
import zlib
from collections.abc import Iterable, Iterator, Mapping

import msgspec
from msgspec import Struct

from clawperator._files import why
from clawperator.contract.actions import PACKAGE_NAME
from clawperator.errors import ClawError
from clawperator.phone.core.window import Display
from clawperator.recording.events import Event, EventFacts, PressKeyFacts, has_snapshot
from clawperator.recording.export import ExportedEvent, read_export
from clawperator.recording.reader import Recording
from clawperator.ui.node import Bounds, Hierarchy
from clawperator.ui.parse import parse_hierarchy

LARGEST_FILE = 64 * 1024 * 1024
MOST_EVENTS = 100_000
# Packed screens take about a tenth of this in any recording that a phone has made.
LARGEST_PACKED = 64 * 1024 * 1024

_SMALLEST_SIDE, _LARGEST_SIDE = 100, 8_192
_DEFAULT = Display()
_HEADER = b'"recording_header"'


class Shot(Struct, frozen=True):
    """One snapshot: its XML, packed, and what its first window says of itself."""

    packed: bytes
    package: str
    area: Bounds
    rotation: int

    def tree(self) -> Hierarchy:
        """A new tree of it."""
        return parse_hierarchy(zlib.decompress(self.packed))


class Row(Struct, frozen=True):
    """One event, and the number of its snapshot among the shots."""

    facts: EventFacts
    shot: int | None


class Cassette(Struct, frozen=True):
    """What a recording holds for a phone. ``rows`` are in the order of ``seq``."""

    path: str
    session_id: str
    rows: list[Row]
    shots: list[Shot]
    display: Display


def load_cassette(path: str) -> Cassette:
    """The cassette in a recording, or in an export with snapshots; ``PHONE_CASSETTE_INVALID`` says why not."""
    try:
        size = os.path.getsize(path)
        if size > LARGEST_FILE:
            raise _invalid(path, f"it has {size} bytes, and a cassette at most {LARGEST_FILE}")
        with open(path, "rb") as file:
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
        reel = recording.in_order(lambda events: _Reel(path, map(_with_xml, events)))
        return reel.cassette(recording.header.sessionId)


def _load_export(path: str) -> Cassette:
    with open(path, "rb") as file:
        export = read_export(file.read(LARGEST_FILE))
    if export.snapshotMode == "omit":
        raise _invalid(path, "it was exported without its snapshots")
    events = sorted(export.events, key=lambda event: event.seq)
    return _Reel(path, ((event, event.snapshot.xml) for event in events)).cassette(export.session.sessionId)


def _with_xml(event: Event) -> tuple[Event, str | None]:
    return event, msgspec.json.decode(event.snapshot, type=str) if has_snapshot(event) else None


class _Reel:
    """One pass over the events: rows without XML, and each different snapshot once."""

    def __init__(self, path: str, events: Iterable[tuple[Event | ExportedEvent, str | None]]) -> None:
        self._path = path
        self._shots: list[Shot] = []
        self._known: dict[bytes, int | None] = {}
        self._packed = 0
        self._rows = list(self._read(events))

    def cassette(self, session_id: str) -> Cassette:
        if not self._shots:
            raise _invalid(self._path, "no event of it has a snapshot")
        return Cassette(self._path, session_id, self._rows, self._shots, self._display())

    def _read(self, events: Iterable[tuple[Event | ExportedEvent, str | None]]) -> Iterator[Row]:
        for i, (event, xml) in enumerate(events):
            if i == MOST_EVENTS:
                raise _invalid(self._path, f"it has more than {MOST_EVENTS} events")
            yield Row(_bare(event), self._shot(event, xml) if xml else None)

    def _shot(self, event: EventFacts, xml: str) -> int | None:
        """The number of a snapshot. One that shows no window at all counts as none."""
        import hashlib

        raw = xml.encode("utf-8", "surrogatepass")
        name = hashlib.blake2b(raw, digest_size=16).digest()
        if name in self._known:
            return self._known[name]
        try:
            tree = parse_hierarchy(raw)
        except ClawError as e:
            raise _invalid(self._path, f"the snapshot of event {event.seq}: {e.message}", _at(event, e)) from e
        number = self._known[name] = len(self._shots) if tree.roots else None
        if number is not None:
            self._shots.append(self._pack(event, raw, tree))
        return number

    def _pack(self, event: EventFacts, raw: bytes, tree: Hierarchy) -> Shot:
        root = tree.roots[0]
        told = "" if isinstance(event, PressKeyFacts) else str(getattr(event, "packageName", ""))
        package = root.package or told
        if not PACKAGE_NAME.fullmatch(package):
            reason = f"the snapshot of event {event.seq} is of no package that could be: {package[:80]!a}"
            raise _invalid(self._path, reason, _at(event))
        packed = zlib.compress(raw, 1)
        self._packed += len(packed)
        if self._packed > LARGEST_PACKED:
            raise _invalid(self._path, f"up to event {event.seq} its screens are more than a phone can hold")
        area = root.bounds
        if max(area.right, area.bottom) > _LARGEST_SIDE:
            reason = f"the snapshot of event {event.seq} is of a display that could not be: {area}"
            raise _invalid(self._path, reason, _at(event))
        return Shot(packed, package, area, tree.rotation % 4)

    def _display(self) -> Display:
        """Upright, as large as the largest window, with bars in proportion."""
        sides = [
            (shot.area.bottom, shot.area.right) if shot.rotation % 2 else (shot.area.right, shot.area.bottom)
            for shot in self._shots
        ]
        width, height = (max(side) for side in zip(*sides, strict=True))
        if min(width, height) < _SMALLEST_SIDE:
            return _DEFAULT
        density = round(_DEFAULT.density * min(width, height) / _DEFAULT.natural_width)
        return Display(width, height, density, self._shots[0].rotation)


def _bare(event: Event | ExportedEvent) -> EventFacts:
    """The event without its snapshot."""
    facts = next(base for base in type(event).__mro__[1:] if issubclass(base, EventFacts))
    return facts(**{name: getattr(event, name) for name in facts.__struct_fields__})


def _at(event: EventFacts, error: ClawError | None = None) -> dict[str, object]:
    return {"seq": event.seq, "type": event.kind, **(error.details or {} if error is not None else {})}


def _invalid(
    path: str, message: str, details: Mapping[str, object] | None = None, hint: str | None = None
) -> ClawError:
    return ClawError(
        "PHONE_CASSETTE_INVALID",
        f"{path}: {message}",
        hint=hint or "Give a recording (.ndjson) with snapshots, or an export made with '--snapshots include'.",
        details=details,
        operation="load cassette",
        target=path,
    )
