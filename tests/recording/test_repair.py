"""repair: every complete event is kept, dropped lines are listed, the damaged file is unchanged."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.contract.limits import MAX_RECORDING_LINE_BYTES
from tests.recording.samples import HEADER, click, event_lists, typed, window, write
from tests.support.running import clawperator


def repair(path: Path) -> Any:
    ran = clawperator("recording", "repair", "--input", str(path))
    assert ran.code == 0, ran.json
    return ran.json


def test_a_recording_cut_off_by_a_crash_is_salvaged(tmp_path: Path) -> None:
    source = write(tmp_path / "a.ndjson", [window(0), click(1), typed(2, "x")])
    whole = source.read_bytes()
    source.write_bytes(whole[:-20])
    refused = clawperator("recording", "export", "--input", str(source))
    assert (refused.code, refused.json["code"]) == (1, "RECORDING_PARSE_FAILED")
    assert f"recording repair --input {source}" in refused.json["hint"]
    cut = len(whole.splitlines()[-1]) + 1 - 20
    assert repair(source) == {
        "ok": True,
        "outputFile": str(tmp_path / "a.repaired.ndjson"),
        "sessionId": "demo-session",
        "eventCount": 2,
        "droppedCount": 1,
        "dropped": [{"fileLine": 4, "bytes": cut, "reason": "not valid JSON: Input data was truncated"}],
    }
    assert source.read_bytes() == whole[:-20]
    assert (tmp_path / "a.repaired.ndjson").read_bytes() == b"".join(whole.splitlines(keepends=True)[:3])
    assert clawperator("recording", "export", "--input", str(tmp_path / "a.repaired.ndjson")).code == 0


def test_damage_in_the_middle_and_before_the_header_is_passed_over(tmp_path: Path) -> None:
    source = write(tmp_path / "a.ndjson", [window(0), click(1)])
    header, first, second = source.read_bytes().splitlines()
    long = b"x" * (3 * MAX_RECORDING_LINE_BYTES)
    damaged = [b"\0\0\0", header, first, b"\xff", header, long, b"", b"null", second, long]
    source.write_bytes(b"\r\n".join(damaged))
    result = repair(source)
    assert result["eventCount"] == 2
    assert [d["fileLine"] for d in result["dropped"]] == [1, 4, 5, 6, 8, 10]
    assert result["dropped"][3]["bytes"] == len(long) + 2
    assert result["dropped"][5]["bytes"] == len(long)
    assert (tmp_path / "a.repaired.ndjson").read_bytes().splitlines() == [header, first, second]


def test_without_a_header_nothing_can_be_kept(tmp_path: Path) -> None:
    source = tmp_path / "a.ndjson"
    source.write_text(json.dumps(click(1)))
    ran = clawperator("recording", "repair", "--input", str(source))
    assert (ran.code, ran.json["code"]) == (1, "RECORDING_PARSE_FAILED")
    assert not (tmp_path / "a.repaired.ndjson").exists()


def test_another_version_is_not_repaired(tmp_path: Path) -> None:
    source = write(tmp_path / "a.ndjson", [], {**HEADER, "schemaVersion": 3})
    ran = clawperator("recording", "repair", "--input", str(source))
    assert (ran.code, ran.json["code"]) == (1, "RECORDING_SCHEMA_VERSION_UNSUPPORTED")


@pytest.mark.random
@given(items=event_lists, cut=st.integers(0, 400), junk=st.binary(max_size=20))
def test_what_repair_writes_is_always_a_recording(
    tmp_path_factory: pytest.TempPathFactory, items: list[Any], cut: int, junk: bytes
) -> None:
    folder = tmp_path_factory.mktemp("r")
    source = write(folder / "a.ndjson", items)
    data = source.read_bytes()
    keep = max(len(data) - cut, len(data.splitlines(keepends=True)[0]))
    source.write_bytes(data[:keep] + junk)
    kept = repair(source)["eventCount"]
    assert kept >= data[:keep].count(b"\n") - 1 - (junk.count(b"\n") + 1)
    ran = clawperator("recording", "export", "--input", str(folder / "a.repaired.ndjson"))
    assert (ran.code, ran.json["eventCount"]) == (0, kept)
