"""Recordings: read, export, parse, describe, compare and repair what a user did on a phone.

Each public name is imported when it is first used, because a command needs few of them.
"""

from clawperator._lazy import TYPE_CHECKING, lazy_exports

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
else:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
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
        },
    )

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
