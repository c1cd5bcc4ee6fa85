"""Tools for recordings: pull, parse, describe, export, compare and replay.

Every file is inside the session's working folder. Tools that write a file or act on the phone have the level
``act``; ``recording_describe`` and ``recording_compare`` only read.
"""

import os
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from clawperator.agent.confinement import confine
from clawperator.agent.ports import Evidence, Tool, ToolContext, ToolResult
from clawperator.agent.tools.row import failed_result, make_tool, payload_error
from clawperator.contract.limits import MAX_ID_LENGTH
from clawperator.errors import CODES, ClawError

if TYPE_CHECKING:
    from clawperator.replay.run import StepOutcome

_PULL_FOLDER = "recordings"
_MIN_SECONDS = 1.0

Path = Annotated[str, Meta(min_length=1, max_length=4_096)]
Source = Annotated[Path, Meta(description="the recording, a file in the working folder")]
Demonstration = Annotated[
    Path, Meta(description="a recording or the output of recording_export, a file in the working folder")
]
Out = Annotated[Path, Meta(description="output file in the working folder (default: beside the input)")]


class PullParams(Struct, frozen=True, forbid_unknown_fields=True):
    sessionId: (
        Annotated[str, Meta(max_length=MAX_ID_LENGTH, description="session id (default: the one finished last)")]
        | UnsetType
    ) = UNSET
    folder: Annotated[Path, Meta(description="output folder in the working folder")] = _PULL_FOLDER


class ParseParams(Struct, frozen=True, forbid_unknown_fields=True):
    input: Source
    out: Out | UnsetType = UNSET


class DescribeParams(Struct, frozen=True, forbid_unknown_fields=True):
    input: Demonstration


class ExportParams(Struct, frozen=True, forbid_unknown_fields=True):
    input: Annotated[Path, Meta(description="the recording, or a folder: its newest .ndjson")]
    out: Out | UnsetType = UNSET
    snapshots: Annotated[Literal["omit", "include"], Meta(description="include or omit the XML snapshots")] = (
        "omit"
    )


class CompareParams(Struct, frozen=True, forbid_unknown_fields=True):
    baseline: Annotated[Path, Meta(description="the output of recording_export")]
    result: Annotated[Path, Meta(description="a saved skill run, or the export of another recording")]
    mode: Annotated[Literal["auto", "literal", "semantic"], Meta(description="comparison mode")] = "auto"
    strategy: (
        Annotated[Literal["declared", "derived", "solax_heuristic"], Meta(description="source of checkpoints")]
        | UnsetType
    ) = UNSET
    checkpoints: Annotated[Path, Meta(description="a file of declared checkpoints")] | UnsetType = UNSET


class ReplayParams(Struct, frozen=True, forbid_unknown_fields=True):
    input: Demonstration
    until: Annotated[float, Meta(ge=0, description="the last event to replay, by its seq")] | UnsetType = UNSET
    keepApps: Annotated[bool, Meta(description="leave the apps open that are closed before the first step")] = (
        False
    )
    allowCoordinates: Annotated[bool, Meta(description="as a last resort, click the recorded point")] = False
    dryRun: Annotated[bool, Meta(description="only list the steps; no phone is needed")] = False


def _pull(params: PullParams, context: ToolContext) -> ToolResult:
    from clawperator.device.discovery import resolve_device
    from clawperator.device.operators import find_operator
    from clawperator.device.recordings import PULL_SECONDS, check_session_id, pull_recording
    from clawperator.device.settings import named_operator

    session = None if params.sessionId is UNSET else check_session_id(params.sessionId)
    folder = confine(context.working_folder, params.folder, "recording_pull", "write")
    device = resolve_device(context.device)
    seconds = max(context.deadline.within(PULL_SECONDS), _MIN_SECONDS)
    package = find_operator(device, named_operator(context.operator_package))
    pulled = pull_recording(device, package, session, folder, seconds=seconds)
    return ToolResult(
        handled=True,
        message=f"pulled recording {pulled.sessionId} to {_relative(pulled.localPath, context)}",
        result={**msgspec.to_builtins(pulled), "deviceId": device.serial},
        evidence=(Evidence("recording", pulled.sessionId, device.serial, path=pulled.localPath),),
    )


def _parse(params: ParseParams, context: ToolContext) -> ToolResult:
    from clawperator.recording.parse import parse_recording

    source = _input(params.input, context, "recording_parse")
    out = _out(params.out, source, ".steps.json", context, "recording_parse")
    parsed, lines = parse_recording(source, out)
    return ToolResult(
        handled=True,
        message=f"wrote {parsed.stepCount} steps to {_relative(parsed.outputFile, context)}",
        result={**msgspec.to_builtins(parsed), "summary": lines},
    )


def _describe(params: DescribeParams, context: ToolContext) -> ToolResult:
    from clawperator.recording.describe import describe_recording

    narrative, _ = describe_recording(_input(params.input, context, "recording_describe"))
    where = f" in {narrative.appPackage}" if narrative.appPackage else ""
    return ToolResult(
        handled=True,
        message=f"recording {narrative.sessionId} has {narrative.stepCount} steps{where}",
        result=msgspec.to_builtins(narrative),
    )


def _export(params: ExportParams, context: ToolContext) -> ToolResult:
    from clawperator.recording.export import export_recording, newest_recording

    tool = "recording_export"
    # The newest file of a folder may be a link to outside the working folder.
    source = _input(newest_recording(confine(context.working_folder, params.input, tool, "read")), context, tool)
    out = _out(params.out, source, ".export.json", context, tool)
    exported = export_recording(source, out, snapshots=params.snapshots)
    return ToolResult(
        handled=True,
        message=f"wrote {exported.eventCount} events to {_relative(exported.outputFile, context)}",
        result=msgspec.to_builtins(exported),
        evidence=(Evidence("recording", exported.sessionId, path=exported.outputFile),),
    )


