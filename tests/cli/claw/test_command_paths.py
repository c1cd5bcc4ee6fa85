"""Commands in claw that choose their output path themselves: the same folders are closed to them."""

import json
from pathlib import Path

import pytest

from clawperator.api.phone import connect
from clawperator.errors import ClawError
from tests.device.phone_servers import running_phone_server
from tests.support.running import claw_json, clawperator

HEADER = {
    "type": "recording_header",
    "schemaVersion": 1,
    "sessionId": "demo",
    "startedAt": 1,
    "operatorPackage": "a.b",
}
OUTPUTS = {"export": "demo.export.json", "parse": "demo.steps.json", "repair": "demo.repaired.ndjson"}
SETTINGS = '{"permissions": {"deny": ["press_key"]}}'


@pytest.fixture
def recording(folder: Path) -> Path:
    path = folder / "demo.ndjson"
    path.write_text(json.dumps(HEADER) + "\n")
    return path


@pytest.mark.parametrize("command", OUTPUTS)
def test_a_default_output_that_is_a_link_to_the_settings_is_refused(recording: Path, command: str) -> None:
    settings = recording.parent / ".claw/settings.json"
    settings.parent.mkdir()
    settings.write_text(SETTINGS)
    (recording.parent / OUTPUTS[command]).symlink_to(settings)
    ran = claw_json("exec-command", f"recording-{command}", "--input demo.ndjson")
    assert (ran.code, ran.json["error"]["code"]) == (1, "PERMISSION_DENIED")
    assert settings.read_text() == SETTINGS


@pytest.mark.parametrize("command", OUTPUTS)
@pytest.mark.usefixtures("recording")
def test_a_default_output_in_the_folder_is_written(folder: Path, command: str) -> None:
    assert claw_json("exec-command", f"recording-{command}", "--input demo.ndjson").code == 0
    assert (folder / OUTPUTS[command]).is_file()


@pytest.mark.parametrize(
    ("command", "source"), [*((command, "skills/demo.ndjson") for command in OUTPUTS), ("export", "skills")]
)
def test_a_default_output_in_a_folder_of_skills_is_refused(recording: Path, command: str, source: str) -> None:
    skills = recording.parent / "skills"
    skills.mkdir()
    (skills / "skills-registry.json").write_text("{}")
    recording.rename(skills / recording.name)
    error = claw_json("exec-command", f"recording-{command}", f"--input {source}").json["error"]
    assert error["code"] == "PERMISSION_DENIED"
    assert not (skills / OUTPUTS[command]).exists()


def test_a_report_is_written_beside_its_input(recording: Path) -> None:
    assert claw_json("exec-command", "report", "demo.ndjson").code == 0
    assert recording.with_name("demo.ndjson.report.html").is_file()


@pytest.mark.parametrize("path", ["skills/demo.ndjson", "../outside.ndjson", ".claw/demo.ndjson"])
def test_a_report_of_a_protected_or_foreign_file_is_refused(recording: Path, path: str) -> None:
    source = (recording.parent / path).resolve()
    source.parent.mkdir(exist_ok=True)
    source.write_bytes(recording.read_bytes())
    (recording.parent / "skills").mkdir(exist_ok=True)
    (recording.parent / "skills" / "skills-registry.json").write_text("{}")
    error = claw_json("exec-command", "report", path).json["error"]
    assert error["code"] == "PERMISSION_DENIED"
    assert list(source.parent.glob("*.html")) == []


def test_a_report_of_the_working_folder_is_not_written_beside_it(folder: Path) -> None:
    (folder / "manifest.json").write_text("{}")
    error = claw_json("exec-command", "report", ".").json["error"]
    assert error["code"] == "PERMISSION_DENIED"
    assert not folder.with_name(f"{folder.name}.report.html").exists()


def test_a_report_through_a_link_to_the_settings_is_refused(recording: Path) -> None:
    settings = recording.parent / ".claw/settings.json"
    settings.parent.mkdir()
    settings.write_text(SETTINGS)
    recording.with_name("demo.ndjson.report.html").symlink_to(settings)
    assert claw_json("exec-command", "report", "demo.ndjson").code == 1
    assert settings.read_text() == SETTINGS


def test_a_pulled_recording_does_not_go_through_a_link_inside_the_folder(folder: Path) -> None:
    sessions = folder / ".claw/sessions"
    sessions.mkdir(parents=True)
    (folder / "recordings").symlink_to(sessions)
    with running_phone_server():
        assert clawperator("recording", "start", "--session-id", "demo").code == 0
        assert clawperator("recording", "stop").code == 0
        assert claw_json("exec-command", "recording-pull", "--session-id demo").code == 1
    assert list(sessions.iterdir()) == []


def test_the_python_api_pulls_no_recording_that_the_inherited_policy_denies(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAWPERATOR_POLICY", '{"mode":"read-only"}')
    with running_phone_server(), pytest.raises(ClawError) as caught:
        connect().pull_recording("demo", folder)
    assert caught.value.code == "PERMISSION_DENIED"


def test_a_denial_by_an_inherited_mode_names_the_command_that_set_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAWPERATOR_POLICY", '{"mode":"read-only"}')
    answer = clawperator("phone", "reset", "demo").json
    assert (answer["code"], "--permission-mode" in answer["hint"]) == ("PERMISSION_DENIED", False)
