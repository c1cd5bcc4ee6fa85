"""Every action type: one Struct for its params, one row in ``ACTIONS``.

A Struct's fields hold the defaults the phone uses; its ``problems`` holds the rules a type cannot say.
Validation, commands, schemas, tools and reference docs are derived from here.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from clawperator._text import compile_pattern, is_blank, utf16_length
from clawperator.contract import limits
from clawperator.contract.selectors import NodeMatcher, Problem

PACKAGE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z][A-Za-z0-9_]*)*")
SESSION_ID = re.compile(r"[A-Za-z0-9_-]+")

Ratio = Annotated[float, Meta(ge=0, le=1, description="part of the container a swipe covers")]
SettleMs = Annotated[float, Meta(ge=0, le=limits.MAX_SETTLE_DELAY_MS, description="pause after a swipe, in ms")]
WaitMs = Annotated[float, Meta(gt=0, le=limits.MAX_EXECUTION_TIMEOUT_MS, description="how long to wait, in ms")]
NavigationMs = Annotated[
    float, Meta(gt=0, le=limits.MAX_NAVIGATION_TIMEOUT_MS, description="how long to wait, in ms")
]
Text = Annotated[
    str, Meta(min_length=1, max_length=limits.MAX_MATCHER_VALUE_LENGTH, description="the text, not blank")
]
Direction = Annotated[Literal["down", "up", "left", "right"], Meta(description="where the content goes")]
ClickType = Annotated[
    Literal["default", "click", "long_click", "longclick", "focus"],
    Meta(description="what to do with the node; default is click"),
]
Container = Annotated[NodeMatcher, Meta(description="look or scroll inside this node only")]
Target = Annotated[NodeMatcher, Meta(description="the node that is meant")]
ClickAfter = Annotated[bool, Meta(description="click the node once it is there")]
All = Annotated[bool, Meta(description="every match, not the first")]


class Coordinate(Struct, frozen=True, forbid_unknown_fields=True):
    """A point on the screen, in pixels from the top left."""

    x: Annotated[int, Meta(ge=0)]
    y: Annotated[int, Meta(ge=0)]


class Retry(Struct, frozen=True, forbid_unknown_fields=True):
    """How often to look again. What is absent takes the default here, not that of the action."""

    maxAttempts: Annotated[int, Meta(ge=1, le=10, description="tries, the first one counted")] = 1
    initialDelayMs: Annotated[float, Meta(ge=0, le=30_000, description="pause before the second try")] = 0
    maxDelayMs: (
        Annotated[float, Meta(ge=0, le=60_000, description="longest pause; initialDelayMs if absent")] | UnsetType
    ) = UNSET
    backoffMultiplier: Annotated[float, Meta(ge=1, le=5, description="what each pause grows by")] = 1
    jitterRatio: Annotated[float, Meta(ge=0, le=1, description="part of a pause left to chance")] = 0

    def problems(self) -> Iterator[Problem]:
        if isinstance(self.maxDelayMs, float | int) and self.maxDelayMs < self.initialDelayMs:
            yield "maxDelayMs", "must not be less than initialDelayMs"


UI_READINESS = Retry(5, 500, 3_000, 2, 0.15)
APP_LAUNCH = Retry(4, 750, 4_000, 2, 0.15)
APP_CLOSE = UI_SCROLL = Retry(4, 400, 2_000, 2, 0.15)
ONCE = Retry()

Again = Annotated[Retry, Meta(description="how often to look again")]


class Params(Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of one action."""

    def problems(self) -> Iterator[Problem]:
        """What a type cannot say: rules over several fields, blanks, grammars. First one wins."""
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if isinstance(value, NodeMatcher | Retry):
                for below, message in value.problems():
                    yield f"{name}.{below}".rstrip("."), message
        yield from self.rules()

    def rules(self) -> Iterator[Problem]:
        return iter(())


def _text_rules(
    name: str, value: str | UnsetType, most: int, grammar: re.Pattern[str] | None = None, told: str = ""
) -> Iterator[Problem]:
    """The rules of a text, if it is given: not blank, not too long, and of its grammar."""
    if not isinstance(value, str):
        return
    if is_blank(value):
        yield name, "must not be blank"
    elif utf16_length(value) > most:
        yield name, f"is longer than {most} characters"
    elif grammar and not grammar.fullmatch(value):
        yield name, told


def _package_rules(name: str, value: str | UnsetType) -> Iterator[Problem]:
    told = "is not a package name such as com.android.settings"
    return _text_rules(name, value, limits.MAX_MATCHER_VALUE_LENGTH, PACKAGE_NAME, told)


class AppParams(Params, frozen=True):
    applicationId: Annotated[str, Meta(max_length=512, description="package name of the app")]

    def rules(self) -> Iterator[Problem]:
        return _package_rules("applicationId", self.applicationId)


