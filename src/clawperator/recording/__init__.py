"""Evidence: what a person did on a phone, read from disk, exported, told, compared and repaired.

These names are the room's public face. Each is imported when it is first asked for, because a command
needs one of them and start-up counts.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clawperator.recording.compare.compare import CompareReport, compare_recording
    from clawperator.recording.compare.strategies.derived import derive_checkpoints
    from clawperator.recording.describe import Narrative, describe_recording
    from clawperator.recording.export import (
        Export,
        ExportResult,
        export_recording,
        load_demonstration,
        read_export,
    )
    from clawperator.recording.parse import ParseResult, parse_recording
    from clawperator.recording.reader import Recording
    from clawperator.recording.repair import RepairResult, repair_recording

_HOMES = {
    "CompareReport": "compare.compare",
    "Export": "export",
    "ExportResult": "export",
    "Narrative": "describe",
    "ParseResult": "parse",
    "Recording": "reader",
    "RepairResult": "repair",
    "compare_recording": "compare.compare",
    "derive_checkpoints": "compare.strategies.derived",
    "describe_recording": "describe",
    "export_recording": "export",
    "load_demonstration": "export",
    "parse_recording": "parse",
    "read_export": "export",
    "repair_recording": "repair",
}

__all__ = [
    "CompareReport",
    "Export",
    "ExportResult",
    "Narrative",
    "ParseResult",
    "Recording",
    "RepairResult",
    "compare_recording",
    "derive_checkpoints",
    "describe_recording",
    "export_recording",
    "load_demonstration",
    "parse_recording",
    "read_export",
    "repair_recording",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
