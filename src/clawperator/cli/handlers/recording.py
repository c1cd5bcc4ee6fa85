"""``recording parse|describe|export|compare|repair|pull``: each verb imports only what it needs."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from clawperator.cli.console import Progress
from clawperator.cli.handler import Call, Verdict, soft_usage
from clawperator.cli.parsing import invalid, usage

_PULL_FOLDER = "./recordings/"
T = TypeVar("T")


def answer(call: Call) -> Any:
    if call.name in _VERBS:
        return _VERBS[call.name](call)
    source = call.arguments.get("--input")
    if not source:
        return soft_usage(f"{call.name} needs --input <file>", hint=f"Run 'clawperator {call.name} --help'.")
    return _INPUT_VERBS[call.name](call, source, call.arguments.get("--out"))


def _parse(call: Call, source: str, out: str | None) -> Any:
    from clawperator.recording.parse import parse_recording

    result, summary = _watched(call, lambda progress: parse_recording(source, out, progress=progress))
    call.console.lines("info", summary)
    return result


def _describe(call: Call, source: str, out: str | None) -> Any:
    from clawperator.recording.describe import describe_recording

    narrative, story = describe_recording(source, out)
    call.console.lines("info", story)
    return narrative


def _export(call: Call, source: str, out: str | None) -> Any:
    from clawperator.recording.export import SNAPSHOT_MODES, export_recording

    mode = SNAPSHOT_MODES.get(chosen := call.arguments.get("--snapshots") or "omit")
    if mode is None:
        raise usage(f"--snapshots must be omit or include, not {chosen!r}")
    return _watched(call, lambda progress: export_recording(source, out, snapshots=mode, progress=progress))


def _repair(_: Call, source: str, out: str | None) -> Any:
    from clawperator.recording.repair import repair_recording

    return repair_recording(source, out)


def _compare(call: Call) -> Any:
    from clawperator.recording.compare.compare import MODES, compare_recording
    from clawperator.recording.compare.inputs import STRATEGIES

    get = call.arguments.get
    baseline, result, checkpoints = get("--baseline"), get("--result"), get("--checkpoints")
    if not baseline or not result:
        return soft_usage("recording compare needs --baseline <export.json> and --result <skills-run.json>")
    mode = MODES.get(chosen := get("--mode") or "auto")
    if mode is None:
        return soft_usage(f"--mode must be auto, literal or semantic, not {chosen!r}")
    named = get("--strategy")
    strategy = STRATEGIES.get(named) if named else None
    if named and strategy is None:
        return soft_usage(f"--strategy must be {', '.join(STRATEGIES)}, not {named!r}")
    if checkpoints and strategy not in (None, "declared"):
        return soft_usage(f"--checkpoints are declared: they do not go with --strategy {strategy}")
    report = compare_recording(baseline, result, mode, strategy=strategy, checkpoints_path=checkpoints)
    return Verdict(report, 0 if report.is_match else 1)


def _pull(call: Call) -> Any:
    from clawperator.device.discovery import resolve
    from clawperator.device.recordings import PULL_SECONDS, check_session_id, pull_recording
    from clawperator.device.run import operator_package

    session = call.arguments.get("--session-id")
    if session is not None:
        check_session_id(session)
    timeout = call.options.timeout_ms
    if timeout is not None and timeout <= 0:
        raise invalid("--timeout must be more than 0")
    seconds = PULL_SECONDS if timeout is None else timeout / 1000
    package = operator_package(call.options.operator_package)
    folder = call.arguments.get("--out") or _PULL_FOLDER
    return pull_recording(resolve(call.options.device), package, session, folder, seconds=seconds)


def _watched(call: Call, work: Callable[[Progress | None], T]) -> T:
    """Do long work with a meter, if anybody watches."""
    meter = call.console.progress(call.name)
    try:
        return work(meter)
    finally:
        if meter:
            meter.done()


_VERBS: Mapping[str, Callable[[Call], Any]] = {"recording pull": _pull, "recording compare": _compare}
_INPUT_VERBS: Mapping[str, Callable[[Call, str, str | None], Any]] = {
    "recording parse": _parse,
    "recording describe": _describe,
    "recording export": _export,
    "recording repair": _repair,
}
