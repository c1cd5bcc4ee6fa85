"""The checkpoints of the solar app's discharge-limit flow, found in the export of its demonstration.

The rules look at what each event says of itself, never into snapshots, so an export with and one without them
have the same checkpoints.
"""

from collections.abc import Iterable
from typing import TypeVar

from msgspec import Struct

from clawperator._text import is_blank, trim
from clawperator.recording.export import (
    Export,
    ExportedClick,
    ExportedEvent,
    ExportedPressKey,
    ExportedTextChange,
    ExportedWindowChange,
    main_package,
)

T = TypeVar("T")

SOLAR_PACKAGE = "com.solaxcloud.starter"
REQUIRED = ("app_opened", "discharge_to_row_focused", "target_text_entered", "save_completed")
MINIMUM_SEMANTIC_COVERAGE = 2
# A run may repeat its terminal verification under this id; it is no step of the path.
VERIFIED_ELSEWHERE = "terminal_state_verified"


class BaselineCheckpoint(Struct, frozen=True, gc=False):
    id: str
    seq: int | float
    event_type: str
    summary: str


class Baseline(Struct, frozen=True):
    package: str | None
    checkpoints: tuple[BaselineCheckpoint, ...]


def baseline_of(export: Export) -> Baseline:
    """The app a demonstration is about, and the checkpoints found in it, in the order of ``REQUIRED``."""
    package = main_package(export.events)
    if package != SOLAR_PACKAGE:
        return Baseline(package, ())
    events = [e for e in export.events if not isinstance(e, ExportedPressKey) and e.packageName == package]
    clicks = [e for e in events if isinstance(e, ExportedClick)]
    typed = [e for e in events if isinstance(e, ExportedTextChange) and not is_blank(e.text)]
    found: tuple[ExportedEvent | None, ...] = (
        _first(e for e in events if isinstance(e, ExportedWindowChange)),
        _first(e for e in clicks if _mentions(e, "discharge")),
        _first(reversed(typed)),
        _first(e for e in reversed(clicks) if _mentions(e, "save"))
        or _first(e for e in reversed(clicks) if _mentions(e, "confirm")),
    )
    return Baseline(
        package,
        tuple(
            BaselineCheckpoint(name, event.seq, event.kind, summarise(event))
            for name, event in zip(REQUIRED, found, strict=True)
            if event is not None
        ),
    )


def summarise(event: ExportedEvent) -> str:
    """One line that tells a person which event a checkpoint is."""
    if isinstance(event, ExportedPressKey):
        return f"press_key:{event.key}"
    if isinstance(event, ExportedWindowChange):
        return f"window_change:{event.packageName}"
    named = [event.text, event.contentDesc] if isinstance(event, ExportedClick) else []
    labels = (trim(name).lower() for name in (*named, event.resourceId) if name)
    return f"{event.kind}:{event.packageName}:{next(filter(None, labels), f'seq-{event.seq}')}"


def _mentions(click: ExportedClick, word: str) -> bool:
    said = (click.packageName, click.resourceId, click.text, click.contentDesc)
    return any(word in part.lower() for part in said if part)


def _first(events: Iterable[T]) -> T | None:
    return next(iter(events), None)
