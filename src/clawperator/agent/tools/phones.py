"""Tools that inspect phones: the labels of the screen, devices, packages, and the doctor."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from clawperator.agent.ports import Tool, ToolContext, ToolResult
from clawperator.agent.tools.row import NoParams, make_tool

# Type checkers know this name; importing it from typing would cost every command some milliseconds.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from clawperator.ui import Node

_PACKAGES_SECONDS = 15.0
_MOST_LABELS = 1_000
_LONGEST_LABEL = 500


class ListPackagesParams(Struct, frozen=True, forbid_unknown_fields=True):
    thirdParty: Annotated[bool, Meta(description="only third-party packages")] = False


def _describe_screen(_: NoParams, context: ToolContext) -> ToolResult:
    from clawperator.agent.tools.plans import run_actions

    snapshot = run_actions("snapshot_ui", [{"type": "snapshot_ui"}], context)
    if not snapshot.handled:
        return snapshot
    document = snapshot.result
    outline = outline_screen(document["envelope"]["stepResults"][0])
    ids = {"commandId": document["envelope"]["commandId"], "deviceId": document["deviceId"]}
    app = f" in {outline['package']}" if outline["package"] else ""
    message = f"the screen shows {outline['labelCount']} labels{app}"
    return msgspec.structs.replace(snapshot, message=message, result={**outline, **ids})


def outline_screen(step: dict[str, Any]) -> dict[str, Any]:
    """The visible labels of a snapshot step, in tree order, with the state of their switches and boxes.

    Passwords are masked, control characters escaped.
    """
    from clawperator._text import printable
    from clawperator._typed import convert
    from clawperator.connection import read_snapshot
    from clawperator.contract import StepResult
    from clawperator.engine import shown_label
    from clawperator.ui import role_of, visible_nodes

    screen = read_snapshot(convert(step, StepResult))
    found = [node for node in visible_nodes(screen.hierarchy, screen.frame) if node.label]
    states = _states(found)
    return {
        "package": screen.package,
        "overlayPackage": screen.overlay_package,
        "labelCount": len(found),
        "labels": [
            {"label": printable(shown_label(node))[:_LONGEST_LABEL], "role": role_of(node), **states.get(node, {})}
            for node in found[:_MOST_LABELS]
        ],
    }


def _states(labelled: "list[Node]") -> "dict[Node, dict[str, str]]":
    """The state of each label that can be checked: its own, or that of the only switch or box in its row."""
    states: dict[Node, dict[str, str]] = {}
    known: set[Node] = set()
    for node in labelled:
        row = next((above for above in node.ancestors() if above.flag("clickable")), None)
        boxes = [node] if node.flag("checkable") else []
        if not boxes and row is not None and row not in known:
            known.add(row)  # only the first label of a row is its name
            boxes = [below for below in row.walk() if below.flag("checkable")]
        if len(boxes) == 1:
            states[node] = {"state": "on" if boxes[0].flag("checked") else "off"}
    return states


def _list_devices(_: NoParams, __: ToolContext) -> ToolResult:
    from clawperator.device import list_devices

    found = list_devices()
    listed = ", ".join(f"{device.serial} ({device.state})" for device in found)
    message = f"{_count(len(found), 'phone')}: {listed}" if found else "no phone is connected"
    return ToolResult(handled=True, message=message, result={"devices": msgspec.to_builtins(found)})


def _list_packages(params: ListPackagesParams, context: ToolContext) -> ToolResult:
    from clawperator.device import list_packages, resolve_device

    device = resolve_device(context.device)
    context.deadline.check()
    found = list_packages(
        device, third_party=params.thirdParty, seconds=context.deadline.within(_PACKAGES_SECONDS)
    )
    return ToolResult(
        handled=True,
        message=f"{_count(len(found), 'package')} on {device.serial}",
        result={"packages": found, "deviceId": device.serial},
    )


def _doctor(_: NoParams, context: ToolContext) -> ToolResult:
    """Handled whatever the checks find: that is in the result and in the message."""
    from clawperator.contract.limits import MIN_EXECUTION_TIMEOUT_MS
    from clawperator.device import HANDSHAKE_MS, operator_package, run_doctor

    limit = max(context.deadline.within(HANDSHAKE_MS / 1000) * 1000, MIN_EXECUTION_TIMEOUT_MS)
    report = run_doctor(context.device, operator_package(context.operator_package), timeout_ms=limit)
    failed = next((check for check in report.checks if check.status == "fail"), None)
    if report.ok:
        message = f"ready: {_count(len(report.checks), 'check')} run"
    else:
        message = f"not ready: {failed.summary}" if failed else "not ready"
    return ToolResult(handled=True, message=message, result=msgspec.to_builtins(report))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


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
    make_tool(
        "list_devices",
        "List connected phones with their state.",
        NoParams,
        _list_devices,
        level="read-only",
        module=__name__,
        family="observation",
        model_tool="devices",
    ),
    make_tool(
        "list_packages",
        "List installed packages.",
        ListPackagesParams,
        _list_packages,
        level="read-only",
        module=__name__,
        family="observation",
        model_tool="app",
    ),
    make_tool(
        "doctor",
        "Check this computer, the phone and the Operator without changing anything.",
        NoParams,
        _doctor,
        level="read-only",
        module=__name__,
        family="doctor",
        model_tool="devices",
    ),
)
