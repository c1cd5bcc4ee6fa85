"""The configuration of a model service from the environment."""

import os

import pytest

from clawperator.agent.models.config import Kind, model_config
from clawperator.errors import ClawError
from tests.agent.models.model_server import model_server, take_turn
from tests.agent.models.openai_script import KEY, brain_at, text_reply


def test_a_key_is_required_for_https_on_another_host() -> None:
    with model_server(text_reply("ok")) as server:
        take_turn(brain_at(server.url, key=""))
    assert "authorization" not in server.received[0].headers
    with pytest.raises(ClawError) as caught:
        model_config("openai", model="m", environ={"OPENAI_BASE_URL": "https://127.0.0.1.example.com/v1"})
    assert caught.value.code == "BRAIN_NOT_CONFIGURED"
    assert caught.value.details == {"variables": ["OPENAI_API_KEY"]}


@pytest.mark.parametrize(
    ("environ", "model", "variables"),
    [
        ({}, None, ["OPENAI_BASE_URL", "OPENAI_API_KEY", "CLAW_MODEL"]),
        ({"OPENAI_API_KEY": KEY}, "m", ["OPENAI_BASE_URL"]),
        ({"OPENAI_BASE_URL": "http://localhost"}, None, ["CLAW_MODEL"]),
        ({"OPENAI_BASE_URL": "localhost:8080", "CLAW_MODEL": "m"}, None, ["OPENAI_BASE_URL"]),
        ({"OPENAI_BASE_URL": f"http://u:{KEY}@localhost", "CLAW_MODEL": "m"}, None, ["OPENAI_BASE_URL"]),
        ({"OPENAI_BASE_URL": "http://localhost/?a=b", "CLAW_MODEL": "m"}, None, ["OPENAI_BASE_URL"]),
        ({"OPENAI_BASE_URL": "http://localhost:x", "CLAW_MODEL": "m"}, None, ["OPENAI_BASE_URL"]),
        ({"OPENAI_BASE_URL": "http://localhost", "OPENAI_API_KEY": f"{KEY}\r\nX: y"}, "m", ["OPENAI_API_KEY"]),
    ],
)
def test_missing_variables_are_named(environ: dict[str, str], model: str | None, variables: list[str]) -> None:
    with pytest.raises(ClawError) as caught:
        model_config("openai", model=model, environ=environ)
    error = caught.value
    assert error.code == "BRAIN_NOT_CONFIGURED"
    assert error.details == {"variables": variables}
    assert error.hint is not None
    assert all(name in error.hint for name in variables)
    assert KEY not in f"{error.document()}{error!r}"


def test_the_flag_overrides_the_variable() -> None:
    environ = {"OPENAI_BASE_URL": "http://[::1]:8080", "CLAW_MODEL": "a"}
    assert model_config("openai", model=None, environ=environ).model == "a"
    config = model_config("openai", model="b", environ=environ)
    assert config.model == "b"
    assert str(config.base_url) == "http://[::1]:8080"


def test_the_environment_of_this_process_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "OPENAI_BASE_URL", "http://localhost")
    with pytest.raises(ClawError):
        model_config("openai", model="m", environ={})


@pytest.mark.parametrize(
    ("kind", "environ"),
    [
        ("openai", {"OPENAI_BASE_URL": "http://10.0.0.7:8080/v1", "OPENAI_API_KEY": "sk-1"}),
        ("anthropic", {"ANTHROPIC_BASE_URL": "http://models.example", "ANTHROPIC_API_KEY": "sk-1"}),
        ("anthropic", {"ANTHROPIC_BASE_URL": "http://models.example", "ANTHROPIC_AUTH_TOKEN": "sk-1"}),
        ("openai", {"OPENAI_BASE_URL": "http://localhost.example/v1", "OPENAI_API_KEY": "sk-1"}),
    ],
)
def test_a_key_is_not_sent_over_plain_http_to_another_host(kind: Kind, environ: dict[str, str]) -> None:
    with pytest.raises(ClawError) as caught:
        model_config(kind, model="m", environ=environ)
    assert caught.value.code == "BRAIN_NOT_CONFIGURED"
    assert "plain http" in caught.value.message
    assert caught.value.hint is not None
    assert "https" in caught.value.hint
    assert "sk-1" not in str(caught.value.document())


@pytest.mark.parametrize("host", ["127.0.0.1:8080", "localhost", "[::1]:80"])
def test_a_service_on_this_machine_may_have_a_key_over_http(host: str) -> None:
    environ = {"OPENAI_BASE_URL": f"http://{host}", "OPENAI_API_KEY": "sk-1"}
    assert model_config("openai", model="m", environ=environ).key is not None


def test_a_service_without_a_key_may_be_reached_over_http() -> None:
    environ = {"OPENAI_BASE_URL": "http://10.0.0.7:8080/v1"}
    assert model_config("openai", model="m", environ=environ).key is None
