"""Methods of a phone: reading the screen, searching it, and waiting for it."""

import os
from typing import TYPE_CHECKING, Any, Literal, Unpack

from clawperator.api.calls import PhoneCalls, container_of, given, milliseconds
from clawperator.api.results import Arrived, FoundNode, LabelValue, json_value, read_count, required_value
from clawperator.api.selectors import Selector, SelectorKwargs, find_matcher, require_matcher
from clawperator.api.snapshot import (
    ScreenElement,
    ScreenOutline,
    ScreenSearch,
    Snapshot,
    element_results,
    outline_result,
    read_snapshot,
    search,
)
from clawperator.contract.execution import LONGEST_WAIT_MS
from clawperator.contract.limits import MAX_NAVIGATION_TIMEOUT_MS

if TYPE_CHECKING:
    from clawperator.ui.node import Node

Validator = Literal["temperature", "version", "regex"]


class ScreenMethods(PhoneCalls):
    """Read the screen, and wait for it."""

    # Reading

    def read(
        self,
        text: str | None = None,
        *,
        container: Selector | None = None,
        validator: Validator | None = None,
        pattern: str | None = None,
        timeout: float | None = None,
        **selector: Unpack[SelectorKwargs],
    ) -> str:
        """The label of a node. ``pattern`` must match the whole label with the validator ``regex``."""
        matcher = require_matcher(text, selector, "read")
        params = given(
            matcher=matcher, container=container_of(container), validator=validator, validatorPattern=pattern
        )
        return required_value(self._step("read_text", params, look=timeout), "text")

    def read_all(
        self,
        text: str | None = None,
        *,
        container: Selector | None = None,
        timeout: float | None = None,
        **selector: Unpack[SelectorKwargs],
    ) -> list[str]:
        """The labels of all nodes that match; possibly none."""
        matcher = require_matcher(text, selector, "read_all")
        params = given(matcher=matcher, container=container_of(container), all=True)
        return json_value(self._step("read_text", params, look=timeout), "text", list[str])

    def query(
        self,
        text: str | None = None,
        *,
        suggest: bool = False,
        limit: int = 50,
        timeout: float | None = None,
        **selector: Unpack[SelectorKwargs],
    ) -> list[dict[str, Any]]:
        """The elements that match, each with role, label, resourceId, class, bounds and states; possibly none.

        With ``suggest`` each has ``selectors``: those that match it alone, the most stable first. Without a
        selector, every element that a user can see or touch.
        """
        params = given(matcher=find_matcher(text, selector), limit=limit, suggest=suggest)
        return json_value(self._step("query", params, take=timeout), "matches", list[dict[str, Any]])

    def read_value(
        self, label: str | None = None, *, timeout: float | None = None, **selector: Unpack[SelectorKwargs]
    ) -> str:
        """The value beside a label."""
        matcher = require_matcher(label, selector, "read_value")
        step = self._step("read_key_value_pair", {"labelMatcher": matcher}, look=timeout)
        return required_value(step, "value")

    def read_values(
        self, label: str | None = None, *, timeout: float | None = None, **selector: Unpack[SelectorKwargs]
    ) -> list[LabelValue]:
        """Every matching label that has a value beside it, with the value."""
        matcher = require_matcher(label, selector, "read_values")
        step = self._step("read_key_value_pair", {"labelMatcher": matcher, "all": True}, look=timeout)
        return json_value(step, "pairs", list[LabelValue])

    def snapshot(self, *, settle: bool = False, timeout: float | None = None) -> Snapshot:
        """The screen as a tree and as an outline. With ``settle`` it waits until two captures agree."""
        step = self._step("snapshot_ui", {"settle": True} if settle else None, take=timeout)
        return read_snapshot(step, self._references)

    def read_outline(
        self,
        *,
        max_tokens: int | None = None,
        since: str | None = None,
        settle: bool = False,
        timeout: float | None = None,
    ) -> ScreenOutline:
        """The screen as text: one line for each element a user can see or touch, with its reference.

        ``max_tokens`` cuts it at whole lines; a token is four bytes. With ``since``, the ``snapshot_id`` of an
        earlier snapshot, only added, removed and changed lines.
        """
        params = given(view="outline", maxTokens=max_tokens, since=since, settle=settle or None)
        return outline_result(self._step("snapshot_ui", params, take=timeout))

    def read_elements(
        self, *, max_tokens: int | None = None, settle: bool = False, timeout: float | None = None
    ) -> list[ScreenElement]:
        """The elements of the outline as objects."""
        params = given(view="json", maxTokens=max_tokens, settle=settle or None)
        return element_results(self._step("snapshot_ui", params, take=timeout))

    def screenshot(
        self, path: str | os.PathLike[str] | None = None, *, marks: bool = False, timeout: float | None = None
    ) -> str:
        """Save the screen as PNG, by default to a new file in the product home. Returns the path.

        With ``marks`` the references of the outline are drawn on it.
        """
        params: dict[str, Any] = {} if path is None else {"path": os.fspath(path)}
        if marks:
            params["marks"] = True
        return required_value(self._step("take_screenshot", params, take=timeout), "path")

    # Searching the screen as it is now

    def find(
        self, text: str | None = None, *, timeout: float | None = None, **selector: Unpack[SelectorKwargs]
    ) -> "Node | None":
        """The first visible node that matches, or None. It looks once: ``wait`` waits for a node."""
        require_matcher(text, selector, "find")
        return next(iter(self._search(text, selector, timeout, several=False)), None)

    def find_all(
        self, text: str | None = None, *, timeout: float | None = None, **selector: Unpack[SelectorKwargs]
    ) -> list["Node"]:
        """Every visible node that matches; without a selector, every visible node."""
        return self._search(text, selector, timeout, several=True)

    def shows(
        self, text: str | None = None, *, timeout: float | None = None, **selector: Unpack[SelectorKwargs]
    ) -> bool:
        """Whether a node is visible now."""
        return self.find(text, timeout=timeout, **selector) is not None

    def labels(self, *, timeout: float | None = None) -> list[str]:
        """Every visible label, in tree order."""
        return self._screen(timeout).labels()

    def foreground(self, *, timeout: float | None = None) -> str | None:
        """The package in the foreground, if the device reports it."""
        return self.snapshot(timeout=timeout).package

    def _search(
        self, text: str | None, selector: SelectorKwargs, timeout: float | None, *, several: bool
    ) -> list["Node"]:
        references = self._references() if "ref" in selector else None
        return search(self._screen(timeout), text, selector, references, several=several)

    def _screen(self, timeout: float | None) -> ScreenSearch:
        return self.snapshot(timeout=timeout)

    # Waiting

    def wait(
        self, text: str | None = None, *, timeout: float = 10, **selector: Unpack[SelectorKwargs]
    ) -> FoundNode:
        """Wait until a node is on the screen."""
        limit = milliseconds(timeout, LONGEST_WAIT_MS)
        params = {"matcher": require_matcher(text, selector, "wait"), "timeoutMs": limit}
        data = self._step("wait_for_node", params, wait_ms=limit).data
        return FoundNode(data.get("resource_id", ""), data.get("label", ""))

    def wait_for_nav(
        self,
        package: str | None = None,
        *,
        text: str | None = None,
        timeout: float = 10,
        **selector: Unpack[SelectorKwargs],
    ) -> Arrived:
        """Wait until an app is in the foreground or a node is visible, whichever comes first."""
        limit = milliseconds(timeout, MAX_NAVIGATION_TIMEOUT_MS)
        params = given(expectedPackage=package, expectedNode=find_matcher(text, selector), timeoutMs=limit)
        data = self._step("wait_for_navigation", params, wait_ms=limit).data
        return Arrived(data.get("resolved_package"), read_count(data, "elapsed_ms"))

    def sleep(self, seconds: float) -> None:
        """Wait for a number of seconds while holding the device's lease."""
        duration = milliseconds(seconds, LONGEST_WAIT_MS)
        self._step("sleep", {"durationMs": duration}, wait_ms=duration)
