"""One prompt being worked on: calling tools, looking at the screen, and scrolling through it."""

from collections.abc import Callable, Generator, Mapping
from typing import Any, TypeVar

from clawperator._text import is_blank, utf16_length
from clawperator.agent.cancellation import TurnDeadline
from clawperator.agent.offline.labels import is_field
from clawperator.agent.offline.screens import Screen, read_screen
from clawperator.agent.ports import ToolCall, ToolResult
from clawperator.contract.limits import MAX_MATCHER_VALUE_LENGTH
from clawperator.contract.selectors import NodeMatcher
from clawperator.errors import ClawError
from clawperator.ui.match import find_all
from clawperator.ui.node import Node

T = TypeVar("T")
Steps = Generator[ToolCall, ToolResult, T]

# What is not there yet may come. A screen that stays the same for some looks, and shows nothing under way, is
# done. One that does not scroll has little on it, and may be what an app shows while it starts.
_LOOK_AGAIN_S = 0.35
_MOST_LOOKS = 18
STILL_LOOKS = 2
_STILL_LOOKS_AT_LITTLE = 6
# How far a screen is searched, and how much of it one swipe covers.
MOST_SCROLLS = 20
_SWIPE = {"distanceRatio": 0.9}

_LOOK = "snapshot_ui"
_MOST_OLD = 4
_OLD_S = 0.1


class Work:
    """Calls tools one at a time. A call that failed or was denied is raised as its error."""

    def __init__(self, deadline: TurnDeadline) -> None:
        self.deadline = deadline
        self._calls = 0
        self.has_acted = False
        # The screen that was seen since the last act, and the one that was seen right before it.
        self._seen: str | None = None
        self._old: str | None = None

    def call(self, tool: str, params: Mapping[str, Any] | None = None) -> Steps[ToolResult]:
        self.deadline.check()
        self._calls += 1
        result = yield ToolCall(tool, params or {}, id=f"call-{self._calls}")
        if not result.handled:
            raise result.error or ClawError("UNKNOWN", result.message or f"{tool} failed", operation=tool)
        return result

    def act(self, tool: str, params: Mapping[str, Any] | None = None) -> Steps[Mapping[str, str]]:
        """Run an action and give what its step told."""
        result = yield from self.call(tool, params)
        data = step_data(tool, result)
        if tool != _LOOK:
            self.has_acted = True
            changes = tool == "click" or has_changed(data)
            self._old, self._seen = self._seen if changes else None, None
        return data

    def look(self) -> Steps[Screen]:
        """The screen. A phone may show the one before for a moment after it has changed: that is not believed."""
        screen = read_screen((yield from self.act(_LOOK)))
        for _ in range(_MOST_OLD):
            if screen.snapshot.xml != self._old:
                break
            self.deadline.sleep(_OLD_S)
            screen = read_screen((yield from self.act(_LOOK)))
        self._seen = screen.snapshot.xml
        return screen

    def agree(self, first: T, again: Callable[[], Steps[T]]) -> Steps[T]:
        """What was found, or, once something was done, what two looks in a row agree on: the first may be old."""
        for _ in range(_MOST_OLD if self.has_acted else 0):
            self.deadline.sleep(_OLD_S)
            second = yield from again()
            if second == first:
                break
            first = second
        return first

    def await_on_screen(
        self, find: Callable[[Screen], T | None], *, still_looks: int = 0
    ) -> Steps[tuple[T | None, Screen]]:
        """What ``find`` finds on the screen, which may need a moment; and the screen it was last looked for on.

        It gives up when the screen has stayed the same for ``still_looks``, or for as many as it is worth.
        """
        screen = yield from self.look()
        found, still = find(screen), 0
        for _ in range(_MOST_LOOKS):
            timeouts = still_looks or (STILL_LOOKS if screen.scrolls else _STILL_LOOKS_AT_LITTLE)
            if found is not None or still >= timeouts:
                break
            self.deadline.sleep(_LOOK_AGAIN_S)
            before = screen
            screen = yield from self.look()
            same = screen.snapshot.xml == before.snapshot.xml
            still = still + 1 if same and not screen.is_loading else 0
            found = find(screen)
        return found, screen

    def search(self, find: Callable[[Screen], T | None]) -> Steps[tuple[T | None, Screen]]:
        """The same; what does not come by itself is scrolled for, down to the end, then up to the top."""
        found, screen = yield from self.await_on_screen(find)
        if found is not None or not screen.scrolls:
            return found, screen
        downs = 0
        for _ in range(MOST_SCROLLS):
            if not (yield from self.swipe("down")):
                break
            downs += 1
            screen = yield from self.look()
            found = find(screen)
            if found is not None or not screen.scrolls:  # something may have come up in front of it
                return found, screen
        if downs == MOST_SCROLLS:
            return None, screen
        for ups in range(2 * MOST_SCROLLS):
            moved = yield from self.swipe("up")
            if moved and ups < downs - 1:
                continue  # this has been seen on the way down
            screen = yield from self.look()
            found = find(screen)
            if found is not None or not moved or not screen.scrolls:
                break
        return found, screen

    def swipe(self, direction: str, ratio: Mapping[str, float] = _SWIPE) -> Steps[bool]:
        """Scroll once; False when nothing changes, which is believed the second time: a swipe may get lost."""
        for _ in range(2):
            told = yield from self.act("scroll", {"direction": direction, **ratio})
            if told.get("scroll_outcome") == "moved" or has_changed(told):
                return True
        return False


