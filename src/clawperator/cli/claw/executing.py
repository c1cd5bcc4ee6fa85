"""``exec-tool`` and ``exec-command``: one thing of the inventory is done, under the policy and a deadline."""

from typing import Any

import msgspec

from clawperator.agent.assembly import assemble, is_foreign
from clawperator.agent.events import Events
from clawperator.agent.ports import Bench, ToolCall, ToolResult
from clawperator.agent.toolbox import Toolbox
from clawperator.agent.watch import LeftBehindError, TurnCancelledError, Watch, out_of_time, within_deadline
from clawperator.cli.claw.answer import Told, failure
from clawperator.cli.claw.choosing import choices
from clawperator.cli.claw.inputs import text_of
from clawperator.cli.claw.reading import Read
from clawperator.cli.ending import ended_with_us
from clawperator.contract.errors import ClawError

_LONGEST_MESSAGE = 2_000


def answer(asked: Read) -> Told:
    return _exec_tool(asked) if asked.name == "exec-tool" else _exec_command(asked)


def _exec_tool(asked: Read) -> Told:
    name, payload = asked.words[0], text_of(asked.words[1])
    told: dict[str, Any] = {"name": name, "payload": payload}
    watch = Watch(asked.seconds("--timeout-seconds"))
    chosen = choices(asked)
    with assemble(chosen, watch, Events(""), with_mcp=is_foreign(name)) as parts:
        try:
            tool = parts.toolbox.find(name)
            told["name"] = tool.name
            params = _params(payload, tool.name)
        except ClawError as e:
            return failure(e, asked.name, _unhandled(told, e))
        bench = Bench(watch, chosen.folder, chosen.device, chosen.operator_package)
        call = ToolCall(tool.name, params)
        with ended_with_us():
            result = _within(watch, tool.name, lambda: parts.toolbox.call(call, bench))
        return _told(asked, told, result, tool.source_hint, parts.warnings)


def _exec_command(asked: Read) -> Told:
    from clawperator.agent.inventory import commands
    from clawperator.agent.plugins import discover
    from clawperator.cli.claw.verbs import Surroundings, as_tool

    name, prompt = asked.words[0], text_of(asked.words[1])
    told: dict[str, Any] = {"name": name, "prompt": prompt}
    found = discover()
    inventory = commands(found=found)
    around = Surroundings(found.plugins, _policy_flags(asked))
    try:
        entry = inventory.find(name)
        told["name"] = entry.name
        watch = Watch(asked.seconds("--timeout-seconds"))
        chosen = choices(asked)
        with assemble(chosen, watch, Events(""), with_mcp=False) as parts:
            bench = Bench(watch, chosen.folder, chosen.device, chosen.operator_package)
            toolbox = Toolbox([as_tool(entry, prompt, around)], parts.policy, asker=chosen.asker)
            with ended_with_us():
                result = _within(watch, entry.name, lambda: toolbox.call(ToolCall(entry.name, {}), bench))
    except ClawError as e:
        return failure(e, asked.name, _unhandled(told, e))
    return _told(asked, told, result, entry.source_hint, (*parts.warnings, *inventory.warnings))


def _policy_flags(asked: Read) -> tuple[str, ...]:
    """The limits of this call, for a call inside it."""
    flags = ("--permission-mode", "--deny-tool", "--deny-prefix", "--ask-tool", "--device")
    return tuple(f"{flag}={value}" for flag in flags for value in asked.all(flag))


def _unhandled(told: dict[str, Any], error: ClawError) -> dict[str, Any]:
    """What to say besides the error. Only what does not exist was not found."""
    name, *rest = told.items()
    absent = error.code in ("COMMAND_NOT_FOUND", "TOOL_NOT_FOUND")
    return {name[0]: name[1], **({"found": False} if absent else {}), **dict(rest), "handled": False}


def _params(payload: str, tool: str) -> dict[str, Any]:
    from clawperator.agent.tools.row import require_object, unfit

    if not payload.strip():
        return {}
    try:
        params = msgspec.json.decode(payload.encode("utf-8", "surrogateescape"))
    except (msgspec.DecodeError, UnicodeError, RecursionError) as e:
        raise unfit(tool, f"the payload is not valid JSON: {e}") from None
    return require_object(params, tool)


def _within(watch: Watch, name: str, work: Any) -> ToolResult:
    """Do it, but not beyond the deadline. What could not be stopped is told as not stopped."""
    try:
        result: ToolResult = within_deadline(watch, work)
    except (LeftBehindError, TurnCancelledError) as e:
        error = out_of_time("exec", name)
        error.details = {"cancel_observed": isinstance(e, TurnCancelledError)}
        return ToolResult(handled=False, message=error.message, error=error)
    return result


def _told(
    asked: Read, told: dict[str, Any], result: ToolResult, source_hint: str, warnings: tuple[str, ...]
) -> Told:
    message = result.message[:_LONGEST_MESSAGE]
    payload = {
        **told,
        "handled": result.handled,
        "message": message,
        "source_hint": source_hint,
        "result": msgspec.to_builtins(result.result),
    }
    if result.error is None:
        return Told(payload, message, warnings=warnings)
    return msgspec.structs.replace(failure(result.error, asked.name, payload), warnings=warnings)
