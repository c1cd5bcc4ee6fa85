"""Who may send requests: token, browser session, Host, Origin."""

import os
import time
from pathlib import Path

import pytest

from clawperator.errors import ClawError
from clawperator.serve.http.auth import Address, Guard, IssuedSecrets, default_token_file, load_token
from tests.support.http_client import Client, RunningServer


def test_the_token_file_is_private_and_keeps_its_token(tmp_path: Path) -> None:
    path = str(tmp_path / "new" / "token")
    token = load_token(path)
    assert len(token) >= 40
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert load_token(path) == token
    assert os.listdir(tmp_path / "new") == ["token"]


def test_the_default_token_file_is_in_the_product_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path))
    assert default_token_file().startswith(str(tmp_path))


@pytest.mark.parametrize("content", ["", "short", "x" * 600, "sp ace in the middle of it", "\u00e9" * 30])
def test_a_file_without_a_token_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "token"
    path.write_text(content)
    path.chmod(0o600)
    with pytest.raises(ClawError) as caught:
        load_token(str(path))
    assert caught.value.code == "TOKEN_FILE_INVALID"


def test_a_token_file_that_others_can_read_is_refused_with_the_command_that_fixes_it(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("t" * 40)
    path.chmod(0o644)
    with pytest.raises(ClawError) as caught:
        load_token(str(path))
    assert caught.value.code == "TOKEN_FILE_INVALID"
    assert f"chmod 600 {path}" in caught.value.hint


def test_a_folder_in_place_of_the_token_file_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    with pytest.raises(ClawError) as caught:
        load_token(str(tmp_path))
    assert caught.value.code == "TOKEN_FILE_INVALID"


@pytest.mark.parametrize(
    "header", ["", "Bearer ", "Bearer wrong", "Basic dTpw", "bearer", "Bearer " + "x" * 5_000, "Bearer \u00e9"]
)
def test_a_request_without_the_token_is_refused(client: Client, header: str) -> None:
    reply = client.send("GET", "/devices", headers={"Authorization": header})
    assert (reply.status, reply.code) == (401, "UNAUTHORIZED")
    assert reply.headers["www-authenticate"] == "Bearer"
    assert client.token.encode() not in reply.body


def test_only_clients_of_this_computer_get_the_path_of_the_token_file() -> None:
    for host, is_shown in (("127.0.0.1", True), ("0.0.0.0", False)):
        guard = Guard("x" * 43, Address(host, 3000), "/home/user/token")
        with pytest.raises(ClawError) as caught:
            guard.check_client({})
        assert ("/home/user/token" in (caught.value.hint or "")) == is_shown


def test_unknown_paths_are_refused_before_they_are_looked_up(client: Client) -> None:
    assert client.send("GET", "/nothing", headers={"Authorization": ""}).status == 401
    assert client.get("/nothing").status == 404


def test_the_token_is_not_accepted_in_the_query(client: Client) -> None:
    reply = client.send("GET", f"/devices?token={client.token}", headers={"Authorization": ""})
    assert reply.status == 401


@pytest.mark.parametrize("path", ["/", "/health"])
def test_public_pages_need_no_token(client: Client, path: str) -> None:
    assert client.send("GET", path, headers={"Authorization": ""}).status == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "localhost:1", "localhost.evil.example:{port}", "[::2]:{port}", "1:2:3"]
)
def test_a_foreign_host_is_refused(client: Client, host: str) -> None:
    reply = client.send("GET", "/health", headers={"Host": host.format(port=client.port)})
    assert (reply.status, reply.code) == (403, "HOST_NOT_ALLOWED")


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "LOCALHOST:{port}", "[::1]:{port}"])
def test_loopback_names_are_accepted(client: Client, host: str) -> None:
    assert client.send("GET", "/health", headers={"Host": host.format(port=client.port)}).status == 200


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://127.0.0.1", "https://127.0.0.1:{port}"]
)
def test_a_foreign_origin_is_refused(client: Client, origin: str) -> None:
    reply = client.send("GET", "/devices", headers={"Origin": origin.format(port=client.port)})
    assert (reply.status, reply.code) == (403, "ORIGIN_NOT_ALLOWED")


