"""Paths that an agent names: inside the working folder, and never a file that controls the agent."""

import json
import os
import threading
from pathlib import Path

import pytest

from clawperator._base.files import AtomicFile, open_regular
from clawperator.agent.confinement import Use, WorkingFolder, confine, confining, is_control_file
from clawperator.errors import ClawError
from tests.device.phone_servers import running_phone_server
from tests.skills.sample_skills import ID, write_skill
from tests.support.running import claw_json


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path / "product"))
    monkeypatch.setenv("CLAW_CONFIG_HOME", str(tmp_path / "config"))
    folder = tmp_path / "work"
    (folder / ".claw" / "sessions").mkdir(parents=True)
    (folder / ".claw" / "settings.json").write_text('{"permissions": {"deny": ["click"]}}')
    (tmp_path / "config").mkdir()
    (tmp_path / "product").mkdir()
    monkeypatch.chdir(folder)
    return folder


def refusal(path: str, use: Use = "write", folder: WorkingFolder | None = None) -> str:
    """The code of the error, or empty when the path may be used."""
    try:
        confine(folder or WorkingFolder(), path, "test", use)
    except ClawError as e:
        return e.code
    return ""


def both(path: str) -> tuple[str, str]:
    return refusal(path, "read"), refusal(path, "write")


DENIED = ("PERMISSION_DENIED", "PERMISSION_DENIED")
FREE = ("", "")


@pytest.mark.parametrize(
    "path",
    [
        *(".claw", ".claw/settings.json", ".claw/new.json", "./.claw/sessions/x.jsonl", "sub/../.claw/x"),
        *(
            ".CLAW/settings.json",
            ".Claw/x",
            "sub/.claw/x",
            ".\uff43law/x",
            ".cl\u200caw/x",
            ".claw//./settings.json",
        ),
        *("../work/.claw/x", "..", "../other", "/etc/passwd", "~/../../etc/passwd/../../../etc/shadow"),
    ],
)
def test_control_folders_and_the_outside_are_denied(work: Path, path: str) -> None:
    assert both(path) == DENIED
    assert work.is_dir()


@pytest.mark.parametrize(
    "path", ["a.json", "sub/dir/a.json", "claw/x", "x.claw", ".clawx/x", "~/x", "settings.json"]
)
def test_other_paths_in_the_folder_are_free(work: Path, path: str) -> None:
    assert both(path) == FREE
    assert confine(WorkingFolder(), path, "test", "write") == str(work / path)


@pytest.mark.parametrize("path", ["", " ", "a\0b", "x" * 5_000, "a/" * 3_000])
def test_a_text_that_is_not_a_path_is_refused(work: Path, path: str) -> None:
    assert refusal(path) == "TOOL_PAYLOAD_INVALID"
    assert work.is_dir()


def test_links_to_control_folders_and_to_the_outside_are_denied(work: Path, tmp_path: Path) -> None:
    (work / "to-claw").symlink_to(".claw")
    (work / "to-settings").symlink_to(".claw/settings.json")
    (work / "to-outside").symlink_to(tmp_path)
    (work / "to-missing").symlink_to(tmp_path / "missing")
    (work / "loop").symlink_to("loop")
    for path in ("to-claw/x", "to-settings", "to-outside/x", "to-outside/work/.claw/x", "to-missing"):
        assert both(path) == DENIED, path
    (work / "real").mkdir()
    (work / "to-inside").symlink_to("real")
    assert confine(WorkingFolder(), "to-inside/x", "test", "write") == str(work / "real" / "x")


def test_a_control_folder_that_is_itself_a_link_is_denied_by_its_target(work: Path) -> None:
    os.rename(work / ".claw", work / "hidden")
    (work / ".claw").symlink_to("hidden")
    for path in ("hidden/settings.json", "hidden", "hidden/new", ".claw/x"):
        assert both(path) == DENIED, path


def test_a_second_name_of_a_settings_file_is_denied(work: Path) -> None:
    os.link(work / ".claw" / "settings.json", work / "copy.json")
    assert both("copy.json") == DENIED


def test_the_users_configuration_and_the_product_home_are_denied(work: Path, tmp_path: Path) -> None:
    above = WorkingFolder(str(tmp_path))
    for path in ("config/settings.json", "config/x", "product/phones/claw-1/phone.json", "product"):
        assert refusal(path, "read", above) == refusal(path, "write", above) == "PERMISSION_DENIED"
    assert refusal("work/x", "write", above) == ""
    assert work.is_dir()


def test_sessions_are_denied_wherever_they_are(work: Path) -> None:
    claw_json("flush-transcript", "hello", "--session-id", "keep", "--directory", "mine")
    assert (work / "mine" / "keep.jsonl").exists()
    (work / "mine" / "keep.evidence").mkdir()
    # Known by the content of the file, also without --directory.
    assert both("mine/keep.jsonl") == DENIED
    assert both("mine/keep.evidence/x.json") == DENIED
    assert both("mine/other.txt") == FREE
    # With --directory mine the whole folder is that of sessions.
    assert refusal("mine/other.txt", "write", WorkingFolder(sessions="mine")) == "PERMISSION_DENIED"


def test_skills_can_be_read_and_not_written(work: Path) -> None:
    write_skill(work, "print(1)")
    for path in (
        *("skills/skills-registry.json", "skills/new.txt", f"skills/{ID}/scripts/run.py", f"skills/{ID}/new"),
        *("elsewhere/skills-registry.json", "Skill.JSON", "x.dist-info/entry_points.txt"),
    ):
        assert both(path) == ("", "PERMISSION_DENIED"), path


