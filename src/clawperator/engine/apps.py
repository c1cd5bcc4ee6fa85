"""Actions on apps and on the device as a whole: apps, links, keys, rotation, installed apps and their log."""

import os

from clawperator.contract.action_params import AppParams
from clawperator.contract.actions import CloseAppParams, OpenAppParams, OpenUriParams, PressKeyParams
from clawperator.contract.host_actions import (
    InstallAppParams,
    PermissionParams,
    ReadLogcatParams,
    RotateParams,
    StartActivityParams,
)
from clawperator.engine.context import ActionContext, StepData, failure, unsupported
from clawperator.engine.driver import AppControl, ShellControl
from clawperator.engine.retry import with_retry
from clawperator.engine.settle import evidence, settle, try_look
from clawperator.engine.targets import describe
from clawperator.errors import ClawError

_MISSING_APP = "Run 'clawperator packages list' to list installed apps."
_MISSING_LAUNCHER = "Run 'clawperator press home' to show the launcher: it is not opened as an app."


def open_app(context: ActionContext, params: OpenAppParams) -> StepData:
    before = try_look(context)

    def launch() -> None:
        if not context.perform(lambda: context.driver.launch(params.applicationId)):
            message = f"no launchable app {params.applicationId} on the device"
            hint = _missing_hint(params)
            raise ClawError("APP_NOT_FOUND", message, hint=hint, details={"application_id": params.applicationId})

    with_retry(context, params.retry, launch)
    data = evidence(describe(package=params.applicationId), 1, "launch_intent", settle(context, before))
    return {"application_id": params.applicationId, **data}


def _missing_hint(params: OpenAppParams) -> str:
    if isinstance(params.user, int):
        return f"Run 'clawperator packages list --user {params.user}' to list the apps of this user."
    return _MISSING_LAUNCHER if "launcher" in params.applicationId.lower() else _MISSING_APP


def open_uri(context: ActionContext, params: OpenUriParams) -> StepData:
    """Open a URI. The host has checked its scheme."""
    before = try_look(context)

    def view() -> None:
        if not context.perform(lambda: context.driver.view(params.uri)):
            message = f"no app on the device opens {params.uri}"
            hint = "Run 'clawperator open <package>' to open an app by its package name."
            raise ClawError("URI_NOT_HANDLED", message, hint=hint, details={"uri": params.uri})

    with_retry(context, params.retry, view)
    return {"uri": params.uri, **evidence(describe(uri=params.uri), 1, "view_intent", settle(context, before))}


def close_app(context: ActionContext, params: CloseAppParams) -> StepData:
    before = try_look(context)
    driver = context.driver_or_timeout()
    was_running = not isinstance(driver, AppControl) or driver.is_running(params.applicationId)

    if not context.perform(lambda: isinstance(driver, AppControl) and driver.force_stop(params.applicationId)):
        data = {"application_id": params.applicationId}
        return failure("UNSUPPORTED_RUNTIME_CLOSE", "this driver cannot close apps", data)
    data = evidence(describe(package=params.applicationId), 1, "force_stop", settle(context, before))
    return {"application_id": params.applicationId, **data, **({} if was_running else {"was_running": "false"})}


def start_activity(context: ActionContext, params: StartActivityParams) -> StepData:
    """Start an activity. The host has checked the scheme of its URI."""
    shell = _shell(context, "start an activity by its name")
    before = try_look(context)
    given = {"component": params.component, "action": params.action, "uri": params.uri}
    named = {name: value for name, value in given.items() if isinstance(value, str)}
    extras = params.extras if isinstance(params.extras, dict) else {}
    if not context.perform(lambda: shell.start_activity(named, extras)):
        message = f"the device did not start {' '.join(named.values())}"
        hint = "Run 'clawperator packages list' to list installed apps. The activity must be exported."
        raise ClawError("APP_NOT_FOUND", message, hint=hint, details=named)
    return {**named, **evidence(describe(**named), 1, "start_activity", settle(context, before), before)}


def rotate(context: ActionContext, params: RotateParams) -> StepData:
    shell = _shell(context, "rotate the screen")
    before = try_look(context)
    if not context.perform(lambda: shell.rotate(params.orientation)):
        message = f"the device did not rotate to {params.orientation}"
        hint = "Some apps fix their orientation: run 'clawperator press home' first."
        raise ClawError("GESTURE_FAILED", message, hint=hint)
    data = evidence(describe(orientation=params.orientation), 1, "rotation_setting", settle(context, before))
    return {"orientation": params.orientation, **data}


def press_key(context: ActionContext, params: PressKeyParams) -> StepData:
    before = try_look(context)
    if not context.perform(lambda: context.driver.key(params.key)):
        return failure("GLOBAL_ACTION_FAILED", f"the device rejected the key {params.key}", {"key": params.key})
    method = "key_event" if params.only_for_host else "global_action"
    data = evidence(describe(key=params.key), 1, method, settle(context, before))
    return {"key": params.key, **data}


def install_app(context: ActionContext, params: InstallAppParams) -> StepData:
    if not os.path.isfile(params.path):  # checked first: nothing was dispatched
        message = f"no such file: {params.path}"
        hint = "Pass the path of an APK file of this computer."
        raise ClawError("ANDROID_PACKAGE_FAILED", message, hint=hint, details={"path": params.path})
    size = _package_control(context).install(params.path)
    return {"path": params.path, "size_bytes": str(size)}


def uninstall_app(context: ActionContext, params: AppParams) -> StepData:
    _package_control(context).uninstall(params.applicationId)
    return {"application_id": params.applicationId}


def clear_app_data(context: ActionContext, params: AppParams) -> StepData:
    _package_control(context).clear_data(params.applicationId)
    return {"application_id": params.applicationId}


def grant_permission(context: ActionContext, params: PermissionParams) -> StepData:
    _package_control(context).set_permission(params.applicationId, params.permission, granted=True)
    return {"application_id": params.applicationId, "permission": params.permission}


def revoke_permission(context: ActionContext, params: PermissionParams) -> StepData:
    _package_control(context).set_permission(params.applicationId, params.permission, granted=False)
    return {"application_id": params.applicationId, "permission": params.permission}


def read_logcat(context: ActionContext, params: ReadLogcatParams) -> StepData:
    lines = _shell(context, "read the log").read_log(params.applicationId, params.since, params.maxLines)
    return {"application_id": params.applicationId, "line_count": str(len(lines)), "text": "\n".join(lines)}


def _package_control(context: ActionContext) -> ShellControl:
    """The driver, for a change of installed apps."""
    shell = _shell(context, "change installed apps")
    context.progress.dispatched = True
    return shell


def _shell(context: ActionContext, what: str) -> ShellControl:
    """The driver, if it has a shell of the device."""
    driver = context.driver_or_timeout()
    if not isinstance(driver, ShellControl):
        raise unsupported(what)
    return driver
