"""An execution: the explicit plan of 1 to 50 actions that one call carries out.

``validate`` is the only way in. It takes any JSON value, puts aliases in their canonical form, checks
everything the phone would check, and returns a ``Plan``: the typed execution, defaults filled in, beside
the document to send, which holds what the caller said and nothing more.
"""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from clawperator._text import is_blank, utf16_length
from clawperator._typed import convert
from clawperator.contract import limits
from clawperator.contract.actions import ACTIONS, Params
from clawperator.contract.normalise import normalise
from clawperator.contract.selectors import Problem
from clawperator.errors import ClawError

Id = Annotated[str, Meta(min_length=1, max_length=limits.MAX_ID_LENGTH)]
Source = Annotated[str, Meta(min_length=1, max_length=limits.MAX_SOURCE_LENGTH)]
TimeoutMs = Annotated[float, Meta(ge=limits.MIN_EXECUTION_TIMEOUT_MS, le=limits.MAX_EXECUTION_TIMEOUT_MS)]
Mode = Literal["direct", "artifact_compiled"]


class Action(Struct, frozen=True):
    id: str
    type: str
    params: Params


class Execution(Struct, frozen=True):
    commandId: str
    taskId: str
    source: str
    timeoutMs: float
    actions: tuple[Action, ...]
    mode: str | None


class Plan(Struct, frozen=True):
    """A validated execution and the document that says it on the wire."""

    execution: Execution
    document: dict[str, Any]


class ActionShape(Struct, frozen=True, forbid_unknown_fields=True):
    id: Id
    type: Annotated[str, Meta(max_length=limits.MAX_ACTION_TYPE_LENGTH)]
    params: dict[str, Any] | UnsetType = UNSET


class ExecutionShape(Struct, frozen=True, forbid_unknown_fields=True):
    commandId: Id
    taskId: Id
    source: Source
    expectedFormat: Literal["android-ui-automator"]
    timeoutMs: TimeoutMs
    actions: Annotated[list[ActionShape], Meta(min_length=1, max_length=limits.MAX_EXECUTION_ACTIONS)]
    mode: Mode | UnsetType = UNSET


def validate(document: Any) -> Plan:
    """The plan in ``document``, or ``EXECUTION_VALIDATION_FAILED`` naming every issue found."""
    wire = document
    try:
        wire = normalise(document)
        shape = convert(wire, ExecutionShape)
        actions = tuple(
            Action(a.id, a.type, convert({} if a.params is UNSET else a.params, ACTIONS[a.type].params))
            for a in shape.actions
        )
    except (msgspec.ValidationError, KeyError, RecursionError) as e:
        from clawperator.contract.issues import explain

        explain(wire, document, e)
    size = _size(wire)
    if size > limits.MAX_PAYLOAD_BYTES:
        raise ClawError(
            "PAYLOAD_TOO_LARGE",
            f"the execution is {size} bytes long; at most {limits.MAX_PAYLOAD_BYTES} are allowed",
            details={"bytes": size, "limit": limits.MAX_PAYLOAD_BYTES},
            operation="validate",
        )
    mode = None if shape.mode is UNSET else shape.mode
    execution = Execution(shape.commandId, shape.taskId, shape.source, shape.timeoutMs, actions, mode)
    if problems := list(_broken_rules(execution)):
        from clawperator.contract.issues import Issue, refuse

        refuse([Issue(path, message) for path, message in problems], document)
    return Plan(execution, {name: wire[name] for name in ExecutionShape.__struct_fields__ if name in wire})


def _size(wire: Any) -> int:
    try:
        return len(msgspec.json.encode(wire))
    except UnicodeEncodeError:
        raise ClawError(
            "EXECUTION_VALIDATION_FAILED",
            "the execution holds text that is not valid Unicode",
            operation="validate",
        ) from None


def with_timeout(document: dict[str, Any], timeout_ms: int | float | None) -> dict[str, Any]:
    """The document with its execution timeout replaced, when the caller gave one."""
    if timeout_ms is None:
        return document
    low, high = limits.MIN_EXECUTION_TIMEOUT_MS, limits.MAX_EXECUTION_TIMEOUT_MS
    if not low <= timeout_ms <= high:
        raise ClawError(
            "EXECUTION_VALIDATION_FAILED",
            f"the timeout must be from {low} to {high} ms, not {timeout_ms}",
            hint=f"Pass --timeout with a number from {low} to {high}.",
            operation="validate",
        )
    return {**document, "timeoutMs": timeout_ms}


def _broken_rules(execution: Execution) -> Iterator[Problem]:
    for name in ("commandId", "taskId", "source"):
        yield from _id_rules(getattr(execution, name), name)
    seen: set[str] = set()
    for i, action in enumerate(execution.actions):
        path = f"actions.{i}"
        yield from _id_rules(action.id, f"{path}.id")
        if action.id in seen:
            yield f"{path}.id", f'the id "{action.id}" is used twice, and results are told apart by it'
        seen.add(action.id)
        for below, message in action.params.problems():
            yield f"{path}.params.{below}".rstrip("."), message


def _id_rules(value: str, path: str) -> Iterator[Problem]:
    most = limits.MAX_SOURCE_LENGTH if path == "source" else limits.MAX_ID_LENGTH
    if is_blank(value):
        yield path, "must not be blank"
    elif utf16_length(value) > most:
        yield path, f"is longer than {most} characters"
