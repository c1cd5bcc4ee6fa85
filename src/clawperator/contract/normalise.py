"""The canonical spelling of an execution: aliases renamed, words trimmed, numbers without an empty fraction."""

from collections.abc import Mapping
from typing import Any

from clawperator._text import trim, whole
from clawperator.contract.actions import ACTION_ALIASES, MATCHER_PARAMS, PARAM_ALIASES, WORD_PARAMS
from clawperator.contract.selectors import MATCHER_ALIASES

TOP_ALIASES: Mapping[str, str] = {
    "command_id": "commandId",
    "task_id": "taskId",
    "expected_format": "expectedFormat",
    "timeout_ms": "timeoutMs",
}


def normalise(document: Any) -> Any:
    """Canonical names and spellings, numbers without an empty fraction. Leaves what it does not know."""
    if not isinstance(document, dict):
        return document
    out = _rename(_tidy(document), TOP_ALIASES)
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
    for name in MATCHER_PARAMS:
        if isinstance(out.get(name), dict):
            out[name] = _rename(out[name], MATCHER_ALIASES)
    for name in WORD_PARAMS:
        if isinstance(out.get(name), str):
            out[name] = trim(out[name]).lower()
    return out


def _rename(value: dict[str, Any], aliases: Mapping[str, str]) -> dict[str, Any]:
    """Aliases become canonical; a canonical name that is there wins, and of several aliases the first."""
    out: dict[str, Any] = {}
    for key, item in value.items():
        name = aliases.get(key, key)
        if name == key or (name not in value and name not in out):
            out[name] = item
    return out


def _tidy(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _tidy(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_tidy(v) for v in value]
    return whole(value) if type(value) is float else value
