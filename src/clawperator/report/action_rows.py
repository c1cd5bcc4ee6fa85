"""The rows of actions in a report: what each step did, on what, and with which effect."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import MsgspecError, Struct

from clawperator.contract.results import ResultEnvelope, StepResult
from clawperator.report.builder import PageBuilder, RowScreens, RowStatus
from clawperator.report.page_data import NO_SCREEN, Mark, PageRow, Tone
from clawperator.ui.node import read_bounds

# Members of a step's data that have a place of their own in a row.
_SHOWN_ELSEWHERE = frozenset(("matched_target", "effect", "error", "message", "hint"))


class _TargetNode(Struct, frozen=True):
    """What a step acted on, as its ``matched_target`` describes it."""

    label: str = ""
    resourceId: str = ""
    bounds: str = ""
    package: str = ""
    key: str = ""
    uri: str = ""
    type_: str = msgspec.field(default="", name="class")


class StepContext(Struct, frozen=True):
    """What is known of a step beside its result: when it began, further facts, and what it was to act on."""

    time: float | None = None
    facts: Sequence[tuple[str, str | None]] = ()
    wanted: str = ""


NO_CONTEXT = StepContext()
_TARGET = msgspec.json.Decoder(_TargetNode)


def action_rows(envelopes: Sequence[ResultEnvelope], builder: PageBuilder, screens: RowScreens) -> list[PageRow]:
    """The steps of executions. The screen of a step is the last one that a snapshot shows."""
    steps = [step for envelope in envelopes for step in envelope.stepResults]
    rows = []
    screen = screens.before
    for position, step in enumerate(steps):
        seen = builder.screens.add(_tree(step))
        if seen != NO_SCREEN:
            screen = seen
        after = screens.after if position == len(steps) - 1 else NO_SCREEN
        rows.append(action_row(step, builder, RowScreens(screen, after)))
    return rows


def action_row(
    step: StepResult, builder: PageBuilder, screens: RowScreens, around: StepContext = NO_CONTEXT
) -> PageRow:
    """A step of an execution, with what it acted on."""
    data = step.data
    tree = _tree(step)
    target = _target(data.get("matched_target"))
    error = data.get("error", "")
    effect = data.get("effect", "")
    tone: Tone = "bad" if not step.success else "warn" if effect == "unchanged" else "good"
    named = (target.label, id_of(target.resourceId), target.package, target.key, target.uri)
    label = next(filter(None, named), data.get("application_id", "") or around.wanted)
    typed = data.get("text", "") if step.actionType == "enter_text" else ""
    return builder.row(
        step.actionType,
        f"{step.actionType.replace('_', ' ')} {label}".strip(),
        [
            ("Text entered", typed),
            *error_facts({"code": error, **data} if error else {}),
            ("Target", target.label),
            ("Resource id", target.resourceId),
            ("Class", target.type_),
            ("Bounds", target.bounds),
            ("Effect", effect),
            *(
                (name.replace("_", " ").capitalize(), value)
                for name, value in data.items()
                if name not in _SHOWN_ELSEWHERE and not (name == "text" and (tree or typed))
            ),
            ("Step", step.id),
            *around.facts,
        ],
        note=error and data.get("message", ""),
        time=around.time,
        package=data.get("resolved_package") or target.package,
        status=RowStatus((effect or "ok") if step.success else error or "failed", tone),
        screens=RowScreens(screens.before, screens.after, screens.mark or mark_of(target.bounds)),
    )


def _tree(step: StepResult) -> str | None:
    """The UI hierarchy that a step returned."""
    text = step.data.get("text", "")
    return text if text.startswith(("<?xml", "<hierarchy")) else None


def _target(text: str | None) -> _TargetNode:
    try:
        return _TARGET.decode(text) if text else _TargetNode()
    except (MsgspecError, ValueError):
        return _TargetNode()


def id_of(resource_id: str) -> str:
    return resource_id.rpartition("/")[2]


def mark_of(bounds: str) -> Mark | None:
    """The place that a text such as ``[0,0][10,10]`` names."""
    box = read_bounds(bounds)
    return None if box.is_empty else (box.left, box.top, box.right, box.bottom)


def error_facts(error: Mapping[str, Any]) -> list[tuple[str, str | None]]:
    """The code, message and hint of an error document, as far as it has them."""
    names = (("Error", "code"), ("Message", "message"), ("Hint", "hint"))
    return [(name, str(error[key])) for name, key in names if error.get(key)]
