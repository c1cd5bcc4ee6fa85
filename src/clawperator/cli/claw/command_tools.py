"""Inventory commands as tools: commands of ``clawperator`` and ``claw``, skills and plugins."""

import shlex
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from clawperator.agent import (
    DEFAULT_DIRECTORY,
    InventoryEntry,
    Level,
    Plugin,
    PluginContext,
    Tool,
    ToolCall,
    ToolContext,
    ToolResult,
    failed_result,
    run_plugin,
)
from clawperator.cli.claw.readable import summary_of
from clawperator.cli.command_line import Call, read_arguments, split_globals
from clawperator.cli.console import Console
from clawperator.cli.handlers.execution import is_best_effort, run_execution
from clawperator.commands import CLAW_COMMANDS, Command, find_by_path, find_command, resolve_handler
from clawperator.contract import ExecutionResult
from clawperator.contract.limits import MIN_EXECUTION_TIMEOUT_MS
from clawperator.errors import CODES, ClawError

# These print while they run, and have no single result.
_STREAMING = ("logs",)
# Codes of documents that exit 0 although nothing was done.
_NOT_DONE = ("USAGE", "NOT_IMPLEMENTED")
_LONGEST_LINE = 64 * 1024  # shlex takes quadratic time for a long word

Run = Callable[[Mapping[str, Any], ToolContext], ToolResult]


class CommandContext(Struct, frozen=True):
    """The input of a command besides its prompt: the known plugins, and the caller's own limits.

    ``flags`` are also passed to a nested ``claw``, which may do no more than its caller. ``is_json`` means that no
    user can confirm a call.
    """

    plugins: tuple[Plugin, ...] = ()
    flags: tuple[str, ...] = ()
    is_json: bool = False


class PreparedCommand(Struct, frozen=True):
    """A command with its arguments as a tool, and the equivalent tool calls."""

    tool: Tool
    calls: tuple[ToolCall, ...] = ()


def prepare(entry: InventoryEntry, prompt: str, context: CommandContext) -> PreparedCommand:
    """Prepare a command. The prompt holds the words that follow the command's name in a shell."""
    words = _split(prompt, entry.name)
    run, level, calls = _parts(entry, words, prompt, context)
    tool = Tool(
        name=entry.name,
        responsibility=entry.responsibility,
        source_hint=entry.source_hint,
        level=level,
        schema=lambda: {"type": "object"},
        run=run,
        aliases=entry.aliases,
        family=entry.family,
        subject=lambda _: prompt,
    )
    return PreparedCommand(tool, calls)


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


def _parts(
    entry: InventoryEntry, words: list[str], prompt: str, context: CommandContext
) -> tuple[Run, Level, tuple[ToolCall, ...]]:
    if entry.family == "skill":
        call = ToolCall("run_skill", {"skill": entry.name, "args": words})
        return lambda _, tools: _run_skill(call, tools), entry.level, (call,)
    if entry.family == "plugin":
        plugin = next(plugin for plugin in context.plugins if plugin.name == entry.name)

        def run(_: Mapping[str, Any], tools: ToolContext) -> ToolResult:
            return run_plugin(plugin, prompt, PluginContext(tools.folder, tools.device, DEFAULT_DIRECTORY))

        return run, entry.level, ()
    program, *path = entry.argv
    command = find_command(path[0], CLAW_COMMANDS) if program == "claw" else find_by_path(path)
    assert command is not None
    level = command.level_with(_given_flags(command, words))
    if program == "claw":
        return lambda _, tools: _run_claw(command, words, context, tools), level, ()
    execution = _execution_call(command, " ".join(path), words)
    if execution is not None:
        return lambda _, tools: execution.run(tools), level, execution.calls
    return lambda _, tools: _run_command(path, words, tools), level, _equal_calls(command, words)


def _equal_calls(command: Command, words: list[str]) -> tuple[ToolCall, ...]:
    """The calls of the tools that do the same as the command."""
    if command.execution:  # only help is left: its executions are checked action by action
        return ()
    plain = [word for word in words if not word.startswith("-")]
    return tuple(
        ToolCall(tool, {"skill": plain[0]} if tool == "run_skill" and plain else {}) for tool in command.tools
    )


def _given_flags(command: Command, words: list[str]) -> list[str]:
    """The flags among the words, by their own names."""
    names = {name: flag.name for flag in command.flags for name in (flag.name, *flag.aliases)}
    return [names[word.partition("=")[0]] for word in words if word.partition("=")[0] in names]


