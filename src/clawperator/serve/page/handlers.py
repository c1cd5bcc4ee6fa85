"""Work of the page's routes: the live screen, its elements, touches, keys and text; recordings and reports.

What a user does is also described as an action of an execution and as a command line. A touch is named by the best
selector of the element under it, else by its point.
"""

import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from clawperator._base.files import open_regular, path_spellings, why
from clawperator.agent.cancellation import TurnCancelledError
from clawperator.agent.ports import ToolCall
from clawperator.contract.execution import single_action, validate
from clawperator.contract.limits import MAX_MATCHER_VALUE_LENGTH
from clawperator.contract.selectors import NodeSelector
from clawperator.device.adb.client import Device, device_flag
from clawperator.device.backends.host_actions import force_stop
from clawperator.device.discovery import resolve_device
from clawperator.device.packages import list_packages
from clawperator.device.screen.live_view import CapturedSource, LiveSource, SimulatedSource, live_lease, user_input
from clawperator.device.settings import find_operator
from clawperator.engine.targets import check_target
from clawperator.errors import ClawError
from clawperator.policy.gate import check_actions, check_call, check_look
from clawperator.recording.writing import derived_path
from clawperator.serve.http import documents as d
from clawperator.serve.http.calls import HttpCall
from clawperator.serve.http.errors import DeviceFailure
from clawperator.serve.page.files import FileAnswer
from clawperator.serve.page.screen_document import describe_element
from clawperator.serve.page.watched_screens import WatchedScreen
from clawperator.ui.hit_test import HitTest
from clawperator.ui.node import Hierarchy, Node, node_at
from clawperator.ui.outline import screen_frame
from clawperator.ui.parse import parse_hierarchy
from clawperator.ui.privacy import has_password
from clawperator.ui.suggest import plain_selector, selector_flags, suggest_selectors

Point = tuple[int, int]
_MAX_LABELS = 12
_TOUCHABLE = ("clickable", "long-clickable", "checkable")
# The variable in a command line for text that must not be in it.
_SECRET = "PASSWORD"
_TAP_MS, _LONG_PRESS_MS, _SWIPE_MS = 100, 800, 300


def touched_node(screen: Hierarchy, x: int, y: int) -> Node | None:
    """The node that takes a touch at a point, else the one under it."""
    frame = screen_frame(screen)
    return HitTest(screen, frame).topmost(x, y) or node_at(screen, frame, x, y)


def focused_field(screen: Hierarchy) -> Node | None:
    fields = [node for node in screen.nodes if node.flag("focused") and node.role == "textfield"]
    return fields[0] if len(fields) == 1 else None


def best_selector(screen: Hierarchy, node: Node) -> NodeSelector | None:
    """A selector whose click reaches this node: its own, or that of a label in it that takes no click itself."""
    frame = screen_frame(screen)
    for one in chain((node,), islice(_labels_inside(node), _MAX_LABELS)):
        found = plain_selector(screen, one, frame)
        if found is not None:
            return found
    # A relation to another element, or a position, takes many searches of the screen.
    return next(iter(suggest_selectors(screen, node, frame, most=1)), None)


def _labels_inside(node: Node) -> Iterator[Node]:
    for inner in node.walk():
        if inner is node or not inner.label or has_password(inner):
            continue
        taker = next(one for one in (inner, *inner.ancestors()) if one is node or one.flag("clickable"))
        if taker is node:
            yield inner


# What is run


def touch_params(kind: str, at: Point, to: Point | None, milliseconds: int) -> tuple[str, dict[str, Any]]:
    """The type and parameters of a touch as an action."""
    if kind == "tap":
        return "click", {"coordinate": _point(at)}
    if kind == "long_press":
        return "click", {"coordinate": _point(at), "clickType": "long_click", "durationMs": milliseconds}
    assert to is not None
    return kind, {"start": _point(at), "end": _point(to), "durationMs": milliseconds}


def _point(point: Point) -> dict[str, int]:
    return {"x": point[0], "y": point[1]}


# What is written down


def describe_touch(
    serial: str, action: str, params: Mapping[str, Any], screen: Hierarchy | None, touched: Node | None
) -> d.DoneAnswer:
    """A touch, with the selector of the node that it touches on the screen."""
    if action != "click":
        start, end = (params[name] for name in ("start", "end"))
        words = ["--from", start["x"], start["y"], "--to", end["x"], end["y"], "--duration", params["durationMs"]]
        return _done(serial, action, params, [action, *words])
    is_long = params.get("clickType") == "long_click"
    long = ["--long"] if is_long else []
    point = params["coordinate"]
    selector = None
    if screen is not None and touched is not None and any(map(touched.flag, _TOUCHABLE)):
        selector = best_selector(screen, touched)
    if selector is None:
        return _done(serial, action, params, ["click", "--coordinate", point["x"], point["y"], *long])
    written = {"matcher": msgspec.to_builtins(selector)} | ({"clickType": "long_click"} if is_long else {})
    return _done(serial, action, written, ["click", *long], selector_flags(selector))


