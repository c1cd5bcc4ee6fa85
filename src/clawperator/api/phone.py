"""The Python API: connect to a device, and call its actions as methods.

    import clawperator

    phone = clawperator.connect()
    phone.open_app("com.android.settings")
    phone.click("Display")
    print(phone.snapshot().labels())

A method returns the step's result, typed, or raises the step's error: a ``ClawError`` with its code, message and
hint, and the whole step in ``details["step"]``. A selector is the label of a node, or keywords:
``click("Display")``, ``click(id="android:id/title", text_contains="disp")``.
"""

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, TypedDict, Unpack

from clawperator.api.results import (
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
from clawperator.contract.action_params import MAX_GESTURE_MS, KeyName
from clawperator.contract.commands import BACKENDS, OPEN_SUBJECT, BackendName, resolve_handler
from clawperator.contract.execution import (
    LONGEST_WAIT_MS,
    look_retry,
    new_command_id,
    new_execution,
    single_action,
    validate,
    waiting_timeout,
    with_timeout,
)
from clawperator.contract.limits import (
    MAX_EXECUTION_TIMEOUT_MS,
    MAX_NAVIGATION_TIMEOUT_MS,
    MIN_EXECUTION_TIMEOUT_MS,
)
from clawperator.contract.results import ResultEnvelope, StepResult
from clawperator.device.adb.client import Device, ShellAnswer, run_shell
from clawperator.device.backends.backend import Backend
from clawperator.device.run.run import run_plan
from clawperator.device.settings import default_backend, default_timeout_ms, named_operator
from clawperator.errors import ClawError
from clawperator.policy.gate import approve

if TYPE_CHECKING:
    from clawperator.device.run.references import References
    from clawperator.ui.node import Node

_LONGEST_SHELL_MS = 3_600_000
_SOURCE = "clawperator-python"
_PYTHON_ERROR = "clawperator.operations.hints:python_error"

Direction = Literal["down", "up", "left", "right"]
Point = tuple[int, int]
Validator = Literal["temperature", "version", "regex"]


class Expect(TypedDict, total=False):
    """What the screen must show after an action: ``expect={"gone": "Saving", "timeout": 10}``.

    ``text`` is a label that must be on the screen, ``gone`` one that must not, ``app`` the package that must be in
    the foreground; with ``idle`` the screen must have stopped changing. ``timeout`` is in seconds, by default 5.
    """

    text: str
    gone: str
    app: str
    idle: bool
    timeout: float


Expected = str | Expect | None


class ChangeOptions(TypedDict, total=False):
    """What methods that change the apps of the device take. See ``AndroidPhone``."""

    expect: Expected
    timeout: float | None


class ActionOptions(ChangeOptions, total=False):
    """What methods that act take: ``expect="Saved", settle=True, timeout=10``. See ``AndroidPhone``."""

    settle: bool


class TargetOptions(SelectorKwargs, ActionOptions, total=False):
    """Selector keywords, and the options of an action."""


@contextmanager
def naming_methods(document: Any = None) -> Iterator[None]:
    """Hints of errors in this block, or in the function that this decorates, name methods.

    Errors about the ``document`` of a method name its keywords.
    """
    try:
        yield
    except ClawError as e:
        error = resolve_handler(_PYTHON_ERROR)(e, document)
        if error is e:
            raise
        raise error.with_traceback(e.__traceback__) from e.__cause__


class AndroidPhone(ABC):
    """A phone: every action is a method, and one call is one execution.

    ``ConnectedPhone`` and ``clawperator.testing.SimulatedPhone`` have these methods, so a test that uses only them
    runs on both. Times are in seconds. ``timeout`` is how long ``click``, ``enter_text`` and the methods that read
    look for their node (by default about 6.5 seconds), how long a wait waits, or else how long the method may
    take.

    Methods that act take ``ActionOptions``: ``expect``, what the screen must show afterwards, ``settle``, whether
    it must stop changing first, and ``timeout``. ``TargetOptions`` are these and the keywords of a selector,
    ``ChangeOptions`` these without ``settle``.
    """

    # Hints of errors name methods, unless the program shows them to users of the command line.
    names_commands: bool = False
    # The time of an execution whose call gives none; None for that of its action.
    _timeout_ms: float | None = None

    @property
    @abstractmethod
    def serial(self) -> str:
        """The name of the device."""

    @abstractmethod
    def _run(self, document: dict[str, Any]) -> ResultEnvelope:
        """Validate and run an execution document."""

    @abstractmethod
    def _references(self) -> "References":
        """The references of the device."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.serial}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(  # noqa: B027 - nothing to override
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing stays open between calls, so nothing is closed."""

    def run(
        self, plan: Mapping[str, Any] | Sequence[Mapping[str, Any]], *, timeout: float | None = None
    ) -> ResultEnvelope:
        """Run a list of actions as one execution, one action, or a whole execution document.

        The envelope has every step that ran, failed ones too; an error is raised only when nothing ran. An action
        is a type and params, with an optional id. ``timeout`` is the time for all of them, by default the maximum;
        an execution document has its own.
        """
        limit = None if timeout is None else milliseconds(timeout, MAX_EXECUTION_TIMEOUT_MS)
        if isinstance(plan, Mapping) and "actions" in plan:
            document = with_timeout(dict(plan), limit)
        else:
            timeout_ms = MAX_EXECUTION_TIMEOUT_MS if limit is None else limit
            actions, command_id = _actions(plan), new_command_id("python-")
            document = new_execution(actions, command_id=command_id, source=_SOURCE, timeout_ms=timeout_ms)
        with self._naming_methods():
            return self._execute(document)

    # Apps and keys

    def open_app(self, package: str, *, user: int | None = None, **options: Unpack[ActionOptions]) -> ActionResult:
        """Bring an app to the front, for an Android user or profile by its number, by default the current one."""
        return action_result(self._act("open_app", options, applicationId=package, user=user))

    def open_uri(self, uri: str, *, user: int | None = None, **options: Unpack[ActionOptions]) -> ActionResult:
        """Open a link in the app that handles it."""
        return action_result(self._act("open_uri", options, uri=uri, user=user))

    def close_app(
        self, package: str, *, user: int | None = None, **options: Unpack[ActionOptions]
    ) -> ActionResult:
        """Force-stop an app, for every user unless one is named."""
        return action_result(self._act("close_app", options, applicationId=package, user=user))

    def press(self, key: KeyName, **options: Unpack[ActionOptions]) -> ActionResult:
        """Press a key by its name, such as ``back``, ``enter`` or ``volume_up``."""
        return action_result(self._act("press_key", options, key=key))

    def back(self, **options: Unpack[ActionOptions]) -> ActionResult:
        """Press Back."""
        return self.press("back", **options)

    def home(self, **options: Unpack[ActionOptions]) -> ActionResult:
        """Press Home."""
        return self.press("home", **options)

    def recents(self, **options: Unpack[ActionOptions]) -> ActionResult:
        """Press Recents."""
        return self.press("recents", **options)

    # The device

    def rotate(
        self,
        orientation: Literal["portrait", "landscape", "0", "90", "180", "270", "auto"],
        **options: Unpack[ActionOptions],
    ) -> ActionResult:
        """Rotate the screen; ``auto`` follows the sensor again."""
        return action_result(self._act("rotate", options, orientation=orientation))

    def start_activity(
        self,
        component: str | None = None,
        *,
        action: str | None = None,
        uri: str | None = None,
        extras: Mapping[str, str | bool | int | float] | None = None,
        user: int | None = None,
        **options: Unpack[ActionOptions],
    ) -> ActionResult:
        """Start an activity by its component, or by an action with data and extras."""
        given = None if extras is None else dict(extras)
        params = {"component": component, "action": action, "uri": uri, "extras": given, "user": user}
        return action_result(self._act("start_activity", options, **params))

    def install_app(
        self, path: str | os.PathLike[str], *, user: int | None = None, **options: Unpack[ChangeOptions]
    ) -> None:
        """Install an app from an APK file of this computer, for every user of the device unless one is named."""
        self._act("install_app", options, path=os.fspath(path), user=user)

    def uninstall_app(self, package: str, *, user: int | None = None, **options: Unpack[ChangeOptions]) -> None:
        """Uninstall an app with its data, for every user of the device unless one is named."""
        self._act("uninstall_app", options, applicationId=package, user=user)

    def clear_app_data(self, package: str, *, user: int | None = None, **options: Unpack[ChangeOptions]) -> None:
        """Delete the data of an app, by default that of the current user of the device."""
        self._act("clear_app_data", options, applicationId=package, user=user)

    def grant_permission(
        self, package: str, permission: str, *, user: int | None = None, **options: Unpack[ChangeOptions]
    ) -> None:
        """Grant a permission to an app, such as ``android.permission.CAMERA``."""
        self._act("grant_permission", options, applicationId=package, permission=permission, user=user)

    def revoke_permission(
        self, package: str, permission: str, *, user: int | None = None, **options: Unpack[ChangeOptions]
    ) -> None:
        """Revoke a permission of an app."""
        self._act("revoke_permission", options, applicationId=package, permission=permission, user=user)

    def read_logcat(
        self, package: str, *, since: str | None = None, max_lines: int | None = None, timeout: float | None = None
    ) -> list[str]:
        """The log lines of an app since a duration ago such as ``30s``, by default one minute."""
        params = _given(applicationId=package, since=since, maxLines=max_lines)
        return required_value(self._step("read_logcat", params, take=timeout), "text").splitlines()

    # Touch

    def click(
        self,
        text: str | None = None,
        *,
        coordinate: Point | None = None,
        long: bool = False,
        focus: bool = False,
        duration: float | None = None,
        **options: Unpack[TargetOptions],
    ) -> ActionResult:
        """Click a node or a point, press it long for ``duration`` seconds, or give it the focus."""
        selector = _selector(options)
        matcher = find_matcher(text, selector) if coordinate else require_matcher(text, selector, "click")
        if long and focus:
            raise _invalid("click takes long or focus, not both", "Leave one of them out.")
        kind = "long_click" if long else "focus" if focus else None
        params = {"clickType": kind, "coordinate": _coordinate(coordinate), "durationMs": _gesture_ms(duration)}
        return action_result(self._act("click", options, matcher=matcher, **params))

    def swipe(  # noqa: PLR0913 - the parameters of the action
        self,
        direction: Direction | None = None,
        *,
        start: Point | None = None,
        end: Point | None = None,
        text: str | None = None,
        distance: float | None = None,
        duration: float | None = None,
        **options: Unpack[TargetOptions],
    ) -> ActionResult:
        """Swipe between two points, or move the finger in a direction on a node or the screen."""
        points = {"start": _coordinate(start), "end": _coordinate(end)}
        params = {"direction": direction, "distanceRatio": distance, "durationMs": _gesture_ms(duration)}
        matcher = find_matcher(text, _selector(options))
        return action_result(self._act("swipe", options, matcher=matcher, **points, **params))

    def drag(
        self,
        text: str | None = None,
        *,
        start: Point | None = None,
        to: Selector | None = None,
        end: Point | None = None,
        duration: float | None = None,
        **options: Unpack[TargetOptions],
    ) -> ActionResult:
        """Long-press a node or a point, move it to another, and release it."""
        points = {"start": _coordinate(start), "end": _coordinate(end)}
        target = None if to is None else require_matcher(None, to, "drag")
        params = {"matcher": find_matcher(text, _selector(options)), "toMatcher": target, **points}
        return action_result(self._act("drag", options, **params, durationMs=_gesture_ms(duration)))

    def double_tap(
        self, text: str | None = None, *, coordinate: Point | None = None, **options: Unpack[TargetOptions]
    ) -> ActionResult:
        """Tap a node or a point twice."""
        matcher = find_matcher(text, _selector(options))
        return action_result(self._act("double_tap", options, matcher=matcher, coordinate=_coordinate(coordinate)))

    # Text

    def enter_text(
        self,
        value: str,
        *,
        text: str | None = None,
        submit: bool = False,
        clear: bool = False,
        append: bool = False,
        **options: Unpack[TargetOptions],
    ) -> ActionResult:
        """Enter a text into a field, by default the focused one.

        It replaces what the field has, unless ``append``. An empty text empties the field.
        """
        params = {"text": value, "submit": submit, "clear": clear or not value, "append": append or None}
        matcher = find_matcher(text, _selector(options))
        return action_result(self._act("enter_text", options, matcher=matcher, **params))

    def enter_secret(
        self,
        *,
        env: str | None = None,
        file: str | os.PathLike[str] | None = None,
        text: str | None = None,
        submit: bool = False,
        clear: bool = False,
        **options: Unpack[TargetOptions],
    ) -> ActionResult:
        """Enter the text of an environment variable or of a file. It is in no document, log or result."""
        source = _given(env=env, file=None if file is None else os.fspath(file))
        params = {"textFrom": source, "submit": submit, "clear": clear}
        matcher = find_matcher(text, _selector(options))
        return action_result(self._act("enter_text", options, matcher=matcher, **params))

    # The name of the command.
    type = enter_text

    def submit(self, text: str | None = None, **options: Unpack[TargetOptions]) -> ActionResult:
        """Submit a field with the keyboard's action, by default the focused field."""
        return action_result(self._act("submit_text", options, matcher=find_matcher(text, _selector(options))))

    # Scrolling

    def scroll(
        self,
        direction: Direction = "down",
        *,
        container: Selector | None = None,
        distance: float | None = None,
        **options: Unpack[ActionOptions],
    ) -> Scrolled:
        """Scroll once. ``distance`` is the fraction of the container that one swipe covers."""
        params = {"direction": direction, "container": _container(container), "distanceRatio": distance}
        return read_scrolled(self._act("scroll", options, **params))

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
        params = _given(
            direction=direction,
            container=_container(container),
            matcher=find_matcher(text, selector),
            maxScrolls=max_scrolls,
            maxDurationMs=limit,
        )
        params |= _expectation(expect, settle=settle)
        return read_scrolled(self._step("scroll_until", params, wait_ms=limit))

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
        params = _given(
            direction=direction,
            container=_container(container),
            matcher=require_matcher(text, selector, "scroll_and_click"),
            maxSwipes=max_swipes,
            clickAfter=True,
            clickType="long_click" if long else None,
        )
        params |= _expectation(expect, settle=settle)
        return read_scrolled(self._step("scroll_and_click", params, take=timeout))

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
        params = _given(
            matcher=matcher, container=_container(container), validator=validator, validatorPattern=pattern
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
        params = _given(matcher=matcher, container=_container(container), all=True)
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
        params = _given(matcher=find_matcher(text, selector), limit=limit, suggest=suggest)
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
        params = _given(view="outline", maxTokens=max_tokens, since=since, settle=settle or None)
        return outline_result(self._step("snapshot_ui", params, take=timeout))

    def read_elements(
        self, *, max_tokens: int | None = None, settle: bool = False, timeout: float | None = None
    ) -> list[ScreenElement]:
        """The elements of the outline as objects."""
        params = _given(view="json", maxTokens=max_tokens, settle=settle or None)
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

    # Waiting

    def wait(
        self, text: str | None = None, *, timeout: float = 10, **selector: Unpack[SelectorKwargs]
    ) -> FoundNode:
        """Wait until a node is on the screen."""
        data = self._wait("wait_for_node", timeout, matcher=require_matcher(text, selector, "wait")).data
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
        params = {"expectedPackage": package, "expectedNode": find_matcher(text, selector)}
        data = self._wait("wait_for_navigation", timeout, MAX_NAVIGATION_TIMEOUT_MS, **params).data
        return Arrived(data.get("resolved_package"), read_count(data, "elapsed_ms"))

    def sleep(self, seconds: float) -> None:
        """Wait for a number of seconds while holding the device's lease."""
        duration = milliseconds(seconds, LONGEST_WAIT_MS, name="seconds")
        self._step("sleep", {"durationMs": duration}, wait_ms=duration)

    def wait_until_gone(
        self, text: str | None = None, *, timeout: float = 10, **selector: Unpack[SelectorKwargs]
    ) -> None:
        """Wait until no node on the screen matches."""
        self._wait("wait_until_gone", timeout, matcher=require_matcher(text, selector, "wait_until_gone"))

    def wait_for_text_change(
        self,
        text: str | None = None,
        *,
        old: str | None = None,
        timeout: float = 10,
        **selector: Unpack[SelectorKwargs],
    ) -> str:
        """Wait until the label of a node differs from ``old``, by default from its label now, and return it."""
        matcher = require_matcher(text, selector, "wait_for_text_change")
        return required_value(self._wait("wait_for_text_change", timeout, matcher=matcher, text=old), "text")

    def wait_until_idle(self, *, quiet: float | None = None, timeout: float = 10) -> None:
        """Wait until the screen has not changed for ``quiet`` seconds, by default half a second."""
        quiet_ms = None if quiet is None else milliseconds(quiet, LONGEST_WAIT_MS, name="quiet")
        self._wait("wait_until_idle", timeout, quietMs=quiet_ms)

    def wait_for_any(self, *selectors: str | Selector, timeout: float = 10) -> tuple[int, FoundNode]:
        """Wait until a node matches one of the selectors, which are labels or dictionaries.

        Returns the index of that selector, and the node.
        """
        named: list[Selector] = [{"text": one} if isinstance(one, str) else one for one in selectors]
        listed = [require_matcher(None, one, "wait_for_any") for one in named]
        step = self._wait("wait_for_any", timeout, selectors=listed)
        found = FoundNode(step.data.get("resource_id", ""), step.data.get("label", ""))
        return read_count(step.data, "matched_index"), found

    # Recording

    def start_recording(self, session_id: str | None = None, *, timeout: float | None = None) -> Recorded:
        """Start a recording."""
        return recorded(self._step("start_recording", _given(sessionId=session_id), take=timeout))

    def stop_recording(self, session_id: str | None = None, *, timeout: float | None = None) -> Recorded:
        """Finish the active recording; with an id, only that one."""
        return recorded(self._step("stop_recording", _given(sessionId=session_id), take=timeout))

    @abstractmethod
    def pull_recording(
        self,
        session_id: str | None = None,
        folder: str | os.PathLike[str] = "recordings",
        *,
        timeout: float | None = None,
    ) -> str:
        """Pull a recording from the device, by default the last one. Returns the path of the file."""

    def recording(self, session_id: str | None = None) -> "RecordingSession":
        """Record while a ``with`` block runs."""
        return RecordingSession(self, session_id)

    # The shell

    @abstractmethod
    def shell(self, command: str, *arguments: str, timeout: float = 30) -> ShellAnswer:
        """Run one command on the device. Its arguments are quoted: the shell interprets none of them."""

    # Running an action

    def _act(self, action: str, options: Mapping[str, Any], /, **params: Any) -> StepResult:
        """The step of an action with the options of its method. Parameters that are None are left out.

        With a ``matcher``, even one that is None, ``timeout`` is how long it looks for its node; otherwise how
        long it may take. ``TypeError`` for an unknown option.
        """
        looks = "matcher" in params
        if not looks and (unknown := _selector(options)):
            raise TypeError(f"unknown keyword {next(iter(unknown))!r} of {action}")
        after = _expectation(options.get("expect"), settle=options.get("settle", False))
        time = {"look" if looks else "take": options.get("timeout")}
        return self._step(action, _given(**params) | after, **time)

    def _step(
        self,
        action: str,
        params: Mapping[str, Any] | None = None,
        *,
        look: float | None = None,
        wait_ms: int | None = None,
        take: float | None = None,
    ) -> StepResult:
        """The step of one action, or its error.

        The times are those of the action: ``look`` is how many seconds it looks for its node, ``wait_ms`` how long
        it waits by its own params, ``take`` how many seconds the execution may take.
        """
        timeout_ms = self._timeout_ms
        if look is not None:
            wait_ms = milliseconds(look, LONGEST_WAIT_MS)
            params = {**(params or {}), "retry": look_retry(wait_ms)}
        if wait_ms is not None:
            timeout_ms = waiting_timeout(wait_ms)
        if take is not None:
            timeout_ms = milliseconds(take, MAX_EXECUTION_TIMEOUT_MS, MIN_EXECUTION_TIMEOUT_MS)
        document = single_action(action, params, timeout_ms=timeout_ms, source=_SOURCE)
        with self._naming_methods(document):
            return only_step(self._execute(document), self.serial)

    def _wait(self, action: str, timeout: float, most_ms: int = LONGEST_WAIT_MS, /, **params: Any) -> StepResult:
        """The step of an action that waits for this many seconds. Parameters that are None are left out."""
        limit = milliseconds(timeout, most_ms)
        return self._step(action, _given(**params, timeoutMs=limit), wait_ms=limit)

    def _naming_methods(self, document: Any = None) -> AbstractContextManager[None]:
        return nullcontext() if self.names_commands else naming_methods(document)

    def _execute(self, document: dict[str, Any]) -> ResultEnvelope:
        """Run a document, and pass it with its result to the listeners."""
        listeners = tuple(_LISTENERS)
        for listener in listeners:
            listener.started(self, document)
        try:
            envelope = self._run(document)
        except ClawError as e:
            for listener in listeners:
                listener.ended(self, document, e)
            raise
        for listener in listeners:
            listener.ended(self, document, envelope)
        return envelope

    def _search(
        self, text: str | None, selector: SelectorKwargs, timeout: float | None, *, several: bool
    ) -> list["Node"]:
        references = self._references() if "ref" in selector else None
        with self._naming_methods():
            return search(self._screen(timeout), text, selector, references, several=several)

    def _screen(self, timeout: float | None) -> ScreenSearch:
        return self.snapshot(timeout=timeout)


class ConnectedPhone(AndroidPhone):
    """One device. It keeps nothing open and may be used from several threads: the lease serialises actions."""

    def __init__(
        self,
        device: Device,
        *,
        operator_package: str | None = None,
        backend: BackendName | Backend = "auto",
        allow_schemes: Sequence[str] = (),
        timeout_ms: int | float | None = None,
    ) -> None:
        self.device = device
        self._package = named_operator(operator_package)
        self._backend: BackendName | Backend = backend
        self._allow_schemes = tuple(allow_schemes)
        self._timeout_ms = timeout_ms

    @property
    def serial(self) -> str:
        """The name of the device, as adb lists it."""
        return self.device.serial

    def pull_recording(
        self,
        session_id: str | None = None,
        folder: str | os.PathLike[str] = "recordings",
        *,
        timeout: float | None = None,
    ) -> str:
        """Pull a recording from the device, by default the last one. Returns the path of the file."""
        from clawperator.device.recordings import PULL_SECONDS, pull_recording
        from clawperator.device.settings import find_operator
        from clawperator.policy.gate import check_call

        check_call("recording_pull", "act", session_id or OPEN_SUBJECT)
        limit = milliseconds(PULL_SECONDS if timeout is None else timeout, _LONGEST_SHELL_MS)
        with self._naming_methods():
            package = find_operator(self.device, self._package)
            pulled = pull_recording(self.device, package, session_id, os.fspath(folder), seconds=limit / 1000)
        return pulled.localPath

    def shell(self, command: str, *arguments: str, timeout: float = 30) -> ShellAnswer:
        """Run one command on the device. Its arguments are quoted: the shell interprets none of them.

        A shell can do anything: under a policy it requires the level full.
        """
        from clawperator.device.adb.client import command_line
        from clawperator.policy.gate import check_call

        check_call("shell", "full", command_line(command, *arguments), command)

        limit = milliseconds(timeout, _LONGEST_SHELL_MS)
        with self._naming_methods():
            return run_shell(self.device, command_line(command, *arguments), seconds=limit / 1000)

    def _references(self) -> "References":
        from clawperator.device.run.references import References

        return References(self.serial)

    def _run(self, document: dict[str, Any]) -> ResultEnvelope:
        plan = validate(document)
        return run_plan(
            approve(plan),
            self.device,
            package=self._package,
            backend=self._backend,
            allow_schemes=self._allow_schemes,
        ).envelope


@naming_methods()
def connect(
    serial: str | None = None,
    *,
    operator_package: str | None = None,
    backend: BackendName | None = None,
    allow_schemes: Sequence[str] = (),
) -> ConnectedPhone:
    """Connect to the device with this serial, or to the user's default device, or to the only ready one.

    ``operator_package``, ``backend`` and ``allow_schemes`` mean the same as the command-line flags, and have the
    same defaults: environment variables, then ``clawperator.toml``. Nothing stays open: each action uses a
    connection of its own and holds the device's lease while it runs.
    """
    from clawperator.device.discovery import resolve_device

    if backend is None:
        backend = default_backend()
    elif backend not in BACKENDS:
        raise ClawError("USAGE", f"unknown backend {backend!r}", hint=f"Use one of: {', '.join(BACKENDS)}.")
    return ConnectedPhone(
        resolve_device(serial),
        operator_package=operator_package,
        backend=backend,
        allow_schemes=allow_schemes,
        timeout_ms=default_timeout_ms(),
    )


class RecordingSession:
    """A recording that runs while the ``with`` block does."""

    def __init__(self, device: AndroidPhone, session_id: str | None) -> None:
        self._device = device
        self._requested_id = session_id
        self._recorded: Recorded | None = None

    def __enter__(self) -> Self:
        self._recorded = self._device.start_recording(self._requested_id)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._recorded = self._device.stop_recording(self.session_id)
            return
        with suppress(ClawError):  # the error of the block matters more
            self._device.stop_recording(self.session_id)

    @property
    def result(self) -> Recorded:
        """Its session and file; after the block also its number of events."""
        if self._recorded is None:
            raise ClawError("RECORDING_NOT_IN_PROGRESS", "the recording has not started")
        return self._recorded

    @property
    def session_id(self) -> str:
        return self.result.session_id

    def pull(self, folder: str | os.PathLike[str] = "recordings") -> str:
        """Pull it from the device, after the block. Returns the path of the file."""
        return self._device.pull_recording(self.session_id, folder)


class AsyncRecording:
    """A recording that runs while the ``async with`` block does."""

    def __init__(self, recording: RecordingSession) -> None:
        self._recording = recording

    async def __aenter__(self) -> Self:
        import asyncio

        starting = asyncio.ensure_future(asyncio.to_thread(self._recording.__enter__))
        try:
            await asyncio.shield(starting)
        except asyncio.CancelledError as e:
            with suppress(ClawError):  # it starts all the same, and must be stopped
                await starting
                await self.__aexit__(type(e), e, e.__traceback__)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        import asyncio

        await asyncio.to_thread(self._recording.__exit__, kind, error, trace)

    @property
    def result(self) -> Recorded:
        """Its session and file; after the block also its number of events."""
        return self._recording.result

    @property
    def session_id(self) -> str:
        return self._recording.session_id

    async def pull(self, folder: str | os.PathLike[str] = "recordings") -> str:
        """Pull it from the device, after the block. Returns the path of the file."""
        import asyncio

        return await asyncio.to_thread(self._recording.pull, folder)


class CallListener(Protocol):
    """Learns of every execution of every phone in this process. Its methods must not raise."""

    def started(self, phone: AndroidPhone, document: Mapping[str, Any]) -> None: ...
    def ended(
        self, phone: AndroidPhone, document: Mapping[str, Any], outcome: ResultEnvelope | ClawError
    ) -> None: ...


_LISTENERS: list[CallListener] = []


@contextmanager
def listening_to_calls(listener: CallListener) -> Iterator[None]:
    """Report the executions of all phones in this process to a listener while the ``with`` block runs."""
    _LISTENERS.append(listener)
    try:
        yield
    finally:
        _LISTENERS.remove(listener)


def _expectation(expect: Expected, *, settle: bool = False) -> dict[str, Any]:
    """What comes after the action, as params: the expectation, and whether the screen settles first.

    A text alone is a label that must be on the screen.
    """
    settling = {"settle": True} if settle else {}
    if expect is None:
        return settling
    given: Expect = {"text": expect} if isinstance(expect, str) else expect
    params: dict[str, Any] = {name: value for name, value in given.items() if name != "timeout"}
    if "timeout" in given:
        params["timeoutMs"] = milliseconds(given["timeout"], LONGEST_WAIT_MS)
    return {"expect": params, **settling}


def _selector(options: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords that are not options of every action."""
    return {name: value for name, value in options.items() if name not in ActionOptions.__annotations__}


def _given(**params: Any) -> dict[str, Any]:
    """The parameters without those that are None."""
    return {name: value for name, value in params.items() if value is not None}


def _container(container: Selector | None) -> dict[str, Any] | None:
    return None if container is None else require_matcher(None, container, "container")


def milliseconds(seconds: float, most_ms: int, least_ms: int = 0, name: str = "timeout") -> int:
    """Seconds as milliseconds; ``EXECUTION_VALIDATION_FAILED``, with this name, outside of the limits."""
    if not (math.isfinite(seconds) and least_ms <= seconds * 1000 <= most_ms):
        limits = f"a number of seconds from {least_ms / 1000:g} to {most_ms / 1000:g}"
        raise _invalid(f"{name} must be {limits}, not {seconds}", f"Pass {name}= with {limits}.")
    return round(seconds * 1000)


def _gesture_ms(seconds: float | None) -> int | None:
    return None if seconds is None else milliseconds(seconds, MAX_GESTURE_MS, name="duration")


def _coordinate(point: Point | None) -> dict[str, Any] | None:
    return None if point is None else {"x": point[0], "y": point[1]}


def _actions(plan: Any) -> list[Mapping[str, Any]]:
    """The actions of a list, or the only action; ``EXECUTION_VALIDATION_FAILED`` for anything else."""
    actions = [plan] if isinstance(plan, Mapping) else plan
    if isinstance(actions, Sequence) and not isinstance(actions, str | bytes | bytearray):
        if all(isinstance(action, Mapping) and "type" in action for action in actions):
            return list(actions)
        actions = next(a for a in actions if not (isinstance(a, Mapping) and "type" in a))
        found = f"an action without a type: {sorted(map(str, actions))}" if isinstance(actions, Mapping) else None
        raise _invalid(f"run got {found or f'{type(actions).__name__} as an action'}", _RUN_HINT)
    raise _invalid(f"run takes actions, not {type(plan).__name__}", _RUN_HINT)


_RUN_HINT = (
    'Pass a list of actions such as [{"type": "press_key", "params": {"key": "home"}}], one such action, or an '
    "execution document with commandId, taskId, source, expectedFormat, timeoutMs and actions."
)


def _invalid(message: str, hint: str) -> ClawError:
    return ClawError("EXECUTION_VALIDATION_FAILED", message, hint=hint, operation="validate")
