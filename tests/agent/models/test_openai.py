"""The OpenAI brain against a scripted service."""

import json
import time
from typing import Any

import msgspec
import pytest

from clawperator.agent.cancellation import TurnDeadline
from clawperator.agent.model_tools import LONGEST_RESULT, wire_names
from clawperator.agent.ports import BrainRequest, Exchange, ToolCall, ToolResult
from clawperator.agent.sessions.records import Usage
from clawperator.errors import ClawError
from tests.agent.models.model_server import Scripted, bytewise, events, model_server, take_turn, tool
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


def test_text_is_streamed() -> None:
    with model_server(text_reply("Hel", "lo ", "you.", usage=(3, 2))) as server:
        turn = take_turn(brain_at(server.url))
    assert turn.streamed == ["Hel", "lo ", "you."]
    assert turn.answer.text == "Hello you."
    assert turn.answer.outcome == "done"
    assert turn.answer.usage == Usage(3, 2, requests=1)


def test_the_request_contains_conversation_tools_and_key() -> None:
    history = (Exchange("one", "first"), Exchange("two", ""))
    with model_server(text_reply("ok")) as server:
        take_turn(brain_at(server.url), "three", history=history)
    (received,) = server.received
    assert received.path == "/v1/chat/completions"
    assert received.headers["authorization"] == f"Bearer {KEY}"
    assert received.headers["host"] == f"127.0.0.1:{server.port}"
    body = received.body
    assert (body["model"], body["stream"], body["stream_options"]) == ("small", True, {"include_usage": True})
    assert body["messages"][0]["role"] == "system"
    assert "data" in body["messages"][0]["content"]
    assert body["messages"][1:] == [
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "first"},
        {"role": "user", "content": "two"},
        {"role": "assistant", "content": "(nothing)"},
        {"role": "user", "content": "three"},
    ]
    assert [entry["function"]["name"] for entry in body["tools"]] == ["click", "read_text"]
    assert body["tools"][0] == {
        "type": "function",
        "function": {
            "name": "click",
            "description": "Do click.",
            "parameters": {"type": "object", "properties": {"text": {"type": "string"}}},
        },
    }


@pytest.mark.parametrize(
    ("base", "path"),
    [
        ("", "/v1/chat/completions"),
        ("/", "/v1/chat/completions"),
        ("/v1", "/v1/chat/completions"),
        ("/v1/", "/v1/chat/completions"),
        ("/some/gateway", "/some/gateway/chat/completions"),
    ],
)
def test_a_base_url_may_end_in_v1_or_not(base: str, path: str) -> None:
    with model_server(text_reply("ok")) as server:
        take_turn(brain_at(server.url + base))
    assert server.received[0].path == path


def test_without_tools_none_are_sent() -> None:
    with model_server(text_reply("ok")) as server:
        take_turn(brain_at(server.url), tools=())
    assert "tools" not in server.bodies[0]


def test_a_call_is_made_and_its_result_is_sent() -> None:
    with model_server(
        call_reply("click", '{"text": "Wi-Fi"}', usage=(100, 10)), text_reply("Clicked.", usage=(150, 5))
    ) as server:
        turn = take_turn(
            brain_at(server.url),
            act=lambda _: ToolResult(True, "clicked Wi-Fi", {"effect": "changed", "n": [1, 2]}),
        )
    assert turn.calls == [ToolCall("click", {"text": "Wi-Fi"}, "c1")]
    assert turn.answer.text == "Clicked."
    assert turn.answer.usage == Usage(250, 15, requests=2)
    assert len(server.bodies) == 2
    first, second = (body["messages"] for body in server.bodies)
    assert second[: len(first)] == first
    assert second[len(first) :] == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "click", "arguments": '{"text":"Wi-Fi"}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": 'clicked Wi-Fi\n{"effect":"changed","n":[1,2]}'},
    ]


def test_usage_is_reported_for_each_reply() -> None:
    counted: list[Usage] = []
    with model_server(call_reply("click", "{}", usage=(100, 10)), text_reply("ok", usage=(150, 5))) as server:
        take_turn(brain_at(server.url), on_usage=counted.append)
    assert counted == [Usage(100, 10, requests=1), Usage(150, 5, requests=1)]


