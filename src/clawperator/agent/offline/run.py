"""The run of one prompt: call tools, capture the screen, scroll through it and address nodes on it."""

from collections.abc import Callable, Generator, Mapping
from typing import Any, TypeVar

from clawperator._base.text import is_blank, utf16_length
from clawperator.agent.cancellation import TurnDeadline
from clawperator.agent.offline.screens import CapturedScreen, parse_screen
from clawperator.agent.ports import ToolCall, ToolResult
from clawperator.contract.limits import MAX_MATCHER_VALUE_LENGTH
from clawperator.contract.selectors import NodeMatcher
from clawperator.engine.targets import touch_point
from clawperator.errors import ClawError
from clawperator.ui.node import Node, is_field
from clawperator.ui.select import find_nodes

T = TypeVar("T")
ToolSteps = Generator[ToolCall, ToolResult, T]

# A missing element may still appear. A screen that stays the same for some captures and shows no progress is
# final. A screen that does not scroll may be the splash screen of an app, so it gets more captures.
_CAPTURE_INTERVAL_S = 0.35
_MAX_CAPTURES = 18
STABLE_CAPTURES = 2
_STABLE_CAPTURES_IF_SHORT = 6
# How far a screen is searched, and how much of it one scroll covers.
MAX_SCROLLS = 20
_SWIPE = {"distanceRatio": 0.9}

_CAPTURE_TOOL = "snapshot_ui"
_MAX_STALE = 4
_STALE_RETRY_S = 0.1


class OfflineRun:
    """Calls tools one at a time. A failed or denied call raises its error."""

    def __init__(self, deadline: TurnDeadline) -> None:
        self.deadline = deadline
        self._calls = 0
        self.has_acted = False
        # The latest capture since the last action, and the one right before that action.
        self._latest: str | None = None
        self._before_action: str | None = None

    def call_tool(self, tool: str, params: Mapping[str, Any] | None = None) -> ToolSteps[ToolResult]:
        self.deadline.check()
        self._calls += 1
        result = yield ToolCall(tool, params or {}, id=f"call-{self._calls}")
        if not result.handled:
            raise result.error or ClawError("UNKNOWN", result.message or f"{tool} failed", operation=tool)
        return result

    def run_action(self, tool: str, params: Mapping[str, Any] | None = None) -> ToolSteps[Mapping[str, str]]:
        """Run an action and return its step data."""
        result = yield from self.call_tool(tool, params)
        data = step_data(tool, result)
        if tool != _CAPTURE_TOOL:
            self.has_acted = True
            changes = tool == "click" or has_changed(data)
            self._before_action, self._latest = self._latest if changes else None, None
        return data

    def capture(self) -> ToolSteps[CapturedScreen]:
        """Capture the screen. A capture equal to the one before the last action may be stale and is repeated."""
        screen = parse_screen((yield from self.run_action(_CAPTURE_TOOL)))
        for _ in range(_MAX_STALE):
            if screen.snapshot.xml != self._before_action:
                break
            self.deadline.sleep(_STALE_RETRY_S)
            screen = parse_screen((yield from self.run_action(_CAPTURE_TOOL)))
        self._latest = screen.snapshot.xml
        return screen

    def confirm(self, first: T, again: Callable[[], ToolSteps[T]]) -> ToolSteps[T]:
        """``first``, or, after an action, a value that two captures in a row agree on: the first may be stale."""
        for _ in range(_MAX_STALE if self.has_acted else 0):
            self.deadline.sleep(_STALE_RETRY_S)
            second = yield from again()
            if second == first:
                break
            first = second
        return first

    def wait_on_screen(
        self, find: Callable[[CapturedScreen], T | None], *, stable_captures: int = 0
    ) -> ToolSteps[tuple[T | None, CapturedScreen]]:
        """Capture the screen until ``find`` succeeds. Returns its result, or None, and the last screen.

        Gives up when the screen is unchanged for ``stable_captures`` captures; 0 selects the default.
        """
        screen = yield from self.capture()
        found, stable = find(screen), 0
        for _ in range(_MAX_CAPTURES):
            needed = stable_captures or (STABLE_CAPTURES if screen.scrolls else _STABLE_CAPTURES_IF_SHORT)
            if found is not None or stable >= needed:
                break
            self.deadline.sleep(_CAPTURE_INTERVAL_S)
            before = screen
            screen = yield from self.capture()
            same = screen.snapshot.xml == before.snapshot.xml
            stable = stable + 1 if same and not screen.is_loading else 0
            found = find(screen)
        return found, screen

    def scroll_to_find(
        self, find: Callable[[CapturedScreen], T | None]
    ) -> ToolSteps[tuple[T | None, CapturedScreen]]:
        """Like ``wait_on_screen``, then scroll down to the end and up to the top."""
        found, screen = yield from self.wait_on_screen(find)
        if found is not None or not screen.scrolls:
            return found, screen
        downs = 0
        for _ in range(MAX_SCROLLS):
            if not (yield from self.scroll_once("down")):
                break
            downs += 1
            screen = yield from self.capture()
            found = find(screen)
            if found is not None or not screen.scrolls:  # a dialog may cover the list
                return found, screen
        if downs == MAX_SCROLLS:
            return None, screen
        for ups in range(2 * MAX_SCROLLS):
            moved = yield from self.scroll_once("up")
            if moved and ups < downs - 1:
                continue  # seen on the way down
            screen = yield from self.capture()
            found = find(screen)
            if found is not None or not moved or not screen.scrolls:
                break
        return found, screen

    def scroll_once(self, direction: str, ratio: Mapping[str, float] = _SWIPE) -> ToolSteps[bool]:
        """Scroll once; False when nothing moves. Repeats a scroll without effect once: a gesture may get lost."""
        for _ in range(2):
            data = yield from self.run_action("scroll", {"direction": direction, **ratio})
            if data.get("scroll_outcome") == "moved" or has_changed(data):
                return True
        return False


