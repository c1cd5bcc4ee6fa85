"""The Python API for asyncio: each method runs in a thread. ``make docs`` writes this file.

Cancelling a call stops waiting for it, not the action: its thread holds the device's lease until the device has
answered, so that nothing else runs in between.
"""
# ruff: noqa: ASYNC109, PLR0913 - the parameters of the actions

import os
from asyncio import to_thread
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, Unpack

from clawperator.api.phone import (
    AsyncRecording,
    ConnectedPhone,
    Direction,
    Expected,
    Point,
    Validator,
    connect,
)
from clawperator.api.results import ActionResult, Arrived, FoundNode, LabelValue, Recorded, Scrolled
from clawperator.api.selectors import Selector, SelectorKwargs
from clawperator.api.snapshot import ScreenElement, ScreenOutline, Snapshot
from clawperator.commands.model import BackendName
from clawperator.contract.action_params import KeyName
from clawperator.contract.results import ResultEnvelope
from clawperator.device.adb.client import ShellAnswer

if TYPE_CHECKING:
    from clawperator.ui.node import Node


class AsyncConnectedPhone:
    """A ``ConnectedPhone`` with awaitable methods: same names, keywords and results. ``phone`` is the original."""

    def __init__(self, phone: ConnectedPhone) -> None:
        self.phone = phone

    @property
    def serial(self) -> str:
        """The name of the device, as adb lists it."""
        return self.phone.serial

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.serial}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing stays open between calls, so nothing is closed."""

    def recording(self, session_id: str | None = None) -> AsyncRecording:
        """Record while an ``async with`` block runs."""
        return AsyncRecording(self.phone.recording(session_id))

    async def run(
        self, plan: Mapping[str, Any] | Sequence[Mapping[str, Any]], *, timeout: float | None = None
    ) -> ResultEnvelope:
        """Run a list of actions as one execution, one action, or a whole execution document.

        The envelope has every step that ran, failed ones too; an error is raised only when nothing ran. An action
        is a type and params, with an optional id. ``timeout`` is the time for all of them, by default the maximum;
        an execution document has its own.
        """
        return await to_thread(self.phone.run, plan, timeout=timeout)

    async def open_app(
        self,
        package: str,
        *,
        user: int | None = None,
        expect: Expected = None,
        settle: bool = False,
        timeout: float | None = None,
    ) -> ActionResult:
        """Bring an app to the front, for an Android user or profile by its number, by default the current one."""
        return await to_thread(
            self.phone.open_app, package, user=user, expect=expect, settle=settle, timeout=timeout
        )

    async def open_uri(
        self,
        uri: str,
        *,
        user: int | None = None,
        expect: Expected = None,
        settle: bool = False,
        timeout: float | None = None,
    ) -> ActionResult:
        """Open a link in the app that handles it."""
        return await to_thread(self.phone.open_uri, uri, user=user, expect=expect, settle=settle, timeout=timeout)

    async def close_app(
        self,
        package: str,
        *,
        user: int | None = None,
        expect: Expected = None,
        settle: bool = False,
        timeout: float | None = None,
    ) -> ActionResult:
        """Force-stop an app, for every user unless one is named."""
        return await to_thread(
            self.phone.close_app, package, user=user, expect=expect, settle=settle, timeout=timeout
        )

    async def press(
        self, key: KeyName, *, expect: Expected = None, settle: bool = False, timeout: float | None = None
    ) -> ActionResult:
        """Press a key by its name, such as ``back``, ``enter`` or ``volume_up``."""
        return await to_thread(self.phone.press, key, expect=expect, settle=settle, timeout=timeout)

    async def back(
        self, *, expect: Expected = None, settle: bool = False, timeout: float | None = None
    ) -> ActionResult:
        """Press Back."""
        return await to_thread(self.phone.back, expect=expect, settle=settle, timeout=timeout)

    async def home(
        self, *, expect: Expected = None, settle: bool = False, timeout: float | None = None
    ) -> ActionResult:
        """Press Home."""
        return await to_thread(self.phone.home, expect=expect, settle=settle, timeout=timeout)

    async def recents(
        self, *, expect: Expected = None, settle: bool = False, timeout: float | None = None
    ) -> ActionResult:
        """Press Recents."""
        return await to_thread(self.phone.recents, expect=expect, settle=settle, timeout=timeout)

    async def rotate(
        self,
        orientation: Literal["portrait", "landscape", "0", "90", "180", "270", "auto"],
        *,
        expect: Expected = None,
        settle: bool = False,
        timeout: float | None = None,
    ) -> ActionResult:
        """Rotate the screen; ``auto`` follows the sensor again."""
        return await to_thread(self.phone.rotate, orientation, expect=expect, settle=settle, timeout=timeout)

    async def start_activity(
        self,
        component: str | None = None,
        *,
        action: str | None = None,
        uri: str | None = None,
        extras: Mapping[str, str | bool | int | float] | None = None,
        user: int | None = None,
        expect: Expected = None,
        settle: bool = False,
        timeout: float | None = None,
    ) -> ActionResult:
        """Start an activity by its component, or by an action with data and extras."""
        return await to_thread(
            self.phone.start_activity,
            component,
            action=action,
            uri=uri,
            extras=extras,
            user=user,
            expect=expect,
            settle=settle,
            timeout=timeout,
        )

    async def install_app(
        self,
        path: str | os.PathLike[str],
        *,
        user: int | None = None,
        expect: Expected = None,
        timeout: float | None = None,
    ) -> None:
        """Install an app from an APK file of this computer, for every user of the device unless one is named."""
        await to_thread(self.phone.install_app, path, user=user, expect=expect, timeout=timeout)

    async def uninstall_app(
        self, package: str, *, user: int | None = None, expect: Expected = None, timeout: float | None = None
    ) -> None:
        """Uninstall an app with its data, for every user of the device unless one is named."""
        await to_thread(self.phone.uninstall_app, package, user=user, expect=expect, timeout=timeout)

    async def clear_app_data(
        self, package: str, *, user: int | None = None, expect: Expected = None, timeout: float | None = None
    ) -> None:
        """Delete the data of an app, by default that of the current user of the device."""
        await to_thread(self.phone.clear_app_data, package, user=user, expect=expect, timeout=timeout)

    async def grant_permission(
        self,
        package: str,
        permission: str,
        *,
        user: int | None = None,
        expect: Expected = None,
        timeout: float | None = None,
    ) -> None:
        """Grant a permission to an app, such as ``android.permission.CAMERA``."""
        await to_thread(
            self.phone.grant_permission, package, permission, user=user, expect=expect, timeout=timeout
        )

    async def revoke_permission(
        self,
        package: str,
        permission: str,
        *,
        user: int | None = None,
        expect: Expected = None,
        timeout: float | None = None,
    ) -> None:
        """Revoke a permission of an app."""
        await to_thread(
            self.phone.revoke_permission, package, permission, user=user, expect=expect, timeout=timeout
        )

    async def read_logcat(
        self, package: str, *, since: str | None = None, max_lines: int | None = None, timeout: float | None = None
    ) -> list[str]:
        """The log lines of an app since a duration ago such as ``30s``, by default one minute."""
        return await to_thread(self.phone.read_logcat, package, since=since, max_lines=max_lines, timeout=timeout)

    async def click(
        self,
        text: str | None = None,
        *,
        coordinate: Point | None = None,
        long: bool = False,
        focus: bool = False,
        duration: float | None = None,
        expect: Expected = None,
        settle: bool = False,
        timeout: float | None = None,
        **selector: Unpack[SelectorKwargs],
    ) -> ActionResult:
        """Click a node or a point, press it long for ``duration`` seconds, or give it the focus."""
        return await to_thread(
            self.phone.click,
            text,
            coordinate=coordinate,
            long=long,
            focus=focus,
            duration=duration,
            expect=expect,
            settle=settle,
            timeout=timeout,
            **selector,
        )

    async def swipe(
        self,
        direction: Direction | None = None,
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
        return await to_thread(
            self.phone.swipe,
            direction,
            start=start,
            end=end,
            text=text,
            distance=distance,
            duration=duration,
            expect=expect,
            settle=settle,
            timeout=timeout,
            **selector,
        )

    async def drag(
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
        return await to_thread(
            self.phone.drag,
            text,
            start=start,
            to=to,
            end=end,
            duration=duration,
            expect=expect,
            settle=settle,
            timeout=timeout,
            **selector,
        )

    async def double_tap(
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
        return await to_thread(
            self.phone.double_tap,
            text,
            coordinate=coordinate,
            expect=expect,
            settle=settle,
            timeout=timeout,
            **selector,
        )

    async def enter_text(
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
        return await to_thread(
            self.phone.enter_text,
            value,
            text=text,
            submit=submit,
            clear=clear,
            append=append,
            expect=expect,
            settle=settle,
            timeout=timeout,
            **selector,
        )

    async def enter_secret(
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
        return await to_thread(
            self.phone.enter_secret,
            env=env,
            file=file,
            text=text,
            submit=submit,
            clear=clear,
            expect=expect,
            settle=settle,
            timeout=timeout,
            **selector,
        )

    async def submit(
        self,
        text: str | None = None,
        *,
        expect: Expected = None,
        settle: bool = False,
        timeout: float | None = None,
        **selector: Unpack[SelectorKwargs],
    ) -> ActionResult:
        """Submit a field with the keyboard's action, by default the focused field."""
        return await to_thread(self.phone.submit, text, expect=expect, settle=settle, timeout=timeout, **selector)

    async def scroll(
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
        return await to_thread(
            self.phone.scroll,
            direction,
            container=container,
            distance=distance,
            expect=expect,
            settle=settle,
            timeout=timeout,
        )

    async def scroll_until(
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
        return await to_thread(
            self.phone.scroll_until,
            text,
            direction=direction,
            container=container,
            max_scrolls=max_scrolls,
            expect=expect,
            settle=settle,
            timeout=timeout,
            **selector,
        )

    async def scroll_and_click(
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
        return await to_thread(
            self.phone.scroll_and_click,
            text,
            direction=direction,
            container=container,
            max_swipes=max_swipes,
            long=long,
            expect=expect,
            settle=settle,
            timeout=timeout,
            **selector,
        )

    async def read(
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
        return await to_thread(
            self.phone.read,
            text,
            container=container,
            validator=validator,
            pattern=pattern,
            timeout=timeout,
            **selector,
        )

    async def read_all(
        self,
        text: str | None = None,
        *,
        container: Selector | None = None,
        timeout: float | None = None,
        **selector: Unpack[SelectorKwargs],
    ) -> list[str]:
        """The labels of all nodes that match; possibly none."""
        return await to_thread(self.phone.read_all, text, container=container, timeout=timeout, **selector)

    async def query(
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
        return await to_thread(self.phone.query, text, suggest=suggest, limit=limit, timeout=timeout, **selector)

    async def read_value(
        self, label: str | None = None, *, timeout: float | None = None, **selector: Unpack[SelectorKwargs]
    ) -> str:
        """The value beside a label."""
        return await to_thread(self.phone.read_value, label, timeout=timeout, **selector)

    async def read_values(
        self, label: str | None = None, *, timeout: float | None = None, **selector: Unpack[SelectorKwargs]
    ) -> list[LabelValue]:
        """Every matching label that has a value beside it, with the value."""
        return await to_thread(self.phone.read_values, label, timeout=timeout, **selector)

    async def snapshot(self, *, settle: bool = False, timeout: float | None = None) -> Snapshot:
        """The screen as a tree and as an outline. With ``settle`` it waits until two captures agree."""
        return await to_thread(self.phone.snapshot, settle=settle, timeout=timeout)

    async def read_outline(
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
        return await to_thread(
            self.phone.read_outline, max_tokens=max_tokens, since=since, settle=settle, timeout=timeout
        )

    async def read_elements(
        self, *, max_tokens: int | None = None, settle: bool = False, timeout: float | None = None
    ) -> list[ScreenElement]:
        """The elements of the outline as objects."""
        return await to_thread(self.phone.read_elements, max_tokens=max_tokens, settle=settle, timeout=timeout)

    async def screenshot(
        self, path: str | os.PathLike[str] | None = None, *, marks: bool = False, timeout: float | None = None
    ) -> str:
        """Save the screen as PNG, by default to a new file in the product home. Returns the path.

        With ``marks`` the references of the outline are drawn on it.
        """
        return await to_thread(self.phone.screenshot, path, marks=marks, timeout=timeout)

    async def find(
        self, text: str | None = None, *, timeout: float | None = None, **selector: Unpack[SelectorKwargs]
    ) -> "Node | None":
        """The first visible node that matches, or None. It looks once: ``wait`` waits for a node."""
        return await to_thread(self.phone.find, text, timeout=timeout, **selector)

    async def find_all(
        self, text: str | None = None, *, timeout: float | None = None, **selector: Unpack[SelectorKwargs]
    ) -> list["Node"]:
        """Every visible node that matches; without a selector, every visible node."""
        return await to_thread(self.phone.find_all, text, timeout=timeout, **selector)

    async def shows(
        self, text: str | None = None, *, timeout: float | None = None, **selector: Unpack[SelectorKwargs]
    ) -> bool:
        """Whether a node is visible now."""
        return await to_thread(self.phone.shows, text, timeout=timeout, **selector)

    async def labels(self, *, timeout: float | None = None) -> list[str]:
        """Every visible label, in tree order."""
        return await to_thread(self.phone.labels, timeout=timeout)

    async def foreground(self, *, timeout: float | None = None) -> str | None:
        """The package in the foreground, if the device reports it."""
        return await to_thread(self.phone.foreground, timeout=timeout)

    async def wait(
        self, text: str | None = None, *, timeout: float = 10, **selector: Unpack[SelectorKwargs]
    ) -> FoundNode:
        """Wait until a node is on the screen."""
        return await to_thread(self.phone.wait, text, timeout=timeout, **selector)

    async def wait_for_nav(
        self,
        package: str | None = None,
        *,
        text: str | None = None,
        timeout: float = 10,
        **selector: Unpack[SelectorKwargs],
    ) -> Arrived:
        """Wait until an app is in the foreground or a node is visible, whichever comes first."""
        return await to_thread(self.phone.wait_for_nav, package, text=text, timeout=timeout, **selector)

    async def sleep(self, seconds: float) -> None:
        """Wait for a number of seconds while holding the device's lease."""
        await to_thread(self.phone.sleep, seconds)

    async def wait_until_gone(
        self, text: str | None = None, *, timeout: float = 10, **selector: Unpack[SelectorKwargs]
    ) -> None:
        """Wait until no node on the screen matches."""
        await to_thread(self.phone.wait_until_gone, text, timeout=timeout, **selector)

    async def wait_for_text_change(
        self,
        text: str | None = None,
        *,
        old: str | None = None,
        timeout: float = 10,
        **selector: Unpack[SelectorKwargs],
    ) -> str:
        """Wait until the label of a node differs from ``old``, by default from its label now, and return it."""
        return await to_thread(self.phone.wait_for_text_change, text, old=old, timeout=timeout, **selector)

    async def wait_until_idle(self, *, quiet: float | None = None, timeout: float = 10) -> None:
        """Wait until the screen has not changed for ``quiet`` seconds, by default half a second."""
        await to_thread(self.phone.wait_until_idle, quiet=quiet, timeout=timeout)

    async def wait_for_any(self, *selectors: str | Selector, timeout: float = 10) -> tuple[int, FoundNode]:
        """Wait until a node matches one of the selectors, which are labels or dictionaries.

        Returns the index of that selector, and the node.
        """
        return await to_thread(self.phone.wait_for_any, *selectors, timeout=timeout)

    async def start_recording(self, session_id: str | None = None, *, timeout: float | None = None) -> Recorded:
        """Start a recording."""
        return await to_thread(self.phone.start_recording, session_id, timeout=timeout)

    async def stop_recording(self, session_id: str | None = None, *, timeout: float | None = None) -> Recorded:
        """Finish the active recording; with an id, only that one."""
        return await to_thread(self.phone.stop_recording, session_id, timeout=timeout)

    async def pull_recording(
        self,
        session_id: str | None = None,
        folder: str | os.PathLike[str] = "recordings",
        *,
        timeout: float | None = None,
    ) -> str:
        """Pull a recording from the device, by default the last one. Returns the path of the file."""
        return await to_thread(self.phone.pull_recording, session_id, folder, timeout=timeout)

    async def shell(self, command: str, *arguments: str, timeout: float = 30) -> ShellAnswer:
        """Run one command on the device. Its arguments are quoted: the shell interprets none of them.

        A shell can do anything: under a policy it requires the level full.
        """
        return await to_thread(self.phone.shell, command, *arguments, timeout=timeout)

    type = enter_text


async def connect_async(
    serial: str | None = None,
    *,
    operator_package: str | None = None,
    backend: BackendName | None = None,
    allow_schemes: Sequence[str] = (),
) -> AsyncConnectedPhone:
    """Connect to the device with this serial, or to the user's default device, or to the only ready one.

    ``operator_package``, ``backend`` and ``allow_schemes`` mean the same as the command-line flags, and have the
    same defaults: environment variables, then ``clawperator.toml``. Nothing stays open: each action uses a
    connection of its own and holds the device's lease while it runs.
    """
    phone = await to_thread(
        connect, serial, operator_package=operator_package, backend=backend, allow_schemes=allow_schemes
    )
    return AsyncConnectedPhone(phone)
