"""Replies of a Chat Completions service, and a brain that uses it."""

import json
from typing import Any

import msgspec
import pytest

from clawperator.agent.models.config import model_config
from clawperator.agent.models.openai import OpenAIBrain
from clawperator.errors import ClawError
from tests.agent.models.model_server import QUICK, Scripted, events, model_server, take_turn

KEY = "sk-very-secret-0123456789"


def brain_at(url: str, key: str = KEY, **timeouts: Any) -> OpenAIBrain:
    environ = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": key}
    return OpenAIBrain(
        model_config("openai", model="small", environ=environ), timeouts=msgspec.structs.replace(QUICK, **timeouts)
    )


def chunk(*, finish: str | None = None, usage: tuple[int, int] | None = None, **delta: Any) -> dict[str, Any]:
    counted = {"prompt_tokens": usage[0], "completion_tokens": usage[1]} if usage else None
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], "usage": counted}


def counted(prompt: int, completion: int) -> dict[str, Any]:
    return {"choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": completion}}


def call_piece(index: int, arguments: str = "", *, call_id: str | None = None, name: str | None = None) -> Any:
    function: dict[str, Any] = {"arguments": arguments}
    piece: dict[str, Any] = {"index": index, "function": function}
    if call_id is not None:
        piece["id"] = call_id
    if name is not None:
        function["name"] = name
    return piece


def text_reply(*pieces: str, usage: tuple[int, int] | None = None) -> Scripted:
    documents = [chunk(content=piece) for piece in pieces]
    ends = [chunk(finish="stop"), *([counted(*usage)] if usage else []), "[DONE]"]
    return Scripted((events(*documents, *ends),))


def call_reply(
    name: str, arguments: str, *, call_id: str = "c1", usage: tuple[int, int] | None = None
) -> Scripted:
    return Scripted(
        (
            events(
                chunk(tool_calls=[call_piece(0, arguments, call_id=call_id, name=name)]),
                chunk(finish="tool_calls"),
                *([counted(*usage)] if usage else []),
                "[DONE]",
            ),
        )
    )


def failing(*replies: Scripted, **timeouts: Any) -> tuple[ClawError, int]:
    with model_server(*replies) as server:
        with pytest.raises(ClawError) as caught:
            take_turn(brain_at(server.url, **timeouts))
        return caught.value, len(server.received)


def error_body(message: str, status: int, **headers: str) -> Scripted:
    return Scripted((json.dumps({"error": {"message": message}}).encode(),), status, headers)
