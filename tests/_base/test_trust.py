"""Trusted folders: remembered by path and hash, ended by a change, out of an agent's reach."""

import json
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clawperator._base.trust import (
    folder_trust,
    forget_folder,
    read_store,
    registry_trust,
    trust_folder,
    trust_registry,
)
from clawperator.agent.inventory.inventory import command_inventory
from clawperator.agent.settings import read_settings
from clawperator.errors import ClawError
from clawperator.operations.claw import FOR_USERS
from clawperator.skills.registry import open_registry, shipped_registry
from tests.support.running import claw, claw_json, clawperator

SHIPPED = "com.android.settings.overview"


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLAW_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path / "home"))
    return tmp_path / "config"


@pytest.fixture
def folder(tmp_path: Path, config: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    assert config
    made = tmp_path / "work"
    made.mkdir()
    monkeypatch.chdir(made)
    return made


def write_settings(folder: Path, name: str = "settings.json", **settings: Any) -> Path:
    path = folder / ".claw" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(settings))
    return path


def write_skills(folder: Path, *ids: str, script: str = "print('hello')\n") -> Path:
    entries = []
    for id_ in ids:
        path = f"skills/{id_}"
        entry = {
            "id": id_,
            "applicationId": id_.rpartition(".")[0],
            "intent": "test",
            "summary": "A skill.",
            "path": path,
            "skillFile": f"{path}/SKILL.md",
            "scripts": [f"{path}/scripts/run.py"],
            "artifacts": [],
        }
        (folder / path / "scripts").mkdir(parents=True)
        (folder / path / "SKILL.md").write_text("# Skill\n")
        (folder / path / "skill.json").write_text(json.dumps(entry))
        (folder / path / "scripts" / "run.py").write_text(script)
        entries.append(entry)
    registry = folder / "skills" / "skills-registry.json"
    registry.write_text(json.dumps({"skills": entries}))
    return registry


# Settings


def test_the_settings_of_an_untrusted_folder_only_restrict(folder: Path) -> None:
    own = {"defaultMode": "full", "allow": ["*"], "deny": ["close_app"], "ask": ["click"]}
    path = write_settings(folder, permissions=own, mcpServers={"a": {"command": "a"}})
    settings = read_settings(str(folder))
    permissions = settings.permissions
    assert [str(rule) for rule in permissions.deny] == ["close_app"]
    assert [str(rule) for rule in permissions.ask] == ["click"]
    assert (permissions.allow, permissions.default_mode, settings.mcp_servers) == ((), None, {})
    advice = "the folder is not trusted; run 'claw trust' in the folder to trust it"
    assert settings.warnings == tuple(
        f"{path}: {name} ignored: {advice}"
        for name in ("mcpServers", "permissions.allow", "permissions.defaultMode")
    )


@pytest.mark.parametrize(
    ("users", "folders", "mode"),
    [
        (None, "read-only", "read-only"),
        (None, "act", None),
        (None, "full", None),
        ("full", "act", "act"),
        ("read-only", "act", "read-only"),
    ],
)
def test_the_mode_of_an_untrusted_folder_counts_when_it_is_stricter(
    folder: Path, config: Path, users: str | None, folders: str, mode: str | None
) -> None:
    if users:
        config.mkdir()
        (config / "settings.json").write_text(json.dumps({"permissions": {"defaultMode": users}}))
    write_settings(folder, permissions={"defaultMode": folders})
    assert read_settings(str(folder)).permissions.default_mode == mode


def test_the_local_settings_lie_in_the_folder_and_are_treated_alike(folder: Path) -> None:
    write_settings(folder, "settings.local.json", permissions={"allow": ["*"], "deny": ["click"]})
    permissions = read_settings(str(folder)).permissions
    assert (permissions.allow, len(permissions.deny)) == ((), 1)


def test_in_the_home_folder_the_settings_are_the_users_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLAW_CONFIG_HOME")
    monkeypatch.setenv("HOME", str(folder))
    write_settings(folder, mcpServers={"a": {"command": "a"}})
    settings = read_settings(str(folder))
    assert (list(settings.mcp_servers), settings.warnings) == (["a"], ())


def test_a_trusted_folder_counts_until_its_settings_change(folder: Path) -> None:
    path = write_settings(folder, mcpServers={"a": {"command": "a"}})
    trust_folder(str(folder))
    assert list(read_settings(str(folder)).mcp_servers) == ["a"]
    write_settings(folder, mcpServers={"a": {"command": "b"}})
    settings = read_settings(str(folder))
    assert settings.mcp_servers == {}
    (warning,) = settings.warnings
    assert warning.startswith(f"{path}: mcpServers ignored: files that name programs have changed")
    assert "claw trust" in warning


