"""Bodies, queries and paths: every refusal is typed, and the server stays up."""

import socket
import time
from pathlib import Path

import pytest

from clawperator.serve.http import server
from clawperator.serve.http.requests import MAX_BODY_BYTES
from tests.support.http_client import Client, Reply, running_server


@pytest.mark.parametrize("data", [b"{", b"nul", b'{"a":}', b"\xff\xfe", b'{"deviceId":"\xc3"}', b"[" * 50_000])
def test_malformed_json_is_refused(client: Client, data: bytes) -> None:
    reply = client.send("POST", "/snapshot", data=data)
    assert (reply.status, reply.code) == (400, "INVALID_JSON")


@pytest.mark.parametrize("size", [MAX_BODY_BYTES + 1, 1_000_000, 40_000_000])
def test_an_oversized_body_is_refused(client: Client, size: int) -> None:
    reply = client.send("POST", "/snapshot", data=b'{"deviceId":"' + b"x" * (size - 15) + b'"}')
    assert (reply.status, reply.code) == (413, "PAYLOAD_TOO_LARGE")
    assert reply.headers["connection"] == "close"


def test_a_body_of_the_largest_size_is_read(client: Client) -> None:
    body = b'{"deviceId":' + b" " * (MAX_BODY_BYTES - 14) + b"1}"
    assert len(body) == MAX_BODY_BYTES
    assert client.send("POST", "/snapshot", data=body).code == "INVALID_DEVICE_ID"


def test_a_chunked_body_has_the_same_limit(client: Client) -> None:
    reply = raw(
        client,
        head(client, "POST /snapshot", "Transfer-Encoding: chunked"),
        *[b"8000\r\n" + b" " * 0x8000 + b"\r\n"] * 5,
        b"0\r\n\r\n",
    )
    assert (reply.status, reply.code) == (413, "PAYLOAD_TOO_LARGE")


def test_another_media_type_is_refused(client: Client) -> None:
    reply = client.send("POST", "/snapshot", {}, {"Content-Type": "text/plain"})
    assert (reply.status, reply.code) == (415, "UNSUPPORTED_MEDIA_TYPE")


def test_an_unknown_path_is_404(client: Client) -> None:
    reply = client.get("/execute/more")
    assert (reply.status, reply.code) == (404, "ROUTE_NOT_FOUND")


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("GET", "/execute", "POST"),
        ("PUT", "/devices", "GET"),
        ("DELETE", "/android/emulators/create", "POST"),
        ("POST", "/android/emulators/one", "GET, DELETE"),
        ("OPTIONS", "/session", "POST, DELETE"),
    ],
)
def test_another_method_is_405_with_those_that_are_allowed(
    client: Client, method: str, path: str, allow: str
) -> None:
    reply = client.send(method, path)
    assert (reply.status, reply.code, reply.headers["allow"]) == (405, "METHOD_NOT_ALLOWED", allow)


@pytest.mark.parametrize(
    "path",
    [
        "/skills?app=a&app=b",
        "/skills?other=1",
        "/skills?app=%ff",
        "/skills?" + "&".join(f"a{n}=1" for n in range(99)),
    ],
)
def test_an_invalid_query_is_refused(client: Client, path: str) -> None:
    reply = client.get(path)
    assert (reply.status, reply.code) == (400, "INVALID_QUERY")


def test_a_query_has_numbers_and_booleans_as_text(client: Client) -> None:
    assert client.get("/packages?user=10&thirdParty=true").code == "ADB_NOT_FOUND"
    assert client.get("/packages?user=current&thirdParty=maybe").code == "INVALID_QUERY"


def test_an_error_about_an_action_names_the_field_of_its_route(client: Client) -> None:
    error = client.post("/snapshot", {"view": "xml", "since": "s1a2b3c4d"}).document["error"]
    assert error["message"] == "since: needs the view outline"
    actions = [{"type": "snapshot_ui", "params": {"view": "xml", "since": "s1a2b3c4d"}}]
    error = client.post("/execute", {"execution": {"actions": actions}}).document["error"]
    assert error["message"] == "actions.0.params.since: needs the view outline"


def test_fields_of_a_body_are_not_taken_from_the_query(client: Client) -> None:
    assert client.send("POST", "/snapshot?deviceId=claw-1", {}).code == "INVALID_QUERY"


def test_a_field_of_the_path_is_not_taken_from_the_body(client: Client) -> None:
    assert client.post("/phones/one/stop", {"serial": "two"}).code == "INVALID_BODY"


@pytest.mark.parametrize(
    "path", ["../out.png", "/etc/out.png", "a/../../out.png", "link/out.png", ".claw/out.png", "x\0.png"]
)
def test_paths_cannot_leave_the_folder(phone_client: Client, folder: Path, path: str) -> None:
    (folder / "link").symlink_to(folder.parent)
    reply = phone_client.post("/screenshot", {"path": path})
    assert (reply.status, reply.code) in ((403, "PERMISSION_DENIED"), (400, "TOOL_PAYLOAD_INVALID"))
    assert list(folder.parent.rglob("*.png")) == []


