"""Methods of a phone: touch, text and scrolling."""

import os
from typing import Any, Literal, Unpack

from clawperator.api.calls import container_of, given, milliseconds
from clawperator.api.expectations import Expected, expectation
from clawperator.api.gesture_methods import GestureMethods, gesture_ms
from clawperator.api.results import ActionResult, Scrolled, action_result, read_scrolled
from clawperator.api.selectors import Selector, SelectorKwargs, find_matcher, require_matcher
from clawperator.contract.actions import click_type
from clawperator.contract.execution import LONGEST_WAIT_MS

Direction = Literal["down", "up", "left", "right"]


class TouchMethods(GestureMethods):
    """Click, type and scroll."""

    def click(  # noqa: PLR0913 - the parameters of the action
        self,
        text: str | None = None,
        *,
        coordinate: tuple[int, int] | None = None,
        long: bool = False,
        focus: bool = False,
        duration: float | None = None,
        expect: Expected = None,
        settle: bool = False,
        timeout: float | None = None,
        **selector: Unpack[SelectorKwargs],
    ) -> ActionResult:
        """Click a node or a point, press it long for ``duration`` seconds, or give it the focus."""
        params: dict[str, Any] = click_type(long=long, focus=focus)
        matcher = find_matcher(text, selector) if coordinate else require_matcher(text, selector, "click")
        if matcher:
            params["matcher"] = matcher
        if coordinate is not None:
            x, y = coordinate
            params["coordinate"] = {"x": x, "y": y}
        params |= given(durationMs=gesture_ms(duration)) | expectation(expect, settle=settle)
        return action_result(self._step("click", params, look=timeout))

    def enter_text(  # noqa: PLR0913 - the parameters of the action
        self,
        value: str,
        *,
        text: str | None = None,
        submit: bool = False,
        clear: bool = False,
        append: bool = False,
        expect: Expected = None,
        settle: bool = False,
        timeout: float | None = None,
        **selector: Unpack[SelectorKwargs],
    ) -> ActionResult:
        """Enter a text into a field, by default the focused one.

        It replaces what the field has, unless ``append``. An empty text empties the field.
        """
        params = {**given(matcher=find_matcher(text, selector)), "text": value, "submit": submit}
        params |= {"clear": clear or not value, **({"append": True} if append else {})}
        return action_result(self._step("enter_text", params | expectation(expect, settle=settle), look=timeout))

    def enter_secret(  # noqa: PLR0913 - the parameters of the action
        self,
        *,
        env: str | None = None,
        file: str | os.PathLike[str] | None = None,
        text: str | None = None,
        submit: bool = False,
        clear: bool = False,
        expect: Expected = None,
        settle: bool = False,
        timeout: float | None = None,
        **selector: Unpack[SelectorKwargs],
    ) -> ActionResult:
        """Enter the text of an environment variable or of a file. It is in no document, log or result."""
        source = given(env=env, file=None if file is None else os.fspath(file))
        params = {**given(matcher=find_matcher(text, selector)), "textFrom": source, "submit": submit}
        params |= {"clear": clear, **expectation(expect, settle=settle)}
        return action_result(self._step("enter_text", params, look=timeout))

    # The name of the command.
    type = enter_text

    def scroll(  # noqa: PLR0913 - the parameters of the action
        self,
        direction: Direction = "down",
        *,
        container: Selector | None = None,
        distance: float | None = None,
        expect: Expected = None,
        settle: bool = False,
        timeout: float | None = None,
    ) -> Scrolled:
        """Scroll once. ``distance`` is the fraction of the container that one swipe covers."""
        params = given(direction=direction, container=container_of(container), distanceRatio=distance)
        return read_scrolled(self._step("scroll", params | expectation(expect, settle=settle), take=timeout))

    def scroll_until(  # noqa: PLR0913 - the parameters of the action
        self,
        text: str | None = None,
        *,
        direction: Direction = "down",
        container: Selector | None = None,
        max_scrolls: int | None = None,
        expect: Expected = None,
        settle: bool = False,
        timeout: float = 10,
        **selector: Unpack[SelectorKwargs],
    ) -> Scrolled:
        """Scroll until a node is visible, or to the end without a selector."""
        limit = milliseconds(timeout, LONGEST_WAIT_MS)
        params = given(
            direction=direction,
            container=container_of(container),
            matcher=find_matcher(text, selector),
            maxScrolls=max_scrolls,
            maxDurationMs=limit,
        )
        return read_scrolled(
            self._step("scroll_until", params | expectation(expect, settle=settle), wait_ms=limit)
        )

    def scroll_and_click(  # noqa: PLR0913 - the parameters of the action
        self,
        text: str | None = None,
        *,
        direction: Direction = "down",
        container: Selector | None = None,
        max_swipes: int | None = None,
        long: bool = False,
        expect: Expected = None,
        settle: bool = False,
        timeout: float | None = None,
        **selector: Unpack[SelectorKwargs],
    ) -> Scrolled:
        """Scroll until a node is visible, then click it. The effect is that of the click."""
        params = given(
            direction=direction,
            container=container_of(container),
            matcher=require_matcher(text, selector, "scroll_and_click"),
            maxSwipes=max_swipes,
            clickAfter=True,
            clickType="long_click" if long else None,
        )
        return read_scrolled(
            self._step("scroll_and_click", params | expectation(expect, settle=settle), take=timeout)
        )
