"""``recording parse|export|compare|repair|pull``: each verb imports only what it needs."""

from collections.abc import Callable
from typing import Any, TypeVar

from clawperator.cli.arguments import usage
from clawperator.cli.call import Call, Verdict, soft_usage
from clawperator.cli.console import Progress
from clawperator.cli.phones import no_devices
from clawperator.contract.actions import SESSION_ID
from clawperator.contract.errors import ClawError

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
    session = call.arguments.get("--session-id")
    if session is not None and not SESSION_ID.fullmatch(session):
        raise ClawError(
            "RECORDING_SESSION_NOT_FOUND",
            f"Invalid session id: {session!r}",
            hint="A session id holds only letters, digits, _ and -.",
            operation="pull",
            target=session,
        )
    raise no_devices()


def _watched(call: Call, work: Callable[[Progress | None], T]) -> T:
    """Do long work with a meter, if anybody watches."""
    meter = call.console.progress(call.name)
    try:
        return work(meter)
    finally:
        if meter:
            meter.done()
