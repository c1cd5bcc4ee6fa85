"""New skills: from scratch and from a recording."""

import ast
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.recording.export import export_recording, read_export
from clawperator.skills.templates import quote_literal, recorded_steps
from tests.device.phone_servers import running_phone_server
from tests.recording.samples import click, typed, window, write
from tests.skills.sample_skills import entry, write_registry
from tests.support.running import clawperator

NEW = "com.example.app.greet"
SCREEN = (
    "<hierarchy rotation='0'><node class='a' bounds='[0,0][100,100]'>"
    "<node text='Save' resource-id='x:id/ok' class='android.widget.Button' bounds='[0,0][50,50]'/>"
    "<node text='Save' resource-id='x:id/no' class='android.widget.Button' bounds='[0,50][50,90]'/>"
    "</node></hierarchy>"
)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_new_skill_is_valid_and_registered_in_order(tmp_path: Path) -> None:
    write_registry(tmp_path, entry("z.z"), entry("b.b"))
    document = clawperator("skills", "new", NEW, "--summary", 'Says "hi".').json
    folder = tmp_path / "skills" / NEW
    names = ("SKILL.md", "skill.json", "scripts/run.py", "scripts/run.sh")
    assert (document["created"], document["skillId"], document["skillPath"]) == (True, NEW, str(folder))
    assert document["files"] == [str(folder / name) for name in names]
    text = (tmp_path / "skills" / "skills-registry.json").read_text()
    assert text.endswith("}\n")
    assert text.startswith('{\n  "')
    assert [skill["id"] for skill in json.loads(text)["skills"]] == ["b.b", NEW, "z.z"]
    assert (folder / "scripts" / "run.sh").stat().st_mode & 0o777 == 0o755
    assert clawperator("skills", "validate", NEW, "--dry-run").code == 0
    assert 'description: "Says \\"hi\\"."' in (folder / "SKILL.md").read_text()


def test_the_first_registry_is_created(tmp_path: Path) -> None:
    document = clawperator("skills", "new", NEW).json
    assert document["registryPath"] == str(tmp_path / "skills" / "skills-registry.json")
    skill = clawperator("skills", "get", NEW).json["skill"]
    assert (skill["applicationId"], skill["intent"]) == ("com.example.app", "greet")
    assert skill["summary"].startswith("TODO")


@pytest.mark.parametrize(
    "skill_id", ["greet", ".greet", "greet.", "a..b", "../a.b", "a/b.c", "a b.c", "a" * 300 + ".b"]
)
def test_an_invalid_id_is_rejected(skill_id: str) -> None:
    assert clawperator("skills", "new", skill_id).json["code"] == "SKILL_ID_INVALID"


def test_an_existing_skill_is_not_overwritten(tmp_path: Path) -> None:
    assert clawperator("skills", "new", NEW).code == 0
    assert clawperator("skills", "new", NEW).json["code"] == "SKILL_ALREADY_EXISTS"
    (tmp_path / "skills" / "a.b").mkdir()
    assert clawperator("skills", "new", "a.b").json["code"] == "SKILL_ALREADY_EXISTS"


def test_an_unwritable_registry_fails(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ran = clawperator("skills", "new", NEW, "--registry", "file/skills/skills-registry.json")
    assert (ran.code, ran.json["code"]) == (1, "SKILLS_SCAFFOLD_FAILED")


def test_a_new_skill_runs_and_is_indeterminate(tmp_path: Path) -> None:
    clawperator("skills", "new", "com.android.settings.look")
    with running_phone_server():
        document = clawperator("skills", "run", "com.android.settings.look").json
    assert document["code"] == "SKILL_EXECUTION_FAILED"
    assert document["skillResult"]["status"] == "indeterminate"
    assert document["skillResult"]["checkpoints"][0]["status"] == "ok"
    assert tmp_path.exists()


def test_a_recording_becomes_evidence(tmp_path: Path) -> None:
    events = [
        window(0),
        click(1, "Ev`il\u202e\nname", resourceId=None),
        click(2, "Save", resourceId="x:id/ok", snapshot=SCREEN),
        typed(3, "hello"),
    ]
    export_recording(str(write(tmp_path / "a.ndjson", events)), snapshots="include")
    ran = clawperator("skills", "new", NEW, "--recording-context", "a.export.json")
    assert ran.code == 0
    page = (tmp_path / "skills" / NEW / "SKILL.md").read_text()
    assert "## Evidence" in page
    assert '`text="Save", id="x:id/ok"`: its resource id and its label; found 1 on the recorded screen' in page
    assert "Ev\\x60il\\u202e\\nname" in page
    assert "\u202e" not in page
    script = (tmp_path / "skills" / NEW / "scripts" / "run.py").read_text()
    compile(script, "run.py", "exec")
    assert '"opened:com.android.settings"' in script
    assert clawperator("skills", "validate", NEW).code == 0


def test_selectors_that_find_one_node_come_first(tmp_path: Path) -> None:
    events = [window(0), click(1, "Save", resourceId="x:id/ok", snapshot=SCREEN)]
    export_recording(str(write(tmp_path / "a.ndjson", events)), snapshots="include")
    *_, step = recorded_steps(read_export((tmp_path / "a.export.json").read_bytes()))
    suggestions = [(offer.reason, offer.matches) for offer in step.suggestions]
    assert suggestions == [("its resource id and its label", 1), ("its resource id alone", 1), ("its label", 2)]


@pytest.mark.parametrize("text", ["", "{}", "no"])
def test_an_invalid_recording_is_rejected(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text)
    ran = clawperator("skills", "new", NEW, "--recording-context", "a.json")
    assert (ran.code, ran.json["code"]) == (1, "SKILLS_SCAFFOLD_FAILED")
    assert not (tmp_path / "skills").exists()


@pytest.mark.random
@given(st.text())
def test_any_text_can_be_quoted(text: str) -> None:
    word = quote_literal(text)
    assert ast.literal_eval(word) == text
    assert "`" not in word
    assert "\n" not in word
