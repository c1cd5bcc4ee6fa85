"""Commands of the inventory as things to call: verbs of both programs, skills and plugins."""

import shlex
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from clawperator.agent.inventory.inventory import InventoryEntry
from clawperator.agent.inventory.plugins import Plugin, PluginContext, run_plugin
from clawperator.agent.ports import Level, Tool, ToolCall, ToolContext, ToolResult
from clawperator.agent.sessions.store import DEFAULT_DIRECTORY
from clawperator.agent.tools.row import failed
from clawperator.cli.claw.plan_commands import PlanVerb, plan_verb
from clawperator.commands.actions import COMMANDS, find
from clawperator.commands.claw import CLAW_COMMANDS
from clawperator.commands.levels import command_level
from clawperator.commands.model import Command
from clawperator.errors import CODES, ClawError

# These act by themselves, and have a policy of their own.
_ACTING = ("exec-tool", "exec-command", "bootstrap", "turn-loop")
# They print as long as they run, and have no one answer.
_STREAMING = ("logs",)
# What is told and exits 0 without anything having been done.
_NOT_DONE = ("USAGE", "NOT_IMPLEMENTED")
_LONGEST_TOLD = 500
_LONGEST_LINE = 64 * 1024  # what splits it takes time that grows with the square of a word
# The tool that does the same as a verb. A rule about the one holds for the other.
_SAME_TOOL: Mapping[str, str] = {
    "devices": "list_devices",
    "packages list": "list_packages",
    "doctor": "doctor",
    "skills run": "run_skill",
    **dict.fromkeys(("skills list", "skills get", "skills search", "skills for-app"), "list_skills"),
    **{
        f"recording {verb}": f"recording_{verb}"
        for verb in ("pull", "parse", "describe", "export", "compare", "replay")
    },
}

Run = Callable[[Mapping[str, Any], ToolContext], ToolResult]


class Surroundings(Struct, frozen=True):
    """What a command gets besides its prompt: the plugins there are, and the caller's own limits.

    ``flags`` are given to a ``claw`` inside this one too: it may do no more than its caller. ``is_json`` says that
    nobody there can be asked anything.
    """

    plugins: tuple[Plugin, ...] = ()
    flags: tuple[str, ...] = ()
    is_json: bool = False


class Prepared(Struct, frozen=True):
    """A command with its arguments, ready to be judged and run, and the calls of tools that it stands for."""

    tool: Tool
    calls: tuple[ToolCall, ...] = ()


def prepare(entry: InventoryEntry, prompt: str, around: Surroundings) -> Prepared:
    """The prompt is what follows the command's name in a shell."""
    if len(prompt) > _LONGEST_LINE:
        raise ClawError(
            "PAYLOAD_TOO_LARGE",
            f"the prompt is longer than the {_LONGEST_LINE} characters of a command line",
            hint="Say it in fewer words.",
            operation="split",
            target=entry.name,
        )
    try:
        words = shlex.split(prompt)
    except ValueError as e:
        raise ClawError(
            "TOOL_PAYLOAD_INVALID",
            f"the prompt cannot be read as arguments: {e}",
            hint="Close every quote, as in a shell.",
            operation="split",
            target=entry.name,
        ) from None
    run, level, calls = _parts(entry, words, prompt, around)
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
    return Prepared(tool, calls)


def _parts(
    entry: InventoryEntry, words: list[str], prompt: str, around: Surroundings
) -> tuple[Run, Level, tuple[ToolCall, ...]]:
    if entry.family == "skill":
        call = ToolCall("run_skill", {"skill": entry.name, "args": words})
        return lambda _, context: _run_skill(call, context), entry.level, (call,)
    if entry.family == "plugin":
        plugin = next(plugin for plugin in around.plugins if plugin.name == entry.name)
        sessions = DEFAULT_DIRECTORY
        return (
            lambda _, context: run_plugin(plugin, prompt, PluginContext(context.folder, context.device, sessions)),
            entry.level,
            (),
        )
    program, *path = entry.argv
    if program == "claw":
        flags = _flags(_claw_command(path[0]), words)
        return (
            lambda _, context: _run_claw(path[0], words, around, context),
            command_level("claw", path[0], flags),
            (),
        )
    command = _command(path)
    level = command_level("clawperator", " ".join(path), _flags(command, words))
    verb = plan_verb(path, command, words) if command else None
    if verb is not None:
        return _run_plan(verb), level, verb.calls
    return lambda _, context: _run_verb(path, words, context), level, _same_calls(path, words)


def _run_plan(verb: PlanVerb) -> Run:
    return lambda _, context: verb.run(context)


def _same_calls(path: list[str], words: list[str]) -> tuple[ToolCall, ...]:
    name = _SAME_TOOL.get(" ".join(path))
    if name is None:
        return ()
    plain = [word for word in words if not word.startswith("-")]
    return (ToolCall(name, {"skill": plain[0]} if name == "run_skill" and plain else {}),)


