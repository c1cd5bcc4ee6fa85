"""The conversation as it is sent: cache markers, a stable beginning, replaced screens, images."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from clawperator.agent.model_tools import REPLACED
from clawperator.agent.models.anthropic import AnthropicBrain
from clawperator.agent.models.config import model_config
from clawperator.agent.models.conversation import IMAGE_REPLACED
from clawperator.agent.models.openai import OpenAIBrain
from clawperator.agent.ports import Evidence, Exchange, ScreenView, ToolCall, ToolResult
from tests.agent.models.model_server import QUICK, model_server, take_turn
from tests.agent.models.openai_script import call_reply, text_reply
from tests.agent.models.test_anthropic import call_block, reply, text_block, unmarked
from tests.agent.test_model_results import png

CACHED = {"type": "ephemeral"}


def screen(name: str) -> ToolResult:
    return ToolResult(True, "looked", screen=ScreenView(name, "a.b", f'e1 button "{name}"'))


def anthropic_bodies(count: int, act: Any, **environ: str) -> list[Any]:
    """The requests of a turn with this many calls."""
    calls = [reply(call_block(0, "click", "{}", call_id=f"t{at}"), reason="tool_use") for at in range(count)]
    with model_server(*calls, reply(text_block(0, "Done."))) as server:
        variables = {"ANTHROPIC_BASE_URL": server.url, **environ}
        brain = AnthropicBrain(model_config("anthropic", model="m", environ=variables), timeouts=QUICK)
        take_turn(brain, act=act, history=(Exchange("before", "yes"),))
    return server.bodies


def openai_bodies(count: int, act: Any, **environ: str) -> list[Any]:
    calls = [call_reply("click", "{}", call_id=f"t{at}") for at in range(count)]
    with model_server(*calls, text_reply("Done.")) as server:
        variables = {"OPENAI_BASE_URL": server.url, **environ}
        take_turn(OpenAIBrain(model_config("openai", model="m", environ=variables), timeouts=QUICK), act=act)
    return server.bodies


def marked_messages(body: Any) -> list[int]:
    return [at for at, message in enumerate(body["messages"]) if "cache_control" in json.dumps(message)]


def test_system_prompt_and_tools_are_marked_for_the_cache() -> None:
    for body in anthropic_bodies(1, lambda _: ToolResult(True, "ok")):
        assert body["system"][-1]["cache_control"] == CACHED


def test_the_settled_part_and_the_end_are_marked_for_the_cache() -> None:
    results = iter([ToolResult(True, "no screen"), screen("one"), ToolResult(True, "no screen"), screen("two")])
    bodies = anthropic_bodies(4, lambda _: next(results))
    # Three messages come before the first reply; each reply and its results are two more.
    assert [marked_messages(body) for body in bodies] == [[2], [4], [4, 6], [4, 8], [8, 10]]
    assert all(json.dumps(body).count("cache_control") <= 4 for body in bodies)


@pytest.mark.parametrize("bodies_of", [anthropic_bodies, openai_bodies])
def test_a_request_begins_with_the_one_before_it(bodies_of: Any) -> None:
    bodies = bodies_of(3, lambda _: ToolResult(True, "ok", {"found": 1}))
    for before, after in pairwise(bodies):
        assert before["tools"] == after["tools"]
        earlier, later = unmarked(before["messages"]), unmarked(after["messages"])
        assert later[: len(earlier)] == earlier


@pytest.mark.parametrize("bodies_of", [anthropic_bodies, openai_bodies])
def test_a_later_screen_replaces_the_one_before_it_by_a_line(bodies_of: Any) -> None:
    names = iter(["one", "two", "three"])
    bodies = bodies_of(3, lambda _: screen(next(names)))
    last = json.dumps(bodies[-1]["messages"])
    assert last.count(REPLACED) == 2
    assert "three" in last
    assert "e1 button" in last
    assert '\\"one\\"' not in last
    middle = json.dumps(bodies[2]["messages"])
    assert middle.count(REPLACED) == 1


def picture(path: Path) -> ToolResult:
    path.write_bytes(png(4, 4))
    return ToolResult(True, "saved", evidence=(Evidence("screenshot", "c", path=str(path)),))


def test_a_picture_is_an_image_block_of_the_result(tmp_path: Path) -> None:
    bodies = anthropic_bodies(2, lambda _: picture(tmp_path / "a.png"), CLAW_IMAGES="on")
    first, second = (message["content"][0]["content"] for message in bodies[-1]["messages"] if _is_result(message))
    assert first == f"saved\n{IMAGE_REPLACED}"
    assert [part["type"] for part in second] == ["text", "image"]
    assert second[1]["source"]["media_type"] == "image/png"


def _is_result(message: dict[str, Any]) -> bool:
    return isinstance(message["content"], list) and message["content"][0].get("type") == "tool_result"


def test_a_picture_follows_the_results_in_a_message_of_its_own(tmp_path: Path) -> None:
    bodies = openai_bodies(2, lambda _: picture(tmp_path / "a.png"), CLAW_IMAGES="on")
    roles = [message["role"] for message in bodies[-1]["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "tool", "user"]
    parts = bodies[-1]["messages"][-1]["content"]
    assert parts[0]["text"] == "Image of the result of click, call t1:"
    assert parts[1]["image_url"]["url"].startswith("data:image/png;base64,iVBOR")
    assert bodies[-1]["messages"][3]["content"].endswith(IMAGE_REPLACED)


@pytest.mark.parametrize("bodies_of", [anthropic_bodies, openai_bodies])
def test_without_the_setting_no_picture_is_sent(bodies_of: Any, tmp_path: Path) -> None:
    bodies = bodies_of(1, lambda _: picture(tmp_path / "a.png"))
    assert "iVBOR" not in json.dumps(bodies)


def test_a_model_may_call_a_tool_of_ours_by_its_own_name() -> None:
    made: list[ToolCall] = []

    def act(call: ToolCall) -> ToolResult:
        made.append(call)
        return ToolResult(True, "ok")

    openai_bodies(1, act)
    assert made == [ToolCall("click", {}, "t0")]
