"""Inventory commands as tools: commands of ``clawperator`` and ``claw``, skills and plugins."""

import os
import shlex
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from clawperator._base.deadline import limited
from clawperator.agent.confinement import Use, WorkingFolder, confine
from clawperator.agent.inventory.inventory import InventoryEntry, Plugin, PluginContext, run_plugin
from clawperator.agent.ports import Tool, ToolContext, ToolResult, failed_result
from clawperator.agent.sessions.records import DEFAULT_DIRECTORY
from clawperator.agent.tools.builtin import agent_caller, run_operation
from clawperator.agent.tools.plans import confine_plan, run_approved
from clawperator.cli.actions import approve_line, build_execution, is_payload_file, valid_plan
from clawperator.cli.claw.readable import last_turn, summary_of
from clawperator.cli.command_line import Call, GlobalOptions, read_arguments, split_globals
from clawperator.cli.console import Console
from clawperator.cli.operation import read_params, with_options
from clawperator.cli.parsing import ParsedArguments, chosen_backend
from clawperator.contract.commands import Flag, find_by_path
from clawperator.errors import CODES, ClawError
from clawperator.operations.call import CLI, approve, policy_entry
from clawperator.operations.claw import find_claw_operation
from clawperator.operations.model import find_operation
from clawperator.policy.rules import PolicyEntry

# With these flags a command prints a plan, or keeps more than its result.
_NOT_ONLY_RUN = ("--dry-run", "--validate-only", "--evidence")
# These run until they are stopped, and have no single result. An agent must not start a server.
_STREAMING = ("logs", "watch", "serve", "mcp")
_LONGEST_LINE = 64 * 1024  # shlex takes quadratic time for a long word

Run = Callable[[ToolContext], ToolResult]
# A parsed command: what the policy decides on, its function, and whether that passes the gate.
_Parts = tuple[PolicyEntry, Run, bool]


class CommandContext(Struct, frozen=True):
    """The input of a command besides its prompt: the known plugins, and the caller's own limits.

    ``flags`` are also passed to a nested ``claw``, which may do no more than its caller. ``is_json`` means that no
    user can confirm a call. ``folder`` is where the command may name paths.
    """

    plugins: tuple[Plugin, ...] = ()
    flags: Mapping[str, tuple[str, ...]] = {}
    is_json: bool = False
    folder: WorkingFolder = WorkingFolder()


def prepare(entry: InventoryEntry, prompt: str, context: CommandContext) -> Tool:
    """A command with its arguments as a tool. The prompt holds the words after the command's name in a shell."""
    own, run, is_gated = _parts(entry, _split(prompt, entry.name), prompt, context)
    return Tool(
        name=entry.name,
        responsibility=entry.responsibility,
        source_hint=entry.source_hint,
        level=own.level,
        schema=lambda: {"type": "object"},
        run=lambda _, tools: run(tools),
        family=entry.family,
        own_entry=lambda: own,
        is_gated=is_gated,
    )


def _split(prompt: str, name: str) -> list[str]:
    if len(prompt) > _LONGEST_LINE:
        message = f"the prompt is longer than {_LONGEST_LINE} characters"
        raise ClawError("PAYLOAD_TOO_LARGE", message, hint="Shorten it.", operation="split", target=name)
    try:
        return shlex.split(prompt)
    except ValueError as e:
        message, hint = f"cannot split the prompt into arguments: {e}", "Close every quote, as in a shell."
        raise ClawError("TOOL_PAYLOAD_INVALID", message, hint=hint, operation="split", target=name) from None


