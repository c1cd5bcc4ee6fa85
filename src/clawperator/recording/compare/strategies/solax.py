"""The SolaX heuristic: the checkpoints of the solar app's discharge-limit flow.

The rules read the fields of each event, never the snapshots, so an export has the same checkpoints with and
without them.
"""

from collections.abc import Collection

from clawperator._base.text import is_blank
from clawperator.recording.compare.strategies.checkpoints import FoundCheckpoints, baseline_checkpoint
from clawperator.recording.export import (
    Export,
    ExportedClick,
    ExportedEvent,
    ExportedPressKey,
    ExportedTextChange,
    ExportedWindowChange,
    main_package,
)

SOLAR_PACKAGE = "com.solaxcloud.starter"
REQUIRED = ("app_opened", "discharge_to_row_focused", "target_text_entered", "save_completed")
MINIMUM_SEMANTIC_COVERAGE = 2


def find_solax_checkpoints(export: Export) -> FoundCheckpoints:
    """The checkpoints found in a demonstration, in the order of ``REQUIRED``. All of them must be found."""
    checkpoints = tuple(
        baseline_checkpoint(name, event)
        for name, event in zip(REQUIRED, _required_events(export), strict=True)
        if event is not None
    )
    if len(checkpoints) < len(REQUIRED):
        return FoundCheckpoints(checkpoints, (_problem(export, {c.id for c in checkpoints}),))
    return FoundCheckpoints(checkpoints)


def _problem(export: Export, found: Collection[str]) -> str:
    package = main_package(export.events)
    if package != SOLAR_PACKAGE:
        where = f"of {package}" if package else "of no app"
        return f"the demonstration is {where}, and the rules solax_heuristic are for {SOLAR_PACKAGE}"
    missing = [name for name in REQUIRED if name not in found]
    return f"the demonstration has no event for {', '.join(missing)}"


def _required_events(export: Export) -> tuple[ExportedEvent | None, ...]:
    """The event of each required checkpoint; None where there is none."""
    if main_package(export.events) != SOLAR_PACKAGE:
        return (None,) * len(REQUIRED)
    window = row = text = save = confirm = None
    for event in export.events:
        if isinstance(event, ExportedPressKey) or event.packageName != SOLAR_PACKAGE:
            continue
        if isinstance(event, ExportedWindowChange):
            window = window or event
        elif isinstance(event, ExportedTextChange):
            text = text if is_blank(event.text) else event
        elif isinstance(event, ExportedClick):
            row = row or (event if _mentions(event, "discharge") else None)
            save = event if _mentions(event, "save") else save
            confirm = event if _mentions(event, "confirm") else confirm
    return window, row, text, save or confirm


def _mentions(click: ExportedClick, word: str) -> bool:
    fields = (click.packageName, click.resourceId, click.text, click.contentDesc)
    return any(word in field.lower() for field in fields if field)
