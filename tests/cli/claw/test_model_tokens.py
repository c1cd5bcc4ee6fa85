"""What a model's turn sends: a job of six calls on Settings, in both protocols."""

import json
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from clawperator.agent.model_tools import REPLACED
from tests.agent.models import test_anthropic as anthropic
from tests.agent.models.model_server import Scripted, model_server
from tests.agent.models.openai_script import call_reply, text_reply
from tests.device.phone_servers import running_phone_server
from tests.support.running import Ran, claw_json

pytestmark = pytest.mark.usefixtures("folder")

# Calls of a model that opens Settings, reads it, opens Display, switches Dark theme on, and looks at the result.
JOB: tuple[tuple[str, dict[str, Any]], ...] = (
    ("app", {"do": "open_app", "applicationId": "com.android.settings"}),
    ("snapshot", {}),
    ("tap", {"label": "Display"}),
    ("snapshot", {}),
    ("tap", {"label": "Dark theme"}),
    ("screenshot", {"path": "dark.png"}),
)
ANSWER = "Dark theme is on."
MOST_FIXED = 13_000
MOST_OTHER = 20_000


def openai_replies() -> list[Scripted]:
    calls = [call_reply(name, json.dumps(params), call_id=f"c{at}") for at, (name, params) in enumerate(JOB)]
    return [*calls, text_reply(ANSWER)]


def anthropic_replies() -> list[Scripted]:
    calls = [
        anthropic.reply(anthropic.call_block(0, name, json.dumps(params), call_id=f"c{at}"), reason="tool_use")
        for at, (name, params) in enumerate(JOB)
    ]
    return [*calls, anthropic.reply(anthropic.text_block(0, ANSWER))]


REPLIES: dict[str, Callable[[], list[Scripted]]] = {"openai": openai_replies, "anthropic": anthropic_replies}


@pytest.fixture(params=["openai", "anthropic"])
def job(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[str, Ran, list[Any]]:
    """The protocol, the result of the job, and the bodies of its requests."""
    brain: str = request.param
    with model_server(*REPLIES[brain]()) as server, running_phone_server():
        monkeypatch.setenv(f"{brain.upper()}_BASE_URL", server.url)
        ran = claw_json("bootstrap", "switch dark theme on", "--brain", brain, "--model", "m", "--session-id", "s")
    return brain, ran, server.bodies


def size(value: Any) -> int:
    return len(msgspec.json.encode(value))


def fixed_part(brain: str, body: Any) -> dict[str, Any]:
    """The system prompt and the tools of a request."""
    system = body["system"] if brain == "anthropic" else body["messages"][0]
    return {"system": system, "tools": body["tools"]}


def messages_of(brain: str, body: Any) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = body["messages"]
    return anthropic.unmarked(messages) if brain == "anthropic" else messages


def test_the_job_sends_few_bytes(job: tuple[str, Ran, list[Any]]) -> None:
    brain, ran, bodies = job
    assert ran.json["turn"]["output"] == ANSWER
    assert [(call["name"], call["handled"]) for call in ran.json["turn"]["tool_calls"]] == [
        ("open_app", True),
        ("snapshot_ui", True),
        ("click", True),
        ("snapshot_ui", True),
        ("click", True),
        ("take_screenshot", True),
    ]
    assert len(bodies) == len(JOB) + 1
    fixed = [size(fixed_part(brain, body)) for body in bodies]
    other = sum(size(body) for body in bodies) - sum(fixed)
    assert max(fixed) <= MOST_FIXED
    assert other <= MOST_OTHER


def test_a_request_repeats_the_one_before_it_except_for_replaced_screens(job: tuple[str, Ran, list[Any]]) -> None:
    brain, _, bodies = job
    for before, after in pairwise(bodies):
        assert fixed_part(brain, before) == fixed_part(brain, after)
        earlier, later = messages_of(brain, before), messages_of(brain, after)
        changed = [at for at, (one, two) in enumerate(zip(earlier, later, strict=False)) if one != two]
        assert len(changed) <= 1
        for at in changed:
            text = json.dumps(earlier[at])
            assert re.sub(r"<screen .*?</screen>", REPLACED, text) == json.dumps(later[at])


def test_only_the_last_screen_is_sent_in_full(job: tuple[str, Ran, list[Any]]) -> None:
    _, _, bodies = job
    assert max(json.dumps(body["messages"]).count("<screen ") for body in bodies) == 1
    last = json.dumps(bodies[-1]["messages"])
    assert last.count(REPLACED) == 3
    assert "<changes " in last


def test_the_effect_of_an_action_comes_with_its_changed_lines(job: tuple[str, Ran, list[Any]]) -> None:
    _, _, bodies = job
    last = json.dumps(bodies[-1]["messages"], ensure_ascii=False)
    changes = last.partition("<changes ")[2].partition("</changes>")[0]
    assert "Dark theme" in changes
    assert "Screen timeout" not in changes
    for repeated in ("commandId", "terminalSource", "isCanonicalTerminal", "stepResults"):
        assert repeated not in last