def describe_text(serial: str, typed: str, screen: Hierarchy | None, *, is_typed: bool) -> d.DoneAnswer:
    """Typing into the focused field; a password is not shown.

    A screen on which the text is typed already gives the whole text of the field.
    """
    field = None if screen is None else focused_field(screen)
    if screen is None or field is None:
        return _done(serial, "enter_text", {"text": typed, "append": True}, ["type", *_text(typed), "--append"])
    # What was typed names no field.
    found = [
        one
        for one in suggest_selectors(screen, field, screen_frame(screen))
        if "textEquals" not in msgspec.to_builtins(one)
    ]
    where = {"matcher": msgspec.to_builtins(found[0])} if found else {}
    flags = selector_flags(found[0]) if found else ""
    if has_password(field):
        params = {**where, "textFrom": {"env": _SECRET}}
        return _done(serial, "enter_text", params, ["type", "--secret", _SECRET], flags)
    if not is_typed:
        params = {**where, "text": typed, "append": True}
        return _done(serial, "enter_text", params, ["type", *_text(typed), "--append"], flags)
    text = field.text[:MAX_MATCHER_VALUE_LENGTH] or typed
    return _done(serial, "enter_text", {**where, "text": text}, ["type", *_text(text)], flags)


def _text(text: str) -> list[str]:
    return [f"--text={text}"] if text.startswith("-") else [text]


def _done(serial: str, action: str, params: Mapping[str, Any], words: list[Any], flags: str = "") -> d.DoneAnswer:
    parts = (shlex.join(["clawperator", *map(str, words)]), flags, device_flag(serial))
    made = {"id": "a1", "type": action, "params": dict(params)}
    return d.DoneAnswer(serial, " ".join(filter(None, parts)), made)


class WaitForState(Struct, frozen=True):
    """A reader that waits, in the event loop, until the state of a device is another one."""

    live: WatchedScreen
    since: str
    seconds: float


# Looking


def wait_for_screen(request: d.LiveRequest, call: HttpCall) -> WaitForState:
    check_look("snapshot_ui")
    return WaitForState(_live(request, call), request.since, request.waitMs / 1000)


def get_picture(request: d.PictureRequest, call: HttpCall) -> FileAnswer:
    check_look("take_screenshot")
    return FileAnswer(_live(request, call).picture(), "image/png")


def get_element(request: d.ElementRequest, call: HttpCall) -> d.ElementAnswer:
    check_look("snapshot_ui")
    check_look("query")
    screen = _live(request, call).find_screen(request.screenId)
    node = None if screen is None else screen.node(request.node)
    if screen is None or node is None:
        what = f"node {request.node}" if screen is not None else f"screen {request.screenId}"
        message = f"{what} is not known, or not any more"
        hint = "Get the screen again with GET /screen, and use its screenId."
        raise ClawError("NODE_NOT_FOUND", message, hint=hint, operation="element")
    return d.ElementAnswer(**describe_element(screen, node))


def _live(request: d.OnDevice, call: HttpCall) -> WatchedScreen:
    device = _device(request, call)
    is_simulated, backend = device.endpoint.simulated, call.access.options.backend

    def make_source() -> LiveSource:
        if is_simulated:
            return SimulatedSource(device.serial, can_record=backend != "adb")
        package = call.package(request.operatorPackage)
        return CapturedSource(device, package=package, backend=backend, stop=call.is_stopping)

    return call.services.screens.open(device.serial, make_source, simulated=is_simulated)


def _device(request: d.OnDevice, call: HttpCall) -> Device:
    return resolve_device(call.serial(request.deviceId))


# Acting


def touch(request: d.TouchRequest, call: HttpCall) -> d.DoneAnswer:
    at = (request.x, request.y)
    to = None if request.toX is UNSET or request.toY is UNSET else (request.toX, request.toY)
    moves = request.kind in ("swipe", "drag")
    if moves != (to is not None):
        message = f"a {request.kind} {'needs' if moves else 'takes no'} toX and toY"
        raise ClawError("INVALID_BODY", message, operation="serve", target="POST /touch")
    default = {"tap": _TAP_MS, "long_press": _LONG_PRESS_MS}.get(request.kind, _SWIPE_MS)
    milliseconds = default if request.durationMs is UNSET else request.durationMs
    action, params = touch_params(request.kind, at, to, milliseconds)
    with _acting(request, call, action, params, lambda seen: touched_node(seen, *at)) as (device, screen, target):
        user_input(device).touch(at, to, milliseconds, holds=request.kind == "drag")
    return _answer(call, describe_touch(device.serial, action, params, screen, target))


def press(request: d.KeyRequest, call: HttpCall) -> d.DoneAnswer:
    key, params = request.key, {"key": request.key}
    with _acting(request, call, "press_key", params) as (device, *_):
        user_input(device).press(key)
    words = ["back"] if key == "back" else ["press", key]
    return _answer(call, _done(device.serial, "press_key", params, words))


