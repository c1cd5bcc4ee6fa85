"""Screenshots, recordings, skills, devices and direct tool calls."""

import re
from collections.abc import Mapping
from typing import Any

from clawperator._base.text import printable
from clawperator.agent.offline.grammar import mask, unquote
from clawperator.agent.offline.instructions import (
    CheckDeviceInstruction,
    ListDevicesInstruction,
    ListSkillsInstruction,
    PullRecordingInstruction,
    RunSkillInstruction,
    ScreenshotInstruction,
    StartRecordingInstruction,
    StopRecordingInstruction,
    UseToolInstruction,
)
from clawperator.agent.offline.labels import quote, word_set
from clawperator.agent.offline.run import OfflineRun, ToolSteps
from clawperator.errors import ClawError

_MAX_LISTED = 20
_NUMBER = re.compile(r"-?\d+")
_NOISE = frozenset(("the", "a", "an", "skill", "my"))


def screenshot(run: OfflineRun, instruction: ScreenshotInstruction) -> ToolSteps[str]:
    result = yield from run.run_action("take_screenshot", {"path": instruction.path} if instruction.path else {})
    return f"Saved a screenshot to {printable(instruction.path or result.get('path', ''))}."


# Recordings


def start_recording(run: OfflineRun, instruction: StartRecordingInstruction) -> ToolSteps[str]:
    result = yield from run.run_action("start_recording", _session(instruction.name))
    return f"Recording as {printable(result.get('sessionId', instruction.name))}."


def stop_recording(run: OfflineRun, instruction: StopRecordingInstruction) -> ToolSteps[str]:
    result = yield from run.run_action("stop_recording", _session(instruction.name))
    count = printable(result.get("eventCount", ""))
    events = f" with {count} event{'' if count == '1' else 's'}" if count else ""
    return f"Stopped the recording {printable(result.get('sessionId', instruction.name))}{events}."


def pull_recording(run: OfflineRun, instruction: PullRecordingInstruction) -> ToolSteps[str]:
    result = yield from run.call_tool("recording_pull", _session(instruction.name))
    document = result.result if isinstance(result.result, Mapping) else {}
    path = document.get("localPath")
    return f"The recording is in {printable(str(path))}." if path else f"{_sentence(result.message)}"


def _session(name: str) -> dict[str, Any]:
    return {"sessionId": name} if name else {}


# Skills


def list_skills(run: OfflineRun, _: ListSkillsInstruction) -> ToolSteps[str]:
    found = yield from _skills(run)
    if not found:
        return "No skills are available."
    texts = [f"{printable(str(skill['id']))} ({printable(str(skill.get('summary', '')))})" for skill in found]
    return f"{len(found)} skills: {'; '.join(texts[:_MAX_LISTED])}"


def run_skill(run: OfflineRun, instruction: RunSkillInstruction) -> ToolSteps[str]:
    skill = _choose_skill((yield from _skills(run)), instruction.phrase)
    inputs = skill.get("inputs") if isinstance(skill.get("inputs"), Mapping) else {}
    args = map_values(instruction.values, dict(inputs or {}))
    result = yield from run.call_tool("run_skill", {"skill": skill["id"], "args": args})
    values = f" with {', '.join(f'{name} {value}' for name, value in args.items())}" if args else ""
    return f"Ran {printable(str(skill['id']))}{printable(values)}: {_skill_result(result.result)}"


def _skill_result(document: object) -> str:
    """The result of a skill as a sentence."""
    result = document.get("skillResult") if isinstance(document, Mapping) else None
    answer = result.get("result") if isinstance(result, Mapping) else None
    if isinstance(answer, Mapping):
        value = answer.get("text", answer.get("value"))
        if isinstance(value, Mapping):
            return "; ".join(f"{printable(str(name))}: {printable(str(it))}" for name, it in value.items()) + "."
        if isinstance(value, list):
            return ", ".join(quote(str(it)) for it in value[:_MAX_LISTED]) + "."
        if value is not None:
            return f"{printable(str(value))}."
    verification = result.get("terminalVerification") if isinstance(result, Mapping) else None
    is_verified = isinstance(verification, Mapping) and verification.get("status") == "verified"
    return "succeeded and verified." if is_verified else "succeeded."


def find_setting_skill(run: OfflineRun, name: str) -> ToolSteps[str]:
    """The id of the skill that sets the value with this name; empty when there is none.

    Its intent is "set" and words of the name, all words of the name are its own, and it takes one value.
    """
    wanted = word_set(name)
    found = [
        str(skill["id"])
        for skill in (yield from _skills(run))
        if (intent := word_set(str(skill.get("intent", "")).replace("-", " "))) > {"set"}
        and intent - {"set"} <= wanted <= _skill_words(skill, ("id", "keywords"))
        and len(skill.get("inputs") or ()) == 1
    ]
    return found[0] if len(found) == 1 else ""


def _skills(run: OfflineRun) -> ToolSteps[list[dict[str, Any]]]:
    result = yield from run.call_tool("list_skills")
    found = result.result.get("skills") if isinstance(result.result, Mapping) else None
    return (
        [skill for skill in found if isinstance(skill, dict) and "id" in skill] if isinstance(found, list) else []
    )