def _parts(entry: InventoryEntry, words: list[str], prompt: str, context: CommandContext) -> _Parts:
    if entry.family == "skill":
        params = {"skill": entry.name, "args": words}
        subjects, others = (entry.name, shlex.join(words)), ("run_skill",)
        own = PolicyEntry(entry.name, entry.level, (), lambda _: subjects, lambda _: others, others, is_whole=True)
        return own, lambda tools: run_operation(find_operation("skills run"), params, tools), False
    if entry.family == "plugin":
        plugin = next(plugin for plugin in context.plugins if plugin.name == entry.name)
        own = PolicyEntry(entry.name, entry.level, (), lambda _: (shlex.join(words),))
        return own, lambda tools: _run_plugin(plugin, prompt, tools), False
    program, *path = entry.argv
    if program == "claw":
        return _claw_parts(path[0], words, context)
    command = find_by_path(path)
    assert command is not None
    title = " ".join(path)
    options, rest = split_globals(words, command)
    if options.help:
        own = PolicyEntry(entry.name, "read-only", entry.aliases, performs=lambda _: command.tools)
        return own, lambda _: _help(title), False
    parsed = read_arguments(command, rest, title)
    line = Call(title, parsed, replace(options, json=True, pretty=False), Console("error"))
    return _operation_parts(line) if command.is_operation else _action_parts(line, context.folder)


def _operation_parts(line: Call) -> _Parts:
    """An operation: the gate decides on it when it runs."""
    operation = find_operation(line.name)
    params = read_params(operation, line)

    def run(tools: ToolContext) -> ToolResult:
        caller = with_options(agent_caller(tools), line)
        if _streams(line):
            approve(operation, params, caller)
            message = f"{line.name} runs until it is stopped and has no single result"
            hint = f"Run 'clawperator {line.name}' in a shell."
            return failed_result(ClawError("USAGE", message, hint=hint, operation="stream", target=line.name))
        return _run_command(replace(line, caller=caller), tools)

    return policy_entry(operation, params, CLI), run, True


def _streams(line: Call) -> bool:
    """Whether a command runs until it is stopped. 'mcp config' prints a configuration."""
    return line.name in _STREAMING and not (line.name == "mcp" and line.arguments.words)


def confined_arguments(arguments: ParsedArguments, folder: WorkingFolder, title: str) -> ParsedArguments:
    """The arguments with every path resolved; ``PERMISSION_DENIED`` for one that an agent may not use."""
    command = arguments.command
    assert command is not None
    values = {
        flag.name: tuple(_confined(text, flag, folder, title) for text in arguments.all(flag.name))
        for flag in command.flags
        if flag.path and arguments.has(flag.name)
    }
    words = arguments.words
    if command.word_path:
        word = Flag("", "", path=command.word_path)
        words = tuple(_confined(text, word, folder, title) for text in words)
    return replace(arguments, words=words, values={**arguments.values, **values})


def _confined(text: str, flag: Flag, folder: WorkingFolder, title: str) -> str:
    if text in flag.not_paths or (flag.path == "payload" and not is_payload_file(text)):
        return text
    if flag.path == "sessions":
        own = [
            os.path.realpath(os.path.join(folder.root, place)) for place in (folder.sessions, DEFAULT_DIRECTORY)
        ]
        if os.path.realpath(os.path.join(folder.root, text)) in own:
            return text
    use: Use = "write" if flag.path in ("out", "sessions") else "read"
    return confine(folder, text, title, use)


def _action_parts(line: Call, folder: WorkingFolder) -> _Parts:
    """A command that runs an action or an execution: the gate decides on its plan."""
    arguments = confined_arguments(line.arguments, folder, line.name)
    assert arguments.command is not None
    own = PolicyEntry(line.name, arguments.command.level_with(arguments.values))

    def run(tools: ToolContext) -> ToolResult:
        given = {"--backend": (tools.backend,), **arguments.values}
        call_ = replace(line, arguments=replace(arguments, values=given), options=_options(line, tools))
        remaining = tools.deadline.remaining
        with nullcontext() if remaining is None else limited(remaining):
            if arguments.has("--file"):
                return _run_command(call_, tools)
            plan = confine_plan(valid_plan(build_execution(call_), call_), folder, line.name)
            if any(arguments.has(flag) for flag in _NOT_ONLY_RUN):
                return _run_command(replace(call_, plan=plan), tools)
        context = replace(
            tools,
            device=call_.options.device,
            operator_package=call_.options.operator_package,
            backend=chosen_backend(call_.arguments),
            allow_schemes=(*tools.allow_schemes, *arguments.all("--allow-scheme")),
        )
        return run_approved(approve_line(plan, call_), context, timeout_ms=plan.execution.timeoutMs)

    return own, run, True


