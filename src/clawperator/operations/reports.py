"""The operation that writes reports."""

from typing import TYPE_CHECKING, Annotated

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from clawperator.contract.fields import about
from clawperator.operations.model import LONG_SECONDS, FilePath, Params, operation

if TYPE_CHECKING:
    from clawperator.operations.call import Caller
    from clawperator.report.write import ReportResult


class ReportParams(Params, frozen=True, kw_only=True):
    """Write an HTML report of a recording, a run or kept evidence."""

    input: Annotated[
        FilePath, about("recording, export, saved run or evidence folder", word=1, metavar="<path>", path="in")
    ]
    compare: Annotated[
        FilePath | UnsetType,
        about(
            "compare the recording with this run: a saved skill run, a replay, a recording or an export",
            path="in",
        ),
    ] = UNSET
    out: Annotated[FilePath | UnsetType, about("output file (default: <path>.report.html)", path="out")] = UNSET


def _beside(params: ReportParams, _: "Caller") -> ReportParams:
    from clawperator.report.write import default_path

    return params if params.out else replace(params, out=default_path(params.input))


@operation(
    "report",
    "clawperator.report.write:ReportResult",
    level="act",
    subject="input",
    resolve=_beside,
    message=lambda result, caller: f"wrote the report to {caller.shown(result.outputFile)}",
    text="clawperator.cli.text.reports:report_blocks",
    route="POST /recordings/report",
    errors=("REPORT_FAILED",),
    seconds=LONG_SECONDS,
    examples=(
        "clawperator report ./recordings/demo.ndjson",
        "clawperator report ./recordings/demo.ndjson --compare run.json --out demo.html",
    ),
    notes="<path> is a recording (.ndjson), its export, the saved output of 'recording replay' or of 'skills run\n"
    "--json', or a folder that --evidence made. The report is one file and loads nothing from anywhere.\n"
    "Save a run to compare with 'clawperator skills run <id> > run.json'.",
)
def report(params: ReportParams, _: "Caller") -> "ReportResult":
    from clawperator.report.write import write_report

    return write_report(params.input, run=params.compare or None, out=params.out or None)
