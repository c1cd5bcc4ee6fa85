"""The host log: one line per event, bounded and private; logging never fails a command."""

import fcntl
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

from clawperator._base.notes import listening
from clawperator.device.run import host_log
from clawperator.device.run.host_log import HostLogReader, log_event, log_file, log_folder


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


def test_the_time_has_milliseconds(monkeypatch: pytest.MonkeyPatch) -> None:
    for now, written in (
        (1_700_000_000.0, "20.000Z"),
        (1_700_000_000.0625, "20.062Z"),
        (1_700_000_000 + 1023 / 1024, "20.999Z"),
    ):
        monkeypatch.setattr(time, "time", lambda now=now: now)
        log_event("x")
        text = Path(log_file(now)).read_text().splitlines()[-1]
        assert json.loads(text)["ts"] == f"2023-11-14T22:13:{written}"


def test_a_line_without_a_message_has_the_event_as_its_message() -> None:
    log_event("phone.started")
    assert lines()[0]["message"] == "phone.started"


def test_a_long_text_is_cut() -> None:
    log_event("x", "m" * 501, deviceId="d" * 500)
    assert (lines()[0]["message"], lines()[0]["deviceId"]) == ("m" * 500, "d" * 500)


def test_a_command_that_traces_logs_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAWPERATOR_LOG_LEVEL", "error")
    with listening(None, lambda _: None):
        log_event("x", level="debug")
    assert [line["level"] for line in lines()] == ["debug"]


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


def test_the_line_that_finds_a_file_full_is_its_last_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_log, "MAX_BYTES", 1)
    for number in range(3):
        log_event("x", number=number)
    (older,) = folder.glob("*.1.ndjson")
    assert [json.loads(line)["number"] for line in older.read_text().splitlines()] == [0, 1]
    assert [line["number"] for line in lines()] == [2]


def test_a_full_file_that_another_process_puts_aside_stays(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_log, "MAX_BYTES", 1)
    log_event("one")
    with open(log_file()) as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        log_event("two")
    assert len(list(folder.iterdir())) == 1
    assert [line["event"] for line in lines()] == ["one", "two"]


def test_a_file_that_another_process_has_put_aside_is_not_put_aside_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It happens between the moment that the file is opened and the moment that it is locked."""
    log_event("old")
    lock = fcntl.flock

    def rotated_by_another(descriptor: int, operation: int) -> None:
        os.replace(log_file(), folder / "aside")
        Path(log_file()).write_text('{"event":"new"}\n')
        lock(descriptor, operation)

    monkeypatch.setattr(host_log, "MAX_BYTES", 1)
    monkeypatch.setattr(fcntl, "flock", rotated_by_another)
    log_event("late")
    assert [line["event"] for line in lines()] == ["new"]
    assert sorted(os.listdir(folder)) == ["aside", os.path.basename(log_file())]


def test_files_are_kept_for_two_weeks(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Just after midnight, local time."""
    now = time.mktime((2026, 3, 20, 0, 0, 5, 0, 0, -1))
    monkeypatch.setattr(time, "time", lambda: now)
    folder.mkdir()
    for day in ("2026-03-05", "2026-03-06"):
        (folder / f"clawperator-{day}.ndjson").touch()
    log_event("x")
    assert sorted(os.listdir(folder)) == ["clawperator-2026-03-06.ndjson", "clawperator-2026-03-20.ndjson"]


def test_old_files_are_looked_for_once_a_day(folder: Path) -> None:
    log_event("x")
    old = folder / "clawperator-2001-01-01.ndjson"
    old.touch()
    log_event("y")
    assert old.exists()


def test_an_old_file_that_cannot_be_deleted_is_left(folder: Path) -> None:
    (folder / "clawperator-2001-01-01.ndjson").mkdir(parents=True)
    log_event("x")
    assert [line["event"] for line in lines()] == ["x"]


def test_no_file_stays_open(folder: Path) -> None:
    def open_files() -> int:
        return len([one for one in os.listdir("/proc/self/fd") if _is_in(folder, f"/proc/self/fd/{one}")])

    log_event("x")
    assert open_files() == 0
    reader = HostLogReader()
    reader.read()
    assert open_files() == 1
    os.replace(log_file(), folder / "aside")
    log_event("y")
    assert b"y" in reader.read()
    assert open_files() == 1
    reader.close()
    reader.close()
    assert open_files() == 0


def _is_in(folder: Path, link: str) -> bool:
    try:
        return os.readlink(link).startswith(str(folder))
    except FileNotFoundError:  # that of the listing itself
        return False


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


def test_a_reader_takes_a_part_at_a_time(folder: Path) -> None:
    folder.mkdir()
    Path(log_file()).write_bytes(b"x" * (1024 * 1024 + 10))
    reader = HostLogReader()
    assert [len(reader.read()) for _ in range(3)] == [1024 * 1024, 10, 0]
    reader.close()
    assert [len(reader.read(100)), len(reader.read(50))] == [100, 50]
    reader.close()


def test_a_reader_keeps_its_place_while_the_file_is_deleted() -> None:
    log_event("one")
    reader = HostLogReader()
    assert b"one" in reader.read()
    with open(log_file(), "ab", buffering=0) as writer:
        os.unlink(log_file())
        assert reader.read() == b""
        writer.write(b"late")
        assert reader.read() == b"late"
    log_event("two")
    assert b"two" in reader.read()
    reader.close()


def test_a_reader_does_not_miss_what_was_written_just_before_the_file_was_put_aside(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log_event("one")
    reader = HostLogReader()
    reader.read()
    real, reads = os.read, []

    def read(descriptor: int, size: int) -> bytes:
        data = real(descriptor, size)
        reads.append(data)
        if reads == [b""]:
            log_event("two")
            os.replace(log_file(), folder / "aside")
            log_event("three")
        return data

    monkeypatch.setattr(os, "read", read)
    assert b"two" in reader.read()
    assert b"three" in reader.read()
    reader.close()


def test_declared_secrets_are_masked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path))
    monkeypatch.setenv("SHOP_PASSWORD", "hunter2")
    monkeypatch.setenv("SHOP_PIN", "12")
    (tmp_path / "clawperator.toml").write_text('secrets = ["SHOP_PASSWORD", "SHOP_PIN"]\n')
    log_event("x", f"{'a' * 497}hunter2", taskId="login-hunter2", commandId="12", durationMs=12)
    (line,) = lines()
    assert (line["taskId"], line["commandId"], line["durationMs"]) == ("login-••••", "••••", 12)
    assert "hun" not in line["message"]
