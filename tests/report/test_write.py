"""Writing reports: what is recognised, what is refused, where the file goes."""

import json
import os
import stat
from pathlib import Path

import pytest

from clawperator.errors import ClawError
from clawperator.report.write import write_report
from tests.recording.samples import HEADER, write
from tests.report.samples import shopping


def refused(path: Path, **options: str) -> ClawError:
    with pytest.raises(ClawError) as caught:
        write_report(str(path), **options)
    return caught.value


def test_the_kind_is_recognised_by_the_content(tmp_path: Path) -> None:
    path = write(tmp_path / "anything.txt", shopping())
    assert write_report(str(path)).kind == "Recording"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"hello",
        b"[]",
        b"{}",
        b"3",
        b"\xff\xfe",
        b'{"steps": 1, "skillResult": 2}',
        b'{"envelope": []}',
        b"[" * 5_000,
    ],
)
def test_anything_else_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file.json"
    path.write_bytes(content)
    error = refused(path)
    assert error.code == "REPORT_FAILED"
    assert "result of a replay or of a skill" in error.hint
    assert list(tmp_path.iterdir()) == [path]


def test_a_header_may_follow_blank_lines_and_be_spelled_in_any_way(tmp_path: Path) -> None:
    path = write(tmp_path / "demo.ndjson", shopping())
    content = path.read_bytes().replace(b"recording_header", b"recording\\u005fheader")
    path.write_bytes(b"\xef\xbb\xbf\n\xc2\xa0\n" + content)
    assert write_report(str(path)).kind == "Recording"


def test_another_version_of_recordings_is_refused_as_such(tmp_path: Path) -> None:
    path = write(tmp_path / "demo.ndjson", [], {**HEADER, "schemaVersion": 2})
    assert refused(path).code == "RECORDING_SCHEMA_VERSION_UNSUPPORTED"


def test_a_damaged_recording_is_refused_as_by_other_commands(tmp_path: Path) -> None:
    path = write(tmp_path / "demo.ndjson", shopping())
    path.write_bytes(path.read_bytes()[:-40])
    error = refused(path)
    assert error.code == "RECORDING_PARSE_FAILED"
    assert "repair" in error.hint


def test_a_pipe_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "named pipe" in refused(tmp_path / "pipe").message
    assert "No such file" in refused(tmp_path / "missing").message


def test_only_recordings_can_be_compared(tmp_path: Path) -> None:
    recording = write(tmp_path / "demo.ndjson", shopping())
    run = tmp_path / "run.json"
    run.write_text(json.dumps({"skillResult": None}))
    error = refused(run, run=str(recording))
    assert error.hint == f"Run 'clawperator report {recording} --compare {run}', or compare with nothing."


def test_the_inputs_are_not_overwritten(tmp_path: Path) -> None:
    recording = write(tmp_path / "demo.ndjson", shopping())
    other = write(tmp_path / "other.ndjson", shopping())
    content = recording.read_bytes()
    assert refused(recording, out=str(recording)).code == "REPORT_FAILED"
    assert refused(recording, run=str(other), out=str(other)).code == "REPORT_FAILED"
    assert recording.read_bytes() == content == other.read_bytes()


def test_the_report_is_private_and_the_same_each_time(tmp_path: Path) -> None:
    recording = write(tmp_path / "demo.ndjson", shopping())
    first = write_report(str(recording), out=str(tmp_path / "new" / "one.html"))
    second = write_report(str(recording))
    assert second.outputFile == f"{recording}.report.html"
    assert Path(first.outputFile).read_bytes() == Path(second.outputFile).read_bytes()
    assert stat.S_IMODE(os.stat(first.outputFile).st_mode) == 0o600
    assert first.bytes == os.path.getsize(first.outputFile)