class OpenAppParams(AppParams, frozen=True):
    retry: Again = APP_LAUNCH


class CloseAppParams(AppParams, frozen=True):
    retry: Again = APP_CLOSE


class OpenUriParams(Params, frozen=True):
    uri: Annotated[str, Meta(max_length=limits.MAX_URI_LENGTH, description="what to view")]
    retry: Again = APP_LAUNCH

    def rules(self) -> Iterator[Problem]:
        return _text_rules("uri", self.uri, limits.MAX_URI_LENGTH)


class RecordingParams(Params, frozen=True):
    sessionId: (
        Annotated[str, Meta(max_length=limits.MAX_ID_LENGTH, description="letters, digits, _ and -")] | UnsetType
    ) = UNSET

    def rules(self) -> Iterator[Problem]:
        told = "may hold only letters, digits, _ and -"
        return _text_rules("sessionId", self.sessionId, limits.MAX_ID_LENGTH, SESSION_ID, told)


class WaitForNodeParams(Params, frozen=True):
    matcher: Target
    timeoutMs: WaitMs | UnsetType = UNSET
    retry: Again = UI_READINESS


class ClickParams(Params, frozen=True):
    matcher: Target | UnsetType = UNSET
    coordinate: Annotated[Coordinate, Meta(description="a point instead of a node")] | UnsetType = UNSET
    clickType: ClickType = "default"
    retry: Again = UI_READINESS

    def rules(self) -> Iterator[Problem]:
        if (self.matcher is UNSET) == (self.coordinate is UNSET):
            yield "", "click needs exactly one of matcher and coordinate"
        elif self.coordinate is not UNSET and self.clickType == "focus":
            yield "clickType", "a coordinate cannot be focused; use a matcher"


class _SwipeParams(Params, frozen=True):
    container: Container | UnsetType = UNSET
    direction: Direction = "down"
    distanceRatio: Ratio = 0.7
    settleDelayMs: SettleMs = 250
    findFirstScrollableChild: Annotated[
        bool, Meta(description="when the container itself does not scroll, its first part that does")
    ] = True


class ScrollParams(_SwipeParams, frozen=True):
    retry: Again = ONCE


class ScrollUntilParams(_SwipeParams, frozen=True):
    matcher: Target | UnsetType = UNSET
    maxScrolls: Annotated[int, Meta(ge=1, le=limits.MAX_SCROLLS, description="give up after so many")] = 20
    maxDurationMs: Annotated[
        float, Meta(ge=0, le=limits.MAX_EXECUTION_TIMEOUT_MS, description="give up after so long, in ms")
    ] = 10_000
    noPositionChangeThreshold: Annotated[
        int,
        Meta(ge=1, le=limits.MAX_NO_POSITION_CHANGE_THRESHOLD, description="give up when so many moved nothing"),
    ] = 3
    clickAfter: ClickAfter = False
    clickType: ClickType = "default"

    def rules(self) -> Iterator[Problem]:
        if self.clickAfter and self.matcher is UNSET:
            yield "matcher", "clickAfter needs a matcher"


class ScrollAndClickParams(_SwipeParams, frozen=True, kw_only=True):
    matcher: Target
    maxSwipes: Annotated[int, Meta(ge=1, le=limits.MAX_SWIPES, description="give up after so many")] = 10
    clickAfter: ClickAfter = True
    clickType: ClickType = "default"
    scrollRetry: Annotated[Retry, Meta(description="how often to look while scrolling")] = UI_SCROLL
    clickRetry: Annotated[Retry, Meta(description="how often to try the click")] = UI_READINESS


class ReadTextParams(Params, frozen=True):
    matcher: Target
    all: All = False
    container: Container | UnsetType = UNSET
    validator: (
        Annotated[Literal["temperature", "version", "regex"], Meta(description="what the text must be")]
        | UnsetType
    ) = UNSET
    validatorPattern: Annotated[str, Meta(description="the expression the whole text must match")] | UnsetType = (
        UNSET
    )
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


class EnterTextParams(Params, frozen=True):
    matcher: Target
    text: Text
    submit: Annotated[bool, Meta(description="submit afterwards")] = False
    clear: Annotated[bool, Meta(description="empty the field first")] = False
    retry: Again = UI_READINESS

    def rules(self) -> Iterator[Problem]:
        return _text_rules("text", self.text, limits.MAX_MATCHER_VALUE_LENGTH)


class SnapshotUiParams(Params, frozen=True):
    retry: Again = UI_READINESS


class TakeScreenshotParams(Params, frozen=True):
    path: Annotated[str, Meta(description="where the host writes the PNG")] | UnsetType = UNSET
    retry: Again = ONCE

    def rules(self) -> Iterator[Problem]:
        return _text_rules("path", self.path, 4_096)


class SleepParams(Params, frozen=True):
    durationMs: Annotated[float, Meta(ge=0, le=limits.MAX_EXECUTION_TIMEOUT_MS, description="how long, in ms")]


