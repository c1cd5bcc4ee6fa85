import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.contract.limits import MAX_HIERARCHY_BYTES
from clawperator.contract.results import sum_of
from clawperator.device.adb.client import Device, Endpoint
from clawperator.device.backends import operator_link
from clawperator.device.backends.operator_link import (
    LoggedTree,
    LogLines,
    OperatorLogReader,
    Record,
    has_finished,
    plausible_text,
    read_record,
    verified_text,
)
from clawperator.device.run.lease import Holder
from clawperator.errors import RefusedError
from tests.device.adb.scripted_server import OKAY, packet, scripted

TREE = """<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>
<hierarchy rotation="0">
  <node index="0" text="Übersicht [1]" class="a" bounds="[0,0][10,10]">
    <node index="0" text="a  b" class="b" bounds="[0,0][5,5]" />
  </node>
</hierarchy>"""
OPERATOR = "com.clawperator.operator"


def record(message: str, tid: int = 7, tag: str = "TaskScope") -> Record:
    return Record(5, tid, tag, message)


def read_log(*records: Record) -> tuple[OperatorLogReader, list[dict[str, object]]]:
    reader = OperatorLogReader()
    documents = [document for record in records if (document := reader.feed(record)) is not None]
    return reader, documents


def test_a_line_of_the_log_is_read() -> None:
    line = b"11-15 10:00:01.234  4242  4250 I Operator: [Clawperator-Result] {}"
    assert read_record(line) == Record(4242, 4250, "Operator", "[Clawperator-Result] {}")


@pytest.mark.parametrize(
    ("line", "record"),
    [
        (b"11-15 10:00:01.234     1     2 D a:b: c: d", Record(1, 2, "a", "b: c: d")),
        (b"11-15 10:00:01.234     1     2 D tag     : x", Record(1, 2, "tag", "x")),
        (b"11-15 10:00:01.234     1     2 W tag: ", Record(1, 2, "tag", "")),
        (b"11-15 10:00:01.234     1     2 I t: \xff", Record(1, 2, "t", "\ufffd")),
    ],
)
def test_odd_lines_are_read_too(line: bytes, record: Record) -> None:
    assert read_record(line) == record


@pytest.mark.parametrize(
    "line",
    [
        b"--------- beginning of main",
        b"",
        b"nothing",
        b"a b c d I t: m",
        b"11-15 10:00:01.234     1     2 I cut off",
    ],
)
def test_invalid_log_records_are_ignored(line: bytes) -> None:
    assert read_record(line) is None


def test_a_result_comes_as_soon_as_it_is_complete() -> None:
    assert read_log(record('[Clawperator-Result] {"commandId":"a"}'))[1] == [{"commandId": "a"}]


def test_a_result_in_several_pieces_is_put_together() -> None:
    text = '[Clawperator-Result] {"commandId":"a","b":{"c":"d"}}'
    pieces = [record(text[i : i + 25]) for i in range(0, len(text), 25)]
    assert read_log(*pieces)[1] == [{"commandId": "a", "b": {"c": "d"}}]


def test_lines_of_other_processes_between_two_chunks_are_ignored() -> None:
    pieces = ('[Clawperator-Result] {"commandId":', '"a"}')
    assert read_log(record(pieces[0]), record("}", tid=8), record("}", tag="Other"), record(pieces[1]))[1] == [
        {"commandId": "a"}
    ]


@pytest.mark.parametrize("bad", ["{nonsense}", "[1]", "{" * 3000 + "}", '"}'])
def test_a_result_that_makes_no_sense_does_not_stop_the_next(bad: str) -> None:
    records = (record(f"[Clawperator-Result] {bad}"), record('[Clawperator-Result] {"commandId":"a"}'))
    assert read_log(*records)[1] == [{"commandId": "a"}]


def test_a_hierarchy_is_complete_with_its_last_line() -> None:
    lines = TREE.split("\n")
    reader, _ = read_log(record("[TaskScope] UI Hierarchy:"), *map(record, lines), record("after"))
    assert reader.hierarchies == [LoggedTree(tuple(lines), True)]


