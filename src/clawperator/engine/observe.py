"""Observation: snapshots, screenshots and recordings."""

from clawperator.contract.action_types import unsettles
from clawperator.contract.actions import SnapshotUiParams, TakeScreenshotParams
from clawperator.contract.app_actions import RecordingParams
from clawperator.engine.context import ActionContext, StepData, failure, string_details
from clawperator.engine.driver import RecordingControl, ScreenshotSource
from clawperator.engine.privacy import mask_passwords
from clawperator.engine.retry import with_retry
from clawperator.engine.settle import SETTLED_MS, await_settled
from clawperator.errors import ClawError
from clawperator.ui.write import write_hierarchy

UNSETTLED = (
    "snapshot captured without a preceding sleep step; UI may not have settled - consider adding a sleep step "
    "between click and snapshot_ui"
)
NEVER_SETTLED = f"the screen was still changing after {SETTLED_MS} ms"
_NO_SCREENSHOT = "this driver cannot take screenshots"


def snapshot_ui(context: ActionContext, params: SnapshotUiParams) -> StepData:
    screen = with_retry(context, params.retry, context.capture)
    is_settled = not unsettles(context.previous)
    if params.settle:
        screen, is_settled = await_settled(context, screen)
    windows = context.driver.windows()
    data = {"actual_format": "hierarchy_xml"}
    if windows.foreground_package is not None:
        data["foreground_package"] = windows.foreground_package
    data["has_overlay"] = "false" if windows.overlay_package is None else "true"
    if windows.overlay_package is not None:
        data["overlay_package"] = windows.overlay_package
    data["window_count"] = str(windows.count)
    data["text"] = write_hierarchy(mask_passwords(screen)).rstrip("\n")
    if not is_settled:
        data["warn"] = NEVER_SETTLED if params.settle else UNSETTLED
    return data


def take_screenshot(context: ActionContext, params: TakeScreenshotParams) -> StepData:
    save, driver = context.save_screenshot, context.driver
    if save is None or not isinstance(driver, ScreenshotSource):
        return failure("UNSUPPORTED_RUNTIME_SCREENSHOT", _NO_SCREENSHOT)

    def capture() -> bytes:
        png = driver.screenshot()
        if not png:
            raise ClawError("UNSUPPORTED_RUNTIME_SCREENSHOT", _NO_SCREENSHOT)
        return png

    try:
        png = with_retry(context, params.retry, capture)
    except ClawError as e:
        if e.code != "UNSUPPORTED_RUNTIME_SCREENSHOT":
            raise
        return failure(e.code, e.message)
    return {"path": save(params.path if isinstance(params.path, str) else None, png)}


def start_recording(context: ActionContext, params: RecordingParams) -> StepData:
    try:
        recorded = _recorder(context, "start").start_recording(_session(params))
    except ClawError as e:
        return _recording_failure(e)
    return {"sessionId": recorded.session_id, "filePath": recorded.file_path}


def stop_recording(context: ActionContext, params: RecordingParams) -> StepData:
    try:
        recorded = _recorder(context, "stop").stop_recording(_session(params))
    except ClawError as e:
        return _recording_failure(e)
    data = {"sessionId": recorded.session_id, "filePath": recorded.file_path}
    return data if recorded.events is None else {**data, "eventCount": str(recorded.events)}


def _recorder(context: ActionContext, verb: str) -> RecordingControl:
    driver = context.driver_or_timeout()
    if isinstance(driver, RecordingControl):
        return driver
    hint = f"Run 'clawperator recording {verb}' without '--backend adb': the Operator records."
    raise ClawError("RECORDING_UNAVAILABLE", "this backend cannot record", hint=hint)


def _session(params: RecordingParams) -> str | None:
    return params.sessionId if isinstance(params.sessionId, str) else None


def _recording_failure(e: ClawError) -> StepData:
    """An error of the recorder fails only its own step; any other error ends the execution."""
    if not e.code.startswith("RECORDING_"):
        raise e
    details = string_details(e.details)
    if e.own_hint is not None:
        details["hint"] = e.own_hint
    elif e.code == "RECORDING_ALREADY_IN_PROGRESS" and "sessionId" in details:
        stop = f"clawperator recording stop --session-id {details['sessionId']}"
        details["hint"] = f"Run '{stop}' before starting a new recording."
    return failure(e.code, e.message, details)
