"""Gestures: swipes, drags and double taps, on nodes or between points."""

from collections.abc import Callable

from msgspec import Struct, UnsetType

from clawperator.contract.action_params import Coordinate
from clawperator.contract.host_actions import DoubleTapParams, DragParams, SwipeParams
from clawperator.contract.selectors import NodeSelector
from clawperator.engine.context import ActionContext, StepData, unsupported
from clawperator.engine.driver import GestureInput
from clawperator.engine.retry import with_retry
from clawperator.engine.settle import ScreenBefore, evidence, look, look_for, settle, try_look
from clawperator.engine.targets import describe, describe_node, resolve, stroke_in, touch_point, touched_in_place
from clawperator.errors import ClawError
from clawperator.ui.node import Bounds, Hierarchy, Node

Point = tuple[int, int]

# A swipe over a node moves at least this part of the longer side of the screen.
_LEAST_PART = 20
_DIRECTIONS = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}


class Stroke(Struct, frozen=True):
    """Where a gesture begins and ends, on the screen ``before`` it."""

    before: ScreenBefore | None
    start: Point
    end: Point
    target: str
    candidates: int = 1
    node: Node | None = None


def swipe(context: ActionContext, params: SwipeParams) -> StepData:
    ms = round(params.durationMs)

    def attempt() -> Stroke:
        stroke = _swipe_stroke(context, params)
        _accept(context, "swipe", lambda: context.driver.swipe(stroke.start, stroke.end, ms))
        return stroke

    return _report(context, with_retry(context, params.retry, attempt), "gesture_swipe", ms)


def drag(context: ActionContext, params: DragParams) -> StepData:
    ms, driver = round(params.durationMs), context.driver

    def attempt() -> Stroke:
        stroke = _drag_stroke(context, params)
        if not isinstance(driver, GestureInput):
            raise unsupported("perform a drag")
        _accept(context, "drag", lambda: driver.drag(stroke.start, stroke.end, ms))
        return stroke

    return _report(context, with_retry(context, params.retry, attempt), "gesture_drag", ms)


def double_tap(context: ActionContext, params: DoubleTapParams) -> StepData:
    driver = context.driver

    def attempt() -> Stroke:
        if isinstance(params.coordinate, Coordinate):
            at = _point(params.coordinate)
            stroke = Stroke(try_look(context), at, at, describe(point=_written(at)))
        else:
            assert isinstance(params.matcher, NodeSelector)
            before, found = look_for(context, params.matcher)
            at = touch_point(before.screen, found[0], context.driver.frame())
            stroke = Stroke(before, at, at, describe_node(found[0]), len(found), found[0])
        if not isinstance(driver, GestureInput):
            raise unsupported("perform a double tap")
        _accept(context, "double tap", lambda: driver.double_tap(*at))
        return stroke

    stroke = with_retry(context, params.retry, attempt)
    settled = settle(context, stroke.before)
    data = evidence(stroke.target, stroke.candidates, "gesture_double_tap", settled, stroke.before)
    if stroke.node is not None and isinstance(params.matcher, NodeSelector):
        data |= touched_in_place(context, stroke.node, params.matcher, settled.screen)
    return {"coordinate": _written(stroke.start), **data}


def _swipe_stroke(context: ActionContext, params: SwipeParams) -> Stroke:
    if isinstance(params.start, Coordinate) and isinstance(params.end, Coordinate):
        start, end = _point(params.start), _point(params.end)
        return Stroke(try_look(context), start, end, describe(point=_written(start)))
    assert isinstance(params.direction, str)
    frame = context.driver_or_timeout().frame()
    if isinstance(params.matcher, NodeSelector):
        before, found = look_for(context, params.matcher)
        area = found[0].bounds.normalised().intersection(frame)
        stroke = direction_stroke(area, params.direction, params.distanceRatio)
        start, end = stroke_in(before.screen, found[0], frame, stroke)
        end = _far_enough(start, end, params.direction, frame)
        return Stroke(before, start, end, describe_node(found[0]), len(found))
    start, end = direction_stroke(frame, params.direction, params.distanceRatio)
    return Stroke(try_look(context), start, end, describe(point=_written(start)))


def _far_enough(start: Point, end: Point, direction: str, frame: Bounds) -> Point:
    """Where a swipe over a small node ends: a movement of a few pixels would be a tap on it."""
    least = max(frame.width, frame.height) // _LEAST_PART
    if max(abs(end[0] - start[0]), abs(end[1] - start[1])) >= least:
        return end
    x, y = _DIRECTIONS[direction]
    to_x, to_y = start[0] + x * least, start[1] + y * least
    return min(max(to_x, frame.left), frame.right - 1), min(max(to_y, frame.top), frame.bottom - 1)


def direction_stroke(area: Bounds, direction: str, ratio: float) -> tuple[Point, Point]:
    """The movement of a finger in this direction, centred in the area, over ``ratio`` of it."""
    x, y = area.centre
    across, along = round(area.width * ratio / 2), round(area.height * ratio / 2)
    left, right = (x - across, y), (x + across, y)
    top, bottom = (x, y - along), (x, y + along)
    strokes = {"up": (bottom, top), "down": (top, bottom), "left": (right, left), "right": (left, right)}
    return strokes[direction]


def _drag_stroke(context: ActionContext, params: DragParams) -> Stroke:
    first = context.capture()
    for selector in (params.matcher, params.toMatcher):
        _nodes(context, first, selector)
    before = look(context, first)
    sources = _nodes(context, before.screen, params.matcher)
    targets = _nodes(context, before.screen, params.toMatcher)
    frame = context.driver.frame()
    start = touch_point(before.screen, sources[0], frame) if sources else _given(params.start)
    end = touch_point(before.screen, targets[0], frame, inside=True) if targets else _given(params.end)
    target = describe_node(sources[0]) if sources else describe(point=_written(start))
    return Stroke(before, start, end, target, max(1, len(sources)))


def _nodes(context: ActionContext, screen: Hierarchy, selector: NodeSelector | UnsetType) -> list[Node]:
    return resolve(context, screen, selector) if isinstance(selector, NodeSelector) else []


def _given(point: Coordinate | UnsetType) -> Point:
    assert isinstance(point, Coordinate)
    return _point(point)


def _point(coordinate: Coordinate) -> Point:
    return coordinate.x, coordinate.y


def _written(point: Point) -> str:
    return f"({point[0]},{point[1]})"


def _accept(context: ActionContext, gesture: str, act: Callable[[], bool]) -> None:
    if not context.perform(act):
        hint = "Run 'clawperator snapshot': every point must be within the bounds of the first node."
        raise ClawError("GESTURE_FAILED", f"the device rejected the {gesture}", hint=hint)


def _report(context: ActionContext, stroke: Stroke, method: str, ms: int) -> StepData:
    settled = settle(context, stroke.before)
    data = evidence(stroke.target, stroke.candidates, method, settled, stroke.before)
    return {"start": _written(stroke.start), "end": _written(stroke.end), "duration_ms": str(ms), **data}
