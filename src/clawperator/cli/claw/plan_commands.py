"""Verbs that are executions: read once, judged by the actions they stand for, and carried out as they are."""

from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from clawperator.agent.ports import ToolCall, ToolContext, ToolResult
from clawperator.agent.tools.row import failed
from clawperator.cli.console import Console
from clawperator.cli.handler import Call
from clawperator.cli.handlers import actions, execution
from clawperator.cli.parsing import read_arguments, split_globals
from clawperator.commands.handlers import module_of
from clawperator.commands.model import Command
from clawperator.contract.execution import validate
from clawperator.contract.limits import MIN_EXECUTION_TIMEOUT_MS
from clawperator.contract.results import ExecutionResult
from clawperator.errors import ClawError


class PlanVerb(Struct, frozen=True):
    """A verb with its execution, and the tools that do the same."""

    call: Call
    document: Any
    calls: tuple[ToolCall, ...]

    def run(self, context: ToolContext) -> ToolResult:
        """Carry it out on the phone of the context, unless the verb itself names one."""
        try:
            answer = execution.carry_out(self._timed(context), self._call(context))
        except ClawError as e:
            return failed(e)
        if isinstance(answer, ExecutionResult):
            return self._told(answer)
        return ToolResult(True, f"{self.call.name} is valid", answer)

    def _call(self, context: ToolContext) -> Call:
        options = self.call.options
        values = dict(self.call.arguments.values)
        if context.backend != "auto":
            values.setdefault("--backend", (context.backend,))
        chosen = replace(
            options,
            device=options.device or context.device,
            operator_package=options.operator_package or context.operator_package,
        )
        return replace(self.call, options=chosen, arguments=replace(self.call.arguments, values=values))

    def _timed(self, context: ToolContext) -> Any:
        left = context.deadline.remaining
        if left is None or not isinstance(self.document, dict):
            return self.document
        most = max(int(left * 1000), MIN_EXECUTION_TIMEOUT_MS)
        return {**self.document, "timeoutMs": min(self.document.get("timeoutMs", most), most)}

    def _told(self, answer: ExecutionResult) -> ToolResult:
        from clawperator.agent.tools.messages import tell_plan
        from clawperator.connection.results import only_step

        document = msgspec.to_builtins(answer)
        try:
            only_step(answer.envelope, answer.deviceId)
        except ClawError as e:
            return failed(e, result=document)
        told = tell_plan(validate(self.document).execution.actions, answer.envelope.stepResults)
        return ToolResult(True, told, document)


def plan_verb(path: list[str], command: Command, words: list[str]) -> PlanVerb | None:
    """The verb, if it is an execution. What is wrong with its arguments is raised."""
    name = " ".join(path)
    maker = {actions.__name__: actions.execution, execution.__name__: execution.execution}.get(module_of(name))
    if maker is None or words[:1] == ["best-effort"] or "--help" in words:
        return None
    from clawperator.agent.tools.actions import planned_calls

    options, rest = split_globals(words)
    prefix = "".join(f"{word} " for word in path[:-1])
    call = Call(name, read_arguments(command, rest, prefix=prefix), replace(options, json=True), Console("error"))
    document = maker(call)
    return PlanVerb(call, document, tuple(planned_calls(document)))
