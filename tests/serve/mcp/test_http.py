"""The MCP server at /mcp of the HTTP server."""

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client.client import Client as McpClient
from mcp.client.streamable_http import streamable_http_client

from clawperator.agent import COMPACT_TOOLS, AgentOptions
from clawperator.serve import mcp_mount, open_access
from tests.device.phone_servers import running_phone_server
from tests.serve.mcp.mcp_clients import (
    call,
    call_every_tool,
    cancel_running_sleep,
    done,
    record_twice_and_compare,
    run,
    text_of,
)
from tests.support.hanging import HANG_SECONDS
from tests.support.http_client import RunningServer, running_server, serve_process

SETTINGS = "com.android.settings"
BOTH = pytest.mark.parametrize("legacy", [False, True], ids=["modern", "handshake"])
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[RunningServer]:
    access = open_access(AgentOptions(folder=str(tmp_path), include_mcp=False, deny_tools=("close_app",)))
    with running_server(tmp_path, mounts=(mcp_mount(access),)) as running:
        yield running


@asynccontextmanager
async def connected(port: int, token: str, *, legacy: bool = False) -> AsyncIterator[McpClient]:
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=HANG_SECONDS) as http:
        transport = streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=http)
        async with McpClient(transport, mode="legacy" if legacy else "auto") as client:
            yield client


def to(serving: RunningServer, *, legacy: bool = False) -> Any:
    return connected(serving.server.address.port, serving.client.token, legacy=legacy)


@BOTH
def test_every_tool_runs_over_http(serving: RunningServer, *, legacy: bool) -> None:
    async def test() -> None:
        async with to(serving, legacy=legacy) as client:
            await call_every_tool(client)

    with running_phone_server():
        run(test)


def test_a_whole_task_from_looking_to_comparing(serving: RunningServer) -> None:
    async def test() -> None:
        async with to(serving) as client:
            await record_twice_and_compare(client)

    with running_phone_server():
        run(test)


@BOTH
def test_look_act_by_reference_and_verify(serving: RunningServer, *, legacy: bool) -> None:
    async def test() -> None:
        async with to(serving, legacy=legacy) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == list(COMPACT_TOOLS)
            await done(client, "app", do="open_app", applicationId=SETTINGS)
            await done(client, "tap", label="Display")
            shown = await call(client, "snapshot")
            content: Any = shown.structured_content
            found = re.search(r'(e\d+) switch "Dark theme" off', content["outline"])
            assert found is not None
            changed = await done(client, "tap", ref=f"{found[1]}@{content['snapshotId']}")
            assert "<changes " in changed
            assert '"Dark theme" on' in changed

    with running_phone_server():
        run(test)


def test_a_client_without_a_session_must_name_the_snapshot_of_a_reference(serving: RunningServer) -> None:
    async def test() -> None:
        async with to(serving) as client:
            await done(client, "snapshot")
            refused = await call(client, "tap", ref="e1")
            assert refused.is_error
            assert "names no snapshot" in text_of(refused)

    with running_phone_server():
        run(test)


@BOTH
def test_a_denied_action_and_a_dead_phone_are_errors_with_their_codes(
    serving: RunningServer, *, legacy: bool
) -> None:
    async def test() -> None:
        async with to(serving, legacy=legacy) as client:
            denied = await call(client, "app", do="close_app", applicationId=SETTINGS)
            assert "PERMISSION_DENIED" in text_of(denied)
            with running_phone_server():
                await done(client, "snapshot")
            dead = await call(client, "snapshot")
            assert dead.is_error
            assert "code: " in text_of(dead)

    run(test)


@BOTH
def test_a_long_call_reports_progress_and_a_cancelled_one_is_stopped(
    serving: RunningServer, *, legacy: bool
) -> None:
    async def test() -> None:
        async with to(serving, legacy=legacy) as client:
            with running_phone_server() as server:
                assert await cancel_running_sleep(client, server)
                await done(client, "devices")

    run(test)


@pytest.mark.parametrize(
    ("request_line", "headers", "answer"),
    [
        ("POST /mcp", {"Authorization": "Bearer wrong"}, (401, "UNAUTHORIZED")),
        ("POST /mcp", {"Origin": "https://evil.example"}, (403, "ORIGIN_NOT_ALLOWED")),
        ("POST /mcp", {"Host": "evil.example"}, (403, "HOST_NOT_ALLOWED")),
        ("GET /mcp", {}, (405, "METHOD_NOT_ALLOWED")),
        ("POST /mcp/x", {}, (404, "ROUTE_NOT_FOUND")),
    ],
)
def test_the_checks_of_the_http_server_come_first(
    serving: RunningServer, request_line: str, headers: dict[str, str], answer: tuple[int, str]
) -> None:
    method, path = request_line.split()
    reply = serving.client.send(method, path, PING, headers=headers)
    assert (reply.status, reply.code) == answer


def test_a_large_body_is_refused(serving: RunningServer) -> None:
    reply = serving.client.send("POST", "/mcp", "x" * 1_100_000, headers={"Accept": "application/json"})
    assert reply.status == 413


def test_the_command_serves_mcp(tmp_path: Path) -> None:
    with running_phone_server(), serve_process(tmp_path) as (_, http):

        async def test() -> None:
            async with connected(http.port, http.token) as client:
                assert "claw-1" in await done(client, "devices")

        run(test)
