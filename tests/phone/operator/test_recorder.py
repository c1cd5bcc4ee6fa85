"""The recorder: the contract's file format, one session at a time, losses reported."""

import errno
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, BinaryIO

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.contract.limits import MAX_RECORDING_LINE_BYTES
from clawperator.engine.driver import RecordingInfo
from clawperator.errors import ClawError
from clawperator.phone.core.events import AccessibilityEvent
from clawperator.phone.operator.recorder import Recorder, describe
from clawperator.phone.storage.filesystem import Storage
from clawperator.recording.events import decode_event, decode_header
from clawperator.ui.node import Bounds
from tests.support.hanging import HANG_SECONDS

PACKAGE = "com.clawperator.operator.dev"
FOLDER = f"/storage/emulated/0/Android/data/{PACKAGE}/files/recordings"
WINDOW = AccessibilityEvent(kind="window_state_changed", package="app", class_name="app.Main", title="Home")
CLICK = AccessibilityEvent(
    kind="view_clicked", package="app", resource_id="app:id/ok", text=" OK ", bounds=Bounds(1, 2, 3, 4)
)
TYPED = AccessibilityEvent(kind="view_text_changed", package="app", text="l")
BACK = AccessibilityEvent(kind="key_back", package="")


class Clock:
    def __init__(self) -> None:
        self.now = 1_710_000_000_000

    def __call__(self) -> int:
        self.now += 10
        return self.now


@pytest.fixture
def storage() -> Iterator[Storage]:
    storage = Storage(None)
    yield storage
    storage.close()


@pytest.fixture
def recorder(storage: Storage) -> Iterator[Recorder]:
    recorder = Recorder(storage, Clock(), Random(1), PACKAGE)
    yield recorder
    recorder.abandon()


def shown() -> str | None:
    return "<hierarchy/>"


def lines(storage: Storage, session: str) -> list[Any]:
    return [json.loads(line) for line in storage.read(f"{FOLDER}/{session}.ndjson").splitlines()]


def refused(call: Callable[[], object]) -> ClawError:
    with pytest.raises(ClawError) as caught:
        call()
    return caught.value


def test_a_session_is_a_file_of_the_contract(recorder: Recorder, storage: Storage) -> None:
    path = f"{FOLDER}/demo.ndjson"
    assert recorder.start("demo") == RecordingInfo("demo", path)
    for event in (WINDOW, CLICK, TYPED, BACK):
        recorder.on_event(event, shown)
    assert recorder.stop("demo") == RecordingInfo("demo", path, 4)
    header, *events = storage.read(path).decode().splitlines()
    assert header == (
        '{"type":"recording_header","schemaVersion":1,"sessionId":"demo","startedAt":1710000000010,'
        f'"operatorPackage":"{PACKAGE}"}}'
    )
    assert events == [
        '{"ts":1710000000020,"seq":0,"snapshot":"<hierarchy/>","packageName":"app","className":"app.Main","title":"Home","type":"window_change"}',
        '{"ts":1710000000030,"seq":1,"snapshot":"<hierarchy/>","packageName":"app","resourceId":"app:id/ok","text":"OK","contentDesc":null,"bounds":{"left":1,"top":2,"right":3,"bottom":4},"type":"click"}',
        '{"ts":1710000000040,"seq":2,"snapshot":null,"packageName":"app","resourceId":null,"text":"l","type":"text_change"}',
        '{"ts":1710000000050,"seq":3,"snapshot":"<hierarchy/>","key":"back","type":"press_key"}',
    ]
    assert storage.read("/sdcard/Android/data/com.clawperator.operator.dev/files/recordings/latest") == b"demo"


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (
            AccessibilityEvent(kind="window_state_changed", package=" ", title=" ", content_desc="\n", text=" T "),
            {"packageName": "", "className": None, "title": "T", "type": "window_change"},
        ),
        (
            AccessibilityEvent(
                kind="view_clicked", package="app", text=" ", content_desc=" Back ", resource_id=""
            ),
            {
                "packageName": "app",
                "resourceId": None,
                "text": None,
                "contentDesc": "Back",
                "bounds": Bounds(0, 0, 0, 0)._asdict(),
                "type": "click",
            },
        ),
        (
            AccessibilityEvent(
                kind="view_scrolled", package="app", resource_id="app:id/list", scroll=(0, 420, 0, 2800)
            ),
            {
                "packageName": "app",
                "resourceId": None,
                "scrollX": 0,
                "scrollY": 420,
                "maxScrollX": 0,
                "maxScrollY": 2800,
                "type": "scroll",
            },
        ),
        (
            AccessibilityEvent(kind="view_text_changed", package="app", text=" two words "),
            {"packageName": "app", "resourceId": None, "text": " two words ", "type": "text_change"},
        ),
        (
            AccessibilityEvent(kind="view_text_changed", package="app", text="  "),
            {"packageName": "app", "resourceId": None, "text": "", "type": "text_change"},
        ),
    ],
)
def test_an_event_is_written_with_the_fields_of_the_contract(
    event: AccessibilityEvent, expected: dict[str, Any]
) -> None:
    assert describe(event) == expected


