"""Tools that inspect phones: the labels of the screen, devices, packages, and the doctor."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from clawperator.agent.ports import Tool, ToolContext, ToolResult
from clawperator.agent.tools.row import NoParams, make_tool
from clawperator.contract.limits import MAX_USER

_PACKAGES_SECONDS = 15.0
_MOST_LABELS = 1_000
_LONGEST_LABEL = 500


class ListPackagesParams(Struct, frozen=True, forbid_unknown_fields=True):
    thirdParty: Annotated[bool, Meta(description="only third-party packages")] = False
    user: Annotated[
        Annotated[int, Meta(ge=0, le=MAX_USER)] | None, Meta(description="number of an Android user or profile")
    ] = None


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
    message = f"the screen shows {_count(len(labels), 'label')}{f' in {package}' if package else ''}"
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


def _list_devices(_: NoParams, __: ToolContext) -> ToolResult:
    from clawperator.device.discovery import list_devices

    found = list_devices()
    listed = ", ".join(f"{device.serial} ({device.state})" for device in found)
    message = f"{_count(len(found), 'phone')}: {listed}" if found else "no phone is connected"
    return ToolResult(handled=True, message=message, result={"devices": msgspec.to_builtins(found)})


def _list_packages(params: ListPackagesParams, context: ToolContext) -> ToolResult:
    from clawperator.device.discovery import resolve_device
    from clawperator.device.packages import list_packages
    from clawperator.device.users import require_user

    device = resolve_device(context.device)
    context.deadline.check()
    require_user(device, params.user, seconds=context.deadline.within(_PACKAGES_SECONDS))
    seconds = context.deadline.within(_PACKAGES_SECONDS)
    found = list_packages(device, third_party=params.thirdParty, user=params.user, seconds=seconds)
    return ToolResult(
        handled=True,
        message=f"{_count(len(found), 'package')} on {device.serial}",
        result={"packages": found, "deviceId": device.serial},
    )


def _doctor(_: NoParams, context: ToolContext) -> ToolResult:
    """Handled whatever the checks find: that is in the result and in the message."""
    from clawperator.contract.limits import MIN_EXECUTION_TIMEOUT_MS
    from clawperator.device.settings import named_operator
    from clawperator.device.setup.device_checks import HANDSHAKE_MS
    from clawperator.device.setup.doctor import run_doctor

    limit = max(context.deadline.within(HANDSHAKE_MS / 1000) * 1000, MIN_EXECUTION_TIMEOUT_MS)
    report = run_doctor(context.device, named_operator(context.operator_package), timeout_ms=limit)
    failed = next((check for check in report.checks if check.status == "fail"), None)
    if report.ok:
        by_adb = " by plain adb" if report.backend == "adb" else ""
        message = f"ready{by_adb}: {_count(len(report.checks), 'check')} run"
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
        model_tool="phone",
    ),
)
