"""``recording parse|export|compare|repair|pull``: each verb imports only what it needs."""

from collections.abc import Callable
from typing import Any, TypeVar

from clawperator.cli.arguments import invalid, usage
from clawperator.cli.call import Call, Verdict, soft_usage
from clawperator.cli.console import Progress

_PULL_FOLDER = "./recordings/"
T = TypeVar("T")


def answer(call: Call) -> Any:
    if call.name == "recording pull":
        return _pull(call)
    if call.name == "recording compare":
        return _compare(call)
    source = call.arguments.get("--input")
    if not source:
        return soft_usage(f"{call.name} needs --input <file>", hint=f"Run 'clawperator {call.name} --help'.")
    verbs = {"recording parse": _parse, "recording export": _export, "recording repair": _repair}
    return verbs[call.name](call, source, call.arguments.get("--out"))


def _parse(call: Call, source: str, out: str | None) -> Any:
    from clawperator.recording.steps import parse_recording

    result, summary = _watched(call, lambda progress: parse_recording(source, out, progress=progress))
    call.console.lines("info", summary)
    return result


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
    from clawperator.recording.compare import MODES, compare_recording

    baseline, result = call.arguments.get("--baseline"), call.arguments.get("--result")
    if not baseline or not result:
        return soft_usage("recording compare needs --baseline <export.json> and --result <skills-run.json>")
    mode = MODES.get(chosen := call.arguments.get("--mode") or "auto")
    if mode is None:
        return soft_usage(f"--mode must be auto, literal or semantic, not {chosen!r}")
    report = compare_recording(baseline, result, mode)
    return Verdict(report, 0 if report.is_match else 1)


def _pull(call: Call) -> Any:
    from clawperator.device.backend import operator_package
    from clawperator.device.find import resolve
    from clawperator.device.recordings import PULL_SECONDS, check_session_id, pull_recording

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
