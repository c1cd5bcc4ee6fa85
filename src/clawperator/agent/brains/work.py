"""One prompt being worked on: calling tools, looking at the screen, and scrolling through it."""

from collections.abc import Callable, Generator, Mapping
from typing import Any, TypeVar

from clawperator.agent.brains.screens import Screen, read_screen
from clawperator.agent.ports import ToolCall, ToolResult
from clawperator.agent.watch import Watch
from clawperator.contract.errors import ClawError

T = TypeVar("T")
Steps = Generator[ToolCall, ToolResult, T]

# What is not there yet may come. A screen that stays the same for some looks, and shows nothing under way, is
# done. One that does not scroll has little on it, and may be what an app shows while it starts.
_LOOK_AGAIN_S = 0.35
_MOST_LOOKS = 18
_STILL_LOOKS = 2
_STILL_LOOKS_AT_LITTLE = 6
# How far a screen is searched, and how much of it one swipe covers.
MOST_SCROLLS = 20
_SWIPE = {"distanceRatio": 0.9}

_EFFECTS = {"changed": "the screen changed", "unchanged": "nothing changed on the screen"}


class Work:
    """Calls tools one at a time. A call that failed or was denied is raised as its error."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self._calls = 0

    def call(self, tool: str, params: Mapping[str, Any] | None = None) -> Steps[ToolResult]:
        self.watch.check()
        self._calls += 1
        result = yield ToolCall(tool, params or {}, id=f"call-{self._calls}")
        if not result.handled:
            raise result.error or ClawError("UNKNOWN", result.message or f"{tool} failed", operation=tool)
        return result

    def act(self, tool: str, params: Mapping[str, Any] | None = None) -> Steps[Mapping[str, str]]:
        """Run an action and give what its step told."""
        result = yield from self.call(tool, params)
        return step_data(tool, result)

    def look(self) -> Steps[Screen]:
        return read_screen((yield from self.act("snapshot_ui")))

    def await_on_screen(self, find: Callable[[Screen], T | None]) -> Steps[tuple[T | None, Screen]]:
        """What ``find`` finds on the screen, which may need a moment; and the screen it was last looked for on."""
        screen = yield from self.look()
        found, still = find(screen), 0
        for _ in range(_MOST_LOOKS):
            if found is not None or still >= (_STILL_LOOKS if screen.scrolls else _STILL_LOOKS_AT_LITTLE):
                break
            self.watch.sleep(_LOOK_AGAIN_S)
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
        for direction, most in (("down", MOST_SCROLLS), ("up", 2 * MOST_SCROLLS)):
            for _ in range(most):
                told = yield from self.act("scroll", {"direction": direction, **_SWIPE})
                screen = yield from self.look()
                found = find(screen)
                if found is not None:
                    return found, screen
                if told.get("scroll_outcome") != "moved":
                    break
            else:
                break
        return None, screen


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


def effect(data: Mapping[str, str]) -> str:
    """What came of an action, in words."""
    return _EFFECTS.get(data.get("effect", ""), "whether the screen changed is not known")