def test_arguments_split_at_every_byte_are_joined() -> None:
    arguments = '{"text": "Grüße 😀 \\"x\\""}'
    pieces = [
        chunk(tool_calls=[call_piece(0, call_id="c1", name="cl")]),
        chunk(tool_calls=[call_piece(0, name="ick")]),
    ]
    pieces += [chunk(tool_calls=[call_piece(0, character)]) for character in arguments]
    stream = events(*pieces, chunk(finish="tool_calls"), "[DONE]").replace(b"\n", b"\r\n")
    with model_server(Scripted(bytewise(stream, 7)), text_reply("ok")) as server:
        turn = take_turn(brain_at(server.url))
    assert turn.calls == [ToolCall("click", {"text": 'Grüße 😀 "x"'}, "c1")]


def test_a_character_split_over_two_pieces_is_one_character() -> None:
    high, low = '{"choices":[{"delta":{"content":"a\\ud83d"}}]}', '{"choices":[{"delta":{"content":"\\ude00b"}}]}'
    with model_server(Scripted((events(high, low, chunk(finish="stop")),))) as server:
        turn = take_turn(brain_at(server.url))
    assert turn.answer.text == "a😀b"
    assert turn.streamed == ["a", "😀b"]


def test_several_calls_of_one_reply_are_made_in_the_order_of_their_index() -> None:
    reply = Scripted(
        (
            events(
                chunk(content="Both. "),
                chunk(tool_calls=[call_piece(1, '{"text":"b"', call_id="c2", name="read_text")]),
                chunk(tool_calls=[call_piece(0, '{"text":"a"}', call_id="c1", name="click"), call_piece(1, "}")]),
                chunk(finish="tool_calls"),
                "[DONE]",
            ),
        )
    )
    with model_server(reply, text_reply("Done.")) as server:
        turn = take_turn(brain_at(server.url))
    assert turn.calls == [ToolCall("click", {"text": "a"}, "c1"), ToolCall("read_text", {"text": "b"}, "c2")]
    assert turn.answer.text == "Both. \n\nDone."
    assert "".join(turn.streamed) == turn.answer.text
    assistant, *results = server.bodies[1]["messages"][2:]
    assert assistant["content"] == "Both. "
    assert [call["id"] for call in assistant["tool_calls"]] == ["c1", "c2"]
    assert [result["tool_call_id"] for result in results] == ["c1", "c2"]


@pytest.mark.parametrize("index", [0, None])
def test_calls_without_an_index_are_distinguished_by_id(index: int | None) -> None:
    calls = [call_piece(0, json.dumps({"text": name}), call_id=name, name="click") for name in ("a", "b")]
    for call in calls:
        call["index"] = index
    reply = Scripted((events(chunk(tool_calls=calls), chunk(finish="tool_calls"), "[DONE]"),))
    with model_server(reply, text_reply("ok")) as server:
        turn = take_turn(brain_at(server.url))
    assert [(call.id, call.params["text"]) for call in turn.calls] == [("a", "a"), ("b", "b")]


def test_a_call_without_an_id_gets_one() -> None:
    with model_server(call_reply("click", "", call_id=""), text_reply("ok")) as server:
        turn = take_turn(brain_at(server.url))
    assert turn.calls[0].params == {}
    assert turn.calls[0].id.startswith("call_")
    assistant, result = server.bodies[1]["messages"][2:]
    assert assistant["tool_calls"][0]["id"] == result["tool_call_id"] == turn.calls[0].id


def test_a_denied_call_is_sent_with_its_reason() -> None:
    denied = ToolResult(False, "not allowed", error=ClawError("PERMISSION_DENIED", "click needs act", hint="Ask."))
    with model_server(call_reply("click", "{}"), text_reply("I may not.")) as server:
        turn = take_turn(brain_at(server.url), act=lambda _: denied)
    assert turn.answer.outcome == "done"
    content = server.bodies[1]["messages"][-1]["content"]
    assert content.splitlines() == ["Not done: not allowed", "code: PERMISSION_DENIED", "Ask."]


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("click", '{"text": "unfinis', "TOOL_PAYLOAD_INVALID"),
        ("click", "[1]", "TOOL_PAYLOAD_INVALID"),
        ("click", "NaN", "TOOL_PAYLOAD_INVALID"),
        ("click", "[" * 5000, "TOOL_PAYLOAD_INVALID"),
        ("fly me", "{}", "TOOL_NOT_FOUND"),
    ],
)
def test_an_invalid_call_is_reported_to_the_model(name: str, arguments: str, code: str) -> None:
    with model_server(call_reply(name, arguments), text_reply("Sorry.")) as server:
        turn = take_turn(brain_at(server.url))
    assert [call.problem.code for call in turn.calls if call.problem] == [code]
    assert turn.answer.text == "Sorry."
    assistant, result = server.bodies[1]["messages"][2:]
    assert assistant["tool_calls"][0]["function"] == {"name": name.replace(" ", "_"), "arguments": "{}"}
    assert code in result["content"]


