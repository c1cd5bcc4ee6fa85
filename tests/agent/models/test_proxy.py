"""Proxies of the environment, and model services that are reached through one."""

import base64
import socket
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.agent.models import http
from clawperator.agent.models.config import model_config
from clawperator.agent.models.openai import OpenAIBrain
from clawperator.agent.models.proxy import ProxyUrlError, proxy_for
from clawperator.errors import ClawError
from tests.agent.models.model_server import QUICK, Scripted, model_server, take_turn
from tests.agent.models.openai_script import text_reply
from tests.agent.models.proxy_server import proxy_server

PASSWORD = "pass-word-0123456789"
CREDENTIALS = f"Basic {base64.b64encode(f'user:{PASSWORD}'.encode()).decode()}"


def brain(base: str, **environ: str) -> OpenAIBrain:
    variables = {
        "OPENAI_BASE_URL": base,
        "OPENAI_API_KEY": "" if base.startswith("http:") else "sk-key",
        **environ,
    }
    return OpenAIBrain(model_config("openai", model="small", environ=variables), timeouts=QUICK)


def plain_tls(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tunnel without TLS in it: the test has no certificate."""

    def pass_through(opened: socket.socket, _base_url: Any) -> socket.socket:
        return opened

    monkeypatch.setattr(http, "_start_tls", pass_through)


def test_an_http_proxy_gets_the_whole_address_and_its_credentials() -> None:
    with model_server(text_reply("ok")) as server:
        turn = take_turn(
            brain("http://models.example:81/v1", http_proxy=f"http://user:{PASSWORD}@127.0.0.1:{server.port}")
        )
    (received,) = server.received
    assert turn.answer.text == "ok"
    assert received.path == "http://models.example:81/v1/chat/completions"
    assert received.headers["host"] == "models.example:81"
    assert received.headers["proxy-authorization"] == CREDENTIALS


def test_https_goes_through_a_tunnel_and_the_credentials_stay_at_the_proxy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain_tls(monkeypatch)
    with model_server(text_reply("ok")) as server, proxy_server(server.port) as proxy:
        turn = take_turn(
            brain("https://models.example/v1", HTTPS_PROXY=f"http://user:{PASSWORD}@127.0.0.1:{proxy.port}/")
        )
    assert turn.answer.text == "ok"
    (head,) = proxy.heads
    assert head.startswith(b"CONNECT models.example:443 HTTP/1.1\r\n")
    assert CREDENTIALS.encode() in head
    assert b"sk-key" not in head
    (received,) = server.received
    assert received.path == "/v1/chat/completions"
    assert "proxy-authorization" not in received.headers


@pytest.mark.parametrize(
    "answer", [b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", b"SSH-2.0-x\r\n\r\n", b""]
)
def test_a_proxy_that_opens_no_tunnel_is_named_without_its_credentials(answer: bytes) -> None:
    with proxy_server(1, answer) as proxy:
        address = f"http://user:{PASSWORD}@127.0.0.1:{proxy.port}"
        with pytest.raises(ClawError) as caught:
            take_turn(brain("https://models.example/v1", https_proxy=address))
    error = caught.value
    assert error.code == "BRAIN_UNAVAILABLE"
    assert f"proxy 127.0.0.1:{proxy.port}" in error.message
    assert error.hint is not None
    assert "HTTPS_PROXY" in error.hint
    assert PASSWORD not in f"{error.document()}{error!r}"
    assert CREDENTIALS not in f"{error.document()}{error!r}"


def test_a_proxy_that_requires_credentials_is_reported_as_such() -> None:
    refused = Scripted((b"no",), 407)
    with model_server(refused) as server:
        with pytest.raises(ClawError) as caught:
            take_turn(brain("http://models.example/v1", HTTP_PROXY=f"127.0.0.1:{server.port}"))
        assert len(server.received) == 1
    assert caught.value.code == "BRAIN_UNAVAILABLE"
    assert "NO_PROXY" in (caught.value.hint or "")


def test_a_service_on_this_machine_is_reached_directly() -> None:
    with model_server(text_reply("ok")) as server:
        take_turn(brain(server.url, http_proxy="http://127.0.0.1:1", HTTP_PROXY="http://127.0.0.1:1"))
    assert len(server.received) == 1


def exempt(host: str, listed: str, port: int = 443) -> bool:
    environ = {"https_proxy": "http://proxy.example:3128", "NO_PROXY": listed}
    return proxy_for(secure=True, host=host, port=port, environ=environ) is None


@pytest.mark.parametrize(
    ("host", "listed"),
    [
        ("models.example", "models.example"),
        ("api.models.example", "other.example, models.example"),
        ("api.models.example", ".models.example"),
        ("api.models.example", "*.models.example"),
        ("API.Models.Example", "models.EXAMPLE"),
        ("models.example", "models.example:443"),
        ("models.example", "*"),
        ("10.1.2.3", "10.0.0.0/8"),
        ("10.1.2.3", "10.1.2.3"),
        ("fd00::1", "[fd00::1]:443"),
    ],
)
def test_no_proxy_exempts_a_host(host: str, listed: str) -> None:
    assert exempt(host, listed)


@pytest.mark.parametrize(
    ("host", "listed"),
    [
        ("models.example", ""),
        ("notmodels.example", "models.example"),
        ("models.example", "api.models.example"),
        ("models.example", "models.example:8443"),
        ("11.1.2.3", "10.0.0.0/8"),
        ("models.example", "10.0.0.0/8"),
        ("models.example", "nonsense/8, :, ., []"),
    ],
)
def test_no_proxy_leaves_other_hosts_to_the_proxy(host: str, listed: str) -> None:
    assert not exempt(host, listed)


@given(st.text(max_size=40))
def test_any_list_of_exemptions_can_be_read(listed: str) -> None:
    assert exempt("models.example", listed) in (True, False)


def test_the_lower_case_variable_comes_first_and_each_scheme_has_its_own() -> None:
    environ = {"HTTPS_PROXY": "http://upper:1", "https_proxy": "http://lower:2", "HTTP_PROXY": "http://plain:3"}
    secure = proxy_for(secure=True, host="a.example", port=443, environ=environ)
    plain = proxy_for(secure=False, host="a.example", port=80, environ=environ)
    assert (str(secure), str(plain)) == ("lower:2", "plain:3")


@pytest.mark.parametrize("text", ["socks5://127.0.0.1:1080", "https://proxy.example", "http://", "http://h:port"])
def test_an_unusable_proxy_is_refused_before_anything_is_sent(text: str) -> None:
    with pytest.raises(ProxyUrlError):
        proxy_for(secure=True, host="a.example", port=443, environ={"https_proxy": text})
    with pytest.raises(ClawError) as caught:
        brain("https://a.example", https_proxy=text)
    assert caught.value.code == "BRAIN_NOT_CONFIGURED"
    assert "https_proxy" in (caught.value.hint or "")
