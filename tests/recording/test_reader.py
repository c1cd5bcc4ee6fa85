"""The streaming reader: accepted and rejected input and its errors, at any size."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.contract.limits import MAX_RECORDING_LINE_BYTES
from clawperator.errors import ClawError
from clawperator.recording import reader
from clawperator.recording.events import Click, Event
from clawperator.recording.reader import Recording, SeqGaps
from tests.recording.samples import HEADER, SPELLINGS, Spelling, back, click, event_lists, events, window, write
from tests.support.running import clawperator
from tests.support.schema_checks import assert_fits_schema


def read(path: Path) -> list[Event]:
    with Recording(str(path)) as recording:
        return recording.in_order(list)


def refusal(path: Path) -> ClawError:
    with pytest.raises(ClawError) as caught:
        read(path)
    return caught.value


def raw(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "raw.ndjson"
    path.write_bytes(data)
    return path


HEAD = json.dumps(HEADER).encode() + b"\n"
GOOD = json.dumps(click(1)).encode()


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf" + HEAD + GOOD,
        HEAD.replace(b"\n", b"\r\n") + GOOD + b"\r\n",
        b"\n \n\t\r\n" + HEAD + b"\n\n" + GOOD + b"\n\n  \n",
        HEAD + "\u00a0\u2003".encode() + GOOD + "\ufeff\u2028".encode() + b"\n",
        HEAD + b" \t" + GOOD,
        HEAD + GOOD.replace(b'"seq": 1', b'"seq": 9, "seq": 1'),
        HEAD + GOOD.replace(b'"seq": 1', b'"seq": 1.0'),
        HEAD + GOOD[:-1] + b', "key": 5, "scrollX": {"a": [1]}}',
    ],
    ids=["BOM", "CRLF", "blank lines", "odd spaces", "indent", "duplicate key", "1.0", "members of other types"],
)
def test_what_is_odd_but_clear_is_taken(tmp_path: Path, data: bytes) -> None:
    (event,) = read(raw(tmp_path, data))
    assert isinstance(event, Click)
    assert (event.seq, event.text) == (1, "Connected devices")
    assert type(event.seq) is int


@pytest.mark.parametrize(
    ("line", "message", "reason"),
    [
        (b"{", "Malformed NDJSON at line 3", "not valid JSON"),
        (b"\0\0\0\0", "Malformed NDJSON at line 3", "not valid JSON"),
        (b"not json", "Malformed NDJSON at line 3", "not valid JSON"),
        (GOOD.replace(b"Connected", b"Conn\xffected"), "Malformed NDJSON at line 3", "not valid UTF-8"),
        (GOOD.replace(b"<hier", b"<\xc3\x28"), "Malformed NDJSON at line 3", "not valid UTF-8"),
        (GOOD.replace(b"Connected", b"\\ud800x"), "Malformed NDJSON at line 3", "unpaired surrogate"),
        (GOOD.replace(b"<hier", b"\\ud800x"), "Malformed NDJSON at line 3", "unpaired surrogate"),
        (GOOD.replace(b"Connected", b"Conn\0ected"), "Malformed NDJSON at line 3", "not valid JSON"),
        (GOOD + GOOD, "Malformed NDJSON at line 3", "trailing characters"),
        (b"[" * 100_000, "Malformed NDJSON at line 3", "nested too deeply"),
        (b'{"a":' * 50_000 + b"1" + b"}" * 50_000, "Malformed NDJSON at line 3", "nested too deeply"),
        (b"null", "Invalid event at line 3", "got null"),
        (b"[]", "Invalid event at line 3", "got array"),
        (b'"text"', "Invalid event at line 3", "got str"),
        (b"{}", "Invalid event at line 3", ""),
        (GOOD.replace(b'"seq": 1', b'"seq": true'), "Invalid event at line 3", "got bool"),
        (GOOD.replace(b'"seq": 1', b'"seq": "1"'), "Invalid event at line 3", "got str"),
        (GOOD.replace(b'"seq": 1', b'"seq": 1e400'), "Invalid event at line 3", "out of range"),
        (GOOD.replace(b'"seq": 1', b'"seq": 99999999999999999999'), "Invalid event at line 3", ""),
        (GOOD.replace(b'"left": 216', b'"left": false'), "Invalid event at line 3", "got bool"),
        (
            GOOD.replace(b'"text": "Connected devices", ', b""),
            "Invalid event at line 3",
            "missing required field text",
        ),
        (GOOD.replace(b'"click"', b'"swipe"'), "Invalid event at line 3", "unknown event type 'swipe'"),
        (GOOD.replace(b'"<hierarchy .../>"', b"7"), "Invalid event at line 3", "snapshot is not a string"),
        (b'{"ts":1,"seq":2,"type":"press_key","key":"home"}', "Invalid event at line 3", "'home'"),
        (
            b'{"ts":1,"seq":2,"type":"text_change","packageName":"a","resourceId":null,"text":null}',
            "Invalid event at line 3",
            "got null",
        ),
        (
            b'{"ts":1,"seq":2,"type":"window_change","packageName":"a","className":5}',
            "Invalid event at line 3",
            "got int",
        ),
    ],
)
def test_a_bad_line_is_named_with_its_number_and_reason(
    tmp_path: Path, line: bytes, message: str, reason: str
) -> None:
    path = raw(tmp_path, HEAD + b"\n\n" + GOOD + b"\n\n" + line + b"\n" + GOOD + b"\n")
    error = refusal(path)
    assert error.code == "RECORDING_PARSE_FAILED"
    assert error.message.startswith(message)
    details = error.details or {}
    assert (details["line"], details["fileLine"]) == (3, 6)
    assert reason in details["reason"]
    assert error.hint == f"Run 'clawperator recording repair --input {path}' to keep every complete event."


def test_a_truncated_event_is_reported(tmp_path: Path) -> None:
    error = refusal(raw(tmp_path, HEAD + GOOD + b"\n" + GOOD[:40]))
    assert error.message == "Malformed NDJSON at line 3"
    assert (error.details or {})["reason"] == "the file ends in the middle of this line"


@pytest.mark.parametrize(("size", "is_cut"), [(199, True), (200, True), (201, False)])
def test_a_truncated_event_has_at_most_the_bytes_of_a_line(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_cut: bool
) -> None:
    monkeypatch.setattr(reader, "MAX_RECORDING_LINE_BYTES", 200)
    reason = (refusal(raw(tmp_path, HEAD + b"{".ljust(size, b"x"))).details or {})["reason"]
    assert ("ends in the middle of this line" in reason) is is_cut


def test_a_line_of_50_mb_is_refused_without_being_read_whole(tmp_path: Path) -> None:
    long = GOOD.replace(b"<hierarchy", b"x" * 50_000_000)
    error = refusal(raw(tmp_path, HEAD + GOOD + b"\n" + long + b"\n"))
    assert error.message == "Malformed NDJSON at line 3"
    assert (error.details or {})["reason"] == f"longer than {MAX_RECORDING_LINE_BYTES} bytes"


def test_a_line_as_long_as_allowed_is_taken(tmp_path: Path) -> None:
    room = MAX_RECORDING_LINE_BYTES - len(GOOD)
    (event,) = read(raw(tmp_path, HEAD + GOOD.replace(b"<hierarchy .../>", b"x" * (room + 16))))
    assert len(memoryview(event.snapshot)) == room + 18


@pytest.mark.parametrize(
    ("data", "code", "message"),
    [
        (b"", "RECORDING_PARSE_FAILED", "The recording is empty"),
        (b"\n \n\xef\xbb\xbf\n", "RECORDING_PARSE_FAILED", "The recording is empty"),
        (GOOD, "RECORDING_PARSE_FAILED", "Invalid header at line 1: not a recording header"),
        (b"{", "RECORDING_PARSE_FAILED", "Malformed NDJSON at line 1"),
        (b"\xff\xfe{\0}\0", "RECORDING_PARSE_FAILED", "Malformed NDJSON at line 1"),
        (b"[" * 99_999, "RECORDING_PARSE_FAILED", "Malformed NDJSON at line 1"),
        (b"{}", "RECORDING_PARSE_FAILED", "Invalid header at line 1: not a recording header"),
        (
            HEAD.replace(b'"demo-session"', b"5"),
            "RECORDING_PARSE_FAILED",
            "Invalid header at line 1: Expected str",
        ),
        (HEAD.replace(b'Version": 1', b'Version": true'), "RECORDING_PARSE_FAILED", "Invalid header at line 1"),
        (
            HEAD.replace(b'Version": 1', b'Version": 2'),
            "RECORDING_SCHEMA_VERSION_UNSUPPORTED",
            "Unsupported recording schema version: 2",
        ),
        (
            b'{"type":"recording_header","schemaVersion":1}',
            "RECORDING_PARSE_FAILED",
            "Invalid header at line 1: Object missing required field",
        ),
        (
            b'{"type":"recording_header","schemaVersion":7}',
            "RECORDING_SCHEMA_VERSION_UNSUPPORTED",
            "Unsupported recording schema version: 7",
        ),
    ],
)
def test_a_bad_header_is_refused_first(tmp_path: Path, data: bytes, code: str, message: str) -> None:
    error = refusal(raw(tmp_path, data))
    assert error.code == code
    assert error.message.startswith(message)
    assert "complete event" not in (error.hint or "")


@pytest.mark.random
@given(items=event_lists, seed=st.randoms(use_true_random=False), run=st.integers(1, 5), block=st.integers(1, 3))
def test_seq_is_the_order_whatever_the_order_of_the_lines(
    tmp_path_factory: pytest.TempPathFactory, items: list[dict[str, Any]], seed: Any, run: int, block: int
) -> None:
    shuffled = seed.sample(items, len(items))
    path = write(tmp_path_factory.mktemp("r") / "a.ndjson", shuffled)
    with pytest.MonkeyPatch.context() as patch:  # small runs, so that a few events are many
        patch.setattr(reader, "_RUN_LENGTH", run)
        patch.setattr(reader, "_BLOCK_LENGTH", block)
        got = read(path)
    assert [e.seq for e in got] == sorted(e["seq"] for e in items)
    expected = sorted(shuffled, key=lambda e: e["seq"])
    assert [(e.seq, e.ts, e.kind) for e in got] == [(e["seq"], e["ts"], e["type"]) for e in expected]


@pytest.mark.random
@given(event=events, spelling=st.sampled_from(SPELLINGS))
def test_an_event_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, event: dict[str, Any], spelling: Spelling
) -> None:
    (got,) = read(write(tmp_path_factory.mktemp("r") / "a.ndjson", [event], spelling=spelling))
    assert got.kind == event["type"]
    for name, value in event.items():
        if name not in ("type", "extra", "snapshot", "bounds"):
            assert getattr(got, name) == value
    assert json.loads(bytes(got.snapshot)) == event.get("snapshot")
    assert_fits_schema("recording-event", event)


def test_a_type_that_stands_in_a_text_or_deeper_is_not_taken_for_the_type(tmp_path: Path) -> None:
    texts = ['"type":"click"}', 'x"type":"scroll"}\n', '\\"type":"click']
    path = write(tmp_path / "a.ndjson", [click(i, text) for i, text in enumerate(texts)], spelling="text last")
    assert [e.text for e in read(path) if isinstance(e, Click)] == texts
    deeper = GOOD.replace(b'"type": "click", ', b"")[:-1] + b',"more":{"type":"click"}}\n'
    assert "missing required field type" in refusal(raw(tmp_path, HEAD + deeper)).message
    twice = GOOD[:-1] + b',"type":"scroll"}\n'
    assert "two different values of type" in refusal(raw(tmp_path, HEAD + twice)).message


def test_a_file_that_shrinks_between_two_passes_is_a_typed_error(tmp_path: Path) -> None:
    path = write(tmp_path / "a.ndjson", [window(5), window(1), window(2)])
    with Recording(str(path)) as recording:

        def build(items: Any) -> int:
            for event in items:
                if recording.out_of_order:
                    with path.open("r+b") as file:
                        file.truncate(len(HEAD) + 10)
                assert event
            return 0

        with pytest.raises(ClawError) as caught:
            recording.in_order(build)
    assert caught.value.code == "RECORDING_PARSE_FAILED"
    assert "changed while it was being read" in caught.value.message


def test_progress_is_reported_in_bytes(tmp_path: Path) -> None:
    big = [window(i, snapshot="x" * 100_000) for i in range(120)]
    path = write(tmp_path / "a.ndjson", big)
    calls: list[tuple[int, int]] = []
    with Recording(str(path), progress=lambda done, total: calls.append((done, total))) as recording:
        assert recording.in_order(lambda items: sum(1 for _ in items)) == 120
    size = path.stat().st_size
    assert len(calls) == 2
    assert all(0 < done <= total == size for done, total in calls)


def test_a_pipe_is_refused_rather_than_waited_for(tmp_path: Path) -> None:
    import os

    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert "not a regular file" in refusal(pipe).message


# Missing events

HOLE = [window(0), click(4), click(5)]
MISSING = "3 events are missing: seq 1-3"


@pytest.mark.parametrize(
    ("numbers", "warning"),
    [
        ([0, 1, 2], None),
        ([], None),
        ([0, 1, 1, 2], None),
        ([-3, 0], None),
        ([0, 0.5, 1], None),
        ([0, 2], "1 event is missing: seq 1"),
        ([3], "3 events are missing: seq 0-2"),
        ([0, 4, 6], "4 events are missing: seq 1-3, 5"),
        ([0, 2.5], "2 events are missing: seq 1-2"),
        (
            list(range(0, 26, 2)),
            "12 events are missing: seq 1, 3, 5, 7, 9, 11, 13, 15, 17, 19 and 2 more ranges",
        ),
    ],
)
def test_the_missing_numbers_are_counted_and_listed(numbers: list[float], warning: str | None) -> None:
    gaps = SeqGaps()
    for number in numbers:
        gaps.add(number)
    assert gaps.warnings() == ([warning] if warning else [])


@pytest.mark.parametrize("events", [HOLE, HOLE[::-1]], ids=["in order", "out of order"])
@pytest.mark.parametrize("command", ["parse", "export", "describe"])
def test_a_hole_is_a_warning_of_the_document(tmp_path: Path, command: str, events: list[dict[str, Any]]) -> None:
    source = write(tmp_path / "a.ndjson", events)
    ran = clawperator("recording", command, "--input", str(source))
    assert (ran.code, ran.json["warnings"]) == (0, [MISSING])
    if command == "parse":
        assert json.loads((tmp_path / "a.steps.json").read_text())["_warnings"] == [MISSING]


@pytest.mark.parametrize("command", ["parse", "export", "describe"])
def test_a_whole_recording_has_no_warning(tmp_path: Path, command: str) -> None:
    source = write(tmp_path / "a.ndjson", [window(0), click(1), back(2)])
    assert "warnings" not in clawperator("recording", command, "--input", str(source)).json


def test_an_export_with_a_hole_is_described_with_a_warning(tmp_path: Path) -> None:
    source = write(tmp_path / "a.ndjson", HOLE)
    clawperator("recording", "export", "--input", str(source))
    ran = clawperator("recording", "describe", "--input", str(tmp_path / "a.export.json"))
    assert ran.json["warnings"] == [MISSING]


def test_a_comparison_reports_which_side_has_a_hole(tmp_path: Path) -> None:
    for name, lines in (("hole", HOLE), ("whole", [window(0), click(1), click(2)])):
        clawperator("recording", "export", "--input", str(write(tmp_path / f"{name}.ndjson", lines)))
    hole, whole = str(tmp_path / "hole.export.json"), str(tmp_path / "whole.export.json")

    def warnings(baseline: str, result: str) -> Any:
        ran = clawperator("recording", "compare", "--baseline", baseline, "--result", result)
        assert ran.json["outcome"] == "literal_match"
        return ran.json.get("warnings")

    assert warnings(hole, whole) == ["3 events are missing from the baseline: seq 1-3"]
    assert warnings(whole, hole) == ["3 events are missing from the result: seq 1-3"]
    assert warnings(whole, whole) is None


def test_a_replay_plan_reports_a_hole(tmp_path: Path) -> None:
    source = write(tmp_path / "a.ndjson", HOLE)
    ran = clawperator("recording", "replay", "--input", str(source), "--dry-run")
    assert MISSING in ran.json["warnings"]