def test_repeated_invalid_calls_end_the_turn() -> None:
    with model_server(call_reply("fly", "{}")) as server:
        answer = take_turn(brain_at(server.url)).answer
    assert answer.outcome == "failed"
    assert answer.error is not None
    assert answer.error.code == "BRAIN_ANSWER_INVALID"
    assert len(server.received) == 5


def test_a_long_result_is_truncated_with_a_mark() -> None:
    with model_server(call_reply("click", "{}"), text_reply("ok")) as server:
        take_turn(brain_at(server.url), act=lambda _: ToolResult(True, "seen", {"text": "x" * 50_000}))
    content = server.bodies[1]["messages"][-1]["content"]
    assert len(content) < LONGEST_RESULT + 100
    assert content.endswith("more characters are not shown]")


def test_a_truncated_reply_is_marked() -> None:
    with model_server(
        Scripted((events(chunk(content="I was abou"), chunk(finish="length"), "[DONE]"),))
    ) as server:
        turn = take_turn(brain_at(server.url))
    assert turn.answer.text.startswith("I was abou\n\n[The reply is incomplete")
    assert "".join(turn.streamed) == turn.answer.text


@pytest.mark.parametrize(
    ("finish", "code"),
    [
        ("length", "BRAIN_ANSWER_INVALID"),
        ("model_length", "BRAIN_ANSWER_INVALID"),
        ("error", "BRAIN_ANSWER_INVALID"),
        ("content_filter", "BRAIN_REQUEST_REFUSED"),
        ("SAFETY", "BRAIN_REQUEST_REFUSED"),
    ],
)
def test_a_turn_stopped_by_the_service_failed(finish: str, code: str) -> None:
    with model_server(Scripted((events(chunk(content="Well"), chunk(finish=finish), "[DONE]"),))) as server:
        answer = take_turn(brain_at(server.url)).answer
    assert answer.outcome == "failed"
    assert answer.error is not None
    assert answer.error.code == code
    assert finish in answer.error.message


@pytest.mark.parametrize("finish", ["stop", "eos", "tool_calls", "function_call"])
def test_a_turn_ended_by_the_model_is_done_for_any_finish_reason(finish: str) -> None:
    with model_server(Scripted((events(chunk(content="Well"), chunk(finish=finish)),))) as server:
        answer = take_turn(brain_at(server.url)).answer
    assert (answer.outcome, answer.text) == ("done", "Well")


def test_a_turn_that_ends_without_an_answer_failed() -> None:
    silent = Scripted((events(chunk(reasoning_content="hm"), chunk(finish="stop"), "[DONE]"),))
    with model_server(silent) as server:
        turn = take_turn(brain_at(server.url))
    assert turn.answer.text == "[The model ended its turn without an answer.]"
    assert turn.streamed == [turn.answer.text]
    with model_server(call_reply("click", "{}"), silent) as server:
        later = take_turn(brain_at(server.url))
    for answer in (turn.answer, later.answer):
        assert answer.outcome == "failed"
        assert answer.error is not None
        assert answer.error.code == "BRAIN_ANSWER_INVALID"


def stopped_call(finish: str, **delta: Any) -> Scripted:
    """A whole call in a reply that ends with this reason."""
    call = chunk(content="On it.", tool_calls=[call_piece(0, "{}", call_id="c1", name="click")], **delta)
    return Scripted((events(call, chunk(finish=finish), "[DONE]"),))


@pytest.mark.parametrize(
    "reply",
    [
        *map(stopped_call, ("length", "content_filter", "safety", "error", "never_heard_of")),
        stopped_call("stop", refusal="I will not."),
        stopped_call("tool_calls", refusal="I will not."),
    ],
)
def test_a_stopped_reply_makes_none_of_its_calls(reply: Scripted) -> None:
    with model_server(reply, text_reply("Done.")) as server:
        turn = take_turn(brain_at(server.url))
    assert turn.calls == []
    assert len(server.received) == 1
    assert turn.answer.outcome == "failed"
    assert turn.answer.error is not None
    assert "were not made" in turn.answer.text


