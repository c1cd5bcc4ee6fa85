"""What an action has before it: the phone, the time that is left, and chance."""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from msgspec import Struct

from clawperator._deadline import Deadline, command_timeout
from clawperator._text import printable
from clawperator.contract.selectors import NodeMatcher
from clawperator.engine.driver import Clock, Driver
from clawperator.errors import ClawError
from clawperator.ui.match import find_all
from clawperator.ui.node import Hierarchy, Node

# A step whose data holds ``error`` has failed, and the actions after it still run. An action that raises
# ends the execution.
StepData = dict[str, str]
SaveScreenshot = Callable[[str | None, bytes], str]


class Scene(Struct, frozen=True):
    """``deadline`` is when the whole execution must be over; ``previous`` is the type of the action before."""

    driver: Driver
    clock: Clock
    random: Random
    deadline: Deadline
    previous: str | None
    save_screenshot: SaveScreenshot | None
    uri_schemes: frozenset[str]

    def left_ms(self) -> float:
        remaining = self.deadline.remaining
        return float("inf") if remaining is None else remaining * 1000

    def since_ms(self, moment: float) -> float:
        return (self.clock.monotonic() - moment) * 1000

    def pause(self, ms: float, because: ClawError | None = None) -> None:
        """Sleep, but not past the deadline: ``COMMAND_TIMEOUT`` when it comes first.

        ``because`` is what the pause should help against; the failure names it.
        """
        left = self.left_ms()
        if ms <= left:
            self.clock.sleep(ms / 1000)
            return
        self.clock.sleep(max(0.0, left) / 1000)
        raise command_timeout(because)

    def rest(self, ms: float) -> bool:
        """Sleep, or as long as there is time. False when there is none."""
        left = self.left_ms()
        if left <= 0:
            return False
        self.clock.sleep(min(ms, left) / 1000)
        return True

    def hand(self) -> Driver:
        """The phone, for whoever is about to do something to it; ``COMMAND_TIMEOUT`` when it is too late."""
        if self.left_ms() <= 0:
            raise command_timeout()
        return self.driver

    def capture(self) -> Hierarchy:
        """The screen now; ``COMMAND_TIMEOUT`` when the execution's time is over."""
        return self.hand().dump()

    def glance(self) -> Hierarchy | None:
        """The screen now, or None when it cannot be seen, whatever the reason."""
        try:
            return self.driver.dump()
        except Exception:  # noqa: BLE001 - what a look costs must never be the action it only reports on
            return None

    def find_all(self, within: Hierarchy | Node, matcher: NodeMatcher) -> list[Node]:
        """Every visible node that is meant, depth first."""
        return find_all(within, matcher, self.driver.frame())


def failure(code: str, message: str, data: Mapping[str, str] | None = None) -> StepData:
    """The data of a step that failed and lets the next one run."""
    return {**(data or {}), "error": code, "message": printable(message)}


def plain(details: Mapping[str, Any] | None) -> StepData:
    """The texts, numbers and booleans among the details of an error, as a step tells them."""
    told = {}
    for name, value in (details or {}).items():
        if isinstance(value, bool):
            told[name] = "true" if value else "false"
        elif isinstance(value, str | int | float):
            told[name] = sound(str(value))
    return told


def sound(text: str) -> str:
    """Text that can be written as UTF-8: half a surrogate pair becomes the replacement character."""
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
