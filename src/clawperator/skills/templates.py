"""The files of a new skill, and the evidence for them from a recording."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from clawperator._base.files import open_regular, why
from clawperator._base.text import printable
from clawperator.contract.selectors import NodeMatcher
from clawperator.errors import ClawError
from clawperator.recording.actions import read_actions
from clawperator.recording.describe import DescribedStep, described_steps
from clawperator.recording.export import Export, ExportedClick, ExportedEvent, ExportedTextChange, read_export
from clawperator.ui.parse import parse_hierarchy
from clawperator.ui.select import find_nodes

_MAX_BYTES = 256 * 1024 * 1024
_MAX_STEPS = 200
_MAX_SUGGESTIONS = 4


class SelectorSuggestion(Struct, frozen=True):
    """A selector for a target. ``matches`` counts the nodes it finds on the recorded screen, if known."""

    matcher: NodeMatcher
    reason: str
    matches: int | None


class RecordedStep(Struct, frozen=True):
    """One user action of a recording, with selectors for its target, best first.

    ``field`` is the resource id of the text field that it clicked or filled, if known.
    """

    step: DescribedStep
    suggestions: list[SelectorSuggestion]
    field: str = ""


def read_context(path: str) -> Export:
    """Read the export of a recording; ``SKILLS_SCAFFOLD_FAILED`` when that fails."""
    try:
        with open_regular(path) as file:
            # A longer file is cut and fails to parse.
            return read_export(file.read(_MAX_BYTES))
    except (OSError, ValueError) as e:
        raise ClawError(
            "SKILLS_SCAFFOLD_FAILED",
            f"cannot read the recording {path}: {why(e)}",
            hint="Pass a file written by 'clawperator recording export'.",
            target=path,
        ) from e


def recorded_steps(export: Export) -> list[RecordedStep]:
    """The user actions of a recording, each with selectors in the order to try them."""
    events = {event.seq: event for event in export.events}
    steps = []
    for step in described_steps(read_actions(export.events)):
        event = events.get(step.lastSeq)
        if event is None:
            steps.append(RecordedStep(step, []))
            continue
        field = _field(event)
        if step.kind == "enter_text" and not field and steps and steps[-1].step.kind == "click":
            field = steps[-1].field  # the event of a text may not name its field; the click before it does
        steps.append(RecordedStep(step, suggest(event, field), field))
    return steps


def _field(event: ExportedEvent) -> str:
    """The resource id of the text field of an event; empty when it has none."""
    if isinstance(event, ExportedTextChange):
        return event.resourceId or ""
    if not isinstance(event, ExportedClick) or not event.resourceId:
        return ""
    is_field = _count(NodeMatcher(resourceId=event.resourceId, role="textfield"), event.snapshot.xml)
    return event.resourceId if is_field else ""


def suggest(event: ExportedEvent, field: str = "") -> list[SelectorSuggestion]:
    """Selectors for the target of an event. Those that find one node come first, then the more stable ones.

    ``field`` is the resource id of the field that a text went into, if its event has none.
    """
    if not isinstance(event, ExportedClick | ExportedTextChange):
        return []
    xml = event.snapshot.xml
    suggestions = [
        SelectorSuggestion(matcher, reason, _count(matcher, xml)) for matcher, reason in _candidates(event, field)
    ]
    return sorted(
        suggestions,
        key=lambda suggestion: 0 if suggestion.matches in (1, None) else 2 if suggestion.matches == 0 else 1,
    )


def _candidates(event: ExportedClick | ExportedTextChange, field: str) -> Iterator[tuple[NodeMatcher, str]]:
    name = event.resourceId or None
    if isinstance(event, ExportedTextChange):
        name = name or field or None
        if name:
            yield NodeMatcher(resourceId=name), "its resource id"
        yield NodeMatcher(role="textfield"), "if it is the only field of its screen"
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
    return len(find_nodes(hierarchy, matcher, frame)) if frame is not None else None


def matcher_keywords(matcher: NodeMatcher) -> dict[str, Any]:
    """A matcher as keyword arguments of the methods of ``clawperator.connect()``."""
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


class SkillTemplate(Struct, frozen=True):
    """The values for the files of a new skill. ``recording`` is the recording it is based on, if any."""

    skill_id: str
    app: str
    intent: str
    summary: str
    recording: Export | None = None


def render_skill_md(template: SkillTemplate) -> str:
    """SKILL.md: front matter, when to use the skill, inputs, verification, and evidence if there is any."""
    lines = [
        "---",
        f"name: {template.skill_id}",
        f"description: {quote_literal(template.summary)}",
        "---",
        "",
        f"# {template.intent}",
        "",
        escape_inline(template.summary),
        "",
        "## When to use",
        "",
        f"When the user wants `{template.intent}` in `{template.app}` on an Android device.",
        "",
        "## Inputs",
        "",
        "None yet. Declare them in `skill.json` under `contract.inputs`.",
        "",
        "## How to run",
        "",
        f"`clawperator skills run {template.skill_id}`",
        "",
        "## Verification",
        "",
        "Read the final state from the screen and pass it to `skill.verify`. Without it, no run is a success.",
    ]
    if template.recording is not None:
        lines += ["", *_evidence(template.recording)]
    return "\n".join(lines) + "\n"


def render_shell_script() -> str:
    """scripts/run.sh: starts run.py by hand."""
    return '#!/bin/sh\nexec "${PYTHON:-python3}" "$(dirname "$0")/run.py" "$@"\n'


def _evidence(export: Export) -> list[str]:
    steps = recorded_steps(export)
    lines = [
        "## Evidence",
        "",
        f"From the recording `{escape_inline(export.session.sessionId)}`: one demonstration by a user. Texts",
        "come from the apps. Try the selectors in order, and check them against the current screen.",
        "",
    ]
    for number, step in enumerate(steps[:_MAX_STEPS], 1):
        lines += _step(number, step)
    if len(steps) > _MAX_STEPS:
        lines.append(f"{len(steps) - _MAX_STEPS} more steps are in the export.")
    return lines


def _step(number: int, step: RecordedStep) -> list[str]:
    action = step.step
    label = f" {quote_literal(action.target)}" if action.target else ""
    text = f", text {quote_literal(action.text)}" if action.text else ""
    lines = [f"{number}. {action.kind}{label} in `{escape_inline(action.packageName)}` (seq {action.seq}){text}"]
    for suggestion in step.suggestions[:_MAX_SUGGESTIONS]:
        words = ", ".join(
            f"{name}={quote_literal(value)}" for name, value in matcher_keywords(suggestion.matcher).items()
        )
        seen = "" if suggestion.matches is None else f"; found {suggestion.matches} on the recorded screen"
        lines.append(f"   - `{words}`: {suggestion.reason}{seen}")
    return lines


def quote_literal(text: str) -> str:
    """An untrusted text as a literal for both Python and YAML that cannot end a code span."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("`", "\\x60")
    return f'"{printable(escaped)}"'


def escape_inline(text: str) -> str:
    """An untrusted text on one line that cannot end a code span."""
    return printable(text).replace("`", "'")
