"""Settings files: three layers are merged; invalid content is a warning and the rest applies."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator._base.trust import trust_folder
from clawperator.agent.settings import AgentSettings, read_settings

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def write(path: Path, document: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLAW_CONFIG_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "settings.json"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    made.mkdir()
    return made


def listed(rules: Any) -> list[tuple[str, str]]:
    return [(str(rule), rule.source) for rule in rules]


def test_without_files_the_defaults_apply(folder: Path, home: Path) -> None:
    assert not home.exists()
    assert read_settings(str(folder)) == AgentSettings()


def test_rules_of_all_layers_are_concatenated_with_their_source(folder: Path, home: Path) -> None:
    own = write(home, {"permissions": {"deny": ["close_app"], "defaultMode": "full"}})
    project = write(
        folder / ".claw/settings.json", {"permissions": {"deny": ["run_skill"], "ask": ["click(Buy:*)"]}}
    )
    local = write(
        folder / ".claw/settings.local.json", {"permissions": {"allow": ["*"], "defaultMode": "Read-Only"}}
    )
    trust_folder(str(folder))
    permissions = read_settings(str(folder)).permissions
    assert listed(permissions.deny) == [("close_app", str(own)), ("run_skill", str(project))]
    assert listed(permissions.ask) == [("click(Buy:*)", str(project))]
    assert listed(permissions.allow) == [("*", str(local))]
    assert (permissions.default_mode, permissions.mode_source) == ("read-only", str(local))


def test_the_home_folder_is_the_default_config_home(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CLAW_CONFIG_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    write(tmp_path / ".claw/settings.json", {"permissions": {"defaultMode": "full"}})
    assert read_settings(str(folder)).permissions.default_mode == "full"
    # The same file in two roles is read once.
    write(tmp_path / ".claw/settings.json", {"permissions": {"deny": ["click"]}})
    assert len(read_settings(str(tmp_path)).permissions.deny) == 1


def test_invalid_entries_are_warnings_and_valid_siblings_are_kept(folder: Path, home: Path) -> None:
    write(home, "{broken")
    write(
        folder / ".claw/settings.json",
        {
            "permissions": {
                "deny": ["click", 3, "x(y", "", "a*b"],
                "allow": "all",
                "defaultMode": "god",
                "more": 1,
            },
            "mcpServers": {
                "good": {"command": "program"},
                "bad": {"command": 7},
                "empty": {"args": ["x"]},
                "far": {"type": "sse", "url": "http://127.0.0.1"},
                "list": [],
                "slow": {"command": "program", "timeouts": {"call": -1}},
                "odd": {"command": "program", "colour": "red"},
            },
            "model": "x",
        },
    )
    trust_folder(str(folder))
    settings = read_settings(str(folder))
    assert [str(rule) for rule in settings.permissions.deny] == ["click"]
    assert sorted(settings.mcp_servers) == ["good", "odd"]
    parts = [
        "cannot be read",
        "deny[1]",
        "deny[2]",
        "deny[3]",
        "deny[4]",
        "allow must be a list",
        "defaultMode",
    ]
    parts += ["permissions.more", ".bad", ".empty", ".far", ".list", ".slow", ".odd.colour", "'model'"]
    for part in parts:
        assert sum(part in warning for warning in settings.warnings) == 1, part
    assert len(settings.warnings) == len(parts)


def test_a_later_layer_overrides_keys_of_a_server_or_redefines_it(folder: Path, home: Path) -> None:
    one = {"command": "one", "args": ["a"], "env": {"A": "1"}, "timeouts": {"list": 5}}
    own = write(home, {"mcpServers": {"x": one, "y": one}})
    amended = {"env": {"B": "2"}, "timeouts": {"call": 7}, "cwd": "sub"}
    project = write(folder / ".claw/settings.json", {"mcpServers": {"x": amended, "y": {"command": "two"}}})
    trust_folder(str(folder))
    servers = read_settings(str(folder)).mcp_servers
    x, y = servers["x"], servers["y"]
    assert (x.command, x.args, x.env, x.source) == ("one", ("a",), {"A": "1", "B": "2"}, str(own))
    assert (x.timeouts.initialize, x.timeouts.list, x.timeouts.call) == (10, 5, 7)
    assert x.cwd == str(folder / "sub")
    assert (y.command, y.args, y.env, y.cwd, y.source) == ("two", (), {}, None, str(project))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("[" * 100_000, "nested"),
        (" " * 1_100_000, "larger than"),
        ("[]", "not a JSON object"),
        ("\udcff", "cannot be read"),
    ],
)
def test_a_hostile_file_is_a_warning(folder: Path, home: Path, content: str, reason: str) -> None:
    home.parent.mkdir()
    home.write_bytes(content.encode("utf-8", "surrogateescape"))
    (warning,) = read_settings(str(folder)).warnings
    assert reason in warning


def test_disabled_servers_are_dropped(folder: Path, home: Path) -> None:
    write(
        home,
        {"mcpServers": {"a": {"command": "a"}, "b": {"command": "b", "disabled": True}, "c": {"command": "c"}}},
    )
    layer = {
        "a": {"disabled": True},
        "b": {"disabled": False},
        "c": {"disabled": "yes"},
        "d": {"url": "x", "disabled": True},
    }
    write(folder / ".claw/settings.json", {"mcpServers": layer})
    trust_folder(str(folder))
    settings = read_settings(str(folder))
    assert list(settings.mcp_servers) == ["b"]
    (warning,) = settings.warnings
    assert "mcpServers.c: disabled must be true or false" in warning


def test_the_number_of_warnings_is_limited(folder: Path, home: Path) -> None:
    write(home, {f"key{number}": 1 for number in range(500)})
    assert len(read_settings(str(folder)).warnings) == 100


def test_a_folder_named_like_the_file_is_a_warning(folder: Path, home: Path) -> None:
    home.mkdir(parents=True)
    (warning,) = read_settings(str(folder)).warnings
    assert warning.startswith(f"{home}: not a regular file; read-only until it is repaired")


@pytest.mark.random
@given(document=st.fixed_dictionaries({}, optional={"permissions": JSON, "mcpServers": JSON, "x": JSON}) | JSON)
def test_any_json_gives_settings(tmp_path_factory: pytest.TempPathFactory, document: Any) -> None:
    folder = tmp_path_factory.mktemp("any")
    write(folder / ".claw" / "settings.json", document)
    assert isinstance(read_settings(str(folder)), AgentSettings)


@pytest.mark.random
@given(
    rules=JSON,
    server=st.dictionaries(st.sampled_from(["command", "args", "env", "cwd", "timeouts", "disabled"]), JSON),
)
def test_any_json_in_its_places_gives_settings(
    tmp_path_factory: pytest.TempPathFactory, rules: Any, server: Any
) -> None:
    folder = tmp_path_factory.mktemp("any")
    document = {"permissions": {"deny": rules, "ask": [rules]}, "mcpServers": {"a": server}}
    write(folder / ".claw" / "settings.json", document)
    assert isinstance(read_settings(str(folder)), AgentSettings)


def test_a_file_without_a_known_key_counts_as_unreadable(folder: Path, home: Path) -> None:
    own = write(folder / ".claw/settings.json", {"sessionId": "demo", "events": []})
    read = read_settings(str(folder))
    assert read.permissions.unreadable == str(own)
    assert any(
        "no known key" in warning and "read-only until it is repaired" in warning for warning in read.warnings
    )
    readable: Any
    for readable in ({}, {"$schema": "x"}, {"permissions": {}, "other": 1}, {"mcpServers": {}}):
        write(own, readable)
        assert not read_settings(str(folder)).permissions.unreadable
    assert not home.exists()
