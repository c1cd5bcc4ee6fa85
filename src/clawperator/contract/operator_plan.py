"""What an Operator receives: the actions, params and matcher fields of its contract, nothing else.

The host resolves everything newer. ``operator_action`` makes an action for the wire and refuses any other key, so
that an Operator, which ignores unknown keys, never runs an action with a condition left out.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import UNSET

from clawperator.contract.actions import ACTIONS
from clawperator.contract.execution import Action
from clawperator.contract.selectors import NodeMatcher, NodeSelector

_MATCHER_FIELDS = frozenset(NodeMatcher.__struct_fields__)
_SELECTOR_PARAMS = ("matcher", "container", "expectedNode", "labelMatcher")


def needs_host(action: Action) -> bool:
    """Whether the host must run an action: the Operator does not know the action, a param or a selector field."""
    row, params = ACTIONS[action.type], action.params
    if row.runs_on_host or params.only_for_host:
        return True
    defaults = dict(zip(reversed(params.__struct_fields__), reversed(params.__struct_defaults__), strict=False))
    for name in params.__struct_fields__:
        value = getattr(params, name)
        if isinstance(value, NodeSelector) and not value.for_operator:
            return True
        if name in row.host_params and value is not UNSET and value != defaults.get(name):
            return True
    return False


def operator_action(action: Mapping[str, Any]) -> dict[str, Any]:
    """The action as an Operator receives it. ``ValueError`` when it has something that the host must resolve."""
    row = ACTIONS[action["type"]]
    if row.runs_on_host:
        raise ValueError(f"the host must run {row.name}")
    made = {name: action[name] for name in ("id", "type")}
    if "params" not in action:
        return made
    known = set(row.params.__struct_fields__) - {*row.host_params, *row.result_params}
    params = {name: value for name, value in action["params"].items() if name in known}
    for name in _SELECTOR_PARAMS:
        if isinstance(params.get(name), Mapping) and (unknown := params[name].keys() - _MATCHER_FIELDS):
            raise ValueError(f"the host must resolve {', '.join(sorted(unknown))} of {row.name}")
    return {**made, "params": params}
