"""An execution: the explicit plan of 1 to 50 actions that one call carries out.

``validate`` is the only way in. It takes any JSON value, puts aliases in their canonical form, checks
everything the phone would check, and returns a ``Plan``: the typed execution, defaults filled in, beside
the document to send, which holds what the caller said and nothing more.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple, NoReturn

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from clawperator.contract import limits
from clawperator.contract.actions import (
    ACTION_ALIASES,
    ACTIONS,
    MATCHER_PARAMS,
    PARAM_ALIASES,
    WORD_PARAMS,
    Params,
)
from clawperator.contract.errors import ClawError
from clawperator.contract.issues import Issue, refuse, struct_issues
from clawperator.contract.matcher import MATCHER_ALIASES
from clawperator.contract.text import is_blank, nearest, trim, utf16_length, whole

Id = Annotated[str, Meta(min_length=1, max_length=limits.MAX_ID_LENGTH)]
Source = Annotated[str, Meta(min_length=1, max_length=limits.MAX_SOURCE_LENGTH)]
TimeoutMs = Annotated[float, Meta(ge=limits.MIN_EXECUTION_TIMEOUT_MS, le=limits.MAX_EXECUTION_TIMEOUT_MS)]
Mode = Literal["direct", "artifact_compiled"]

TOP_ALIASES: Mapping[str, str] = {
    "command_id": "commandId",
    "task_id": "taskId",
    "expected_format": "expectedFormat",
    "timeout_ms": "timeoutMs",
}


class Action(NamedTuple):
    id: str
    type: str
    params: Params


class Execution(NamedTuple):
    commandId: str
    taskId: str
    source: str
    timeoutMs: float
    actions: tuple[Action, ...]
    mode: str | None


class Plan(NamedTuple):
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
    wire = _normalise(document)
    try:
        shape = msgspec.convert(wire, ExecutionShape)
        actions = tuple(
            Action(a.id, a.type, msgspec.convert({} if a.params is UNSET else a.params, ACTIONS[a.type].params))
            for a in shape.actions
        )
    except (msgspec.ValidationError, KeyError, RecursionError) as e:
        _explain(wire, document, e)
    size = len(msgspec.json.encode(wire))
    if size > limits.MAX_PAYLOAD_BYTES:
        raise ClawError(
            "PAYLOAD_TOO_LARGE",
            f"the execution is {size} bytes long; at most {limits.MAX_PAYLOAD_BYTES} are allowed",
            details={"bytes": size, "limit": limits.MAX_PAYLOAD_BYTES},
            operation="validate",
        )
    mode = None if shape.mode is UNSET else shape.mode
    execution = Execution(shape.commandId, shape.taskId, shape.source, shape.timeoutMs, actions, mode)
    if issues := _broken_rules(execution):
        refuse(issues, document)
    return Plan(execution, wire)


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


def _normalise(document: Any) -> Any:
    """Canonical names and spellings, numbers without an empty fraction. Leaves what it does not know."""
    if not isinstance(document, dict):
        return document
    out = _rename(_tidy(document), TOP_ALIASES)
    if isinstance(out.get("actions"), list):
        out["actions"] = [_normalise_action(a) if isinstance(a, dict) else a for a in out["actions"]]
    return {name: out[name] for name in (*_in_order(out), *(k for k in out if k not in _TOP))}


_TOP = ExecutionShape.__struct_fields__


def _in_order(document: dict[str, Any]) -> list[str]:
    return [name for name in _TOP if name in document]


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


def _broken_rules(execution: Execution) -> list[Issue]:
    issues: list[Issue] = []
    for name in ("commandId", "taskId", "source"):
        _check_id(getattr(execution, name), name, issues)
    seen: set[str] = set()
    for i, action in enumerate(execution.actions):
        path = f"actions.{i}"
        _check_id(action.id, f"{path}.id", issues)
        if action.id in seen:
            issues.append(
                Issue(f"{path}.id", f'the action id "{action.id}" is used twice; results are told by it')
            )
        seen.add(action.id)
        issues += (
            Issue(f"{path}.params.{below}".rstrip("."), message) for below, message in action.params.problems()
        )
    return issues


def _check_id(value: str, path: str, issues: list[Issue]) -> None:
    most = limits.MAX_SOURCE_LENGTH if path == "source" else limits.MAX_ID_LENGTH
    if is_blank(value):
        issues.append(Issue(path, "must not be blank"))
    elif utf16_length(value) > most:
        issues.append(Issue(path, f"is longer than {most} characters"))


def _explain(wire: Any, document: Any, cause: Exception) -> NoReturn:
    """Find every issue of a document that did not convert, structure before parameters."""
    if not isinstance(wire, dict):
        refuse([Issue("", "an execution must be a JSON object")], document)
    structural = struct_issues(ExecutionShape, wire, "")
    params: list[Issue] = []
    for i, action in enumerate(wire["actions"] if isinstance(wire.get("actions"), list) else ()):
        if not isinstance(action, dict) or not isinstance(action.get("type"), str):
            continue
        row = ACTIONS.get(action["type"])
        if row is None:
            structural.append(_unsupported(i, action["type"]))
        elif isinstance(given := action.get("params", {}), dict):
            found = struct_issues(row.params, given, f"actions.{i}.params")
            params += (_place(issue, row.name) for issue in found)
    refuse(structural or params or [Issue("", f"the execution cannot be read: {cause}")], document)


def _unsupported(index: int, name: str) -> Issue:
    near = nearest(name, [*ACTIONS, *ACTION_ALIASES], max(2, len(name) // 3))
    hint = f'Did you mean "{ACTION_ALIASES.get(near, near)}"?' if near else "Types: " + ", ".join(ACTIONS)
    return Issue("actions", f'action {index} has the unsupported type "{name}"', hint=hint, within=index)


def _place(issue: Issue, action: str) -> Issue:
    """Say of a parameter that is not this action's where it belongs."""
    if not issue.keys or not issue.path.endswith(".params"):
        return issue
    key = issue.keys[0]
    if key == "format" and action == "snapshot_ui":
        return issue._replace(hint="The parameter format was removed: a snapshot is always hierarchy XML.")
    if key == "target":
        return issue._replace(hint="The parameter target was removed: use matcher.")
    takers = [name for name, row in ACTIONS.items() if key in row.params.__struct_fields__]
    if takers:
        return issue._replace(hint=f"{key} is a parameter of {', '.join(takers)}.")
    known = ACTIONS[action].params.__struct_fields__
    near = nearest(key, known, max(2, len(key) // 3))
    return issue._replace(hint=f'Did you mean "{near}"?' if near else f"{action} takes: {', '.join(known)}.")