@pytest.mark.parametrize("change", ["local settings", "registry", "skill.json", "new skill.json", "link"])
def test_each_change_of_a_file_that_names_programs_ends_the_trust(
    folder: Path, tmp_path: Path, change: str
) -> None:
    write_settings(folder, permissions={})
    registry = write_skills(folder, "a.b.c", "a.b.d")
    (folder / "skills/a.b.d/skill.json").unlink()
    trust_folder(str(folder))
    assert folder_trust(str(folder)).is_trusted
    if change == "local settings":
        write_settings(folder, "settings.local.json")
    elif change == "registry":
        registry.write_text(registry.read_text() + " ")
    elif change == "skill.json":
        (folder / "skills/a.b.c/skill.json").write_text("{}")
    elif change == "new skill.json":
        (folder / "skills/a.b.d/skill.json").write_text("{}")
    else:
        other = tmp_path / "other.json"
        other.write_bytes(registry.read_bytes())
        registry.unlink()
        registry.symlink_to(other)
    assert not folder_trust(str(folder)).is_trusted
    assert not registry_trust(str(registry)).is_trusted


def test_trust_belongs_to_the_real_path(folder: Path, tmp_path: Path) -> None:
    write_settings(folder, permissions={})
    trust_folder(str(folder))
    link = tmp_path / "link"
    link.symlink_to(folder)
    assert folder_trust(str(link)).is_trusted
    copy = tmp_path / "copy"
    (copy / ".claw").mkdir(parents=True)
    (copy / ".claw" / "settings.json").write_bytes((folder / ".claw/settings.json").read_bytes())
    assert not folder_trust(str(copy)).is_trusted


# The store


def test_the_store_is_private_and_complete_after_concurrent_changes(tmp_path: Path, config: Path) -> None:
    folders = [tmp_path / f"f{i}" for i in range(8)]
    for one in folders:
        one.mkdir()
        write_settings(one, permissions={})
    threads = [threading.Thread(target=trust_folder, args=(str(one),)) for one in folders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(read_store().folders) == [os.path.realpath(one) for one in folders]
    assert stat.S_IMODE((config / "trusted-folders.json").stat().st_mode) == 0o600


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"folders": 1}', b"\xff", b"[" * 100_000])
def test_an_unreadable_store_trusts_nothing_and_is_not_overwritten(
    folder: Path, config: Path, content: bytes
) -> None:
    write_settings(folder, permissions={})
    config.mkdir()
    store = config / "trusted-folders.json"
    store.write_bytes(content)
    assert not folder_trust(str(folder)).is_trusted
    with pytest.raises(ClawError) as info:
        trust_folder(str(folder))
    assert (info.value.code, info.value.target) == ("FILESYSTEM_FAILED", str(store))
    assert store.read_bytes() == content


# The command


def test_trust_shows_what_it_trusts_and_is_listed_and_removed(folder: Path) -> None:
    write_settings(
        folder,
        mcpServers={"files": {"command": "run it", "args": ["--x"], "env": {"LD_PRELOAD": "a b"}}},
        permissions={"allow": ["a\x1b[31m"]},
    )
    write_skills(folder, "a.b.c")
    dry = claw_json("trust", "--dry-run").json
    assert (dry["trusted"], dry["folder"]) == (False, str(folder))
    assert dry["files"] == [".claw/settings.json", "skills/skills-registry.json", "skills/a.b.c/skill.json"]
    assert dry["programs"] == [
        {"kind": "mcp_server", "name": "files", "command": "LD_PRELOAD='a b' 'run it' --x"},
        {"kind": "skill", "name": "a.b.c", "command": "skills/a.b.c/scripts/run.py"},
    ]
    assert read_store().folders == {}
    text = claw("trust")
    assert text.out.decode().startswith(f"Trusted {folder}\n  mcp server files: LD_PRELOAD='a b' 'run it' --x\n")
    assert b"\x1b" not in text.out
    listed = claw_json("trust", "--list").json
    assert listed["trusted"] == [{"path": str(folder), "kind": "folder", "state": "trusted"}]
    assert claw_json("trust", "--remove").json["removed"] is True
    assert claw_json("trust", "--remove").json["removed"] is False
    assert claw("trust", "--list").out == b"(no trusted folders)\n"


def test_a_folder_may_be_named(folder: Path, tmp_path: Path) -> None:
    assert folder
    other = tmp_path / "other"
    other.mkdir()
    write_settings(other, permissions={"allow": ["*"]})
    assert claw_json("trust", "../other").json["permissions"] == {"default_mode": None, "allow": ["*"]}
    assert read_settings(str(other)).permissions.allow


