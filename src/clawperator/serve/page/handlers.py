"""Work of the page's routes: the live screen, its elements, touches, keys and text."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from msgspec import UNSET, Struct

from clawperator.contract.execution import single_action, validate
from clawperator.device.adb.client import Device
from clawperator.device.backends.host_actions import force_stop
from clawperator.device.discovery import resolve_device
from clawperator.device.run.target_policy import check_target
from clawperator.device.screen.live_view import CapturedSource, SimulatedSource, live_lease, user_input
from clawperator.errors import ClawError
from clawperator.policy.gate import check_actions, check_look
from clawperator.serve.http.calls import HttpCall
from clawperator.serve.http.documents import (
    CloseRequest,
    DoneAnswer,
    ElementAnswer,
    ElementRequest,
    KeyRequest,
    LiveRequest,
    OnDevice,
    PictureRequest,
    TextRequest,
    TouchRequest,
)
from clawperator.serve.http.errors import DeviceFailure
from clawperator.serve.page.files import FileAnswer
from clawperator.serve.page.screen_document import describe_element
from clawperator.serve.page.touches import (
    DoneAction,
    describe_close,
    describe_key,
    describe_text,
    describe_touch,
    focused_field,
    touch_params,
    touched_node,
)
from clawperator.serve.page.watched_screens import WatchedScreen
from clawperator.ui.node import Hierarchy, Node
from clawperator.ui.parse import parse_hierarchy

_TAP_MS, _LONG_PRESS_MS, _SWIPE_MS = 100, 800, 300


class WaitForState(Struct, frozen=True):
    """A reader that waits, in the event loop, until the state of a device is another one."""

    live: WatchedScreen
    since: str
    seconds: float


# Looking


def wait_for_screen(request: LiveRequest, call: HttpCall) -> WaitForState:
    check_look("snapshot_ui")
    return WaitForState(_live(request, call), request.since, request.waitMs / 1000)


def get_picture(request: PictureRequest, call: HttpCall) -> FileAnswer:
    check_look("take_screenshot")
    return FileAnswer(_live(request, call).picture(), "image/png")


def get_element(request: ElementRequest, call: HttpCall) -> ElementAnswer:
    check_look("snapshot_ui")
    check_look("query")
    screen = _live(request, call).find_screen(request.screenId)
    node = None if screen is None else screen.node(request.node)
    if screen is None or node is None:
        what = f"node {request.node}" if screen is not None else f"screen {request.screenId}"
        raise ClawError(
            "NODE_NOT_FOUND",
            f"{what} is not known, or not any more",
            hint="Get the screen again with GET /screen, and use its screenId.",
            operation="element",
        )
    return ElementAnswer(**describe_element(screen, node))


def _live(request: OnDevice, call: HttpCall) -> WatchedScreen:
    device = _device(request, call)
    make = partial(_captured_source, device, request, call)
    is_simulated = device.endpoint.simulated
    can_record = call.access.options.backend != "adb"
    return call.services.screens.open(
        device.serial,
        (lambda: SimulatedSource(device.serial, can_record=can_record)) if is_simulated else make,
        simulated=is_simulated,
    )


def _captured_source(device: Device, request: OnDevice, call: HttpCall) -> CapturedSource:
    package, backend = call.package(request.operatorPackage), call.access.options.backend
    return CapturedSource(device, package=package, backend=backend, stop=call.is_stopping)


def _device(request: OnDevice, call: HttpCall) -> Device:
    return resolve_device(call.serial(request.deviceId))


# Acting


def touch(request: TouchRequest, call: HttpCall) -> DoneAnswer:
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
    return _answer(device, call, describe_touch(device.serial, action, params, screen, target))


def press(request: KeyRequest, call: HttpCall) -> DoneAnswer:
    with _acting(request, call, "press_key", {"key": request.key}) as (device, *_):
        user_input(device).press(request.key)
    return _answer(device, call, describe_key(device.serial, request.key))


def close_app(request: CloseRequest, call: HttpCall) -> DoneAnswer:
    with _acting(request, call, "close_app", {"applicationId": request.applicationId}) as (device, *_):
        force_stop(device, request.applicationId)
    return _answer(device, call, describe_close(device.serial, request.applicationId))


def type_text(request: TextRequest, call: HttpCall) -> DoneAnswer:
    params = {"text": request.text, "append": True}
    with _acting(request, call, "enter_text", params, focused_field) as (device, before, _):
        user_input(device).type_text(request.text)
        is_simulated = device.endpoint.simulated
        screen = _screen_now(device, call) if is_simulated else before
    return _answer(device, call, describe_text(device.serial, request.text, screen, is_typed=is_simulated))


@contextmanager
def _acting(
    request: OnDevice,
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


def _answer(device: Device, call: HttpCall, done: DoneAction) -> DoneAnswer:
    live = call.services.screens.find(device.serial)
    if live is not None:
        live.look_soon()
    return DoneAnswer(device.serial, done.command, done.action)