@pytest.mark.parametrize("next_message", ["[TaskScope] UI Hierarchy:", "[Clawperator-Result] {}", "[Other] x"])
def test_a_hierarchy_without_its_end_is_not_whole(next_message: str) -> None:
    reader, _ = read_log(record("[TaskScope] UI Hierarchy:"), record("<hierarchy>"), record(next_message))
    assert reader.hierarchies == [LoggedTree(("<hierarchy>",), False)]


def test_two_hierarchies_stay_apart() -> None:
    one = ("[TaskScope] UI Hierarchy:", "<hierarchy>", "</hierarchy>")
    reader, _ = read_log(*map(record, one + one))
    assert [tree.is_complete for tree in reader.hierarchies] == [True, True]


@pytest.mark.random
@given(st.sets(st.integers(1, len(TREE) - 1)))
def test_a_hierarchy_is_proved_wherever_the_log_cut_its_lines(cuts: set[int]) -> None:
    places = [0, *sorted(cuts), len(TREE)]
    pieces = [TREE[a:b] for a, b in pairwise(places)]
    lines = tuple(line for piece in pieces for line in piece.split("\n") if line)
    text = verified_text(LoggedTree(lines, True), sum_of(TREE))
    # A cut at the end of an element looks like the end of a line; then it is given up, never given out wrong.
    assert text in (TREE, None)
    if all(TREE[cut - 1] != ">" or TREE[cut] == "\n" for cut in cuts):
        assert text == TREE


@pytest.mark.random
@given(st.integers(0, 5))
def test_a_hierarchy_that_lost_a_line_is_never_proved(lost: int) -> None:
    lines = TREE.split("\n")
    del lines[lost]
    assert verified_text(LoggedTree(tuple(lines), True), sum_of(TREE)) is None


def test_lost_leaves_of_a_hierarchy_without_proof_are_noticed() -> None:
    leaves = [f'    <node index="{i}" class="b" bounds="[0,0][5,5]" />' for i in range(9)]
    head, end = TREE.split("\n")[:3], ["  </node>", "</hierarchy>"]
    assert plausible_text(LoggedTree((*head, *leaves, *end), True)) is not None
    for lost in range(8):
        kept = leaves[:lost] + leaves[lost + 1 :]
        assert plausible_text(LoggedTree((*head, *kept, *end), True)) is None


@pytest.mark.parametrize(("tag", "message"), [("chatty", "uid=10123(a) expire 5 lines"), ("liblog", "5")])
def test_a_notice_of_dropped_lines_makes_a_hierarchy_without_proof_invalid(tag: str, message: str) -> None:
    head, *lines = TREE.split("\n")
    records = [record(f"[TaskScope] UI Hierarchy: {head}"), *map(record, lines)]
    reader, _ = read_log(*records)
    assert plausible_text(reader.hierarchies[0]) == TREE
    reader, _ = read_log(*records[:3], record(message, tag=tag), *records[3:])
    assert plausible_text(reader.hierarchies[0]) is None
    assert verified_text(reader.hierarchies[0], sum_of(TREE)) == TREE
    before, _ = read_log(record(message, tag=tag), *records)
    assert plausible_text(before.hierarchies[0]) == TREE


def test_a_hierarchy_without_proof_must_be_well_formed() -> None:
    lines = TREE.split("\n")
    assert plausible_text(LoggedTree(tuple(lines), True)) == TREE
    assert plausible_text(LoggedTree(tuple(lines), False)) is None
    assert plausible_text(LoggedTree(tuple(lines[:2] + lines[3:]), True)) is None


