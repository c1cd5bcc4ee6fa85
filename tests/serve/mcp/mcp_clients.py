"""Connections of the official client to our MCP server: in this process, and to the command over stdio."""

import gc
import os
import sys
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from clawperator.agent import AgentOptions
from clawperator.serve import make_server, open_access
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