class ExecutionCall(Struct, frozen=True):
    """A command that builds an execution, and the tool calls of its actions."""

    call: Call
    document: Any
    calls: tuple[ToolCall, ...]

    def run(self, context: ToolContext) -> ToolResult:
        """Run the execution on the device of the context, unless the command itself names one."""
        try:
            result = run_execution(self._timed(context), self._call(context)).document
        except ClawError as e:
            return failed_result(e)
        if isinstance(result, ExecutionResult):
            return self._report(result)
        return ToolResult(True, f"{self.call.name} is valid", result)

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

    def _report(self, result: ExecutionResult) -> ToolResult:
        from clawperator.agent import describe_steps
        from clawperator.connection import only_step
        from clawperator.contract import validate

        document = msgspec.to_builtins(result)
        try:
            only_step(result.envelope, result.deviceId)
        except ClawError as e:
            return failed_result(e, result=document)
        actions = validate(self.document).execution.actions
        return ToolResult(True, describe_steps(actions, result.envelope.stepResults), document)


def _execution_call(command: Command, name: str, words: list[str]) -> ExecutionCall | None:
    """The execution that a command builds. Errors in its arguments are raised."""
    if not command.execution or is_best_effort(words) or "--help" in words:
        return None
    from clawperator.agent import planned_calls

    options, rest = split_globals(words)
    call = Call(name, read_arguments(command, rest, name), replace(options, json=True), Console("error"))
    document = resolve_handler(command.execution)(call)
    return ExecutionCall(call, document, tuple(planned_calls(document)))


def _run_skill(call: ToolCall, context: ToolContext) -> ToolResult:
    from clawperator.agent import builtin_tools

    run_skill = next(tool for tool in builtin_tools() if tool.name == call.name)
    return run_skill.run(call.params, context)


def _run_claw(command: Command, words: list[str], context: CommandContext, tools: ToolContext) -> ToolResult:
    """Run a ``claw`` command. Nesting is finite: each level needs one more layer of quotes."""
    from clawperator.cli.claw.command_line import FORMAT_FLAG, parse_line
    from clawperator.cli.claw.dispatch import respond

    arguments = parse_line([command.name, *_inherited_flags(command, words, context, tools), *words])
    if context.is_json:
        arguments = replace(arguments, values={**arguments.values, FORMAT_FLAG: ("json",)})
    response = respond(arguments)
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


def _inherited_flags(command: Command, words: list[str], context: CommandContext, tools: ToolContext) -> list[str]:
    """The caller's limits. A flag that may be given once counts as the nested command gives it."""
    if not any(flag.name == "--permission-mode" for flag in command.flags):
        return []
    given = {word.partition("=")[0] for word in words}
    repeatable = {flag.name for flag in command.flags if flag.repeats}
    names = ((flag, flag.partition("=")[0]) for flag in context.flags)
    flags = [flag for flag, name in names if name not in given or name in repeatable]
    left = tools.deadline.remaining
    if left is not None and "--timeout-seconds" not in given:
        flags.append(f"--timeout-seconds={left:.3f}")
    return flags


def _last_output(payload: Mapping[str, Any]) -> str | None:
    """The output of the last turn."""
    turns = payload.get("turns") or [payload.get("turn")]
    last = turns[-1]
    return str(last["output"]) if isinstance(last, dict) else None


def _run_command(path: list[str], words: list[str], context: ToolContext) -> ToolResult:
    from clawperator.cli.dispatch import render_line

    title = " ".join(path)
    if path[0] in _STREAMING:
        return failed_result(
            ClawError(
                "USAGE",
                f"{title} prints while it runs and has no single result",
                hint=f"Run 'clawperator {title}' in a shell.",
                operation="stream",
                target=title,
            )
        )
    text, code = render_line([*_global_flags(path, context), *path, *words])
    document = _decode(text or b"")
    error = _error(document, code, title)
    if error is not None:
        return failed_result(error, result=document)
    return ToolResult(True, summary_of(document, title), document)


def _global_flags(path: list[str], context: ToolContext) -> list[str]:
    """JSON, a quiet stderr, and the chosen device."""
    out = ["--json", "--log-level", "error"]
    if context.device is not None:
        out += ["--device", context.device]
    if context.operator_package is not None:
        out += ["--operator-package", context.operator_package]
    left = context.deadline.remaining
    if left is not None and path == ["skills", "run"]:  # on a timeout it ends all that it started
        out += ["--timeout", str(max(round(left * 1000), 1))]
    if path == ["skills", "run"]:
        out += [f"--pass-env={name}" for name in context.pass_env]
    return out


def _decode(text: bytes) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {"text": text.decode("utf-8", "replace")}


def _error(document: Any, code: int, title: str) -> ClawError | None:
    """The error of a command, from the document it printed; None when it succeeded."""
    fields = document if isinstance(document, dict) else {}
    name = fields.get("code")
    if isinstance(name, str) and name in CODES and (code != 0 or name in _NOT_DONE):
        details = fields.get("details")
        return ClawError(
            name,
            str(fields.get("message", "")),
            hint=fields.get("hint") or f"Run 'clawperator {title} --help'.",
            details=details if isinstance(details, dict) else None,
            operation=title,
            target=title,
        )
    if code == 0:
        return None
    summary = fields.get("summary") or f"clawperator {title} exited with {code}"
    return ClawError(
        "UNKNOWN", str(summary), hint=f"Run 'clawperator {title} --help'.", operation=title, target=title
    )
