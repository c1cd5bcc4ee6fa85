"""Secrets through every path of a turn: none is in a file or an event."""

import json
from pathlib import Path

import pytest

from tests.agent.models.model_server import model_server
from tests.agent.models.openai_script import call_reply, text_reply
from tests.device.phone_servers import running_phone_server
from tests.support.running import Ran, claw
from tests.support.secret_search import find_secret

OPEN = "open notes and tap Account and "


@pytest.fixture
def home(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The product home, below the working folder."""
    home = folder / "home"
    monkeypatch.setenv("CLAWPERATOR_HOME", str(home))
    return home


def run_turn(command: str, prompt: str, *words: str) -> Ran:
    return claw(
        command, prompt, "--session-id", "s", "--events", "events.ndjson", "--output-format", "json", *words
    )


def written(folder: Path) -> bytes:
    return (folder / ".claw" / "sessions" / "s.jsonl").read_bytes()


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    ("prompt", "secret", "succeeds"),
    [
        (OPEN + 'type "Zx1-swordfish" into the password field', "Zx1-swordfish", True),
        (OPEN + 'type "q7z" into the password field', "q7z", True),
        (OPEN + 'type "4" into the password field', "4", True),
        ("enter the password Zx6d-correcthorse", "Zx6d-correcthorse", False),
        ('type "Zk99-hunter" into the secret box', "Zk99-hunter", False),
        ('type "Zk98-hunter" into the box that is not there', "Zk98-hunter", False),
        ("type Zk97-hunter into the other box", "Zk97-hunter", False),
        ("log in, my password is correcthorse", "correcthorse", False),
        ("sign in as bob with password correcthorse", "correcthorse", False),
        ("unlock it, the PIN is 8317", "8317", False),
        ("use blackbird as the password", "blackbird", False),
    ],
)
def test_a_secret_of_a_prompt_is_in_no_file(folder: Path, prompt: str, secret: str, *, succeeds: bool) -> None:
    with running_phone_server():
        ran = run_turn("bootstrap", prompt)
        assert (ran.code == 0) is succeeds
        again = claw("bootstrap", "what is on the screen", "--resume", "s", "--events", "events.ndjson")
    assert b"[redacted]" in written(folder)
    assert find_secret(secret, [folder], {"stderr": ran.err + again.err}) == []


@pytest.mark.usefixtures("home")
def test_a_denied_call_keeps_no_typed_text(folder: Path) -> None:
    with running_phone_server():
        run_turn("turn-loop", OPEN + 'type "Zx2-swordfish" into Notes', "--deny-tool", "enter_text")
    assert find_secret("Zx2-swordfish", [folder]) == []


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("secret", ["Zx10-correcthorse", "correct horse battery", "q7z"])
def test_the_words_of_a_model_are_redacted_in_events_however_they_are_cut(
    folder: Path, monkeypatch: pytest.MonkeyPatch, secret: str
) -> None:
    first, second = f"I typed the password {secret} there. ", f"It was {secret}, as asked."
    params = f'{{"matcher": {{"resourceId": "com.clawperator.notes:id/password"}}, "text": "{secret}"}}'
    replies = (
        call_reply("open_app", '{"applicationId": "com.clawperator.notes"}'),
        call_reply("click", '{"matcher": {"textEquals": "Account"}}', call_id="c2"),
        call_reply("enter_text", params, call_id="c3"),
        text_reply(*first, *(second[at : at + 3] for at in range(0, len(second), 3))),
    )
    with model_server(*replies) as server, running_phone_server():
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        ran = run_turn("bootstrap", "sign in", "--brain", "openai", "--model", "small")
    assert [call["code"] for call in ran.json["turn"]["tool_calls"]] == [None, None, None]
    assert find_secret(secret, [folder]) == []
    events = map(json.loads, (folder / "events.ndjson").read_text().splitlines())
    text = "".join(event["text"] for event in events if event["event"] == "message_delta")
    assert text == "I typed the password [redacted] there. It was [redacted], as asked."


def test_a_prompt_that_is_only_kept_is_redacted(folder: Path) -> None:
    claw("flush-transcript", "my password is swordfish")
    assert find_secret("swordfish", [folder]) == []
    assert list(folder.rglob("*.jsonl"))
