"""The offline brain: plain instructions in English, by fixed rules. On the same screen it always does the same."""

from collections.abc import Callable, Generator
from typing import Any

from clawperator._text import one_line
from clawperator.agent.offline.instructions import Help, Type, Use
from clawperator.agent.offline.labels import shown
from clawperator.agent.offline.parser import NO_RULE, NotUnderstood, Part, Reading, read_prompt
from clawperator.agent.offline.run import Steps, Work
from clawperator.agent.ports import Answer, BrainRequest, Tool, ToolCall, ToolResult
from clawperator.errors import ClawError

HELP = (
    "I act on an Android phone. Say, one after the other: open Settings; tap Display; tap the second Save; "
    "tap Delete next to Milk; long press the first note; type hello into Title and press enter; "
    "search for cats in YouTube; "
    "turn on Dark theme; scroll down; scroll to About phone; go back; go home; wait for Done; wait 2 seconds; "
    "what is on the screen; what is the Android version; is Bluetooth on; check that Save is on the screen; "
    "take a screenshot as screen.png; record this as demo; stop recording and pull it; list skills; "
    "run the discharge skill with 40; which phones are connected; check the phone; list apps; close Settings; "
    'use click {"matcher": {"textEquals": "Save"}}. What is quoted is taken letter by letter.'
)


_MOST_NAMING = 4


class OfflineBrain:
    """Understands the whole prompt before it does anything, and stops at the first thing that fails."""

    name = "offline"

    def respond(self, request: BrainRequest) -> Generator[ToolCall, ToolResult, Answer]:
        reading = read_prompt(request.prompt)
        refused = (*reading.not_understood, *_unknown_tools(reading, request.tools))
        if refused:
            return _not_understood(refused)
        work = Work(request.deadline)
        told: list[str] = []
        for place, part in enumerate(reading.parts):
            try:
                sentence = yield from carry_out(work, part)
            except ClawError as e:
                return _failed(told, part, e, reading.parts[place + 1 :])
            told.append(sentence)
            request.on_text(sentence if place == 0 else f" {sentence}")
        return Answer(" ".join(told))


def carry_out(work: Work, part: Part) -> Steps[str]:
    """Do what a sentence asks for, and say what came of it."""
    if isinstance(part.instruction, Help):
        return HELP
    return (yield from _doers()[type(part.instruction)](work, part.instruction))


def _doers() -> dict[type, Callable[[Work, Any], Steps[str]]]:
    from clawperator.agent.offline import instructions as asked
    from clawperator.agent.offline.handlers import apps, state, tools, touch

    return {
        asked.Open: apps.open_named,
        asked.GoTo: touch.go_to,
        asked.Close: apps.close,
        asked.Tap: touch.tap,
        asked.TapAt: touch.tap_at,
        asked.Type: touch.type_text,
        asked.Search: touch.search,
        asked.Clear: touch.clear,
        asked.Turn: state.turn,
        asked.Scroll: touch.scroll,
        asked.Seek: touch.seek,
        asked.Press: touch.press,
        asked.Settle: state.settle,
        asked.WaitFor: state.wait_for,
        asked.Pause: state.pause,
        asked.Describe: state.describe,
        asked.Read: state.read,
        asked.Check: state.check,
        asked.Screenshot: tools.screenshot,
        asked.Record: tools.record,
        asked.StopRecording: tools.stop_recording,
        asked.PullRecording: tools.pull_recording,
        asked.RunSkill: tools.run_skill,
        asked.ListSkills: tools.list_skills,
        asked.ListPhones: tools.list_phones,
        asked.CheckPhone: tools.check_phone,
        asked.ListApps: apps.list_apps,
        asked.FindApp: apps.find_app,
        asked.TellFront: apps.tell_front,
        asked.Use: tools.use,
    }


def _unknown_tools(reading: Reading, tools: tuple[Tool, ...]) -> list[NotUnderstood]:
    known = {name.casefold() for tool in tools for name in (tool.name, *tool.aliases)}
    return [
        NotUnderstood(part.said, f"there is no tool {part.instruction.tool!r}")
        for part in reading.parts
        if isinstance(part.instruction, Use) and part.instruction.tool.casefold() not in known
    ]


def _not_understood(refused: tuple[NotUnderstood, ...]) -> Answer:
    told = "; ".join(f"{shown(part.said)} ({part.reason})" for part in refused)
    message = f"not understood: {told}"
    error = ClawError(
        "INSTRUCTION_NOT_UNDERSTOOD",
        message,
        hint=_hint(refused[0]),
        details={"parts": [{"said": part.said, "reason": part.reason} for part in refused]},
        operation="understand",
        target=refused[0].said,
    )
    return Answer(f"Not understood: {told}. Nothing was done.", "not_understood", error)


def _hint(part: NotUnderstood) -> str | None:
    """One word, or a few with a capital, that no rule fits are mostly what something on the screen is called."""
    words = part.said.split()
    if part.reason != NO_RULE or not (len(words) == 1 or (part.said[:1].isupper() and len(words) <= _MOST_NAMING)):
        return None
    return f"To touch what is called so say 'tap {one_line(part.said)}'. Run 'claw bootstrap help' for the rest."


def _failed(told: list[str], part: Part, error: ClawError, rest: tuple[Part, ...]) -> Answer:
    """What was done, what failed and why, and what was therefore not begun."""
    left = f" Not done: {', '.join(map(_recall, rest))}." if rest else ""
    reason = error.message.rstrip(".")
    if error.code == "PERMISSION_DENIED":
        reason = f"was not allowed: {reason}"
    text = " ".join((*told, f"Failed: {_recall(part)}: {reason}."))
    return Answer(text + left, "failed", error)


def _recall(part: Part) -> str:
    """A sentence as it was said, but for a text to be typed, which may be meant for a password field."""
    asked = part.instruction
    if not isinstance(asked, Type):
        return shown(part.said)
    return shown(f"type … into {asked.field.words}" if asked.field is not None else "type …")
