"""The tools of claw: one for each action and operation, from their rows, and two that are written here.

A tool that acts on the phone or writes a file has the level ``act``; one that only reads is ``read-only``.
"""

from collections.abc import Callable, Mapping
from functools import cache, lru_cache, partial
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

from clawperator._base.text import count, printable
from clawperator._base.typed import convert, given
from clawperator.agent.confinement import confine
from clawperator.agent.ports import Evidence, Tool, ToolContext, ToolResult, failed_result
from clawperator.contract.action_params import ActionType
from clawperator.contract.actions import ACTIONS, normalise_execution
from clawperator.contract.execution import TimeoutMs
from clawperator.contract.fields import about
from clawperator.contract.limits import MAX_EXECUTION_ACTIONS
from clawperator.errors import ClawError
from clawperator.operations.call import TOOL, Caller, call, listed_entry
from clawperator.operations.hints import Next
from clawperator.operations.model import Operation, Params, all_operations, document_of, shape_of
from clawperator.policy.actions import action_entry, all_names, execution_entry
from clawperator.policy.gate import check_possible
from clawperator.policy.rules import PolicyEntry

P = TypeVar("P", bound=Struct)


class NoParams(Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of a tool without any."""


def make_tool(name: str, shape: type[P], work: Callable[[P, ToolContext], ToolResult], **columns: Any) -> Tool:
    """A tool of this module whose parameters are a ``shape``."""
    return Tool(
        name=name,
        source_hint=source_of(__name__),
        schema=lambda: schema_of(shape),
        run=lambda params, context: work(read_params(shape, params, name), context),
        shape=shape,
        **columns,
    )


def source_of(module: str) -> str:
    return module.replace(".", "/") + ".py"


def schema_of(shape: type[Struct]) -> dict[str, Any]:
    """The JSON Schema of a Struct with an object at the top, as model APIs require."""
    schema: dict[str, Any] = msgspec.json.decode(_encoded_schema(shape))
    return schema


@cache
def _encoded_schema(shape: type[Struct]) -> bytes:
    """Kept encoded: building it is slow, and each caller gets a document of its own."""
    _, defs = msgspec.json.schema_components([shape], ref_template="#/$defs/{name}")
    top = defs.pop(shape.__name__)
    return msgspec.json.encode({**top, "$defs": defs} if defs else top)


def require_object(params: object, tool: str) -> dict[str, Any]:
    """The parameters, if they are a JSON object; ``TOOL_PAYLOAD_INVALID`` otherwise."""
    if not isinstance(params, Mapping):
        raise payload_error(tool, "the parameters must be a JSON object")
    try:
        msgspec.json.encode(params)
    except (TypeError, ValueError, OverflowError) as e:
        raise payload_error(tool, f"the parameters are not JSON: {type(e).__name__}") from None
    except RecursionError:
        raise payload_error(tool, "the parameters are nested too deeply") from None
    return dict(params)


def read_params(shape: type[P], params: object, tool: str) -> P:
    """The typed parameters. ``TOOL_PAYLOAD_INVALID`` lists every issue."""
    given = require_object(params, tool)
    try:
        return convert(given, shape)
    except (msgspec.ValidationError, RecursionError):
        from clawperator.contract.issues import struct_issues

        issues = struct_issues(shape, given, "")
        found = [{"path": issue.path, "message": issue.message} for issue in issues]
        first = issues[0] if issues else None
        message = f"{first.path}: {first.message}".removeprefix(": ") if first else "invalid parameters"
        raise payload_error(tool, message, {"issues": found}) from None


def payload_error(tool: str, message: str, details: Mapping[str, Any] | None = None) -> ClawError:
    hint = f"Run 'claw show-tool {tool} --output-format json' for its parameters."
    return ClawError(
        "TOOL_PAYLOAD_INVALID", message, hint=hint, details=details, operation="validate", target=tool
    )


# Hints


def tool_name(call: Next) -> str:
    """The tool of the call that a hint names. Empty when there is none."""
    if call.operation is None:
        return call.action
    return "" if call.operation.is_cli_only else call.operation.tool_name


def call_text(tool: str, params: Mapping[str, Any]) -> str:
    return f"call {tool} with {msgspec.json.encode(params).decode()}" if params else f"call {tool}"


# Operations

# The codes of work that was ended from outside, perhaps by the end of its turn.
_ENDED = ("INTERRUPTED", "SKILL_EXECUTION_TIMEOUT")
_LONGEST_LINE = 80


def operation_tools() -> tuple[Tool, ...]:
    return tuple(operation_tool(row) for row in all_operations() if not (row.is_alias or row.is_cli_only))


def operation_tool(operation: Operation) -> Tool:
    """The tool of an operation. The gate decides on each call of it."""
    name = operation.tool_name
    return Tool(
        name=name,
        responsibility=operation.summary,
        source_hint=source_of(operation.module),
        level=operation.level,
        schema=lambda: schema_of(shape_of(operation)),
        run=partial(run_operation, operation),
        family=operation.name.partition(" ")[0],
        own_entry=partial(listed_entry, operation),
        is_gated=True,
        model_tool=operation.tool or None,
        shape=shape_of(operation),
    )


def run_operation(operation: Operation, params: Mapping[str, Any], context: ToolContext) -> ToolResult:
    """Run an operation for an agent, and make its evidence."""
    given = read_params(shape_of(operation), params, operation.tool_name)
    own = operation.params(**{name: getattr(given, name) for name in given.__struct_fields__})
    caller = agent_caller(context)
    try:
        result, document = run_with_device(operation, own, caller)
    except ClawError as e:
        return _failure(operation, e, context)
    caller = replace(caller, device=document.get("deviceId", caller.device))
    kept = _evidence(operation, document, context)
    error = operation.failure(result, caller)
    if error is not None:
        return failed_result(error, result=document, evidence=kept)
    return ToolResult(True, operation.message(result, caller), document, evidence=kept)


def _failure(operation: Operation, error: ClawError, context: ToolContext) -> ToolResult:
    """The result of an error; with evidence if the work had begun. Raises when the turn itself ended the work."""
    if error.code in _ENDED:
        context.deadline.check()
    if operation.evidence is None or not error.after_effect or operation.evidence[1] not in error.extra:
        return failed_result(error)
    document = error.document()
    return failed_result(error, result=document, evidence=_evidence(operation, document, context))


def run_with_device(operation: Operation, params: Params, caller: Caller) -> tuple[Any, Any]:
    """The result of an operation and its document, which also names the device that was used."""
    found: list[str] = []
    result = call(operation, params, replace(caller, on_device=found.append))
    document = document_of(result)
    return result, {**document, "deviceId": found[0]} if found else document


def agent_caller(context: ToolContext) -> Caller:
    """The caller of an agent's operation: its device, its folder and its deadline."""
    folder = context.working_folder

    def after_step(outcome: Any) -> None:
        context.on_progress(f"{outcome.step.kind} (event {outcome.step.seq:g}): {outcome.status}")
        context.deadline.check()

    def show_last_line(_: str, data: bytes) -> None:
        lines = data.decode("utf-8", "replace").split("\n")
        if shown := next((line.strip() for line in reversed(lines) if line.strip()), ""):
            context.on_progress(printable(shown)[:_LONGEST_LINE])

    return Caller(
        entry=TOOL,
        device=context.device,
        operator_package=context.operator_package,
        backend=context.backend,
        pass_env=context.pass_env,
        allow_schemes=context.allow_schemes,
        deadline=context.deadline,
        folder=folder.path,
        confine=partial(confine, folder),
        on_step=after_step,
        on_output=show_last_line,
        is_stopping=lambda: context.deadline.is_over,
    )


def _evidence(operation: Operation, document: Any, context: ToolContext) -> tuple[Evidence, ...]:
    """What the session keeps of a result: the file that it names, or the document itself."""
    if operation.evidence is None:
        return ()
    kind, path = operation.evidence
    ref = document
    for name in path.split("."):
        ref = ref[name]
    file = document.get("outputFile", document.get("localPath"))
    own = {"path": file} if kind == "recording" else {"document": document}
    device = document.get("deviceId", context.device if operation.on_device else None)
    return (Evidence(kind, str(ref), device, **own),)


# Actions

RUN_EXECUTION = "run_execution"


class PlannedAction(Struct, frozen=True, forbid_unknown_fields=True):
    """One action of a plan. Without an id it is numbered: a1, a2 and so on."""

    type: Annotated[str, Meta(description="action type", extra_json_schema={"enum": list(ACTIONS)})]
    params: Annotated[dict[str, Any], Meta(description="parameters, as the tool of that name takes them")] = {}
    id: Annotated[str, Meta(description="id of the action and of its result")] | UnsetType = UNSET


class RunExecutionParams(Struct, frozen=True, forbid_unknown_fields=True):
    actions: Annotated[
        list[PlannedAction], Meta(min_length=1, max_length=MAX_EXECUTION_ACTIONS), about("actions in order")
    ]
    timeoutMs: Annotated[TimeoutMs, Meta(description="timeout of the whole execution, in ms")] | UnsetType = UNSET


def _action_tool(row: ActionType) -> Tool:
    def run(params: Mapping[str, Any], context: ToolContext) -> ToolResult:
        from clawperator.agent.tools.plans import run_actions

        own = require_object(params, row.name)
        own = _with_package(row.name, own, context) if row.resolves_label else own
        return run_actions(row.name, [{"type": row.name, "params": own}], context)

    return Tool(
        name=row.name,
        responsibility=row.summary,
        source_hint=source_of(__name__),
        level="read-only" if row.read_only else row.level,
        schema=lambda: schema_of(row.params),
        run=run,
        aliases=row.aliases,
        family=row.family,
        own_entry=partial(action_entry, row.name),
        is_gated=True,
        takes_app_name=row.takes_app_name,
        model_tool=row.model_tool,
        shape=row.params,
    )


def _with_package(name: str, params: dict[str, Any], context: ToolContext) -> dict[str, Any]:
    """The params with the package of an app that is named by its label. A denied action asks no device."""
    from clawperator.device.discovery import resolve_device
    from clawperator.device.packages import is_app_label, resolve_app_label

    action = {"type": name, "params": params}
    own: dict[str, Any] = normalise_execution({"actions": [action]})["actions"][0]["params"]
    app = own.get("applicationId")
    if not isinstance(app, str) or not app.strip() or not is_app_label(app):
        return params
    check_possible(action)
    user = own["user"] if type(own.get("user")) is int else None  # its value is validated later
    return {**own, "applicationId": resolve_app_label(resolve_device(context.device), app, user)}


def _run_execution(params: RunExecutionParams, context: ToolContext) -> ToolResult:
    from clawperator.agent.tools.plans import run_actions

    actions = msgspec.to_builtins(params.actions)
    return run_actions(RUN_EXECUTION, actions, context, timeout_ms=given(params.timeoutMs))


EXECUTION_TOOL = make_tool(
    RUN_EXECUTION,
    RunExecutionParams,
    _run_execution,
    responsibility="Run a plan of up to 50 actions as one execution.",
    level="act",
    model_tool="run_plan",
    own_entry=execution_entry,
    is_gated=True,
)


# The labels of the screen

_MOST_LABELS = 1_000
_LONGEST_LABEL = 500


def _describe_screen(_: NoParams, context: ToolContext) -> ToolResult:
    from clawperator.agent.tools.plans import run_actions

    snapshot = run_actions("snapshot_ui", [{"type": "snapshot_ui", "params": {"view": "json"}}], context)
    if not snapshot.handled:
        return snapshot
    document = snapshot.result
    data = document["envelope"]["stepResults"][0]["data"]
    labels = [_label(element) for element in msgspec.json.decode(data["text"])["elements"]]
    labels = [label for label in labels if label["label"] or label.get("value")]
    package = data.get("foreground_package")
    message = f"the screen shows {count(len(labels), 'label')}{f' in {package}' if package else ''}"
    screen = {
        "package": package,
        "overlayPackage": data.get("overlay_package"),
        "labelCount": len(labels),
        "labels": labels[:_MOST_LABELS],
        "snapshotId": data["snapshot_id"],
        "commandId": document["envelope"]["commandId"],
        "deviceId": document["deviceId"],
    }
    return msgspec.structs.replace(snapshot, message=message, result=screen)


def _label(element: dict[str, Any]) -> dict[str, Any]:
    """An element of the outline: its label and role, and its value, states and reference where it has them."""
    made = {"label": element["label"][:_LONGEST_LABEL], "role": element["role"]}
    states = element["states"]
    switched = [state for state in states if state in ("on", "off")]
    more = {"state": switched[0] if switched else "", "value": element["value"][:_LONGEST_LABEL], "states": states}
    return made | {name: value for name, value in {**more, "ref": element["ref"]}.items() if value}


def screen_lines(step: dict[str, Any]) -> list[str]:
    """The screen of a snapshot step for users, line by line: the view itself, or the outline of its XML."""
    data = step["data"]
    if data.get("actual_format") in ("outline", "outline_changes", "json"):
        return str(data.get("text", "")).splitlines()
    from clawperator.api.snapshot import read_snapshot
    from clawperator.contract.results import StepResult
    from clawperator.ui.outline import outline_of, render_outline

    screen = read_snapshot(convert(step, StepResult))
    return render_outline(outline_of(screen.hierarchy, screen.frame, overlay=screen.overlay_package)).splitlines()


DESCRIBE_SCREEN = make_tool(
    "describe_screen",
    NoParams,
    _describe_screen,
    responsibility="List the visible labels of the screen with their roles, and the foreground app.",
    level="read-only",
    family="observation",
    model_tool="snapshot",
    own_entry=lambda: PolicyEntry("describe_screen", "read-only", performs=lambda _: all_names(("snapshot_ui",))),
)


@lru_cache(maxsize=1)
def builtin_tools() -> tuple[Tool, ...]:
    """All built-in tools, in the order of lists."""
    return (*map(_action_tool, ACTIONS.values()), EXECUTION_TOOL, DESCRIBE_SCREEN, *operation_tools())