def test_a_named_registry_is_not_written(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (work / "mine.json").write_text("{}")
    monkeypatch.setenv("CLAWPERATOR_SKILLS_REGISTRY", "mine.json")
    assert both("mine.json") == ("", "PERMISSION_DENIED")
    assert both("other.json") == FREE


# Every tool that takes a path


def test_no_tool_touches_a_control_file(work: Path) -> None:
    (work / "x.ndjson").write_text("{}")
    before = (work / ".claw" / "settings.json").read_bytes()
    target = ".claw/settings.json"
    for name, params in (
        ("recording_export", {"input": "x.ndjson", "out": target}),
        ("recording_parse", {"input": "x.ndjson", "out": target}),
        ("recording_describe", {"input": target}),
        ("recording_compare", {"baseline": target, "result": target}),
        ("recording_replay", {"input": target}),
        ("recording_pull", {"folder": ".claw"}),
        ("take_screenshot", {"path": target}),
        ("run_execution", {"actions": [{"type": "screenshot", "params": {"path": target}}]}),
    ):
        error = claw_json("exec-tool", name, json.dumps(params)).json["error"]
        assert error["code"] == "PERMISSION_DENIED", name
    assert (work / ".claw" / "settings.json").read_bytes() == before


def test_events_are_not_written_to_control_files(work: Path) -> None:
    claw_json("flush-transcript", "hello", "--session-id", "keep")
    write_skill(work)
    os.link(work / ".claw" / "settings.json", work / "second.json")
    (work / "link").symlink_to(".claw/settings.json")
    for path in (
        *(".claw/settings.json", ".claw/settings.local.json", "link", "second.json", ".claw/sessions/keep.jsonl"),
        *("skills/skills-registry.json", f"skills/{ID}/skill.json", ".claw/other.json"),
    ):
        error = claw_json("bootstrap", "hello", "--events", path).json["error"]
        assert error["code"] == "EVENTS_WRITE_FAILED", path
    assert (work / ".claw" / "settings.json").read_text() == '{"permissions": {"deny": ["click"]}}'
    assert not is_control_file(WorkingFolder(), ".claw/events.ndjson")
    assert claw_json("bootstrap", "hello", "--events", "events.ndjson").code == 0


# Between the check and the write


def test_a_folder_that_becomes_a_link_after_the_check_is_not_written_through(work: Path, tmp_path: Path) -> None:
    (work / "out").mkdir()
    (tmp_path / "outside").mkdir()
    path = confine(WorkingFolder(), "out/x.json", "test", "write")
    os.rmdir(work / "out")
    (work / "out").symlink_to(tmp_path / "outside")
    with confining(WorkingFolder()), pytest.raises(OSError, match="leads through a link"):
        AtomicFile(path)
    assert os.listdir(tmp_path / "outside") == []


def test_a_folder_that_becomes_a_link_while_the_file_is_opened_is_not_written_through(
    work: Path, tmp_path: Path
) -> None:
    (work / "out").mkdir()
    (tmp_path / "outside").mkdir()
    with confining(WorkingFolder()):
        file = AtomicFile(str(work / "out" / "x.json"))
        os.rmdir(work / "out")
        (work / "out").symlink_to(work / ".claw")
        with pytest.raises(OSError, match="link"), file:
            pass
    assert sorted(os.listdir(work / ".claw")) == ["sessions", "settings.json"]


def test_a_file_that_becomes_a_link_is_not_read_through(work: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (work / "x").symlink_to(tmp_path / "secret")
    with confining(WorkingFolder()), pytest.raises(OSError, match="leads through a link"):
        open_regular(str(work / "x"))
    with open_regular(str(work / "x")) as file:  # a user may
        assert file.read() == b"secret"


def test_files_elsewhere_are_not_affected(work: Path, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with confining(WorkingFolder()), AtomicFile(str(tmp_path / "link" / "x")) as out:
        out.file.write(b"ours")
    assert (tmp_path / "real" / "x").read_bytes() == b"ours"
    assert work.is_dir()


def test_a_swapping_folder_never_leads_out(work: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (work / "out").mkdir()
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            os.rename(work / "out", work / "kept")
            os.symlink(tmp_path / "outside", work / "out")
            os.unlink(work / "out")
            os.rename(work / "kept", work / "out")

    swapper = threading.Thread(target=swap)
    swapper.start()
    written = 0
    try:
        for number in range(300):
            try:
                path = confine(WorkingFolder(), f"out/{number}", "test", "write")
                with confining(WorkingFolder()), AtomicFile(path) as out:
                    out.file.write(b"x")
                written += 1
            except (OSError, ClawError):
                continue
    finally:
        stop.set()
        swapper.join()
    left = [path for path in (tmp_path / "outside").iterdir() if path.stat().st_size]
    assert left == []
    assert len(list((work / "out").iterdir())) >= written


def test_a_command_does_not_read_through_links_that_it_finds_itself(work: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.ndjson").write_text('{"type":"recording_header"}')
    (work / "recordings").mkdir()
    (work / "recordings" / "x.ndjson").symlink_to(tmp_path / "outside.ndjson")
    by_command = claw_json("exec-command", "recording export", "--input recordings").json["error"]
    assert by_command["code"] == "PERMISSION_DENIED"
    by_tool = claw_json("exec-tool", "recording_export", '{"input": "recordings"}').json["error"]
    assert by_tool["code"] == "PERMISSION_DENIED"


def test_a_command_does_not_write_to_a_default_folder_that_leads_out(work: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (work / "recordings").symlink_to(tmp_path / "outside")
    with running_phone_server():
        claw_json("exec-tool", "start_recording", '{"sessionId": "demo"}')
        claw_json("exec-tool", "stop_recording", '{"sessionId": "demo"}')
        error = claw_json("exec-command", "recording pull", "--session-id demo").json["error"]
    assert error["code"] == "PERMISSION_DENIED"
    assert os.listdir(tmp_path / "outside") == []
