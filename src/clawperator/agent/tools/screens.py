"""Tool for the screen as a list of labels with their roles."""

from typing import Any

import msgspec

from clawperator.agent.ports import Tool, ToolContext, ToolResult
from clawperator.agent.tools.row import NoParams, make_tool

_MOST_LABELS = 1_000
_LONGEST_LABEL = 500


def _describe(_: NoParams, context: ToolContext) -> ToolResult:
    from clawperator.agent.tools.plans import run_actions

    snapshot = run_actions("snapshot_ui", [{"type": "snapshot_ui"}], context)
    if not snapshot.handled:
        return snapshot
    document = snapshot.result
    outline = _outline(document["envelope"]["stepResults"][0])
    ids = {"commandId": document["envelope"]["commandId"], "deviceId": document["deviceId"]}
    app = f" in {outline['package']}" if outline["package"] else ""
    message = f"the screen shows {outline['labelCount']} labels{app}"
    return msgspec.structs.replace(snapshot, message=message, result={**outline, **ids})


def _outline(step: dict[str, Any]) -> dict[str, Any]:
    """The visible labels in tree order. Passwords are masked, control characters escaped."""
    from clawperator._text import printable
    from clawperator._typed import convert
    from clawperator.connection.snapshot import read_snapshot
    from clawperator.contract.results import StepResult
    from clawperator.engine.privacy import shown_label
    from clawperator.ui.roles import role
    from clawperator.ui.visible import visible

    screen = read_snapshot(convert(step, StepResult))
    found = [node for node in visible(screen.hierarchy, screen.frame) if node.label]
    return {
        "package": screen.package,
        "overlayPackage": screen.overlay_package,
        "labelCount": len(found),
        "labels": [
            {"label": printable(shown_label(node))[:_LONGEST_LABEL], "role": role(node)}
            for node in found[:_MOST_LABELS]
        ],
    }


SCREEN_TOOLS: tuple[Tool, ...] = (
    make_tool(
        "describe_screen",
        "List the visible labels of the screen with their roles, and the foreground app.",
        NoParams,
        _describe,
        level="read-only",
        module=__name__,
        family="observation",
    ),
)
