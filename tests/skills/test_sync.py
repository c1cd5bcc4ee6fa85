"""Installing and updating skills with git, from a local repository."""

import subprocess
from pathlib import Path

import pytest

from tests.skills.sample_skills import entry, write_registry
from tests.support.running import clawperator


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True, timeout=30)


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one skill, tagged v1."""
    folder = tmp_path / "published"
    write_registry(folder, entry("a.one"))
    git(folder, "init", "--quiet", "--initial-branch", "main")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "one")
    git(folder, "tag", "v1")
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CLAWPERATOR_SKILLS_REPO", str(folder))
    monkeypatch.chdir(tmp_path)
    return folder


def listed() -> list[str]:
    return [skill["id"] for skill in clawperator("skills", "list").json["skills"]]


def add_another(published: Path) -> None:
    write_registry(published, entry("a.one"), entry("a.two"))
    git(published, "commit", "--quiet", "-am", "two")


def test_installed_skills_are_used(published: Path, tmp_path: Path) -> None:
    document = clawperator("skills", "install").json
    path = str(tmp_path / "home" / "skills" / "skills" / "skills-registry.json")
    assert (document["synced"], document["registryPath"]) == (True, path)
    assert document["envInstruction"] == f'export CLAWPERATOR_SKILLS_REGISTRY="{path}"'
    assert listed() == ["a.one"]
    assert published.exists()


def test_update_fetches_new_commits_and_sync_checks_out_any_ref(published: Path) -> None:
    clawperator("skills", "install")
    add_another(published)
    assert clawperator("skills", "update").json["synced"]
    assert listed() == ["a.one", "a.two"]
    clawperator("skills", "sync", "--ref", "v1")
    assert listed() == ["a.one"]
    clawperator("skills", "update")
    assert listed() == ["a.one", "a.two"]


def test_update_clones_missing_skills(published: Path) -> None:
    add_another(published)
    assert clawperator("skills", "update", "--ref", "v1").code == 0
    assert listed() == ["a.one"]


def test_a_missing_origin_is_added_again(published: Path, tmp_path: Path) -> None:
    clawperator("skills", "install")
    git(tmp_path / "home" / "skills", "remote", "remove", "origin")
    add_another(published)
    assert clawperator("skills", "update").code == 0
    assert listed() == ["a.one", "a.two"]


def test_local_commits_are_not_overwritten(published: Path, tmp_path: Path) -> None:
    clawperator("skills", "install")
    mine = tmp_path / "home" / "skills"
    (mine / "mine").write_text("")
    git(mine, "add", ".")
    git(mine, "commit", "--quiet", "-m", "mine")
    add_another(published)
    assert clawperator("skills", "update").json["code"] == "SKILLS_SYNC_FAILED"
    assert (mine / "mine").exists()


@pytest.mark.parametrize("ref", ["nowhere", "v9"])
def test_an_unknown_ref_fails(published: Path, ref: str) -> None:
    assert published.exists()
    ran = clawperator("skills", "sync", "--ref", ref)
    assert (ran.code, ran.json["code"]) == (1, "SKILLS_SYNC_FAILED")


@pytest.mark.parametrize("ref", ["--upload-pack=x", "a b", "a..b", ""])
def test_an_invalid_ref_never_reaches_git(published: Path, ref: str) -> None:
    assert published.exists()
    assert clawperator("skills", "sync", f"--ref={ref}").json["code"] == "USAGE"


def test_a_repository_without_a_registry_fails(published: Path) -> None:
    git(published, "rm", "--quiet", "-r", "skills")
    git(published, "commit", "--quiet", "-m", "gone")
    assert clawperator("skills", "install").json["code"] == "SKILLS_SYNC_FAILED"


def test_without_git_nothing_is_fetched(published: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(published))
    assert clawperator("skills", "install").json["code"] == "SKILLS_GIT_NOT_FOUND"
