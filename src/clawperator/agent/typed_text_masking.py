"""What a call types into the phone. It may be secret, so it is shown and kept by its length."""

from collections.abc import Mapping
from typing import Any

from clawperator.agent.ports import ToolCall
from clawperator.contract.actions import ACTIONS, PARAM_ALIASES

# The one action that types, by all its names, and the names of what it types.
_TYPING = frozenset(("enter_text", *ACTIONS["enter_text"].aliases))
_TEXT_FIELDS = ("text", *(alias for alias, name in PARAM_ALIASES.items() if name == "text"))


def without_typed_texts(call: ToolCall) -> dict[str, Any]:
    """The parameters to show and keep. What is typed may be secret, and its length tells enough."""
    params = dict(call.params)
    if _types(call.name):
        return _masked(params)
    actions = params.get("actions")
    if isinstance(actions, list):
        params["actions"] = [_masked_action(action) for action in actions]
    return params


def typed_texts(call: ToolCall) -> list[str]:
    """The texts a call types, alone or in a plan."""
    actions = call.params.get("actions")
    pairs: list[tuple[object, object]] = [(call.name, call.params)]
    if isinstance(actions, list):
        pairs += [(a.get("type"), a.get("params")) for a in actions if isinstance(a, dict)]
    named = [params for name, params in pairs if _types(name) and isinstance(params, Mapping)]
    texts = [params.get(field) for params in named for field in _TEXT_FIELDS]
    return [text for text in texts if isinstance(text, str) and text]


def _types(name: object) -> bool:
    return isinstance(name, str) and name.strip().casefold() in _TYPING


def _masked(params: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: f"({len(value)} characters)" if name in _TEXT_FIELDS and isinstance(value, str) else value
        for name, value in params.items()
    }


def _masked_action(action: Any) -> Any:
    if (
        not isinstance(action, dict)
        or not _types(action.get("type"))
        or not isinstance(action.get("params"), dict)
    ):
        return action
    return {**action, "params": _masked(action["params"])}
