"""Installed apps: install, uninstall, clear data, permissions, and the log of an app. The driver verifies each."""

from clawperator.contract import (
    ClearAppDataParams,
    GrantPermissionParams,
    InstallAppParams,
    ReadLogcatParams,
    RevokePermissionParams,
    UninstallAppParams,
)
from clawperator.engine.context import ActionContext, StepData
from clawperator.engine.driver import LogSource, PackageControl
from clawperator.errors import ClawError


def install_app(context: ActionContext, params: InstallAppParams) -> StepData:
    driver = _packages(context)
    context.progress.dispatched = True
    size = driver.install(params.path)
    return {"path": params.path, "size_bytes": str(size)}


def uninstall_app(context: ActionContext, params: UninstallAppParams) -> StepData:
    driver = _packages(context)
    context.progress.dispatched = True
    driver.uninstall(params.applicationId)
    return {"application_id": params.applicationId}


def clear_app_data(context: ActionContext, params: ClearAppDataParams) -> StepData:
    driver = _packages(context)
    context.progress.dispatched = True
    driver.clear_data(params.applicationId)
    return {"application_id": params.applicationId}


def grant_permission(context: ActionContext, params: GrantPermissionParams) -> StepData:
    driver = _packages(context)
    context.progress.dispatched = True
    driver.set_permission(params.applicationId, params.permission, granted=True)
    return {"application_id": params.applicationId, "permission": params.permission}


def revoke_permission(context: ActionContext, params: RevokePermissionParams) -> StepData:
    driver = _packages(context)
    context.progress.dispatched = True
    driver.set_permission(params.applicationId, params.permission, granted=False)
    return {"application_id": params.applicationId, "permission": params.permission}


def read_logcat(context: ActionContext, params: ReadLogcatParams) -> StepData:
    driver = context.driver_or_timeout()
    if not isinstance(driver, LogSource):
        raise _unsupported("read the log")
    lines = driver.read_log(params.applicationId, params.since, params.maxLines)
    return {"application_id": params.applicationId, "line_count": str(len(lines)), "text": "\n".join(lines)}


def _packages(context: ActionContext) -> PackageControl:
    driver = context.driver_or_timeout()
    if not isinstance(driver, PackageControl):
        raise _unsupported("change installed apps")
    return driver


def _unsupported(what: str) -> ClawError:
    return ClawError(
        "EXECUTION_ACTION_UNSUPPORTED", f"this driver cannot {what}", hint="Use the backend operator or adb."
    )