def _run_plugin(plugin: Plugin, prompt: str, tools: ToolContext) -> ToolResult:
    return run_plugin(plugin, prompt, PluginContext(tools.folder, tools.device, tools.sessions))


def _help(title: str) -> ToolResult:
    from clawperator.cli.help import help_text

    text = help_text(title.split())
    return ToolResult(True, text, {"text": text})


def _claw_parts(name: str, words: list[str], context: CommandContext) -> _Parts:
    from clawperator.cli.claw.command_line import parse_line
    from clawperator.cli.claw.command_line import read_params as read_claw_params

    arguments = parse_line([name, *words])
    command = arguments.command
    assert command is not None
    confined = confined_arguments(arguments, context.folder, name)
    own = policy_entry(find_claw_operation(command.name), read_claw_params(arguments), CLI)
    return own, lambda tools: _run_claw(confined, context, tools), True


def _run_claw(arguments: ParsedArguments, context: CommandContext, tools: ToolContext) -> ToolResult:
    """Run a ``claw`` command. Nesting is finite: each level needs one more layer of quotes."""
    from clawperator.cli.claw.command_line import FORMAT_FLAG
    from clawperator.cli.claw.dispatch import respond

    values = {**_inherited_values(arguments, context, tools), **arguments.values}
    if context.is_json:
        values[FORMAT_FLAG] = ("json",)
    response = respond(replace(arguments, values=values))
    document = {"exit_code": response.exit_code, **response.payload}
    if response.exit_code == 0:
        output = last_turn(response.payload).get("output")
        message = output or response.text.partition("\n")[0]
        return ToolResult(True, message, document, text=response.text)
    error = response.payload["error"]
    raised = ClawError.from_document(error).with_(operation=error["operation"], target=error["target"])
    return failed_result(raised, result=document)


def _inherited_values(
    arguments: ParsedArguments, context: CommandContext, tools: ToolContext
) -> dict[str, tuple[str, ...]]:
    """The caller's limits, for a command that has these flags. Its policy is in force anyway."""
    assert arguments.command is not None
    if not any(flag.name == "--permission-mode" for flag in arguments.command.flags):
        return {}
    values = {name: texts for name, texts in context.flags.items() if texts}
    left = tools.deadline.remaining
    if left is not None:
        values["--timeout-seconds"] = (f"{left:.3f}",)
    return values


def _run_command(call: Call, context: ToolContext) -> ToolResult:
    from clawperator.cli.dispatch import render_call

    title = call.name
    text, code, raised = render_call(replace(call, options=_options(call, context)))
    try:
        document = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        document = {"text": text.decode("utf-8", "replace")}
    error = _error(document, code, title) if raised is None else _completed(raised, title)
    if error is not None:
        return failed_result(error, result=document)
    return ToolResult(True, summary_of(document, title), document)


def _options(call: Call, context: ToolContext) -> GlobalOptions:
    """The options of the command, with the chosen device where it names none."""
    options = call.options
    return replace(
        options,
        text=False,  # the result is a document, whose text is made here
        device=options.device or context.device,
        operator_package=options.operator_package or context.operator_package,
    )


def _completed(error: ClawError, title: str) -> ClawError:
    """The error that a command raised, with the command as the default operation and target."""
    return error.with_(
        hint=error.own_hint or f"Run 'clawperator {title} --help'.",
        operation=error.operation or title,
        target=error.target or title,
    )


def _error(document: Any, code: int, title: str) -> ClawError | None:
    """The error of a command, from the document it printed; None when it succeeded."""
    if code == 0:
        return None
    fields = document if isinstance(document, dict) else {}
    envelope = fields.get("envelope")
    if isinstance(envelope, dict) and envelope.get("errorCode"):
        steps = [step["data"] for step in envelope["stepResults"] if not step["success"]]
        message = steps[-1].get("message") if steps else None
        fields = {**envelope, "code": envelope["errorCode"], "message": message or envelope["error"]}
    if str(fields.get("code")) not in CODES:
        summary = fields.get("summary") or f"clawperator {title} exited with {code}"
        fields = {"code": "UNKNOWN", "message": summary}
    hint = fields.get("hint") or f"Run 'clawperator {title} --help'."
    return ClawError.from_document({**fields, "hint": hint}).with_(operation=title, target=title)
