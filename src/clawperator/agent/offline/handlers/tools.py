"""Screenshots, recordings, skills, devices and direct tool calls."""

import re
from collections.abc import Mapping
from typing import Any

from clawperator._text import printable
from clawperator.agent.offline.grammar import mask, unquote
from clawperator.agent.offline.instructions import (
    CheckPhone,
    ListPhones,
    ListSkills,
    PullRecording,
    Record,
    RunSkill,
    Screenshot,
    StopRecording,
    Use,
)
from clawperator.agent.offline.labels import shown, words
from clawperator.agent.offline.run import Steps, Work
from clawperator.errors import ClawError

_MOST_LISTED = 20
_NUMBER = re.compile(r"-?\d+")
_NOISE = frozenset(("the", "a", "an", "skill", "my"))


def screenshot(work: Work, asked: Screenshot) -> Steps[str]:
    done = yield from work.act("take_screenshot", {"path": asked.path} if asked.path else {})
    return f"Saved a picture of the screen to {printable(asked.path or done.get('path', ''))}."


# Recordings


def record(work: Work, asked: Record) -> Steps[str]:
    done = yield from work.act("start_recording", _session(asked.name))
    return f"Recording as {printable(done.get('sessionId', asked.name))}."


def stop_recording(work: Work, asked: StopRecording) -> Steps[str]:
    done = yield from work.act("stop_recording", _session(asked.name))
    count = printable(done.get("eventCount", ""))
    events = f" with {count} event{'' if count == '1' else 's'}" if count else ""
    return f"Stopped the recording {printable(done.get('sessionId', asked.name))}{events}."


def pull_recording(work: Work, asked: PullRecording) -> Steps[str]:
    result = yield from work.call("recording_pull", _session(asked.name))
    document = result.result if isinstance(result.result, Mapping) else {}
    path = document.get("localPath")
    return f"The recording is in {printable(str(path))}." if path else f"{_sentence(result.message)}"


def _session(name: str) -> dict[str, Any]:
    return {"sessionId": name} if name else {}


# Skills


def list_skills(work: Work, _: ListSkills) -> Steps[str]:
    found = yield from _skills(work)
    if not found:
        return "There are no skills."
    told = [f"{printable(str(skill['id']))} ({printable(str(skill.get('summary', '')))})" for skill in found]
    return f"{len(found)} skills: {'; '.join(told[:_MOST_LISTED])}"


def run_skill(work: Work, asked: RunSkill) -> Steps[str]:
    skill = _choose_skill((yield from _skills(work)), asked.words)
    inputs = skill.get("inputs") if isinstance(skill.get("inputs"), Mapping) else {}
    args = map_values(asked.values, dict(inputs or {}))
    result = yield from work.call("run_skill", {"skill": skill["id"], "args": args})
    given = f" with {', '.join(f'{name} {value}' for name, value in args.items())}" if args else ""
    return f"Ran {printable(str(skill['id']))}{printable(given)}: {_skill_answer(result.result)}"


def _skill_answer(document: object) -> str:
    """What a skill brought back, if it is short enough to be said."""
    result = document.get("skillResult") if isinstance(document, Mapping) else None
    answer = result.get("result") if isinstance(result, Mapping) else None
    if isinstance(answer, Mapping):
        value = answer.get("text", answer.get("value"))
        if isinstance(value, Mapping):
            return "; ".join(f"{printable(str(name))}: {printable(str(it))}" for name, it in value.items()) + "."
        if isinstance(value, list):
            return ", ".join(shown(str(it)) for it in value[:_MOST_LISTED]) + "."
        if value is not None:
            return f"{printable(str(value))}."
    return "it did its job and proved it."


def _skills(work: Work) -> Steps[list[dict[str, Any]]]:
    result = yield from work.call("list_skills")
    found = result.result.get("skills") if isinstance(result.result, Mapping) else None
    return (
        [skill for skill in found if isinstance(skill, dict) and "id" in skill] if isinstance(found, list) else []
    )


