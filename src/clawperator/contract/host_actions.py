"""The actions that only the host runs: on apps and the device, gestures, queries and waits."""

import re
from collections.abc import Iterator
from functools import partial
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType

from clawperator._base.text import Grammar
from clawperator.contract.action_params import (
    APP_FLAGS,
    DEFAULT_WAIT_MS,
    MAX_GESTURE_MS,
    ONCE,
    PACKAGE_NAME,
    UI_READINESS,
    ActionType,
    Again,
    AppParams,
    Coordinate,
    DirectionName,
    EffectParams,
    Field,
    Label,
    OptionalTarget,
    Params,
    Target,
    User,
    UserParams,
    WaitMs,
    cli_template,
    direct_template,
    one_of,
    package_rules,
    register,
    registers,
    text_rules,
)
from clawperator.contract.fields import about
from clawperator.contract.limits import MAX_SETTLE_DELAY_MS, MAX_URI_LENGTH
from clawperator.contract.selectors import NodeSelector, Problem, problems_below

PERMISSION = Grammar(r"[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)+")
COMPONENT = Grammar(rf"({PACKAGE_NAME.pattern})/\.?[A-Za-z_][\w.$]*", re.ASCII)
_ACTION = Grammar(r"[A-Za-z][\w.]*", re.ASCII)
_EXTRA = Grammar(r"[\w.:-]{1,255}", re.ASCII)
# A duration such as 30s, or a time as logcat prints it.
SINCE = Grammar(
    r"[1-9][0-9]{0,5}(ms|s|m|h|d)|([0-9]{4}-)?[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?"
)
MAX_EXTRAS = 32
MAX_LOG_LINES = 5_000

Orientation = Literal["portrait", "landscape", "0", "90", "180", "270", "auto"]
_Start = Annotated[Coordinate | UnsetType, about("point where the gesture begins", flag="--from")]
_End = Annotated[Coordinate | UnsetType, about("point where the gesture ends", flag="--to")]
_DurationMs = Annotated[
    Annotated[float, Meta(ge=1, le=MAX_GESTURE_MS)],
    about("duration of the movement in ms", flag="--duration", metavar="<ms>"),
]
MAX_MATCHES = 500
_MAX_SELECTORS = 10


@registers
def _hosted(
    name: str, summary: str, tool: str, *, prefix: str = "", timeout_ms: int = 30_000, **columns: Any
) -> ActionType:
    template = cli_template(prefix or name.replace("_", "-") + "-", timeout_ms)
    return ActionType(name, summary, template, runs_on_host=True, model_tool=tool, **columns)


_full = partial(_hosted, tool="run_plan", level="full")
_acting = partial(_hosted, unsettles=True)
_wait = partial(_hosted, tool="wait", prefix="wait-", family="observation", read_only=True)


@_acting("rotate", "Rotate the screen.", "phone")
class RotateParams(EffectParams, frozen=True):
    orientation: Annotated[Orientation, about("orientation, degrees, or auto to follow the sensor again", word=1)]


@_acting(
    "start_activity",
    "Start an activity by component, or by action and data.",
    "app",
    performs=("open_app",),
)
class StartActivityParams(EffectParams, frozen=True):
    component: Annotated[Label | UnsetType, about("package/activity", word=1, flag="--component")] = UNSET
    action: Annotated[Label | UnsetType, about("intent action")] = UNSET
    uri: Annotated[
        Annotated[str, Meta(max_length=MAX_URI_LENGTH)] | UnsetType,
        about("data URI; the rules about schemes apply", aliases=("--data",)),
    ] = UNSET
    extras: Annotated[
        Annotated[dict[str, str | bool | int | float], Meta(max_length=MAX_EXTRAS)] | UnsetType,
        about(
            "intent extras by name; true, false and numbers keep their type",
            flag="--extra",
            metavar="<name=value>",
        ),
    ] = UNSET
    user: User = UNSET

    def rules(self) -> Iterator[Problem]:
        if self.component is UNSET and self.action is UNSET:
            hint = "Set {component} to com.android.settings/.Settings, for example."
            yield "", "start_activity needs {component} or {action}", hint
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


@_full("install_app", "Install an APK file of the host.", timeout_ms=120_000, input_path_param="path")
class InstallAppParams(UserParams, frozen=True):
    path: Annotated[
        Annotated[str, Meta(max_length=4_096)], about("APK file on the host", word=1, path="in", metavar="<apk>")
    ]

    def rules(self) -> Iterator[Problem]:
        return text_rules("path", self.path, 4_096)


_full("uninstall_app", "Uninstall an app with its data.")(AppParams)
_full("clear_app_data", "Delete the data of an app.")(AppParams)


@_full("revoke_permission", "Revoke a permission of an app.")
@_full("grant_permission", "Grant a permission to an app.")
class PermissionParams(AppParams, frozen=True):
    permission: Annotated[Label, about("permission, android.permission.CAMERA", word=2, flag="--permission")]

    def rules(self) -> Iterator[Problem]:
        yield from package_rules("applicationId", self.applicationId)
        message = "is not a permission such as android.permission.CAMERA"
        yield from text_rules("permission", self.permission, 512, PERMISSION, message)


