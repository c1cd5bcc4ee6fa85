"""Strategies for the checkpoints of a baseline: declared, derived, or the SolaX flow."""

from msgspec import Struct

from clawperator._base.text import trim
from clawperator.recording.export import (
    ExportedClick,
    ExportedEvent,
    ExportedPressKey,
    ExportedTextChange,
    ExportedWindowChange,
)

# A run may repeat its terminal verification under this id; it is not part of the path.
TERMINAL_CHECKPOINT = "terminal_state_verified"


class BaselineCheckpoint(Struct, frozen=True, gc=False):
    """One checkpoint of a demonstration, and the event that proves it; ``text`` is what a text change entered."""

    id: str
    seq: int | float
    event_type: str
    summary: str
    text: str | None = None


class FoundCheckpoints(Struct, frozen=True):
    """The checkpoints of a demonstration in order. ``problems`` are the reasons why nothing can be compared."""

    checkpoints: tuple[BaselineCheckpoint, ...]
    problems: tuple[str, ...] = ()


def event_summary(event: ExportedEvent) -> str:
    """One line that identifies the event of a checkpoint."""
    if isinstance(event, ExportedPressKey):
        return f"press_key:{event.key}"
    if isinstance(event, ExportedWindowChange):
        return f"window_change:{event.packageName}"
    names = [event.text, event.contentDesc] if isinstance(event, ExportedClick) else []
    labels = (trim(name).lower() for name in (*names, event.resourceId) if name)
    return f"{event.kind}:{event.packageName}:{next(filter(None, labels), f'seq-{event.seq}')}"


def baseline_checkpoint(name: str, event: ExportedEvent) -> BaselineCheckpoint:
    """The checkpoint that an event of an export proves."""
    text = event.text if isinstance(event, ExportedTextChange) else None
    return BaselineCheckpoint(name, event.seq, event.kind, event_summary(event), text)