def test_a_click_on_an_empty_rectangle_has_empty_bounds() -> None:
    event = AccessibilityEvent(kind="view_clicked", package="app", bounds=Bounds(5, 5, 5, 9))
    assert describe(event)["bounds"] == Bounds(0, 0, 0, 0)._asdict()


@pytest.mark.random
@given(
    st.lists(
        st.builds(
            AccessibilityEvent,
            kind=st.sampled_from(
                ["window_state_changed", "view_clicked", "view_scrolled", "view_text_changed", "key_back"]
            ),
            package=st.text(max_size=5),
            text=st.none() | st.text(st.characters(), max_size=5) | st.just("\ud83d"),
            bounds=st.none() | st.builds(Bounds, *[st.integers(-9, 9)] * 4),
        ),
        max_size=8,
    ),
    st.none() | st.text(max_size=9),
)
def test_any_sequence_of_events_gives_a_readable_file(
    events: list[AccessibilityEvent], snapshot: str | None
) -> None:
    storage = Storage(None)
    try:
        recorder = Recorder(storage, Clock(), Random(1), PACKAGE)
        recorder.start("s")
        for event in events:
            recorder.on_event(event, lambda: snapshot)
        recorded = recorder.stop()
        header, *rest = storage.read(recorded.file_path).splitlines(keepends=True)
    finally:
        storage.close()
    assert decode_header(header, "s").sessionId == "s"
    assert [decode_event(line).seq for line in rest] == list(range(len(events)))
    assert recorded.events == len(events)


def test_typing_at_full_speed_shows_every_change(recorder: Recorder, storage: Storage) -> None:
    recorder.start("s")
    for end in range(1, 7):
        event = AccessibilityEvent(kind="view_text_changed", package="app", text="linkin"[:end])
        recorder.on_event(event, shown)
    recorder.stop()
    assert [line["text"] for line in lines(storage, "s")[1:]] == ["l", "li", "lin", "link", "linki", "linkin"]


def test_the_operators_own_events_are_not_recorded(recorder: Recorder) -> None:
    recorder.start("s")
    for package in ("com.clawperator.operator", "com.clawperator.operator.dev"):
        recorder.on_event(AccessibilityEvent(kind="view_clicked", package=package), shown)
    assert recorder.stop().events == 0


def test_no_snapshot_is_taken_without_a_session_or_for_an_event_that_has_none(recorder: Recorder) -> None:
    def never() -> str | None:
        raise AssertionError

    recorder.on_event(WINDOW, never)
    recorder.start("s")
    recorder.on_event(TYPED, never)
    assert recorder.stop().events == 1


def test_a_snapshot_beyond_the_readers_limit_is_left_out(recorder: Recorder, storage: Storage) -> None:
    recorder.start("s")
    recorder.on_event(WINDOW, lambda: "x" * MAX_RECORDING_LINE_BYTES)
    recorder.stop()
    assert lines(storage, "s")[1]["snapshot"] is None


def test_a_line_beyond_the_readers_limit_is_dropped_and_reported(recorder: Recorder, storage: Storage) -> None:
    recorder.start("s")
    recorder.on_event(
        AccessibilityEvent(kind="view_text_changed", package="app", text="x" * MAX_RECORDING_LINE_BYTES), shown
    )
    recorder.on_event(TYPED, shown)
    error = refused(recorder.stop)
    assert (error.code, (error.details or {})["droppedCount"]) == ("RECORDING_STOP_FAILED", 1)
    assert [line["seq"] for line in lines(storage, "s")[1:]] == [1]


def test_a_second_session_is_refused_with_the_command_that_stops_the_first(recorder: Recorder) -> None:
    recorder.start("first")
    error = refused(lambda: recorder.start("second"))
    assert (error.code, error.message) == ("RECORDING_ALREADY_IN_PROGRESS", "Recording is already in progress")
    assert error.details == {"sessionId": "first", "filePath": f"{FOLDER}/first.ndjson"}
    assert f"clawperator recording stop --session-id first --operator-package {PACKAGE}" in (error.hint or "")
    assert recorder.session_id == "first"


def test_stopping_nothing_is_refused(recorder: Recorder) -> None:
    error = refused(recorder.stop)
    assert (error.code, error.message) == ("RECORDING_NOT_IN_PROGRESS", "Recording is not in progress")


