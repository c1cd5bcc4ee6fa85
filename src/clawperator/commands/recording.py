"""The command that writes reports."""

from clawperator.commands.model import Command, Flag

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
COMMANDS = (REPORT,)