def _choose_skill(skills: list[dict[str, Any]], said: str) -> dict[str, Any]:
    """The skill these words mean: its id, or words of its id and keywords, or words of its summary.

    A variant, whose id goes on where another's ends, has to be named by what it adds.
    """
    for skill in skills:
        if str(skill["id"]).casefold() == said.casefold():
            return skill
    wanted = words(said) - _NOISE
    for fields in (("id", "keywords"), ("id", "keywords", "summary", "intent")):
        found = [skill for skill in skills if wanted and wanted <= _skill_words(skill, fields)]
        ids = {str(skill["id"]) for skill in found}
        found = [s for s in found if not any(str(s["id"]).startswith(f"{other}-") for other in ids)] or found
        if len(found) == 1:
            return found[0]
        if found:
            raise ClawError(
                "INSTRUCTION_AMBIGUOUS",
                f"{shown(said)} could be {len(ids)} skills: {', '.join(sorted(ids)[:_MOST_LISTED])}; none was run",
                hint="Say the whole id of one.",
                operation="find",
                target=said,
            )
    known = ", ".join(str(skill["id"]) for skill in skills[:_MOST_LISTED])
    raise ClawError(
        "SKILL_NOT_FOUND",
        f"no skill fits {shown(said)}" + (f"; there are {known}" if known else ""),
        operation="find",
        target=said,
    )


def _skill_words(skill: Mapping[str, Any], fields: tuple[str, ...]) -> frozenset[str]:
    told = [skill.get(name, "") for name in fields]
    return words(" ".join(" ".join(map(str, t)) if isinstance(t, list) else str(t) for t in told))


def map_values(said: str, inputs: Mapping[str, str]) -> dict[str, str]:
    """Values as they are said ("40", "percent 40", "query=cats") by the names of a skill's inputs.

    A value without a name goes to the first input that has none yet. What is wrong with it the skill will tell.
    """
    given: dict[str, str] = {}
    if not said.strip():
        return given
    if len(inputs) == 1:
        only, kind = next(iter(inputs.items()))
        return {only: _value(_without_name(said, only), kind)}
    for piece in _pieces(said):
        free = [name for name in inputs if name not in given]
        named = next((name for name in free if words(name) <= words(piece)), None)
        name = named or next(iter(free), None)
        if name is None:
            raise ClawError(
                "SKILL_INPUT_INVALID",
                f"the skill takes {len(inputs)} inputs, and {shown(piece)} is one more",
                hint=f"Its inputs: {', '.join(inputs) or 'none'}.",
                operation="run",
                target=piece,
            )
        given[name] = _value(_without_name(piece, named) if named else unquote(piece)[0], inputs[name])
    return given


def _pieces(said: str) -> list[str]:
    cuts = [found.span() for found in re.finditer(r"\s*,\s*|\s+and\s+", mask(said), re.IGNORECASE)]
    starts = [0, *(end for _, end in cuts)]
    ends = [*(start for start, _ in cuts), len(said)]
    return [said[start:end] for start, end in zip(starts, ends, strict=True) if said[start:end].strip()]


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


def _value(said: str, kind: str) -> str:
    """A number may have a sign for its unit, as 40% has."""
    number = _NUMBER.match(said.strip()) if str(kind).startswith("integer") else None
    return number[0] if number and re.fullmatch(r"\s*%?", said.strip()[number.end() :]) else said


# Phones and tools


def list_phones(work: Work, _: ListPhones) -> Steps[str]:
    return _sentence((yield from work.call("list_devices")).message)


def check_phone(work: Work, _: CheckPhone) -> Steps[str]:
    result = yield from work.call("doctor")
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


def use(work: Work, asked: Use) -> Steps[str]:
    result = yield from work.call(asked.tool, asked.params)
    return f"{asked.tool}: {printable(result.message)}."


def _sentence(message: str) -> str:
    text = printable(message).rstrip(".")
    return f"{text[:1].upper()}{text[1:]}."
