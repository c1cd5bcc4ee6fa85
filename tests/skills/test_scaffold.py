"""New skills: from scratch and from a recording."""

import ast
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.api.phone import ConnectedPhone, connect
from clawperator.recording.export import export_recording, read_export
from clawperator.skills.scaffold import quote_literal, recorded_steps
from tests.device.phone_servers import running_phone_server
from tests.recording.samples import click, typed, window, write
from tests.skills.demonstrations import tap
from tests.skills.sample_skills import entry, write_registry
from tests.support.paths import REPOSITORY
from tests.support.running import Ran, clawperator

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
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path / "product"))


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


# The script of a recorded skill

NOTES = "com.clawperator.notes"


def add_note(phone: ConnectedPhone) -> None:
    tap(phone, "Notes")
    tap(phone, desc="Add note")
    tap(phone, id=f"{NOTES}:id/note_title")
    phone.shell("input", "text", "Milk")
    phone.shell("input", "keyevent", "BACK")
    tap(phone, "Save")
    phone.wait("Milk")


def sign_in(phone: ConnectedPhone) -> None:
    tap(phone, "Notes")
    tap(phone, desc="Account")
    tap(phone, id=f"{NOTES}:id/email")
    phone.shell("input", "text", "ada@example.com")
    tap(phone, id=f"{NOTES}:id/password")
    phone.shell("input", "text", "analytical1")
    phone.shell("input", "keyevent", "BACK")
    tap(phone, "Sign in", role="button")
    phone.wait(text_contains="Welcome")


def scroll_to_about(phone: ConnectedPhone) -> None:
    tap(phone, "Settings")
    phone.wait("Network & internet")
    phone.shell("input", "swipe", "540", "1800", "540", "600")
    tap(phone, "About phone")
    phone.wait("Android version")


def recorded(demonstrate: Callable[[ConnectedPhone], None], skill_id: str) -> str:
    """Record a demonstration on a phone and make a skill of it; its script."""
    with running_phone_server():
        phone = connect()
        phone.start_recording("demo")
        phone.home()
        demonstrate(phone)
        phone.stop_recording("demo")
        phone.pull_recording("demo", ".")
    export_recording("demo.ndjson", snapshots="include")
    made = clawperator("skills", "new", skill_id, "--recording-context", "demo.export.json")
    assert made.code == 0, made.out
    assert clawperator("skills", "validate", skill_id, "--dry-run").code == 0
    return Path("skills", skill_id, "scripts", "run.py").read_text()


def run_twice(skill_id: str) -> tuple[Ran, Ran]:
    with running_phone_server("fresh"):
        return clawperator("skills", "run", skill_id), clawperator("skills", "run", skill_id)


@pytest.mark.parametrize(
    ("demonstrate", "intent", "calls"),
    [
        (
            add_note,
            f"{NOTES}.add",
            [
                "phone.close_app(APP)",
                "phone.open_app(APP)",
                'phone.click(text="Add note", id="com.clawperator.notes:id/fab_add")',
                'NOTE_TITLE = "Milk"',
                'phone.enter_text(NOTE_TITLE, id="com.clawperator.notes:id/note_title", clear=True)',
            ],
        ),
        (scroll_to_about, "com.android.settings.about", ["phone.scroll_and_click(", 'text="About phone"']),
    ],
)
def test_the_script_repeats_the_recording_on_a_fresh_phone_and_again(
    demonstrate: Callable[[ConnectedPhone], None], intent: str, calls: list[str]
) -> None:
    script = recorded(demonstrate, intent)
    for call in calls:
        assert call in script, script
    for ran in run_twice(intent):
        assert ran.code == 0, f"{ran.out.decode()}\n{script}"
        assert ran.json["skillResult"]["status"] == "success"


def test_a_password_comes_from_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    script = recorded(sign_in, f"{NOTES}.sign-in")
    assert "analytical1" not in script
    assert 'PASSWORD = os.environ["PASSWORD"]' in script
    assert "--pass-env PASSWORD" in script
    assert 'EMAIL = "ada@example.com"' in script
    monkeypatch.setenv("PASSWORD", "analytical1")
    with running_phone_server("fresh"):
        ran = clawperator("skills", "run", f"{NOTES}.sign-in", "--pass-env", "PASSWORD")
        assert ran.code == 0, f"{ran.out.decode()}\n{script}"
        assert connect().wait(text_contains="Welcome").label == "Welcome, ada"
    assert b"analytical1" not in ran.out


def test_texts_of_apps_cannot_leave_their_comment_or_literal() -> None:
    events = [window(0), click(1, 'Evil"\n\u2028import os #', resourceId=None), typed(2, '"; raise SystemExit')]
    export_recording(str(write(Path("a.ndjson"), events)), snapshots="include")
    assert clawperator("skills", "new", "a.b", "--recording-context", "a.export.json").code == 0
    tree = ast.parse(Path("skills/a.b/scripts/run.py").read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert len(imports) == 2
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Raise)]


def test_an_element_without_a_selector_is_named_in_a_comment() -> None:
    events = [window(0), click(1, None, resourceId=None), click(2, "Save")]
    export_recording(str(write(Path("a.ndjson"), events)), snapshots="include")
    assert clawperator("skills", "new", "a.b", "--recording-context", "a.export.json").code == 0
    assert "# Add a selector" in Path("skills/a.b/scripts/run.py").read_text()


def test_a_wheel_has_the_files_of_a_new_skill(tmp_path: Path) -> None:
    """The build backend packs the folder of the package: the templates are in it."""
    templates = REPOSITORY / "src/clawperator/skills/templates"
    with ZipFile(tmp_path / "package.zip", "w") as archive:
        for path in (*(REPOSITORY / "src/clawperator").rglob("*.py"), *templates.iterdir()):
            archive.write(path, path.relative_to(REPOSITORY / "src"))
    code = (
        "from clawperator.skills.scaffold import *; print(*render_files(SkillTemplate('a.b', 'a', 'b', ''), {}))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(tmp_path / "package.zip"), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ran.stdout == "SKILL.md skill.json scripts/run.py scripts/run.sh\n", ran.stderr
