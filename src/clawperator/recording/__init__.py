"""Recordings: read, export, parse, describe, compare and repair what a user did on a phone.

Each public name is imported when it is first used, because a command needs few of them.
"""

# Type checkers know this name; importing it from typing would cost every command some milliseconds.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from clawperator.recording.actions import CAUSED_WITHIN_MS, ActionReader, read_actions
    from clawperator.recording.check import recording_warnings
    from clawperator.recording.compare.alignment import AlignmentRow
    from clawperator.recording.compare.compare import MATCHES, MODES, SUMMARIES, CompareReport, compare_recording
    from clawperator.recording.compare.inputs import STRATEGIES, declaration_beside
    from clawperator.recording.compare.step_by_step import StepComparison, compare_step_by_step
    from clawperator.recording.compare.strategies import BaselineCheckpoint
    from clawperator.recording.compare.strategies.declared import Declaration
    from clawperator.recording.compare.strategies.derived import checkpoint_sentence, derive_checkpoints
    from clawperator.recording.compare.strategies.solax import REQUIRED, SOLAR_PACKAGE
    from clawperator.recording.describe import (
        DescribedStep,
        Description,
        Narrative,
        describe_file,
        describe_recording,
        described_steps,
    )
    from clawperator.recording.events import (
        FACTS,
        ClickFacts,
        Event,
        EventFacts,
        Header,
        InvalidLineError,
        Number,
        ScrollFacts,
        TextChangeFacts,
        decode_event,
        has_snapshot,
        own_fields,
    )
    from clawperator.recording.export import (
        SNAPSHOT_MODES,
        Export,
        ExportedClick,
        ExportedEvent,
        ExportedTextChange,
        ExportResult,
        export_recording,
        is_export,
        load_demonstration,
        newest_recording,
        read_export,
    )
    from clawperator.recording.gaps import SeqGaps
    from clawperator.recording.heuristics import SYSTEM_UI, NavigationKey, id_name, is_keyboard, is_launcher
    from clawperator.recording.listing import ListedRecording, list_recordings
    from clawperator.recording.masking import PasswordMasker, is_hint, mask_screen, mask_text
    from clawperator.recording.parse import ParseResult, StepLog, parse_recording
    from clawperator.recording.reader import Recording
    from clawperator.recording.repair import RepairResult, repair_recording
    from clawperator.recording.user_actions import (
        AppOpened,
        Direction,
        UserAction,
        UserKey,
        UserScroll,
        UserTap,
        UserText,
        WindowShown,
    )
    from clawperator.recording.writing import derived_path, open_output, pretty_json
else:
    from clawperator._lazy import lazy_exports

    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "actions": "ActionReader CAUSED_WITHIN_MS read_actions",
            "check": "recording_warnings",
            "compare.alignment": "AlignmentRow",
            "compare.compare": "CompareReport MATCHES MODES SUMMARIES compare_recording",
            "compare.inputs": "STRATEGIES declaration_beside",
            "compare.step_by_step": "StepComparison compare_step_by_step",
            "compare.strategies": "BaselineCheckpoint",
            "compare.strategies.declared": "Declaration",
            "compare.strategies.derived": "checkpoint_sentence derive_checkpoints",
            "compare.strategies.solax": "REQUIRED SOLAR_PACKAGE",
            "describe": "DescribedStep Description Narrative describe_file describe_recording described_steps",
            "events": (
                "ClickFacts Event EventFacts FACTS Header InvalidLineError Number ScrollFacts TextChangeFacts "
                "decode_event has_snapshot own_fields"
            ),
            "export": (
                "Export ExportResult ExportedClick ExportedEvent ExportedTextChange SNAPSHOT_MODES "
                "export_recording is_export load_demonstration newest_recording read_export"
            ),
            "gaps": "SeqGaps",
            "heuristics": "NavigationKey SYSTEM_UI id_name is_keyboard is_launcher",
            "listing": "ListedRecording list_recordings",
            "masking": "PasswordMasker is_hint mask_screen mask_text",
            "parse": "ParseResult StepLog parse_recording",
            "reader": "Recording",
            "repair": "RepairResult repair_recording",
            "user_actions": "AppOpened Direction UserAction UserKey UserScroll UserTap UserText WindowShown",
            "writing": "derived_path open_output pretty_json",
        },
    )

__all__ = [
    "CAUSED_WITHIN_MS",
    "FACTS",
    "MATCHES",
    "MODES",
    "REQUIRED",
    "SNAPSHOT_MODES",
    "SOLAR_PACKAGE",
    "STRATEGIES",
    "SUMMARIES",
    "SYSTEM_UI",
    "ActionReader",
    "AlignmentRow",
    "AppOpened",
    "BaselineCheckpoint",
    "ClickFacts",
    "CompareReport",
    "Declaration",
    "DescribedStep",
    "Description",
    "Direction",
    "Event",
    "EventFacts",
    "Export",
    "ExportResult",
    "ExportedClick",
    "ExportedEvent",
    "ExportedTextChange",
    "Header",
    "InvalidLineError",
    "ListedRecording",
    "Narrative",
    "NavigationKey",
    "Number",
    "ParseResult",
    "PasswordMasker",
    "Recording",
    "RepairResult",
    "ScrollFacts",
    "SeqGaps",
    "StepComparison",
    "StepLog",
    "TextChangeFacts",
    "UserAction",
    "UserKey",
    "UserScroll",
    "UserTap",
    "UserText",
    "WindowShown",
    "checkpoint_sentence",
    "compare_recording",
    "compare_step_by_step",
    "declaration_beside",
    "decode_event",
    "derive_checkpoints",
    "derived_path",
    "describe_file",
    "describe_recording",
    "described_steps",
    "export_recording",
    "has_snapshot",
    "id_name",
    "is_export",
    "is_hint",
    "is_keyboard",
    "is_launcher",
    "list_recordings",
    "load_demonstration",
    "mask_screen",
    "mask_text",
    "newest_recording",
    "open_output",
    "own_fields",
    "parse_recording",
    "pretty_json",
    "read_actions",
    "read_export",
    "recording_warnings",
    "repair_recording",
]
