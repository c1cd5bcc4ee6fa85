"""The host log: one line per event, bounded and private; logging never fails a command."""

import json
import os
import re
import stat
import threading
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.device import host_log
from clawperator.device.host_log import HostLogReader, log_event, log_file, log_folder


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLAWPERATOR_LOG_DIR", str(tmp_path / "logs"))
    monkeypatch.delenv("CLAWPERATOR_LOG_LEVEL", raising=False)
    return tmp_path / "logs"


def lines() -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(log_file()).read_text("utf-8").splitlines()]


def test_a_note_is_one_line_of_json_with_the_time_in_utc() -> None:
    log_event("execution.finished", "done", commandId="click-1", deviceId="claw-1", durationMs=12, code=None)
    (line,) = lines()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line.pop("ts"))
    assert line == {
        "level": "info",
        "event": "execution.finished",
        "commandId": "click-1",
        "deviceId": "claw-1",
        "durationMs": 12,
        "message": "done",
    }


def test_the_time_of_a_note_is_now() -> None:
    before = time.time()
    log_event("x")
    written = datetime.fromisoformat(lines()[0]["ts"]).timestamp()
    assert before - 0.001 <= written <= time.time()


def test_the_folder_and_the_file_are_for_their_owner_only(folder: Path) -> None:
    log_event("x")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(Path(log_file()).stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("threshold", "kept"),
    [
        ("debug", ["debug", "info", "warn", "error"]),
        ("", ["info", "warn", "error"]),
        ("nonsense", ["info", "warn", "error"]),
        ("WARN", ["warn", "error"]),
        ("error", ["error"]),
    ],
)
def test_the_threshold_keeps_what_is_at_or_above_it(
    threshold: str, kept: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAWPERATOR_LOG_LEVEL", threshold)
    for level in host_log.LOG_LEVELS:
        log_event("x", level=level)
    assert [line["level"] for line in lines()] == kept


def test_the_log_is_in_the_product_home_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAWPERATOR_LOG_DIR", "~/mine")
    assert log_folder() == os.path.expanduser("~/mine")
    monkeypatch.delenv("CLAWPERATOR_LOG_DIR")
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path))
    assert log_folder() == str(tmp_path / "logs")


def test_without_a_writable_folder_nothing_is_logged_and_nothing_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/none"), Path("a\0b")):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(host_log, "log_folder", lambda place=place: str(place))
            log_event("x")
    monkeypatch.setattr(os, "write", lambda *_: (_ for _ in ()).throw(OSError("the disk is full")))
    log_event("x")


def test_a_link_in_place_of_the_file_is_not_followed(folder: Path, tmp_path: Path) -> None:
    folder.mkdir()
    victim = tmp_path / "victim"
    victim.write_text("mine")
    Path(log_file()).symlink_to(victim)
    log_event("x")
    assert victim.read_text() == "mine"


def test_a_full_file_is_put_aside_and_only_two_are_kept(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setattr(host_log, "MAX_BYTES", 1_000)
    for number in range(100):
        log_event("x", number=number)
    sizes = sorted(path.stat().st_size for path in folder.iterdir())
    assert len(sizes) == 2
    assert sizes[-1] < 1_300
    assert lines()[-1]["number"] == 99


def test_old_days_are_forgotten_when_a_new_one_begins_and_other_files_are_not(folder: Path) -> None:
    folder.mkdir()
    day = time.strftime("%Y-%m-%d", time.localtime(time.time() - 86_400))
    keep = {f"clawperator-{day}.ndjson", "clawperator-2001-01-01.txt", "notes.ndjson"}
    old = {"clawperator-2001-01-01.ndjson", "clawperator-2001-01-01.1.ndjson"}
    for name in keep | old:
        (folder / name).write_text("{}\n")
    log_event("x")
    assert {path.name for path in folder.iterdir()} == keep | {os.path.basename(log_file())}


def test_lines_of_several_threads_do_not_mix_even_while_files_are_put_aside(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    monkeypatch.setattr(host_log, "MAX_BYTES", 20_000)

    def write_many() -> None:
        for _ in range(60):
            log_event("x", "y" * 100)

    threads = [threading.Thread(target=write_many) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for path in folder.iterdir():
        for line in path.read_text("utf-8").splitlines():
            assert json.loads(line)["event"] == "x"


@pytest.mark.random
@given(st.text(max_size=2_000), st.text(max_size=50), st.integers() | st.floats() | st.booleans() | st.none())
def test_any_text_makes_one_valid_line(message: str, value: str, number: float | None) -> None:
    Path(log_file()).unlink(missing_ok=True)
    log_event("x", message, commandId=value, number=number)
    text = Path(log_file()).read_bytes() if Path(log_file()).exists() else b""
    assert text.count(b"\n") <= 1
    assert len(text) < 8_000
    if text:
        json.loads(text)


def test_a_reader_gets_what_is_there_then_what_comes(folder: Path) -> None:
    reader = HostLogReader()
    assert reader.read() == b""
    log_event("one")
    assert json.loads(reader.read())["event"] == "one"
    assert reader.read() == b""
    log_event("two")
    assert json.loads(reader.read())["event"] == "two"
    reader.close()
    assert folder.exists()


def test_a_reader_goes_on_in_the_new_file_when_the_old_one_was_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_log, "MAX_BYTES", 300)
    reader = HostLogReader()
    seen = []
    for number in range(20):
        log_event("x", number=number)
        while data := reader.read():
            seen += [json.loads(line)["number"] for line in data.splitlines()]
    reader.close()
    assert seen == list(range(20))


def test_a_reader_goes_on_over_midnight(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    log_event("before")
    reader = HostLogReader()
    assert b"before" in reader.read()
    monkeypatch.setattr(host_log, "log_file", lambda _=None: str(folder / "clawperator-2099-01-01.ndjson"))
    log_event("after")
    assert b"after" in reader.read()
    reader.close()