def test_a_refusal_without_a_call_failed() -> None:
    with model_server(Scripted((events(chunk(refusal="I will not."), chunk(finish="stop")),))) as server:
        answer = take_turn(brain_at(server.url)).answer
    assert answer.outcome == "failed"
    assert answer.error is not None
    assert answer.error.code == "BRAIN_REQUEST_REFUSED"
    assert answer.text.startswith("I will not.")


def test_a_repeated_call_is_reported_to_the_model_and_then_ends_the_turn() -> None:
    with model_server(call_reply("click", '{"text": "Save"}')) as server:
        turn = take_turn(brain_at(server.url))
    assert len(turn.calls) == 4
    assert turn.answer.outcome == "failed"
    assert turn.answer.error is not None
    assert turn.answer.error.code == "TURN_CALL_REPEATED"
    contents = [body["messages"][-1]["content"] for body in server.bodies[1:]]
    assert ["same call" in content for content in contents] == [False, False, True, True]


def test_waits_scrolls_and_presses_may_be_repeated() -> None:
    for name in ("wait_for_node", "sleep", "scroll", "press_key"):
        with model_server(*[call_reply(name, "{}")] * 7, text_reply("There.")) as server:
            turn = take_turn(brain_at(server.url), tools=(name,))
        assert len(turn.calls) == 7
        assert turn.answer.outcome == "done"


def test_calls_with_other_parameters_are_not_repeated_calls() -> None:
    replies = [call_reply("click", f'{{"text": "{i % 2}"}}') for i in range(8)]
    with model_server(*replies, text_reply("ok")) as server:
        assert take_turn(brain_at(server.url)).answer.outcome == "done"


def test_reasoning_and_extra_content_are_sent_back_and_not_shown() -> None:
    signed = {**call_piece(0, "{}", call_id="c1", name="click"), "extra_content": {"google": {"signature": "s"}}}
    reply = Scripted(
        (
            events(
                chunk(role="assistant", reasoning_content="let me "),
                chunk(reasoning_content="see"),
                chunk(tool_calls=[signed]),
                chunk(tool_calls=[call_piece(1, "{}", call_id="c2", name="click")]),
                chunk(finish="tool_calls"),
                "[DONE]",
            ),
        )
    )
    with model_server(reply, text_reply("ok")) as server:
        turn = take_turn(brain_at(server.url))
    assert turn.answer.text == "ok"
    assistant = server.bodies[1]["messages"][2]
    assert assistant["reasoning_content"] == "let me see"
    assert assistant["tool_calls"][0]["extra_content"] == {"google": {"signature": "s"}}
    assert "extra_content" not in assistant["tool_calls"][1]


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        ({"prompt_tokens": 3.0, "completion_tokens": 4}, Usage(3, 4, requests=1)),
        ({"prompt_tokens": None, "completion_tokens": 4}, Usage(0, 4, requests=1)),
        (
            {"prompt_tokens": 30, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 20}},
            Usage(30, 4, cached_tokens=20, requests=1),
        ),
        (
            {"prompt_tokens": 3, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 20}},
            Usage(3, 4, cached_tokens=3, requests=1),
        ),
        (
            {"prompt_tokens": 3, "completion_tokens": 4, "prompt_tokens_details": "none"},
            Usage(3, 4, requests=1),
        ),
    ],
)
def test_a_token_count_may_be_a_float_or_missing(usage: object, counted: Usage) -> None:
    last = {"choices": [], "usage": usage}
    with model_server(Scripted((events(chunk(content="ok"), chunk(finish="stop"), last, "[DONE]"),))) as server:
        answer = take_turn(brain_at(server.url)).answer
    assert (answer.text, answer.usage) == ("ok", counted)


@pytest.mark.parametrize(
    "usage", [None, {"prompt_tokens": "many", "completion_tokens": -1}, {"total_tokens": 7}, [], "much"]
)
def test_without_valid_token_counts_they_are_estimated_with_a_warning(usage: object) -> None:
    last = {"choices": [], "usage": usage}
    warnings: list[str] = []
    with model_server(
        Scripted((events(chunk(content="x" * 400), chunk(finish="stop"), last, "[DONE]"),))
    ) as server:
        answer = take_turn(brain_at(server.url), on_warning=warnings.append).answer
    sent = len(json.dumps(server.bodies[0], separators=(",", ":")))
    assert answer.usage is not None
    assert answer.usage.output_tokens == 100
    assert sent / 8 < answer.usage.input_tokens < sent / 2
    assert ["estimated" in warning for warning in warnings] == [True]


