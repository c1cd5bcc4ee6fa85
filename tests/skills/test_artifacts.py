"""Artifacts: placeholders, stable ids and validation errors."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from clawperator.skills.validation import fingerprint
from tests.skills.sample_skills import ID, write_skill
from tests.support.running import Ran, clawperator

PLAN = {
    "commandId": "{{COMMAND_ID}}",
    "taskId": "{{TASK_ID}}",
    "source": "test",
    "expectedFormat": "android-ui-automator",
    "timeoutMs": 30000,
    "actions": [{"id": "a", "type": "click", "params": {"matcher": {"textEquals": "{{LABEL}}"}}}],
}


def make(root: Path, text: str | None = None) -> str:
    relative = f"skills/{ID}/artifacts/press.recipe.json"
    registry = write_skill(root, artifacts=[relative])
    (root / relative).parent.mkdir()
    (root / relative).write_text(json.dumps(PLAN) if text is None else text)
    return str(registry)


def compile_(registry: str, variables: Any = None, artifact: str = "press", skill_id: str = ID) -> Ran:
    more = (
        [] if variables is None else ["--vars", variables if isinstance(variables, str) else json.dumps(variables)]
    )
    argv = ("compile-artifact", skill_id, "--artifact", artifact, "--registry", registry)
    return clawperator("skills", *argv, *more)


def test_placeholders_are_replaced_by_values(tmp_path: Path) -> None:
    registry = make(tmp_path)
    expected = f'{{"skillId":"{ID}","artifactName":"press","vars":{{"LABEL":"a \\"b\\" é"}}}}'
    mark = hashlib.sha256(expected.encode()).hexdigest()[:12]
    for name in ("press", "press.recipe.json"):
        execution = compile_(registry, {"LABEL": 'a "b" é'}, name).json["execution"]
        assert execution["mode"] == "artifact_compiled"
        assert (execution["commandId"], execution["taskId"]) == (f"cmd-{mark}", f"task-{mark}")
        assert execution["actions"][0]["params"]["matcher"] == {"textEquals": 'a "b" é'}


def test_values_are_converted_to_text_and_ids_can_be_given(tmp_path: Path) -> None:
    registry = make(tmp_path)
    execution = compile_(registry, {"LABEL": 5, "COMMAND_ID": "mine"}).json["execution"]
    assert execution["commandId"] == "mine"
    assert execution["taskId"].startswith("task-")
    assert execution["actions"][0]["params"]["matcher"] == {"textEquals": "5"}


def test_the_order_of_variables_does_not_matter() -> None:
    assert fingerprint("s", "a", {"b": "1", "a": "2"}) == fingerprint("s", "a", {"a": "2", "b": "1"})
    # As a JavaScript object lists them: whole numbers first, by size.
    expected = b'{"skillId":"s","artifactName":"a","vars":{"2":"","10":"","01":"","B":"","a":""}}'
    made = fingerprint("s", "a", dict.fromkeys(["a", "B", "10", "2", "01"], ""))
    assert made == hashlib.sha256(expected).hexdigest()[:12]


@pytest.mark.parametrize(
    ("variables", "code"),
    [
        (None, "COMPILE_VAR_MISSING"),
        ({"LABEL": ""}, "COMPILE_VAR_MISSING"),
        ("[]", "COMPILE_VARS_PARSE_FAILED"),
        ("{", "COMPILE_VARS_PARSE_FAILED"),
        ({"LABEL": "x" * 5000}, "COMPILE_VALIDATION_FAILED"),
    ],
)
def test_invalid_variables_are_rejected(tmp_path: Path, variables: Any, code: str) -> None:
    ran = compile_(make(tmp_path), variables)
    assert (ran.code, ran.json["code"]) == (1, code)
    if code == "COMPILE_VAR_MISSING":
        assert ran.json["details"] == {"placeholder": "LABEL"}


def test_a_missing_artifact_skill_or_file_is_reported(tmp_path: Path) -> None:
    registry = make(tmp_path)
    assert compile_(registry, artifact="other").json["code"] == "ARTIFACT_NOT_FOUND"
    assert compile_(registry, skill_id="a.b").json["code"] == "SKILL_NOT_FOUND"
    (tmp_path / f"skills/{ID}/artifacts/press.recipe.json").unlink()
    assert compile_(registry).json["code"] == "REGISTRY_READ_FAILED"


def test_an_invalid_artifact_is_reported_with_the_reason(tmp_path: Path) -> None:
    broken = json.dumps(PLAN).replace("click", "clik")
    ran = compile_(make(tmp_path, broken), {"LABEL": "a"})
    assert ran.json["code"] == "COMPILE_VALIDATION_FAILED"
    assert "clik" in ran.json["message"]
    assert ran.json["details"]["artifact"] == "press"
