"""The commands that record, and those that work on recordings."""

from clawperator.commands.model import BACKEND, PLAN, Command, Flag, switch

_SESSION = Flag("--session-id", "the session: letters, digits, _ and -", "<id>")
_INPUT = Flag("--input", "the recording", "<file>")
_OUT = Flag("--out", "where to write", "<file>")
_DEMONSTRATION = Flag("--input", "a recording, or what export wrote", "<file>")

RECORDING = Command(
    "recording",
    "Record, and work on recordings.",
    synonyms=("record",),
    subcommands=(
        Command(
            "start",
            "Start recording what happens on the phone.",
            flags=(_SESSION, *PLAN),
            examples=("clawperator recording start --session-id demo --dry-run",),
        ),
        Command(
            "stop",
            "Finish the running recording.",
            flags=(_SESSION, *PLAN),
            examples=("clawperator recording stop --session-id demo --dry-run",),
        ),
        Command(
            "pull",
            "Copy a finished recording from the phone.",
            flags=(_SESSION, Flag("--out", "folder to copy into, ./recordings/ if absent", "<folder>")),
            examples=("clawperator recording pull --session-id demo",),
        ),
        Command(
            "parse",
            "Write a short step log of a recording, for people.",
            flags=(_INPUT, _OUT),
            examples=("clawperator recording parse --input ./recordings/demo.ndjson",),
        ),
        Command(
            "describe",
            "Tell a demonstration in readable steps.",
            flags=(_DEMONSTRATION, Flag("--out", "where to write the document too", "<file>")),
            examples=("clawperator recording describe --input ./recordings/demo.ndjson",),
            notes="The document goes to stdout, the steps as lines of text to stderr.",
        ),
        Command(
            "export",
            "Write every event of a recording as one JSON document.",
            flags=(
                Flag("--input", "the recording, or a folder: its newest .ndjson", "<file|folder>"),
                _OUT,
                Flag("--snapshots", "whether to keep the XML snapshots, omit if absent", "<omit|include>"),
            ),
            examples=(
                "clawperator recording export --input ./recordings/demo.ndjson",
                "clawperator recording export --input ./recordings --snapshots include --out demo.export.json",
            ),
        ),
        Command(
            "compare",
            "Tell whether a run of a skill, or another recording, did what a recording showed.",
            flags=(
                Flag("--baseline", "what export wrote", "<export.json>"),
                Flag("--result", "the saved output of skills run --json, or another export", "<file>"),
                Flag("--mode", "auto, literal or semantic, auto if absent", "<mode>"),
                Flag(
                    "--strategy",
                    "how to find checkpoints: declared, derived or solax_heuristic",
                    "<strategy>",
                ),
                Flag(
                    "--checkpoints",
                    "declared checkpoints; compare-checkpoints.json beside the baseline if absent",
                    "<file>",
                ),
            ),
            examples=(
                "clawperator recording compare --baseline demo.export.json --result demo.skills-run.json",
                "clawperator recording compare --baseline demo.export.json --result demo.export.json",
            ),
            notes="Exit 0 for literal_match, semantic_match and outcome_matches_path_differs, else 1.",
        ),
        Command(
            "replay",
            "Do what a recording shows on a phone, and prove each step.",
            flags=(
                _DEMONSTRATION,
                Flag("--until", "the last event to replay, by its seq", "<seq>"),
                switch("--dry-run", "print the steps and their clues; no phone is needed"),
                switch("--allow-coordinates", "as a last resort, click where the recording did"),
                BACKEND,
                Flag("--out", "where to write the result too", "<file>"),
            ),
            examples=("clawperator recording replay --input ./recordings/demo.ndjson --dry-run",),
            notes="Exit 1 when a step could not be proved.",
        ),
        Command(
            "repair",
            "Save every whole event of a damaged recording into a new file.",
            flags=(Flag("--input", "the damaged recording; it stays as it is", "<file>"), _OUT),
            examples=("clawperator recording repair --input ./recordings/demo.ndjson",),
        ),
    ),
)
