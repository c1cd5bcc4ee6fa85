"""``exec-tool`` and ``exec-command``: run one inventory entry under the policy and a deadline."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import msgspec

from clawperator._base.typed import decode, given
from clawperator.agent.cancellation import (
    CallNotBegunError,
    TurnCancelledError,
    TurnDeadline,
    WorkAbandonedError,
    WorkAbandonedInterrupt,
    run_within,
)
from clawperator.agent.envelope import is_not_found
from clawperator.agent.ports import ToolCall, ToolResult, failed_result
from clawperator.agent.tool_registry import ToolRegistry
from clawperator.agent.turns.assembly import assemble, is_mcp_name
from clawperator.agent.turns.events import EventStream
from clawperator.agent.turns.results import StoppedWork, observe_stop
from clawperator.cli.claw.command_line import acting_options, text_of
from clawperator.cli.claw.dispatch import Response, failure
from clawperator.cli.claw.readable import last_turn, readable
from clawperator.cli.console import ignore_signals, interrupt_on_signals
from clawperator.cli.parsing import ParsedArguments
from clawperator.errors import ClawError
from clawperator.operations.turns import ExecCommandParams, ExecToolParams

_LONGEST_MESSAGE = 2_000
# The device's clock is not ours: its timeout may come this much before our deadline.
_SLACK_SECONDS = 0.05
# Errors of a step that ended because of our deadline.
_STEP_TIMEOUTS = (
    *("COMMAND_TIMEOUT", "RESULT_ENVELOPE_TIMEOUT", "NAVIGATION_TIMEOUT", "SKILL_EXECUTION_TIMEOUT"),
    "INTERRUPTED",
)
# The flags that a nested claw call inherits, besides the policy.
_INHERITED_FLAGS = ("--device", "--operator-package", "--backend", "--allow-scheme", "--pass-env")

_Act = Callable[[], ToolResult]


def exec_tool(arguments: ParsedArguments, params: ExecToolParams) -> Response:
    return _execute(_Job(arguments, params, "payload"), _tool_call)


def exec_command(arguments: ParsedArguments, params: ExecCommandParams) -> Response:
    return _execute(_Job(arguments, params, "prompt"), _command_call)


def _execute(job: "_Job", prepare: "Callable[[_Job, TurnDeadline], AbstractContextManager[_Act]]") -> Response:
    deadline = TurnDeadline(given(job.params.timeout_seconds))
    try:
        job.input = text_of(job.arguments.words[1])
        with prepare(job, deadline) as act, interrupt_on_signals(deadline.cancel):
            result = _run_until(deadline, job, act)
            ignore_signals()
        ignore_signals()
    except KeyboardInterrupt as e:
        ignore_signals()
        result = _interrupted(job, ended=not isinstance(e, WorkAbandonedInterrupt))
    except ClawError as e:
        result = failed_result(e)
    return _respond(job, result)


class _Job:
    """The entry to run. Its canonical name and source are known once it is found."""

    def __init__(
        self, arguments: ParsedArguments, params: ExecToolParams | ExecCommandParams, input_name: str
    ) -> None:
        self.arguments = arguments
        self.params = params
        self.name = params.name
        self.input_name = input_name
        self.input: str | None = None
        self.source_hint: str | None = None
        self.is_read_only = False
        self.has_begun = False
        self.cancel_observed: bool | None = None  # None for work that was not stopped
        self.warnings: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        assert self.input is not None
        return self.input


@contextmanager
def _tool_call(job: _Job, deadline: TurnDeadline) -> Iterator[_Act]:
    options = acting_options(job.arguments, job.params)
    foreign = job.name if is_mcp_name(job.name) else None
    with assemble(options, deadline, EventStream(""), with_mcp=foreign is not None, tool=foreign) as parts:
        job.warnings += parts.warnings
        tool = parts.registry.find(job.name)
        job.name, job.source_hint = tool.name, tool.source_hint
        job.is_read_only = tool.level == "read-only"
        call = ToolCall(tool.name, _params(job.text, tool.name))
        yield lambda: parts.registry.call(call, options.tool_context(deadline))


@contextmanager
def _command_call(job: _Job, deadline: TurnDeadline) -> Iterator[_Act]:
    from clawperator.agent.inventory.inventory import command_inventory, discover_plugins
    from clawperator.cli.claw.command_tools import CommandContext, prepare

    options, plugins = acting_options(job.arguments, job.params), discover_plugins()
    inventory = command_inventory(plugins=plugins)
    job.warnings += inventory.warnings
    entry = inventory.find(job.name)
    job.name, job.source_hint = entry.name, entry.source_hint
    flags = {flag: job.arguments.all(flag) for flag in _INHERITED_FLAGS}
    context = CommandContext(plugins.plugins, flags, options.asker is None, options.working_folder)
    with assemble(options, deadline, EventStream(""), with_mcp=False) as parts:
        job.warnings += parts.warnings
        command = prepare(entry, job.text, context)
        job.is_read_only = command.level == "read-only"
        own = ToolRegistry([command], parts.policy, asker=options.asker)
        yield lambda: own.call(ToolCall(entry.name, {}), options.tool_context(deadline))


def _params(payload: str, tool: str) -> dict[str, Any]:
    from clawperator.agent.tools.builtin import payload_error, require_object

    if not payload.strip():
        return {}
    try:
        params = decode(payload)
    except ValueError as e:
        raise payload_error(tool, f"the payload is not valid JSON: {e}") from None
    return require_object(params, tool)


def _run_until(deadline: TurnDeadline, job: _Job, act: _Act) -> ToolResult:
    """Run it until the deadline. The error reports whether it had begun, and whether it was seen to stop."""
    if deadline.remaining == 0:
        return _timed_out(job, observe_stop(ended=True), None)
    job.has_begun = True
    try:
        result = run_within(deadline, act)
    except (WorkAbandonedError, TurnCancelledError) as e:
        if deadline.is_cancelled and deadline.remaining != 0:  # cancelled by a signal, not by the deadline
            raise KeyboardInterrupt from e
        job.has_begun = not isinstance(e, CallNotBegunError)
        return _timed_out(job, observe_stop(ended=isinstance(e, TurnCancelledError)), None)
    code = result.error.code if result.error is not None else ""
    is_late = deadline.remaining is not None and deadline.remaining <= _SLACK_SECONDS
    if code == "INTERRUPTED" and not is_late:
        return _interrupted(job, ended=True, cause=result)
    if code == "TURN_TIMEOUT" or (is_late and code in _STEP_TIMEOUTS):
        return _timed_out(job, observe_stop(ended=_has_ended(result)), result)
    return result


def _has_ended(result: ToolResult) -> bool:
    """Whether a call that timed out has ended. Only a nested turn may have left work behind."""
    turn = last_turn(result.result) if isinstance(result.result, dict) else {}
    return not turn or bool(turn.get("cancel_observed"))


def _timed_out(job: _Job, stopped: StoppedWork, cause: ToolResult | None) -> ToolResult:
    """The result of a call that the deadline stopped: ``cause`` is its own result, if it had one."""
    error = cause.error if cause is not None else None
    is_own = error is None or error.code == "TURN_TIMEOUT"
    # Without a document that code means that too little time was left to start. A nested turn has a document.
    has_begun = job.has_begun and not (is_own and cause is not None and cause.result is None)
    phase = "during" if has_begun else "before"
    shown = stopped.error(
        "TURN_TIMEOUT",
        f"the time limit was reached {phase} {job.name}",
        operation=(error.operation if error is not None else "") or job.name,
        target=(error.target if error is not None else "") or job.name,
        after_effect=has_begun and not job.is_read_only if error is None else error.after_effect,
        details={"phase": phase} if error is None or is_own else {"phase": phase, "code": error.code},
    )
    job.cancel_observed = stopped.observed
    return failed_result(shown, result=cause.result if cause is not None else None)


def _interrupted(job: _Job, *, ended: bool, cause: ToolResult | None = None) -> ToolResult:
    stopped = observe_stop(ended=ended)
    error = stopped.error(
        "INTERRUPTED",
        f"{job.name} was interrupted",
        operation=job.arguments.name,
        target=job.name,
        after_effect=job.has_begun and not job.is_read_only,
    )
    job.cancel_observed = stopped.observed
    return failed_result(error, result=cause.result if cause is not None else None)


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
        seen = readable(message, document) if job.is_read_only else message
        return Response(payload, seen if result.text is None else result.text, warnings=job.warnings)
    if document is not None and error.details:  # the result holds the step
        details = {name: value for name, value in error.details.items() if name != "step"}
        error = error.with_(details=details or None)
    if job.cancel_observed is not None:
        payload["cancel_observed"] = job.cancel_observed
    return failure(error, job.arguments.name, payload, target=job.name, warnings=job.warnings)