class PressKeyParams(Params, frozen=True):
    key: Annotated[Literal["back", "home", "recents"], Meta(description="the key")]


class WaitForNavigationParams(Params, frozen=True, kw_only=True):
    expectedPackage: (
        Annotated[str, Meta(max_length=512, description="the app that must be in front")] | UnsetType
    ) = UNSET
    expectedNode: Annotated[NodeMatcher, Meta(description="the node that must be there")] | UnsetType = UNSET
    timeoutMs: NavigationMs

    def rules(self) -> Iterator[Problem]:
        yield from _package_rules("expectedPackage", self.expectedPackage)
        if self.expectedPackage is UNSET and self.expectedNode is UNSET:
            yield "", "wait_for_navigation needs expectedPackage or expectedNode"


class ReadKeyValuePairParams(Params, frozen=True):
    labelMatcher: Annotated[NodeMatcher, Meta(description="the node with the label")]
    all: All = False
    retry: Again = UI_READINESS


class ActionType(Struct, frozen=True):
    """One row of the registry."""

    name: str
    params: type[Params]
    summary: str
    aliases: tuple[str, ...] = ()


_ROWS = (
    ActionType("open_app", OpenAppParams, "Bring an app to the front by its package name."),
    ActionType("open_uri", OpenUriParams, "Open a URI in the app that handles it.", ("open_url",)),
    ActionType("close_app", CloseAppParams, "Force-stop an app."),
    ActionType("start_recording", RecordingParams, "Start recording what happens on the phone."),
    ActionType("stop_recording", RecordingParams, "Finish the running recording."),
    ActionType(
        "wait_for_node",
        WaitForNodeParams,
        "Wait until a node is on the screen.",
        ("wait_for", "find", "find_node"),
    ),
    ActionType("click", ClickParams, "Click a node or a point.", ("tap", "press")),
    ActionType("scroll_and_click", ScrollAndClickParams, "Scroll until a node is there, then click it."),
    ActionType("scroll", ScrollParams, "Scroll a container once."),
    ActionType("scroll_until", ScrollUntilParams, "Scroll until a node is there or nothing moves."),
    ActionType("read_text", ReadTextParams, "Read the label of a node, or of all that match.", ("read",)),
    ActionType(
        "enter_text",
        EnterTextParams,
        "Put text into a field.",
        ("type_text", "text_entry", "input_text"),
    ),
    ActionType("snapshot_ui", SnapshotUiParams, "Capture the screen's hierarchy as XML.", ("snapshot",)),
    ActionType(
        "take_screenshot",
        TakeScreenshotParams,
        "Capture the screen as a PNG.",
        ("screenshot", "capture_screenshot"),
    ),
    ActionType("sleep", SleepParams, "Do nothing for a while."),
    ActionType("press_key", PressKeyParams, "Press Back, Home or Recents.", ("key_press",)),
    ActionType("wait_for_navigation", WaitForNavigationParams, "Wait until an app or a node is in front."),
    ActionType("read_key_value_pair", ReadKeyValuePairParams, "Read the value that stands beside a label."),
)

ACTIONS: Mapping[str, ActionType] = {row.name: row for row in _ROWS}
ACTION_ALIASES: Mapping[str, str] = {alias: row.name for row in _ROWS for alias in row.aliases}

PARAM_ALIASES: Mapping[str, str] = {
    "application_id": "applicationId",
    "app_id": "applicationId",
    "appId": "applicationId",
    "app": "applicationId",
    "package": "applicationId",
    "package_id": "applicationId",
    "packageId": "applicationId",
    "session_id": "sessionId",
    "url": "uri",
    "duration_ms": "durationMs",
    "file": "path",
    "filePath": "path",
    "output_path": "path",
    "selector": "matcher",
    "node": "matcher",
    "element": "matcher",
    "value": "text",
    "click_type": "clickType",
    "longPress": "clickType",
    "within": "container",
    "container_selector": "container",
    "max_swipes": "maxSwipes",
    "distance_ratio": "distanceRatio",
    "settle_delay_ms": "settleDelayMs",
    "max_scrolls": "maxScrolls",
    "max_duration_ms": "maxDurationMs",
    "no_position_change_threshold": "noPositionChangeThreshold",
    "find_first_scrollable_child": "findFirstScrollableChild",
    "click_after": "clickAfter",
    "validator_pattern": "validatorPattern",
    "expected_package": "expectedPackage",
    "expected_node": "expectedNode",
    "wait_for": "expectedNode",
    "timeout_ms": "timeoutMs",
    "label_matcher": "labelMatcher",
    "label_selector": "labelMatcher",
}
MATCHER_PARAMS = ("matcher", "container", "expectedNode", "labelMatcher")
# Values that may be written in any case and with spaces around them; the phone takes neither.
WORD_PARAMS = ("direction", "key", "validator")
