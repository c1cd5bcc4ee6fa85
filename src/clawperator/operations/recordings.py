"""Operations on recordings: pull, parse, describe, export, compare, replay, repair."""

from typing import TYPE_CHECKING, Annotated, TypeVar

from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import replace

from clawperator.contract.fields import about
from clawperator.contract.limits import MAX_ID_LENGTH
from clawperator.errors import ClawError
from clawperator.operations.model import (
    FAMILIES,
    LONG_SECONDS,
    EvidenceFolder,
    Family,
    FilePath,
    JunitFile,
    Params,
    Rule,
    operation,
)
from clawperator.recording.kinds import CompareMode, CompareStrategy, SnapshotMode

if TYPE_CHECKING:
    from clawperator.device.recordings import PulledRecording
    from clawperator.operations.call import Caller
    from clawperator.recording.compare.compare import CompareReport
    from clawperator.recording.describe import Description
    from clawperator.recording.export import ExportResult
    from clawperator.recording.listing import RecordingList
    from clawperator.recording.parse import ParseResult
    from clawperator.recording.repair import RepairResult
    from clawperator.replay.report import ReplayPlan, ReplayReport

_MIN_SECONDS = 1.0
_TEXT = "clawperator.cli.text.reports:"

FAMILIES["recording"] = Family(
    "Record on a device and process recordings.", ("record",), ("recording start", "recording stop")
)

T = TypeVar("T")
SessionId = Annotated[str, Meta(max_length=MAX_ID_LENGTH)]
Seq = Annotated[float, Meta(ge=0)]


class ListParams(Params, frozen=True, kw_only=True):
    """List recordings, the newest first."""

    folder: Annotated[FilePath, about("folder with recordings", word=1, path="in", rare=True)] = "recordings"


@operation(
    "recording list",
    "clawperator.recording.listing:RecordingList",
    level="read-only",
    subject="folder",
    message=lambda result, _: f"{result.count} recordings",
    text=_TEXT + "recordings_blocks",
    route="GET /recordings",
    errors=("FILESYSTEM_FAILED",),
    tool="recording",
)
def list_all(params: ListParams, _: "Caller") -> "RecordingList":
    from clawperator.recording.listing import list_recordings

    return list_recordings(params.folder)


class PullParams(Params, frozen=True, kw_only=True):
    """Copy a finished recording from the device."""

    session_id: Annotated[
        SessionId | UnsetType, about("recording id: letters, digits, _ and - (default: the one finished last)")
    ] = UNSET
    folder: Annotated[FilePath, about("output folder", flag="--out", path="out", rare=True)] = "recordings"


@operation(
    "recording pull",
    "clawperator.device.recordings:PulledRecording",
    level="act",
    subject="session_id",
    on_device=True,
    message=lambda result, caller: f"pulled recording {result.sessionId} to {caller.shown(result.localPath)}",
    text=_TEXT + "pulled_blocks",
    evidence=("recording", "sessionId"),
    route="POST /recordings/pull",
    errors=("RECORDING_SESSION_NOT_FOUND", "RECORDING_PULL_FAILED"),
    seconds=LONG_SECONDS,
    tool="recording",
    examples=("clawperator recording pull --session-id demo",),
)
def pull(params: PullParams, caller: "Caller") -> "PulledRecording":
    from clawperator.device.recordings import PULL_SECONDS, check_session_id, pull_recording
    from clawperator.device.settings import find_operator, named_operator

    session = None if params.session_id is UNSET else check_session_id(params.session_id)
    device = caller.connected_device()
    package = find_operator(device, named_operator(caller.operator_package))
    seconds = max(caller.seconds(PULL_SECONDS), _MIN_SECONDS)
    return pull_recording(device, package, session, params.folder, seconds=seconds)


class ParseParams(Params, frozen=True, kw_only=True):
    """Write a compact step log of a recording."""

    input: Annotated[FilePath, about("recording", path="in")]
    out: Annotated[
        FilePath | UnsetType, about("output file", path="out", beside=("input", ".steps.json"), rare=True)
    ] = UNSET


@operation(
    "recording parse",
    "clawperator.recording.parse:ParseResult",
    level="act",
    subject="input",
    message=lambda result, caller: f"wrote {result.stepCount} steps to {caller.shown(result.outputFile)}",
    text=_TEXT + "parsed_blocks",
    route="POST /recordings/parse",
    errors=("RECORDING_PARSE_FAILED",),
    seconds=LONG_SECONDS,
    examples=("clawperator recording parse --input ./recordings/demo.ndjson",),
)
def parse(params: ParseParams, caller: "Caller") -> "ParseResult":
    from clawperator.recording.parse import parse_recording

    with caller.meter() as progress:
        result, summary = parse_recording(params.input, params.out or None, progress=progress)
    caller.lines(summary)
    return result


class DescribeParams(Params, frozen=True, kw_only=True):
    """Describe a recording in readable steps."""

    input: Annotated[FilePath, about("recording or export", path="in")]
    out: Annotated[
        FilePath | UnsetType, about("also write the document to this file", path="out", raises="act", rare=True)
    ] = UNSET


