"""Calls of clients: the screens that each client was shown, and one call at a time for each.

A model may send several calls at once, such as a tap and then a text. They run in the order in which they arrive,
each in a thread that reports its progress and stops when the client cancels it.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, TypeVar

import anyio
import anyio.to_thread
import mcp_types as types
import msgspec

from clawperator._base.deadline import limited
from clawperator.agent.cancellation import TurnDeadline
from clawperator.agent.model_tools import CompactSession, FinishedTool, describe_call, named_matches, result_text
from clawperator.agent.ports import ToolContext, failed_result
from clawperator.agent.tool_registry import ToolRegistry
from clawperator.contract.limits import HOST_GRACE_MS
from clawperator.device.run.host_log import log_event
from clawperator.device.run.running import still_running
from clawperator.errors import ClawError
from clawperator.operations.hints import translate

# Marks content with text of apps, and holds the error of a failed call, in the metadata of a result.
UNTRUSTED = "clawperator/untrusted"
ERROR = "clawperator/error"
# The number of a step's data that the structured content has as a number.
_COUNT = "count"
T = TypeVar("T")
Progress = Callable[[float, str], Awaitable[None]]
# How often a running call reports that it runs.
_TICK_SECONDS = 0.5
# How long a cancelled call may take to stop, and then a device to answer what it still runs.
_STOP_SECONDS = 2.0
_ASK_SECONDS = 1.0
# Times of executions are whole milliseconds.
_CLOCK_MS = 1
# Threads of calls, of all clients.
_MOST_THREADS = 64
# The least recently used clients are forgotten: their next action shows the whole screen.
_MOST_CLIENTS = 256
_MOST_DEVICES = 16
_MOST_NOTES = 8


def tool_result(tool: str, finished: FinishedTool, notes: tuple[str, ...] = ()) -> types.CallToolResult:
    """The result of a call. ``notes`` come first: what an earlier call left behind."""
    shown = finished.shown
    blocks: list[types.ContentBlock] = [types.TextContent(text="\n".join((*notes, shown.text)))]
    of_apps = [shown.found, shown.screen.block if shown.screen is not None else ""]
    blocks += [types.TextContent(text=text, _meta={UNTRUSTED: True}) for text in of_apps if text]
    blocks += [types.ImageContent(data=image.data, mime_type=image.media_type) for image in shown.images]
    if shown.is_error:
        return types.CallToolResult(content=blocks, is_error=True, _meta=_error_meta(finished.result.error))
    return types.CallToolResult(content=blocks, structured_content=structured(tool, finished))


def error_result(error: ClawError) -> types.CallToolResult:
    """The result of a call that could not be made."""
    text = types.TextContent(text=result_text(failed_result(error)))
    return types.CallToolResult(content=[text], is_error=True, _meta=_error_meta(error))


def _error_meta(error: ClawError | None) -> dict[str, Any] | None:
    return None if error is None else {ERROR: {**error.document(), "hint": translate(error.hint, describe_call)}}


def structured(tool: str, finished: FinishedTool) -> dict[str, Any] | None:
    """The structured content of a tool that has an output schema; None for the others."""
    document = finished.result.result
    if tool == "devices":
        return dict(document) if isinstance(document, Mapping) else {"devices": []}
    if tool == "snapshot":
        return _screen(finished)
    return _found(document) if tool == "query" else None


def _screen(finished: FinishedTool) -> dict[str, Any]:
    screen = finished.result.screen
    if screen is None:
        return {"snapshotId": "", "outline": ""}
    kind = "screen" if screen.is_whole else "changes"
    return {"snapshotId": screen.id, "package": screen.package, "kind": kind, "outline": screen.text}


def _found(document: Any) -> dict[str, Any]:
    """What a query or a read found, from the data of its step."""
    try:
        data: dict[str, str] = document["envelope"]["stepResults"][0]["data"]
    except (KeyError, IndexError, TypeError):
        return {}
    found: dict[str, Any] = {name: data[name] for name in ("label", "value") if name in data}
    if "text" in data:
        found["text"] = msgspec.json.decode(data["text"]) if data.get("all") == "true" else data["text"]
    if "matches" in data:
        found["matches"] = msgspec.json.decode(named_matches(data).get("matches", data["matches"]))
    if _COUNT in data:
        found[_COUNT] = int(data[_COUNT])
    return found


class McpClient:
    """A client. ``lock`` is held while a call runs; ``notes`` are for the next result."""

    def __init__(self, registry: ToolRegistry) -> None:
        self.lock = anyio.Lock()
        self._registry = registry
        self._sessions: OrderedDict[str, CompactSession] = OrderedDict()
        self._notes: list[str] = []

    def run(self, tool: str, params: Mapping[str, Any], context: ToolContext) -> FinishedTool:
        """Run a tool, in a thread. References and changes belong to the device of the call."""
        made = partial(CompactSession, self._registry, with_images=True)
        return _recent(self._sessions, context.device or "", _MOST_DEVICES, made).run(tool, params, context)

    def note(self, texts: list[str]) -> None:
        self._notes = [*self._notes, *texts][-_MOST_NOTES:]

    def take_notes(self) -> tuple[str, ...]:
        notes, self._notes = tuple(self._notes), []
        return notes


class McpClients:
    """The clients by the id of their session. One without an id is new in every call."""

    def __init__(self, registry: ToolRegistry) -> None:
        self._registry = registry
        self._known: OrderedDict[str, McpClient] = OrderedDict()

    def find(self, session_id: str | None) -> McpClient:
        if session_id is None:
            return McpClient(self._registry)
        return _recent(self._known, session_id, _MOST_CLIENTS, lambda: McpClient(self._registry))


def _recent(known: "OrderedDict[str, T]", key: str, most: int, make: Callable[[], T]) -> T:
    """The value of a key, made when it is new. The least recently used one is dropped."""
    if key not in known:
        known[key] = make()
    known.move_to_end(key)
    if len(known) > most:
        known.popitem(last=False)
    return known[key]


class CallRunner:
    """Runs calls in threads. One is shared by all clients of a server."""

    def __init__(self) -> None:
        self._limiter = anyio.CapacityLimiter(_MOST_THREADS)

    async def run(
        self,
        seconds: float,
        work: Callable[[TurnDeadline, Callable[[str], None]], T],
        progress: Progress | None,
        on_abandoned: Callable[[list[str]], None],
    ) -> T:
        """The result of the work, which gets a deadline that a cancellation ends, and a function for messages.

        The work ends within ``seconds`` and the grace of an execution.

        After a cancellation ``on_abandoned`` receives what devices may still run: an Operator finishes its plan.
        """
        deadline = TurnDeadline(seconds)
        messages: list[str] = []
        ended, began = threading.Event(), time.time()

        def run() -> T:
            try:
                with limited(seconds + HOST_GRACE_MS / 1000):
                    return work(deadline, messages.append)
            finally:
                ended.set()

        async def finished() -> T:
            return await anyio.to_thread.run_sync(run, abandon_on_cancel=True, limiter=self._limiter)

        try:
            if progress is None:
                return await finished()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_report, progress, messages)
                result = await finished()
                tasks.cancel_scope.cancel()
        except anyio.get_cancelled_exc_class():
            deadline.cancel()
            with anyio.CancelScope(shield=True):
                on_abandoned(await anyio.to_thread.run_sync(_left_running, ended, began))
            raise
        return result


def _left_running(ended: threading.Event, began: float) -> list[str]:
    """What devices may still run for a cancelled call that began then. Also written to the host log."""
    stopped = ended.wait(_STOP_SECONDS)
    running = still_running(_ASK_SECONDS, followed=not stopped)
    left = [execution for execution in running if execution.since >= began * 1000 - _CLOCK_MS]
    for execution in left:
        log_event("serve.call.abandoned", level="warn", deviceId=execution.deviceId, commandId=execution.commandId)
    return [f"A cancelled call was not stopped: {execution.describe()}." for execution in left]


async def _report(progress: Progress, messages: list[str]) -> None:
    """Report the elapsed time and the last message while the call runs."""
    began = time.monotonic()
    while True:
        await anyio.sleep(_TICK_SECONDS)
        message = messages[-1] if messages else "running"
        await progress(round(time.monotonic() - began, 3), message)
