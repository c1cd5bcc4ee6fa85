"""Commands of the inventory as things to call: verbs of both programs, skills and plugins."""

import shlex
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from clawperator.agent.inventory import Entry
from clawperator.agent.plugins import Plugin, PluginContext, run_plugin
from clawperator.agent.ports import Bench, Level, Tool, ToolResult
from clawperator.agent.sessions import DEFAULT_DIRECTORY
from clawperator.agent.tools.row import failed
from clawperator.contract.claw_commands import CLAW_COMMANDS
from clawperator.contract.command import Command
from clawperator.contract.commands import COMMANDS, find
from clawperator.contract.errors import CODES, ClawError
from clawperator.contract.levels import command_level

# These act by themselves, and have a policy of their own.
_ACTING = ("exec-tool", "exec-command", "bootstrap", "turn-loop")
# They print as long as they run, and have no one answer.
_STREAMING = ("logs",)
# What is told and exits 0 without anything having been done.
_NOT_DONE = ("USAGE", "NOT_IMPLEMENTED")


class Surroundings(Struct, frozen=True):
    """What a command gets besides its prompt: the plugins there are, and the caller's own limits.

    ``policy`` are flags that a ``claw`` inside this one is given too: it may do no more than its caller.
    """

    plugins: tuple[Plugin, ...] = ()
    policy: tuple[str, ...] = ()


def as_tool(entry: Entry, prompt: str, around: Surroundings) -> Tool:
    """The command with its arguments, ready to be judged and run. The prompt is what follows in a shell."""
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
    run, level = _runner(entry, words, prompt, around)
    return Tool(
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


def _runner(
    entry: Entry, words: list[str], prompt: str, around: Surroundings
) -> tuple[Callable[[Mapping[str, Any], Bench], ToolResult], Level]:
    if entry.family == "skill":
        return lambda _, bench: _run_skill(entry.name, words, bench), entry.level
    if entry.family == "plugin":
        plugin = next(plugin for plugin in around.plugins if plugin.name == entry.name)
        return lambda _, bench: _run_plugin(plugin, prompt, bench), entry.level
    program, *path = entry.argv
    if program == "claw":
        level = command_level("claw", path[0], _flags(_claw_command(path[0]), words))
        limits = around.policy if path[0] in _ACTING else ()
        return lambda _, __: _run_claw([*path, *limits, *words]), level
    level = command_level("clawperator", " ".join(path), _flags(_command(path), words))
    return lambda _, bench: _run_verb(path, words, bench), level


def _command(path: list[str]) -> Command | None:
    command = find(path[0], COMMANDS)
    return find(path[1], command.subcommands) if command and len(path) > 1 else command


def _claw_command(name: str) -> Command | None:
    return next((command for command in CLAW_COMMANDS if command.name == name), None)


def _flags(command: Command | None, words: list[str]) -> list[str]:
    """The flags among the words, by their own names."""
    names = {name: flag.name for flag in command.flags for name in (flag.name, *flag.aliases)} if command else {}
    return [names[word.partition("=")[0]] for word in words if word.partition("=")[0] in names]


def _run_skill(skill_id: str, words: list[str], bench: Bench) -> ToolResult:
    from clawperator.agent.tools import builtin_tools

    run_skill = next(tool for tool in builtin_tools() if tool.name == "run_skill")
    return run_skill.run({"skill": skill_id, "args": words}, bench)


def _run_plugin(plugin: Plugin, prompt: str, bench: Bench) -> ToolResult:
    return run_plugin(plugin, prompt, PluginContext(bench.folder, bench.device, DEFAULT_DIRECTORY))


def _run_claw(argv: list[str]) -> ToolResult:
    """A verb of ours. It cannot call itself for ever: each level needs one more layer of quotes."""
    from clawperator.cli.claw.door import answer
    from clawperator.cli.claw.reading import read

    told = answer(read(argv))
    document = {"exit_code": told.exit_code, **told.payload}
    shown = told.text.partition("\n")[0]
    if told.exit_code == 0:
        return ToolResult(True, shown, document)
    error = told.payload["error"]
    raised = ClawError(error["code"], error["message"], hint=error["hint"], operation=error["operation"])
    return failed(raised, result=document)


def _run_verb(path: list[str], words: list[str], bench: Bench) -> ToolResult:
    from clawperator.cli.door import answer_line

    if path[0] in _STREAMING:
        return failed(
            ClawError(
                "USAGE",
                f"{' '.join(path)} prints as long as it runs, and has no one answer",
                hint=f"Run 'clawperator {' '.join(path)}' itself.",
                target=path[0],
            )
        )
    text, code = answer_line([*_globals(path, bench), *path, *words])
    document = _document(text or b"")
    error = _error(document, code, path)
    if error is not None:
        return failed(error, result=document)
    return ToolResult(True, _message(document, path), document)


def _globals(path: list[str], bench: Bench) -> list[str]:
    """The options of all verbs: JSON, a quiet stderr, and the phone that was chosen."""
    out = ["--json", "--log-level", "error"]
    if bench.device is not None:
        out += ["--device", bench.device]
    if bench.operator_package is not None:
        out += ["--operator-package", bench.operator_package]
    left = bench.watch.remaining
    if left is not None and path == ["skills", "run"]:  # it ends all that it started
        out += ["--timeout", str(max(round(left * 1000), 1))]
    return out


def _document(text: bytes) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {"text": text.decode("utf-8", "replace")}


def _error(document: Any, code: int, path: list[str]) -> ClawError | None:
    """What keeps it from being done, from the document it printed."""
    fields = document if isinstance(document, dict) else {}
    name = fields.get("code")
    if isinstance(name, str) and name in CODES and (code != 0 or name in _NOT_DONE):
        return ClawError.told({"message": "", **fields})
    if code == 0:
        return None
    steps = (fields.get("envelope") or {}).get("stepResults", ())
    for step in steps:
        if step.get("success") is False:
            data = step.get("data", {})
            known = data.get("error") if data.get("error") in CODES else "UNKNOWN"
            said = data.get("message") or f"{step.get('actionType')} failed"
            return ClawError(known, said, hint=data.get("hint"), operation=str(step.get("actionType")))
    said = fields.get("summary") or f"clawperator {' '.join(path)} ended with exit code {code}"
    return ClawError("UNKNOWN", str(said), hint=f"Run 'clawperator {' '.join(path)} --help'.")


def _message(document: Any, path: list[str]) -> str:
    if isinstance(document, dict):
        for name in ("message", "summary", "text"):
            if isinstance(document.get(name), str):
                return str(document[name])
        steps = (document.get("envelope") or {}).get("stepResults", ())
        if steps:
            effect = steps[-1].get("data", {}).get("effect")
            return f"{steps[-1].get('actionType')} succeeded" + (f"; effect: {effect}" if effect else "")
    return f"{' '.join(path)} succeeded"