@_hosted("read_logcat", "Read the log lines of an app.", "phone", family="observation", level="full")
class ReadLogcatParams(Params, frozen=True):
    applicationId: Annotated[
        Label, about("package name of the app", flag="--app", aliases=APP_FLAGS, metavar="<package>")
    ]
    since: Annotated[
        Annotated[str, Meta(max_length=64)],
        about("duration such as 30s, or start time such as '01-31 12:00:00'"),
    ] = "1m"
    maxLines: Annotated[
        Annotated[int, Meta(ge=1, le=MAX_LOG_LINES)],
        about("keep only the last lines", flag="--lines", metavar="<n>", rare=True),
    ] = 500

    def rules(self) -> Iterator[Problem]:
        yield from package_rules("applicationId", self.applicationId)
        message = "is not a duration such as 30s, nor a time such as 01-31 12:00:00"
        yield from text_rules("since", self.since, 64, SINCE, message)


@_acting("swipe", "Swipe from one point to another, or in a direction.", "scroll", performs=("click",))
class SwipeParams(EffectParams, frozen=True):
    start: _Start = UNSET
    end: _End = UNSET
    direction: Annotated[
        DirectionName | UnsetType,
        about("direction of the finger, instead of two points", word=1, flag="--direction"),
    ] = UNSET
    matcher: Annotated[NodeSelector | UnsetType, about("node to swipe on (default: the screen)", spread="")] = (
        UNSET
    )
    distanceRatio: Annotated[
        Annotated[float, Meta(gt=0, le=1)],
        about(
            "part of the node that a swipe in a direction covers",
            flag="--distance",
            metavar="<ratio>",
            rare=True,
        ),
    ] = 0.6
    durationMs: _DurationMs = 300
    retry: Again = UI_READINESS

    def rules(self) -> Iterator[Problem]:
        has_points = self.start is not UNSET or self.end is not UNSET
        hint = "Give {start} and {end}, or {direction} alone."
        if has_points == (self.direction is not UNSET):
            yield "", "swipe needs {start} and {end}, or {direction}", hint
        elif has_points and (self.start is UNSET or self.end is UNSET):
            yield "end" if self.end is UNSET else "start", "swipe needs both {start} and {end}", hint
        elif has_points and self.matcher is not UNSET:
            hint = "To swipe on a node, give {direction} instead of {start} and {end}."
            yield "matcher", "a swipe between two points takes no node", hint


@_acting(
    "drag", "Long-press a node or a point, drag it to another, and release it.", "scroll", performs=("click",)
)
class DragParams(EffectParams, frozen=True):
    matcher: OptionalTarget = UNSET
    start: _Start = UNSET
    toMatcher: Annotated[NodeSelector | UnsetType, about("node to drag to", spread="to-")] = UNSET
    end: _End = UNSET
    durationMs: _DurationMs = 1_000
    retry: Again = UI_READINESS

    def rules(self) -> Iterator[Problem]:
        if (self.matcher is UNSET) == (self.start is UNSET):
            yield one_of("drag", "matcher", "start")
        if (self.toMatcher is UNSET) == (self.end is UNSET):
            yield one_of("drag", "toMatcher", "end")


@_acting("double_tap", "Tap a node or a point twice.", "tap", performs=("click",))
class DoubleTapParams(EffectParams, frozen=True):
    matcher: OptionalTarget = UNSET
    coordinate: Annotated[Coordinate | UnsetType, about("point in pixels, instead of a node")] = UNSET
    retry: Again = UI_READINESS

    def rules(self) -> Iterator[Problem]:
        if (self.matcher is UNSET) == (self.coordinate is UNSET):
            yield one_of("double_tap", "matcher", "coordinate")


@_acting(
    "submit_text", "Submit a field with the keyboard's action: search, go, send or done.", "type", prefix="submit-"
)
class SubmitTextParams(EffectParams, frozen=True):
    matcher: Field = UNSET
    retry: Again = UI_READINESS


@register(
    "query",
    "List the elements that match a selector, and selectors for them.",
    direct_template("query-", source="clawperator-observe"),
    family="observation",
    read_only=True,
    runs_on_host=True,
    model_tool="query",
)
class QueryParams(Params, frozen=True):
    matcher: OptionalTarget = UNSET
    limit: Annotated[Annotated[int, Meta(ge=1, le=MAX_MATCHES)], about("most matches to list", metavar="<n>")] = 50
    suggest: Annotated[bool, about("add unique selectors, the most stable first")] = False
    retry: Again = ONCE


@_wait("wait_until_gone", "Wait until no node on the screen matches.")
class WaitUntilGoneParams(Params, frozen=True):
    matcher: Target
    timeoutMs: WaitMs = DEFAULT_WAIT_MS


@_wait("wait_for_text_change", "Wait until the label of a node changes.")
class WaitForTextChangeParams(Params, frozen=True):
    matcher: Target
    text: Annotated[
        Label | UnsetType,
        about("old label (default: the label at the start)", flag="--from-text"),
    ] = UNSET
    timeoutMs: WaitMs = DEFAULT_WAIT_MS


@_wait("wait_until_idle", "Wait until the screen stops changing.")
class WaitUntilIdleParams(Params, frozen=True):
    quietMs: Annotated[float, Meta(gt=0, le=MAX_SETTLE_DELAY_MS, description="time without a change, in ms")] = 500
    timeoutMs: WaitMs = DEFAULT_WAIT_MS


@_wait("wait_for_any", "Wait until one of several nodes is on the screen.")
class WaitForAnyParams(Params, frozen=True):
    selectors: Annotated[
        tuple[NodeSelector, ...],
        Meta(min_length=1, max_length=_MAX_SELECTORS),
        about("selectors to wait for; the first that matches counts", not_cli=True),
    ]
    timeoutMs: WaitMs = DEFAULT_WAIT_MS

    def rules(self) -> Iterator[Problem]:
        for number, selector in enumerate(self.selectors or ()):
            yield from problems_below(f"selectors.{number}", selector.problems())
