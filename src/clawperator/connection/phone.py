"""A connected device: every action is a method, and one call is one execution.

A method returns the step's result, typed, or raises the step's error: a ``ClawError`` with its code, message and
hint, and the whole step in ``details["step"]``. Times are in seconds. A selector is the label of a node, or
keywords: ``click("Display")``, ``click(id="android:id/title", text_contains="disp")``.
"""

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Unpack

from clawperator.commands import BackendName
from clawperator.connection.recording import RecordingSession
from clawperator.connection.results import (
    ActionResult,
    Arrived,
    FoundNode,
    LabelValue,
    Recorded,
    Scrolled,
    action_result,
    json_value,
    only_step,
    read_count,
    read_scrolled,
    recorded,
    required_value,
)
from clawperator.connection.selectors import Selector, SelectorKwargs, find_matcher, require_matcher
from clawperator.connection.snapshot import Snapshot, read_snapshot
from clawperator.contract import (
    LONGEST_WAIT_MS,
    ResultEnvelope,
    StepResult,
    click_type,
    new_command_id,
    new_execution,
    single_action,
    validate,
    waiting_timeout,
    with_timeout,
)
from clawperator.contract.limits import MAX_EXECUTION_TIMEOUT_MS, MAX_NAVIGATION_TIMEOUT_MS
from clawperator.device import Backend, Device, ShellAnswer, run_plan
from clawperator.device import operator_package as chosen_operator
from clawperator.errors import ClawError

Direction = Literal["down", "up", "left", "right"]
Key = Literal["back", "home", "recents"]
Validator = Literal["temperature", "version", "regex"]

_SOURCE = "clawperator-python"
_LONGEST_SHELL_MS = 3_600_000


