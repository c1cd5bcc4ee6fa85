"""Registries: lookup order, validation and search."""

import json
from pathlib import Path
from typing import Any

import pytest

from clawperator._base.trust import trust_folder
from clawperator.errors import ClawError
from clawperator.skills.registry import (
    SkillRegistry,
    open_registry,
    parse_entry,
    read_registry,
    search_skills,
    shipped_registry,
)
from tests.skills.sample_skills import ID, entry, write_registry
from tests.support.running import clawperator


def test_the_nearest_registry_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    assert open_registry().path == shipped_registry()
    installed = write_registry(tmp_path / "home" / "skills")
    assert open_registry().path == str(installed)
    local = write_registry(tmp_path)
    trust_folder(str(tmp_path))
    assert open_registry().path == str(local)
    (tmp_path / "named.json").write_bytes(local.read_bytes())
    monkeypatch.setenv("CLAWPERATOR_SKILLS_REGISTRY", "named.json")
    assert open_registry().path == str(tmp_path / "named.json")
    assert open_registry(str(local)).path == str(local)
    assert open_registry("shipped").path == shipped_registry()


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "{}", '{"skills":{}}', '{"skills":[1]}', "\xff"],
    ids=["empty", "cut", "list", "no skills", "an object", "not an object", "not UTF-8"],
)
def test_an_invalid_registry_is_rejected(tmp_path: Path, text: str) -> None:
    (tmp_path / "r.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(ClawError) as caught:
        read_registry(str(tmp_path / "r.json"))
    assert caught.value.code == "REGISTRY_READ_FAILED"


def test_a_missing_configured_registry_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAWPERATOR_SKILLS_REGISTRY", str(tmp_path / "none.json"))
    ran = clawperator("skills", "list")
    assert (ran.code, ran.json["code"]) == (1, "REGISTRY_READ_FAILED")
    monkeypatch.setenv("CLAWPERATOR_SKILLS_REGISTRY", " ")
    assert clawperator("skills", "list").json["code"] == "REGISTRY_READ_FAILED"


def test_list_and_get_show_entries_as_they_are_written(tmp_path: Path) -> None:
    path = str(write_registry(tmp_path, entry(unknown=1), entry("a.b")))
    assert clawperator("skills", "list", "--registry", path).json == {
        "skills": [entry(unknown=1), entry("a.b")],
        "count": 2,
    }
    assert clawperator("skills", "get", "a.b", "--registry", path).json == {"skill": entry("a.b")}
    assert clawperator("skills", "get", "--skill-id", "a.b", "--registry", path).code == 0


def test_an_unknown_skill_is_reported_with_a_suggestion(tmp_path: Path) -> None:
    path = str(write_registry(tmp_path, entry()))
    ran = clawperator("skills", "get", "com.example.app.great", "--registry", path)
    assert (ran.code, ran.json["code"]) == (1, "SKILL_NOT_FOUND")
    assert ID in ran.json["message"]


@pytest.mark.parametrize(
    "verb", ["get", "run", "new", "validate", "compile-artifact", "for-app", "search", "sync"]
)
def test_a_command_without_its_argument_is_a_usage_error(verb: str) -> None:
    ran = clawperator("skills", verb)
    assert (ran.code, ran.json["code"]) == (1, "USAGE")
    assert ran.json["hint"] == f"Run 'clawperator skills {verb} --help'."


@pytest.mark.parametrize("path", ["../out", "/etc/passwd", "skills/../../out", "a\0b"])
def test_a_path_that_leaves_the_registry_is_rejected(tmp_path: Path, path: str) -> None:
    registry = SkillRegistry(str(tmp_path / "skills" / "skills-registry.json"), [])
    with pytest.raises(ClawError) as caught:
        registry.file(path)
    assert caught.value.code == "SKILL_VALIDATION_FAILED"


def test_a_symlink_that_leaves_the_registry_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "link").symlink_to(tmp_path)
    registry = SkillRegistry(str(tmp_path / "root" / "skills" / "r.json"), [])
    with pytest.raises(ClawError):
        registry.file("link/secret")


def test_missing_fields_of_an_entry_are_listed() -> None:
    with pytest.raises(ClawError) as caught:
        parse_entry({"id": "a.b", "scripts": [], "artifacts": []})
    assert caught.value.details == {
        "missingFields": ["applicationId", "intent", "summary", "path", "skillFile"],
    }


def test_the_best_match_comes_first() -> None:
    def named(skill_id: str, summary: str = "", *keywords: str) -> dict[str, Any]:
        return entry(skill_id, summary=summary, keywords=list(keywords))

    worst_to_best = [
        named("z.z", "about a battery"),
        named("a.batterypack"),
        named("a.c", "", "mybattery"),
        named("a.battery"),
        named("battery"),
        named("a.e", "", "home battery"),
        named("a.f", "", "Battery"),
    ]
    found = search_skills(worst_to_best, keyword="battery")
    assert found == worst_to_best[::-1]
    assert search_skills(worst_to_best, keyword="nothing") == []


def test_search_filters_by_app_and_intent(tmp_path: Path) -> None:
    path = str(write_registry(tmp_path, entry("a.b.one"), entry("a.b.two"), entry("c.d.one")))

    def ids(*argv: str) -> list[str]:
        return [skill["id"] for skill in clawperator("skills", *argv, "--registry", path).json["skills"]]

    assert ids("search", "--app", "a.b") == ids("for-app", "a.b") == ["a.b.one", "a.b.two"]
    assert ids("search", "--intent", "one") == ["a.b.one", "c.d.one"]
    assert ids("search", "TWO") == ids("search", "--keyword", "two", "--app", "a.b") == ["a.b.two"]
    assert clawperator("skills", "search", "--registry", path).code == 1


def test_what_is_printed_is_what_is_in_the_file(tmp_path: Path) -> None:
    path = write_registry(tmp_path, entry())
    assert read_registry(str(path)).entries == json.loads(path.read_text())["skills"]
