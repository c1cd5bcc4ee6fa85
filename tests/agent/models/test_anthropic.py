"""The Anthropic brain against a scripted service."""

import json
from typing import Any

import pytest

from clawperator.agent.models.anthropic import AnthropicBrain
from clawperator.agent.models.config import model_config
from clawperator.agent.ports import Exchange, ToolCall, ToolResult
from clawperator.agent.sessions.records import Usage
from clawperator.errors import ClawError
from tests.agent.models.model_server import QUICK, Scripted, bytewise, events, model_server, take_turn

KEY = "sk-ant-very-secret-0123456789"


def brain_at(url: str, **environ: str) -> AnthropicBrain:
    variables = {"ANTHROPIC_BASE_URL": url, **(environ or {"ANTHROPIC_API_KEY": KEY})}
    return AnthropicBrain(model_config("anthropic", model="small", environ=variables), timeouts=QUICK)


def start(tokens: int = 10) -> dict[str, Any]:
    return {
        "type": "message_start",
        "message": {"content": [], "usage": {"input_tokens": tokens, "output_tokens": 1}},
    }


def stop(reason: str, tokens: int = 5) -> list[dict[str, Any]]:
    ended = {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": tokens}}
    return [ended, {"type": "message_stop"}]


def text_block(index: int, *pieces: str) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}},
        {"type": "ping"},
        *(
            {"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": piece}}
            for piece in pieces
        ),
        {"type": "content_block_stop", "index": index},
    ]


def call_block(
    index: int, name: str, *pieces: str, call_id: str = "t1", whole: Any = None
) -> list[dict[str, Any]]:
    block = {"type": "tool_use", "id": call_id, "name": name, "input": whole or {}}
    return [
        {"type": "content_block_start", "index": index, "content_block": block},
        *(
            {
                "type": "content_block_delta",
                "index": index,
                "delta": {"type": "input_json_delta", "partial_json": p},
            }
            for p in pieces
        ),
        {"type": "content_block_stop", "index": index},
    ]


def reply(*blocks: list[dict[str, Any]], reason: str = "end_turn", used: tuple[int, int] = (10, 5)) -> Scripted:
    documents = [document for block in blocks for document in block]
    return Scripted((events(start(used[0]), *documents, *stop(reason, used[1])),))


