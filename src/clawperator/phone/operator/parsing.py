"""The Operator's own parser of executions.

It differs from the host's ``validate`` on purpose, as a real Operator does: it ignores keys that it does not know,
clamps numbers, treats a value of the wrong type as absent, accepts duplicate ids, trims no text and knows no
aliases. An execution that it cannot parse gets no result.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar, get_args

from msgspec import UNSET, Struct, UnsetType

from clawperator._base.text import is_blank, utf16_length
from clawperator._base.typed import convert, decode
from clawperator.contract import limits
from clawperator.contract.action_params import UI_READINESS, Coordinate
from clawperator.contract.action_types import Params, Retry
from clawperator.contract.actions import (
    ClickParams,
    CloseAppParams,
    EnterTextParams,
    OpenAppParams,
    OpenUriParams,
    PressKeyParams,
    ReadKeyValuePairParams,
    ReadTextParams,
    RecordingParams,
    ScrollAndClickParams,
    ScrollParams,
    ScrollUntilParams,
    SleepParams,
    SnapshotUiParams,
    TakeScreenshotParams,
    WaitForNavigationParams,
    WaitForNodeParams,
)
from clawperator.contract.execution import Action, Execution
from clawperator.contract.selectors import NodeMatcher, NodeSelector
from clawperator.errors import ClawperatorException

DOCTOR_PING = "doctor_ping"
MAX_ACTIONS = 64
DEFAULT_TIMEOUT_MS = 30_000
_MAX_KEY_LENGTH = 32
_MAX_RETRY_DELAY_MS = 60_000

_ClickType = Literal["default", "click", "long_click", "longclick", "focus"]
_Direction = Literal["down", "up", "left", "right"]
_Key = Literal["back", "home", "recents"]
_Validator = Literal["temperature", "version", "regex"]
_CLICK_TYPES: Mapping[str, _ClickType] = {name: name for name in get_args(_ClickType)}
_DIRECTIONS: Mapping[str, _Direction] = {name: name for name in get_args(_Direction)}
_KEYS: Mapping[str, _Key] = {name: name for name in get_args(_Key)}
_VALIDATORS: Mapping[str, _Validator] = {name: name for name in get_args(_Validator)}

W = TypeVar("W", bound=str)


class PayloadError(ClawperatorException, ValueError):
    """A payload that the Operator cannot parse."""


class _Fields(Struct, frozen=True):
    """An object of the payload. Its methods read one field each; ``PayloadError`` when the payload is invalid."""

    values: Mapping[str, Any]

    def text(self, name: str, most: int = limits.MAX_MATCHER_VALUE_LENGTH) -> str | None:
        value = self.values.get(name)
        if not isinstance(value, str):
            return None
        if utf16_length(value) > most:
            raise PayloadError(f"{name} is longer than {most} characters")
        return value

    def filled(self, name: str, most: int = limits.MAX_MATCHER_VALUE_LENGTH) -> str | None:
        """A text that must not be blank, if it is given."""
        value = self.text(name, most)
        if value is not None and is_blank(value):
            raise PayloadError(f"{name} must not be blank")
        return value

    def required(self, name: str, most: int = limits.MAX_MATCHER_VALUE_LENGTH) -> str:
        value = self.filled(name, most)
        if value is None:
            raise PayloadError(f"{name} is required")
        return value

    def word(self, name: str, known: Mapping[str, W]) -> W | None:
        """One of the known words, in any case, without spaces around it."""
        value = self.text(name)
        if value is None:
            return None
        word = known.get(value.lower())
        if word is None:
            raise PayloadError(f"unsupported {name}: {value!a}")
        return word

    def flag(self, name: str, *, default: bool) -> bool:
        value = self.values.get(name)
        return value if isinstance(value, bool) else default

    def number(self, name: str, low: float, high: float) -> float | None:
        value = self.values.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        return min(max(value, low), high)

    def number_or(self, name: str, low: float, high: float, default: float) -> float:
        value = self.number(name, low, high)
        return default if value is None else value

    def whole_or(self, name: str, low: int, high: int, default: int) -> int:
        value = self.values.get(name)
        return min(max(value, low), high) if type(value) is int else default

    def object(self, name: str) -> "_Fields | None":
        if name not in self.values:
            return None
        value = self.values[name]
        if not isinstance(value, dict):
            raise PayloadError(f"{name} is not an object")
        return _Fields(value)

    def matcher(self, name: str = "matcher") -> NodeSelector:
        matcher = self.optional_matcher(name)
        if not isinstance(matcher, NodeSelector):
            raise PayloadError(f"{name} is required")
        return matcher

    def optional_matcher(self, name: str) -> NodeSelector | UnsetType:
        """A matcher of the six fields that the Operator knows, at least one of them given."""
        found = self.object(name)
        if found is None:
            return UNSET
        given = {field: found.text(field) for field in NodeMatcher.__struct_fields__}
        known = {field: value for field, value in given.items() if value is not None}
        if not known:
            raise PayloadError(f"{name} must include at least one matcher field")
        return convert(known, NodeSelector)

    def retry(self, preset: Retry, name: str = "retry") -> Retry:
        """The retry policy. One that is given replaces the preset as a whole."""
        found = self.object(name)
        if found is None:
            return preset
        initial = found.number_or("initialDelayMs", 0, 30_000, 0)
        return Retry(
            found.whole_or("maxAttempts", 1, 10, 1),
            initial,
            found.number_or("maxDelayMs", initial, _MAX_RETRY_DELAY_MS, initial),
            found.number_or("backoffMultiplier", 1, 5, 1),
            found.number_or("jitterRatio", 0, 1, 0),
        )


def parse_execution(payload: str) -> Execution:
    """The execution of a broadcast's payload; ``ValueError`` when it cannot be parsed."""
    if is_blank(payload):
        raise PayloadError("the payload is blank")
    if len(payload.encode("utf-8", "surrogatepass")) > limits.MAX_PAYLOAD_BYTES:
        raise PayloadError(f"the payload has more than {limits.MAX_PAYLOAD_BYTES} bytes")
    document = decode(payload)
    if not isinstance(document, dict):
        raise PayloadError("the payload is not an object")
    root = _Fields(document)
    timeout = root.number_or(
        "timeoutMs", limits.MIN_EXECUTION_TIMEOUT_MS, limits.MAX_EXECUTION_TIMEOUT_MS, DEFAULT_TIMEOUT_MS
    )
    command, task = root.required("commandId", limits.MAX_ID_LENGTH), root.required("taskId", limits.MAX_ID_LENGTH)
    source = root.required("source", limits.MAX_SOURCE_LENGTH)
    actions = document.get("actions")
    if not isinstance(actions, list) or not 1 <= len(actions) <= MAX_ACTIONS:
        raise PayloadError(f"actions must be a list of 1 to {MAX_ACTIONS} actions")
    return Execution(command, task, source, timeout, tuple(_action(action) for action in actions), None)


