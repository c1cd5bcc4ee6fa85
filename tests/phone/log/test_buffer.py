"""The log buffer: bounded, ordered, truncated like Android's, with waiting readers."""

import threading
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from clawperator.phone.log.buffer import MAX_BYTES, MAX_PAYLOAD, LogBuffer, LogRecord, timber
from tests.support.hanging import HANG_SECONDS, NEVER_SECONDS


def a_log(capacity: int = 20_000, capacity_bytes: int = 1 << 20) -> LogBuffer:
    return LogBuffer(lambda: 1_700_000_000_000, capacity, capacity_bytes)


def messages(log: LogBuffer) -> list[str]:
    return [entry.message for entry in log.read()]


def test_a_record_keeps_its_fields() -> None:
    log = a_log()
    log.write("I", "Tag", "hello", 42)
    log.write("E", "Tag", "again", 42, 43, uid=10_001, buffer="crash")
    assert log.read() == [
        LogRecord(1, 1_700_000_000_000, "I", "Tag", "hello", 42, 42, 1000, "main"),
        LogRecord(2, 1_700_000_000_000, "E", "Tag", "again", 42, 43, 10_001, "crash"),
    ]


def test_reading_after_a_number_returns_only_newer_records() -> None:
    log = a_log()
    for text in "abc":
        log.write("I", "t", text, 1)
    assert [e.message for e in log.read(1)] == ["b", "c"]
    assert log.read(3) == []


def test_new_records_replace_the_oldest() -> None:
    log = a_log(capacity=3)
    for text in "abcde":
        log.write("I", "t", text, 1)
    assert messages(log) == ["c", "d", "e"]
    assert log.read()[-1].number == 5


def test_the_log_stays_within_its_bytes() -> None:
    log = a_log(capacity_bytes=64 * 1024)
    for i in range(200):
        log.write("I", "t", f"{i}" + "x" * 1_000, 1)
    assert log.used_bytes("main") <= 64 * 1024
    assert messages(log)[-1].startswith("199")


def test_a_smaller_size_drops_records_and_an_invalid_one_is_refused() -> None:
    log = a_log()
    for _ in range(200):
        log.write("I", "t", "x" * 1_000, 1)
    log.resize(64 * 1024)
    assert 0 < len(log.read()) < 60
    for size in (0, MAX_BYTES + 1):
        with pytest.raises(ValueError):
            log.resize(size)


def test_clearing_deletes_records_and_numbering_continues() -> None:
    log = a_log()
    log.write("I", "t", "main", 1)
    log.write("I", "t", "crash", 1, buffer="crash")
    log.clear(["main"])
    assert messages(log) == ["crash"]
    log.clear()
    log.write("I", "t", "new", 1)
    assert [e.number for e in log.read()] == [3]


@pytest.mark.random
@given(st.text(max_size=40), st.integers(3_900, 4_200), st.text(max_size=20))
def test_a_long_record_is_truncated_at_a_character_boundary(tag: str, filler: int, end: str) -> None:
    log = a_log()
    message = "x" * filler + "é日😀" + end
    log.write("I", tag, message, 1)
    (entry,) = log.read()
    size = len(entry.tag.encode()) + len(entry.message.encode()) + 3
    assert size <= MAX_PAYLOAD
    assert message.startswith(entry.message)
    assert entry.message == message or size > MAX_PAYLOAD - 4


def test_a_lone_surrogate_does_not_break_the_log() -> None:
    log = a_log()
    log.write("I", "t\udc80", "a\ud83dz", 1)
    (entry,) = log.read()
    assert (entry.tag, entry.message) == ("t?", "a?z")


def test_a_waiting_reader_gets_a_record_immediately() -> None:
    log = a_log()
    records: list[LogRecord] = []
    reader = threading.Thread(target=lambda: records.extend(log.wait(0, NEVER_SECONDS)))
    reader.start()
    log.write("I", "t", "x", 1)
    reader.join(HANG_SECONDS)
    assert [e.message for e in records] == ["x"]


def test_waiting_ends_at_its_timeout_or_when_cancelled() -> None:
    log = a_log()
    assert log.wait(0, 0.01) == []
    cancelled = threading.Event()
    cancelled.set()
    assert log.wait(0, NEVER_SECONDS, cancelled.is_set) == []


def test_many_writers_lose_nothing() -> None:
    log = a_log()

    def write(pid: int) -> None:
        for i in range(200):
            log.write("I", "t", str(i), pid)

    writers = [threading.Thread(target=write, args=(pid,)) for pid in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(HANG_SECONDS)
    entries = log.read()
    assert [e.number for e in entries] == list(range(1, 801))
    for pid in range(4):
        assert [e.message for e in entries if e.pid == pid] == [str(i) for i in range(200)]


def test_a_fault_may_lose_split_or_interleave_records() -> None:
    log = a_log()

    def disturb(entry: LogRecord) -> Iterable[LogRecord]:
        if entry.message == "lost":
            return []
        if entry.message == "split":
            return [replace(entry, message="sp"), replace(entry, message="lit")]
        return [replace(entry, tag="noise", pid=9, message="!"), entry]

    log.filter = disturb
    for text in ("lost", "split", "kept"):
        log.write("I", "t", text, 1)
    assert messages(log) == ["sp", "lit", "!", "kept"]
    assert [e.number for e in log.read()] == [1, 2, 3, 4]


def test_timber_keeps_a_short_message_in_one_record() -> None:
    log = a_log()
    timber(log, "D", "t", "a\nb", 1)
    assert messages(log) == ["a\nb"]


def test_timber_writes_a_long_message_line_by_line() -> None:
    log = a_log()
    timber(log, "D", "t", "first\n\n" + "x" * 9_000 + "\nlast\n", 1)
    assert messages(log) == ["first", "", "x" * 4_000, "x" * 4_000, "x" * 1_000, "last"]


def test_a_long_line_is_split_by_bytes_at_character_boundaries() -> None:
    log = a_log()
    timber(log, "D", "t", "x" + "😀" * 2_500, 1)
    assert "".join(messages(log)) == "x" + "😀" * 2_500
    assert [len(m) for m in messages(log)] == [1_000, 1_000, 501]
    assert set("".join(messages(log))) == {"x", "😀"}


@pytest.mark.random
@given(st.lists(st.text(st.sampled_from("ab<> ="), max_size=300), min_size=20, max_size=60))
def test_a_hierarchy_written_through_timber_can_be_reassembled(lines: list[str]) -> None:
    text = "\n".join([*lines, "y" * 5_000, "</hierarchy>"])
    log = a_log()
    timber(log, "D", "t", text, 1)
    rebuilt = [line for m in messages(log) for line in m.split("\n")]
    assert "".join(rebuilt) == text.replace("\n", "")
