"""A session of the compact tools on a phone, as a server uses it."""

import re
from pathlib import Path
from typing import Any

import pytest

from clawperator.agent.cancellation import TurnDeadline
from clawperator.agent.compact.results import CompactResult
from clawperator.agent.compact.session import CompactSession
from clawperator.agent.ports import ToolContext
from clawperator.agent.tool_registry import ToolRegistry
from clawperator.agent.tools.builtin import builtin_tools
from clawperator.errors import ClawError
from clawperator.policy.rules import Asker, Policy, read_rule
from tests.device.phone_servers import running_phone_server


class Tools:
    """A session in a folder."""

    def __init__(self, made: CompactSession, folder: Path) -> None:
        self.tools = made.tools
        self._session = made
        self._context = ToolContext(TurnDeadline(30), str(folder))

    def run(self, name: str, params: dict[str, Any]) -> CompactResult:
        return self._session.run(name, params, self._context).shown


def session(folder: Path, *deny: str, ask: tuple[str, ...] = (), asker: Asker | None = None) -> Tools:
    policy = Policy(
        deny=tuple(read_rule(rule, "test") for rule in deny), ask=tuple(read_rule(rule, "test") for rule in ask)
    )
    registry = ToolRegistry(builtin_tools(), policy, asker=asker)
    return Tools(CompactSession(registry), folder)


def test_tools_run_on_the_phone_and_return_short_results(tmp_path: Path) -> None:
    with running_phone_server():
        tools = session(tmp_path)
        opened = tools.run("app", {"do": "open_app", "applicationId": "com.android.settings"})
        tapped = tools.run("tap", {"label": "Display"})
        again = tools.run("tap", {"label": "Dark theme"})
        missing = tools.run("tap", {"label": "Nowhere", "retry": {}})
    assert opened.screen is not None
    assert opened.screen.is_whole
    assert '"Display"' in opened.screen.text
    assert tapped.text.startswith("clicked 'Display'")
    assert tapped.screen is not None
    assert '"Dark theme"' in tapped.screen.text
    assert again.screen is not None
    assert not again.screen.is_whole
    assert len(again.text) + len(again.screen.text) < 400
    assert missing.is_error
    assert "NODE_NOT_FOUND" in missing.text


@pytest.mark.usefixtures("quick_retries")
def test_an_element_is_named_by_its_reference(tmp_path: Path) -> None:
    with running_phone_server() as server:
        tools = session(tmp_path)
        opened = tools.run("app", {"do": "open_app", "applicationId": "com.android.settings"})
        assert opened.screen is not None
        found = re.search(r'(e\d+) \w+ "Display"', opened.screen.text)
        assert found is not None
        tapped = tools.run("tap", {"ref": found[1]})
        stale = tools.run("run_plan", {"actions": [{"type": "click", "params": {"ref": found[1]}}]})
        assert server.phone.foreground() == "com.android.settings"
    assert not tapped.is_error
    assert tapped.screen is not None
    assert '"Dark theme"' in tapped.screen.text
    assert stale.is_error
    assert "REF_STALE" in stale.text


def test_a_screen_that_may_not_be_read_is_not_shown(tmp_path: Path) -> None:
    with running_phone_server():
        tools = session(tmp_path, "snapshot_ui")
        assert "snapshot" not in [tool.name for tool in tools.tools]
        pressed = tools.run("press", {"key": "home"})
    assert not pressed.is_error
    assert pressed.screen is None


def test_the_user_is_not_asked_about_a_look_after_an_action(tmp_path: Path) -> None:
    asked: list[str] = []

    def ask(tool: Any, _params: Any, _reason: str) -> bool:
        asked.append(tool.name)
        return True

    with running_phone_server():
        tools = session(tmp_path, ask=("snapshot_ui",), asker=ask)
        pressed = tools.run("press", {"key": "home"})
        assert (pressed.screen, asked) == (None, [])
        looked = tools.run("snapshot", {})
    assert looked.screen is not None
    assert asked == ["snapshot_ui"]


def test_a_denied_action_is_refused_with_the_reason(tmp_path: Path) -> None:
    tools = session(tmp_path, "close_app")
    denied = tools.run("app", {"do": "close_app", "applicationId": "a.b"})
    assert denied.is_error
    assert "PERMISSION_DENIED" in denied.text


def test_an_unknown_tool_and_an_unknown_action_are_refused(tmp_path: Path) -> None:
    tools = session(tmp_path)
    with pytest.raises(ClawError, match="fly"):
        tools.run("fly", {})
    assert tools.run("recording", {"do": "fly"}).is_error


def test_a_reference_means_the_element_that_this_client_has_seen(tmp_path: Path) -> None:
    with running_phone_server():
        first, second = session(tmp_path), session(tmp_path)
        opened = first.run("app", {"do": "open_app", "applicationId": "com.android.settings"})
        assert opened.screen is not None
        found = re.search(r'(e\d+) \w+ "Display"', opened.screen.text)
        assert found is not None
        unseen = second.run("tap", {"ref": found[1]})
        first.run("tap", {"ref": found[1]})
        second.run("snapshot", {})
        stale = second.run("tap", {"ref": found[1]})
    assert unseen.is_error
    assert "names no snapshot" in unseen.text
    assert "Call snapshot first" in unseen.text
    assert stale.is_error
    assert "REF_STALE" in stale.text


def test_a_reference_of_a_query_can_be_tapped(tmp_path: Path) -> None:
    with running_phone_server():
        tools = session(tmp_path)
        tools.run("app", {"do": "open_app", "applicationId": "com.android.settings"})
        found = session(tmp_path).run("query", {"label": "Display"})
        named = re.search(r'"ref":"(e\d+@s[0-9a-f]{8})"', found.found)
        assert named is not None
        tapped = session(tmp_path).run("tap", {"ref": named[1]})
    assert not tapped.is_error
    assert tapped.screen is not None
    assert '"Dark theme"' in tapped.screen.text
