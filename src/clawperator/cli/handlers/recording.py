"""``recording parse|describe|export|compare|repair|pull``: each handler imports only what it needs."""

from collections.abc import Callable
from typing import IO, TYPE_CHECKING, TypeVar

from clawperator.cli.command_line import Call, CommandResult, LargeResult
from clawperator.cli.console import Progress
from clawperator.cli.parsing import invalid, usage

if TYPE_CHECKING:
    from clawperator.recording.describe import Description

_PULL_FOLDER = "./recordings/"
T = TypeVar("T")


def _input(call: Call) -> str:
    return call.require(call.arguments.get("--input"), "--input <file>")


def parse(call: Call) -> CommandResult:
    source, out = _input(call), call.arguments.get("--out")
    from clawperator.recording.parse import parse_recording

    result, summary = _with_progress(call, lambda progress: parse_recording(source, out, progress=progress))
    if not call.options.text:
        call.console.lines("info", summary)
    return CommandResult(result)


def describe(call: Call) -> CommandResult | LargeResult:
    source, out = _input(call), call.arguments.get("--out")
    from clawperator.recording.describe import describe_file

    description = describe_file(source, out)
    if call.options.text:
        return LargeResult(lambda file: _write_description(description, file))
    call.console.lines("info", description.lines)
    return LargeResult(lambda file: description.write_to(file, pretty=call.options.pretty))


def _write_description(description: "Description", file: IO[bytes]) -> None:
    import msgspec

    from clawperator.cli.text.render import write_lines
    from clawperator.cli.text.reports import narrative_lines

    write_lines(file, narrative_lines(msgspec.to_builtins(description.head), description.steps()))


def export(call: Call) -> CommandResult:
    source, out = _input(call), call.arguments.get("--out")
    from clawperator.recording.export import SNAPSHOT_MODES, export_recording

    mode = SNAPSHOT_MODES[call.arguments.get("--snapshots") or "omit"]
    return CommandResult(
        _with_progress(call, lambda progress: export_recording(source, out, snapshots=mode, progress=progress))
    )


def repair(call: Call) -> CommandResult:
    source, out = _input(call), call.arguments.get("--out")
    from clawperator.recording.repair import repair_recording

    return CommandResult(repair_recording(source, out))


def compare(call: Call) -> CommandResult | LargeResult:
    from clawperator.recording.compare.compare import MODES, compare_recording
    from clawperator.recording.compare.inputs import STRATEGIES

    get = call.arguments.get
    baseline = call.require(get("--baseline"), "--baseline <export.json>")
    result = call.require(get("--result"), "--result <file>")
    checkpoints, named = get("--checkpoints"), get("--strategy")
    strategy = STRATEGIES[named] if named else None
    if checkpoints and strategy not in (None, "declared"):
        raise usage(f"--checkpoints needs --strategy declared, not {strategy}", "Write --strategy declared.")
    mode = MODES[get("--mode") or "auto"]
    report = compare_recording(baseline, result, mode, strategy=strategy, checkpoints_path=checkpoints)
    code = 0 if report.is_match else 1
    if call.options.text:
        return CommandResult(report, code)
    return LargeResult(lambda file: report.write_to(file, pretty=call.options.pretty), code)


def pull(call: Call) -> CommandResult:
    from clawperator.device.discovery import resolve_device
    from clawperator.device.operators import find_operator
    from clawperator.device.recordings import PULL_SECONDS, check_session_id, pull_recording
    from clawperator.device.settings import named_operator

    session = call.arguments.get("--session-id")
    if session is not None:
        check_session_id(session)
    timeout = call.options.timeout_ms
    if timeout is not None and timeout <= 0:
        raise invalid("--timeout must be more than 0", "Write --timeout 60000.")
    seconds = PULL_SECONDS if timeout is None else timeout / 1000
    device = resolve_device(call.options.device)
    package = find_operator(device, named_operator(call.options.operator_package))
    folder = call.arguments.get("--out") or _PULL_FOLDER
    return CommandResult(pull_recording(device, package, session, folder, seconds=seconds))


def _with_progress(call: Call, work: Callable[[Progress | None], T]) -> T:
    """Run long work with a progress meter, if one is shown."""
    meter = call.console.progress(call.name)
    try:
        return work(meter)
    finally:
        if meter:
            meter.done()
