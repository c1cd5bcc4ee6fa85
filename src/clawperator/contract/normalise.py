"""Canonical form of an execution: aliases renamed, keywords trimmed, whole numbers without a fraction."""

from collections.abc import Mapping
from typing import Any

from clawperator._base.text import trim, whole
from clawperator.contract.actions import ACTION_ALIASES
from clawperator.contract.selectors import MATCHER_ALIASES, MAX_SELECTOR_DEPTH

TOP_ALIASES: Mapping[str, str] = {
    "command_id": "commandId",
    "task_id": "taskId",
    "expected_format": "expectedFormat",
    "timeout_ms": "timeoutMs",
}
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
    "to_matcher": "toMatcher",
    "quiet_ms": "quietMs",
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
