"""What the engine needs of the world: a phone to act on, and the time."""

import threading
from typing import Literal, Protocol

from msgspec import Struct

from clawperator.ui.node import Bounds, Hierarchy, Node

NodeAction = Literal["click", "long_click", "focus", "select"]
Key = Literal["back", "home", "recents"]


class Clock(Protocol):
    """The time. A virtual one jumps instead of sleeping."""

    def now_ms(self) -> int:
        """The wall clock, in epoch milliseconds."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back."""
        ...

    def sleep(self, seconds: float) -> None: ...

    def wait(self, condition: threading.Condition, seconds: float) -> None:
        """Wait until the condition is notified, but no longer than these seconds of this clock.

        The caller holds the condition's lock. The wait may end early without a notification.
        """
        ...


class Windows(Struct, frozen=True):
    """What accessibility tells of the windows: who is in front, who lies over it, how many there are."""

    foreground_package: str | None
    overlay_package: str | None
    count: int


class Recorded(Struct, frozen=True):
    """A recording that was started or finished. ``events`` is None while it runs."""

    session_id: str
    file_path: str
    events: int | None = None


class Driver(Protocol):
    """One phone. A method that returns a bool says whether the phone took the request, not what came of it."""

    def dump(self) -> Hierarchy:
        """The tree of the active window. ``SNAPSHOT_HIERARCHY_UNAVAILABLE`` when there is none."""
        ...

    def windows(self) -> Windows: ...

    def foreground(self) -> str | None:
        """The package in front."""
        ...

    def frame(self) -> Bounds:
        """The part of the display that shows windows."""
        ...

    def act(self, node: Node, action: NodeAction) -> bool | None:
        """An accessibility action on the node itself. False when the node is gone or takes none; None when this
        driver has no such actions, so that a gesture has to do."""
        ...

    def set_text(self, node: Node, text: str) -> bool: ...

    def submit(self, node: Node) -> bool:
        """What the enter key of the keyboard does in this field."""
        ...

    def tap(self, x: int, y: int, hold_ms: int) -> bool: ...

    def swipe(self, start: tuple[int, int], end: tuple[int, int], duration_ms: int) -> bool: ...

    def key(self, key: Key) -> bool: ...

    def launch(self, package: str) -> bool:
        """Bring an app to the front; False when no app of that name can be started."""
        ...

    def view(self, uri: str) -> bool:
        """Open a URI; False when nothing handles it."""
        ...

    def force_stop(self, package: str) -> bool:
        """End an app; False when this driver cannot."""
        ...

    def screenshot(self) -> bytes | None:
        """The screen as PNG; None when this driver cannot."""
        ...

    def start_recording(self, session_id: str | None) -> Recorded:
        """``RECORDING_...`` errors carry ``sessionId`` and ``filePath`` in their details where known."""
        ...

    def stop_recording(self, session_id: str | None) -> Recorded: ...
