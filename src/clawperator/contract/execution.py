"""An execution: an explicit plan of 1 to 50 actions.

``new_execution`` is the only place where an execution document is built. ``validate`` is the only way from a
document to a plan: it takes any JSON value, renames aliases, checks everything that the device would check, and
returns the typed execution with defaults beside the document to send, which holds only what the caller gave.
"""

import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import fields

from clawperator._base.typed import convert
from clawperator.contract import limits
from clawperator.contract.action_params import DEFAULT_EXPECT_MS, UI_READINESS, Params, text_rules
from clawperator.contract.actions import ACTIONS, normalise_execution
from clawperator.contract.selectors import NodeMatcher, NodeSelector, Problem, problems_below
from clawperator.errors import ClawError

if TYPE_CHECKING:
    from clawperator.contract.issues import Spelling

Id = Annotated[str, Meta(min_length=1, max_length=limits.MAX_ID_LENGTH)]
Source = Annotated[str, Meta(min_length=1, max_length=limits.MAX_SOURCE_LENGTH)]
TimeoutMs = Annotated[float, Meta(ge=limits.MIN_EXECUTION_TIMEOUT_MS, le=limits.MAX_EXECUTION_TIMEOUT_MS)]
# An execution gets this much more time than the action that waits.
_WAIT_MARGIN_MS = 5_000
# A slow capture of a screen that does not become idle takes ten seconds, and settling needs several.
_SETTLE_MS = 30_000
LONGEST_WAIT_MS = limits.MAX_EXECUTION_TIMEOUT_MS - _WAIT_MARGIN_MS
_BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"

Mode = Literal["direct", "artifact_compiled"]
_MATCHER_FIELDS = frozenset(NodeMatcher.__struct_fields__)
_SELECTOR_PARAMS = ("matcher", "container", "expectedNode", "labelMatcher")
# Looking for a node: the first pause if the time allows it, how often a device looks, and how pauses grow.
_FIRST_PAUSE_MS = 500
_MAX_ATTEMPTS = 10
_MAX_GROWTH = 1.25
# The end of an execution's time that is left for acting and for the result.
_RESERVED_MS = 1_000
_RESERVED_PART = 0.25


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
    """A validated execution and its document for the wire."""

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


def new_execution(  # noqa: PLR0913 - the fields of the document
    actions: Sequence[Mapping[str, Any]],
    *,
    command_id: str,
    source: str,
    timeout_ms: int | float,
    task_id: str = "",
    mode: str | None = None,
) -> dict[str, Any]:
    """An execution document, not yet validated. Actions without an id are numbered: a1, a2 and so on.

    Without ``task_id`` the task has the id of the command.
    """
    document: dict[str, Any] = {
        "commandId": command_id,
        "taskId": task_id or command_id,
        "source": source,
        "expectedFormat": limits.EXPECTED_FORMAT,
        "timeoutMs": timeout_ms,
        "actions": [{"id": f"a{number}", **action} for number, action in enumerate(actions, 1)],
    }
    if mode:
        document["mode"] = mode
    return document


def single_action(
    name: str,
    params: Mapping[str, Any] | None = None,
    *,
    timeout_ms: int | float | None = None,
    source: str | None = None,
) -> dict[str, Any]:
    """The execution of one action, with the fixed fields of its row. Without ``params`` it has none.

    Without ``timeout_ms`` there is time for what the action waits for and expects, and for the captures that it
    makes to settle.
    """
    template = ACTIONS[name].template
    if timeout_ms is None:
        given = params or {}
        own_ms = max(template.timeout_ms, _SETTLE_MS) if given.get("settle") is True else template.timeout_ms
        timeout_ms = min(own_ms + expected_ms(given), limits.MAX_EXECUTION_TIMEOUT_MS)
    action: dict[str, Any] = {"id": template.action_id, "type": name}
    if params is not None:
        action["params"] = dict(params)
    return new_execution(
        [action],
        command_id=new_command_id(template.prefix),
        source=source or template.source,
        timeout_ms=timeout_ms,
        task_id=template.task_id,
        mode=template.mode,
    )


def expected_ms(params: Mapping[str, Any]) -> int | float:
    """How long an action waits after its step for what it expects."""
    expect = params.get("expect")
    if not isinstance(expect, Mapping):
        return 0
    given = expect.get("timeoutMs", DEFAULT_EXPECT_MS)
    longest = limits.MAX_EXECUTION_TIMEOUT_MS - 30_000
    return min(given, longest) if isinstance(given, int | float) and given > 0 else DEFAULT_EXPECT_MS


def new_command_id(prefix: str) -> str:
    """``<prefix>_<ms>``, or ``<prefix><ms>-<random>`` where the prefix ends in a dash."""
    now = time.time_ns() // 1_000_000
    if not prefix.endswith("-"):
        return f"{prefix}_{now}"
    return f"{prefix}{now}-" + "".join(_BASE36[byte % 36] for byte in os.urandom(7))


