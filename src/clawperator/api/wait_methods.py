"""Methods of a phone: waiting for the screen."""

from typing import Unpack

from clawperator.api.calls import PhoneCalls, given, milliseconds
from clawperator.api.results import FoundNode, read_count, required_value
from clawperator.api.selectors import Selector, SelectorKwargs, require_matcher
from clawperator.contract.execution import LONGEST_WAIT_MS


class WaitMethods(PhoneCalls):
    """Wait until something is gone, changed or idle, or until one of several nodes appears."""

    def wait_until_gone(
        self, text: str | None = None, *, timeout: float = 10, **selector: Unpack[SelectorKwargs]
    ) -> None:
        """Wait until no node on the screen matches."""
        limit = milliseconds(timeout, LONGEST_WAIT_MS)
        params = {"matcher": require_matcher(text, selector, "wait_until_gone"), "timeoutMs": limit}
        self._step("wait_until_gone", params, wait_ms=limit)

    def wait_for_text_change(
        self,
        text: str | None = None,
        *,
        old: str | None = None,
        timeout: float = 10,
        **selector: Unpack[SelectorKwargs],
    ) -> str:
        """Wait until the label of a node differs from ``old``, by default from its label now, and return it."""
        limit = milliseconds(timeout, LONGEST_WAIT_MS)
        matcher = require_matcher(text, selector, "wait_for_text_change")
        params = given(matcher=matcher, text=old, timeoutMs=limit)
        return required_value(self._step("wait_for_text_change", params, wait_ms=limit), "text")

    def wait_until_idle(self, *, quiet: float | None = None, timeout: float = 10) -> None:
        """Wait until the screen has not changed for ``quiet`` seconds, by default half a second."""
        limit = milliseconds(timeout, LONGEST_WAIT_MS)
        quiet_ms = None if quiet is None else milliseconds(quiet, LONGEST_WAIT_MS)
        self._step("wait_until_idle", given(quietMs=quiet_ms, timeoutMs=limit), wait_ms=limit)

    def wait_for_any(self, *selectors: str | Selector, timeout: float = 10) -> tuple[int, FoundNode]:
        """Wait until a node matches one of the selectors, which are labels or dictionaries.

        Returns the index of that selector, and the node.
        """
        limit = milliseconds(timeout, LONGEST_WAIT_MS)
        listed = [
            require_matcher(one, {}, "wait_for_any")
            if isinstance(one, str)
            else require_matcher(None, one, "wait_for_any")
            for one in selectors
        ]
        step = self._step("wait_for_any", {"selectors": listed, "timeoutMs": limit}, wait_ms=limit)
        found = FoundNode(step.data.get("resource_id", ""), step.data.get("label", ""))
        return read_count(step.data, "matched_index"), found