def test_a_wrong_session_id_stops_nothing(recorder: Recorder, storage: Storage) -> None:
    recorder.start("mine")
    error = refused(lambda: recorder.stop("yours"))
    assert error.code == "RECORDING_NOT_IN_PROGRESS"
    assert error.details == {"sessionId": "mine", "filePath": f"{FOLDER}/mine.ndjson"}
    assert "--session-id mine" in (error.hint or "")
    assert not storage.exists(f"{FOLDER}/latest")
    assert recorder.stop("mine").events == 0


def test_an_existing_recording_is_never_touched(recorder: Recorder, storage: Storage) -> None:
    recorder.start("s")
    recorder.on_event(CLICK, shown)
    recorder.stop()
    before = storage.read(f"{FOLDER}/s.ndjson")
    error = refused(lambda: recorder.start("s"))
    assert (error.code, (error.details or {})["sessionId"]) == ("RECORDING_START_FAILED", "s")
    assert error.hint
    assert storage.read(f"{FOLDER}/s.ndjson") == before
    assert recorder.session_id is None


@pytest.mark.parametrize("session_id", ["", "../x", "a b", "a/b", "ä", "x" * 129, "a\n"])
def test_an_invalid_session_id_is_refused(recorder: Recorder, session_id: str) -> None:
    assert refused(lambda: recorder.start(session_id)).code == "RECORDING_START_FAILED"
    assert recorder.session_id is None


def test_a_session_without_a_name_gets_an_unused_one(storage: Storage) -> None:
    def first_name() -> str:
        # The same seed and the same time, as when a phone is started again.
        recorder = Recorder(storage, lambda: 1_710_000_000_000, Random(1), PACKAGE)
        name = recorder.start().session_id
        recorder.stop()
        return name

    names = [first_name() for _ in range(3)]
    assert len(set(names)) == 3
    for name in names:
        prefix, time_ms, digits = name.split("-")
        assert (prefix, time_ms, len(digits)) == ("record", "1710000000000", 8)
        int(digits, 16)


def test_a_full_storage_at_the_start_is_reported(recorder: Recorder, storage: Storage) -> None:
    storage.full = True
    assert refused(lambda: recorder.start("s")).code == "RECORDING_STORAGE_UNAVAILABLE"
    storage.full = False
    assert recorder.start("s").session_id == "s"