def waiting_timeout(wait_ms: int | float) -> int | float:
    """The execution timeout for an action that itself may take ``wait_ms``, at most ``LONGEST_WAIT_MS``."""
    return max(wait_ms + _WAIT_MARGIN_MS, 30_000)


def validate(document: Any, spelling: "Spelling | None" = None) -> Plan:
    """The plan of a document, or ``EXECUTION_VALIDATION_FAILED`` with every issue found.

    The error names parameters as JSON has them, or with the ``spelling`` of an entry point.
    """
    wire = document
    try:
        wire = normalise_execution(document)
        shape = convert(wire, ExecutionShape)
        actions = tuple(
            Action(a.id, a.type, convert({} if a.params is UNSET else a.params, ACTIONS[a.type].params))
            for a in shape.actions
        )
        size = len(msgspec.json.encode(wire))
    except (msgspec.ValidationError, KeyError, RecursionError, UnicodeEncodeError) as e:
        from clawperator.contract.issues import explain

        explain(ExecutionShape, wire, document, e, spelling)
    if size > limits.MAX_PAYLOAD_BYTES:
        message = f"the execution has {size} bytes; the limit is {limits.MAX_PAYLOAD_BYTES}"
        details = {"bytes": size, "limit": limits.MAX_PAYLOAD_BYTES}
        raise ClawError("PAYLOAD_TOO_LARGE", message, details=details, operation="validate")
    mode = None if shape.mode is UNSET else shape.mode
    execution = Execution(shape.commandId, shape.taskId, shape.source, shape.timeoutMs, actions, mode)
    if problems := list(_broken_rules(execution)):
        from clawperator.contract.issues import issue_of, refuse

        refuse(list(map(issue_of, problems)), document, ExecutionShape, spelling)
    return Plan(execution, {name: wire[name] for name in ExecutionShape.__struct_fields__ if name in wire})


def with_timeout(document: dict[str, Any], timeout_ms: int | float | None) -> dict[str, Any]:
    """The document with its execution timeout replaced, when the caller gave one."""
    if timeout_ms is None:
        return document
    low, high = limits.MIN_EXECUTION_TIMEOUT_MS, limits.MAX_EXECUTION_TIMEOUT_MS
    if not low <= timeout_ms <= high:
        message = f"the timeout must be from {low} to {high} ms, not {timeout_ms}"
        hint = f"Choose a timeout from {low} to {high} ms."
        raise ClawError("EXECUTION_VALIDATION_FAILED", message, hint=hint, operation="validate")
    return {**document, "timeoutMs": timeout_ms}


def _broken_rules(execution: Execution) -> Iterator[Problem]:
    for name in ("commandId", "taskId", "source"):
        most = limits.MAX_SOURCE_LENGTH if name == "source" else limits.MAX_ID_LENGTH
        yield from text_rules(name, getattr(execution, name), most)
    seen: set[str] = set()
    for i, action in enumerate(execution.actions):
        path = f"actions.{i}"
        yield from text_rules(f"{path}.id", action.id, limits.MAX_ID_LENGTH)
        if action.id in seen:
            yield f"{path}.id", f'duplicate action id "{action.id}"'
        seen.add(action.id)
        yield from problems_below(f"{path}.params", action.params.problems())


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
    """The action as an Operator receives it: the params and matcher fields of its contract, nothing else.

    ``ValueError`` when it has something that the host must resolve. An Operator ignores unknown keys, and must
    never run an action with a condition left out.
    """
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


def looks_for_node(action: str) -> bool:
    """Whether the action looks for a node more than once, by its ``retry``."""
    return any(field.name == "retry" and field.default == UI_READINESS for field in fields(ACTIONS[action].params))


def retry_within(timeout_ms: float) -> dict[str, Any]:
    """The retry policy that looks for a node for most of an execution's time."""
    return look_retry(round(timeout_ms - min(_RESERVED_MS, timeout_ms * _RESERVED_PART)))


def look_retry(look_ms: int) -> dict[str, Any]:
    """The retry policy that looks for a node for this long: often at first, then less often."""
    pauses = min(math.ceil(look_ms / _FIRST_PAUSE_MS), _MAX_ATTEMPTS - 1)
    if pauses == 0:
        return {"maxAttempts": 1}
    growth = _growth(look_ms / _FIRST_PAUSE_MS, pauses)
    first = look_ms / sum(growth**i for i in range(pauses))
    return {
        "maxAttempts": pauses + 1,
        "initialDelayMs": first,
        "maxDelayMs": first * growth ** (pauses - 1),
        "backoffMultiplier": growth,
    }


def _growth(total: float, count: int) -> float:
    """The factor by which ``count`` numbers grow from 1 to a sum of ``total``, from 1 to ``_MAX_GROWTH``."""
    low, high = 1.0, _MAX_GROWTH
    for _ in range(30):
        middle = (low + high) / 2
        if sum(middle**i for i in range(count)) < total:
            low = middle
        else:
            high = middle
    return low