def _choose_skill(skills: list[dict[str, Any]], text: str) -> dict[str, Any]:
    """The skill that matches a text: by id, by words of id and keywords, or by words of its summary.

    A variant, whose id extends another skill's id, must be named by the words it adds.
    """
    for skill in skills:
        if str(skill["id"]).casefold() == text.casefold():
            return skill
    wanted = word_set(text) - _NOISE
    for fields in (("id", "keywords"), ("id", "keywords", "summary", "intent")):
        found = [skill for skill in skills if wanted and wanted <= _skill_words(skill, fields)]
        ids = {str(skill["id"]) for skill in found}
        found = [s for s in found if not any(str(s["id"]).startswith(f"{other}-") for other in ids)] or found
        if len(found) == 1:
            return found[0]
        if found:
            raise ClawError(
                "INSTRUCTION_AMBIGUOUS",
                f"{quote(text)} matches {len(ids)} skills: {', '.join(sorted(ids)[:_MAX_LISTED])}; none was run",
                hint="Use the whole id of one.",
                operation="find",
                target=text,
            )
    known = ", ".join(str(skill["id"]) for skill in skills[:_MAX_LISTED])
    raise ClawError(
        "SKILL_NOT_FOUND",
        f"no skill matches {quote(text)}" + (f"; available: {known}" if known else ""),
        operation="find",
        target=text,
    )


def _skill_words(skill: Mapping[str, Any], fields: tuple[str, ...]) -> frozenset[str]:
    texts = [skill.get(name, "") for name in fields]
    return word_set(" ".join(" ".join(map(str, t)) if isinstance(t, list) else str(t) for t in texts))


def map_values(text: str, inputs: Mapping[str, str]) -> dict[str, str]:
    """Assign values ("40", "percent 40", "query=cats") to the names of a skill's inputs.

    A value without a name goes to the first input without a value. The skill itself validates the values.
    """
    values: dict[str, str] = {}
    if not text.strip():
        return values
    if len(inputs) == 1:
        only, kind = next(iter(inputs.items()))
        return {only: _value(_without_name(text, only), kind)}
    for piece in _split_values(text):
        free = [name for name in inputs if name not in values]
        named = next((name for name in free if word_set(name) <= word_set(piece)), None)
        name = named or next(iter(free), None)
        if name is None:
            raise ClawError(
                "SKILL_INPUT_INVALID",
                f"the skill takes {len(inputs)} inputs; {quote(piece)} is one too many",
                hint=f"Inputs: {', '.join(inputs) or 'none'}.",
                operation="run",
                target=piece,
            )
        values[name] = _value(_without_name(piece, named) if named else unquote(piece)[0], inputs[name])
    return values


def _split_values(text: str) -> list[str]:
    cuts = [found.span() for found in re.finditer(r"\s*,\s*|\s+and\s+", mask(text), re.IGNORECASE)]
    starts = [0, *(end for _, end in cuts)]
    ends = [*(start for start, _ in cuts), len(text)]
    return [text[start:end] for start, end in zip(starts, ends, strict=True) if text[start:end].strip()]


def _without_name(piece: str, name: str) -> str:
    """The value in "percent 40", "percent=40", "40 percent" or "percent of 40"."""
    named = re.escape(name)
    before = re.fullmatch(
        rf"(?:the\s+|an?\s+)?{named}\s*(?:=|:|\s(?:is|of|as|to)\s|\s)\s*(.+)",
        piece.strip(),
        re.IGNORECASE | re.DOTALL,
    )
    after = re.fullmatch(rf"(.+?)\s+{named}", piece.strip(), re.IGNORECASE | re.DOTALL)
    found = before or after
    return unquote(found[1] if found else piece)[0]


def _value(text: str, kind: str) -> str:
    """Remove a percent sign from a value for an integer input."""
    number = _NUMBER.match(text.strip()) if str(kind).startswith("integer") else None
    return number[0] if number and re.fullmatch(r"\s*%?", text.strip()[number.end() :]) else text


# Phones and tools


def list_devices(run: OfflineRun, _: ListDevicesInstruction) -> ToolSteps[str]:
    return _sentence((yield from run.call_tool("list_devices")).message)


def check_device(run: OfflineRun, _: CheckDeviceInstruction) -> ToolSteps[str]:
    result = yield from run.call_tool("doctor")
    document = result.result if isinstance(result.result, Mapping) else {}
    if document.get("ok") is False:
        raise ClawError(
            "INSTRUCTION_CHECK_FAILED",
            f"the phone is {printable(result.message)}",
            hint="Run 'clawperator doctor --fix'.",
            operation="check",
            target="phone",
        )
    return _sentence(f"the phone is {result.message}")


def use_tool(run: OfflineRun, instruction: UseToolInstruction) -> ToolSteps[str]:
    result = yield from run.call_tool(instruction.tool, instruction.params)
    return f"{instruction.tool}: {printable(result.message)}."


def _sentence(message: str) -> str:
    text = printable(message).rstrip(".")
    return f"{text[:1].upper()}{text[1:]}."
