"""Work of the page's routes for recordings: events while one is made, replays and reports."""

from typing import Any

from clawperator._base.files import open_regular, why
from clawperator.device.discovery import resolve_device
from clawperator.device.operators import find_operator
from clawperator.errors import ClawError
from clawperator.policy.gate import check_call
from clawperator.recording.writing import derived_path, open_output, pretty_json
from clawperator.serve.http.calls import HttpCall
from clawperator.serve.http.documents import (
    EventsAnswer,
    EventsRequest,
    OpenReportRequest,
    ReplayAnswer,
    ReplayRequest,
)
from clawperator.serve.page.files import FileAnswer

_REPLAY_ENDING, _REPORT_ENDING = ".replay.json", ".report.html"
_MAX_REPORT_BYTES = 256 * 1024 * 1024
# A report is a file in a folder that others may write: it gets an origin of its own, without the user's session.
_REPORT_POLICY = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def get_events(request: EventsRequest, call: HttpCall) -> EventsAnswer:
    check_call("recording_pull", "read-only", request.sessionId)
    device = resolve_device(call.serial(request.deviceId))
    package = find_operator(device, call.package(request.operatorPackage))
    recording = call.services.recordings.get(device, package, request.sessionId, again=request.since == 0)
    recording.read()
    events: list[dict[str, Any]] = recording.events[request.since :]
    return EventsAnswer(request.sessionId, events, request.since + len(events), recording.left_out)


def replay(request: ReplayRequest, call: HttpCall) -> ReplayAnswer:
    """Replay a recording. One that stops at a step has a result as well, with the error of that step."""
    params = {
        "input": request.input,
        "keepApps": request.keepApps,
        "allowCoordinates": request.allowCoordinates,
    }
    ran = call.run_tool("recording_replay", params, request.deviceId)
    if not isinstance(ran.result, dict):
        raise ran.error or ClawError("UNKNOWN", "the replay has no result", operation="replay")
    source = call.path(request.input, "recording_replay", "read")
    out = call.path(derived_path(source, _REPLAY_ENDING), "recording_replay", "write")
    with open_output(out, source, "RECORDING_REPLAY_FAILED") as file:
        file.file.write(pretty_json(ran.result))
    return ReplayAnswer(out, ran.result)


def open_report(request: OpenReportRequest, call: HttpCall) -> FileAnswer:
    """A report of the folder. Nothing else is served as a page."""
    check_call("report", "read-only", request.path)
    if not request.path.endswith(_REPORT_ENDING):
        raise ClawError("INVALID_PATH", f"{request.path[:80]!r} is not a report", operation="serve")
    path = call.path(request.path, "report", "read")
    try:
        with open_regular(path) as file:
            data = file.read(_MAX_REPORT_BYTES)
    except (OSError, ValueError) as e:
        raise ClawError(
            "REPORT_FAILED",
            f"cannot read {request.path}: {why(e)}",
            hint="Write it first: POST /recordings/report.",
            operation="report",
            target=request.path,
        ) from e
    return FileAnswer(data, "text/html", {"Content-Security-Policy": _REPORT_POLICY})
