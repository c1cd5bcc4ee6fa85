"""The references of each phone, kept in the product home: which number stands for which element.

A file holds fingerprints and labels, no content of fields, and only what was seen within the last hour. Numbers
only grow while one of them is kept, so a number does not stand for another element within that hour.
"""

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any
from zlib import crc32

import msgspec
from msgspec import Struct
from msgspec.structs import astuple, replace

from clawperator._base.files import AtomicFile, locked, make_private_folder, read_limited, why
from clawperator._base.home import has_config, product_home
from clawperator._base.typed import decode
from clawperator.contract.selectors import REFERENCE
from clawperator.device.adb.client import file_name
from clawperator.errors import ClawError
from clawperator.ui.outline import EarlierLine, Outline, earlier_lines
from clawperator.ui.refs import (
    MAX_ALIKE,
    ElementFingerprint,
    RegionPrint,
    ScreenPrint,
    find_same,
    fingerprints,
    is_same_page,
    masked_outline,
    stale_reference,
)

MAX_AGE_SECONDS = 3_600
MAX_ELEMENTS = 2_000
MAX_SNAPSHOTS = 32
_MAX_BYTES = 4 * 1024 * 1024
_MAX_NUMBER = 999_999_999
# What was seen later than this from now was written before the clock was set back.
_CLOCK_SECONDS = 60
_LOCK_SECONDS = 2.0
# A screen that was seen a moment ago is not written again: replacing a file costs some milliseconds.
FRESH_SECONDS = 60
_VERSION = 1
# After an unreadable file the numbers start here or later: it may have given out smaller ones.
_RESTART, _RESTART_RANGE = 10_000, 80_000


class _Element(Struct, frozen=True, array_like=True):
    """A numbered element. ``region`` and ``screen`` are positions in tables of the file."""

    number: int
    seen: int
    key: str
    texts: str
    role: str
    label: str
    alike: int
    alike_texts: int
    place: int
    is_fixed: bool
    bounds: tuple[int, int, int, int]
    region: int
    screen: int


class _Snapshot(Struct, frozen=True, array_like=True):
    """An outline that was shown: the number and checksum of each line.

    ``texts`` is the checksum of the static texts outside of its lists.
    """

    id: str
    seen: int
    lines: list[tuple[int, int]]
    texts: int = 0


class _File(Struct, frozen=True):
    version: int
    next: int
    regions: list[RegionPrint]
    screens: list[ScreenPrint]
    elements: list[_Element]
    snapshots: list[_Snapshot]


class _Known(Struct):
    """A numbered element while references are in memory."""

    seen: int
    fingerprint: ElementFingerprint


