"""The actions of the Operator's contract: one Struct for the params of each, registered with its row.

The rows of the actions that only the host runs are in ``host_actions.py``.
A Struct's fields hold the defaults that the device uses; its ``rules`` hold what a type cannot express.
Validation, executions, schemas, tools and reference docs derive from here.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType

from clawperator._base.text import compile_pattern, is_blank, trim, whole
from clawperator.contract import limits
from clawperator.contract.action_params import (
    APP_CLOSE,
    APP_FLAGS,
    APP_LAUNCH,
    MAX_GESTURE_MS,
    ONCE,
    OPERATOR_KEYS,
    REGISTERED,
    SESSION_ID,
    UI_READINESS,
    UI_SCROLL,
    ActionRegistry,
    ActionType,
    Again,
    All,
    AppParams,
    ClickAfter,
    ClickType,
    ClickTypeAfter,
    Container,
    Coordinate,
    Direction,
    EffectParams,
    Field,
    KeyName,
    Label,
    NavigationMs,
    OptionalTarget,
    Params,
    Ratio,
    Retry,
    Settle,
    SettleMs,
    Target,
    Template,
    Text,
    TextSource,
    User,
    ViewParams,
    WaitMs,
    cli_template,
    direct_template,
    one_of,
    package_rules,
    register,
    text_rules,
)
from clawperator.contract.fields import about
from clawperator.contract.selectors import (
    MATCHER_ALIASES,
    MAX_SELECTOR_DEPTH,
    NodeSelector,
    Problem,
    with_underscores,
)


@register(
    "open_app",
    "Open an app by package name.",
    cli_template("open_app", 15_000, task_id="cli-action-open-app"),
    takes_app_name=True,
    resolves_label=True,
    host_params=("user",),
    model_tool="app",
)
class OpenAppParams(AppParams, frozen=True):
    retry: Again = APP_LAUNCH
    settle: Settle = False


@register(
    "open_uri",
    "Open a URI in the app that handles it.",
    cli_template("open_uri", 15_000, task_id="cli-action-open-uri"),
    aliases=("open_url",),
    host_params=("user",),
    model_tool="app",
)
class OpenUriParams(EffectParams, frozen=True):
    uri: Annotated[str, Meta(max_length=limits.MAX_URI_LENGTH, description="URI to open")]
    retry: Again = APP_LAUNCH
    user: User = UNSET

    def rules(self) -> Iterator[Problem]:
        return text_rules("uri", self.uri, limits.MAX_URI_LENGTH)


@register(
    "close_app",
    "Force-stop an app.",
    cli_template("close-", action_id="close"),
    runs_on_host=True,
    without_screen=True,
    resolves_label=True,
    model_tool="app",
)
class CloseAppParams(AppParams, frozen=True):
    retry: Again = APP_CLOSE
    settle: Settle = False


@register(
    "stop_recording",
    "Stop the running recording.",
    cli_template("stop_recording", 15_000, task_id="cli-record-stop"),
    family="recording",
    model_tool="recording",
)
@register(
    "start_recording",
    "Start recording on the device.",
    cli_template("start_recording", 10_000, task_id="cli-record-start"),
    family="recording",
    model_tool="recording",
)
class RecordingParams(Params, frozen=True):
    sessionId: Annotated[
        Annotated[str, Meta(max_length=limits.MAX_ID_LENGTH)] | UnsetType,
        about("recording id: letters, digits, _ and -", metavar="<id>"),
    ] = UNSET

    def rules(self) -> Iterator[Problem]:
        message = "may contain only letters, digits, _ and -"
        return text_rules("sessionId", self.sessionId, limits.MAX_ID_LENGTH, SESSION_ID, message)


@register(
    "wait_for_node",
    "Wait until a node is on the screen.",
    direct_template("wait-"),
    aliases=("wait_for", "find", "find_node"),
    family="observation",
    read_only=True,
    model_tool="wait",
)
class WaitForNodeParams(Params, frozen=True):
    matcher: Target
    timeoutMs: WaitMs | UnsetType = UNSET
    retry: Again = UI_READINESS


@register(
    "click",
    "Click a node or a point.",
    direct_template("click-"),
    aliases=("tap", "press"),
    host_params=("durationMs",),
    unsettles=True,
    in_simple_mode=True,
    model_tool="tap",
)
class ClickParams(EffectParams, frozen=True):
    matcher: OptionalTarget = UNSET
    coordinate: Annotated[Coordinate | UnsetType, about("point in pixels, instead of a node")] = UNSET
    clickType: ClickType = "default"
    retry: Again = UI_READINESS
    durationMs: Annotated[
        # Android takes a shorter touch for a tap.
        Annotated[float, Meta(ge=500, le=MAX_GESTURE_MS)] | UnsetType,
        about("duration of a long click in ms", flag="--duration", metavar="<ms>"),
    ] = UNSET

    def rules(self) -> Iterator[Problem]:
        if (self.matcher is UNSET) == (self.coordinate is UNSET):
            yield one_of("click", "matcher", "coordinate")
        elif self.coordinate is not UNSET and self.clickType == "focus":
            hint = "Select a node to focus it, or leave {clickType} out."
            yield "clickType", "a coordinate cannot be focused; use {matcher}", hint
        if self.durationMs is not UNSET and self.clickType not in ("long_click", "longclick"):
            hint = "Leave {durationMs} out, or make it a long click."
            yield "durationMs", "only a long_click has a duration", hint


class ScrollGestureParams(EffectParams, frozen=True):
    container: Container = UNSET
    direction: Direction = "down"
    distanceRatio: Ratio = 0.7
    settleDelayMs: SettleMs = 250
    findFirstScrollableChild: Annotated[
        bool, Meta(description="when the container does not scroll, use its first child that does")
    ] = True


@register(
    "scroll_and_click",
    "Scroll until a node is on the screen, then click it.",
    cli_template("scroll-until-"),
    unsettles=True,
    model_tool="scroll",
)
class ScrollAndClickParams(ScrollGestureParams, frozen=True, kw_only=True):
    matcher: Target
    maxSwipes: Annotated[int, Meta(ge=1, le=limits.MAX_SWIPES, description="swipe limit")] = 10
    clickAfter: Annotated[bool, Meta(description="click the node when it is found")] = True
    clickType: ClickTypeAfter = "default"
    scrollRetry: Annotated[Retry, Meta(description="retry policy while scrolling")] = UI_SCROLL
    clickRetry: Annotated[Retry, Meta(description="retry policy of the click")] = UI_READINESS


@register(
    "scroll",
    "Scroll a container once.",
    cli_template("scroll-", task_id="cli-action-scroll"),
    model_tool="scroll",
)
class ScrollParams(ScrollGestureParams, frozen=True):
    retry: Again = ONCE


@register(
    "scroll_until",
    "Scroll until a node is on the screen or the list ends.",
    cli_template("scroll-until-"),
    model_tool="scroll",
)
class ScrollUntilParams(ScrollGestureParams, frozen=True):
    matcher: OptionalTarget = UNSET
    maxScrolls: Annotated[int, Meta(ge=1, le=limits.MAX_SCROLLS, description="scroll limit")] = 20
    maxDurationMs: Annotated[
        float, Meta(ge=0, le=limits.MAX_EXECUTION_TIMEOUT_MS, description="time limit in ms")
    ] = 10_000
    noPositionChangeThreshold: Annotated[
        int,
        Meta(ge=1, le=limits.MAX_NO_POSITION_CHANGE_THRESHOLD, description="stop after so many without movement"),
    ] = 3
    clickAfter: ClickAfter = False
    clickType: ClickTypeAfter = "default"

    def rules(self) -> Iterator[Problem]:
        if self.clickAfter and self.matcher is UNSET:
            yield "matcher", "{clickAfter} needs {matcher}"


@register(
    "read_text",
    "Read the label of a node, or of all that match.",
    direct_template("read-"),
    aliases=("read",),
    family="observation",
    read_only=True,
    model_tool="query",
)
class ReadTextParams(Params, frozen=True):
    matcher: Target
    all: All = False
    container: Container = UNSET
    validator: Annotated[
        Literal["temperature", "version", "regex"] | UnsetType, Meta(description="required form of the text")
    ] = UNSET
    validatorPattern: Annotated[
        str | UnsetType, Meta(description="regular expression that the whole text must match")
    ] = UNSET
    retry: Again = UI_READINESS

    def rules(self) -> Iterator[Problem]:
        if self.validator != "regex":
            return
        if not isinstance(self.validatorPattern, str) or is_blank(self.validatorPattern):
            yield "validatorPattern", 'validator "regex" needs a pattern'
            return
        try:
            compile_pattern(self.validatorPattern)
        except ValueError as e:
            yield "validatorPattern", f"is not a regular expression: {e}"


@register(
    "enter_text",
    "Enter text into a field.",
    direct_template("type-"),
    aliases=("type_text", "text_entry", "input_text"),
    host_params=("append", "textFrom"),
    typed_param="text",
    in_simple_mode=True,
    model_tool="type",
)
class EnterTextParams(EffectParams, frozen=True):
    matcher: Field = UNSET
    text: Text = UNSET
    submit: Annotated[bool, about("submit after entering")] = False
    clear: Annotated[bool, about("clear the field first")] = False
    retry: Again = UI_READINESS
    append: Annotated[bool, about("keep what the field has, and add the text at its end")] = False
    textFrom: Annotated[
        TextSource | UnsetType, about("where the host reads the text, instead of text", spread="")
    ] = UNSET

    @property
    def only_for_host(self) -> bool:
        return self.matcher is UNSET or not self.text

    def rules(self) -> Iterator[Problem]:
        if (self.text is UNSET) == (self.textFrom is UNSET):
            yield "text", *one_of("enter_text", "text", "textFrom")[1:]
        elif self.text != "" or not self.clear:
            yield from text_rules("text", self.text, limits.MAX_MATCHER_VALUE_LENGTH)
        if self.append and self.clear:
            yield "append", "cannot be combined with {clear}", "Leave {append} or {clear} out."


@register(
    "snapshot_ui",
    "Capture the elements on the screen as text.",
    direct_template("snapshot-", "snap", "clawperator-observe"),
    aliases=("snapshot",),
    family="observation",
    read_only=True,
    evidence="snapshot",
    in_simple_mode=True,
    host_params=("settle",),
    result_params=("view", "maxTokens", "since"),
    removed_params={"format": "The parameter format was removed; use view: xml, outline or json."},
    model_tool="snapshot",
)
class SnapshotUiParams(ViewParams, frozen=True):
    retry: Again = UI_READINESS


@register(
    "take_screenshot",
    "Capture the screen as a PNG.",
    Template("screenshot-", "clawperator-observe", 30_000, "snap"),
    aliases=("screenshot", "capture_screenshot"),
    family="observation",
    runs_on_host=True,
    without_screen=True,
    path_param="path",
    result_params=("marks",),
    evidence="screenshot",
    model_tool="screenshot",
)
class TakeScreenshotParams(Params, frozen=True):
    path: Annotated[str | UnsetType, about("output file on the host", aliases=("--file",), path="out")] = UNSET
    marks: Annotated[bool, about("draw the references on the picture", performs=("snapshot_ui",))] = False
    retry: Again = ONCE

    def rules(self) -> Iterator[Problem]:
        return text_rules("path", self.path, 4_096)


@register(
    "sleep",
    "Wait for a number of milliseconds.",
    cli_template("sleep-", action_id="sleep"),
    read_only=True,
    model_tool="wait",
)
class SleepParams(Params, frozen=True):
    durationMs: Annotated[
        Annotated[float, Meta(ge=0, le=limits.MAX_EXECUTION_TIMEOUT_MS)],
        about("duration in ms", word=1, metavar="<ms>"),
    ]


@register(
    "press_key",
    "Press Back, Home, Enter or another key by name.",
    cli_template("press_key", 10_000, task_id="cli-action-press-key"),
    aliases=("key_press",),
    model_tool="press",
)
class PressKeyParams(EffectParams, frozen=True):
    key: Annotated[KeyName, about("name of the key", word=1, flag="--key", aliases=("--button",))]

    @property
    def only_for_host(self) -> bool:
        return self.key not in OPERATOR_KEYS


@register(
    "wait_for_navigation",
    "Wait until an app or a node is in the foreground.",
    direct_template("wait-for-nav-"),
    family="observation",
    read_only=True,
    model_tool="wait",
)
class WaitForNavigationParams(Params, frozen=True, kw_only=True):
    expectedPackage: Annotated[
        Label | UnsetType,
        about("package expected in the foreground", flag="--app", aliases=APP_FLAGS, metavar="<package>"),
    ] = UNSET
    expectedNode: Annotated[NodeSelector | UnsetType, about("node expected on the screen", spread="")] = UNSET
    timeoutMs: NavigationMs

    def rules(self) -> Iterator[Problem]:
        yield from package_rules("expectedPackage", self.expectedPackage)
        if self.expectedPackage is UNSET and self.expectedNode is UNSET:
            yield "", "wait_for_navigation needs {expectedPackage} or {expectedNode}"


@register(
    "read_key_value_pair",
    "Read the value next to a label.",
    direct_template("read-value-"),
    family="observation",
    read_only=True,
    host_params=("all",),
    model_tool="query",
)
class ReadKeyValuePairParams(Params, frozen=True):
    labelMatcher: Annotated[NodeSelector, Meta(description="node of the label")]
    all: All = False
    retry: Again = UI_READINESS


def _register_host_actions() -> None:
    # Importing them registers their rows.
    from clawperator.contract import host_actions  # noqa: F401


ACTIONS: Mapping[str, ActionType] = ActionRegistry(_register_host_actions)
# Only actions of the Operator's contract have aliases.
ACTION_ALIASES: Mapping[str, str] = {alias: row.name for row in REGISTERED.values() for alias in row.aliases}


TOP_ALIASES: Mapping[str, str] = with_underscores(("commandId", "taskId", "expectedFormat", "timeoutMs"))
_SPELLED = (
    *("applicationId", "sessionId", "durationMs", "clickType", "maxSwipes", "distanceRatio", "settleDelayMs"),
    *("maxScrolls", "maxDurationMs", "noPositionChangeThreshold", "findFirstScrollableChild", "clickAfter"),
    *("validatorPattern", "expectedPackage", "expectedNode", "timeoutMs", "labelMatcher", "toMatcher", "quietMs"),
)
PARAM_ALIASES: Mapping[str, str] = {
    **with_underscores(_SPELLED),
    "app_id": "applicationId",
    "appId": "applicationId",
    "app": "applicationId",
    "package": "applicationId",
    "package_id": "applicationId",
    "packageId": "applicationId",
    "url": "uri",
    "file": "path",
    "filePath": "path",
    "output_path": "path",
    "selector": "matcher",
    "node": "matcher",
    "element": "matcher",
    "value": "text",
    "longPress": "clickType",
    "within": "container",
    "container_selector": "container",
    "wait_for": "expectedNode",
    "label_selector": "labelMatcher",
}
_MATCHER_PARAMS = ("matcher", "container", "expectedNode", "labelMatcher", "toMatcher")
# Keywords may be written in any case and with spaces around them; an Operator is stricter.
_KEYWORD_PARAMS = ("clickType", "direction", "key", "orientation", "validator")


def normalise_execution(document: Any) -> Any:
    """The document with canonical names and numbers. Unknown parts stay as they are."""
    if not isinstance(document, dict):
        return document
    out = _rename(_normalise_numbers(document), TOP_ALIASES)
    if isinstance(out.get("actions"), list):
        out["actions"] = [_normalise_action(a) if isinstance(a, dict) else a for a in out["actions"]]
    return out


def _normalise_action(action: dict[str, Any]) -> dict[str, Any]:
    out = dict(action)
    if isinstance(out.get("type"), str):
        name = trim(out["type"]).lower()
        out["type"] = ACTION_ALIASES.get(name, name)
    if isinstance(out.get("params"), dict):
        out["params"] = _normalise_params(out["params"])
    return out


def _normalise_params(params: dict[str, Any]) -> dict[str, Any]:
    if isinstance(params.get("longPress"), bool):
        long = {"longPress": "long_click"} if params["longPress"] else {}
        params = {k: v for k, v in params.items() if k != "longPress"} | long
    out = _rename(params, PARAM_ALIASES)
    for name in _MATCHER_PARAMS:
        if isinstance(out.get(name), dict):
            out[name] = _normalise_selector(out[name])
    if isinstance(selectors := out.get("selectors"), list):
        out["selectors"] = [_normalise_selector(one) if isinstance(one, dict) else one for one in selectors]
    for name in _KEYWORD_PARAMS:
        if isinstance(out.get(name), str):
            out[name] = trim(out[name]).lower()
    if out.get("clickType") == "longclick":
        out["clickType"] = "long_click"
    return out


def _normalise_selector(selector: dict[str, Any], depth: int = 0) -> dict[str, Any]:
    out = _rename(selector, MATCHER_ALIASES)
    if depth > MAX_SELECTOR_DEPTH:
        return out
    for name, value in out.items():
        if isinstance(value, dict):
            out[name] = _normalise_selector(value, depth + 1)
        elif isinstance(value, list):
            out[name] = [_normalise_selector(v, depth + 1) if isinstance(v, dict) else v for v in value]
    return out


def _rename(value: dict[str, Any], aliases: Mapping[str, str]) -> dict[str, Any]:
    """Rename aliases. A canonical name that is present wins, and of several aliases the first."""
    out: dict[str, Any] = {}
    for key, item in value.items():
        name = aliases.get(key, key)
        if name == key or (name not in value and name not in out):
            out[name] = item
    return out


def _normalise_numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _normalise_numbers(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_normalise_numbers(v) for v in value]
    return whole(value) if type(value) is float else value
