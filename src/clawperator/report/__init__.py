"""Reports: one HTML file about a recording, a run, a replay, kept evidence or a failed test."""

# Type checkers know this name; importing it from typing would cost every command some milliseconds.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from clawperator.report.failed_test import CallRecorder, LastScreen, write_test_report
    from clawperator.report.screens import drawing_of
    from clawperator.report.write import ReportResult, write_report
else:
    from clawperator._lazy import lazy_exports

    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "failed_test": "CallRecorder LastScreen write_test_report",
            "screens": "drawing_of",
            "write": "ReportResult write_report",
        },
    )

__all__ = [
    "CallRecorder",
    "LastScreen",
    "ReportResult",
    "drawing_of",
    "write_report",
    "write_test_report",
]
