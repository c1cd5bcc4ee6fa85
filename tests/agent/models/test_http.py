"""HTTP to a model service that fails, stalls, or breaks the protocol, or is reached through a proxy."""

import base64
import socket
import threading
import time
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.agent.cancellation import TurnCancelledError, TurnDeadline
from clawperator.agent.models import http
from clawperator.agent.models.config import ModelConfig, ProxyUrlError, Secret, model_config, proxy_for
from clawperator.agent.models.http import _retry_after
from clawperator.agent.models.openai import OpenAIBrain
from clawperator.errors import ClawError
from tests.agent.models.model_server import QUICK, Scripted, bytewise, events, model_server, take_turn
from tests.agent.models.openai_script import (
    KEY,
    brain_at,
    call_piece,
    call_reply,
    chunk,
    error_body,
    failing,
    text_reply,
)
from tests.agent.models.proxy_server import proxy_server
from tests.support.hanging import HANG_SECONDS, NEVER_SECONDS

PASSWORD = "pass-word-0123456789"
CREDENTIALS = f"Basic {base64.b64encode(f'user:{PASSWORD}'.encode()).decode()}"


def test_a_stream_of_single_bytes_is_read() -> None:
    stream = b": comment\n\n" + events(chunk(content="é😀"), chunk(finish="stop"), "[DONE]")
    with model_server(Scripted(bytewise(stream))) as server:
        assert take_turn(brain_at(server.url)).answer.text == "é😀"


@pytest.mark.parametrize("length", [True, False])
def test_a_reply_without_chunked_encoding_is_accepted(length: bool) -> None:  # noqa: FBT001 - a case of the table
    body = events(chunk(content="All."), chunk(finish="stop"), "[DONE]")
    length_header = b"Content-Length: %d\r\n" % len(body) if length else b""
    raw = b"HTTP/1.1 200 OK\r\nConnection: close\r\n" + length_header + b"\r\n" + body
    with model_server(Scripted(raw=raw)) as server:
        assert take_turn(brain_at(server.url)).answer.text == "All."


def test_a_reply_shorter_than_its_content_length_is_cut_off() -> None:
    raw = b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n" + events(chunk(content="Half"))
    error, requests = failing(Scripted(raw=raw))
    assert error.code == "BRAIN_UNAVAILABLE"
    assert requests == 3


@pytest.mark.parametrize("status", [401, 403])
def test_a_rejected_key_is_not_retried(status: int) -> None:
    error, requests = failing(error_body(f"Incorrect API key provided: {KEY}", status))
    assert error.code == "BRAIN_AUTH_FAILED"
    assert "Incorrect API key provided: [key]" in error.message
    assert error.hint is not None
    assert "OPENAI_API_KEY" in error.hint
    assert requests == 1


def test_a_busy_service_is_retried() -> None:
    busy = error_body("slow down", 429, **{"Retry-After": "0"})
    with model_server(busy, error_body("oops", 503), text_reply("ok")) as server:
        assert take_turn(brain_at(server.url)).answer.text == "ok"
    assert len(server.received) == 3
    assert server.bodies[0] == server.bodies[2]


def test_a_retry_pause_beyond_the_deadline_is_not_waited_for() -> None:
    started = time.monotonic()
    with (
        model_server(error_body("slow down", 429, **{"Retry-After": "600"})) as server,
        pytest.raises(ClawError) as caught,
    ):
        take_turn(brain_at(server.url), deadline=TurnDeadline(HANG_SECONDS))
    assert caught.value.code == "BRAIN_UNAVAILABLE"
    assert caught.value.details is not None
    assert caught.value.details["retry_after_seconds"] == 600
    assert caught.value.hint is not None
    assert "limits" in caught.value.hint
    assert time.monotonic() - started < HANG_SECONDS


def test_a_failing_service_is_tried_three_times() -> None:
    error, requests = failing(error_body("the machine is\non fire", 500))
    assert error.code == "BRAIN_UNAVAILABLE"
    assert error.retryable
    assert "500: the machine is on fire" in error.message
    assert requests == 3


@pytest.mark.parametrize(("status", "headers"), [(400, {}), (404, {}), (302, {"Location": "http://127.0.0.1:1/"})])
def test_a_rejected_request_is_an_error(status: int, headers: Mapping[str, str]) -> None:
    error, requests = failing(Scripted((b'{"detail": "no such model"}',), status, headers))
    assert error.code == "BRAIN_REQUEST_REFUSED"
    assert not error.retryable
    assert "no such model" in error.message
    assert requests == 1


@pytest.mark.parametrize(
    "broken",
    [
        Scripted((events(chunk(content="Half")),), end="cut"),
        Scripted((events(chunk(content="Half")) + b'data: {"choices":',)),
        Scripted((events(chunk(content="Half"), {"error": {"message": "overloaded", "code": 1}}),)),
    ],
)
def test_a_reply_that_breaks_off_is_requested_again(broken: Scripted) -> None:
    with model_server(broken, text_reply("All.")) as server:
        turn = take_turn(brain_at(server.url))
    assert turn.answer.outcome == "done"
    assert turn.answer.text.startswith("Half[")
    assert turn.answer.text.endswith("the request is repeated]\n\nAll.")
    assert "".join(turn.streamed) == turn.answer.text
    assert server.bodies[0] == server.bodies[1]
    error, requests = failing(broken)
    assert error.code == "BRAIN_UNAVAILABLE"
    assert requests == 3