def test_paths_in_executions_and_recordings_cannot_leave_the_folder(phone_client: Client) -> None:
    action = {"id": "s", "type": "take_screenshot", "params": {"path": "../out.png"}}
    plan = {"commandId": "c", "taskId": "c", "source": "t", "expectedFormat": "android-ui-automator"}
    bodies = {
        "/execute": {"execution": {**plan, "timeoutMs": 1_000, "actions": [action]}},
        "/recordings/export": {"input": "../x.ndjson"},
        "/recordings/describe": {"input": "/etc/passwd"},
        "/recordings/compare": {"baseline": "../a", "result": "../b"},
        "/recordings/pull": {"folder": ".."},
        "/phones/p/start": {"cassette": "../x.ndjson"},
    }
    for path, body in bodies.items():
        reply = phone_client.post(path, body)
        assert (reply.status, reply.code) == (403, "PERMISSION_DENIED"), path
    assert phone_client.get("/recordings?folder=..").code == "PERMISSION_DENIED"


# Slow clients and clients that do not speak HTTP


def head(client: Client, line: str, *headers: str) -> bytes:
    more = "".join(f"{header}\r\n" for header in headers)
    lines = (
        f"{line} HTTP/1.1\r\nHost: 127.0.0.1:{client.port}\r\nAuthorization: Bearer {client.token}\r\n{more}\r\n"
    )
    return lines.encode()


def raw(client: Client, *parts: bytes) -> Reply:
    """Send bytes, then read the response until the server closes the connection."""
    with socket.create_connection(("127.0.0.1", client.port), 30) as connection:
        for part in parts:
            connection.sendall(part)
        received = b""
        while data := connection.recv(65_536):
            received += data
            length = received.partition(b"content-length: ")[2].partition(b"\r\n")[0]
            if length and len(received.partition(b"\r\n\r\n")[2]) >= int(length):
                break
    top, _, body = received.partition(b"\r\n\r\n")
    return Reply(int(top.split()[1]), {}, body)


@pytest.mark.parametrize(
    "data", [b"hello\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\r\n\r\n", b"GET / HTTP/1.1\r\nbad header\r\n\r\n"]
)
def test_what_is_not_http_is_refused(client: Client, data: bytes) -> None:
    reply = raw(client, data)
    assert (reply.status, reply.code) == (400, "INVALID_HTTP")
    assert client.get("/health").status == 200


def test_headers_that_are_too_large_are_refused(client: Client) -> None:
    reply = raw(client, head(client, "GET /health", "X-Long: " + "x" * 200_000))
    assert reply.status in (400, 431)
    assert client.get("/health").status == 200


@pytest.mark.parametrize("sent", [b"", b"GET /health HTTP/1.1\r\nHost: x\r\n"], ids=["nothing", "half a head"])
def test_a_client_that_does_not_send_its_request_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.2)
    with running_server(folder) as running:
        reply = raw(running.client, sent)
        assert (reply.status, reply.code) == (408, "REQUEST_TIMEOUT")


def test_a_client_that_drips_its_headers_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.3)
    with (
        running_server(folder) as running,
        socket.create_connection(("127.0.0.1", running.client.port), 30) as slow,
    ):
        slow.sendall(b"GET /health HTTP/1.1\r\n")
        slow.settimeout(0.05)
        received = b""
        for number in range(400):
            try:
                received += slow.recv(4_096)
            except TimeoutError:
                slow.sendall(f"X-{number}: 1\r\n".encode())
            if received:
                break
        assert b" 408 " in received
        assert running.client.get("/health").status == 200


def test_a_second_request_on_a_connection_has_the_same_limit(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.3)
    with (
        running_server(folder) as running,
        socket.create_connection(("127.0.0.1", running.client.port), 30) as slow,
    ):
        slow.sendall(head(running.client, "GET /health"))
        assert b" 200 " in slow.recv(65_536)
        slow.sendall(b"GET /health HTTP/1.1\r\nHost:")
        received = b""
        while data := slow.recv(65_536):
            received += data
        assert b" 408 " in received


def test_a_client_that_does_not_send_its_body_is_refused(folder: Path) -> None:
    with running_server(folder) as running:
        running.server.app._body_seconds = 0.2
        started = time.monotonic()
        reply = raw(running.client, head(running.client, "POST /snapshot", "Content-Length: 100"), b'{"device')
        assert (reply.status, reply.code) == (408, "REQUEST_TIMEOUT")
        assert time.monotonic() - started < 15
        assert running.client.get("/health").status == 200


def test_connections_over_the_limit_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "MAX_CONNECTIONS", 2)
    with running_server(folder) as running:
        address = ("127.0.0.1", running.client.port)
        with socket.create_connection(address, 30), socket.create_connection(address, 30):
            reply = raw(running.client, b"")
            assert (reply.status, reply.code) == (503, "SERVER_BUSY")
        deadline = time.monotonic() + 30
        while (reply := raw(running.client, head(running.client, "GET /health"))).status != 200:
            assert time.monotonic() < deadline, reply
