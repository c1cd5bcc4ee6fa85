"""The script of a skill that is made from a recording: it repeats the steps, on a fresh phone and again."""

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

from clawperator.api.phone import ConnectedPhone, connect
from clawperator.recording.export import export_recording
from tests.device.phone_servers import running_phone_server
from tests.recording.samples import click, typed, window, write
from tests.skills.demonstrations import tap
from tests.support.running import Ran, clawperator

NOTES = "com.clawperator.notes"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path / "product"))


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
