"""Inventory commands as tools: commands of ``clawperator`` and ``claw``, skills and plugins."""

import os
import shlex
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from clawperator.agent.cancellation import timeout_error
from clawperator.agent.confinement import Use, WorkingFolder, confine
from clawperator.agent.inventory.inventory import InventoryEntry
from clawperator.agent.inventory.plugins import Plugin, PluginContext, run_plugin
from clawperator.agent.ports import Tool, ToolContext, ToolResult
from clawperator.agent.sessions.store import DEFAULT_DIRECTORY
from clawperator.agent.tools.operations import agent_caller, run_operation
from clawperator.agent.tools.row import failed_result
from clawperator.cli.claw.readable import summary_of
from clawperator.cli.command_line import Call, GlobalOptions, read_arguments, split_globals
from clawperator.cli.console import Console
from clawperator.cli.handlers.execution import is_payload_file, run_execution
from clawperator.cli.operation import read_params, with_options
from clawperator.cli.parsing import ParsedArguments
from clawperator.commands.model import Command, Flag, resolve_handler
from clawperator.commands.registry import find_by_path
from clawperator.contract.limits import MIN_EXECUTION_TIMEOUT_MS
from clawperator.contract.results import ExecutionResult
from clawperator.errors import CODES, ClawError
from clawperator.operations.call import CLI, policy_entry
from clawperator.operations.model import find_operation
from clawperator.policy.commands import command_entry
from clawperator.policy.gate import check_actions
from clawperator.policy.rules import PolicyEntry

# These print while they run, and have no single result.
_STREAMING = ("logs", "watch")
_LONGEST_LINE = 64 * 1024  # shlex takes quadratic time for a long word

Run = Callable[[ToolContext], ToolResult]


class CommandContext(Struct, frozen=True):
    """The input of a command besides its prompt: the known plugins, and the caller's own limits.

    ``flags`` are also passed to a nested ``claw``, which may do no more than its caller. ``is_json`` means that no
    user can confirm a call. ``folder`` is where the command may name paths.
    """

    plugins: tuple[Plugin, ...] = ()
    flags: Mapping[str, tuple[str, ...]] = {}
    is_json: bool = False
    folder: WorkingFolder = WorkingFolder()


class _Parts(Struct, frozen=True):
    """A parsed command: what the policy decides on, and its function."""

    entry: PolicyEntry
    run: Run
    is_gated: bool = False


def prepare(entry: InventoryEntry, prompt: str, context: CommandContext) -> Tool:
    """A command with its arguments as a tool. The prompt holds the words after the command's name in a shell."""
    parts = _parts(entry, _split(prompt, entry.name), prompt, context)
    return Tool(
        name=entry.name,
        responsibility=entry.responsibility,
        source_hint=entry.source_hint,
        level=parts.entry.level,
        schema=lambda: {"type": "object"},
        run=lambda _, tools: parts.run(tools),
        aliases=parts.entry.aliases,
        family=entry.family,
        subjects=parts.entry.subjects,
        performs=parts.entry.performs,
        grants=parts.entry.grants,
        is_gated=parts.is_gated,
    )


def _split(prompt: str, name: str) -> list[str]:
    if len(prompt) > _LONGEST_LINE:
        raise ClawError(
            "PAYLOAD_TOO_LARGE",
            f"the prompt is longer than {_LONGEST_LINE} characters",
            hint="Shorten it.",
            operation="split",
            target=name,
        )
    try:
        return shlex.split(prompt)
    except ValueError as e:
        raise ClawError(
            "TOOL_PAYLOAD_INVALID",
            f"cannot split the prompt into arguments: {e}",
            hint="Close every quote, as in a shell.",
            operation="split",
            target=name,
        ) from None


def _parts(entry: InventoryEntry, words: list[str], prompt: str, context: CommandContext) -> _Parts:
    if entry.family == "skill":
        params = {"skill": entry.name, "args": words}
        subjects, others = (entry.name, shlex.join(words)), ("run_skill",)
        own = PolicyEntry(entry.name, entry.level, (), lambda _: subjects, lambda _: others, others)
        return _Parts(own, lambda tools: run_operation(find_operation("skills run"), params, tools))
    if entry.family == "plugin":
        plugin = next(plugin for plugin in context.plugins if plugin.name == entry.name)
        own = PolicyEntry(entry.name, entry.level, (), lambda _: (shlex.join(words),))
        return _Parts(own, lambda tools: _run_plugin(plugin, prompt, tools))
    program, *path = entry.argv
    if program == "claw":
        return _claw_parts(path[0], words, context)
    command = find_by_path(path)
    assert command is not None
    title = " ".join(path)
    options, rest = split_globals(words, command)
    if options.help:
        own = command_entry(msgspec.structs.replace(command, level="read-only"), title, (), {})
        return _Parts(own, lambda _: _help(title))
    parsed = read_arguments(command, rest, title)
    if command.is_operation:
        return _operation_parts(Call(title, parsed, replace(options, json=True, pretty=False), Console("error")))
    arguments = confined_arguments(parsed, context.folder, title)
    call_ = Call(title, arguments, replace(options, json=True, pretty=False), Console("error"))
    own = command_entry(command, title, arguments.words, arguments.values)
    if command.execution:
        execution = ExecutionCall(call_, _confined_document(call_, command, context.folder))
        return _Parts(own, execution.run)
    return _Parts(own, lambda tools: _run_command(call_, tools))


