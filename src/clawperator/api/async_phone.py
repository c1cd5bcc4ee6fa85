"""The Python API for asyncio: each method runs in a thread.

Cancelling a call stops waiting for it, not the action: its thread holds the device's lease until the device has
answered, so that nothing else runs in between.
"""

import asyncio
import os
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from clawperator.api.phone import ConnectedPhone
from clawperator.api.recording import RecordingSession
from clawperator.api.results import Recorded
from clawperator.errors import ClawError

P = ParamSpec("P")
R = TypeVar("R")


def _in_thread(
    method: Callable[Concatenate[ConnectedPhone, P], R],
) -> Callable[Concatenate["AsyncConnectedPhone", P], Coroutine[Any, Any, R]]:
    """An awaitable version of a method of ``ConnectedPhone``."""

    @wraps(method)
    async def call(self: "AsyncConnectedPhone", /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.to_thread(method, self.phone, *args, **kwargs)

    return call


class AsyncConnectedPhone:
    """A ``ConnectedPhone`` with awaitable methods: same names, keywords and results. ``phone`` is the original."""

    def __init__(self, phone: ConnectedPhone) -> None:
        self.phone = phone

    @property
    def serial(self) -> str:
        return self.phone.serial

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.serial}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing stays open between calls, so nothing is closed."""

    # begin: async methods, written by docs/generate.py from ConnectedPhone
    start_recording = _in_thread(ConnectedPhone.start_recording)
    stop_recording = _in_thread(ConnectedPhone.stop_recording)
    pull_recording = _in_thread(ConnectedPhone.pull_recording)
    shell = _in_thread(ConnectedPhone.shell)
    open_app = _in_thread(ConnectedPhone.open_app)
    open_uri = _in_thread(ConnectedPhone.open_uri)
    close_app = _in_thread(ConnectedPhone.close_app)
    press = _in_thread(ConnectedPhone.press)
    back = _in_thread(ConnectedPhone.back)
    home = _in_thread(ConnectedPhone.home)
    recents = _in_thread(ConnectedPhone.recents)
    rotate = _in_thread(ConnectedPhone.rotate)
    start_activity = _in_thread(ConnectedPhone.start_activity)
    install_app = _in_thread(ConnectedPhone.install_app)
    uninstall_app = _in_thread(ConnectedPhone.uninstall_app)
    clear_app_data = _in_thread(ConnectedPhone.clear_app_data)
    grant_permission = _in_thread(ConnectedPhone.grant_permission)
    revoke_permission = _in_thread(ConnectedPhone.revoke_permission)
    read_logcat = _in_thread(ConnectedPhone.read_logcat)
    click = _in_thread(ConnectedPhone.click)
    enter_text = _in_thread(ConnectedPhone.enter_text)
    enter_secret = _in_thread(ConnectedPhone.enter_secret)
    type = _in_thread(ConnectedPhone.type)
    scroll = _in_thread(ConnectedPhone.scroll)
    scroll_until = _in_thread(ConnectedPhone.scroll_until)
    scroll_and_click = _in_thread(ConnectedPhone.scroll_and_click)
    swipe = _in_thread(ConnectedPhone.swipe)
    drag = _in_thread(ConnectedPhone.drag)
    double_tap = _in_thread(ConnectedPhone.double_tap)
    submit = _in_thread(ConnectedPhone.submit)
    wait_until_gone = _in_thread(ConnectedPhone.wait_until_gone)
    wait_for_text_change = _in_thread(ConnectedPhone.wait_for_text_change)
    wait_until_idle = _in_thread(ConnectedPhone.wait_until_idle)
    wait_for_any = _in_thread(ConnectedPhone.wait_for_any)
    read = _in_thread(ConnectedPhone.read)
    read_all = _in_thread(ConnectedPhone.read_all)
    query = _in_thread(ConnectedPhone.query)
    read_value = _in_thread(ConnectedPhone.read_value)
    read_values = _in_thread(ConnectedPhone.read_values)
    snapshot = _in_thread(ConnectedPhone.snapshot)
    read_outline = _in_thread(ConnectedPhone.read_outline)
    read_elements = _in_thread(ConnectedPhone.read_elements)
    screenshot = _in_thread(ConnectedPhone.screenshot)
    find = _in_thread(ConnectedPhone.find)
    find_all = _in_thread(ConnectedPhone.find_all)
    shows = _in_thread(ConnectedPhone.shows)
    labels = _in_thread(ConnectedPhone.labels)
    foreground = _in_thread(ConnectedPhone.foreground)
    wait = _in_thread(ConnectedPhone.wait)
    wait_for_nav = _in_thread(ConnectedPhone.wait_for_nav)
    sleep = _in_thread(ConnectedPhone.sleep)
    run = _in_thread(ConnectedPhone.run)
    # end: async methods

    def recording(self, session_id: str | None = None) -> "AsyncRecording":
        """Record while an ``async with`` block runs."""
        return AsyncRecording(self.phone.recording(session_id))


class AsyncRecording:
    """A recording that runs while the ``async with`` block does."""

    def __init__(self, recording: RecordingSession) -> None:
        self._recording = recording

    async def __aenter__(self) -> Self:
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
        return await asyncio.to_thread(self._recording.pull, folder)
