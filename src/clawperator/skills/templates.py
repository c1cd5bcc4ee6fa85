"""The files of a new skill, and the evidence for them from a recording."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from clawperator._files import why
from clawperator._text import printable
from clawperator.contract.selectors import NodeMatcher
from clawperator.errors import ClawError
from clawperator.recording.actions import read_actions
from clawperator.recording.compare.strategies.derived import derive_checkpoints
from clawperator.recording.describe import DescribedStep, described_steps
from clawperator.recording.export import Export, ExportedClick, ExportedEvent, ExportedTextChange, read_export
from clawperator.ui.match import find_all
from clawperator.ui.parse import parse_hierarchy

_MOST_BYTES = 256 * 1024 * 1024


class Suggestion(Struct, frozen=True):
    """A selector for a target. ``matches`` is how many nodes it found on the recorded screen, if that is known."""

    matcher: NodeMatcher
    reason: str
    matches: int | None


class ShownStep(Struct, frozen=True):
    """One thing that was done, and the ways to do it again, the best first."""

    step: DescribedStep
    suggestions: list[Suggestion]


def read_context(path: str) -> Export:
    """The export to author from; ``SKILLS_SCAFFOLD_FAILED`` when it is none."""
    try:
        with open(path, "rb") as file:
            # One that is longer is cut, and so is no whole document.
            return read_export(file.read(_MOST_BYTES))
    except (OSError, ValueError) as e:
        raise ClawError(
            "SKILLS_SCAFFOLD_FAILED",
            f"cannot read the recording {path}: {why(e)}",
            hint="Pass what 'clawperator recording export' wrote.",
            target=path,
        ) from e


def shown_steps(export: Export) -> list[ShownStep]:
    """What was done in a recording, each target with its selectors in the order they should be tried."""
    events = {event.seq: event for event in export.events}
    steps = []
    for step in described_steps(read_actions(export.events)):
        event = events.get(step.lastSeq)
        steps.append(ShownStep(step, suggest(event) if event is not None else []))
    return steps


def suggest(event: ExportedEvent) -> list[Suggestion]:
    """Selectors for the target of an event. Those that found one node come first, then the steadier ones."""
    if not isinstance(event, ExportedClick | ExportedTextChange):
        return []
    xml = event.snapshot.xml
    offered = [Suggestion(matcher, reason, _count(matcher, xml)) for matcher, reason in _candidates(event)]
    return sorted(offered, key=lambda offer: 0 if offer.matches in (1, None) else 2 if offer.matches == 0 else 1)


def _candidates(event: ExportedClick | ExportedTextChange) -> Iterator[tuple[NodeMatcher, str]]:
    name = event.resourceId or None
    if isinstance(event, ExportedTextChange):
        if name:
            yield NodeMatcher(resourceId=name), "its resource id"
        yield NodeMatcher(role="textfield"), "the only field of its screen, if it is"
        return
    text, desc = event.text or None, event.contentDesc or None
    if name and text:
        yield NodeMatcher(resourceId=name, textEquals=text), "its resource id and its label"
    if desc:
        yield NodeMatcher(contentDescEquals=desc), "its description"
    if text:
        yield NodeMatcher(textEquals=text), "its label"
    if name:
        yield NodeMatcher(resourceId=name), "its resource id alone"


def _count(matcher: NodeMatcher, xml: str | None) -> int | None:
    if not xml:
        return None
    try:
        hierarchy = parse_hierarchy(xml)
        frame = hierarchy.roots[0].bounds if hierarchy.roots else None
    except ClawError:
        return None
    return len(find_all(hierarchy, matcher, frame)) if frame is not None else None


def written(matcher: NodeMatcher) -> dict[str, Any]:
    """A matcher as keywords of ``clawperator.connect()``'s methods."""
    names = {
        "textEquals": "text",
        "textContains": "text_contains",
        "resourceId": "id",
        "contentDescEquals": "desc",
        "role": "role",
    }
    return {
        word: value for field, word in names.items() if isinstance(value := getattr(matcher, field), str) and value
    }


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
    shown = step.step
    label = f" {quoted(shown.target)}" if shown.target else ""
    text = f", text {quoted(shown.text)}" if shown.text else ""
    lines = [f"{number}. {shown.kind}{label} in `{plain(shown.packageName)}` (seq {shown.seq}){text}"]
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