def step_data(tool: str, result: ToolResult) -> Mapping[str, str]:
    """What the last step of an action told."""
    try:
        data = result.result["envelope"]["stepResults"][-1]["data"]
    except (KeyError, IndexError, TypeError):
        data = None
    if not isinstance(data, Mapping):
        raise ClawError(
            "RESULT_ENVELOPE_MALFORMED", f"the result of {tool} tells of no step", operation=tool, target=tool
        )
    return data


def has_changed(data: Mapping[str, str]) -> bool:
    return data.get("effect") == "changed"


def aim(screen: Screen, node: Node) -> dict[str, Any]:
    """Parameters that make a click meet this very node: a matcher whose first match it is, else its middle."""
    matcher = find_matcher(screen, node)
    if matcher is not None:
        return {"matcher": matcher}
    x, y = node.bounds.normalised().intersection(screen.snapshot.frame).centre
    return {"coordinate": {"x": x, "y": y}}


def find_matcher(screen: Screen, node: Node) -> dict[str, str] | None:
    """A matcher that only this node fits, or that fits it first; None when there is none."""
    first = None
    for fields in _descriptions(node):
        found = find_all(screen.snapshot.hierarchy, NodeMatcher(**fields), screen.snapshot.frame)
        if len(found) == 1 and found[0] is node:
            return fields
        if first is None and found and found[0] is node:
            first = fields
    return first


def _descriptions(node: Node) -> list[dict[str, str]]:
    """What may be said of a node, the surest first. What a field holds is said of it last."""
    known = {
        "resourceId": node.resource_id,
        "textEquals": "" if node.flag("password") else node.text,
        "contentDescEquals": node.content_desc,
    }
    known = {
        name: value
        for name, value in known.items()
        if not is_blank(value) and utf16_length(value) <= MAX_MATCHER_VALUE_LENGTH
    }
    orders: tuple[tuple[str, ...], ...] = (
        ("resourceId", "textEquals"),
        ("textEquals",),
        ("resourceId", "contentDescEquals"),
        ("contentDescEquals",),
        ("resourceId",),
    )
    if is_field(node):
        orders = (("resourceId",), ("contentDescEquals",), *orders)
    said = [{name: known[name] for name in order} for order in orders if all(name in known for name in order)]
    if is_field(node):
        said.append({"role": "textfield"})
    return said
