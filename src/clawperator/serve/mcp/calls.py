"""Run a call in a thread: report its progress, and stop it when the client cancels it."""

import threading
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
import anyio.to_thread

from clawperator._base.deadline import limited
from clawperator.agent.cancellation import TurnDeadline
from clawperator.contract.limits import HOST_GRACE_MS
from clawperator.device.run.host_log import log_event
from clawperator.device.run.running import still_running

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
