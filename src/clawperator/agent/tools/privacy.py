"""Texts that went, or may have gone, into a password field.

Our own Operator tells four dots for such a text. Another one may echo it, and whoever types into a field sees in
advance what kind it is; so a look at the screen comes first.
"""

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from clawperator.connection.snapshot import read_snapshot
from clawperator.contract.actions import EnterTextParams
from clawperator.contract.execution import Action, Plan
from clawperator.contract.results import ExecutionResult, ResultEnvelope, StepResult
from clawperator.engine.privacy import HIDDEN
from clawperator.engine.targets import nearest
from clawperator.errors import ClawError
from clawperator.ui.match import find_all

# A shorter text stands in too many places that have nothing to do with it.
_SHORTEST = 4
# With these the text went nowhere.
_NOT_TYPED = ("NODE_NOT_FOUND",)


def field_is_secret(action: Action, look: ExecutionResult) -> bool | None:
    """Whether the field an ``enter_text`` means is one for passwords; None when it cannot be seen."""
    assert isinstance(action.params, EnterTextParams)
    step = next(iter(look.envelope.stepResults), None)
    if step is None or not step.success:
        return None
    try:
        screen = read_snapshot(step)
        found = find_all(screen.hierarchy, action.params.matcher, screen.frame)
    except ClawError:
        return None
    if not found:
        return None
    return nearest(found[0], lambda node: node.flag("password")) is not None


def secrets_of(plan: Plan, envelope: ResultEnvelope | None, known: bool | None) -> tuple[str, ...]:  # noqa: FBT001 - what a look has shown
    """The texts of a plan that must not be written down. Without an envelope nobody knows how far it came."""
    typed = [
        action.params.text
        for action in plan.execution.actions
        if isinstance(action.params, EnterTextParams) and (known or _may_be_secret(action.id, envelope, known))
    ]
    return tuple(dict.fromkeys(typed))


def _may_be_secret(action_id: str, envelope: ResultEnvelope | None, known: bool | None) -> bool:  # noqa: FBT001 - as above
    steps = [] if envelope is None else envelope.stepResults
    step = next((step for step in steps if step.id == action_id), None)
    if step is not None and step.data.get("text") == HIDDEN:
        return True
    if known is not None:
        return known
    if step is None:  # when others are told of, this one was not reached
        return not steps
    if not step.success:
        return step.data.get("error") not in _NOT_TYPED
    # Our own Operator tells how it typed, and would have told dots.
    return "dispatch_method" not in step.data


def without_secrets(result: ExecutionResult, secrets: tuple[str, ...]) -> ExecutionResult:
    """The same result, with dots wherever a secret stands in it."""
    if not secrets:
        return result
    envelope = result.envelope
    steps = steps_without(envelope.stepResults, secrets)
    error = None if envelope.error is None else _hide(envelope.error, secrets)
    return replace(result, envelope=replace(envelope, stepResults=steps, error=error))


def steps_without(steps: Iterable[StepResult], secrets: tuple[str, ...]) -> list[StepResult]:
    return [replace(step, data=_without(step.data, secrets)) for step in steps]


def _without(data: Mapping[str, str], secrets: tuple[str, ...]) -> dict[str, str]:
    return {
        name: HIDDEN if name == "text" and value in secrets else _hide(value, secrets)
        for name, value in data.items()
    }


def _hide(text: str, secrets: tuple[str, ...]) -> str:
    for secret in secrets:
        if len(secret) >= _SHORTEST:
            text = text.replace(secret, HIDDEN)
    return text