def close_app(request: d.CloseRequest, call: HttpCall) -> d.DoneAnswer:
    package, params = request.applicationId, {"applicationId": request.applicationId}
    with _acting(request, call, "close_app", params) as (device, *_):
        if package not in list_packages(device):
            message = f"{package} is not installed on {device.serial}"
            hint = "GET /packages lists the installed apps."
            raise ClawError("APP_NOT_FOUND", message, hint=hint, target=package)
        force_stop(device, package)
    return _answer(call, _done(device.serial, "close_app", params, ["close", package]))


def type_text(request: d.TextRequest, call: HttpCall) -> d.DoneAnswer:
    params = {"text": request.text, "append": True}
    with _acting(request, call, "enter_text", params, focused_field) as (device, before, _):
        user_input(device).type_text(request.text)
        is_simulated = device.endpoint.simulated
        screen = _screen_now(device, call) if is_simulated else before
    return _answer(call, describe_text(device.serial, request.text, screen, is_typed=is_simulated))


@contextmanager
def _acting(
    request: d.OnDevice,
    call: HttpCall,
    action: str,
    params: dict[str, Any],
    find_target: Callable[[Hierarchy], Node | None] = lambda _: None,
) -> Iterator[tuple[Device, Hierarchy | None, Node | None]]:
    """Hold the device of a request, with its screen and the target, for an action that the policy allows on it."""
    plan = validate(single_action(action, params))
    check_actions(plan.document["actions"])
    device = _device(request, call)
    try:
        with live_lease(device.serial, action):
            screen = _screen_now(device, call)
            target = None if screen is None else find_target(screen)
            if target is not None:
                check_target(plan.execution.actions[0], target)
            yield device, screen, target
    except ClawError as e:
        raise DeviceFailure(e, device.serial) from e


def _screen_now(device: Device, call: HttpCall) -> Hierarchy | None:
    """The screen: of a simulated phone as it is, of another device as it was last seen. None without one."""
    if not device.endpoint.simulated:
        live = call.services.screens.find(device.serial)
        return live.screens[0].hierarchy if live is not None and live.screens else None
    try:
        return parse_hierarchy(SimulatedSource(device.serial).look("").data["text"])
    except ClawError as e:
        if e.code != "HIERARCHY_INVALID":
            raise
        return None


def _answer(call: HttpCall, done: d.DoneAnswer) -> d.DoneAnswer:
    live = call.services.screens.find(done.deviceId)
    if live is not None:
        live.look_soon()
    return done


# Recordings: events while one is made, replays and reports

_REPLAY_ENDING, _REPORT_ENDING = ".replay.json", ".report.html"
_REPORT_START = b"<!doctype html>"
_MAX_REPORT_BYTES = 256 * 1024 * 1024
# A report is a file in a folder that others may write: it gets an origin of its own, without the user's session.
_REPORT_POLICY = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def get_events(request: d.EventsRequest, call: HttpCall) -> d.EventsAnswer:
    check_call("recording_pull", "read-only", request.sessionId)
    device = resolve_device(call.serial(request.deviceId))
    package = find_operator(device, call.package(request.operatorPackage))
    recording = call.services.recordings.get(device, package, request.sessionId, again=request.since == 0)
    recording.read()
    events: list[dict[str, Any]] = recording.events[request.since :]
    return d.EventsAnswer(request.sessionId, events, request.since + len(events), recording.left_out)


def replay(request: d.ReplayRequest, call: HttpCall) -> d.ReplayAnswer:
    """Replay a recording. One that stops at a step has a result as well, with the error of that step."""
    source = call.path(request.input, "recording_replay", "read")
    out = call.path(derived_path(source, _REPLAY_ENDING), "recording_replay", "write")
    params = {"out": out, **{name: getattr(request, name) for name in ("input", "keepApps", "allowCoordinates")}}
    context = replace(call.access.context(call.deadline), device=call.serial(request.deviceId))
    try:
        ran = call.access.registry.call(ToolCall("recording_replay", params), context)
    except TurnCancelledError:
        raise ClawError("INTERRUPTED", "recording_replay was interrupted", operation="recording_replay") from None
    if not isinstance(ran.result, dict):
        raise ran.error or ClawError("UNKNOWN", "the replay has no result", operation="replay")
    return d.ReplayAnswer(out, ran.result)


def open_report(request: d.OpenReportRequest, call: HttpCall) -> FileAnswer:
    """A report of the folder. Nothing else is served as a page."""
    check_call("report", "read-only", *path_spellings(request.path))
    other = ClawError("INVALID_PATH", f"{request.path[:80]!r} is not a report", operation="serve")
    if not request.path.endswith(_REPORT_ENDING):
        raise other
    path = call.path(request.path, "report", "read")
    try:
        with open_regular(path) as file:
            data = file.read(_MAX_REPORT_BYTES)
    except (OSError, ValueError) as e:
        message, hint = f"cannot read {request.path}: {why(e)}", "Write it first: POST /recordings/report."
        raise ClawError("REPORT_FAILED", message, hint=hint, operation="report", target=request.path) from e
    if not data.startswith(_REPORT_START):  # such as a recording, which may hold secrets
        raise other
    return FileAnswer(data, "text/html", {"Content-Security-Policy": _REPORT_POLICY})
