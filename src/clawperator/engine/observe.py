"""Observation: the screen as XML and as a picture, and recordings of what happens on it."""

from clawperator.contract.actions import RecordingParams, SnapshotUiParams, TakeScreenshotParams
from clawperator.engine.context import Scene, StepData, failure, plain
from clawperator.engine.privacy import without_secrets
from clawperator.engine.retry import retrying
from clawperator.errors import ClawError
from clawperator.ui.write import write_hierarchy

UNSETTLED = (
    "snapshot captured without a preceding sleep step; UI may not have settled - consider adding a sleep step "
    "between click and snapshot_ui"
)
_UNSETTLING = ("click", "scroll_and_click")


def snapshot_ui(scene: Scene, params: SnapshotUiParams) -> StepData:
    screen = retrying(scene, params.retry, scene.capture)
    windows = scene.driver.windows()
    data = {"actual_format": "hierarchy_xml"}
    if windows.foreground_package is not None:
        data["foreground_package"] = windows.foreground_package
    data["has_overlay"] = "false" if windows.overlay_package is None else "true"
    if windows.overlay_package is not None:
        data["overlay_package"] = windows.overlay_package
    data["window_count"] = str(windows.count)
    data["text"] = write_hierarchy(without_secrets(screen)).rstrip("\n")
    if scene.previous in _UNSETTLING:
        data["warn"] = UNSETTLED
    return data


def take_screenshot(scene: Scene, params: TakeScreenshotParams) -> StepData:
    save = scene.save_screenshot

    def capture() -> bytes:
        png = scene.driver.screenshot() if save else None
        if not png:
            raise ClawError("UNSUPPORTED_RUNTIME_SCREENSHOT", "no picture of the screen can be had from here")
        return png

    try:
        png = retrying(scene, params.retry, capture)
    except ClawError as e:
        if e.code != "UNSUPPORTED_RUNTIME_SCREENSHOT":
            raise
        return failure(e.code, e.message)
    assert save is not None
    return {"path": save(params.path if isinstance(params.path, str) else None, png)}


def start_recording(scene: Scene, params: RecordingParams) -> StepData:
    try:
        recorded = scene.hand().start_recording(_session(params))
    except ClawError as e:
        return _recording_failure(e)
    return {"sessionId": recorded.session_id, "filePath": recorded.file_path}


def stop_recording(scene: Scene, params: RecordingParams) -> StepData:
    try:
        recorded = scene.hand().stop_recording(_session(params))
    except ClawError as e:
        return _recording_failure(e)
    data = {"sessionId": recorded.session_id, "filePath": recorded.file_path}
    return data if recorded.events is None else {**data, "eventCount": str(recorded.events)}


def _session(params: RecordingParams) -> str | None:
    return params.sessionId if isinstance(params.sessionId, str) else None


def _recording_failure(e: ClawError) -> StepData:
    """A recorder's refusal fails its own step only; any other trouble ends the execution."""
    if not e.code.startswith("RECORDING_"):
        raise e
    details = plain(e.details)
    if e.hint is not None:
        details["hint"] = e.hint
    elif e.code == "RECORDING_ALREADY_IN_PROGRESS" and "sessionId" in details:
        stop = f"clawperator recording stop --session-id {details['sessionId']}"
        details["hint"] = f"Run '{stop}' before starting a new recording."
    return failure(e.code, e.message, details)
