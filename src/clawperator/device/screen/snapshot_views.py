"""Views of snapshots: the XML of a step replaced by an outline, its changes, or objects.

Views are made on the host after the plan has run, for every backend alike.
"""

import time

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from clawperator.contract.action_params import ViewParams
from clawperator.contract.execution import Plan
from clawperator.contract.results import StepResult
from clawperator.device.run.references import FRESH_SECONDS, References
from clawperator.errors import ClawError
from clawperator.ui.node import Hierarchy
from clawperator.ui.outline import (
    EarlierLine,
    Outline,
    changed_lines,
    cut_lines,
    has_other_order,
    outline_objects,
    outline_of,
    render_outline,
    screen_frame,
)
from clawperator.ui.parse import parse_hierarchy

OUTLINE, CHANGES, JSON = "outline", "outline_changes", "json"


def with_views(plan: Plan, steps: list[StepResult], references: References) -> list[StepResult]:
    """The steps, each snapshot in the view that its action asks for."""
    params = {action.id: action.params for action in plan.execution.actions}
    return [
        _with_view(step, asked, references) if isinstance(asked := params.get(step.id), ViewParams) else step
        for step in steps
    ]


def _with_view(step: StepResult, asked: ViewParams, references: References) -> StepResult:
    if asked.shown_view == "xml" or not step.success or "text" not in step.data:
        return step
    try:
        data = step.data | _view(asked, step.data, references)
    except ClawError as e:  # a hierarchy that is not well-formed
        return replace(step, success=False, data={**step.data, "error": e.code, "message": e.message})
    return replace(step, data=data)


def _view(asked: ViewParams, data: dict[str, str], references: References) -> dict[str, str]:
    since = asked.since if isinstance(asked.since, str) else None
    limit = asked.maxTokens if isinstance(asked.maxTokens, int) else None
    earlier = references.lines_of(since) if since is not None else None
    made = numbered_outline(data, references)
    if asked.shown_view == "json":
        return {"text": msgspec.json.encode(outline_objects(made, limit)).decode(), "actual_format": JSON}
    if since is not None:
        changes = outline_changes(made, earlier, since)
        if changes is not None:
            text = "\n".join(cut_lines(changes, made.notices, limit))
            return {"text": text, "actual_format": CHANGES}
        reason = "is unknown or too old" if earlier is None else "differs in most lines"
        made.notices.append(f"snapshot {since} {reason}; this is the whole outline")
    return {"text": render_outline(made, limit), "actual_format": OUTLINE}


class _Shown(Struct, frozen=True):
    """An outline that this process has made, the screen, and the references at that time."""

    text: str
    overlay: str | None
    state: tuple[str | int, ...]
    time: float
    outline: Outline


# The last outline of each device, by its file of references. Servers and loops look at the same screen again.
_shown: dict[str | int, _Shown] = {}
_MOST_SHOWN = 32


def numbered_outline(data: dict[str, str], references: References) -> Outline:
    """The outline of a snapshot's step data, with references. Where they cannot be kept there are none."""
    text, overlay = data["text"], data.get("overlay_package")
    state, now = references.state(), time.monotonic()
    last = _shown.get(state[0])
    if (
        last is not None
        and (last.state, last.overlay) == (state, overlay)
        and last.text == text
        and now - last.time < FRESH_SECONDS
    ):
        return replace(last.outline, notices=list(last.outline.notices))
    made, is_numbered = outline_with_references(parse_hierarchy(text), data, references)
    if not is_numbered:
        return made
    if len(_shown) >= _MOST_SHOWN:
        _shown.clear()
    kept = replace(made, notices=list(made.notices))
    _shown[state[0]] = _Shown(text, overlay, references.state(), now, kept)
    return made


def outline_with_references(
    hierarchy: Hierarchy, data: dict[str, str], references: References
) -> tuple[Outline, bool]:
    """The outline of a hierarchy, and whether it has references: where they cannot be kept there are none."""
    made = outline_of(hierarchy, screen_frame(hierarchy), overlay=data.get("overlay_package"))
    try:
        references.assign(made, data["snapshot_id"])
    except ClawError as e:
        made.notices.append(f"no references: {e.message}")
        return made, False
    return made, True


def outline_changes(made: Outline, earlier: list[EarlierLine] | None, since: str) -> list[str] | None:
    """The changed lines; None when the whole outline is shorter."""
    if earlier is None:
        return None
    lines = changed_lines(earlier, made)
    if sum(map(len, lines)) > len(render_outline(made)):
        return None
    if has_other_order(earlier, made):
        made.notices.append("the order of the lines has changed")
    elif not lines:
        made.notices.append(f"no change since {since}")
    return lines
