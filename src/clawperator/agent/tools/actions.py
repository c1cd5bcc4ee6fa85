"""Every action type as a tool that runs one execution, and ``run_execution`` for whole plans."""

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from clawperator.agent.ports import Tool, ToolCall, ToolContext, ToolResult
from clawperator.agent.tools.row import (
    make_tool,
    require_object,
    returning_errors,
    schema_of,
    source_of,
)
from clawperator.contract.action_types import ActionType
from clawperator.contract.actions import ACTIONS
from clawperator.contract.execution import TimeoutMs
from clawperator.contract.limits import MAX_EXECUTION_ACTIONS
from clawperator.contract.normalise import normalise_execution
from clawperator.policy.actions import action_entry

RUN_EXECUTION = "run_execution"


class PlannedAction(Struct, frozen=True, forbid_unknown_fields=True):
    """One action of a plan. Without an id it is numbered: a1, a2 and so on."""

    type: Annotated[str, Meta(description="action type", extra_json_schema={"enum": list(ACTIONS)})]
    params: Annotated[dict[str, Any], Meta(description="parameters, as the tool of that name takes them")] = {}
    id: Annotated[str, Meta(description="id of the action and of its result")] | UnsetType = UNSET


class RunExecutionParams(Struct, frozen=True, forbid_unknown_fields=True):
    actions: Annotated[
        list[PlannedAction],
        Meta(min_length=1, max_length=MAX_EXECUTION_ACTIONS, description="actions, in order"),
    ]
    timeoutMs: Annotated[TimeoutMs, Meta(description="timeout of the whole execution, in ms")] | UnsetType = UNSET


def planned_calls(params: object) -> list[ToolCall]:
    """The tool calls of a plan, by canonical names, for the policy. Never raises."""
    actions = params.get("actions") if isinstance(params, Mapping) else None
    try:
        named = normalise_execution({"actions": actions}).get("actions")
    except RecursionError:
        return []
    found = [action for action in named if isinstance(action, dict)] if isinstance(named, list) else []
    return [
        ToolCall(action["type"], own if isinstance(own := action.get("params"), dict) else {})
        for action in found
        if isinstance(action.get("type"), str) and action["type"] in ACTIONS
    ]


def _action_tool(row: ActionType) -> Tool:
    def run(params: Mapping[str, Any], context: ToolContext) -> ToolResult:
        from clawperator.agent.tools.plans import run_actions

        own = require_object(params, row.name)
        return run_actions(row.name, [{"type": row.name, "params": own}], context)

    entry = action_entry(row.name)
    return Tool(
        name=row.name,
        responsibility=row.summary,
        source_hint=source_of(__name__),
        level=entry.level,
        schema=lambda: schema_of(row.params),
        run=returning_errors(run),
        aliases=row.aliases,
        family=row.family,
        subjects=entry.subjects,
        resolve=_with_package if row.resolves_label else None,
        performs=entry.performs,
        takes_app_name=row.takes_app_name,
        model_tool=row.model_tool,
    )


def _with_package(params: Mapping[str, Any], context: ToolContext) -> Mapping[str, Any]:
    """The params with the package of an app that is named by its label, for the policy and for the device."""
    if not isinstance(params, dict):
        return params
    from clawperator.device.discovery import resolve_device
    from clawperator.device.packages import is_app_label, resolve_app_label

    action = {"type": "open_app", "params": params}
    own: dict[str, Any] = normalise_execution({"actions": [action]})["actions"][0]["params"]
    app = own.get("applicationId")
    if not isinstance(app, str) or not app.strip() or not is_app_label(app):
        return params
    user = own["user"] if type(own.get("user")) is int else None  # its value is validated later
    return {**own, "applicationId": resolve_app_label(resolve_device(context.device), app, user)}


def _run_execution(params: RunExecutionParams, context: ToolContext) -> ToolResult:
    from clawperator.agent.tools.plans import run_actions

    actions = [
        {"type": action.type, "params": action.params, **({} if action.id is UNSET else {"id": action.id})}
        for action in params.actions
    ]
    timeout = None if params.timeoutMs is UNSET else params.timeoutMs
    return run_actions(RUN_EXECUTION, actions, context, timeout_ms=timeout)


ACTION_TOOLS: tuple[Tool, ...] = (
    *(_action_tool(row) for row in ACTIONS.values()),
    make_tool(
        RUN_EXECUTION,
        "Run a plan of up to 50 actions as one execution.",
        RunExecutionParams,
        _run_execution,
        level="act",
        module=__name__,
        family="action",
        model_tool="run_plan",
    ),
)