def _described(result: "Description", _: "Caller") -> str:
    head = result.head
    where = f" in {head.appPackage}" if head.appPackage else ""
    return f"recording {head.sessionId} has {head.stepCount} steps{where}"


@operation(
    "recording describe",
    "clawperator.recording.describe:Narrative",
    level="read-only",
    subject="input",
    message=_described,
    text=_TEXT + "description_lines",
    route="POST /recordings/describe",
    errors=("RECORDING_PARSE_FAILED",),
    seconds=LONG_SECONDS,
    tool="recording",
    examples=("clawperator recording describe --input ./recordings/demo.ndjson",),
    notes="Prints the document to stdout and one line per step to stderr.",
)
def describe(params: DescribeParams, caller: "Caller") -> "Description":
    from clawperator.recording.describe import describe_file

    description = describe_file(params.input, params.out or None)
    caller.lines(description.lines)
    return description


class ExportParams(Params, frozen=True, kw_only=True):
    """Export every event of a recording as one JSON document."""

    input: Annotated[
        FilePath, about("recording, or a folder: its newest .ndjson", metavar="<file|folder>", path="in")
    ]
    out: Annotated[
        FilePath | UnsetType, about("output file", path="out", beside=("input", ".export.json"), rare=True)
    ] = UNSET
    snapshots: Annotated[SnapshotMode, about("XML snapshots", rare=True)] = "omit"


def _newest(params: ExportParams, _: "Caller") -> ExportParams:
    from clawperator.recording.export import newest_recording

    return replace(params, input=newest_recording(params.input))


@operation(
    "recording export",
    "clawperator.recording.export:ExportResult",
    level="act",
    subject="input",
    resolve=_newest,
    message=lambda result, caller: f"wrote {result.eventCount} events to {caller.shown(result.outputFile)}",
    text=_TEXT + "exported_blocks",
    evidence=("recording", "sessionId"),
    route="POST /recordings/export",
    errors=("RECORDING_EXPORT_FAILED", "RECORDING_PARSE_FAILED"),
    seconds=LONG_SECONDS,
    tool="recording",
    examples=(
        "clawperator recording export --input ./recordings/demo.ndjson",
        "clawperator recording export --input ./recordings --snapshots include --out demo.export.json",
    ),
)
def export(params: ExportParams, caller: "Caller") -> "ExportResult":
    from clawperator.recording.export import export_recording

    with caller.meter() as progress:
        return export_recording(params.input, params.out or None, snapshots=params.snapshots, progress=progress)


class CompareParams(Params, frozen=True, kw_only=True):
    """Compare a skill run, or another recording, with a baseline recording."""

    baseline: Annotated[FilePath, about("export of the baseline recording", path="in")]
    result: Annotated[FilePath, about("saved result of a skill run, or another export", path="in")]
    mode: Annotated[CompareMode, about("comparison mode", rare=True)] = "auto"
    strategy: Annotated[CompareStrategy | UnsetType, about("checkpoint strategy", rare=True)] = UNSET
    checkpoints: Annotated[
        FilePath | UnsetType,
        about(
            "declared checkpoints (default: compare-checkpoints.json beside the baseline)", path="in", rare=True
        ),
    ] = UNSET


def _declared(params: CompareParams, _: "Caller") -> CompareParams:
    from clawperator.recording.compare.inputs import declaration_beside

    if params.checkpoints is not UNSET or params.strategy not in (UNSET, "declared"):
        return params
    return replace(params, checkpoints=declaration_beside(params.baseline) or UNSET)


@operation(
    "recording compare",
    "clawperator.recording.compare.compare:CompareReport",
    level="read-only",
    subject="baseline",
    rules=(Rule("checkpoints", "strategy", (UNSET, "declared")),),
    resolve=_declared,
    ok=lambda result: result.is_match,
    message=lambda result, _: f"{result.outcome}: {result.summary}",
    text=_TEXT + "compare_blocks",
    evidence=("document", "actual.skillId"),
    route="POST /recordings/compare",
    errors=("RECORDING_COMPARE_FAILED",),
    seconds=LONG_SECONDS,
    tool="recording",
    examples=(
        "clawperator recording compare --baseline demo.export.json --result run.json",
        "clawperator recording compare --baseline demo.export.json --result replay.json --strategy derived",
    ),
    notes="Exit 0 for literal_match, semantic_match and outcome_matches_path_differs, else 1.\n"
    "Save a run with 'clawperator skills run <id> > run.json', a replay with\n"
    "'clawperator recording replay --input <recording> > replay.json'.",
)
def compare(params: CompareParams, _: "Caller") -> "CompareReport":
    from clawperator.recording.compare.compare import compare_recording

    return compare_recording(
        params.baseline,
        params.result,
        params.mode,
        strategy=params.strategy or None,
        checkpoints_path=params.checkpoints or None,
    )


