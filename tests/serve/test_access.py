import json
from pathlib import Path

import pytest

from clawperator.agent.turns.assembly import AgentOptions
from clawperator.serve.access import open_access


@pytest.fixture
def user_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "config"
    home.mkdir()
    monkeypatch.setenv("CLAW_CONFIG_HOME", str(home))
    return home


def settings(folder: Path, **permissions: object) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "settings.json").write_text(json.dumps({"permissions": permissions}))


@pytest.mark.usefixtures("user_home")
def test_the_default_mode_acts_and_installs_nothing() -> None:
    offered = {tool.name for tool in open_access(AgentOptions()).registry.offered()}
    assert "click" in offered
    assert not offered & {"install_app", "uninstall_app", "clear_app_data", "grant_permission"}


def test_rules_of_the_user_apply(user_home: Path) -> None:
    settings(user_home, deny=["click"])
    assert "click" not in {tool.name for tool in open_access(AgentOptions()).registry.offered()}


@pytest.mark.usefixtures("user_home")
def test_settings_of_the_working_folder_do_not_count(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    settings(folder / ".claw", deny=["click"], defaultMode="full")
    offered = {tool.name for tool in open_access(AgentOptions(folder=str(folder))).registry.offered()}
    assert "click" in offered
    assert "install_app" not in offered


def test_a_flag_overrides_the_mode_of_the_settings(user_home: Path) -> None:
    settings(user_home, defaultMode="full")
    offered = {tool.name for tool in open_access(AgentOptions(mode="read-only")).registry.offered()}
    assert "snapshot_ui" in offered
    assert "click" not in offered


@pytest.mark.usefixtures("user_home")
def test_what_requires_confirmation_is_not_offered() -> None:
    access = open_access(AgentOptions(ask_tools=("click",)))
    assert "click" not in {tool.name for tool in access.registry.offered()}