def test_a_call_of_a_reply_that_breaks_off_is_made_once() -> None:
    call = chunk(tool_calls=[call_piece(0, "{}", call_id="c1", name="click")])
    broken = Scripted((events(call),), end="cut")
    with model_server(broken, call_reply("click", "{}"), text_reply("ok")) as server:
        turn = take_turn(brain_at(server.url))
    assert [made.name for made in turn.calls] == ["click"]


def test_a_reply_cut_before_its_first_event_is_retried() -> None:
    with model_server(Scripted(end="cut"), text_reply("ok")) as server:
        assert take_turn(brain_at(server.url)).answer.text == "ok"


def test_a_cut_after_the_end_of_the_reply_is_ignored() -> None:
    with model_server(Scripted((events(chunk(content="All."), chunk(finish="stop")),), end="cut")) as server:
        assert take_turn(brain_at(server.url)).answer.text == "All."


@pytest.mark.parametrize(
    "reply",
    [
        Scripted((b"<html>It works!</html>\n\n",)),
        Scripted((events("this is no JSON"),)),
        Scripted((events([1, 2]),)),
        Scripted((events({"choices": "none"}),)),
        Scripted((b'{"choices": []}',)),
        Scripted((b'{"choi',)),
        Scripted(raw=b"SSH-2.0-OpenSSH_9.2\r\n"),
    ],
)
def test_garbage_is_an_invalid_reply(reply: Scripted) -> None:
    error, requests = failing(reply)
    assert error.code == "BRAIN_ANSWER_INVALID"
    assert requests == 1


def test_an_error_event_in_a_stream_is_an_error() -> None:
    error, _ = failing(Scripted((events(chunk(content="a"), {"error": {"message": "overloaded", "code": 1}}),)))
    assert error.code == "BRAIN_UNAVAILABLE"
    assert "overloaded" in error.message


def test_an_endless_reply_is_rejected_at_the_limit() -> None:
    error, _ = failing(Scripted(tuple(events(chunk(content="x" * 1_000_000)) for _ in range(9))))
    assert error.code == "BRAIN_ANSWER_INVALID"


def test_a_silent_service_times_out() -> None:
    error, requests = failing(Scripted((events(chunk(content="Well")),), end="stall"), idle=0.1)
    assert error.code == "BRAIN_UNAVAILABLE"
    assert "too long" in error.message
    assert requests == 3


def test_a_stalled_reply_ends_at_the_deadline() -> None:
    started = time.monotonic()
    with model_server(Scripted(end="stall")) as server, pytest.raises(TurnCancelledError):
        take_turn(brain_at(server.url, idle=NEVER_SECONDS, reply=NEVER_SECONDS), deadline=TurnDeadline(0.3))
    assert 0.3 <= time.monotonic() - started < HANG_SECONDS


def test_a_cancellation_ends_the_wait_for_the_model() -> None:
    deadline = TurnDeadline()
    started = time.monotonic()
    threading.Timer(0.1, deadline.cancel).start()
    with model_server(Scripted(end="stall")) as server, pytest.raises(TurnCancelledError):
        take_turn(brain_at(server.url, idle=NEVER_SECONDS, reply=NEVER_SECONDS), deadline=deadline)
    assert time.monotonic() - started < HANG_SECONDS


def test_a_refused_connection_is_an_error() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        with pytest.raises(ClawError) as caught:
            take_turn(brain_at(url))
    assert caught.value.code == "BRAIN_UNAVAILABLE"
    assert caught.value.target == f"{url}"


def test_a_service_without_tls_is_an_error() -> None:
    with model_server(text_reply("ok")) as server, pytest.raises(ClawError) as caught:
        take_turn(brain_at(server.url.replace("http", "https")))
    assert caught.value.code == "BRAIN_UNAVAILABLE"


def test_the_key_is_never_shown() -> None:
    config = model_config("openai", model="m", environ={"OPENAI_BASE_URL": "https://h", "OPENAI_API_KEY": KEY})
    assert KEY not in repr(config)
    error, _ = failing(Scripted((f"garbage {KEY} garbage".encode(),)))
    assert KEY not in f"{error.document()}{error!r}"
    assert "[key]" in str(error.details)


def test_a_short_key_is_not_redacted() -> None:
    with model_server(error_body("ollama knows no such model", 404)) as server, pytest.raises(ClawError) as caught:
        take_turn(brain_at(server.url, "ollama"))
    assert "ollama knows" in caught.value.message


def test_a_key_invalid_in_headers_is_rejected_without_being_shown() -> None:
    base_url = model_config("openai", model="m", environ={"OPENAI_BASE_URL": "http://localhost"}).base_url
    with model_server(text_reply("ok")) as server:
        there = msgspec.structs.replace(base_url, host="127.0.0.1", port=server.port)
        config = ModelConfig(kind="openai", base_url=there, model="m", key=Secret(f"{KEY}\r\nX: y"))
        with pytest.raises(ClawError) as caught:
            take_turn(OpenAIBrain(config, timeouts=QUICK))
    assert caught.value.code == "BRAIN_AUTH_FAILED"
    assert KEY not in f"{caught.value.document()}{caught.value!r}"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("7", 7), ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("soon", None), ("-5", None), ("", None), (None, None)],
)
def test_retry_after_is_a_number_or_a_date(text: str | None, seconds: float | None) -> None:
    assert _retry_after(text) == seconds


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
