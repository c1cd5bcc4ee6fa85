"""Actions on the device as a whole: apps, URIs and keys."""

from clawperator.contract import CloseAppParams, OpenAppParams, OpenUriParams, PressKeyParams
from clawperator.engine.context import ActionContext, StepData, failure
from clawperator.engine.driver import AppControl, Driver
from clawperator.engine.retry import with_retry
from clawperator.engine.settle import evidence, settle, try_look
from clawperator.engine.targets import describe
from clawperator.errors import ClawError

_MISSING_APP = "Run 'clawperator packages list' to list installed apps."
_MISSING_LAUNCHER = "Run 'clawperator press home' to show the launcher: it is not opened as an app."


def open_app(context: ActionContext, params: OpenAppParams) -> StepData:
    before = try_look(context)

    def launch() -> None:
        if not context.perform(lambda driver: driver.launch(params.applicationId)):
            raise ClawError(
                "APP_NOT_FOUND",
                f"no launchable app {params.applicationId} on the device",
                hint=_MISSING_LAUNCHER if "launcher" in params.applicationId.lower() else _MISSING_APP,
                details={"application_id": params.applicationId},
            )

    with_retry(context, params.retry, launch)
    data = evidence(describe(package=params.applicationId), 1, "launch_intent", settle(context, before))
    return {"application_id": params.applicationId, **data}


def open_uri(context: ActionContext, params: OpenUriParams) -> StepData:
    """Open a URI. The host has checked its scheme."""
    before = try_look(context)

    def view() -> None:
        if not context.perform(lambda driver: driver.view(params.uri)):
            raise ClawError(
                "URI_NOT_HANDLED",
                f"no app on the device opens {params.uri}",
                hint="Open an app by its package name: 'clawperator open <package>'.",
                details={"uri": params.uri},
            )

    with_retry(context, params.retry, view)
    return {"uri": params.uri, **evidence(describe(uri=params.uri), 1, "view_intent", settle(context, before))}


def close_app(context: ActionContext, params: CloseAppParams) -> StepData:
    before = try_look(context)
    driver = context.driver_or_timeout()
    was_running = not isinstance(driver, AppControl) or driver.is_running(params.applicationId)

    def stop(driver: Driver) -> bool:
        return isinstance(driver, AppControl) and driver.force_stop(params.applicationId)

    if not context.perform(stop):
        data = {"application_id": params.applicationId}
        return failure("UNSUPPORTED_RUNTIME_CLOSE", "this driver cannot close apps", data)
    data = evidence(describe(package=params.applicationId), 1, "force_stop", settle(context, before))
    return {"application_id": params.applicationId, **data, **({} if was_running else {"was_running": "false"})}


def press_key(context: ActionContext, params: PressKeyParams) -> StepData:
    before = try_look(context)
    if not context.perform(lambda driver: driver.key(params.key)):
        return failure("GLOBAL_ACTION_FAILED", f"the device rejected the key {params.key}", {"key": params.key})
    method = "key_event" if params.only_for_host else "global_action"
    data = evidence(describe(key=params.key), 1, method, settle(context, before))
    return {"key": params.key, **data}