@pytest.mark.random
@given(st.lists(st.binary(max_size=60), max_size=20))
def test_no_bytes_in_the_log_do_harm(lines: list[bytes]) -> None:
    reader = OperatorLogReader()
    for line in lines:
        for full in (
            line,
            b"11-15 10:00:01.234  1  1 I t: " + line,
            b"x y  1  1 I t: [Clawperator-Result] " + line,
        ):
            record = read_record(full)
            if record is not None:
                json.dumps(reader.feed(record))


def test_lines_of_a_hierarchy_that_lost_its_beginning_are_counted() -> None:
    reader = OperatorLogReader()
    for line in ('    <node index="3" />', "  </node>", "</hierarchy>", "another message"):
        reader.feed(Record(1, 2, "Operator", line))

    assert reader.orphaned == len('    <node index="3" />  </node></hierarchy>')
    assert reader.hierarchies == []


@pytest.mark.parametrize("last", ["  </hierarchy> ", "</node></hierarchy>"])
def test_the_end_of_a_hierarchy_may_have_spaces_or_share_its_line(last: str) -> None:
    reader, _ = read_log(record("[TaskScope] UI Hierarchy:"), record("<hierarchy>"), record(last), record("after"))
    assert reader.hierarchies == [LoggedTree(("<hierarchy>", last), True)]


def test_a_hierarchy_without_indexes_has_no_gap() -> None:
    text = TREE.replace('index="0" ', "")
    assert plausible_text(LoggedTree(tuple(text.split("\n")), True)) == text


def test_a_result_that_begins_anew_replaces_the_unfinished_one() -> None:
    records = (record('[Clawperator-Result] {"commandId":'), record('[Clawperator-Result] {"commandId":"b"}'))
    assert read_log(*records)[1] == [{"commandId": "b"}]


# Limits

KIB, MIB = 1024, 1024 * 1024


def test_a_line_is_cut_at_64_kilobytes() -> None:
    lines = LogLines()
    assert list(lines.feed(b"a" * (64 * KIB))) == []
    assert list(lines.feed(b"bc")) == []
    long = b"d" * (64 * KIB + 1)
    assert list(lines.feed(b"e\n" + long + b"\nf\n" + long)) == [b"a" * (64 * KIB), long[:-1], b"f"]
    assert list(lines.feed(b"g\n")) == [long[:-1]]
    head = b"11-15 10:00:01.234     1     2 I t: "
    read = read_record(head + long)
    assert read is not None
    assert len(read.message) == 64 * KIB - len(head)


def result_of(size: int) -> str:
    return '{"a":"' + "x" * (size - 8) + '"}'


@pytest.mark.parametrize(("size", "count"), [(MIB, 1), (16 * MIB, 0)])
def test_a_result_that_is_too_large_is_not_kept(size: int, count: int) -> None:
    text = result_of(size)
    records = [record(f"[Clawperator-Result] {text[:1000]}"), record(text[1000:]), record("}")]
    assert len(read_log(*records)[1]) == count


@pytest.mark.parametrize(("pieces", "count"), [(500, 1), (20_000, 0)])
def test_a_result_of_too_many_pieces_is_not_kept(pieces: int, count: int) -> None:
    text = result_of(pieces + 8)
    records = [record(f"[Clawperator-Result] {text[:9]}"), *map(record, text[9:])]
    assert len(records) == pieces
    assert len(read_log(*records)[1]) == count


@pytest.mark.parametrize(("more", "count"), [(0, 1), (1, 0)])
def test_a_hierarchy_that_is_too_large_is_not_kept(more: int, count: int) -> None:
    end = "</hierarchy>"
    line = "x" * (MAX_HIERARCHY_BYTES - len(end) - len("<hierarchy>") + more)
    lines = [record("[TaskScope] UI Hierarchy: <hierarchy>"), record(line), record(end), record("[Other] x")]
    assert len(read_log(*lines)[0].hierarchies) == count