class ConnectedPhone:
    """One device. It keeps nothing open and may be used from several threads: the lease serialises actions."""

    def __init__(
        self,
        device: Device,
        *,
        operator_package: str | None = None,
        backend: BackendName | Backend = "auto",
        allow_schemes: Sequence[str] = (),
    ) -> None:
        self.device = device
        self._package = chosen_operator(operator_package)
        self._backend: BackendName | Backend = backend
        self._allow_schemes = tuple(allow_schemes)

    @property
    def serial(self) -> str:
        return self.device.serial

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.serial}>"

    # Apps and keys

    def open_app(self, package: str) -> ActionResult:
        """Bring an app to the front."""
        return action_result(self._step("open_app", {"applicationId": package}))

    def open_uri(self, uri: str) -> ActionResult:
        """Open a link in the app that handles it."""
        return action_result(self._step("open_uri", {"uri": uri}))

    def close_app(self, package: str) -> ActionResult:
        """Force-stop an app."""
        return action_result(self._step("close_app", {"applicationId": package}))

    def press(self, key: Key) -> ActionResult:
        """Press Back, Home or Recents."""
        return action_result(self._step("press_key", {"key": key}))

    def back(self) -> ActionResult:
        return self.press("back")

    def home(self) -> ActionResult:
        return self.press("home")

    # Touch and text

    def click(
        self,
        text: str | None = None,
        *,
        coordinate: tuple[int, int] | None = None,
        long: bool = False,
        focus: bool = False,
        **selector: Unpack[SelectorKwargs],
    ) -> ActionResult:
        """Click a node or a point, press it long, or give it the focus."""
        params: dict[str, Any] = click_type(long=long, focus=focus)
        matcher = find_matcher(text, selector) if coordinate else require_matcher(text, selector, "click")
        if matcher:
            params["matcher"] = matcher
        if coordinate is not None:
            x, y = coordinate
            params["coordinate"] = {"x": x, "y": y}
        return action_result(self._step("click", params))

    def enter_text(
        self,
        value: str,
        *,
        text: str | None = None,
        submit: bool = False,
        clear: bool = False,
        **selector: Unpack[SelectorKwargs],
    ) -> ActionResult:
        """Enter a text into a field, optionally clearing it first and submitting it afterwards."""
        matcher = require_matcher(text, selector, "enter_text")
        return action_result(
            self._step("enter_text", {"matcher": matcher, "text": value, "submit": submit, "clear": clear})
        )

    # The name of the command.
    type = enter_text

    # Scrolling

    def scroll(
        self, direction: Direction = "down", *, container: Selector | None = None, distance: float | None = None
    ) -> Scrolled:
        """Scroll once. ``distance`` is the fraction of the container that one swipe covers."""
        params = _given(direction=direction, container=_container(container), distanceRatio=distance)
        return read_scrolled(self._step("scroll", params))

    def scroll_until(
        self,
        text: str | None = None,
        *,
        direction: Direction = "down",
        container: Selector | None = None,
        max_scrolls: int | None = None,
        timeout: float = 10,
        **selector: Unpack[SelectorKwargs],
    ) -> Scrolled:
        """Scroll until a node is visible, or to the end without a selector."""
        limit = _milliseconds(timeout, LONGEST_WAIT_MS)
        params = _given(
            direction=direction,
            container=_container(container),
            matcher=find_matcher(text, selector),
            maxScrolls=max_scrolls,
            maxDurationMs=limit,
        )
        return read_scrolled(self._step("scroll_until", params, timeout_ms=waiting_timeout(limit)))

    def scroll_and_click(
        self,
        text: str | None = None,
        *,
        direction: Direction = "down",
        container: Selector | None = None,
        max_swipes: int | None = None,
        long: bool = False,
        **selector: Unpack[SelectorKwargs],
    ) -> Scrolled:
        """Scroll until a node is visible, then click it. The effect is that of the click."""
        params = _given(
            direction=direction,
            container=_container(container),
            matcher=require_matcher(text, selector, "scroll_and_click"),
            maxSwipes=max_swipes,
            clickAfter=True,
            clickType="long_click" if long else None,
        )
        return read_scrolled(self._step("scroll_and_click", params))

    # Reading

    def read(
        self,
        text: str | None = None,
        *,
        container: Selector | None = None,
        validator: Validator | None = None,
        pattern: str | None = None,
        **selector: Unpack[SelectorKwargs],
    ) -> str:
        """The label of a node. ``pattern`` must match the whole label with the validator ``regex``."""
        matcher = require_matcher(text, selector, "read")
        params = _given(
            matcher=matcher, container=_container(container), validator=validator, validatorPattern=pattern
        )
        return required_value(self._step("read_text", params), "text")

    def read_all(
        self, text: str | None = None, *, container: Selector | None = None, **selector: Unpack[SelectorKwargs]
    ) -> list[str]:
        """The labels of all nodes that match; possibly none."""
        matcher = require_matcher(text, selector, "read_all")
        params = _given(matcher=matcher, container=_container(container), all=True)
        return json_value(self._step("read_text", params), "text", list[str])

    def read_value(self, label: str | None = None, **selector: Unpack[SelectorKwargs]) -> str:
        """The value beside a label."""
        matcher = require_matcher(label, selector, "read_value")
        return required_value(self._step("read_key_value_pair", {"labelMatcher": matcher}), "value")

    def read_values(self, label: str | None = None, **selector: Unpack[SelectorKwargs]) -> list[LabelValue]:
        """Every matching label that has a value beside it, with the value."""
        matcher = require_matcher(label, selector, "read_values")
        step = self._step("read_key_value_pair", {"labelMatcher": matcher, "all": True})
        return json_value(step, "pairs", list[LabelValue])

    def snapshot(self) -> Snapshot:
        """The screen as a tree."""
        return read_snapshot(self._step("snapshot_ui"))

    def screenshot(self, path: str | os.PathLike[str] | None = None) -> str:
        """Save the screen as PNG, by default to a new file in the product home. Returns the path."""
        params = {} if path is None else {"path": os.fspath(path)}
        return required_value(self._step("take_screenshot", params), "path")

    # Waiting

    def wait(
        self, text: str | None = None, *, timeout: float = 10, **selector: Unpack[SelectorKwargs]
    ) -> FoundNode:
        """Wait until a node is on the screen."""
        limit = _milliseconds(timeout, LONGEST_WAIT_MS)
        params = {"matcher": require_matcher(text, selector, "wait"), "timeoutMs": limit}
        data = self._step("wait_for_node", params, timeout_ms=waiting_timeout(limit)).data
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
        limit = _milliseconds(timeout, MAX_NAVIGATION_TIMEOUT_MS)
        params = _given(expectedPackage=package, expectedNode=find_matcher(text, selector), timeoutMs=limit)
        data = self._step("wait_for_navigation", params, timeout_ms=waiting_timeout(limit)).data
        return Arrived(data.get("resolved_package"), read_count(data, "elapsed_ms"))

    def sleep(self, seconds: float) -> None:
        """Wait for a number of seconds while holding the device's lease."""
        duration = _milliseconds(seconds, LONGEST_WAIT_MS)
        self._step("sleep", {"durationMs": duration}, timeout_ms=waiting_timeout(duration))

    # Recording

    def start_recording(self, session_id: str | None = None) -> Recorded:
        """Start a recording."""
        return recorded(self._step("start_recording", _given(sessionId=session_id)))

    def stop_recording(self, session_id: str | None = None) -> Recorded:
        """Finish the active recording; with an id, only that one."""
        return recorded(self._step("stop_recording", _given(sessionId=session_id)))

    def pull_recording(self, session_id: str | None = None, folder: str | os.PathLike[str] = "recordings") -> str:
        """Pull a recording from the device, by default the last one. Returns the path of the file."""
        from clawperator.device import pull_recording
        from clawperator.policy import check_call

        check_call("recording_pull", "act", session_id or "")
        return pull_recording(self.device, self._package, session_id, os.fspath(folder)).localPath

    def recording(self, session_id: str | None = None) -> RecordingSession:
        """Record while a ``with`` block runs."""
        return RecordingSession(self, session_id)

    # Executions and shell

    def run(
        self, plan: Mapping[str, Any] | Sequence[Mapping[str, Any]], *, timeout: float | None = None
    ) -> ResultEnvelope:
        """Run an execution, or a list of actions as one.

        The envelope has every step that ran, failed ones too; an error is raised only when nothing ran. An action
        is a type and params, with an optional id. ``timeout`` is the time for all of them, by default the maximum;
        an execution has its own.
        """
        limit = None if timeout is None else _milliseconds(timeout, MAX_EXECUTION_TIMEOUT_MS)
        if isinstance(plan, Mapping):
            return self._run(with_timeout(dict(plan), limit))
        timeout_ms = MAX_EXECUTION_TIMEOUT_MS if limit is None else limit
        command_id = new_command_id("python-")
        return self._run(new_execution(plan, command_id=command_id, source=_SOURCE, timeout_ms=timeout_ms))

    def shell(self, command: str, *arguments: str, timeout: float = 30) -> ShellAnswer:
        """Run one command on the device. Its arguments are quoted: the shell interprets none of them.

        A shell can do anything: under a policy it requires the level full.
        """
        from clawperator.device import command_line, run_shell
        from clawperator.policy import check_call

        check_call("shell", "full", command_line(command, *arguments), command)

        limit = _milliseconds(timeout, _LONGEST_SHELL_MS)
        return run_shell(self.device, command_line(command, *arguments), seconds=limit / 1000)

    def _step(
        self, action: str, params: Mapping[str, Any] | None = None, *, timeout_ms: int | float | None = None
    ) -> StepResult:
        document = single_action(action, params, timeout_ms=timeout_ms, source=_SOURCE)
        return only_step(self._run(document), self.serial)

    def _run(self, document: dict[str, Any]) -> ResultEnvelope:
        plan = validate(document)
        return run_plan(
            plan,
            self.device,
            package=self._package,
            backend=self._backend,
            allow_schemes=self._allow_schemes,
        ).envelope


def _given(**params: Any) -> dict[str, Any]:
    """The parameters without those that are None."""
    return {name: value for name, value in params.items() if value is not None}


def _container(container: Selector | None) -> dict[str, Any] | None:
    return None if container is None else require_matcher(None, container, "container")


def _milliseconds(seconds: float, most_ms: int) -> int:
    """Seconds as milliseconds; ``EXECUTION_VALIDATION_FAILED`` outside of 0 to the limit."""
    if not (math.isfinite(seconds) and 0 <= seconds * 1000 <= most_ms):
        raise _invalid(f"the timeout must be from 0 to {most_ms / 1000:g} seconds, not {seconds}")
    return round(seconds * 1000)


def _invalid(message: str) -> ClawError:
    return ClawError("EXECUTION_VALIDATION_FAILED", message, operation="validate")
