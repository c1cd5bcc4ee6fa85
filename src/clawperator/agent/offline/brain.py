"""The offline brain: run English instructions by fixed rules. The same screen always gives the same result."""

from collections.abc import Callable, Generator
from typing import Any

from clawperator._base.text import one_line
from clawperator.agent.offline.instructions import HelpInstruction, TypeInstruction, UseToolInstruction
from clawperator.agent.offline.labels import quote
from clawperator.agent.offline.parser import NO_RULE, NotUnderstood, ParsedInstruction, ParsedPrompt, parse_prompt
from clawperator.agent.offline.run import OfflineRun, ToolSteps
from clawperator.agent.ports import Answer, BrainRequest, Tool, ToolCall, ToolResult
from clawperator.errors import ClawError

HELP = """\
I control an Android phone. Write one instruction, or several with commas, 'and' or 'then':
- apps: open Settings; open Display settings; close Settings; list apps
- touch: tap Display; tap the second Save; tap Delete next to Milk; long press the first note
- text: type hello into Title and press enter; search for cats in YouTube
- settings: turn on Dark theme; set the screen timeout to 5 minutes
- notes: create a note called Milk; delete the note Milk
- moving: scroll down; scroll to About phone; go back; go home
- waiting: wait for Done; wait 2 seconds
- questions: what is on the screen; what is the Android version; is Bluetooth on; check that Save is on the screen
- evidence: take a screenshot as screen.png; record this as demo; stop recording and pull it
- skills: list skills; run the discharge skill with 40
- phones: which phones are connected; check the phone
- tools: use click {"matcher": {"textEquals": "Save"}}
Quoted text is taken literally."""


_MAX_NAME_WORDS = 4


class OfflineBrain:
    """Parses the whole prompt before it runs anything, and stops at the first instruction that fails."""

    name = "offline"

    def respond(self, request: BrainRequest) -> Generator[ToolCall, ToolResult, Answer]:
        parsed = parse_prompt(request.prompt)
        rejected = (*parsed.not_understood, *_unknown_tools(parsed, request.tools))
        if rejected:
            return _not_understood(rejected)
        run = OfflineRun(request.deadline)
        done: list[str] = []
        for index, part in enumerate(parsed.parts):
            try:
                sentence = yield from run_instruction(run, part)
            except ClawError as e:
                return _failed(done, part, e, parsed.parts[index + 1 :])
            done.append(sentence)
            request.on_text(sentence if index == 0 else f" {sentence}")
        return Answer(" ".join(done))


def run_instruction(run: OfflineRun, part: ParsedInstruction) -> ToolSteps[str]:
    """Run one instruction and return its answer."""
    if isinstance(part.instruction, HelpInstruction):
        return HELP
    return (yield from _handlers()[type(part.instruction)](run, part.instruction))


def _handlers() -> dict[type, Callable[[OfflineRun, Any], ToolSteps[str]]]:
    from clawperator.agent.offline import instructions as kinds
    from clawperator.agent.offline.handlers import apps, checks, state, tasks, tools, touch

    return {
        kinds.OpenInstruction: apps.open_app_or_link,
        kinds.GoToInstruction: touch.go_to,
        kinds.OpenPageInstruction: apps.open_page,
        kinds.CloseInstruction: apps.close,
        kinds.TapInstruction: touch.tap,
        kinds.TapAtInstruction: touch.tap_at,
        kinds.TypeInstruction: touch.type_text,
        kinds.SearchInstruction: touch.search,
        kinds.ClearInstruction: touch.clear,
        kinds.SetSwitchInstruction: state.set_switch,
        kinds.SetValueInstruction: tasks.set_value,
        kinds.PressButtonInstruction: tasks.press_button,
        kinds.CreateInstruction: tasks.create,
        kinds.DeleteInstruction: tasks.delete,
        kinds.ScrollInstruction: touch.scroll,
        kinds.ScrollToInstruction: touch.scroll_to,
        kinds.PressKeyInstruction: touch.press,
        kinds.SettleInstruction: checks.wait_until_idle,
        kinds.WaitForInstruction: checks.wait_for,
        kinds.PauseInstruction: checks.pause,
        kinds.DescribeScreenInstruction: state.describe,
        kinds.ReadInstruction: state.read,
        kinds.MentionsInstruction: checks.mentions,
        kinds.IsForegroundInstruction: checks.is_foreground,
        kinds.CheckInstruction: checks.check,
        kinds.ScreenshotInstruction: tools.screenshot,
        kinds.StartRecordingInstruction: tools.start_recording,
        kinds.StopRecordingInstruction: tools.stop_recording,
        kinds.PullRecordingInstruction: tools.pull_recording,
        kinds.RunSkillInstruction: tools.run_skill,
        kinds.ListSkillsInstruction: tools.list_skills,
        kinds.ListDevicesInstruction: tools.list_devices,
        kinds.CheckDeviceInstruction: tools.check_device,
        kinds.ListAppsInstruction: apps.list_apps,
        kinds.FindAppInstruction: apps.find_app,
        kinds.ForegroundAppInstruction: apps.report_foreground_app,
        kinds.UseToolInstruction: tools.use_tool,
    }


def _unknown_tools(parsed: ParsedPrompt, tools: tuple[Tool, ...]) -> list[NotUnderstood]:
    known = {name.casefold() for tool in tools for name in (tool.name, *tool.aliases)}
    return [
        NotUnderstood(part.text, f"unknown tool {part.instruction.tool!r}")
        for part in parsed.parts
        if isinstance(part.instruction, UseToolInstruction) and part.instruction.tool.casefold() not in known
    ]


def _not_understood(rejected: tuple[NotUnderstood, ...]) -> Answer:
    reasons = "; ".join(f"{quote(part.text)} ({part.reason})" for part in rejected)
    message = f"not understood: {reasons}"
    error = ClawError(
        "INSTRUCTION_NOT_UNDERSTOOD",
        message,
        hint=_hint(rejected[0]),
        details={"parts": [{"text": part.text, "reason": part.reason} for part in rejected]},
        operation="understand",
        target=rejected[0].text,
    )
    return Answer(f"Not understood: {reasons}. Nothing was done.", "not_understood", error)


def _hint(part: NotUnderstood) -> str | None:
    """Suggest "tap" for an unknown sentence that looks like a label: one word, or a few after a capital letter."""
    words = part.text.split()
    if part.reason != NO_RULE or not (
        len(words) == 1 or (part.text[:1].isupper() and len(words) <= _MAX_NAME_WORDS)
    ):
        return None
    return (
        f"To tap that element, write 'tap {one_line(part.text)}'. Run 'claw bootstrap help' for all instructions."
    )


def _failed(
    done: list[str], part: ParsedInstruction, error: ClawError, remaining: tuple[ParsedInstruction, ...]
) -> Answer:
    """Report what was done, what failed and why, and what was not started."""
    left = f" Not done: {', '.join(map(_redacted_text, remaining))}." if remaining else ""
    reason = error.message.rstrip(".")
    if error.code == "PERMISSION_DENIED":
        reason = f"not allowed: {reason}"
    text = " ".join((*done, f"Failed: {_redacted_text(part)}: {reason}."))
    return Answer(text + left, "failed", error)


def _redacted_text(part: ParsedInstruction) -> str:
    """The sentence in quotes, without a text to type: it may be meant for a password field."""
    instruction = part.instruction
    if not isinstance(instruction, TypeInstruction):
        return quote(part.text)
    return quote(f"type … into {instruction.field.phrase}" if instruction.field is not None else "type …")
