"""Methods of a phone: gestures, and submitting a field."""

from typing import Any, Literal, Unpack

from clawperator.api.calls import PhoneCalls, given, milliseconds
from clawperator.api.expectations import Expected, expectation
from clawperator.api.results import ActionResult, action_result
from clawperator.api.selectors import Selector, SelectorKwargs, find_matcher, require_matcher
from clawperator.contract.action_params import MAX_GESTURE_MS

Point = tuple[int, int]


def gesture_ms(seconds: float | None) -> int | None:
    return None if seconds is None else milliseconds(seconds, MAX_GESTURE_MS)


class GestureMethods(PhoneCalls):
    """Swipe, drag and tap twice, and submit a field."""

    def swipe(  # noqa: PLR0913 - the parameters of the action
        self,
        direction: Literal["down", "up", "left", "right"] | None = None,
        *,
        start: Point | None = None,
        end: Point | None = None,
        text: str | None = None,
        distance: float | None = None,
        duration: float | None = None,
        expect: Expected = None,
        settle: bool = False,
        timeout: float | None = None,
        **selector: Unpack[SelectorKwargs],
    ) -> ActionResult:
        """Swipe between two points, or move the finger in a direction on a node or the screen."""
        params = given(
            direction=direction,
            start=_coordinate(start),
            end=_coordinate(end),
            matcher=find_matcher(text, selector),
            distanceRatio=distance,
            durationMs=gesture_ms(duration),
        )
        return action_result(self._step("swipe", params | expectation(expect, settle=settle), look=timeout))

    def drag(  # noqa: PLR0913 - the parameters of the action
        self,
        text: str | None = None,
        *,
        start: Point | None = None,
        to: Selector | None = None,
        end: Point | None = None,
        duration: float | None = None,
        expect: Expected = None,
        settle: bool = False,
        timeout: float | None = None,
        **selector: Unpack[SelectorKwargs],
    ) -> ActionResult:
        """Press a node or a point long, move it to another, and release it."""
        params = given(
            matcher=find_matcher(text, selector),
            start=_coordinate(start),
            toMatcher=None if to is None else require_matcher(None, to, "drag"),
            end=_coordinate(end),
            durationMs=gesture_ms(duration),
        )
        return action_result(self._step("drag", params | expectation(expect, settle=settle), look=timeout))

    def double_tap(
        self,
        text: str | None = None,
        *,
        coordinate: Point | None = None,
        expect: Expected = None,
        settle: bool = False,
        timeout: float | None = None,
        **selector: Unpack[SelectorKwargs],
    ) -> ActionResult:
        """Tap a node or a point twice."""
        params = given(matcher=find_matcher(text, selector), coordinate=_coordinate(coordinate))
        return action_result(self._step("double_tap", params | expectation(expect, settle=settle), look=timeout))

    def submit(
        self,
        text: str | None = None,
        *,
        expect: Expected = None,
        settle: bool = False,
        timeout: float | None = None,
        **selector: Unpack[SelectorKwargs],
    ) -> ActionResult:
        """Submit a field with the keyboard's action, by default the focused field."""
        params = given(matcher=find_matcher(text, selector))
        return action_result(self._step("submit_text", params | expectation(expect, settle=settle), look=timeout))


def _coordinate(point: Point | None) -> dict[str, Any] | None:
    return None if point is None else {"x": point[0], "y": point[1]}