def test_the_own_origin_is_accepted(client: Client) -> None:
    origin = f"http://127.0.0.1:{client.port}"
    assert client.send("GET", "/schemas", headers={"Origin": origin}).status == 200


def test_a_wildcard_address_accepts_ip_addresses_and_no_other_names() -> None:
    address = Address("0.0.0.0", 3000, ("box",))
    assert address.accepts("192.168.1.7:3000")
    assert address.accepts("box:3000")
    assert not address.accepts("evil.example:3000")
    assert not address.accepts("192.168.1.7:3001")
    assert not Address("127.0.0.1", 3000).accepts("192.168.1.7:3000")


def sign_in(client: Client) -> str:
    """The cookie of a new session."""
    reply = client.send("POST", "/session", {"token": client.token}, {"Authorization": ""})
    assert reply.status == 200
    cookie = reply.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert client.token not in cookie
    return cookie.partition(";")[0]


def test_a_browser_exchanges_the_token_for_a_cookie(client: Client) -> None:
    headers = {"Authorization": "", "Cookie": sign_in(client)}
    assert client.send("GET", "/schemas", headers=headers).status == 200
    assert client.send("DELETE", "/session", headers=headers).status == 200
    assert client.send("GET", "/schemas", headers=headers).status == 401


def test_hints_name_requests_and_on_the_page_commands(client: Client) -> None:
    missing = "/schemas/nothing"
    assert client.get(missing).document["error"]["hint"] == "Send GET /schemas to list the names."
    browser = client.send("GET", missing, headers={"Authorization": "", "Cookie": sign_in(client)})
    assert browser.document["error"]["hint"] == "Run 'clawperator schema' to list the names."


def test_a_wrong_token_gives_no_cookie(client: Client) -> None:
    reply = client.send("POST", "/session", {"token": "x" * 43}, {"Authorization": ""})
    assert (reply.status, reply.code) == (401, "UNAUTHORIZED")
    assert "set-cookie" not in reply.headers


def test_another_site_cannot_use_the_cookie(client: Client) -> None:
    headers = {"Authorization": "", "Cookie": sign_in(client), "Sec-Fetch-Site": "same-site"}
    reply = client.send("GET", "/schemas", headers=headers)
    assert (reply.status, reply.code) == (403, "ORIGIN_NOT_ALLOWED")


def test_issued_secrets_are_limited_in_number_and_age() -> None:
    sessions = IssuedSecrets(60, most=2)
    first, second, third = (sessions.issue() for _ in range(3))
    assert not sessions.is_valid(first)
    assert sessions.is_valid(second)
    assert sessions.is_valid(third)
    old = IssuedSecrets(0)
    assert not old.is_valid(old.issue())
    assert not old.end(old.issue())


def test_a_code_opens_one_session(serving: RunningServer) -> None:
    code = serving.server.new_page_url().partition("#")[2]
    first, second = (serving.client.send("POST", "/session", {"token": code}, {"Authorization": ""}) for _ in "12")
    assert (first.status, second.status) == (200, 401)
    assert "set-cookie" not in second.headers


def test_a_code_is_not_a_token(serving: RunningServer) -> None:
    code = serving.server.new_page_url().partition("#")[2]
    assert serving.client.send("GET", "/schemas", headers={"Authorization": f"Bearer {code}"}).status == 401


@pytest.mark.parametrize(("seconds", "is_valid"), [(59, True), (61, False)])
def test_a_code_is_valid_for_a_minute(monkeypatch: pytest.MonkeyPatch, seconds: int, *, is_valid: bool) -> None:
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    guard = Guard("x" * 43, Address("127.0.0.1", 3000))
    code = guard.codes.issue()
    now += seconds
    assert guard.may_open_session(code) == is_valid


def test_the_page_runs_only_its_own_script(client: Client) -> None:
    reply = client.get("/")
    policy = reply.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert client.token.encode() not in reply.body


def test_the_token_is_in_no_log(serving: RunningServer) -> None:
    client = serving.client
    sign_in(client)
    client.get("/devices")
    client.send("GET", f"/{client.token}")
    client.send("GET", f"/devices?token={client.token}")
    home = Path(serving.server.token_file).parent.parent
    logged = b"".join(path.read_bytes() for path in home.rglob("*.ndjson"))
    assert b"serve.http.request" in logged
    assert client.token.encode() not in logged
