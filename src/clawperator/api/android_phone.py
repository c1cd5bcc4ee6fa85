"""The methods that every phone has: connected, started by ``start_phone``, or simulated in this process.

A method returns the step's result, typed, or raises the step's error: a ``ClawError`` with its code, message and
hint, and the whole step in ``details["step"]``. A selector is the label of a node, or keywords:
``click("Display")``, ``click(id="android:id/title", text_contains="disp")``.

Times are in seconds. ``timeout`` is how long a method looks for its node (``click``, ``enter_text``, ``read`` and
its relatives), how long it waits (``wait``, ``wait_for_nav``, ``scroll_until``), or else how long it may take.
"""

import os
from abc import abstractmethod
from types import TracebackType
from typing import Self

from clawperator.api.app_methods import AppMethods
from clawperator.api.calls import given
from clawperator.api.device_methods import DeviceMethods
from clawperator.api.recording import RecordingSession
from clawperator.api.results import Recorded, recorded
from clawperator.api.screen_methods import ScreenMethods
from clawperator.api.touch_methods import TouchMethods
from clawperator.api.wait_methods import WaitMethods
from clawperator.device.adb.client import ShellAnswer


class AndroidPhone(AppMethods, DeviceMethods, TouchMethods, WaitMethods, ScreenMethods):
    """A phone: every action is a method, and one call is one execution.

    ``ConnectedPhone`` and ``clawperator.testing.SimulatedPhone`` have these methods, so a test that uses only them
    runs on both. Times are in seconds. ``timeout`` is how long ``click``, ``enter_text`` and the methods that read
    look for their node (by default about 6.5 seconds), how long a wait waits, or else how long the method may
    take.
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing stays open between calls, so nothing is closed."""

    # Recording

    def start_recording(self, session_id: str | None = None, *, timeout: float | None = None) -> Recorded:
        """Start a recording."""
        return recorded(self._step("start_recording", given(sessionId=session_id), take=timeout))

    def stop_recording(self, session_id: str | None = None, *, timeout: float | None = None) -> Recorded:
        """Finish the active recording; with an id, only that one."""
        return recorded(self._step("stop_recording", given(sessionId=session_id), take=timeout))

    @abstractmethod
    def pull_recording(
        self,
        session_id: str | None = None,
        folder: str | os.PathLike[str] = "recordings",
        *,
        timeout: float | None = None,
    ) -> str:
        """Pull a recording from the device, by default the last one. Returns the path of the file."""

    def recording(self, session_id: str | None = None) -> RecordingSession:
        """Record while a ``with`` block runs."""
        return RecordingSession(self, session_id)

    # The shell

    @abstractmethod
    def shell(self, command: str, *arguments: str, timeout: float = 30) -> ShellAnswer:
        """Run one command on the device. Its arguments are quoted: the shell interprets none of them."""
