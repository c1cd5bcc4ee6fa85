"""Actions on apps and on the device as a whole that the host runs with adb."""

import re
from collections.abc import Iterator
from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from clawperator.contract.action_params import (
    PACKAGE_NAME,
    AppParams,
    EffectParams,
    User,
    UserParams,
    cli_template,
    package_rules,
    text_rules,
)
from clawperator.contract.action_types import ActionType, Params, register
from clawperator.contract.limits import MAX_URI_LENGTH
from clawperator.contract.selectors import Problem

PERMISSION = re.compile(r"[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)+")
COMPONENT = re.compile(rf"({PACKAGE_NAME.pattern})/\.?[A-Za-z_][\w.$]*", re.ASCII)
_ACTION = re.compile(r"[A-Za-z][\w.]*", re.ASCII)
_EXTRA = re.compile(r"[\w.:-]{1,255}", re.ASCII)
# A duration such as 30s, or a time as logcat prints it.
SINCE = re.compile(
    r"[1-9][0-9]{0,5}(ms|s|m|h|d)|([0-9]{4}-)?[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?"
)
MAX_EXTRAS = 32
MAX_LOG_LINES = 5_000

Orientation = Literal["portrait", "landscape", "0", "90", "180", "270", "auto"]


def _full(name: str, summary: str, timeout_ms: int = 30_000, *, input_path_param: str = "") -> ActionType:
    return ActionType(
        name,
        summary,
        cli_template(name.replace("_", "-") + "-", timeout_ms),
        level="full",
        runs_on_host=True,
        input_path_param=input_path_param,
        model_tool="run_plan",
    )


@register(
    ActionType(
        "rotate",
        "Rotate the screen.",
        cli_template("rotate-"),
        runs_on_host=True,
        unsettles=True,
        model_tool="phone",
    )
)
class RotateParams(EffectParams, frozen=True):
    orientation: Annotated[
        Orientation, Meta(description="orientation, degrees, or auto to follow the sensor again")
    ]


@register(
    ActionType(
        "start_activity",
        "Start an activity by component, or by action and data.",
        cli_template("start-activity-"),
        runs_on_host=True,
        unsettles=True,
        uri_param="uri",
        model_tool="app",
        performs=("open_app",),
    )
)
class StartActivityParams(EffectParams, frozen=True):
    component: Annotated[str, Meta(max_length=512, description="package/activity")] | UnsetType = UNSET
    action: Annotated[str, Meta(max_length=512, description="intent action")] | UnsetType = UNSET
    uri: (
        Annotated[str, Meta(max_length=MAX_URI_LENGTH, description="data URI; the rules about schemes apply")]
        | UnsetType
    ) = UNSET
    extras: (
        Annotated[
            dict[str, str | bool | int | float], Meta(max_length=MAX_EXTRAS, description="extras of the intent")
        ]
        | UnsetType
    ) = UNSET
    user: User = UNSET

    def rules(self) -> Iterator[Problem]:
        if self.component is UNSET and self.action is UNSET:
            yield "", "start_activity needs component or action"
        message = "is not a component such as com.android.settings/.Settings"
        yield from text_rules("component", self.component, 512, COMPONENT, message)
        message = "is not an intent action such as android.settings.SETTINGS"
        yield from text_rules("action", self.action, 512, _ACTION, message)
        yield from text_rules("uri", self.uri, MAX_URI_LENGTH)
        for name, value in self.extras.items() if isinstance(self.extras, dict) else ():
            if not _EXTRA.fullmatch(name):
                yield "extras", f"{name!r} is not the name of an extra"
            elif isinstance(value, str) and "\0" in value:
                yield f"extras.{name}", "must not have a NUL character"


@register(_full("install_app", "Install an APK file of the host.", 120_000, input_path_param="path"))
class InstallAppParams(UserParams, frozen=True):
    path: Annotated[str, Meta(max_length=4_096, description="APK file on the host")]

    def rules(self) -> Iterator[Problem]:
        return text_rules("path", self.path, 4_096)


@register(_full("uninstall_app", "Uninstall an app with its data."))
class UninstallAppParams(AppParams, frozen=True):
    pass


@register(_full("clear_app_data", "Delete the data of an app."))
class ClearAppDataParams(AppParams, frozen=True):
    pass


class PermissionParams(AppParams, frozen=True):
    permission: Annotated[str, Meta(max_length=512, description="permission, android.permission.CAMERA")]

    def rules(self) -> Iterator[Problem]:
        yield from package_rules("applicationId", self.applicationId)
        message = "is not a permission such as android.permission.CAMERA"
        yield from text_rules("permission", self.permission, 512, PERMISSION, message)


@register(_full("grant_permission", "Grant a permission to an app."))
class GrantPermissionParams(PermissionParams, frozen=True):
    pass


@register(_full("revoke_permission", "Revoke a permission of an app."))
class RevokePermissionParams(PermissionParams, frozen=True):
    pass


@register(
    ActionType(
        "read_logcat",
        "Read the log lines of an app.",
        cli_template("read-logcat-"),
        family="observation",
        level="full",
        runs_on_host=True,
        model_tool="phone",
    )
)
class ReadLogcatParams(Params, frozen=True):
    applicationId: Annotated[str, Meta(max_length=512, description="package name of the app")]
    since: Annotated[
        str, Meta(max_length=64, description="start: a duration such as 30s, or a time such as 01-31 12:00:00")
    ] = "1m"
    maxLines: Annotated[int, Meta(ge=1, le=MAX_LOG_LINES, description="keep only the last lines")] = 500

    def rules(self) -> Iterator[Problem]:
        yield from package_rules("applicationId", self.applicationId)
        message = "is not a duration such as 30s, nor a time such as 01-31 12:00:00"
        yield from text_rules("since", self.since, 64, SINCE, message)
