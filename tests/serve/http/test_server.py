"""The server as a process, and how it starts and stops."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from clawperator.agent.turns.assembly import AgentOptions
from clawperator.device import discovery
from clawperator.errors import ClawError
from clawperator.serve.access import open_access
from clawperator.serve.http import calls
from clawperator.serve.http.app import MountedApp
from clawperator.serve.http.server import HttpServer, ServeOptions
from tests.serve.http.test_contract_routes import execution
from tests.support.http_client import Reply, running_server, serve_process
from tests.support.running import clawperator

SLEEP = {"id": "s", "type": "sleep", "params": {"durationMs": 2_000}}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_server_with_exit_code_0(folder: Path, number: signal.Signals) -> None:
    with serve_process(folder) as (process, client):
        assert client.get("/health").status == 200
        with client.events() as events:
            process.send_signal(number)
            assert events.next().event == "clawperator:closed"
        output, errors = process.communicate(timeout=30)
        assert (process.returncode, output) == (0, "")
        assert client.token not in errors


def test_the_token_file_can_be_chosen(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("a-token-of-our-own-choice\n")
    path.chmod(0o600)
    with serve_process(folder, "--token-file", str(path)) as (_, client):
        assert client.token == "a-token-of-our-own-choice"
        assert client.get("/schemas").status == 200


def test_flags_of_the_policy_apply(folder: Path) -> None:
    with serve_process(folder, "--permission-mode", "read-only") as (_, client):
        assert client.post("/phones/one/start").code == "PERMISSION_DENIED"


def test_a_timeout_stops_the_server(folder: Path) -> None:
    with serve_process(folder, "--timeout", "100") as (process, _):
        process.communicate(timeout=30)
        assert process.returncode == 0


def test_a_port_in_use_is_an_error_with_a_hint() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        ran = clawperator("serve", "--port", str(port))
    assert (ran.code, ran.json["code"]) == (1, "SERVER_START_FAILED")
    assert ran.json["message"] == f"port {port} of 127.0.0.1 is in use"
    assert "--port 0" in ran.json["hint"]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.invalid"])
def test_an_address_for_other_computers_needs_the_flag(host: str) -> None:
    ran = clawperator("serve", "--host", host, "--port", "0")
    assert (ran.code, ran.json["code"]) == (1, "USAGE")
    assert "--allow-remote" in ran.json["hint"]


def test_an_address_that_is_not_ours_is_an_error() -> None:
    ran = clawperator("serve", "--host", "192.0.2.1", "--port", "0", "--allow-remote")
    assert (ran.code, ran.json["code"]) == (1, "SERVER_START_FAILED")


@pytest.mark.parametrize("port", ["70000", "-1", "x", "1.5", ""])
def test_an_invalid_port_is_refused(port: str) -> None:
    ran = clawperator("serve", f"--port={port}")
    assert (ran.code, ran.json["code"]) == (1, "USAGE")


@pytest.mark.parametrize("missing", ["starlette", "uvicorn"])
def test_a_missing_extra_is_an_error_with_the_command_that_installs_it(missing: str) -> None:
    script = f"import sys; sys.modules[{missing!r}] = None; from clawperator.cli.main import main; main()"
    ran = subprocess.run(
        [sys.executable, "-P", "-c", script, "serve", "--port", "0"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    document = json.loads(ran.stdout)
    assert (ran.returncode, document["code"]) == (1, "HOST_DEPENDENCY_MISSING")
    assert missing in document["message"]
    assert "pip install 'clawperator[serve]'" in document["hint"]


def test_any_free_port_is_reported(folder: Path) -> None:
    with running_server(folder) as one, running_server(folder) as two:
        assert one.client.port != two.client.port
        assert one.client.token == two.client.token


@pytest.mark.usefixtures("route")
def test_a_running_execution_may_finish_when_the_server_stops(folder: Path) -> None:
    with running_server(folder, grace_seconds=20) as running:
        statuses: list[int] = []
        body = {"execution": execution({**SLEEP, "params": {"durationMs": 600}})}
        thread = threading.Thread(target=lambda: statuses.append(running.client.post("/execute", body).status))
        thread.start()
        wait_for_work(running.server)
        running.server.stop()
        thread.join(30)
        assert statuses == [200]


@pytest.mark.usefixtures("route")
def test_a_client_gets_a_typed_answer_when_its_execution_does_not_finish_in_time(folder: Path) -> None:
    replies: list[Reply] = []
    body = {"execution": execution({**SLEEP, "params": {"durationMs": 60_000}}, timeout=70_000)}
    with running_server(folder, grace_seconds=0.1) as running:
        thread = threading.Thread(target=lambda: replies.append(running.client.post("/execute", body)))
        thread.start()
        wait_for_work(running.server)
    thread.join(30)
    (reply,) = replies
    assert reply.status == 503
    assert reply.code in ("SERVER_STOPPING", "INTERRUPTED")


def wait_for_work(server: HttpServer) -> None:
    deadline = time.monotonic() + 30
    while server.app.services.workers.is_idle:
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.usefixtures("route")
def test_a_client_that_disconnects_does_not_stop_its_execution(folder: Path) -> None:
    with running_server(folder, grace_seconds=20) as running, running.client.events() as events:
        body = json.dumps({"execution": execution({**SLEEP, "params": {"durationMs": 300}}, command="left")})
        head = (
            f"POST /execute HTTP/1.1\r\nHost: 127.0.0.1:{running.client.port}\r\n"
            f"Authorization: Bearer {running.client.token}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        with socket.create_connection(("127.0.0.1", running.client.port)) as connection:
            connection.sendall((head + body).encode())
            wait_for_work(running.server)
        assert events.next().document["envelope"]["commandId"] == "left"


def test_a_defect_is_500_without_internals(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(discovery, "list_devices", broken)
    with running_server(folder) as running:
        reply = running.client.get("/devices")
        assert (reply.status, reply.code) == (500, "INTERNAL_SERVER_ERROR")
        assert b"secret" not in reply.body
        assert b"RuntimeError" not in reply.body
        assert running.client.get("/health").status == 200


def test_requests_and_clients_are_in_the_host_log(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CLAWPERATOR_LOG_DIR", str(tmp_path / "logs"))
    with running_server(folder) as running:
        running.client.get("/health")
        running.client.get("/nothing")
        with running.client.events():
            pass
    (file,) = (tmp_path / "logs").iterdir()
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    events = {line["event"] for line in lines}
    assert {
        "serve.server.started",
        "serve.http.request",
        "serve.http.error",
        "serve.sse.client.connected",
        "serve.sse.client.disconnected",
    } <= events
    (health,) = (line for line in lines if line["message"] == "GET /health")
    assert (health["status"], "durationMs" in health) == ("200", True)
    assert os.stat(file).st_mode & 0o077 == 0


def test_too_many_calls_at_once_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()
    monkeypatch.setattr(discovery, "list_devices", lambda: list[object]() if release.wait(30) else None)
    with running_server(folder) as running:
        workers = running.server.app.services.workers
        monkeypatch.setattr(calls, "_MOST_THREADS", 2)
        monkeypatch.setattr(calls, "_MOST_WAITING", 0)
        threads = [threading.Thread(target=running.client.get, args=("/devices",)) for _ in range(2)]
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + 30
        while workers._unfinished < 2:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        reply = running.client.get("/schemas")
        assert (reply.status, reply.code) == (503, "SERVER_BUSY")
        assert running.client.get("/health").status == 200
        release.set()
        for thread in threads:
            thread.join(30)
        assert running.client.get("/schemas").status == 200


def test_a_mounted_application_is_behind_the_same_checks(folder: Path) -> None:
    states: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await PlainTextResponse(f"mounted {scope['path']}")(scope, receive, send)

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        states.append("open")
        yield
        states.append("closed")

    with running_server(folder, mounts=(MountedApp("/mcp", app, lifespan),)) as running:
        client = running.client
        assert client.get("/mcp").status == 200
        assert client.send("GET", "/mcp", headers={"Authorization": ""}).status == 401
        assert client.send("GET", "/mcp", headers={"Host": "evil.example"}).status == 403
        assert client.send("GET", "/mcp", headers={"Origin": "https://evil.example"}).status == 403
        assert states == ["open"]
    assert states == ["open", "closed"]


def test_a_remote_address_is_refused_before_a_token_is_made(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path / "home"))
    with pytest.raises(ClawError):
        HttpServer(open_access(AgentOptions(folder=str(folder))), ServeOptions(host="0.0.0.0", port=0))
    assert not (tmp_path / "home").exists()
