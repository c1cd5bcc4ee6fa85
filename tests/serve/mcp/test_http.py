"""The MCP server at /mcp of the HTTP server."""

import re
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client.client import Client as McpClient
from mcp.client.streamable_http import streamable_http_client

from clawperator.agent.model_tools import COMPACT_TOOLS
from clawperator.agent.turns.assembly import AgentOptions
from clawperator.serve.access import open_access
from clawperator.serve.http.requests import MAX_BODY_BYTES
from clawperator.serve.mcp.http import mcp_mount
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
from tests.support.http_client import Client, Reply, RunningServer, running_server, serve_process

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


@pytest.mark.parametrize("size", [MAX_BODY_BYTES + 1, 40_000_000])
def test_a_large_body_is_refused(serving: RunningServer, size: int) -> None:
    reply = serving.client.send("POST", "/mcp", data=b'"' + b"x" * (size - 2) + b'"')
    assert (reply.status, reply.code) == (413, "PAYLOAD_TOO_LARGE")


def test_a_body_that_does_not_arrive_is_refused(serving: RunningServer) -> None:
    serving.server.app._body_seconds = 0.2
    client = serving.client
    head = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{client.port}\r\nAuthorization: Bearer {client.token}\r\n"
    with socket.create_connection(("127.0.0.1", client.port), HANG_SECONDS) as slow:
        slow.sendall(f'{head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{"json'.encode())
        assert b" 408 " in slow.recv(65_536)


def test_an_idle_session_ends_and_its_client_must_initialize_again(tmp_path: Path) -> None:
    with limited(tmp_path, idle_seconds=0.01) as client:
        session = initialize(client)
        while (reply := ping(client, session)).status == 200:
            time.sleep(0.1)
        assert reply.status == 404
        assert "initialize" in reply.document["error"]["message"]
        assert initialize(client) != session


def test_the_least_recently_used_session_ends_when_there_are_too_many(tmp_path: Path) -> None:
    with limited(tmp_path, most_sessions=3) as client:
        first, second, third = (initialize(client) for _ in range(3))
        assert ping(client, first).status == 200
        fourth = initialize(client)
        assert [ping(client, session).status for session in (first, second, third, fourth)] == [200, 404, 200, 200]
        initialize(client)
        assert ping(client, first).status == 404


def test_a_session_that_a_client_deletes_makes_room(tmp_path: Path) -> None:
    with limited(tmp_path, most_sessions=2) as client:
        first, second = initialize(client), initialize(client)
        assert client.send("DELETE", "/mcp", headers={"Mcp-Session-Id": second}).status == 200
        third = initialize(client)
        assert [ping(client, session).status for session in (first, second, third)] == [200, 404, 200]


def test_a_session_whose_call_runs_is_not_ended(tmp_path: Path) -> None:
    with running_phone_server() as phone, limited(tmp_path, most_sessions=1) as client:
        busy = initialize(client)
        sleep = {"name": "wait", "arguments": {"do": "sleep", "durationMs": 2000}}
        replies: list[Reply] = []
        calling = threading.Thread(
            target=lambda: replies.append(
                in_session(client, busy, {**PING, "method": "tools/call", "params": sleep})
            )
        )
        calling.start()
        while not any("[Clawperator-Command] start" in record.message for record in phone.phone.log.read()):
            time.sleep(0.01)
        initialize(client)
        calling.join(HANG_SECONDS)
        assert b'"isError":false' in replies[0].body


@contextmanager
def limited(folder: Path, **limits: Any) -> Iterator[Client]:
    """A client of a server with these limits of sessions."""
    access = open_access(AgentOptions(folder=str(folder), include_mcp=False))
    with running_server(folder, mounts=(mcp_mount(access, **limits),)) as running:
        yield running.client


def initialize(client: Client) -> str:
    """Open a session; its id."""
    params = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    reply = in_session(client, "", {**PING, "method": "initialize", "params": params})
    assert reply.status == 200, reply.body
    return reply.headers["mcp-session-id"]


def ping(client: Client, session: str) -> Reply:
    return in_session(client, session, PING)


def in_session(client: Client, session: str, body: dict[str, Any]) -> Reply:
    headers = {"Accept": "application/json, text/event-stream", "Mcp-Session-Id": session}
    return client.send("POST", "/mcp", body, headers)


def test_the_command_serves_mcp(tmp_path: Path) -> None:
    with running_phone_server(), serve_process(tmp_path) as (_, http):

        async def test() -> None:
            async with connected(http.port, http.token) as client:
                assert "claw-1" in await done(client, "devices")

        run(test)
