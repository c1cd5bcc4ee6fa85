"""Validation of skills against their registry."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.skills.sample_skills import ID, entry, write_registry, write_skill
from tests.skills.test_artifacts import PLAN
from tests.support.running import Ran, clawperator


def validate(registry: Path, *argv: str) -> Ran:
    return clawperator("skills", "validate", *(argv or (ID,)), "--registry", str(registry))


def change_skill_json(root: Path, **changes: Any) -> None:
    """Change the skill.json; None removes a field."""
    path = root / "skills" / ID / "skill.json"
    document = {**json.loads(path.read_text()), **changes}
    path.write_text(json.dumps({name: value for name, value in document.items() if value is not None}))


def test_a_valid_skill_lists_the_checked_files(tmp_path: Path) -> None:
    ran = validate(write_skill(tmp_path))
    folder = tmp_path / "skills" / ID
    assert ran.json == {
        "valid": True,
        "skill": entry(),
        "registryPath": str(tmp_path / "skills" / "skills-registry.json"),
        "checks": {
            "skillJsonPath": str(folder / "skill.json"),
            "skillFilePath": str(folder / "SKILL.md"),
            "scriptPaths": [str(folder / "scripts" / "run.py")],
            "artifactPaths": [],
        },
    }


def test_a_dry_run_without_artifacts_is_skipped(tmp_path: Path) -> None:
    dry = validate(write_skill(tmp_path), ID, "--dry-run").json["dryRun"]
    assert dry == {"payloadValidation": "skipped", "reason": "the skill has no artifacts"}


def test_missing_files_are_listed(tmp_path: Path) -> None:
    registry = write_skill(tmp_path)
    script = tmp_path / "skills" / ID / "scripts" / "run.py"
    script.unlink()
    ran = validate(registry)
    assert (ran.code, ran.json["code"]) == (1, "SKILL_VALIDATION_FAILED")
    assert ran.json["details"] == {"missingFiles": [str(script)]}


@pytest.mark.parametrize(
    ("changes", "details"),
    [
        ({"summary": "Other", "intent": "other"}, {"mismatchFields": ["intent", "summary"]}),
        ({"summary": None}, {"missingFields": ["summary"]}),
        ({"contract": {"inputs": {"a": "number"}}}, None),
        ({"contract": {"goal": {}}}, None),
        ({"contract": {"verification": {"kind": "node_text_matches", "matcher": "{who}"}}}, None),
        ({"agent": {"cli": "a", "timeoutMs": 0}}, None),
    ],
)
def test_an_inconsistent_skill_json_is_rejected(tmp_path: Path, changes: Any, details: Any) -> None:
    registry = write_skill(tmp_path)
    change_skill_json(tmp_path, **changes)
    ran = validate(registry)
    assert ran.json["code"] == "SKILL_VALIDATION_FAILED"
    assert details is None or ran.json["details"] == details


def test_an_agent_in_skill_json_need_not_be_in_the_registry(tmp_path: Path) -> None:
    registry = write_skill(tmp_path)
    change_skill_json(tmp_path, agent={"cli": "a"}, contract={"inputs": {"a": "integer[1,2]"}})
    assert validate(registry).code == 0


def test_a_dry_run_validates_artifacts_with_their_placeholders(tmp_path: Path) -> None:
    relative = f"skills/{ID}/artifacts/press.recipe.json"
    registry = write_skill(tmp_path, artifacts=[relative])
    (tmp_path / relative).parent.mkdir()
    (tmp_path / relative).write_text(json.dumps(PLAN))
    assert validate(registry, ID, "--dry-run").json["dryRun"] == {"payloadValidation": "passed"}
    broken = json.loads(json.dumps(PLAN).replace('"matcher"', '"macher"'))
    (tmp_path / relative).write_text(json.dumps(broken))
    assert validate(registry).code == 0
    ran = validate(registry, ID, "--dry-run")
    details = ran.json["details"]
    assert (details["artifact"], details["path"]) == ("press.recipe.json", str(tmp_path / relative))
    assert details["actionId"] == "a"
    assert details["invalidKeys"] == ["macher"]


def test_all_skills_are_checked_and_all_failures_are_listed(tmp_path: Path) -> None:
    registry = write_skill(tmp_path)
    ran = validate(registry, "--all")
    assert (ran.json["totalSkills"], ran.json["validSkills"][0]["skill"]["id"]) == (1, ID)
    write_registry(tmp_path, entry(), entry(), entry("a.b"), {"id": "c.d"})
    ran = validate(registry, "--all")
    details = ran.json["details"]
    assert (details["totalSkills"], details["validCount"], details["invalidCount"]) == (4, 1, 3)
    assert [failure["skillId"] for failure in details["failures"]] == [ID, "a.b", "c.d"]


def test_an_id_and_all_are_mutually_exclusive(tmp_path: Path) -> None:
    ran = validate(write_skill(tmp_path), ID, "--all")
    assert (ran.code, ran.json["code"]) == (1, "USAGE")
