"""The MCP client with servers over streamable HTTP."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from clawperator.agent.cancellation import TurnDeadline
from clawperator.agent.mcp import client as mcp_client
from clawperator.agent.mcp.tools import Discovery, McpPool, discover
from clawperator.agent.ports import ToolContext
from clawperator.agent.settings import McpServer, McpTimeouts, user_settings
from clawperator.agent.turns.assembly import AgentOptions
from clawperator.serve.access import open_access
from clawperator.serve.mcp.http import mcp_mount
from tests.device.phone_servers import running_phone_server
from tests.support.hanging import HANG_SECONDS
from tests.support.http_client import running_server

TOKEN = "MCP_TEST_TOKEN"
HEADERS = {"Authorization": "Bearer ${" + TOKEN + "}"}
QUICK = McpTimeouts(2.0, 2.0, 2.0)


@pytest.fixture
def pool() -> Iterator[McpPool]:
    with McpPool(TurnDeadline()) as opened:
        yield opened


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An MCP server of ours, and its token in a variable."""
    access = open_access(AgentOptions(folder=str(tmp_path), include_mcp=False))
    with running_server(tmp_path, mounts=(mcp_mount(access),)) as running:
        monkeypatch.setenv(TOKEN, running.client.token)
        yield f"http://127.0.0.1:{running.server.address.port}/mcp"


def found(pool: McpPool, address: str, **more: Any) -> Discovery:
    server = McpServer(url=address, headers=HEADERS, **more)
    return discover({"box": server}, TurnDeadline(HANG_SECONDS), pool)


def failure(pool: McpPool, address: str) -> Any:
    (error,) = found(pool, address, timeouts=QUICK).failures
    assert error.code == "MCP_SERVER_FAILED"
    return error


def test_its_tools_are_listed_and_run(url: str, pool: McpPool) -> None:
    discovered = found(pool, url)
    assert [report.status for report in discovered.servers] == ["ready"]
    devices = next(tool for tool in discovered.tools if tool.name == "mcp__box__devices")
    with running_phone_server():
        result = devices.run({}, ToolContext(TurnDeadline(HANG_SECONDS)))
    assert result.handled, result


def test_a_wrong_token_is_a_failure_that_does_not_show_it(
    url: str, pool: McpPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TOKEN, "not-the-token")
    error = failure(pool, url)
    assert "HTTP status 401" in error.message
    assert "not-the-token" not in json.dumps(error.document())


def test_a_server_that_does_not_listen_is_a_failure(url: str, pool: McpPool) -> None:
    port = url.rpartition(":")[2].partition("/")[0]
    closed = url.replace(port, "1")
    assert "ConnectError" in failure(pool, closed).message


class Answering(BaseHTTPRequestHandler):
    """Answers every request with the body of the server."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body: bytes = self.server.body  # type: ignore[attr-defined]
        if not body:
            self.server.is_over.wait(HANG_SECONDS)  # type: ignore[attr-defined]
            self.close_connection = True
            return
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def answering(body: bytes) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    server.daemon_threads = False  # server_close waits for every handler: none writes during a later test
    server.body, server.is_over = body, threading.Event()  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/mcp"
    finally:
        server.is_over.set()  # type: ignore[attr-defined]
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("body", "problem"), [(b"", "within 2 s"), (b"{}", ""), (b"nonsense", ""), (b"[" * 10_000, "")]
)
def test_a_server_that_answers_nothing_or_nonsense_is_a_failure(
    pool: McpPool, body: bytes, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TOKEN, "x" * 20)
    with answering(body) as address:
        assert problem in failure(pool, address).message


def test_a_variable_that_is_not_set_is_named(pool: McpPool) -> None:
    assert f"the variable {TOKEN} is not set" in failure(pool, "http://127.0.0.1:1/mcp").message


def test_an_answer_that_is_too_long_is_not_read(pool: McpPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_client, "LONGEST_LINE", 100_000)
    monkeypatch.setenv(TOKEN, "x" * 20)
    with answering(b'{"jsonrpc":"2.0","id":1,"result":"' + b"x" * 1_000_000 + b'"}') as address:
        assert "more than 100000 bytes" in failure(pool, address).message


@pytest.mark.parametrize(
    ("server", "warning"),
    [
        ({"url": "https://example.com/mcp", "headers": {"A": "b"}}, ""),
        ({"type": "http", "url": "http://127.0.0.1:1/mcp", "headers": {"A": "b"}}, ""),
        ({"type": "sse", "url": "http://127.0.0.1:1/mcp"}, "only stdio and streamable HTTP"),
        ({"url": "ftp://127.0.0.1/mcp"}, "url must be an http or https address"),
        ({"url": "https://example.com/mcp", "command": "x"}, "without a command"),
        ({"url": "http://192.0.2.1/mcp", "headers": {"A": "b"}}, "plain http to another computer"),
        ({"url": "https://example.com/mcp", "headers": {"A": "b\nc"}}, "printable ASCII"),
    ],
)
def test_an_address_is_checked(
    server: dict[str, Any], warning: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAW_CONFIG_HOME", str(tmp_path))
    (tmp_path / "settings.json").write_text(json.dumps({"mcpServers": {"box": server}}))
    settings = user_settings()
    assert warning in " ".join(settings.warnings)
    assert ("box" in settings.mcp_servers) == (warning == "")
