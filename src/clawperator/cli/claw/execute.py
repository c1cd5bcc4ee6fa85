"""``exec-tool`` and ``exec-command``: one thing of the inventory is done, under the policy and a deadline."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from clawperator.agent.cancellation import (
    TurnCancelledError,
    TurnDeadline,
    WorkAbandonedError,
    run_within,
    timeout_error,
)
from clawperator.agent.envelope import is_not_found
from clawperator.agent.ports import ToolCall, ToolResult
from clawperator.agent.tool_registry import ToolRegistry
from clawperator.agent.turns.assembly import assemble, is_mcp_name
from clawperator.agent.turns.events import EventStream
from clawperator.cli.claw.inputs import text_of
from clawperator.cli.claw.options import choices
from clawperator.cli.claw.parsing import Read
from clawperator.cli.claw.response import Told, failure
from clawperator.cli.claw.signals import hold_requests
from clawperator.cli.signals import ended_with_us
from clawperator.errors import ClawError

_LONGEST_MESSAGE = 2_000


def answer(asked: Read) -> Told:
    prepare = _tool_call if asked.name == "exec-tool" else _command_call
    given = "payload" if asked.name == "exec-tool" else "prompt"
    work = _Work(asked, {"name": asked.words[0], given: text_of(asked.words[1])})
    try:
        deadline = TurnDeadline(asked.seconds("--timeout-seconds"))
        with prepare(work, deadline) as act, ended_with_us(deadline.cancel):
            result = _within(deadline, work.name, act)
            hold_requests()
        hold_requests()
    except ClawError as e:
        result = ToolResult(handled=False, message=e.message, error=e)
    return _told(work, result)


class _Work:
    """What is known so far of the one thing that is to be done."""

    def __init__(self, asked: Read, told: dict[str, Any]) -> None:
        self.asked = asked
        self.told = told
        self.source_hint: str | None = None
        self.warnings: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return str(self.told["name"])

    @property
    def given(self) -> str:
        return str(self.told["payload" if "payload" in self.told else "prompt"])

    def found(self, name: str, source_hint: str) -> None:
        self.told["name"] = name
        self.source_hint = source_hint


@contextmanager
def _tool_call(work: _Work, deadline: TurnDeadline) -> Iterator[Callable[[], ToolResult]]:
    chosen = choices(work.asked)
    foreign = work.name if is_mcp_name(work.name) else None
    with assemble(chosen, deadline, EventStream(""), with_mcp=foreign is not None, tool=foreign) as parts:
        work.warnings += parts.warnings
        tool = parts.registry.find(work.name)
        work.found(tool.name, tool.source_hint)
        call = ToolCall(tool.name, _params(work.given, tool.name))
        yield lambda: parts.registry.call(call, chosen.tool_context(deadline))


@contextmanager
def _command_call(work: _Work, deadline: TurnDeadline) -> Iterator[Callable[[], ToolResult]]:
    from clawperator.agent.inventory.inventory import commands
    from clawperator.agent.inventory.plugins import discover
    from clawperator.cli.claw.command_tools import Surroundings, prepare

    chosen, plugins = choices(work.asked), discover()
    inventory = commands(plugins=plugins)
    work.warnings += inventory.warnings
    entry = inventory.find(work.name)
    work.found(entry.name, entry.source_hint)
    around = Surroundings(plugins.plugins, _own_flags(work.asked), chosen.asker is None)
    with assemble(chosen, deadline, EventStream(""), with_mcp=False) as parts:
        work.warnings += parts.warnings
        prepared = prepare(entry, work.given, around)
        own = ToolRegistry([prepared.tool], parts.policy, asker=chosen.asker)

        def act() -> ToolResult:
            for call in prepared.calls:
                if denied := parts.registry.check(call):
                    return ToolResult(handled=False, message=denied.message, error=denied)
            return own.call(ToolCall(entry.name, {}), chosen.tool_context(deadline))

        yield act


def _own_flags(asked: Read) -> tuple[str, ...]:
    """The limits and choices of this call, for a call inside it."""
    flags = (
        *("--permission-mode", "--deny-tool", "--deny-prefix", "--ask-tool"),
        *("--device", "--operator-package", "--backend"),
    )
    return tuple(f"{flag}={value}" for flag in flags for value in asked.all(flag))


def _params(payload: str, tool: str) -> dict[str, Any]:
    from clawperator.agent.tools.row import require_object, unfit

    if not payload.strip():
        return {}
    try:
        params = msgspec.json.decode(payload.encode("utf-8", "surrogateescape"))
    except (msgspec.DecodeError, UnicodeError, RecursionError) as e:
        raise unfit(tool, f"the payload is not valid JSON: {e}") from None
    return require_object(params, tool)


def _within(deadline: TurnDeadline, name: str, act: Callable[[], ToolResult]) -> ToolResult:
    """Do it, but not beyond the deadline. What could not be stopped is told as not stopped."""
    try:
        return run_within(deadline, act)
    except (WorkAbandonedError, TurnCancelledError) as e:
        if deadline.is_cancelled and deadline.remaining != 0:  # somebody wanted it to end
            raise KeyboardInterrupt from e
        error = timeout_error("exec", name).with_(retryable=isinstance(e, TurnCancelledError))
        return ToolResult(handled=False, message=error.message, error=error)


def _told(work: _Work, result: ToolResult) -> Told:
    message, error = result.message[:_LONGEST_MESSAGE], result.error
    (name, *rest), document = work.told.items(), msgspec.to_builtins(result.result)
    payload = {
        **dict([name]),
        **({"found": False} if error is not None and is_not_found(error) and work.source_hint is None else {}),
        **dict(rest),
        "handled": result.handled,
        "message": message,
        "source_hint": work.source_hint,
        "result": document,
    }
    if error is None:
        text = document.get("text") if isinstance(document, dict) else None
        return Told(payload, text if isinstance(text, str) else message, warnings=work.warnings)
    if document is not None and error.details:  # the result has the step
        details = {name: value for name, value in error.details.items() if name != "step"}
        error = error.with_(details=details or None)
    if error.code == "TURN_TIMEOUT":
        payload["cancel_observed"] = error.retryable
    return failure(error, work.asked.name, payload, target=work.name, warnings=work.warnings)
