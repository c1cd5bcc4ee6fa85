"""Live control: a user looks at the phone and touches it, without taking a capture."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clawperator.errors import ClawError
from clawperator.phone.process.server import PhoneServer, PhoneServerConfig
from clawperator.ui.node import Node
from clawperator.ui.parse import parse_hierarchy


@pytest.fixture
def server(tmp_path: Path) -> Iterator[PhoneServer]:
    made = PhoneServer(PhoneServerConfig(serial="claw-1", folder=str(tmp_path / "files")))
    yield made
    made.close()


def look(server: PhoneServer, since: str = "") -> Any:
    return server.command("look", {"since": since})


def node(server: PhoneServer, label: str) -> Node:
    return next(one for one in parse_hierarchy(look(server)["xml"]).nodes if one.label == label)


def tap(server: PhoneServer, label: str, **more: Any) -> None:
    server.command("touch", {"at": list(node(server, label).bounds.centre), **more})


def test_a_look_has_the_screen_only_when_it_changed(server: PhoneServer) -> None:
    first = look(server)
    assert (first["width"], first["height"], first["awake"]) == (1080, 2400, True)
    assert look(server, first["id"]) == {"id": first["id"], "recording": None}
    server.phone.launch("com.android.settings")
    second = look(server, first["id"])
    assert second["package"] == "com.android.settings"
    assert second["xml"] == server.phone.windows.xml().rstrip()
    assert second["id"] != first["id"]


def test_a_look_at_an_unchanged_screen_lays_nothing_out(
    server: PhoneServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    since = look(server)["id"]
    server.phone.windows.invalidate()
    changed = look(server, since)["id"]
    monkeypatch.setattr(server.phone.windows, "active", lambda: pytest.fail("laid out"))
    assert look(server, changed)["id"] == changed


def test_a_look_draws_no_random_number_and_meets_no_fault(server: PhoneServer) -> None:
    server.phone.set_fault("stale_tree", 1)
    server.phone.launch("com.android.settings")
    assert look(server)["package"] == "com.android.settings"
    assert "Network" in look(server)["xml"]
    assert (
        server.phone.faults.generator("stale_tree").random()
        == PhoneServer(PhoneServerConfig(serial="claw-1")).phone.faults.generator("stale_tree").random()
    )


@pytest.mark.parametrize("what", ["toast", "sleep", "rotation", "reset"])
def test_what_a_picture_shows_changes_the_id(server: PhoneServer, what: str) -> None:
    before = look(server)["id"]
    match what:
        case "toast":
            server.phone.windows.toast("Saved")
        case "sleep":
            server.command("press", {"key": "sleep"})
        case "rotation":
            server.phone.set_fault("rotation", 1)
        case "reset":
            server.command("reset", {})
    assert look(server)["id"] != before


def test_what_a_user_does_is_recorded(server: PhoneServer) -> None:
    phone = server.phone
    recorder = phone.operator.recorder
    started = recorder.start("demo")
    assert look(server)["recording"] == "demo"
    phone.launch("com.android.settings")
    tap(server, "Search settings")
    server.command("type", {"text": "ab"})
    server.command("press", {"key": "delete"})
    server.command("press", {"key": "back"})
    server.command("press", {"key": "home"})
    recorder.stop()
    events = [json.loads(line) for line in phone.storage.read(started.file_path).splitlines()[1:]]
    kinds = [event["type"] for event in events if event.get("packageName") != "com.android.inputmethod.latin"]
    assert kinds[:1] == ["window_change"]
    assert [event["text"] for event in events if event["type"] == "text_change"] == ["a", "ab", "a"]
    assert kinds.count("press_key") == 1
    assert kinds.count("click") == 1


def test_gestures(server: PhoneServer) -> None:
    server.phone.launch("com.android.settings")
    before = look(server)["xml"]
    server.command("touch", {"at": [540, 1600], "to": [540, 900]})
    scrolled = look(server)["xml"]
    assert scrolled != before
    server.command("touch", {"at": [540, 900], "to": [540, 1600], "milliseconds": 1_000, "holds": True})
    assert look(server)["xml"] == before


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("touch", {}),
        ("touch", {"at": [-1, 5]}),
        ("touch", {"at": [1, 5], "holds": 7}),
        ("touch", {"at": [1, 5], "milliseconds": 10**9}),
        ("press", {"key": "any"}),
        ("type", {"text": ""}),
        ("type", {"text": "x" * 2_001}),
        ("look", {"since": 7}),
    ],
)
def test_wrong_arguments_are_refused(server: PhoneServer, command: str, arguments: Any) -> None:
    with pytest.raises((ValueError, ClawError)):
        server.command(command, arguments)
