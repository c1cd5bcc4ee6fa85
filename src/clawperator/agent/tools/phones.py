"""The tool that lists the labels of the screen, and the screen of a snapshot as lines."""

from typing import Any

import msgspec

from clawperator._base.text import count
from clawperator.agent.ports import Tool, ToolContext, ToolResult
from clawperator.agent.tools.row import NoParams, make_tool

_MOST_LABELS = 1_000
_LONGEST_LABEL = 500


def _describe_screen(_: NoParams, context: ToolContext) -> ToolResult:
    from clawperator.agent.tools.plans import run_actions

    snapshot = run_actions("snapshot_ui", [{"type": "snapshot_ui", "params": {"view": "json"}}], context)
    if not snapshot.handled:
        return snapshot
    document = snapshot.result
    data = document["envelope"]["stepResults"][0]["data"]
    labels = [_label(element) for element in msgspec.json.decode(data["text"])["elements"]]
    labels = [label for label in labels if label["label"] or label.get("value")]
    package = data.get("foreground_package")
    message = f"the screen shows {count(len(labels), 'label')}{f' in {package}' if package else ''}"
    screen = {
        "package": package,
        "overlayPackage": data.get("overlay_package"),
        "labelCount": len(labels),
        "labels": labels[:_MOST_LABELS],
        "snapshotId": data["snapshot_id"],
        "commandId": document["envelope"]["commandId"],
        "deviceId": document["deviceId"],
    }
    return msgspec.structs.replace(snapshot, message=message, result=screen)


def _label(element: dict[str, Any]) -> dict[str, Any]:
    """An element of the outline: its label and role, and its value, states and reference where it has them."""
    made = {"label": element["label"][:_LONGEST_LABEL], "role": element["role"]}
    states = element["states"]
    switched = [state for state in states if state in ("on", "off")]
    more = {"state": switched[0] if switched else "", "value": element["value"][:_LONGEST_LABEL], "states": states}
    return made | {name: value for name, value in {**more, "ref": element["ref"]}.items() if value}


def screen_lines(step: dict[str, Any]) -> list[str]:
    """The screen of a snapshot step for users, line by line: the view itself, or the outline of its XML."""
    data = step["data"]
    if data.get("actual_format") in ("outline", "outline_changes", "json"):
        return str(data.get("text", "")).splitlines()
    from clawperator._base.typed import convert
    from clawperator.api.snapshot import read_snapshot
    from clawperator.contract.results import StepResult
    from clawperator.ui.outline import outline_of
    from clawperator.ui.outline_text import render_outline

    screen = read_snapshot(convert(step, StepResult))
    return render_outline(outline_of(screen.hierarchy, screen.frame, overlay=screen.overlay_package)).splitlines()


PHONE_TOOLS: tuple[Tool, ...] = (
    make_tool(
        "describe_screen",
        "List the visible labels of the screen with their roles, and the foreground app.",
        NoParams,
        _describe_screen,
        level="read-only",
        module=__name__,
        family="observation",
        model_tool="snapshot",
    ),
)
