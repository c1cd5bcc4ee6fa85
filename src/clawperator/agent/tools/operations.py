"""The tools of operations: one for each row, with its parameters, level and summary."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from msgspec.structs import replace

from clawperator._base.text import printable
from clawperator.agent.confinement import confine
from clawperator.agent.ports import Evidence, Tool, ToolContext, ToolResult
from clawperator.agent.tools.row import failed_result, read_params, returning_errors, schema_of, source_of
from clawperator.errors import ClawError
from clawperator.operations.call import TOOL, Caller, call
from clawperator.operations.model import Operation, Params, all_operations, document_of, shape_of

# The codes of work that was ended from outside, perhaps by the end of its turn.
_ENDED = ("INTERRUPTED", "SKILL_EXECUTION_TIMEOUT")
_LONGEST_LINE = 80


def operation_tools() -> tuple[Tool, ...]:
    """The tools of all operations."""
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
        run=returning_errors(partial(run_operation, operation)),
        family=operation.name.partition(" ")[0],
        is_gated=True,
        model_tool=operation.tool or None,
        rare=frozenset(field.name for field in operation.fields if field.use.rare),
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
