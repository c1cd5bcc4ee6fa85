"""Connections of the official client to our MCP server: in this process, and to the command over stdio."""

import gc
import os
import re
import sys
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import jsonschema
import mcp_types as types
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from clawperator.agent.model_tools import COMPACT_TOOLS
from clawperator.agent.turns.assembly import AgentOptions
from clawperator.phone.process.server import PhoneServer
from clawperator.serve.access import open_access
from clawperator.serve.mcp.server import OUTPUT_SCHEMAS, make_server
from tests.support.hanging import HANG_SECONDS

COMMAND = (sys.executable, "-m", "clawperator", "mcp")


def run(test: Callable[[], Awaitable[Any]]) -> Any:
    """Run an asynchronous test, with a limit of time."""

    async def limited() -> Any:
        with anyio.fail_after(HANG_SECONDS):
            return await test()

    try:
        with warnings.catch_warnings():
            # Clients leave streams behind. They are collected here, not in another test, which would fail.
            warnings.simplefilter("ignore", ResourceWarning)
            try:
                return anyio.run(limited)
            finally:
                gc.collect()
    except BaseExceptionGroup as group:  # of the tasks of a client: show the failure itself
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        raise error from None


def connect(folder: Path, *, legacy: bool = False, **options: Any) -> Client:
    """A client of a server in this process. The old protocol begins with a handshake."""
    server = make_server(open_access(AgentOptions(folder=str(folder), **options)))
    return Client(server, mode="legacy" if legacy else "auto")


@asynccontextmanager
async def stdio(folder: Path, *arguments: str) -> AsyncIterator[Client]:
    """A client of the command."""
    program, *rest = COMMAND
    parameters = StdioServerParameters(
        command=program, args=[*rest, *arguments], env=dict(os.environ), cwd=str(folder)
    )
    async with Client(stdio_client(parameters)) as client:
        yield client


def text_of(result: types.CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, types.TextContent))


async def call(client: Client, tool: str, **arguments: Any) -> types.CallToolResult:
    result = await client.call_tool(tool, arguments)
    assert isinstance(result, types.CallToolResult)
    return result


async def done(client: Client, tool: str, **arguments: Any) -> str:
    """The text of a call that must succeed."""
    result = await call(client, tool, **arguments)
    assert not result.is_error, text_of(result)
    return text_of(result)


SETTINGS = "com.android.settings"
# A call of each tool, in an order in which all succeed on a simulated phone.
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("devices", {}),
    ("app", {"do": "open_app", "applicationId": SETTINGS}),
    ("snapshot", {"settle": True}),
    ("query", {"label": "Display"}),
    ("wait", {"label": "Display"}),
    ("tap", {"label": "Search settings"}),
    ("type", {"text": "Wi"}),
    ("press", {"key": "back"}),
    ("scroll", {"direction": "down"}),
    ("run_plan", {"actions": [{"type": "press_key", "params": {"key": "home"}}]}),
    ("screenshot", {}),
    ("phone", {"do": "doctor"}),
    ("recording", {"do": "start_recording", "sessionId": "s1"}),
    ("skills", {"keyword": "settings"}),
)


async def call_every_tool(client: Client) -> None:
    """List the tools and call each of them; every result must be a success, with the content its schema states."""
    assert [tool.name for tool in (await client.list_tools()).tools] == list(COMPACT_TOOLS)
    assert {name for name, _ in CALLS} == set(COMPACT_TOOLS)
    for name, arguments in CALLS:
        result = await call(client, name, **arguments)
        assert not result.is_error, (name, text_of(result))
        if name in OUTPUT_SCHEMAS:
            jsonschema.validate(result.structured_content, OUTPUT_SCHEMAS[name])
        else:
            assert result.structured_content is None


async def record_twice_and_compare(client: Client) -> None:
    """A whole task: open an app, look, act by reference and verify, as a recording; do it again and compare."""
    first, second = await _demonstrate(client, "one"), await _demonstrate(client, "two")
    assert "open" in await done(client, "recording", do="recording_describe", input=first)
    compared = await done(client, "recording", do="recording_compare", baseline=first, result=second)
    assert compared.startswith(("semantic_match", "literal_match")), compared
    listed = [str(resource.uri) for resource in (await client.list_resources()).resources]
    assert f"clawperator://files/{first}" in listed


async def _demonstrate(client: Client, session: str) -> str:
    """Record a tap on Display by its reference; the path of the export."""
    await done(client, "press", key="home")
    await done(client, "recording", do="start_recording", sessionId=session)
    await done(client, "app", do="open_app", applicationId=SETTINGS)
    content: Any = (await call(client, "snapshot")).structured_content
    found = re.search(r'(e\d+) button "Display"', content["outline"])
    assert found is not None, content["outline"]
    assert "the screen changed" in await done(client, "tap", ref=f"{found[1]}@{content['snapshotId']}")
    await done(client, "wait", label="Dark theme")
    await done(client, "press", key="back")
    await done(client, "recording", do="stop_recording", sessionId=session)
    await done(client, "recording", do="recording_pull", sessionId=session)
    await done(client, "recording", do="recording_export", input=f"recordings/{session}.ndjson")
    return f"recordings/{session}.export.json"


async def cancel_running_sleep(client: Client, server: PhoneServer) -> list[float]:
    """Cancel a call when the phone runs it and progress was reported; the reported times.

    The phone sleeps for a tenth of the time, which is still ten seconds more than it takes to cancel.
    """
    reports: list[float] = []
    after = max((record.number for record in server.phone.log.read()), default=0)

    async def report(progress: float, total: float | None, message: str | None) -> None:
        assert (total, message) == (None, "running")
        reports.append(progress)

    async def sleep() -> None:
        await client.call_tool("wait", {"do": "sleep", "durationMs": 120_000}, progress_callback=report)

    def is_running() -> bool:
        return any("[Clawperator-Command] start" in record.message for record in server.phone.log.read(after))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(sleep)
        while not (reports and is_running()):  # noqa: ASYNC110 - the phone has no event for it
            await anyio.sleep(0.02)
        tasks.cancel_scope.cancel()
    return reports