def step_data(tool: str, result: ToolResult) -> Mapping[str, str]:
    """The data of an action's last step."""
    try:
        data = result.result["envelope"]["stepResults"][-1]["data"]
    except (KeyError, IndexError, TypeError):
        data = None
    if not isinstance(data, Mapping):
        raise ClawError(
            "RESULT_ENVELOPE_MALFORMED", f"the result of {tool} has no step data", operation=tool, target=tool
        )
    return data


def has_changed(data: Mapping[str, str]) -> bool:
    return data.get("effect") == "changed"


def click_params(screen: CapturedScreen, node: Node) -> dict[str, Any]:
    """Parameters of a click on this node: a matcher whose first match it is, otherwise a point of it.

    ``NODE_COVERED`` when it has neither.
    """
    matcher = find_matcher(screen, node)
    if matcher is not None:
        return {"matcher": matcher}
    x, y = touch_point(screen.snapshot.hierarchy, node, screen.snapshot.frame)
    return {"coordinate": {"x": x, "y": y}}


def find_matcher(screen: CapturedScreen, node: Node) -> dict[str, str] | None:
    """A matcher that finds only this node, or finds it first; None when there is none."""
    first = None
    for fields in _candidate_matchers(node):
        found = find_nodes(screen.snapshot.hierarchy, NodeMatcher(**fields), screen.snapshot.frame)
        if len(found) == 1 and found[0] is node:
            return fields
        if first is None and found and found[0] is node:
            first = fields
    return first


def _candidate_matchers(node: Node) -> list[dict[str, str]]:
    """Matchers for a node, most specific first. The contents of a field come last."""
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
    field_sets: tuple[tuple[str, ...], ...] = (
        ("resourceId", "textEquals"),
        ("textEquals",),
        ("resourceId", "contentDescEquals"),
        ("contentDescEquals",),
        ("resourceId",),
    )
    if is_field(node):
        field_sets = (("resourceId",), ("contentDescEquals",), *field_sets)
    matchers = [
        {name: known[name] for name in fields} for fields in field_sets if all(name in known for name in fields)
    ]
    if is_field(node):
        matchers.append({"role": "textfield"})
    return matchers