def test_of_many_hierarchies_the_last_32_megabytes_are_kept() -> None:
    sizes = [MIB, 2 * MIB, *[MIB] * 29]
    line = "x" * (2 * MIB)
    reader = OperatorLogReader()

    def log(*added: int) -> list[int]:
        for size in added:
            for message in ("[TaskScope] UI Hierarchy:", line[:size], "[Other] x"):
                reader.feed(record(message))
        return [tree.size for tree in reader.hierarchies]

    assert log(*sizes) == sizes
    assert log(1) == [*sizes[1:], 1]
    assert log(MIB - 1) == [*sizes[1:], 1, MIB - 1]
    assert log(1) == [*sizes[2:], 1, MIB - 1, 1]


def holder(pid: str = "42", device_time: str = "", endpoint: str = "") -> Holder:
    return Holder(
        1, "c", 0, sent="c.1", operator=OPERATOR, operatorPid=pid, deviceTime=device_time, endpoint=endpoint
    )


def logged(message: str) -> bytes:
    return f"11-15 10:00:00.000    42    42 I Operator: {message}\n".encode()


def result(command_id: str) -> bytes:
    return logged(f"[Clawperator-Result] {json.dumps({'commandId': command_id})}")


def ended(output: bytes, code: int | None = None, *, pid: str = "42", complaint: bytes = b"") -> bool:
    stream = packet(2, complaint) + packet(1, output) + (b"" if code is None else packet(3, bytes([code])))
    with scripted(OKAY, OKAY, after=stream) as device:
        return has_finished(device, holder(pid), 60.0)


@pytest.mark.parametrize(
    ("output", "code", "has_ended"),
    [
        (b"process 42\n" + result("c.1"), None, True),
        (b"process 42\n" + logged("working") + b"----- main\n" + result("c.1"), None, True),
        (b"process 42\n" + result("c.2"), 1, False),
        (b"process 42\n" + logged("working"), 1, False),
        (b"process 42\n", None, False),
        (b"process 42 43\n", 1, False),
        (b"process 43\n", 1, True),
        (b"process 43 42\n", 1, True),
        (b"process \n", 1, True),
        (b"", 5, True),
        (b"", 1, False),
        (b"", None, False),
    ],
)
def test_a_command_has_ended_with_its_result_or_its_process(
    output: bytes, code: int | None, *, has_ended: bool
) -> None:
    assert ended(output, code) is has_ended


def test_without_a_known_process_only_the_result_counts() -> None:
    assert ended(b"process 43\n", 1, pid="") is False
    assert ended(b"process 43\n" + result("c.1"), pid="") is True


def test_complaints_are_not_part_of_the_log() -> None:
    assert ended(b"process 42\n", 1, complaint=b"process 43\n" + result("c.1")) is False


def test_a_simulated_phone_that_was_restarted_runs_nothing() -> None:
    phone = Device("claw-1", Endpoint("127.0.0.1", 1, simulated=True))
    assert has_finished(phone, holder(endpoint="127.0.0.1:2"), 60.0) is True


@pytest.mark.parametrize("error", [RefusedError("closed"), TimeoutError(), ConnectionResetError()])
def test_a_device_that_does_not_answer_may_still_run_it(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def stream(*_: object) -> object:
        raise error

    monkeypatch.setattr(operator_link, "ShellStream", stream)
    assert has_finished(Device("x", Endpoint("127.0.0.1", 1)), holder(), 60.0) is False


@pytest.mark.parametrize(("device_time", "since"), [("1700000000.5", "-T 1700000000.5 "), ("", "")])
def test_the_log_is_read_from_the_time_of_the_command(
    device_time: str, since: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts: list[str] = []

    def stream(_: Device, script: str, __: object) -> object:
        scripts.append(script)
        raise RefusedError("closed")

    monkeypatch.setattr(operator_link, "ShellStream", stream)
    has_finished(Device("x", Endpoint("127.0.0.1", 1)), holder(device_time=device_time), 60.0)
    find = f"P=$(pidof {OPERATOR}) || exit 5; echo process $P"
    assert scripts == [f'{find}; exec logcat -b main -v threadtime {since}--pid="${{P%% *}}"']