def test_a_header_that_cannot_be_written_leaves_no_file(
    recorder: Recorder, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = storage.open

    def full_once_open(path: str, mode: str = "rb") -> BinaryIO:
        file = opened(path, mode)
        storage.full = mode == "xb"
        return file

    monkeypatch.setattr(storage, "open", full_once_open)
    assert refused(lambda: recorder.start("s")).code == "RECORDING_STORAGE_UNAVAILABLE"
    assert storage.list(FOLDER) == []


def test_events_lost_to_a_full_storage_are_counted_and_reported(recorder: Recorder, storage: Storage) -> None:
    recorder.start("s")
    recorder.on_event(CLICK, shown)
    storage.full = True
    recorder.on_event(CLICK, shown)
    recorder.on_event(TYPED, shown)
    storage.full = False
    recorder.on_event(TYPED, shown)
    error = refused(recorder.stop)
    assert error.code == "RECORDING_STOP_FAILED"
    assert error.message == "2 of 4 events could not be written: No space left on device"
    assert error.details == {
        "sessionId": "s",
        "filePath": f"{FOLDER}/s.ndjson",
        "eventCount": 2,
        "droppedCount": 2,
    }
    assert [line["seq"] for line in lines(storage, "s")[1:]] == [0, 3]
    assert storage.read(f"{FOLDER}/latest") == b"s"
    assert refused(recorder.stop).code == "RECORDING_NOT_IN_PROGRESS"


def test_a_partial_line_on_a_full_disk_is_removed(
    recorder: Recorder, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = storage.open

    class Filling:
        """A file on a disk that fills up within the third line."""

        def __init__(self, file: BinaryIO) -> None:
            self._file = file
            self._writes = 0

        def write(self, data: bytes) -> int:
            self._writes += 1
            if self._writes == 3:
                self._file.write(data[:10])
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return self._file.write(data)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._file, name)

    monkeypatch.setattr(storage, "open", lambda path, mode="rb": Filling(opened(path, mode)))
    recorder.start("s")
    monkeypatch.undo()
    for _ in range(3):
        recorder.on_event(TYPED, shown)
    refused(recorder.stop)
    assert [line["seq"] for line in lines(storage, "s")[1:]] == [0, 2]


def test_a_removed_file_is_reported(recorder: Recorder, storage: Storage) -> None:
    recorder.start("s")
    recorder.on_event(TYPED, shown)
    storage.remove(f"{FOLDER}/s.ndjson")
    error = refused(recorder.stop)
    assert error.code == "RECORDING_STOP_FAILED"
    assert "No such file" in error.message
    assert not storage.exists(f"{FOLDER}/latest")


def test_a_failure_to_write_latest_is_reported_and_the_recording_is_kept(
    recorder: Recorder, storage: Storage
) -> None:
    recorder.start("s")
    recorder.on_event(TYPED, shown)
    storage.full = True
    error = refused(recorder.stop)
    assert (error.code, (error.details or {})["eventCount"]) == ("RECORDING_STOP_FAILED", 1)
    assert error.message == "cannot write 'latest': No space left on device"
    assert len(lines(storage, "s")) == 2


def test_a_crash_keeps_what_was_written_and_does_not_update_latest(recorder: Recorder, storage: Storage) -> None:
    recorder.start("old")
    recorder.stop()
    recorder.start("new")
    recorder.on_event(CLICK, shown)
    recorder.abandon()
    recorder.on_event(CLICK, shown)
    assert len(lines(storage, "new")) == 2
    assert storage.read(f"{FOLDER}/latest") == b"old"
    assert refused(recorder.stop).code == "RECORDING_NOT_IN_PROGRESS"


def test_a_killed_phone_loses_no_recorded_event(tmp_path: Path) -> None:
    script = """
import os, random, signal, sys
from clawperator.phone.core.events import AccessibilityEvent
from clawperator.phone.operator.recorder import Recorder
from clawperator.phone.storage.filesystem import Storage
recorder = Recorder(Storage(sys.argv[1]), lambda: 0, random.Random(1), "pkg")
recorder.start("s")
for i in range(50):
    recorder.on_event(AccessibilityEvent(kind="view_clicked", package="app"), lambda: "x" * 5000)
os.kill(os.getpid(), signal.SIGKILL)
"""
    ran = subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=False, timeout=30)
    assert ran.returncode == -signal.SIGKILL
    data = (tmp_path / "storage/emulated/0/Android/data/pkg/files/recordings/s.ndjson").read_bytes()
    assert data.endswith(b"\n")
    assert [decode_event(line).seq for line in data.splitlines()[1:]] == list(range(50))


def test_events_from_many_threads_are_numbered_in_the_order_of_the_file(
    recorder: Recorder, storage: Storage
) -> None:
    recorder.start("s")

    def click() -> None:
        for _ in range(50):
            recorder.on_event(CLICK, shown)

    threads = [threading.Thread(target=click) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG_SECONDS)
    assert recorder.stop().events == 200
    assert [line["seq"] for line in lines(storage, "s")[1:]] == list(range(200))


def test_a_session_is_reported_in_the_phones_log(storage: Storage) -> None:
    messages: list[tuple[str, str]] = []
    recorder = Recorder(
        storage, Clock(), Random(1), PACKAGE, lambda priority, text: messages.append((priority, text))
    )
    recorder.start("s")
    recorder.on_event(WINDOW, lambda: None)
    refused(lambda: recorder.stop("t\n"))
    recorder.stop()
    assert [(priority, text.split()[0]) for priority, text in messages] == [
        ("I", "SESSION_STARTED"),
        ("W", "SNAPSHOT_NULL"),
        ("W", "SESSION_ID_MISMATCH"),
        ("I", "SESSION_STOPPED"),
    ]
    assert "t\\n" in messages[2][1]


def test_the_text_of_a_password_field_is_masked(recorder: Recorder, storage: Storage) -> None:
    def field(text: str) -> str:
        return f'<hierarchy><node text="{text}" class="android.widget.EditText" password="true" /></hierarchy>'

    def showing(xml: str | None) -> Callable[[], str | None]:
        return lambda: xml

    recorder.start("p")
    events = (
        (TYPED, {"text": "hunter"}, None),
        (CLICK, {"text": "Hunter2"}, field("Hunter2")),
        (CLICK, {"text": "Password"}, field("Password")),
    )
    for event, changes, xml in events:
        recorder.on_event(msgspec.structs.replace(event, is_password=True, **changes), showing(xml))
    recorder.stop("p")
    _, *lines = storage.read(f"{FOLDER}/p.ndjson").splitlines()
    typed, clicked, hint = map(json.loads, lines)
    assert (typed["type"], typed["text"]) == ("text_change", "••••••")
    assert (clicked["text"], clicked["snapshot"]) == ("•••••••", field("•••••••"))
    assert (hint["text"], hint["snapshot"]) == ("Password", field("Password"))
