"""Commands that record on a device, process recordings, and write reports."""

from clawperator.commands.actions import RECORDING_ACTIONS
from clawperator.commands.model import BACKEND, EVIDENCE, JUNIT, Command, Flag, switch

_HANDLERS = "clawperator.cli.handlers.recording:"
_INPUT = Flag("--input", "recording", "<file>", path="in")
_OUT = Flag("--out", "output file", "<file>", path="out", beside="--input")
_DEMONSTRATION = Flag("--input", "recording or export", "<file>", path="in")

RECORDING = Command(
    "recording",
    "Record on a device and process recordings.",
    synonyms=("record",),
    subcommands=(
        *RECORDING_ACTIONS,
        Command(
            "pull",
            "Copy a finished recording from the device.",
            flags=(
                Flag("--session-id", "recording id: letters, digits, _ and -", "<id>"),
                Flag("--out", "output folder (default: ./recordings/)", "<folder>", path="out"),
            ),
            examples=("clawperator recording pull --session-id demo",),
            handler=_HANDLERS + "pull",
            level="act",
            tools=("recording_pull",),
            subject="--session-id",
        ),
        Command(
            "parse",
            "Write a compact step log of a recording.",
            flags=(_INPUT, _OUT),
            examples=("clawperator recording parse --input ./recordings/demo.ndjson",),
            handler=_HANDLERS + "parse",
            level="act",
            tools=("recording_parse",),
            subject="--input",
        ),
        Command(
            "describe",
            "Describe a recording in readable steps.",
            flags=(_DEMONSTRATION, Flag("--out", "also write the document to this file", "<file>", path="out")),
            examples=("clawperator recording describe --input ./recordings/demo.ndjson",),
            notes="Prints the document to stdout and one line per step to stderr.",
            handler=_HANDLERS + "describe",
            level="read-only",
            raised_by={"--out": "act"},
            tools=("recording_describe",),
            subject="--input",
        ),
        Command(
            "export",
            "Export every event of a recording as one JSON document.",
            flags=(
                Flag("--input", "recording, or a folder: its newest .ndjson", "<file|folder>", path="in"),
                _OUT,
                Flag(
                    "--snapshots",
                    "omit or include the XML snapshots (default: omit)",
                    "<omit|include>",
                    choices=("omit", "include"),
                ),
            ),
            examples=(
                "clawperator recording export --input ./recordings/demo.ndjson",
                "clawperator recording export --input ./recordings --snapshots include --out demo.export.json",
            ),
            handler=_HANDLERS + "export",
            level="act",
            tools=("recording_export",),
            subject="--input",
        ),
        Command(
            "compare",
            "Compare a skill run, or another recording, with a baseline recording.",
            flags=(
                Flag("--baseline", "export of the baseline recording", "<export.json>", path="in"),
                Flag("--result", "saved output of 'skills run --json', or another export", "<file>", path="in"),
                Flag(
                    "--mode",
                    "auto, literal or semantic (default: auto)",
                    "<mode>",
                    choices=("auto", "literal", "semantic"),
                ),
                Flag(
                    "--strategy",
                    "checkpoint strategy: declared, derived or solax_heuristic",
                    "<strategy>",
                    choices=("declared", "derived", "solax_heuristic"),
                ),
                Flag(
                    "--checkpoints",
                    "declared checkpoints (default: compare-checkpoints.json beside the baseline)",
                    "<file>",
                    path="in",
                ),
            ),
            examples=(
                "clawperator recording compare --baseline demo.export.json --result demo.skills-run.json",
                "clawperator recording compare --baseline demo.export.json --result demo.export.json",
            ),
            notes="Exit 0 for literal_match, semantic_match and outcome_matches_path_differs, else 1.",
            handler=_HANDLERS + "compare",
            level="read-only",
            tools=("recording_compare",),
            subject="--baseline",
        ),
        Command(
            "replay",
            "Replay a recording on a device and verify each step.",
            flags=(
                _DEMONSTRATION,
                Flag("--until", "seq of the last event to replay", "<seq>"),
                switch("--dry-run", "print the steps and their targets; needs no device"),
                switch("--keep-apps", "do not close the apps that the recording opens before the first step"),
                switch("--allow-coordinates", "click the recorded position when no target is found"),
                BACKEND,
                Flag("--out", "also write the result to this file", "<file>", path="out"),
                JUNIT,
                EVIDENCE,
            ),
            examples=("clawperator recording replay --input ./recordings/demo.ndjson --dry-run",),
            notes="The apps that the recording opens are closed first, so that they start at their first page.\n"
            "Their data stay. Exit 1 when a step could not be verified.",
            handler="clawperator.cli.handlers.replay:replay_recording",
            level="act",
            tools=("recording_replay",),
            subject="--input",
        ),
        Command(
            "repair",
            "Copy every complete event of a damaged recording to a new file.",
            flags=(Flag("--input", "damaged recording; it is not modified", "<file>", path="in"), _OUT),
            examples=("clawperator recording repair --input ./recordings/demo.ndjson",),
            handler=_HANDLERS + "repair",
            level="act",
            subject="--input",
        ),
    ),
)

REPORT = Command(
    "report",
    "Write an HTML report of a recording, a run or kept evidence.",
    "<path>",
    flags=(
        Flag(
            "--compare",
            "compare the recording with this run: a saved 'skills run --json', a replay, a recording or an export",
            "<file>",
            path="in",
        ),
        Flag("--out", "output file (default: <path>.report.html)", "<file>", path="out", beside="<path>"),
    ),
    examples=(
        "clawperator report ./recordings/demo.ndjson",
        "clawperator report ./recordings/demo.ndjson --compare demo.skills-run.json --out demo.html",
    ),
    notes=(
        "<path> is a recording (.ndjson), its export, the saved output of 'recording replay' or of 'skills run\n"
        "--json', or a folder that --evidence made. The report is one file and loads nothing from anywhere."
    ),
    handler="clawperator.cli.handlers.report:report",
    level="act",
    word_path="in",
)
