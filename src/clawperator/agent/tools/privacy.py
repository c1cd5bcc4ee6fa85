"""Masking of typed text: in the parameters that are shown and kept, and in results where it may be a password.

Typed text is shown by its length only. Text that went, or may have gone, into a password field is masked
everywhere: our own Operator reports dots for it, another one may echo it. The screen is read before typing,
because the kind of the field may not be visible afterwards.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from clawperator._base.secret_text import literal_pattern
from clawperator.agent.ports import ToolCall
from clawperator.contract.actions import ACTIONS
from clawperator.contract.execution import Action, Plan
from clawperator.contract.normalise import PARAM_ALIASES
from clawperator.contract.results import ExecutionResult, ResultEnvelope, StepResult
from clawperator.contract.selectors import NodeSelector
from clawperator.errors import ClawError
from clawperator.ui.node import HIDDEN

# The only action that types, by name and aliases, and the parameters that hold the text.
_TYPING = frozenset(name for row in ACTIONS.values() if row.typed_param for name in (row.name, *row.aliases))
_TYPED_PARAMS = {row.typed_param for row in ACTIONS.values() if row.typed_param}
_TEXT_FIELDS = (*_TYPED_PARAMS, *(alias for alias, name in PARAM_ALIASES.items() if name in _TYPED_PARAMS))


def mask_typed_text(call: ToolCall) -> dict[str, Any]:
    """The parameters to show and keep: typed text, which may be secret, is replaced by its length."""
    params = dict(call.params)
    if _types(call.name):
        return _masked(params)
    actions = params.get("actions")
    if isinstance(actions, list):
        params["actions"] = [_masked_action(action) for action in actions]
    return params


def typed_texts(call: ToolCall) -> list[str]:
    """The texts that a call types, alone or in a plan."""
    actions = call.params.get("actions")
    pairs: list[tuple[object, object]] = [(call.name, call.params)]
    if isinstance(actions, list):
        pairs += [(a.get("type"), a.get("params")) for a in actions if isinstance(a, dict)]
    typing = [params for name, params in pairs if _types(name) and isinstance(params, Mapping)]
    texts = [params.get(field) for params in typing for field in _TEXT_FIELDS]
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


def is_password_field(action: Action, snapshot: ExecutionResult) -> bool | None:
    """Whether an ``enter_text`` targets a password field, by a snapshot; None when the field is not visible."""
    from clawperator.api.snapshot import read_snapshot
    from clawperator.engine.targets import nearest_self_or_ancestor
    from clawperator.ui.select import find_nodes

    step = next(iter(snapshot.envelope.stepResults), None)
    if step is None or not step.success:
        return None
    try:
        screen = read_snapshot(step)
        matcher = getattr(action.params, "matcher", UNSET)
        if matcher is UNSET:
            matcher = NodeSelector(role="textfield", focused=True)
        found = find_nodes(screen.hierarchy, matcher, screen.frame)
    except ClawError:
        return None
    if not found:
        return None
    return nearest_self_or_ancestor(found[0], lambda node: node.flag("password")) is not None


def plan_secrets(plan: Plan, envelope: ResultEnvelope | None, known: bool | None) -> tuple[str, ...]:  # noqa: FBT001 - the answer of is_password_field
    """The texts of a plan to mask. Without an envelope it is unknown how far the plan ran."""
    typed = [
        text
        for action in plan.execution.actions
        if (param := ACTIONS[action.type].typed_param)
        and isinstance(text := getattr(action.params, param), str)
        and text
        and (known or _may_be_secret(action.id, envelope, known))
    ]
    return tuple(dict.fromkeys(typed))


def _may_be_secret(action_id: str, envelope: ResultEnvelope | None, known: bool | None) -> bool:  # noqa: FBT001 - as above
    steps = [] if envelope is None else envelope.stepResults
    step = next((step for step in steps if step.id == action_id), None)
    if step is not None and step.data.get("text") == HIDDEN:
        return True
    if known is not None:
        return known
    # A field that was not found may be a password field, too. Our own Operator reports how it typed, and would
    # have reported dots.
    return step is None or not step.success or "dispatch_method" not in step.data


def mask_result(result: ExecutionResult, secrets: tuple[str, ...]) -> ExecutionResult:
    """The result with dots in place of each secret."""
    if not secrets:
        return result
    envelope = result.envelope
    steps = mask_steps(envelope.stepResults, secrets)
    error = None if envelope.error is None else _mask(envelope.error, secrets)
    return replace(result, envelope=replace(envelope, stepResults=steps, error=error))


def mask_steps(steps: Iterable[StepResult], secrets: tuple[str, ...]) -> list[StepResult]:
    return [replace(step, data=_mask_data(step.data, secrets)) for step in steps]


def _mask_data(data: Mapping[str, str], secrets: tuple[str, ...]) -> dict[str, str]:
    return {
        name: HIDDEN if name == "text" and value in secrets else _mask(value, secrets)
        for name, value in data.items()
    }


def _mask(text: str, secrets: tuple[str, ...]) -> str:
    pattern = literal_pattern(secrets)
    return text if pattern is None else pattern.sub(HIDDEN, text)