def _action(value: Any) -> Action:
    if not isinstance(value, dict):
        raise PayloadError("an action is not an object")
    fields = _Fields(value)
    identifier = fields.required("id", limits.MAX_ID_LENGTH)
    name = fields.required("type", limits.MAX_ACTION_TYPE_LENGTH).lower()
    parse = _PARSERS.get(name)
    if parse is None:
        raise PayloadError(f"unsupported action type: {name!a}")
    return Action(identifier, name, parse(fields.object("params") or _Fields({})))


def _open_app(params: _Fields) -> Params:
    preset = OpenAppParams("").retry
    return OpenAppParams(applicationId=params.required("applicationId"), retry=params.retry(preset))


def _close_app(params: _Fields) -> Params:
    preset = CloseAppParams("").retry
    return CloseAppParams(applicationId=params.required("applicationId"), retry=params.retry(preset))


def _open_uri(params: _Fields) -> Params:
    preset = OpenUriParams("").retry
    return OpenUriParams(uri=params.required("uri", limits.MAX_URI_LENGTH), retry=params.retry(preset))


def _recording(params: _Fields) -> Params:
    # The recorder checks the characters of the id.
    session = params.filled("sessionId", limits.MAX_ID_LENGTH)
    return RecordingParams(sessionId=UNSET if session is None else session)


def _sleep(params: _Fields) -> Params:
    return SleepParams(durationMs=params.number_or("durationMs", 0, limits.MAX_EXECUTION_TIMEOUT_MS, 0))


def _click(params: _Fields) -> Params:
    matcher, point = params.optional_matcher("matcher"), _coordinate(params)
    kind = params.word("clickType", _CLICK_TYPES) or "default"
    if (matcher is UNSET) == (point is UNSET):
        raise PayloadError("click needs exactly one of matcher and coordinate")
    if point is not UNSET and kind == "focus":
        raise PayloadError("a coordinate cannot be focused")
    return ClickParams(matcher=matcher, coordinate=point, clickType=kind, retry=params.retry(UI_READINESS))


def _coordinate(params: _Fields) -> Coordinate | UnsetType:
    point = params.object("coordinate")
    if point is None:
        return UNSET
    x, y = point.values.get("x"), point.values.get("y")
    if type(x) is not int or type(y) is not int or x < 0 or y < 0:
        raise PayloadError("a coordinate needs x and y of at least 0")
    return Coordinate(x, y)


def _wait_for_node(params: _Fields) -> Params:
    timeout = params.number("timeoutMs", 1, limits.MAX_EXECUTION_TIMEOUT_MS)
    return WaitForNodeParams(
        matcher=params.matcher(),
        timeoutMs=UNSET if timeout is None else timeout,
        retry=params.retry(UI_READINESS),
    )


