"""The context of a running action: driver, clock, deadline and random source."""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from clawperator._base.deadline import Deadline, command_timeout
from clawperator._base.text import printable
from clawperator.contract.action_params import TextSource
from clawperator.contract.selectors import NodeMatcher, NodeSelector
from clawperator.engine.driver import CaptureCost, Clock, Driver
from clawperator.errors import ClawError
from clawperator.ui.node import Hierarchy, Node
from clawperator.ui.select import find_nodes

# Type checkers know this name; importing it from typing would cost every command some milliseconds.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from clawperator.engine.selection import ReferenceLookup

# A step whose data has ``error`` failed, and the next action still runs. An action that raises ends the execution.
StepData = dict[str, str]
SaveScreenshot = Callable[[str | None, bytes], str]
# Raises when the policy does not allow an action on a node.
CheckTarget = Callable[[Node], None]


class SecretSource(Protocol):
    """Reads secret texts on the host."""

    def read(self, source: TextSource) -> str: ...

    def active_recording(self) -> str | None:
        """The id of a recording that the host started on this device and did not stop."""
        ...


class ActionProgress(Struct):
    """Of the running action: whether the device accepted a touch, a key, a text or an intent; its last capture.

    ``secret`` is the secret text that it enters.
    """

    dispatched: bool = False
    screen: Hierarchy | None = None
    secret: str = ""


class ExecutionProgress(Struct):
    """Of the running execution: its last capture, why the last attempt failed, and how long the first one took."""

    screen: Hierarchy | None = None
    error: ClawError | None = None
    capture_ms: float | None = None


class ActionContext(Struct, frozen=True):
    """``deadline`` is that of the whole execution; ``previous`` is the type of the previous action.

    ``references`` are those of the device, ``check_target`` is asked about nodes that only the host could choose,
    ``secrets`` reads texts that no document holds. ``backtracking`` allows patterns that may take for ever.
    ``has_slow_captures``: each capture takes seconds, so there must be few. ``settle``: the action waits until the
    screen settles all the same.
    """

    driver: Driver
    clock: Clock
    random: Random
    deadline: Deadline
    previous: str | None
    save_screenshot: SaveScreenshot | None
    progress: ActionProgress
    references: "ReferenceLookup | None" = None
    check_target: CheckTarget | None = None
    secrets: "SecretSource | None" = None
    backtracking: bool = False
    execution: ExecutionProgress = msgspec.field(default_factory=ExecutionProgress)
    has_slow_captures: bool = False
    settle: bool = False

    def has_time_for_capture(self) -> bool:
        """Whether another capture would end before the deadline, if it takes as long as the first one."""
        return self.left_ms() > (self.execution.capture_ms or 0.0)

    def left_ms(self) -> float:
        remaining = self.deadline.remaining
        return float("inf") if remaining is None else remaining * 1000

    def since_ms(self, moment: float) -> float:
        return (self.clock.monotonic() - moment) * 1000

    def pause(self, ms: float, cause: ClawError | None = None) -> None:
        """Sleep; ``COMMAND_TIMEOUT`` when the deadline comes first.

        ``cause`` is the failure that is being retried; the error names it.
        """
        left = self.left_ms()
        if ms <= left:
            self.clock.sleep(ms / 1000)
            return
        self.clock.sleep(max(0.0, left) / 1000)
        raise command_timeout(cause)

    def sleep_within(self, ms: float) -> bool:
        """Sleep, at most until the deadline. False when it has passed."""
        left = self.left_ms()
        if left <= 0:
            return False
        self.clock.sleep(min(ms, left) / 1000)
        return True

    def driver_or_timeout(self) -> Driver:
        """The driver; ``COMMAND_TIMEOUT`` after the deadline."""
        if self.left_ms() <= 0:
            raise command_timeout()
        return self.driver

    def perform(self, act: Callable[[], bool]) -> bool:
        """Call a method of the driver that acts on the device. ``COMMAND_TIMEOUT`` after the deadline.

        A call that returned False had no effect. One that failed may have had one, unless its code excludes it.
        """
        self.driver_or_timeout()
        accepted = True
        try:
            accepted = act()
        except ClawError as e:
            accepted = e.code not in ("SERVICE_UNAVAILABLE", "APP_NOT_STARTED")
            raise
        finally:
            self.progress.dispatched = self.progress.dispatched or accepted
        return accepted

    def capture(self) -> Hierarchy:
        """Capture the screen; ``COMMAND_TIMEOUT`` after the deadline."""
        screen = self.progress.screen = self._timed(self.driver_or_timeout().dump)
        return screen

    def try_dump(self) -> Hierarchy | None:
        """Capture the screen; None when that fails for any reason."""
        driver = self.driver
        try:
            if self.has_slow_captures and isinstance(driver, CaptureCost):
                return self._timed(driver.look_again)
            return self._timed(driver.dump)
        except Exception:  # noqa: BLE001 - a capture that only reports on an action must not fail it
            return None

    def _timed(self, capture: Callable[[], Hierarchy]) -> Hierarchy:
        """Make a capture, and keep it for the actions after this one."""
        began, execution = self.clock.monotonic(), self.execution
        execution.error = None
        try:
            execution.screen = screen = capture()
        except ClawError as e:
            execution.error = e
            raise
        finally:
            if execution.capture_ms is None:
                execution.capture_ms = self.since_ms(began)
        return screen

    def find_all(self, within: Hierarchy | Node, matcher: NodeMatcher, *, several: bool = False) -> list[Node]:
        """Every visible node that matches, in the order of the selector.

        ``REF_STALE`` or ``NODE_AMBIGUOUS`` when a selector of the host leaves in doubt which node is meant.
        With ``several`` the caller takes all of them.
        """
        frame = self.driver.frame()
        if not isinstance(matcher, NodeSelector) or matcher.for_operator:
            return find_nodes(within, matcher, frame)
        from clawperator.engine.selection import select

        found = select(within, matcher, frame, self.references, several=several)
        if self.check_target is not None:
            for node in found if several else found[:1]:
                self.check_target(node)
        return found


def failure(code: str, message: str, data: Mapping[str, str] | None = None) -> StepData:
    """The data of a failed step after which the next one still runs."""
    return {**(data or {}), "error": code, "message": printable(message)}


def unsupported(what: str) -> ClawError:
    hint = "Use the backend operator or adb."
    return ClawError("EXECUTION_ACTION_UNSUPPORTED", f"this driver cannot {what}", hint=hint)


def string_details(details: Mapping[str, Any] | None) -> StepData:
    """The texts, numbers and booleans among the details of an error, as strings; objects as JSON."""
    strings = {}
    for name, value in (details or {}).items():
        if isinstance(value, bool):
            strings[name] = "true" if value else "false"
        elif isinstance(value, str | int | float):
            strings[name] = valid_text(str(value))
        elif isinstance(value, Mapping):
            strings[name] = valid_text(msgspec.json.encode(value).decode())
    return strings


def valid_text(text: str) -> str:
    """Text that UTF-8 can encode: a lone surrogate becomes the replacement character."""
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