def _command(path: list[str]) -> Command | None:
    command = find(path[0], COMMANDS)
    return find(path[1], command.subcommands) if command and len(path) > 1 else command


def _claw_command(name: str) -> Command | None:
    return next((command for command in CLAW_COMMANDS if command.name == name), None)


def _flags(command: Command | None, words: list[str]) -> list[str]:
    """The flags among the words, by their own names."""
    names = {name: flag.name for flag in command.flags for name in (flag.name, *flag.aliases)} if command else {}
    return [names[word.partition("=")[0]] for word in words if word.partition("=")[0] in names]


def _run_skill(call: ToolCall, context: ToolContext) -> ToolResult:
    from clawperator.agent.tools import builtin_tools

    run_skill = next(tool for tool in builtin_tools() if tool.name == call.name)
    return run_skill.run(call.params, context)


def _run_claw(name: str, words: list[str], around: Surroundings, context: ToolContext) -> ToolResult:
    """A verb of ours. It cannot call itself for ever: each level needs one more layer of quotes."""
    from clawperator.cli.claw.dispatch import answer
    from clawperator.cli.claw.parsing import FORMAT_FLAG, read

    asked = read([name, *_inherited(name, words, around, context), *words])
    if around.is_json:
        asked = replace(asked, values={**asked.values, FORMAT_FLAG: ("json",)})
    told = answer(asked)
    document = {"exit_code": told.exit_code, **told.payload}
    if told.exit_code == 0:
        return ToolResult(True, _said(told.payload) or told.text.partition("\n")[0], document)
    error = told.payload["error"]
    raised = ClawError(
        error["code"],
        error["message"],
        hint=error["hint"],
        details=error.get("details"),
        operation=error["operation"],
        target=error["target"],
    )
    return failed(raised, result=document)


def _inherited(name: str, words: list[str], around: Surroundings, context: ToolContext) -> list[str]:
    """The limits of the caller. What may be said only once, and is said inside, counts as it is said there."""
    if name not in _ACTING:
        return []
    given = {word.partition("=")[0] for word in words}
    flags = [flag for flag in around.flags if flag.partition("=")[0] not in given or _adds_up(flag)]
    left = context.deadline.remaining
    if left is not None and "--timeout-seconds" not in given:
        flags.append(f"--timeout-seconds={left:.3f}")
    return flags


def _adds_up(flag: str) -> bool:
    return flag.startswith(("--deny-tool=", "--deny-prefix=", "--ask-tool="))


def _said(payload: Mapping[str, Any]) -> str | None:
    """What the last turn said."""
    turns = payload.get("turns") or [payload.get("turn")]
    last = turns[-1]
    return str(last["output"]) if isinstance(last, dict) else None


def _run_verb(path: list[str], words: list[str], context: ToolContext) -> ToolResult:
    from clawperator.cli.dispatch import answer_line

    title = " ".join(path)
    if path[0] in _STREAMING:
        return failed(
            ClawError(
                "USAGE",
                f"{title} prints as long as it runs, and has no one answer",
                hint=f"Run 'clawperator {title}' itself.",
                operation="stream",
                target=title,
            )
        )
    text, code = answer_line([*_globals(path, context), *path, *words])
    document = _document(text or b"")
    error = _error(document, code, title)
    if error is not None:
        return failed(error, result=document)
    return ToolResult(True, _message(document, title), document)


def _globals(path: list[str], context: ToolContext) -> list[str]:
    """The options of all verbs: JSON, a quiet stderr, and the phone that was chosen."""
    out = ["--json", "--log-level", "error"]
    if context.device is not None:
        out += ["--device", context.device]
    if context.operator_package is not None:
        out += ["--operator-package", context.operator_package]
    left = context.deadline.remaining
    if left is not None and path == ["skills", "run"]:  # it ends all that it started
        out += ["--timeout", str(max(round(left * 1000), 1))]
    return out


def _document(text: bytes) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {"text": text.decode("utf-8", "replace")}


def _error(document: Any, code: int, title: str) -> ClawError | None:
    """What keeps it from being done, from the document it printed."""
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
    said = fields.get("summary") or f"clawperator {title} ended with exit code {code}"
    return ClawError(
        "UNKNOWN", str(said), hint=f"Run 'clawperator {title} --help'.", operation=title, target=title
    )


def _message(document: Any, title: str) -> str:
    """The answer in a line: what it says of itself, or all of it if that is short."""
    if isinstance(document, dict):
        for name in ("message", "summary", "text"):
            if isinstance(document.get(name), str):
                return str(document[name])
    whole = msgspec.json.encode(document).decode()
    return whole if len(whole) <= _LONGEST_TOLD else f"{title} succeeded"
