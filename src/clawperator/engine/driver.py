"""The interfaces that the engine needs: a clock, and a driver for one device.

A driver implements ``Driver``. The other protocols are optional: the engine checks for them, uses gestures instead
of ``NodeActions``, and reports an action as unsupported where another one is missing.
"""

import threading
from collections.abc import Callable, Mapping
from typing import Literal, Protocol, runtime_checkable

from msgspec import Struct

from clawperator.contract.action_params import KeyName, UserChoice
from clawperator.ui.node import Bounds, Hierarchy, Node

NodeAction = Literal["click", "long_click", "focus", "select"]
Key = KeyName


class Clock(Protocol):
    """The time. A virtual clock jumps instead of sleeping."""

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
    """The windows of the device: the package in front, the package of an overlay, and their number."""

    foreground_package: str | None
    overlay_package: str | None
    count: int


class RecordingInfo(Struct, frozen=True):
    """A recording that was started or finished. ``events`` is None while it runs."""

    session_id: str
    file_path: str
    events: int | None = None


class Driver(Protocol):
    """One device: the part that every driver implements.

    A bool result means the device accepted the request, not that it had an effect.
    """

    def dump(self) -> Hierarchy:
        """The tree of the active window. ``SNAPSHOT_HIERARCHY_UNAVAILABLE`` when there is none."""
        ...

    def windows(self) -> Windows: ...

    def foreground(self) -> str | None:
        """The package in the foreground."""
        ...

    def frame(self) -> Bounds:
        """The part of the display that shows windows."""
        ...

    def tap(self, x: int, y: int, hold_ms: int) -> bool: ...

    def swipe(self, start: tuple[int, int], end: tuple[int, int], duration_ms: int) -> bool: ...

    def key(self, key: Key) -> bool: ...

    def set_text(self, node: Node, text: str) -> bool:
        """Replace the text of a field."""
        ...

    def submit(self, node: Node) -> bool:
        """Press the enter key of the keyboard in this field."""
        ...

    def launch(self, package: str) -> bool:
        """Bring an app to the front; False when no app of that name can be launched."""
        ...

    def view(self, uri: str) -> bool:
        """Open a URI; False when no app handles it."""
        ...


@runtime_checkable
class CaptureCost(Protocol):
    """Optional: what captures cost. Where they are slow, the engine makes as few as it can."""

    slow_captures: bool

    def look_again(self) -> Hierarchy:
        """Capture the screen after an action, on the same display as before it."""
        ...


@runtime_checkable
class KeyTyping(Protocol):
    """Optional, for drivers with slow captures: typing by keys. The engine checks the field afterwards."""

    def type_keys(self, field: Node, text: str, *, append: bool) -> bool:
        """Type into the focused field in place of what it has, or after it.

        An error with ``after_effect`` means that keys were sent; any other, that the field is as before.
        """
        ...

    def field_after(self, field: Node, screen: Hierarchy) -> Node | None:
        """The field in a later capture; None when it is gone."""
        ...

    def has_text(self, field: Node, text: str) -> bool:
        """Whether the field has a text that was typed; an app may add separators."""
        ...


@runtime_checkable
class NodeActions(Protocol):
    """Optional: accessibility actions on nodes."""

    def act(self, node: Node, action: NodeAction) -> bool:
        """False when the node is gone or does not accept the action."""
        ...


class ChosenNode(Struct, frozen=True):
    """A node that a selector picked on ``screen``. ``again`` picks it on a later capture, or raises.

    ``by_itself``: its own properties picked it, not its place or what is near it.
    """

    screen: Hierarchy
    node: Node
    by_itself: bool
    again: Callable[[Hierarchy], Node]


@runtime_checkable
class TargetActions(Protocol):
    """Optional: whole actions on a node that the engine chose. The result is the evidence of the step.

    Errors of ``RETRYABLE_CODES`` mean that nothing was done; ``TARGET_CHANGED``, that another element was touched.
    """

    def click_target(
        self, chosen: ChosenNode, kind: Literal["click", "long_click", "focus"]
    ) -> dict[str, str]: ...

    def type_into(self, chosen: ChosenNode, text: str, *, submit: bool, clear: bool) -> dict[str, str] | None:
        """None when the device cannot type into this node as a whole action."""
        ...


@runtime_checkable
class GestureInput(Protocol):
    """Optional: gestures beyond a tap and a swipe."""

    def drag(self, start: tuple[int, int], end: tuple[int, int], duration_ms: int) -> bool:
        """Long-press, move and release."""
        ...

    def double_tap(self, x: int, y: int) -> bool: ...


@runtime_checkable
class ShellControl(Protocol):
    """Optional: what only a shell of the device can do: orientation, activities, installed apps, the log.

    A change of an installed app raises when the device refuses it.
    """

    def rotate(self, orientation: str) -> bool:
        """Portrait, landscape, degrees from the natural orientation, or auto."""
        ...

    def start_activity(self, named: Mapping[str, str], extras: Mapping[str, str | bool | int | float]) -> bool:
        """``named`` holds component, action and uri, as far as they are given."""
        ...

    def install(self, path: str) -> int:
        """Install an APK file of the host; returns its size in bytes."""
        ...

    def uninstall(self, package: str) -> None: ...

    def clear_data(self, package: str) -> None: ...

    def set_permission(self, package: str, permission: str, *, granted: bool) -> None: ...

    def read_log(self, package: str, since: str, max_lines: int) -> list[str]: ...


@runtime_checkable
class UserControl(Protocol):
    """Optional: Android users and profiles."""

    def choose_user(self, user: UserChoice | None) -> None:
        """The user for whom apps are opened and changed from now on; None when the action names none."""
        ...


@runtime_checkable
class AppControl(Protocol):
    """Optional: closing apps."""

    def is_running(self, package: str) -> bool:
        """Whether the app has a process; True when that is not known."""
        ...

    def force_stop(self, package: str) -> bool: ...


@runtime_checkable
class ScreenshotSource(Protocol):
    """Optional: screenshots."""

    def screenshot(self) -> bytes:
        """The screen as PNG; empty when it cannot be captured now."""
        ...


@runtime_checkable
class RecordingControl(Protocol):
    """Optional: recording. ``RECORDING_...`` errors have ``sessionId`` and ``filePath`` in details where known."""

    def start_recording(self, session_id: str | None) -> RecordingInfo: ...

    def stop_recording(self, session_id: str | None) -> RecordingInfo: ...
