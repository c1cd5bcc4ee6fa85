"""``exec-tool`` and ``exec-command``: run one inventory entry under the policy and a deadline."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import msgspec

from clawperator._typed import decode
from clawperator.agent import (
    EventStream,
    ToolCall,
    ToolRegistry,
    ToolResult,
    TurnCancelledError,
    TurnDeadline,
    WorkAbandonedError,
    assemble,
    is_mcp_name,
    is_not_found,
    run_within,
    timeout_error,
)
from clawperator.cli.claw.inputs import text_of
from clawperator.cli.claw.options import agent_options
from clawperator.cli.claw.readable import readable
from clawperator.cli.claw.response import Response, failure
from clawperator.cli.claw.signals import ignore_signals
from clawperator.cli.parsing import ParsedArguments
from clawperator.cli.signals import interrupt_on_signals
from clawperator.errors import ClawError

_LONGEST_MESSAGE = 2_000


_Act = Callable[[], ToolResult]


def exec_tool(arguments: ParsedArguments) -> Response:
    return _execute(_Job(arguments, "payload"), _tool_call)


def exec_command(arguments: ParsedArguments) -> Response:
    return _execute(_Job(arguments, "prompt"), _command_call)


def _execute(job: "_Job", prepare: "Callable[[_Job, TurnDeadline], AbstractContextManager[_Act]]") -> Response:
    try:
        deadline = TurnDeadline(job.arguments.seconds("--timeout-seconds"))
        with prepare(job, deadline) as act, interrupt_on_signals(deadline.cancel):
            result = _run_until(deadline, job.name, act)
            ignore_signals()
        ignore_signals()
    except ClawError as e:
        result = ToolResult(handled=False, message=e.message, error=e)
    return _respond(job, result)


class _Job:
    """The entry to run. Its canonical name and source are known once it is found."""

    def __init__(self, arguments: ParsedArguments, input_name: str) -> None:
        self.arguments = arguments
        self.name = arguments.words[0]
        self.input_name = input_name
        self.input = text_of(arguments.words[1])
        self.source_hint: str | None = None
        self.only_looks = False
        self.warnings: tuple[str, ...] = ()

    def found(self, name: str, source_hint: str) -> None:
        self.name = name
        self.source_hint = source_hint


@contextmanager
def _tool_call(job: _Job, deadline: TurnDeadline) -> Iterator[_Act]:
    options = agent_options(job.arguments)
    foreign = job.name if is_mcp_name(job.name) else None
    with assemble(options, deadline, EventStream(""), with_mcp=foreign is not None, tool=foreign) as parts:
        job.warnings += parts.warnings
        tool = parts.registry.find(job.name)
        job.found(tool.name, tool.source_hint)
        job.only_looks = tool.level == "read-only"
        call = ToolCall(tool.name, _params(job.input, tool.name))
        yield lambda: parts.registry.call(call, options.tool_context(deadline))


@contextmanager
def _command_call(job: _Job, deadline: TurnDeadline) -> Iterator[_Act]:
    from clawperator.agent import command_inventory, discover_plugins
    from clawperator.cli.claw.command_tools import CommandContext, prepare

    options, plugins = agent_options(job.arguments), discover_plugins()
    inventory = command_inventory(plugins=plugins)
    job.warnings += inventory.warnings
    entry = inventory.find(job.name)
    job.found(entry.name, entry.source_hint)
    folder = options.tool_context(deadline).working_folder
    context = CommandContext(plugins.plugins, _inherited_flags(job.arguments), options.asker is None, folder)
    with assemble(options, deadline, EventStream(""), with_mcp=False) as parts:
        job.warnings += parts.warnings
        command = prepare(entry, job.input, context)
        job.only_looks = command.level == "read-only"
        own = ToolRegistry([command], parts.policy, asker=options.asker)
        yield lambda: own.call(ToolCall(entry.name, {}), options.tool_context(deadline))


def _inherited_flags(arguments: ParsedArguments) -> dict[str, tuple[str, ...]]:
    """The flags that a nested claw call inherits, besides the policy."""
    flags = ("--device", "--operator-package", "--backend", "--allow-scheme", "--pass-env")
    return {flag: arguments.all(flag) for flag in flags}


def _params(payload: str, tool: str) -> dict[str, Any]:
    from clawperator.agent import payload_error, require_object

    if not payload.strip():
        return {}
    try:
        params = decode(payload)
    except ValueError as e:
        raise payload_error(tool, f"the payload is not valid JSON: {e}") from None
    return require_object(params, tool)


def _run_until(deadline: TurnDeadline, name: str, act: Callable[[], ToolResult]) -> ToolResult:
    """Run it until the deadline. The error reports whether the work was stopped."""
    try:
        return run_within(deadline, act)
    except (WorkAbandonedError, TurnCancelledError) as e:
        if deadline.is_cancelled and deadline.remaining != 0:  # cancelled by a signal, not by the deadline
            raise KeyboardInterrupt from e
        error = timeout_error("exec", name).with_(retryable=isinstance(e, TurnCancelledError))
        return ToolResult(handled=False, message=error.message, error=error)


def _respond(job: _Job, result: ToolResult) -> Response:
    message, error = result.message[:_LONGEST_MESSAGE], result.error
    document = msgspec.to_builtins(result.result)
    payload = {
        "name": job.name,
        **({"found": False} if error is not None and is_not_found(error) and job.source_hint is None else {}),
        job.input_name: job.input,
        "handled": result.handled,
        "message": message,
        "source_hint": job.source_hint,
        "result": document,
    }
    if error is None:
        seen = readable(message, document) if job.only_looks else message
        return Response(payload, seen if result.text is None else result.text, warnings=job.warnings)
    if document is not None and error.details:  # the result holds the step
        details = {name: value for name, value in error.details.items() if name != "step"}
        error = error.with_(details=details or None)
    if error.code == "TURN_TIMEOUT":
        payload["cancel_observed"] = error.retryable
    return failure(error, job.arguments.name, payload, target=job.name, warnings=job.warnings)