def test_there_may_be_nothing_to_trust(folder: Path) -> None:
    ran = claw_json("trust").json
    assert (ran["trusted"], ran["files"], ran["folder"]) == (False, [], str(folder))
    assert read_store().folders == {}
    assert claw_json("trust", "missing").json["error"]["code"] == "FILESYSTEM_FAILED"
    assert claw_json("trust", "--list", "--remove").json["error"]["code"] == "ARGUMENTS_INVALID"


@pytest.mark.parametrize(
    ("variable", "value"),
    [("CLAWPERATOR_PARENT", "skill a.b"), ("CLAWPERATOR_POLICY", '{"mode": "full"}'), ("CLAWPERATOR_POLICY", "x")],
)
@pytest.mark.parametrize("argv", [(), ("--list",), ("--remove",), ("--dry-run",)])
def test_trust_is_refused_below_a_skill_a_server_or_a_claw(
    folder: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, argv: tuple[str, ...]
) -> None:
    write_settings(folder, permissions={"allow": ["*"]})
    monkeypatch.setenv(variable, value)
    assert claw_json("trust", *argv).json["error"]["code"] == "PERMISSION_DENIED"
    assert read_store().folders == {}


def test_agents_cannot_reach_trust(folder: Path) -> None:
    write_settings(folder, permissions={"allow": ["*"]})
    assert FOR_USERS == ("trust",)
    assert "trust" not in [entry.name for entry in command_inventory().entries]
    for argv in (
        ("exec-command", "trust", ""),
        ("exec-command", "claw trust", ""),
        ("exec-tool", "trust", "{}"),
        ("exec-command", "exec-command", "trust ''"),
    ):
        ran = claw_json(*argv, "--permission-mode", "full")
        assert ran.json["error"]["code"] in ("COMMAND_NOT_FOUND", "TOOL_NOT_FOUND"), argv
    assert read_store().folders == {}


# Registries


def test_an_untrusted_registry_is_ignored_with_a_warning(folder: Path) -> None:
    registry = write_skills(folder, "a.b.c")
    ran = clawperator("skills", "list")
    assert "a.b.c" not in [skill["id"] for skill in ran.json["skills"]]
    assert f"{registry} ignored: the folder is not trusted; run 'claw trust'" in ran.err
    graph = claw_json("command-graph").json
    assert "a.b.c" not in [entry["name"] for entry in graph["skill_like"]]
    assert any("the folder is not trusted" in warning for warning in graph["warnings"])
    for argv in (("skills", "run", "a.b.c"), ("skills", "get", "a.b.c")):
        error = clawperator(*argv).json
        assert error["code"] == "SKILL_NOT_FOUND"
        assert error["message"] == f"skill 'a.b.c' is only in {registry}: the folder is not trusted"
        assert "claw trust" in error["hint"]
    ran = claw_json("exec-tool", "run_skill", '{"skill": "a.b.c"}')
    assert "the folder is not trusted" in ran.json["error"]["message"]


def test_a_registry_counts_when_it_is_named_or_trusted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = write_skills(folder, "a.b.c")
    assert clawperator("skills", "run", "a.b.c", "--registry", str(registry)).code == 0
    with monkeypatch.context() as patched:
        patched.setenv("CLAWPERATOR_SKILLS_REGISTRY", str(registry))
        assert clawperator("skills", "run", "a.b.c").code == 0
    assert clawperator("skills", "run", "a.b.c").code == 1
    assert claw_json("trust").json["trusted"]
    ran = clawperator("skills", "run", "a.b.c")
    assert (ran.code, ran.err) == (0, "")


def test_validation_runs_nothing_and_uses_the_registry_as_it_is(folder: Path) -> None:
    registry = write_skills(folder, "a.b.c")
    assert clawperator("skills", "validate", "--all").json["registryPath"] == str(registry)
    assert clawperator("skills", "validate", "a.b.c").code == 0


def test_a_registry_created_by_skills_new_is_trusted_also_after_more_skills(folder: Path) -> None:
    for name in ("a.b.one", "a.b.two"):
        assert clawperator("skills", "new", name).code == 0
        path = folder / "skills" / name / "scripts" / "run.py"
        path.write_text("print('hello')\n")
        ran = clawperator("skills", "run", name)
        assert (ran.code, ran.err) == (0, "")
    write_settings(folder, mcpServers={"a": {"command": "a"}})
    assert read_settings(str(folder)).mcp_servers == {}, "only the registry is trusted"
    (folder / "skills/a.b.one/skill.json").write_text("{}")
    ran = clawperator("skills", "run", "a.b.two")
    assert "have changed since" in ran.json["message"]


