"""The actions that only the host runs: on apps and the device, gestures, queries and waits."""

import re
from collections.abc import Iterator
from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from clawperator.contract.action_params import (
    DEFAULT_WAIT_MS,
    MAX_GESTURE_MS,
    ONCE,
    PACKAGE_NAME,
    UI_READINESS,
    Again,
    AppParams,
    Coordinate,
    DirectionName,
    EffectParams,
    Target,
    User,
    UserParams,
    WaitMs,
    cli_template,
    direct_template,
    package_rules,
    text_rules,
)
from clawperator.contract.action_types import ActionType, Params, register
from clawperator.contract.limits import MAX_MATCHER_VALUE_LENGTH, MAX_SETTLE_DELAY_MS, MAX_URI_LENGTH
from clawperator.contract.selectors import NodeSelector, Problem

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
_Start = Annotated[Coordinate, Meta(description="point where the gesture begins")]
_End = Annotated[Coordinate, Meta(description="point where the gesture ends")]
_Point = Annotated[Coordinate, Meta(description="point, instead of a node")]
_DurationMs = Annotated[float, Meta(ge=1, le=MAX_GESTURE_MS, description="duration of the movement in ms")]
MAX_MATCHES = 500
_MAX_SELECTORS = 10


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


@register(
    ActionType(
        "swipe",
        "Swipe from one point to another, or in a direction.",
        cli_template("swipe-"),
        runs_on_host=True,
        unsettles=True,
        model_tool="scroll",
        performs=("click",),
    )
)
class SwipeParams(EffectParams, frozen=True):
    start: _Start | UnsetType = UNSET
    end: _End | UnsetType = UNSET
    direction: (
        Annotated[DirectionName, Meta(description="direction of the finger, instead of two points")] | UnsetType
    ) = UNSET
    matcher: Annotated[NodeSelector, Meta(description="node to swipe on (default: the screen)")] | UnsetType = (
        UNSET
    )
    distanceRatio: Annotated[
        float, Meta(gt=0, le=1, description="part of the node that a swipe in a direction covers")
    ] = 0.6
    durationMs: _DurationMs = 300
    retry: Again = UI_READINESS

    def rules(self) -> Iterator[Problem]:
        has_points = self.start is not UNSET or self.end is not UNSET
        if has_points == (self.direction is not UNSET):
            yield "", "swipe needs start and end, or a direction"
        elif has_points and (self.start is UNSET or self.end is UNSET):
            yield "end" if self.end is UNSET else "start", "swipe needs both start and end"
        elif has_points and self.matcher is not UNSET:
            yield "matcher", "a swipe between two points takes no matcher"


@register(
    ActionType(
        "drag",
        "Press a node or a point long, drag it to another, and release it.",
        cli_template("drag-"),
        runs_on_host=True,
        unsettles=True,
        model_tool="scroll",
        performs=("click",),
    )
)
class DragParams(EffectParams, frozen=True):
    matcher: Target | UnsetType = UNSET
    start: _Start | UnsetType = UNSET
    toMatcher: Annotated[NodeSelector, Meta(description="node to drag to")] | UnsetType = UNSET
    end: _End | UnsetType = UNSET
    durationMs: _DurationMs = 1_000
    retry: Again = UI_READINESS

    def rules(self) -> Iterator[Problem]:
        if (self.matcher is UNSET) == (self.start is UNSET):
            yield "", "drag needs exactly one of matcher and start"
        if (self.toMatcher is UNSET) == (self.end is UNSET):
            yield "", "drag needs exactly one of toMatcher and end"


@register(
    ActionType(
        "double_tap",
        "Tap a node or a point twice.",
        cli_template("double-tap-"),
        runs_on_host=True,
        unsettles=True,
        model_tool="tap",
        performs=("click",),
    )
)
class DoubleTapParams(EffectParams, frozen=True):
    matcher: Target | UnsetType = UNSET
    coordinate: _Point | UnsetType = UNSET
    retry: Again = UI_READINESS

    def rules(self) -> Iterator[Problem]:
        if (self.matcher is UNSET) == (self.coordinate is UNSET):
            yield "", "double_tap needs exactly one of matcher and coordinate"


@register(
    ActionType(
        "submit_text",
        "Submit a field with the keyboard's action: search, go, send or done.",
        cli_template("submit-"),
        runs_on_host=True,
        unsettles=True,
        model_tool="type",
    )
)
class SubmitTextParams(EffectParams, frozen=True):
    matcher: Annotated[NodeSelector, Meta(description="field (default: the focused field)")] | UnsetType = UNSET
    retry: Again = UI_READINESS


@register(
    ActionType(
        "query",
        "List the elements that match a selector, and selectors for them.",
        direct_template("query-", source="clawperator-observe"),
        family="observation",
        read_only=True,
        runs_on_host=True,
        model_tool="query",
    )
)
class QueryParams(Params, frozen=True):
    matcher: Target | UnsetType = UNSET
    limit: Annotated[int, Meta(ge=1, le=MAX_MATCHES, description="how many matches to list")] = 50
    suggest: Annotated[bool, Meta(description="add unique selectors, the most stable first")] = False
    retry: Again = ONCE


def _wait(name: str, summary: str) -> ActionType:
    return ActionType(
        name,
        summary,
        cli_template("wait-"),
        family="observation",
        read_only=True,
        runs_on_host=True,
        model_tool="wait",
    )


@register(_wait("wait_until_gone", "Wait until no node on the screen matches."))
class WaitUntilGoneParams(Params, frozen=True):
    matcher: Target
    timeoutMs: WaitMs = DEFAULT_WAIT_MS


@register(_wait("wait_for_text_change", "Wait until the label of a node changes."))
class WaitForTextChangeParams(Params, frozen=True):
    matcher: Target
    text: (
        Annotated[
            str,
            Meta(max_length=MAX_MATCHER_VALUE_LENGTH, description="old label (default: the label at the start)"),
        ]
        | UnsetType
    ) = UNSET
    timeoutMs: WaitMs = DEFAULT_WAIT_MS


@register(_wait("wait_until_idle", "Wait until the screen stops changing."))
class WaitUntilIdleParams(Params, frozen=True):
    quietMs: Annotated[float, Meta(gt=0, le=MAX_SETTLE_DELAY_MS, description="time without a change, in ms")] = 500
    timeoutMs: WaitMs = DEFAULT_WAIT_MS


@register(_wait("wait_for_any", "Wait until one of several nodes is on the screen."))
class WaitForAnyParams(Params, frozen=True):
    selectors: Annotated[
        tuple[NodeSelector, ...],
        Meta(min_length=1, max_length=_MAX_SELECTORS, description="selectors, the first that matches counts"),
    ]
    timeoutMs: WaitMs = DEFAULT_WAIT_MS

    def rules(self) -> Iterator[Problem]:
        for number, selector in enumerate(self.selectors or ()):
            for below, message in selector.problems():
                yield f"selectors.{number}.{below}".rstrip("."), message