class References:
    """The references of one phone.

    ``now`` returns the time in seconds since the epoch. They are kept in ``folder``, by default in the product
    home.
    """

    def __init__(self, serial: str, now: Callable[[], float] = time.time, *, folder: str | None = None) -> None:
        self._path = os.path.join(folder or references_folder(), f"{file_name(serial)}.json")
        self._now = now
        self._next = 1
        self._elements: dict[int, _Known] = {}
        self._snapshots: dict[str, _Snapshot] = {}

    @property
    def secrets(self) -> Sequence[str]:
        """The declared secrets, which are masked in every screen that is kept or recognised."""
        if not has_config():
            return ()
        from clawperator._base.secrets import known_secrets

        return known_secrets()

    def assign(self, screen: Outline, snapshot_id: str | None = None) -> None:
        """Set the reference of each element: that of an earlier screen where it is the same element.

        Only a screen with a ``snapshot_id`` can be named in ``e12@<snapshot id>`` and compared with later ones.
        ``PRODUCT_HOME_UNAVAILABLE`` when the references cannot be kept.
        """
        try:
            make_private_folder(os.path.dirname(self._path))
            # After two seconds the file is used anyway: writes are atomic.
            with locked(f"{self._path}.lock", _LOCK_SECONDS):
                self._read()
                if self._number(screen, snapshot_id):
                    self._write()
        except OSError as e:
            code, message = "PRODUCT_HOME_UNAVAILABLE", f"cannot keep references in {self._path}: {why(e)}"
            hint = "Set CLAWPERATOR_HOME to a writable folder."
            raise ClawError(code, message, hint=hint, operation="references", target=self._path) from e

    def state(self) -> tuple[str | int, ...]:
        """What is different after every write of the file, also by other processes."""
        try:
            found = os.stat(self._path, follow_symlinks=False)
        except OSError:
            return (self._path,)
        return self._path, found.st_ino, found.st_mtime_ns, found.st_size

    def recognise(self, screen: Outline) -> None:
        """Set the references of the elements that an earlier screen had. Nothing is written."""
        self._read()
        if not self._elements:
            return
        live = fingerprints(masked_outline(screen, self.secrets))
        for element, number in zip(screen.elements, self._known_numbers(live), strict=True):
            element.ref = f"e{number}" if number else ""

    def lookup(self, ref: str) -> ElementFingerprint:
        """The element that ``e12`` or ``e12@s1a2b3c4d`` stands for; ``REF_STALE`` when there is none."""
        self._read()
        found = REFERENCE.fullmatch(ref)
        if found is None:
            raise stale_reference(ref, "is not a reference such as e12")
        number, snapshot_id = int(found[1][1:]), found[2]
        known = self._elements.get(number)
        if known is None:
            raise stale_reference(ref, "is unknown or too old")
        if snapshot_id is not None:
            snapshot = self._snapshots.get(snapshot_id)
            if snapshot is None:
                raise stale_reference(ref, "names a snapshot that is unknown or too old")
            if all(line[0] != number for line in snapshot.lines):
                raise stale_reference(ref, "is not in that snapshot")
            if known.fingerprint.is_fixed and snapshot.texts != _checksum(known.fingerprint.screen):
                raise stale_reference(ref, "was seen later on a page with other texts")
        return known.fingerprint

    def lines_of(self, snapshot_id: str) -> list[EarlierLine] | None:
        """The lines of an earlier outline; None when it is unknown or too old."""
        self._read()
        snapshot = self._snapshots.get(snapshot_id)
        if snapshot is None:
            return None
        lines = []
        for number, checksum in snapshot.lines:
            known = self._elements.get(number)
            role, label = (known.fingerprint.role, known.fingerprint.label) if known is not None else ("text", "")
            lines.append(EarlierLine(f"e{number}", checksum, role, label))
        return lines

    def _number(self, screen: Outline, snapshot_id: str | None) -> bool:
        """Number the elements. Returns whether there is something to keep that was not known a moment ago."""
        live = fingerprints(masked_outline(screen, self.secrets))
        count = len(self._elements)
        numbers = self._known_numbers(live)
        now = round(self._now())
        is_news = len(self._elements) != count
        for at, element in enumerate(screen.elements):
            if not numbers[at]:
                numbers[at] = self._next
                self._next += 1
            known = self._elements.get(numbers[at])
            if known is None or known.fingerprint != live[at] or not 0 <= now - known.seen <= FRESH_SECONDS:
                is_news = True
            self._elements[numbers[at]] = _Known(now, live[at])
            element.ref = f"e{numbers[at]}"
        if snapshot_id is None:
            return is_news
        lines = [(numbers[at], line.checksum) for at, line in enumerate(earlier_lines(screen))]
        earlier = self._snapshots.pop(snapshot_id, None)
        texts = _checksum(live[0].screen) if live else 0
        self._snapshots[snapshot_id] = made = _Snapshot(snapshot_id, now, lines, texts)
        return is_news or earlier is None or replace(earlier, seen=now) != made

    def _known_numbers(self, live: list[ElementFingerprint]) -> list[int]:
        """The number of each element that is known, else 0. Forgets known elements that are in doubt."""
        positions: dict[str, list[int]] = {}
        for at, one in enumerate(live):
            positions.setdefault(one.key, []).append(at)
        numbers = [0] * len(live)
        for number, known in sorted(self._elements.items(), key=lambda item: item[1].seen, reverse=True):
            alike = positions.get(known.fingerprint.key)
            if alike is None:
                continue
            same = find_same(known.fingerprint, live, alike)
            if same is not None:
                numbers[same] = numbers[same] or number
            elif _is_doubtful(known.fingerprint, live, alike):
                del self._elements[number]
        return numbers

    def _read(self) -> None:
        """Load the file. One that is damaged or not ours is ignored, and replaced by the next write."""
        self._next, self._elements, self._snapshots = 1, {}, {}
        try:
            if os.path.islink(self._path):
                raise ValueError("a link")  # noqa: TRY301 - like any other file that is not ours
            file = decode(read_limited(self._path, _MAX_BYTES), _File)
            self._load(file)
        except FileNotFoundError:
            return
        except (OSError, ValueError, IndexError):
            self._elements, self._snapshots = {}, {}
            self._next = _RESTART + int.from_bytes(os.urandom(4)) % _RESTART_RANGE

    def _load(self, file: _File) -> None:
        """``ValueError`` or ``IndexError`` when the content is not what this version writes."""
        if file.version != _VERSION:
            raise ValueError("another version")
        now = self._now()
        oldest, newest = now - MAX_AGE_SECONDS, now + _CLOCK_SECONDS
        is_in_use = False
        for one in file.elements:
            if not 1 <= one.number < file.next <= _MAX_NUMBER or one.region < 0 or one.screen < 0:
                raise ValueError("a number that was not given")
            region, screen = file.regions[one.region], file.screens[one.screen]
            is_in_use = is_in_use or one.seen >= oldest
            if oldest <= one.seen <= newest:
                parts = (one.key, one.texts, one.role, one.label, one.alike, one.alike_texts, one.place)
                fingerprint = ElementFingerprint(*parts, one.is_fixed, one.bounds, region, screen)
                self._elements[one.number] = _Known(one.seen, fingerprint)
        self._snapshots = {one.id: one for one in file.snapshots if oldest <= one.seen <= newest}
        if is_in_use:  # else no number was given within the hour
            self._next = file.next

    def _write(self) -> None:
        regions: dict[RegionPrint, int] = {}
        screens: dict[ScreenPrint, int] = {}
        latest = sorted(self._elements.items(), key=lambda item: (item[1].seen, item[0]), reverse=True)
        elements = []
        for number, known in latest[:MAX_ELEMENTS]:
            print_ = known.fingerprint
            region = regions.setdefault(print_.region, len(regions))
            screen = screens.setdefault(print_.screen, len(screens))
            parts: tuple[Any, ...] = (number, known.seen, *astuple(print_)[:-2], region, screen)
            elements.append(_Element(*parts))
        snapshots = list(self._snapshots.values())[-MAX_SNAPSHOTS:]
        file = _File(_VERSION, self._next, list(regions), list(screens), elements, snapshots)
        if os.path.islink(self._path) or (os.path.exists(self._path) and not os.path.isfile(self._path)):
            with suppress(OSError):
                os.unlink(self._path)
        with AtomicFile(self._path, private=True, follow_links=False) as out:
            out.file.write(msgspec.json.encode(file))


def references_folder() -> str:
    return os.path.join(product_home(), "references")


def _checksum(screen: ScreenPrint) -> int:
    return crc32(msgspec.json.encode(screen.texts))


def _is_doubtful(known: ElementFingerprint, live: list[ElementFingerprint], alike: list[int]) -> bool:
    """Whether a known element may be one of several on its page: then its reference is not used again."""
    if len(alike) > MAX_ALIKE:
        return True
    same_page = [at for at in alike if is_same_page(known, live[at])]
    if known.alike > 1 and known.alike_texts == 1:
        same_page = [at for at in same_page if live[at].texts == known.texts]
    return bool(same_page)