def _read_text(params: _Fields) -> Params:
    validator = params.word("validator", _VALIDATORS)
    pattern = params.text("validatorPattern", limits.MAX_PAYLOAD_BYTES)
    if validator == "regex" and (pattern is None or is_blank(pattern)):
        raise PayloadError("the validator regex needs a validatorPattern")
    return ReadTextParams(
        matcher=params.matcher(),
        all=params.flag("all", default=False),
        container=params.optional_matcher("container"),
        validator=UNSET if validator is None else validator,
        validatorPattern=UNSET if pattern is None else pattern,
        retry=params.retry(UI_READINESS),
    )


def _enter_text(params: _Fields) -> Params:
    # ``clear`` is not read: setting a text replaces what the field holds.
    return EnterTextParams(
        matcher=params.matcher(),
        text=params.required("text"),
        submit=params.flag("submit", default=False),
        retry=params.retry(UI_READINESS),
    )


def _swipe(params: _Fields) -> dict[str, Any]:
    """The parameters that all scrolling actions have."""
    return {
        "container": params.optional_matcher("container"),
        "direction": params.word("direction", _DIRECTIONS) or "down",
        "distanceRatio": params.number_or("distanceRatio", 0, 1, 0.7),
        "settleDelayMs": params.number_or("settleDelayMs", 0, limits.MAX_SETTLE_DELAY_MS, 250),
        "findFirstScrollableChild": params.flag("findFirstScrollableChild", default=True),
    }


def _scroll(params: _Fields) -> Params:
    return ScrollParams(**_swipe(params), retry=params.retry(Retry()))


def _scroll_until(params: _Fields) -> Params:
    return ScrollUntilParams(
        **_swipe(params),
        matcher=params.optional_matcher("matcher"),
        maxScrolls=params.whole_or("maxScrolls", 1, limits.MAX_SCROLLS, 20),
        maxDurationMs=params.number_or("maxDurationMs", 0, limits.MAX_EXECUTION_TIMEOUT_MS, 10_000),
        noPositionChangeThreshold=params.whole_or(
            "noPositionChangeThreshold", 1, limits.MAX_NO_POSITION_CHANGE_THRESHOLD, 3
        ),
        clickAfter=params.flag("clickAfter", default=False),
        clickType=params.word("clickType", _CLICK_TYPES) or "default",
    )


def _scroll_and_click(params: _Fields) -> Params:
    matcher = params.matcher()
    presets = ScrollAndClickParams(matcher=matcher)
    return ScrollAndClickParams(
        **_swipe(params),
        matcher=matcher,
        maxSwipes=params.whole_or("maxSwipes", 1, limits.MAX_SWIPES, 10),
        clickAfter=params.flag("clickAfter", default=True),
        clickType=params.word("clickType", _CLICK_TYPES) or "default",
        scrollRetry=params.retry(presets.scrollRetry, "scrollRetry"),
        clickRetry=params.retry(presets.clickRetry, "clickRetry"),
    )


def _press_key(params: _Fields) -> Params:
    params.required("key", _MAX_KEY_LENGTH)
    key = params.word("key", _KEYS)
    assert key is not None
    return PressKeyParams(key=key)


def _wait_for_navigation(params: _Fields) -> Params:
    package = params.filled("expectedPackage")
    node = params.optional_matcher("expectedNode")
    timeout = params.number("timeoutMs", 1, limits.MAX_NAVIGATION_TIMEOUT_MS)
    if package is None and node is UNSET:
        raise PayloadError("wait_for_navigation needs expectedPackage or expectedNode")
    if timeout is None:
        raise PayloadError("timeoutMs is required")
    return WaitForNavigationParams(
        expectedPackage=UNSET if package is None else package, expectedNode=node, timeoutMs=timeout
    )


def _read_key_value_pair(params: _Fields) -> Params:
    # ``all`` is not read.
    return ReadKeyValuePairParams(
        labelMatcher=params.matcher("labelMatcher"),
        retry=params.retry(UI_READINESS),
    )


_PARSERS: Mapping[str, Callable[[_Fields], Params]] = {
    "open_app": _open_app,
    "close_app": _close_app,
    "open_uri": _open_uri,
    "start_recording": _recording,
    "stop_recording": _recording,
    "sleep": _sleep,
    "click": _click,
    "wait_for_node": _wait_for_node,
    "read_text": _read_text,
    "enter_text": _enter_text,
    "scroll": _scroll,
    "scroll_until": _scroll_until,
    "scroll_and_click": _scroll_and_click,
    "press_key": _press_key,
    "take_screenshot": lambda params: TakeScreenshotParams(retry=params.retry(Retry())),
    "snapshot_ui": lambda params: SnapshotUiParams(retry=params.retry(UI_READINESS)),
    "wait_for_navigation": _wait_for_navigation,
    "read_key_value_pair": _read_key_value_pair,
    DOCTOR_PING: lambda _: Params(),
}