class ReplayParams(Params, frozen=True, kw_only=True):
    """Replay a recording on a device and verify each step."""

    input: Annotated[FilePath, about("recording or export", path="in")]
    until: Annotated[Seq | UnsetType, about("seq of the last event to replay", metavar="<seq>", rare=True)] = UNSET
    dry_run: Annotated[bool, about("list the steps and their targets; needs no device", rare=True)] = False
    keep_apps: Annotated[bool, about("leave the apps of the recording open at the start")] = False
    allow_coordinates: Annotated[bool, about("click the recorded position when no target is found", rare=True)] = (
        False
    )
    out: Annotated[FilePath | UnsetType, about("also write the result to this file", path="out", rare=True)] = (
        UNSET
    )
    junit: JunitFile = UNSET
    evidence: EvidenceFolder = UNSET


def _replayed(result: "ReplayPlan | ReplayReport", _: "Caller") -> str:
    from clawperator.replay.report import ReplayPlan

    if isinstance(result, ReplayPlan):
        return f"{result.stepCount} steps would be replayed"
    return f"replayed {result.provedCount} of {result.stepCount} steps, each of them proved"


def _step_error(result: "ReplayPlan | ReplayReport", _: "Caller") -> ClawError | None:
    """The error of the step that was not proved."""
    from clawperator.replay.report import ReplayPlan

    if isinstance(result, ReplayPlan) or result.error is UNSET:
        return None
    from clawperator.device.adb.client import device_flag

    hint = result.error.get("hint")
    look = f"Run 'clawperator snapshot {device_flag(result.deviceId)}' to see the screen."
    found = {**result.error, "hint": hint if isinstance(hint, str) else look, "details": None}
    return ClawError.from_document(found).with_(operation="recording_replay", target=result.deviceId)


@operation(
    "recording replay",
    "clawperator.replay.report:ReplayReport",
    level="act",
    subject="input",
    rules=(Rule("junit", "dry_run", (False,)), Rule("evidence", "dry_run", (False,))),
    ok=lambda result: result.ok,
    message=_replayed,
    failure=_step_error,
    text=_TEXT + "replay_blocks",
    evidence=("document", "sessionId"),
    on_device=True,
    runs_plans=True,
    tool="recording",
    around="clawperator.cli.handlers.runs:replay",
    examples=("clawperator recording replay --input ./recordings/demo.ndjson --dry-run",),
    notes="The apps that the recording opens are closed first, so that they start at their first page.\n"
    "Their data is kept. Exit 1 when a step could not be verified.",
)
def replay(params: ReplayParams, caller: "Caller") -> "ReplayPlan | ReplayReport":
    from clawperator.replay.demonstration import open_demonstration, plan_replay

    demonstration = open_demonstration(params.input)
    last = None if params.until is UNSET else params.until
    if params.dry_run:
        plan = plan_replay(demonstration, last=last)
        caller.lines(f"[{step.seq}] {step.description}" for step in plan.steps)
        return _written(params, plan)
    from clawperator.api.phone import ConnectedPhone
    from clawperator.device.settings import default_backend
    from clawperator.replay import demonstration as replays

    replays.check_replay(demonstration, last=last, keep_apps=params.keep_apps)  # a denied replay asks no device
    phone = ConnectedPhone(
        caller.connected_device(),
        operator_package=caller.operator_package,
        backend=caller.backend or default_backend(),
    )
    phone.names_commands = True
    report = replays.replay(
        demonstration,
        phone,
        last=last,
        keep_apps=params.keep_apps,
        allow_coordinates=params.allow_coordinates,
        on_step=caller.on_step,
    )
    return _written(params, report)


def _written(params: ReplayParams, result: T) -> T:
    """The result, also written to the file of ``out``."""
    if params.out is not UNSET:
        from clawperator.recording.writing import open_output, pretty_json

        with open_output(params.out, params.input, "RECORDING_REPLAY_FAILED", make_folders=True) as file:
            file.file.write(pretty_json(result))
    return result


class RepairParams(Params, frozen=True, kw_only=True):
    """Copy every complete event of a damaged recording to a new file."""

    input: Annotated[FilePath, about("damaged recording; it is not modified", path="in")]
    out: Annotated[
        FilePath | UnsetType, about("output file", path="out", beside=("input", ".repaired.ndjson"), rare=True)
    ] = UNSET


@operation(
    "recording repair",
    "clawperator.recording.repair:RepairResult",
    level="act",
    subject="input",
    message=lambda result, caller: f"wrote {result.eventCount} events to {caller.shown(result.outputFile)}",
    text=_TEXT + "repaired_blocks",
    route="POST /recordings/repair",
    errors=("RECORDING_PARSE_FAILED",),
    seconds=LONG_SECONDS,
    examples=("clawperator recording repair --input ./recordings/demo.ndjson",),
)
def repair(params: RepairParams, _: "Caller") -> "RepairResult":
    from clawperator.recording.repair import repair_recording

    return repair_recording(params.input, params.out or None)