def test_a_chunk_without_choices_is_accepted() -> None:
    first = {"choices": [], "prompt_filter_results": [{"prompt_index": 0}]}
    with model_server(
        Scripted((events(first, chunk(content="ok", refusal=None), chunk(finish="stop")),))
    ) as server:
        assert take_turn(brain_at(server.url)).answer.text == "ok"


def test_the_result_of_an_mcp_tool_is_sent_as_its_content() -> None:
    picture = {"type": "image", "mimeType": "image/png", "data": "A" * 9_000}
    result = {
        "content": [{"type": "text", "text": "Bern: 21"}, picture],
        "structuredContent": {"result": "Bern: 21"},
    }
    foreign = msgspec.structs.replace(tool("mcp__w__weather"), family="mcp")
    replies = [call_reply("mcp__w__weather", "{}"), call_reply("mcp__w__weather", "{}"), text_reply("ok")]
    outcomes = iter(
        [ToolResult(True, "Bern: 21", result), ToolResult(False, "Bern: 21", result, ClawError("UNKNOWN", "x"))]
    )
    with model_server(*replies) as server:
        take_turn(brain_at(server.url), tools=(foreign,), act=lambda _: next(outcomes))
    contents = [message["content"] for message in server.bodies[2]["messages"] if message["role"] == "tool"]
    assert contents[0] == "<data>\nBern: 21\n[an image (image/png, 6 kB)]\n</data>"
    assert contents[1] == f"Not done: {contents[0]}"


def test_a_document_instead_of_a_stream_is_accepted() -> None:
    message = {
        "role": "assistant",
        "content": "One.",
        "tool_calls": [call_piece(0, "{}", call_id="c", name="click")],
    }
    usage = {"prompt_tokens": 3, "completion_tokens": 4}
    document = {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}], "usage": usage}
    whole = Scripted((json.dumps(document, indent=1).encode(),), headers={"Content-Type": "application/json"})
    with model_server(whole, text_reply("Two.", usage=(1, 1))) as server:
        turn = take_turn(brain_at(server.url))
    assert [call.name for call in turn.calls] == ["click"]
    assert turn.answer.text == "One.\n\nTwo."
    assert turn.answer.usage == Usage(4, 5, requests=2)


def test_too_many_calls_in_one_reply_are_an_error() -> None:
    calls = [call_piece(i, "{}", call_id=f"c{i}", name="click") for i in range(65)]
    error, _ = failing(Scripted((events(chunk(tool_calls=calls), chunk(finish="tool_calls")),)))
    assert error.code == "BRAIN_ANSWER_INVALID"


def test_calls_before_a_failure_are_kept() -> None:
    with model_server(call_reply("click", "{}", usage=(7, 8)), error_body("gone", 500)) as server:
        turn = take_turn(brain_at(server.url))
    assert turn.answer.outcome == "failed"
    assert turn.answer.error is not None
    assert turn.answer.error.code == "BRAIN_UNAVAILABLE"
    assert turn.answer.text.startswith("[Stopped:")
    assert turn.answer.usage == Usage(7, 8, requests=1)
    assert len(server.received) == 4


def test_a_closed_turn_sends_no_request() -> None:
    with model_server(call_reply("click", "{}")) as server:
        thinking = brain_at(server.url).respond(
            BrainRequest(prompt="x", tools=(tool("click"),), deadline=TurnDeadline(5))
        )
        next(thinking)
        thinking.close()
        time.sleep(0.05)
    assert len(server.received) == 1


def test_tool_names_are_mapped_to_valid_ones_and_back() -> None:
    long = "mcp__server__" + "x" * 80
    tools = tuple(tool(name) for name in ("a.b", "a b", "a_b", long, long + "y"))
    names = wire_names(tools)
    assert [entry.name for entry in names.values()] == [entry.name for entry in tools]
    assert all(len(name) <= 64 and name.replace("_", "").isalnum() for name in names)
    assert names["a_b"].name == "a_b"
    wanted = next(name for name, entry in names.items() if entry.name == "a.b")
    with model_server(call_reply(wanted, "{}"), text_reply("ok")) as server:
        turn = take_turn(brain_at(server.url), tools=tools)
    assert turn.calls[0].name == "a.b"
    assert server.bodies[1]["messages"][-2]["tool_calls"][0]["function"]["name"] == wanted