def test_skills_new_does_not_make_a_foreign_registry_trusted(folder: Path) -> None:
    write_skills(folder, "a.b.c")
    assert clawperator("skills", "new", "a.b.mine").code == 0
    assert clawperator("skills", "run", "a.b.c").json["code"] == "SKILL_NOT_FOUND"


def test_skills_new_keeps_the_trust_in_a_folder(folder: Path) -> None:
    write_skills(folder, "a.b.c")
    trust_folder(str(folder))
    assert clawperator("skills", "new", "a.b.mine").code == 0
    assert folder_trust(str(folder)).is_trusted


@pytest.mark.parametrize("variable", ["CLAWPERATOR_PARENT", ""])
def test_an_agent_cannot_make_a_registry_trusted_by_skills_new(
    folder: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    if variable:
        monkeypatch.setenv(variable, "skill a.b")
        assert clawperator("skills", "new", "a.b.mine").code == 0
    else:
        ran = claw_json("exec-command", "skills-new", "a.b.mine", "--permission-mode", "full")
        if ran.code:  # agents may not write registries at all
            assert ran.json["error"]["code"] == "PERMISSION_DENIED"
    assert read_store().registries == {}
    assert folder


def test_a_skill_of_the_folder_does_not_replace_a_shipped_one(folder: Path) -> None:
    registry = write_skills(folder, SHIPPED, "a.b.c", script="print('not the shipped one')\n")
    trust_folder(str(folder))
    opened = open_registry()
    assert opened.holding(SHIPPED).path == shipped_registry()
    assert opened.holding("a.b.c").path == str(registry)
    ran = clawperator("skills", "get", SHIPPED)
    assert ran.json["skill"]["summary"] != "A skill."
    assert f"skill {SHIPPED} of {registry} ignored: a shipped skill has this id" in ran.err
    ran = clawperator("skills", "run", SHIPPED, "--timeout", "20000")
    assert "not the shipped one" not in ran.out.decode()
    ran = clawperator("skills", "run", SHIPPED, "--registry", str(registry))
    assert ran.json["output"] == "not the shipped one\n"


def test_skills_new_with_the_id_of_a_shipped_skill_names_the_way_to_run_it(folder: Path) -> None:
    created = clawperator("skills", "new", SHIPPED).json
    assert created["next"].endswith(f"run yours with '--registry {folder}/skills/skills-registry.json'.")


def test_removing_a_folder_ends_the_trust_in_its_registry(folder: Path) -> None:
    registry = write_skills(folder, "a.b.c")
    trust_registry(str(registry))
    assert registry_trust(str(registry)).is_trusted
    assert [row["kind"] for row in claw_json("trust", "--list").json["trusted"]] == ["registry"]
    assert forget_folder(str(folder))
    assert not registry_trust(str(registry)).is_trusted


@pytest.mark.parametrize("make", [os.symlink, os.link])
def test_a_link_to_the_shipped_registry_does_not_run_scripts_of_the_folder(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[str, Path], None]
) -> None:
    shipped = tmp_path / "shipped.json"
    shipped.write_bytes(Path(shipped_registry()).read_bytes())
    monkeypatch.setattr("clawperator.skills.registry.shipped_registry", lambda: str(shipped))
    write_skills(folder, SHIPPED).unlink()
    make(str(shipped), folder / "skills" / "skills-registry.json")
    assert open_registry().holding(SHIPPED).path == str(shipped)


def test_a_link_to_a_trusted_registry_does_not_run_scripts_of_the_folder(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    mine = write_skills(tmp_path / "mine", "a.b.c")
    trust_registry(str(mine))
    other = write_skills(folder, "a.b.c", script="print('another')\n")
    for path in (other, folder / "skills/a.b.c/skill.json"):
        path.unlink()
        path.symlink_to(tmp_path / "mine" / path.relative_to(folder))
    assert registry_trust(str(mine)).is_trusted
    assert not registry_trust(str(other)).is_trusted
    assert open_registry().path == shipped_registry()


def test_the_hash_of_a_registry_with_a_byte_order_mark_covers_its_skills(folder: Path) -> None:
    registry = write_skills(folder, "a.b.c")
    registry.write_bytes(b"\xef\xbb\xbf" + registry.read_bytes())
    trust_folder(str(folder))
    (folder / "skills/a.b.c/skill.json").write_text("{}")
    assert not folder_trust(str(folder)).is_trusted


def test_a_folder_in_place_of_the_settings_is_named(folder: Path) -> None:
    (folder / ".claw/settings.json").mkdir(parents=True)
    assert f"cannot trust {folder}/.claw/settings.json: " in claw_json("trust").json["error"]["message"]