def _operation_parts(line: Call) -> _Parts:
    """An operation: the gate decides on it when it runs."""
    operation = find_operation(line.name)
    own = policy_entry(operation, read_params(operation, line), CLI)

    def run(tools: ToolContext) -> ToolResult:
        return _run_command(replace(line, caller=with_options(agent_caller(tools), line)), tools)

    return _Parts(own, run, is_gated=line.name not in _STREAMING)


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
    for flag in command.flags:
        if flag.beside and not arguments.has(flag.name):
            for source in values.get(flag.beside, ()):
                beside = os.path.join(source, "out") if os.path.isdir(source) else f"{source}.out"
                confine(folder, beside, title, "write")
            if words and flag.beside == command.usage:
                confine(folder, f"{words[0]}.out", title, "write")
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


def _confined_document(call: Call, command: Command, folder: WorkingFolder) -> Any:
    """The execution that a command builds, with the paths of its actions inside the folder."""
    from clawperator.agent.tools.plans import confine_plan
    from clawperator.contract.execution import validate

    return confine_plan(validate(resolve_handler(command.execution)(call)), folder, call.name).document


class ExecutionCall(Struct, frozen=True):
    """A command that builds an execution."""

    call: Call
    document: Any

    def run(self, context: ToolContext) -> ToolResult:
        """Run the execution on the device of the context, unless the command itself names one."""
        check_actions(self.document["actions"])
        try:
            result = run_execution(self._timed(context), self._call(context)).document
        except ClawError as e:
            return failed_result(e)
        if isinstance(result, ExecutionResult):
            return self._report(result)
        return ToolResult(True, f"{self.call.name} is valid", result)

    def _call(self, context: ToolContext) -> Call:
        values = dict(self.call.arguments.values)
        values.setdefault("--backend", (context.backend,))
        if context.allow_schemes:
            values["--allow-scheme"] = (*context.allow_schemes, *self.call.arguments.all("--allow-scheme"))
        chosen = _options(self.call, context)
        return replace(self.call, options=chosen, arguments=replace(self.call.arguments, values=values))

    def _timed(self, context: ToolContext) -> Any:
        left = context.deadline.remaining
        if left is None or not isinstance(self.document, dict):
            return self.document
        most = int(left * 1000)
        if most < MIN_EXECUTION_TIMEOUT_MS:  # nothing may run past the deadline
            raise timeout_error(self.call.name, context.device or self.call.name)
        return {**self.document, "timeoutMs": min(self.document.get("timeoutMs", most), most)}

    def _report(self, result: ExecutionResult) -> ToolResult:
        from clawperator.agent.tools.messages import describe_steps
        from clawperator.api.results import only_step
        from clawperator.contract.execution import validate

        document = msgspec.to_builtins(result)
        try:
            only_step(result.envelope, result.deviceId)
        except ClawError as e:
            return failed_result(e, result=document)
        actions = validate(self.document).execution.actions
        return ToolResult(True, describe_steps(actions, result.envelope.stepResults), document)


def _run_plugin(plugin: Plugin, prompt: str, tools: ToolContext) -> ToolResult:
    return run_plugin(plugin, prompt, PluginContext(tools.folder, tools.device, tools.sessions))


def _help(title: str) -> ToolResult:
    from clawperator.cli.help import help_text

    text = help_text(title.split())
    return ToolResult(True, text, {"text": text})


def _claw_parts(name: str, words: list[str], context: CommandContext) -> _Parts:
    from clawperator.cli.claw.command_line import parse_line

    arguments = parse_line([name, *words])
    command = arguments.command
    assert command is not None
    confined = confined_arguments(arguments, context.folder, name)
    own = command_entry(command, name, arguments.words, arguments.values, command.synonyms)
    return _Parts(own, lambda tools: _run_claw(confined, context, tools))


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
        message = _last_output(response.payload) or response.text.partition("\n")[0]
        return ToolResult(True, message, document, text=response.text)
    error = response.payload["error"]
    raised = ClawError(
        error["code"],
        error["message"],
        hint=error["hint"],
        details=error.get("details"),
        operation=error["operation"],
        target=error["target"],
    )
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


def _last_output(payload: Mapping[str, Any]) -> str | None:
    """The output of the last turn."""
    turns = payload.get("turns") or [payload.get("turn")]
    last = turns[-1]
    return str(last["output"]) if isinstance(last, dict) else None


def _run_command(call: Call, context: ToolContext) -> ToolResult:
    from clawperator.cli.dispatch import render_call

    title = call.name
    if title in _STREAMING:
        return failed_result(
            ClawError(
                "USAGE",
                f"{title} prints while it runs and has no single result",
                hint=f"Run 'clawperator {title}' in a shell.",
                operation="stream",
                target=title,
            )
        )
    text, code, raised = render_call(replace(call, options=_options(call, context)))
    document = _decode(text or b"")
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


def _decode(text: bytes) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {"text": text.decode("utf-8", "replace")}


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
    name = fields.get("code")
    if isinstance(name, str) and name in CODES:
        details = fields.get("details")
        return ClawError(
            name,
            str(fields.get("message", "")),
            hint=fields.get("hint") or f"Run 'clawperator {title} --help'.",
            details=details if isinstance(details, dict) else None,
            operation=title,
            target=title,
        )
    summary = fields.get("summary") or f"clawperator {title} exited with {code}"
    return ClawError(
        "UNKNOWN", str(summary), hint=f"Run 'clawperator {title} --help'.", operation=title, target=title
    )
