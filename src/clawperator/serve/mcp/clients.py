"""The clients of the MCP server: the screens that each was shown, and one call at a time for each.

A model may send several calls at once, such as a tap and then a text. They run in the order in which they arrive.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import anyio

from clawperator.agent.compact.session import CompactSession, FinishedTool
from clawperator.agent.ports import ToolContext
from clawperator.agent.tool_registry import ToolRegistry

V = TypeVar("V")

# The least recently used clients are forgotten: their next action shows the whole screen.
_MOST_CLIENTS = 256
_MOST_DEVICES = 16
_MOST_NOTES = 8


class McpClient:
    """A client. ``lock`` is held while a call runs; ``notes`` are for the next result."""

    def __init__(self, registry: ToolRegistry) -> None:
        self.lock = anyio.Lock()
        self._registry = registry
        self._sessions: OrderedDict[str, CompactSession] = OrderedDict()
        self._notes: list[str] = []

    def run(self, tool: str, params: Mapping[str, Any], context: ToolContext) -> FinishedTool:
        """Run a tool, in a thread. References and changes belong to the device of the call."""
        return _recent(self._sessions, context.device or "", _MOST_DEVICES, self._new_session).run(
            tool, params, context
        )

    def note(self, texts: list[str]) -> None:
        self._notes = [*self._notes, *texts][-_MOST_NOTES:]

    def take_notes(self) -> tuple[str, ...]:
        notes, self._notes = tuple(self._notes), []
        return notes

    def _new_session(self) -> CompactSession:
        return CompactSession(self._registry, with_images=True)


class McpClients:
    """The clients by the id of their session. One without an id is new in every call."""

    def __init__(self, registry: ToolRegistry) -> None:
        self._registry = registry
        self._known: OrderedDict[str, McpClient] = OrderedDict()

    def find(self, session_id: str | None) -> McpClient:
        if session_id is None:
            return McpClient(self._registry)
        return _recent(self._known, session_id, _MOST_CLIENTS, lambda: McpClient(self._registry))


def _recent(known: "OrderedDict[str, V]", key: str, most: int, make: Callable[[], V]) -> V:
    """The value of a key, made when it is new. The least recently used one is dropped."""
    if key not in known:
        known[key] = make()
    known.move_to_end(key)
    if len(known) > most:
        known.popitem(last=False)
    return known[key]
