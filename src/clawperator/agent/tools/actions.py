"""The actions of the registry as tools, each run as an execution of its own, and whole plans of them."""

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from clawperator.agent.ports import Tool, ToolCall, ToolContext, ToolResult
from clawperator.agent.tools.row import (
    answering,
    make_tool,
    require_object,
    schema_of,
    source_of,
)
from clawperator.contract.actions import ACTION_ALIASES, ACTIONS, ActionType
from clawperator.contract.execution import TimeoutMs
from clawperator.contract.limits import MAX_EXECUTION_ACTIONS
from clawperator.contract.normalise import normalise
from clawperator.errors import ClawError

RUN_EXECUTION = "run_execution"

_FAMILIES: Mapping[str, str] = {
    **dict.fromkeys(("snapshot_ui", "take_screenshot", "read_text", "read_key_value_pair"), "observation"),
    **dict.fromkeys(("wait_for_node", "wait_for_navigation"), "observation"),
    **dict.fromkeys(("start_recording", "stop_recording"), "recording"),
}
# These leave the phone and the folder as they are. A screenshot does not: it writes a file.
_LOOKING = frozenset(
    ("snapshot_ui", "read_text", "read_key_value_pair", "wait_for_node", "wait_for_navigation", "sleep")
)
# What an action is about, as rules see it: the first of these that it has.
_SUBJECTS = ("applicationId", "uri", "key", "path", "sessionId", "expectedPackage", "direction")
_MATCHERS = ("matcher", "labelMatcher", "expectedNode")
_MARKS = ("textEquals", "textContains", "contentDescEquals", "contentDescContains", "resourceId", "role")


class PlannedAction(Struct, frozen=True, forbid_unknown_fields=True):
    """One action of a plan. Without an id it is called by its number: a1, a2 and so on."""

    type: Annotated[str, Meta(description="the type of the action", extra_json_schema={"enum": list(ACTIONS)})]
    params: Annotated[dict[str, Any], Meta(description="its parameters, as the tool of that name takes them")] = {}
    id: Annotated[str, Meta(description="what its result is told apart by")] | UnsetType = UNSET


class RunExecutionParams(Struct, frozen=True, forbid_unknown_fields=True):
    actions: Annotated[
        list[PlannedAction],
        Meta(min_length=1, max_length=MAX_EXECUTION_ACTIONS, description="what to do, one after the other"),
    ]
    timeoutMs: Annotated[TimeoutMs, Meta(description="how long all of it may take, in ms")] | UnsetType = UNSET


def planned_calls(params: object) -> list[ToolCall]:
    """The calls that a plan stands for, by canonical names, so that each can be judged. Never raises."""
    actions = params.get("actions") if isinstance(params, Mapping) else None
    try:
        named = normalise({"actions": actions}).get("actions")
    except RecursionError:
        return []
    found = [action for action in named if isinstance(action, dict)] if isinstance(named, list) else []
    return [
        ToolCall(action["type"], own if isinstance(own := action.get("params"), dict) else {})
        for action in found
        if isinstance(action.get("type"), str) and action["type"] in ACTIONS
    ]


def action_subject(name: str, params: Mapping[str, Any]) -> str:
    """What an action is aimed at: an app, a URI, a key, or the label or id of a node. Nothing for a point."""
    action = {"type": ACTION_ALIASES.get(name, name), "params": dict(params)}
    own = normalise({"actions": [action]})["actions"][0]["params"]
    for field in _SUBJECTS:
        if isinstance(own.get(field), str):
            return str(own[field])
    for field in _MATCHERS:
        matcher = own.get(field)
        marks = (matcher.get(mark) for mark in _MARKS) if isinstance(matcher, dict) else ()
        found = next((mark for mark in marks if isinstance(mark, str) and mark), None)
        if found is not None:
            return found
    return ""


def _action_tool(row: ActionType) -> Tool:
    def run(params: Mapping[str, Any], context: ToolContext) -> ToolResult:
        from clawperator.agent.tools.plans import carry_out

        own = require_object(params, row.name)
        try:
            return carry_out(row.name, [{"id": "a1", "type": row.name, "params": own}], context)
        except ClawError as e:
            if e.code == "EXECUTION_VALIDATION_FAILED" and e.hint is None:
                raise e.with_(hint=f"Run 'clawperator schema action.{row.name}' for its parameters.") from e
            raise

    return Tool(
        name=row.name,
        responsibility=row.summary,
        source_hint=source_of(__name__),
        level="read-only" if row.name in _LOOKING else "act",
        schema=lambda: schema_of(row.params),
        run=answering(run),
        aliases=row.aliases,
        family=_FAMILIES.get(row.name, "action"),
        subject=lambda params: action_subject(row.name, params),
    )


def _run_execution(params: RunExecutionParams, context: ToolContext) -> ToolResult:
    from clawperator.agent.tools.plans import carry_out

    actions = [
        {"id": f"a{place}" if action.id is UNSET else action.id, "type": action.type, "params": action.params}
        for place, action in enumerate(params.actions, 1)
    ]
    timeout = None if params.timeoutMs is UNSET else params.timeoutMs
    return carry_out(RUN_EXECUTION, actions, context, timeout_ms=timeout)


ACTION_TOOLS: tuple[Tool, ...] = (
    *(_action_tool(row) for row in ACTIONS.values()),
    make_tool(
        RUN_EXECUTION,
        "Run a plan of up to 50 actions in one go.",
        RunExecutionParams,
        _run_execution,
        level="act",
        module=__name__,
        family="action",
    ),
)
