"""The SolaX heuristic: the checkpoints of the solar app's discharge-limit flow.

The rules read the fields of each event, never the snapshots, so an export has the same checkpoints with and
without them.
"""

from collections.abc import Iterable
from typing import TypeVar

from clawperator._text import is_blank
from clawperator.recording.compare.strategies import BaselineCheckpoint, FoundCheckpoints, event_summary
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


def find_solax_checkpoints(export: Export) -> FoundCheckpoints:
    """The checkpoints found in a demonstration, in the order of ``REQUIRED``. All of them must be found."""
    checkpoints = tuple(
        BaselineCheckpoint(name, event.seq, event.kind, event_summary(event))
        for name, event in zip(REQUIRED, _required_events(export), strict=True)
        if event is not None
    )
    if len(checkpoints) < len(REQUIRED):
        return FoundCheckpoints(
            checkpoints, (f"only {len(checkpoints)} of {len(REQUIRED)} checkpoints were found",)
        )
    return FoundCheckpoints(checkpoints)


def _required_events(export: Export) -> tuple[ExportedEvent | None, ...]:
    """The event of each required checkpoint; None where there is none."""
    if main_package(export.events) != SOLAR_PACKAGE:
        return (None,) * len(REQUIRED)
    events = [e for e in export.events if not isinstance(e, ExportedPressKey) and e.packageName == SOLAR_PACKAGE]
    clicks = [e for e in events if isinstance(e, ExportedClick)]
    texts = [e for e in events if isinstance(e, ExportedTextChange) and not is_blank(e.text)]
    return (
        _first(e for e in events if isinstance(e, ExportedWindowChange)),
        _first(e for e in clicks if _mentions(e, "discharge")),
        _first(reversed(texts)),
        _first(e for e in reversed(clicks) if _mentions(e, "save"))
        or _first(e for e in reversed(clicks) if _mentions(e, "confirm")),
    )


def _mentions(click: ExportedClick, word: str) -> bool:
    fields = (click.packageName, click.resourceId, click.text, click.contentDesc)
    return any(word in field.lower() for field in fields if field)


def _first(events: Iterable[T]) -> T | None:
    return next(iter(events), None)
