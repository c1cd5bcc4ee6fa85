"""Installed apps: install, uninstall, clear data, permissions, and the log of an app. The driver verifies each."""

import os

from clawperator.contract.device_actions import (
    ClearAppDataParams,
    GrantPermissionParams,
    InstallAppParams,
    ReadLogcatParams,
    RevokePermissionParams,
    UninstallAppParams,
)
from clawperator.engine.context import ActionContext, StepData, unsupported
from clawperator.engine.driver import LogSource, PackageControl
from clawperator.errors import ClawError


def install_app(context: ActionContext, params: InstallAppParams) -> StepData:
    if not os.path.isfile(params.path):  # checked first: nothing was dispatched
        raise ClawError(
            "ANDROID_PACKAGE_FAILED",
            f"no such file: {params.path}",
            hint="Pass the path of an APK file of this computer.",
            details={"path": params.path},
        )
    size = _package_control(context).install(params.path)
    return {"path": params.path, "size_bytes": str(size)}


def uninstall_app(context: ActionContext, params: UninstallAppParams) -> StepData:
    _package_control(context).uninstall(params.applicationId)
    return {"application_id": params.applicationId}


def clear_app_data(context: ActionContext, params: ClearAppDataParams) -> StepData:
    _package_control(context).clear_data(params.applicationId)
    return {"application_id": params.applicationId}


def grant_permission(context: ActionContext, params: GrantPermissionParams) -> StepData:
    _package_control(context).set_permission(params.applicationId, params.permission, granted=True)
    return {"application_id": params.applicationId, "permission": params.permission}


def revoke_permission(context: ActionContext, params: RevokePermissionParams) -> StepData:
    _package_control(context).set_permission(params.applicationId, params.permission, granted=False)
    return {"application_id": params.applicationId, "permission": params.permission}


def read_logcat(context: ActionContext, params: ReadLogcatParams) -> StepData:
    driver = context.driver_or_timeout()
    if not isinstance(driver, LogSource):
        raise unsupported("read the log")
    lines = driver.read_log(params.applicationId, params.since, params.maxLines)
    return {"application_id": params.applicationId, "line_count": str(len(lines)), "text": "\n".join(lines)}


def _package_control(context: ActionContext) -> PackageControl:
    """The driver, for a change of installed apps."""
    driver = context.driver_or_timeout()
    if not isinstance(driver, PackageControl):
        raise unsupported("change installed apps")
    context.progress.dispatched = True
    return driver
