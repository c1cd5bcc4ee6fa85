"""The configuration of a model service from the environment, with options and prices."""

import os
from typing import Any

import pytest

from clawperator.agent.models.anthropic import AnthropicBrain
from clawperator.agent.models.config import Kind, Prices, model_config, read_options, read_prices
from clawperator.agent.models.openai import OpenAIBrain
from clawperator.agent.sessions.records import Usage
from clawperator.errors import ClawError
from tests.agent.models.model_server import QUICK, model_server, take_turn
from tests.agent.models.openai_script import KEY, brain_at, text_reply
from tests.agent.models.test_anthropic import reply, text_block

PRICED = {"CLAW_INPUT_USD_PER_MILLION": "10", "CLAW_OUTPUT_USD_PER_MILLION": "100"}


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


def openai_body(**environ: str) -> dict[str, Any]:
    with model_server(text_reply("ok")) as server:
        variables = {"OPENAI_BASE_URL": server.url, **environ}
        take_turn(OpenAIBrain(model_config("openai", model="m", environ=variables), timeouts=QUICK))
    body: dict[str, Any] = server.bodies[0]
    return body


def anthropic_body(**environ: str) -> dict[str, Any]:
    with model_server(reply(text_block(0, "ok"))) as server:
        variables = {"ANTHROPIC_BASE_URL": server.url, **environ}
        take_turn(AnthropicBrain(model_config("anthropic", model="m", environ=variables), timeouts=QUICK))
    body: dict[str, Any] = server.bodies[0]
    return body


def test_without_settings_the_service_decides() -> None:
    unset = {"temperature", "thinking", "reasoning_effort", "max_completion_tokens"}
    assert not unset & set(openai_body())
    assert "max_tokens" not in openai_body()
    assert not unset & set(anthropic_body())
    assert anthropic_body()["max_tokens"] == 4096  # the protocol requires one


def test_the_longest_reply_is_set() -> None:
    assert openai_body(CLAW_MAX_TOKENS="900")["max_tokens"] == 900
    assert anthropic_body(CLAW_MAX_TOKENS="900")["max_tokens"] == 900


def test_a_model_that_reasons_gets_the_new_name_of_the_limit() -> None:
    body = openai_body(CLAW_MAX_TOKENS="900", CLAW_THINKING="High")
    assert (body["reasoning_effort"], body["max_completion_tokens"]) == ("high", 900)
    assert "max_tokens" not in body


@pytest.mark.parametrize(("text", "tokens"), [("low", 2048), ("medium", 8192), ("3000", 3000)])
def test_thinking_has_a_budget_beside_the_reply(text: str, tokens: int) -> None:
    body = anthropic_body(CLAW_THINKING=text)
    assert body["thinking"] == {"type": "enabled", "budget_tokens": tokens}
    assert body["max_tokens"] == 4096 + tokens


def test_a_temperature_is_sent_when_it_is_set() -> None:
    assert openai_body(CLAW_TEMPERATURE="0.2")["temperature"] == 0.2
    assert anthropic_body(CLAW_TEMPERATURE="0")["temperature"] == 0


@pytest.mark.parametrize(
    ("kind", "environ"),
    [
        ("openai", {"CLAW_MAX_TOKENS": "0"}),
        ("openai", {"CLAW_MAX_TOKENS": "many"}),
        ("openai", {"CLAW_MAX_TOKENS": "9" * 400}),
        ("openai", {"CLAW_THINKING": "3000"}),
        ("openai", {"CLAW_TEMPERATURE": "hot"}),
        ("openai", {"CLAW_TEMPERATURE": "nan"}),
        ("openai", {"CLAW_IMAGES": "some"}),
        ("anthropic", {"CLAW_THINKING": "10"}),
        ("anthropic", {"CLAW_THINKING": "low", "CLAW_MAX_TOKENS": "2048"}),
        ("anthropic", {"CLAW_THINKING": "low", "CLAW_TEMPERATURE": "1"}),
    ],
)
def test_an_invalid_value_is_refused_with_its_name(kind: str, environ: dict[str, str]) -> None:
    with pytest.raises(ClawError) as caught:
        read_options(kind, environ)
    assert caught.value.code == "USAGE"
    assert caught.value.target in environ
    assert caught.value.target in caught.value.message
    assert caught.value.hint is not None
    assert caught.value.hint.startswith(("Run 'export CLAW_", "Run 'unset CLAW_"))


@pytest.mark.parametrize(("text", "images"), [("on", True), ("1", True), ("", False), ("off", False)])
def test_images_are_off_unless_set(text: str, images: bool) -> None:  # noqa: FBT001 - a case of the table
    assert read_options("openai", {"CLAW_IMAGES": text}).images is images


def test_prices_are_known_when_input_and_output_have_one() -> None:
    assert read_prices("openai", {"CLAW_INPUT_USD_PER_MILLION": "1"}) is None
    assert read_prices("openai", PRICED) == Prices(10, 100, 5, 10)
    assert read_prices("anthropic", PRICED) == Prices(10, 100, 1, 12.5)
    own = {**PRICED, "CLAW_CACHED_INPUT_USD_PER_MILLION": "2", "CLAW_CACHE_WRITE_USD_PER_MILLION": "3"}
    assert read_prices("anthropic", own) == Prices(10, 100, 2, 3)


def test_cached_tokens_have_their_own_price() -> None:
    prices = Prices(10, 100, 1, 12.5)
    assert prices.cost(Usage(1_000_000)) == 10
    assert prices.cost(Usage(1_000_000, 0, 1_000_000)) == 1
    assert prices.cost(Usage(1_000_000, 0, 0, 1_000_000)) == 12.5
    assert prices.cost(Usage(1_000_000, 1_000_000, 500_000, 100_000)) == 4 + 0.5 + 1.25 + 100
