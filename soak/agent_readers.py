"""Readers of claw: settings, rules, sessions, sentences, model streams and MCP messages."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

from mcp_types import JSONRPCResponse

from clawperator._base.config import read_config
from clawperator._base.typed import decode
from clawperator.agent.cancellation import TurnDeadline
from clawperator.agent.inventory.inventory import Plugin, PluginContext, run_plugin
from clawperator.agent.mcp.client import _messages
from clawperator.agent.mcp.tools import headline, model_text
from clawperator.agent.models import anthropic, openai
from clawperator.agent.models.config import BaseUrl, ModelConfig
from clawperator.agent.models.http import ReplyReader, UnavailableError, _read_stream
from clawperator.agent.offline.parser import parse_prompt
from clawperator.agent.ports import BrainRequest
from clawperator.agent.sessions.records import CallRecord, Denial, SessionMeta, TurnRecord, Usage, encode_line
from clawperator.agent.sessions.store import SessionStore
from clawperator.agent.settings import read_settings
from clawperator.errors import ClawError
from clawperator.policy.rules import decode_policy, read_rule
from soak.fuzz import Target, reads
from soak.runner import require

_SETTINGS = {
    "$schema": "x",
    "permissions": {"defaultMode": "act", "allow": ["click"], "deny": ["open_app(com.a*)"], "ask": ["press_key"]},
    "mcpServers": {"one": {"command": "true", "args": ["a"], "env": {"A": "b"}, "timeouts": {"call": 5}}},
}
_SESSION = encode_line(SessionMeta(session_id="one", created_at_ms=1_700_000_000_000)) + encode_line(
    TurnRecord(
        turn=1,
        prompt="open settings",
        output="done",
        outcome="done",
        started_at_ms=1_700_000_000_000,
        ended_at_ms=1_700_000_000_500,
        usage=Usage(1, 2),
        tool_calls=(CallRecord("open_app", {"applicationId": "com.a"}, True, "opened"),),
        permission_denials=(Denial("click", "denied"),),
    )
)
_LEGACY = {"session_id": "one", "messages": ["open settings"], "input_tokens": 1, "output_tokens": 2}
_CHUNKS = (
    {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hel"}}]},
    {
        "choices": [
            {
                "index": 0,
                "delta": {
                    "tool_calls": [
                        {"index": 0, "id": "c1", "function": {"name": "click", "arguments": '{"text":"a"}'}}
                    ]
                },
            }
        ]
    },
    {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
    {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}},
)
_EVENTS = (
    {"type": "message_start", "message": {"usage": {"input_tokens": 3}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "t", "name": "click"}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"a":1}'}},
    {"type": "content_block_stop", "index": 1},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 2}},
    {"type": "message_stop"},
)
_ANSWER = {
    "jsonrpc": "2.0",
    "id": 1,
    "result": {
        "isError": False,
        "content": [
            {"type": "text", "text": '{"a": 1}'},
            {"type": "image", "data": "AAAA", "mimeType": "image/png"},
            {"type": "resource", "resource": {"uri": "a:b", "text": "hello"}},
        ],
        "structuredContent": {"a": 1},
    },
}
_POLICY = {"mode": "act", "deny": ["click"], "outer": {"mode": "full", "ask": ["open_app(com.a*)"]}}
_SENTENCES = (
    *("open settings", "tap Wi-Fi and then go back", 'type "hello" into the search field', "turn on Bluetooth"),
    *("is Wi-Fi on?", "scroll down until Battery is visible", "use the tool click with {}", "press home twice"),
    *("take a screenshot named a.png", "wait 3 seconds", "open YouTube, search for cats, play the second video"),
)


def _stream(*events: object) -> bytes:
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


def _settings(folder: Path) -> Callable[[bytes], object]:
    """The settings of the user and of a folder that is not trusted."""
    paths = [folder / name / "settings.json" for name in ("home", ".claw")]
    for path in paths:
        path.parent.mkdir()

    def call(data: bytes) -> None:
        for path in paths:
            path.write_bytes(data)
        with patch.dict(os.environ, {"CLAW_CONFIG_HOME": str(folder / "home")}):
            settings = read_settings(str(folder))
        require(all("Traceback" not in warning for warning in settings.warnings), "a warning has no traceback")

    return call


def _rule(data: bytes) -> None:
    try:
        rule = read_rule(data.decode("utf-8", "surrogateescape"), "soak")
    except ValueError:
        return
    require(read_rule(str(rule), "soak") == rule, "a rule that is written and read again is the same")


def _sessions(name: str) -> Callable[[Path], Callable[[bytes], object]]:
    def prepare(folder: Path) -> Callable[[bytes], object]:
        store = SessionStore(str(folder))

        def call(data: bytes) -> None:
            (folder / name).write_bytes(data)
            (listed,) = store.list().sessions
            try:
                loaded = store.load("one")
            except ClawError:
                require(not listed.valid, "a session that cannot be loaded is listed as invalid")
                return
            require(listed.valid, "a session that can be loaded is listed as valid")
            require(listed.prompt_count == loaded.prompt_count, "the list counts the prompts that are loaded")

        return call

    return prepare


def _config(folder: Path) -> Callable[[bytes], object]:
    def call(data: bytes) -> None:
        (folder / "clawperator.toml").write_bytes(data)
        with patch.dict(os.environ, {"CLAWPERATOR_HOME": str(folder)}):
            read_config()

    return call


def _policy_variable(data: bytes) -> None:
    decode_policy(data.decode("utf-8", "surrogateescape"))


def _plugin(data: bytes) -> None:
    """A plugin that returns the value of the input, or raises an error with it."""

    def run(prompt: str, _: PluginContext) -> object:
        try:
            return decode(prompt)
        except ValueError:
            raise KeyError(prompt) from None

    run_plugin(Plugin("p", "d", "m:f", "r", run), data.decode("utf-8", "surrogateescape"), PluginContext())


def _sentence(data: bytes) -> None:
    parse_prompt(data.decode("utf-8", "replace"))


def _reply(new_reader: Callable[[ModelConfig, BrainRequest], Any]) -> Callable[[bytes], object]:
    config = ModelConfig(kind="openai", base_url=BaseUrl(False, "127.0.0.1", 1, ""), model="m")
    request = BrainRequest(prompt="x", tools=(), deadline=TurnDeadline(None))

    def call(data: bytes) -> None:
        reader: ReplyReader = new_reader(config, request)
        try:
            for event in _read_stream([data[:100], data[100:]]):
                if reader.add(event):
                    break
        except UnavailableError:
            return
        if reader.is_complete:
            reader.reply()  # type: ignore[attr-defined]

    return call


def _mcp(data: bytes) -> None:
    for message in _messages(data):
        if isinstance(message, JSONRPCResponse):
            headline("click", message.result)
            model_text(message.result)


TARGETS = (
    Target("settings", [json.dumps(_SETTINGS).encode()], _settings),
    Target(
        "rule", [b"click", b"recording_*", b"open_app(com.example*)", b"open_uri(https://a.b/:*)"], reads(_rule)
    ),
    Target("session", [_SESSION], _sessions("one.jsonl")),
    Target("old session", [json.dumps(_LEGACY).encode()], _sessions("one.json")),
    Target("config", [b'allow_schemes = ["tel", "market"]\npass_env = ["A"]\n'], _config),
    Target("policy variable", [json.dumps(_POLICY).encode()], reads(_policy_variable)),
    Target("plugin result", [b'{"message": "done", "found": [1, 2.5, null]}', b'"text"'], reads(_plugin)),
    Target("sentence", [sentence.encode() for sentence in _SENTENCES], reads(_sentence)),
    Target("openai stream", [_stream(*_CHUNKS)], reads(_reply(openai._Reader))),
    Target("anthropic stream", [_stream(*_EVENTS)], reads(_reply(anthropic._Reader))),
    Target("mcp message", [json.dumps(_ANSWER).encode()], reads(_mcp)),
)