def _compare(params: CompareParams, context: ToolContext) -> ToolResult:
    """Handled whether the run matches or not; see ``outcome``."""
    from clawperator.recording.compare.compare import compare_recording
    from clawperator.recording.compare.inputs import declaration_beside

    tool = "recording_compare"
    baseline, result = _input(params.baseline, context, tool), _input(params.result, context, tool)
    strategy = None if params.strategy is UNSET else params.strategy
    declared = declaration_beside(baseline) if params.checkpoints is UNSET else params.checkpoints
    if params.checkpoints is not UNSET and strategy not in (None, "declared"):
        raise payload_error(tool, f"checkpoints need the strategy declared, not {strategy}")
    checkpoints = None if declared is None else _input(declared, context, tool)
    report = compare_recording(baseline, result, params.mode, strategy=strategy, checkpoints_path=checkpoints)
    return ToolResult(
        handled=True,
        message=f"{report.outcome}: {report.summary}",
        result=msgspec.to_builtins(report),
        evidence=(Evidence("document", report.actual.skillId, document=msgspec.to_builtins(report)),),
    )


def _replay(params: ReplayParams, context: ToolContext) -> ToolResult:
    """Run the steps until one is not proved. A cancellation takes effect between two steps."""
    from clawperator.api.phone import ConnectedPhone
    from clawperator.device.discovery import resolve_device
    from clawperator.replay.demonstration import open_demonstration, plan_replay, replay

    demonstration = open_demonstration(_input(params.input, context, "recording_replay"))
    last = None if params.until is UNSET else params.until
    if params.dryRun:
        planned = plan_replay(demonstration, last=last)
        return ToolResult(
            handled=True,
            message=f"{planned.stepCount} steps would be replayed",
            result=msgspec.to_builtins(planned),
        )
    device = resolve_device(context.device)
    context.deadline.check()
    report = replay(
        demonstration,
        ConnectedPhone(device, operator_package=context.operator_package, backend=context.backend),
        last=last,
        keep_apps=params.keepApps,
        allow_coordinates=params.allowCoordinates,
        on_step=lambda outcome: _after_step(outcome, context),
    )
    document = msgspec.to_builtins(report)
    evidence = (Evidence("document", report.sessionId, device.serial, document=document),)
    if report.error is not UNSET:
        error = _step_error(report.error, device.serial)
        return failed_result(error, result=document, evidence=evidence)
    message = f"replayed {report.provedCount} of {report.stepCount} steps, each of them proved"
    return ToolResult(handled=True, message=message, result=document, evidence=evidence)


def _after_step(outcome: "StepOutcome", context: ToolContext) -> None:
    context.on_progress(f"{outcome.step.kind} (event {outcome.step.seq:g}): {outcome.status}")
    context.deadline.check()


def _step_error(document: dict[str, object], serial: str) -> ClawError:
    """The error of the step that was not proved."""
    from clawperator.device.serials import device_flag

    code, hint = str(document["code"]), document.get("hint")
    look = f"Run 'clawperator snapshot {device_flag(serial)}' to see the screen."
    return ClawError(
        code if code in CODES else "UNKNOWN",
        str(document["message"]),
        hint=hint if isinstance(hint, str) else look,
        operation="recording_replay",
        target=serial,
    )


def _input(path: str, context: ToolContext, tool: str) -> str:
    """A file to read. Reading a pipe or a device could block forever."""
    whole = confine(context.working_folder, path, tool, "read")
    if os.path.exists(whole) and not os.path.isfile(whole):
        raise payload_error(tool, f"{path!r} is not a file")
    return whole


def _out(path: str | UnsetType, source: str, ending: str, context: ToolContext, tool: str) -> str:
    from clawperator.recording.writing import derived_path

    named = derived_path(source, ending) if path is UNSET else path
    whole = confine(context.working_folder, named, tool, "write")
    if os.path.exists(whole) and not os.path.isfile(whole):
        raise payload_error(tool, f"{whole!r} exists and is not a file")
    return whole


def _relative(path: str, context: ToolContext) -> str:
    return os.path.relpath(path, context.working_folder.root)


RECORDING_TOOLS: tuple[Tool, ...] = (
    make_tool(
        "recording_pull",
        "Copy a finished recording from the phone.",
        PullParams,
        _pull,
        level="act",
        module=__name__,
        family="recording",
        subject="sessionId",
        model_tool="recording",
    ),
    make_tool(
        "recording_parse",
        "Write a short step log of a recording, for people.",
        ParseParams,
        _parse,
        level="act",
        module=__name__,
        family="recording",
        subject="input",
        model_tool="recording",
    ),
    make_tool(
        "recording_describe",
        "Describe a demonstration in readable steps.",
        DescribeParams,
        _describe,
        level="read-only",
        module=__name__,
        family="recording",
        subject="input",
        model_tool="recording",
    ),
    make_tool(
        "recording_export",
        "Write every event of a recording as one JSON document.",
        ExportParams,
        _export,
        level="act",
        module=__name__,
        family="recording",
        subject="input",
        model_tool="recording",
    ),
    make_tool(
        "recording_compare",
        "Check a skill run or another recording against a recording.",
        CompareParams,
        _compare,
        level="read-only",
        module=__name__,
        family="recording",
        subject="baseline",
        model_tool="recording",
    ),
    make_tool(
        "recording_replay",
        "Replay a recording on the phone and prove each step.",
        ReplayParams,
        _replay,
        level="act",
        module=__name__,
        family="recording",
        subject="input",
        model_tool="recording",
    ),
)
