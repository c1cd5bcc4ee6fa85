"""Declared secrets in recordings are masked in everything that is made of them, and in everything an agent sees."""

from pathlib import Path
from typing import Any

import pytest

from clawperator.recording.events import Event
from clawperator.recording.masking import PasswordMasker
from clawperator.recording.reader import Recording
from tests.recording.samples import typed, write
from tests.recording.test_masking import APP, node, screen, tap
from tests.support.running import claw_json, clawperator
from tests.support.secret_search import find_secret

SECRET = "hunter2&blue"
FILLED = screen(node("hunter2&amp;blue", "search", focused=True), node("9173", "pin"))
FLOW = [tap(0, "search", FILLED, SECRET), typed(1, SECRET, APP), tap(2, "pin", FILLED, f"Clear {SECRET}")]
COMMANDS = (
    ("parse", "--input"),
    ("export", "--input"),
    ("export", "--snapshots", "include", "--out", "whole.export.json", "--input"),
    ("describe", "--out", "description.json", "--input"),
    ("replay", "--dry-run", "--input"),
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "work" / "recordings").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


@pytest.fixture
def recording(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(folder.parent / "home"))
    monkeypatch.setenv("SHOP_PASSWORD", SECRET)
    write(folder / "recordings" / "leak.ndjson", FLOW)
    return "recordings/leak.ndjson"


def declare(folder: Path) -> None:
    home = folder.parent / "home"
    home.mkdir(exist_ok=True)
    (home / "clawperator.toml").write_text('secrets = ["SHOP_PASSWORD"]\n')


def outputs(folder: Path, recording: str) -> dict[str, bytes]:
    """What every command prints and writes."""
    found = {}
    for words in COMMANDS:
        ran = clawperator("recording", *words, recording)
        assert ran.code == 0, ran.out
        found[" ".join(words)] = ran.out + ran.err.encode()
    report = clawperator("report", recording)
    assert report.code == 0, report.out
    raw = folder / recording
    return {**found, **{str(path): path.read_bytes() for path in folder.rglob("*.*") if path != raw}}


def test_a_declared_secret_is_in_nothing_that_commands_make_of_a_recording(folder: Path, recording: str) -> None:
    before = (folder / recording).read_bytes()
    declare(folder)
    made = outputs(folder, recording)
    assert find_secret(SECRET, (), made) == []
    assert [name for name, data in made.items() if b"hunter2" in data] == [], (
        "not in the name of a checkpoint either"
    )
    assert (folder / recording).read_bytes() == before, "the recording itself is kept as the phone wrote it"


def test_without_a_declaration_the_documents_are_unchanged(folder: Path, recording: str) -> None:
    assert set(find_secret(SECRET, (), outputs(folder, recording)))
    described = clawperator("recording", "describe", "--input", recording).json
    assert described["steps"][1]["text"] == SECRET


@pytest.mark.parametrize("snapshots", ["omit", "include"])
def test_an_export_that_was_made_before_the_declaration_is_masked_when_it_is_read(
    folder: Path, recording: str, snapshots: str
) -> None:
    exported = clawperator(
        "recording", "export", "--input", recording, "--snapshots", snapshots, "--out", "old.json"
    )
    assert exported.code == 0
    declare(folder)
    ran = clawperator("recording", "describe", "--input", "old.json")
    assert ran.json["steps"][1]["text"] == "••••"
    report = clawperator("report", "old.json")
    assert report.code == 0
    made = {"described": ran.out + ran.err.encode(), "report": (folder / "old.json.report.html").read_bytes()}
    assert find_secret(SECRET, (), made) == []


def test_a_masked_text_is_not_replayed(folder: Path, recording: str) -> None:
    write(folder / recording, [FLOW[0], typed(1, f"is {SECRET}!", APP)])
    declare(folder)
    assert clawperator("recording", "export", "--input", recording, "--out", "new.json").code == 0
    plan = clawperator("recording", "replay", "--input", "new.json", "--dry-run")
    assert b"hidden text" in plan.out


def test_the_tools_of_an_agent_do_not_show_a_declared_secret(folder: Path, recording: str) -> None:
    declare(folder)
    for tool in ("recording_describe", "recording_parse", "recording_export"):
        ran = claw_json("exec-tool", tool, f'{{"input":"{recording}"}}')
        assert ran.json["handled"], ran.out
        assert find_secret(SECRET, (), {tool: ran.out + ran.err.encode()}) == []


def test_pulling_warns_of_declared_secrets(folder: Path, recording: str) -> None:
    from clawperator._base.deadline import Deadline
    from clawperator.recording.reader import recording_warnings

    assert recording_warnings(recording, Deadline(None)) == []
    declare(folder)
    (warning,) = recording_warnings(recording, Deadline(None))
    assert "declared secrets" in warning


def masked(event: Event, *secrets: str) -> Any:
    masker = PasswordMasker(secrets)
    masker.mask(event)
    masker.mask_snapshot(event)
    return event


def test_texts_and_screens_of_events_are_masked(recording: str) -> None:
    with Recording(recording) as opened:
        first: Any = next(opened.in_file_order())
    assert masked(first, SECRET, "917").text == "••••"
    assert b"hunter2" not in bytes(first.snapshot)
    assert b"9173" in bytes(first.snapshot), "a short secret is masked only where it is the whole value"
