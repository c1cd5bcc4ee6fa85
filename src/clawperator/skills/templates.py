"""What is written in the files of a new skill."""

from msgspec import Struct

from clawperator._text import printable
from clawperator.recording.compare.strategies.derived import derive_checkpoints
from clawperator.recording.export import Export
from clawperator.skills.evidence import ShownStep, shown_steps, written

_MOST_STEPS = 200
_MOST_SUGGESTIONS = 4


class Page(Struct, frozen=True):
    """What is known of a new skill. ``shown`` is the recording it is made from."""

    skill_id: str
    app: str
    intent: str
    summary: str
    shown: Export | None = None


def skill_page(page: Page) -> str:
    """SKILL.md: front matter, when to use it, inputs, how to prove it, and the evidence if there is any."""
    lines = [
        "---",
        f"name: {page.skill_id}",
        f"description: {quoted(page.summary)}",
        "---",
        "",
        f"# {page.intent}",
        "",
        plain(page.summary),
        "",
        "## When to use",
        "",
        f"When somebody wants `{page.intent}` done in `{page.app}` on an Android phone.",
        "",
        "## Inputs",
        "",
        "None yet. Declare them in `skill.json` under `contract.inputs`.",
        "",
        "## How to run",
        "",
        f"`clawperator skills run {page.skill_id}`",
        "",
        "## What proves it",
        "",
        "Read the end state from the screen, and give it to `skill.verify`. Without it the end is not proved.",
    ]
    if page.shown is not None:
        lines += ["", *_evidence(page.shown)]
    return "\n".join(lines) + "\n"


def script(page: Page) -> str:
    """scripts/run.py: it opens the app, and says truly that no more is proved."""
    plan = [point.id for point in derive_checkpoints(page.shown)] if page.shown is not None else []
    plan = plan or ["app_opened"]
    listed = "".join(f"    {quoted(name)},\n" for name in plan)
    return f'''"""The skill {page.skill_id}. SKILL.md says what it is for."""

import os

from clawperator.skill_api import Skill

APP = {quoted(page.app)}
# The checkpoints of this skill, in their order.
PLAN = (
{listed})

with Skill(os.environ.get("CLAWPERATOR_SKILL_ID", {quoted(page.skill_id)}), plan=PLAN) as skill:
    phone = skill.phone
    phone.open_app(APP)
    phone.wait_for_nav(APP)
    skill.checkpoint(PLAN[0])
    # Go on from here: do a step, pass its checkpoint, and in the end read the screen and call skill.verify.
'''


def shell_script() -> str:
    """scripts/run.sh: the same skill, for those who start it by hand."""
    return '#!/bin/sh\nexec "${PYTHON:-python3}" "$(dirname "$0")/run.py" "$@"\n'


def _evidence(export: Export) -> list[str]:
    steps = shown_steps(export)
    lines = [
        "## Evidence",
        "",
        f"From the recording `{plain(export.session.sessionId)}`: what a person did, once. Texts are the apps'",
        "own. Selectors stand in the order in which to try them; the screen of the day decides.",
        "",
    ]
    for number, step in enumerate(steps[:_MOST_STEPS], 1):
        lines += _step(number, step)
    if len(steps) > _MOST_STEPS:
        lines.append(f"{len(steps) - _MOST_STEPS} more steps are in the export.")
    return lines


def _step(number: int, step: ShownStep) -> list[str]:
    moment = step.moment
    label = f" {quoted(moment.label)}" if moment.label else ""
    text = f", text {quoted(moment.text)}" if moment.text else ""
    lines = [f"{number}. {moment.kind}{label} in `{plain(moment.package)}` (seq {moment.seq}){text}"]
    for offer in step.suggestions[:_MOST_SUGGESTIONS]:
        words = ", ".join(f"{name}={quoted(value)}" for name, value in written(offer.matcher).items())
        seen = "" if offer.matches is None else f"; found {offer.matches} on the recorded screen"
        lines.append(f"   - `{words}`: {offer.reason}{seen}")
    return lines


def quoted(text: str) -> str:
    """A text of anybody as a literal that Python and YAML read alike, and that ends no code span."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("`", "\\x60")
    return f'"{printable(escaped)}"'


def plain(text: str) -> str:
    """A text of anybody on one line, that ends no code span."""
    return printable(text).replace("`", "'")