def unmarked(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages without their cache markers, as the service compares them."""
    plain = []
    for message in messages:
        content = message["content"]
        if isinstance(content, list):
            blocks = [{name: value for name, value in one.items() if name != "cache_control"} for one in content]
            is_text = message["role"] == "user" and len(blocks) == 1 and blocks[0]["type"] == "text"
            content = blocks[0]["text"] if is_text else blocks
        plain.append({**message, "content": content})
    return plain


def test_text_is_streamed_and_tokens_are_counted() -> None:
    with model_server(reply(text_block(0, "Hel", "lo."), used=(1000, 500))) as server:
        turn = take_turn(brain_at(server.url))
    assert turn.streamed == ["Hel", "lo."]
    assert turn.answer.text == "Hello."
    assert turn.answer.outcome == "done"
    assert turn.answer.usage == Usage(1000, 500, requests=1)


def test_the_request_contains_conversation_tools_and_key() -> None:
    with model_server(reply(text_block(0, "ok"))) as server:
        take_turn(brain_at(server.url), "two", history=(Exchange("one", "first"),))
    (received,) = server.received
    assert received.path == "/v1/messages"
    assert received.headers["x-api-key"] == KEY
    assert received.headers["anthropic-version"] == "2023-06-01"
    assert "authorization" not in received.headers
    body = received.body
    assert (body["model"], body["stream"]) == ("small", True)
    assert body["max_tokens"] > 0
    assert "phone" in body["system"][0]["text"]
    assert unmarked(body["messages"]) == [
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "first"},
        {"role": "user", "content": "two"},
    ]
    assert body["tools"][0] == {
        "name": "click",
        "description": "Do click.",
        "input_schema": {"type": "object", "properties": {"text": {"type": "string"}}},
    }


def test_an_auth_token_is_sent_as_bearer() -> None:
    with model_server(reply(text_block(0, "ok"))) as server:
        take_turn(brain_at(server.url + "/v1", ANTHROPIC_AUTH_TOKEN=KEY))
    (received,) = server.received
    assert received.path == "/v1/messages"
    assert received.headers["authorization"] == f"Bearer {KEY}"
    assert "x-api-key" not in received.headers


def test_a_call_is_made_and_its_result_is_sent() -> None:
    first = reply(
        text_block(0, "Let me look."), call_block(1, "click", '{"te', 'xt": "Wi', '-Fi"}'), reason="tool_use"
    )
    with model_server(first, reply(text_block(0, "Done."), used=(30, 7))) as server:
        turn = take_turn(brain_at(server.url), act=lambda _: ToolResult(True, "clicked", {"effect": "changed"}))
    assert turn.calls == [ToolCall("click", {"text": "Wi-Fi"}, "t1")]
    assert turn.answer.text == "Let me look.\n\nDone."
    assert turn.answer.usage == Usage(40, 12, requests=2)
    before, after = (unmarked(body["messages"]) for body in server.bodies)
    assert after == [
        *before,
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Let me look."},
                {"type": "tool_use", "id": "t1", "name": "click", "input": {"text": "Wi-Fi"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "t1",
                    "content": 'clicked\n{"effect":"changed"}',
                    "is_error": False,
                }
            ],
        },
    ]


def test_a_stream_of_single_bytes_is_read() -> None:
    whole = reply(call_block(0, "click", *'{"text": "Grüße 😀"}'), reason="tool_use").pieces[0]
    stream = b"event: message_start\n" + whole.replace(b"\n", b"\r\n")
    with model_server(Scripted(bytewise(stream, 3)), reply(text_block(0, "ok"))) as server:
        assert take_turn(brain_at(server.url)).calls[0].params == {"text": "Grüße 😀"}


def test_calls_of_one_reply_run_in_order_and_failures_are_marked() -> None:
    first = reply(
        call_block(0, "click", '{"text":"a"}', call_id="t1"),
        call_block(1, "read_text", call_id="t2", whole={"text": "b"}),
        call_block(2, "nothing_like_it", "{}", call_id="t3"),
        call_block(3, "click", '{"broken', call_id="t4"),
        reason="tool_use",
    )

    def act(call: ToolCall) -> ToolResult:
        if call.name == "click":
            return ToolResult(True, "ok")
        return ToolResult(False, "denied", error=ClawError("PERMISSION_DENIED", "no"))

    with model_server(first, reply(text_block(0, "Partly."))) as server:
        turn = take_turn(brain_at(server.url), act=act)
    made = [(call.id, call.params) for call in turn.calls if call.problem is None]
    assert made == [("t1", {"text": "a"}), ("t2", {"text": "b"})]
    assert [call.problem.code for call in turn.calls if call.problem] == ["TOOL_NOT_FOUND", "TOOL_PAYLOAD_INVALID"]
    assistant, results = server.bodies[1]["messages"][1:]
    assert [block["input"] for block in assistant["content"]] == [{"text": "a"}, {"text": "b"}, {}, {}]
    assert [(block["tool_use_id"], block["is_error"]) for block in results["content"]] == [
        ("t1", False),
        ("t2", True),
        ("t3", True),
        ("t4", True),
    ]
    assert "TOOL_NOT_FOUND" in results["content"][2]["content"]
    assert "TOOL_PAYLOAD_INVALID" in results["content"][3]["content"]


def test_a_message_instead_of_a_stream_is_accepted() -> None:
    message = {
        "type": "message",
        "content": [
            {"type": "text", "text": "One."},
            {"type": "tool_use", "id": "t", "name": "click", "input": {}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 1, "output_tokens": 2, "cache_read_input_tokens": 4},
    }
    with model_server(Scripted((json.dumps(message).encode(),)), reply(text_block(0, "Two."))) as server:
        turn = take_turn(brain_at(server.url))
    assert [call.name for call in turn.calls] == ["click"]
    assert turn.answer.text == "One.\n\nTwo."
    assert turn.answer.usage == Usage(15, 7, cached_tokens=4, requests=2)


def test_a_truncated_reply_is_marked() -> None:
    with model_server(reply(text_block(0, "I was abou"), reason="max_tokens")) as server:
        answer = take_turn(brain_at(server.url)).answer
    assert "max_tokens" in answer.text
    assert answer.outcome == "failed"


def block(index: int, kind: str, *deltas: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": {"type": kind, **more}},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def thinking(index: int) -> list[dict[str, Any]]:
    pieces = [{"type": "thinking_delta", "thinking": "let me "}, {"type": "thinking_delta", "thinking": "see"}]
    return block(
        index, "thinking", *pieces, {"type": "signature_delta", "signature": "c2ln"}, thinking="", signature=""
    )


def test_reasoning_is_sent_back_in_place_and_not_shown() -> None:
    first = reply(
        thinking(0),
        text_block(1, "I look."),
        block(2, "redacted_thinking", data="secret"),
        call_block(3, "click", "{}"),
        reason="tool_use",
    )
    with model_server(first, reply(text_block(0, "Done."))) as server:
        assert take_turn(brain_at(server.url)).answer.text == "I look.\n\nDone."
    assert server.bodies[1]["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "let me see", "signature": "c2ln"},
        {"type": "text", "text": "I look."},
        {"type": "redacted_thinking", "data": "secret"},
        {"type": "tool_use", "id": "t1", "name": "click", "input": {}},
    ]


def test_server_side_tools_are_ignored() -> None:
    search = block(
        0,
        "server_tool_use",
        {"type": "input_json_delta", "partial_json": '{"q"'},
        id="s1",
        name="web_search",
        input={},
    )
    found = block(1, "web_search_tool_result", tool_use_id="s1", content=[])
    cited = {"type": "citations_delta", "citation": {"type": "char_location"}}
    answer = block(2, "text", {"type": "text_delta", "text": "Found."}, cited, text="", citations=[])
    with model_server(reply(search, found, answer)) as server:
        turn = take_turn(brain_at(server.url))
    assert (turn.answer.text, turn.calls) == ("Found.", [])


def test_unknown_events_are_ignored() -> None:
    strange = [
        *block(0, "hologram", {"type": "hologram_delta", "text": {"x": 1}}, text={"a": 1}, name=None, id=5),
        {"type": "brand_new", "index": "one", "delta": [1], "usage": "much", "message": "m"},
    ]
    with model_server(reply(strange, text_block(1, "Still here."))) as server:
        assert take_turn(brain_at(server.url)).answer.text == "Still here."


def test_missing_token_counts_keep_their_value() -> None:
    started = start()
    started["message"]["usage"] = {
        "input_tokens": 10,
        "cache_read_input_tokens": 7,
        "cache_creation_input_tokens": 5,
        "output_tokens": 1,
    }
    ended = {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn", "stop_sequence": None},
        "usage": {"input_tokens": 11, "cache_read_input_tokens": None, "output_tokens": 9},
    }
    stream = Scripted((events(started, *text_block(0, "ok"), ended, {"type": "message_stop"}),))
    with model_server(stream) as server:
        assert take_turn(brain_at(server.url)).answer.usage == Usage(
            23, 9, cached_tokens=7, cache_write_tokens=5, requests=1
        )


def test_a_turn_that_ends_without_an_answer_failed() -> None:
    with model_server(reply()) as server:
        answer = take_turn(brain_at(server.url)).answer
    assert (answer.text, answer.outcome) == ("[The model ended its turn without an answer.]", "failed")
    assert answer.error is not None
    assert answer.error.code == "BRAIN_ANSWER_INVALID"


@pytest.mark.parametrize("reason", ["refusal", "max_tokens", "model_context_window_exceeded", "pause_turn", "new"])
def test_a_stopped_reply_makes_none_of_its_calls(reason: str) -> None:
    stopped = reply(text_block(0, "On it."), call_block(1, "click", "{}"), reason=reason)
    with model_server(stopped, reply(text_block(0, "Done."))) as server:
        turn = take_turn(brain_at(server.url))
    assert turn.calls == []
    assert len(server.received) == 1
    assert turn.answer.outcome == "failed"
    assert turn.answer.error is not None
    assert reason in turn.answer.error.message
    assert "were not made" in turn.answer.text


def error_document(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}}


@pytest.mark.parametrize(
    ("scripted", "code", "requests"),
    [
        (
            Scripted((json.dumps(error_document("authentication_error", "bad")).encode(),), 401),
            "BRAIN_AUTH_FAILED",
            1,
        ),
        (Scripted((json.dumps(error_document("overloaded_error", "bad")).encode(),), 529), "BRAIN_UNAVAILABLE", 3),
        (
            Scripted((json.dumps(error_document("not_found_error", "bad")).encode(),), 404),
            "BRAIN_REQUEST_REFUSED",
            1,
        ),
        (Scripted((events(start(), error_document("overloaded_error", "bad")),)), "BRAIN_UNAVAILABLE", 3),
        (Scripted((events(error_document("authentication_error", "bad")),)), "BRAIN_AUTH_FAILED", 1),
        (Scripted((events(start(), error_document("invalid_request_error", "bad")),)), "BRAIN_REQUEST_REFUSED", 1),
        (Scripted((events(start(), *text_block(0, "Half")),), end="cut"), "BRAIN_UNAVAILABLE", 3),
        (Scripted((events(start(), *text_block(0, "Half")),)), "BRAIN_UNAVAILABLE", 3),
        (Scripted((events(start(), *text_block(0, "Half")),), end="stall"), "BRAIN_UNAVAILABLE", 3),
        (Scripted((events(start(), "garbage"),)), "BRAIN_ANSWER_INVALID", 1),
        (Scripted((events({"no": "type"}),)), "BRAIN_ANSWER_INVALID", 1),
        (Scripted((b'{"hello": "you"}',)), "BRAIN_ANSWER_INVALID", 1),
        (
            Scripted(
                (
                    events(
                        start(),
                        {
                            "type": "content_block_delta",
                            "index": 3,
                            "delta": {"type": "input_json_delta", "partial_json": "{"},
                        },
                    ),
                )
            ),
            "BRAIN_ANSWER_INVALID",
            1,
        ),
        (
            reply(*(call_block(i, "click", call_id=f"t{i}") for i in range(65)), reason="tool_use"),
            "BRAIN_ANSWER_INVALID",
            1,
        ),
    ],
)
def test_failures_have_their_code(scripted: Scripted, code: str, requests: int) -> None:
    with model_server(scripted) as server:
        with pytest.raises(ClawError) as caught:
            take_turn(brain_at(server.url))
        assert len(server.received) == requests
    assert caught.value.code == code
    assert caught.value.operation == "ask"
    assert caught.value.target == server.url
    assert KEY not in f"{caught.value.document()}{caught.value!r}"


def test_a_busy_service_is_retried() -> None:
    busy = Scripted((json.dumps(error_document("rate_limit_error", "slow")).encode(),), 429, {"Retry-After": "0"})
    with model_server(busy, reply(text_block(0, "ok"))) as server:
        assert take_turn(brain_at(server.url)).answer.text == "ok"
    assert len(server.received) == 2


def test_missing_variables_are_named() -> None:
    with pytest.raises(ClawError) as caught:
        model_config("anthropic", model=None, environ={})
    assert caught.value.code == "BRAIN_NOT_CONFIGURED"
    assert caught.value.details == {"variables": ["ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "CLAW_MODEL"]}
