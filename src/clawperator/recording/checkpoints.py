"""The checkpoints a demonstration stands for, found in its export.

One strategy exists: the rules for the solar app's discharge-limit flow. It looks at what each event says
of itself, never into snapshots, so an export with and one without them have the same checkpoints.
"""

from collections import Counter
from collections.abc import Iterable

from msgspec import Struct

from clawperator.contract.text import is_blank, trim
from clawperator.recording.export import Export, ExportedEvent

STRATEGY = "solax_heuristic"
SOLAR_PACKAGE = "com.solaxcloud.starter"
REQUIRED = ("app_opened", "discharge_to_row_focused", "target_text_entered", "save_completed")
MINIMUM_SEMANTIC_COVERAGE = 2


class BaselineCheckpoint(Struct, frozen=True):
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
    own = [e for e in export.events if e.packageName == package]
    clicks = [e for e in own if e.type == "click"]
    found = (
        _first(e for e in own if e.type == "window_change"),
        _first(e for e in clicks if _mentions(e, "discharge")),
        _first(e for e in reversed(own) if e.type == "text_change" and not is_blank(str(e.text))),
        _first(e for e in reversed(clicks) if _mentions(e, "save"))
        or _first(e for e in reversed(clicks) if _mentions(e, "confirm")),
    )
    return Baseline(
        package,
        tuple(
            BaselineCheckpoint(name, event.seq, event.type, summarise(event))
            for name, event in zip(REQUIRED, found, strict=True)
            if event is not None
        ),
    )


def main_package(events: Iterable[ExportedEvent]) -> str | None:
    """The package most events belong to; of equals the one seen first."""
    counts = Counter(e.packageName for e in events if isinstance(e.packageName, str) and e.packageName)
    return max(counts, key=counts.__getitem__) if counts else None


def summarise(event: ExportedEvent) -> str:
    """One line that tells a person which event a checkpoint is."""
    if event.type == "press_key":
        return f"press_key:{event.key}"
    if event.type == "window_change":
        return f"window_change:{event.packageName}"
    named = (event.text, event.contentDesc, event.resourceId) if event.type == "click" else (event.resourceId,)
    labels = (trim(name).lower() for name in named if isinstance(name, str))
    return f"{event.type}:{event.packageName}:{next(filter(None, labels), f'seq-{event.seq}')}"


def _mentions(event: ExportedEvent, word: str) -> bool:
    said = (event.packageName, event.resourceId, event.text, event.contentDesc)
    return any(word in part.lower() for part in said if isinstance(part, str))


def _first(events: Iterable[ExportedEvent]) -> ExportedEvent | None:
    return next(iter(events), None)
