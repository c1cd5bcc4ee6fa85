"""parse: the step log, its warnings and its errors."""

import json
from pathlib import Path
from typing import Any

import pytest

from clawperator.recording import parse as parse_module
from tests.recording.samples import HEADER, back, click, scroll, typed, window, write
from tests.support.running import clawperator
from tests.support.schema_checks import assert_fits_schema


def parse(path: Path, *more: str) -> Any:
    ran = clawperator("record", "parse", "--input", str(path), *more)
    assert ran.code == 0, ran.json
    return ran.json


def test_the_answer_names_the_file_and_counts_its_steps(tmp_path: Path) -> None:
    source = write(tmp_path / "demo-session.ndjson", [window(0), click(1), typed(2, "x"), scroll(3)])
    assert parse(source) == {
        "ok": True,
        "outputFile": str(tmp_path / "demo-session.steps.json"),
        "stepCount": 2,
        "warnings": ["seq 3: scroll event dropped (not extracted in v1)"],
    }


def test_the_log_is_written_as_the_reference_writes_it(tmp_path: Path) -> None:
    source = write(tmp_path / "a.ndjson", [window(0), click(1), back(2), scroll(3)])
    parse(source)
    text = (tmp_path / "a.steps.json").read_text("utf-8")
    assert_fits_schema("recording-steps", json.loads(text))
    assert text == json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    assert json.loads(text) == {
        "sessionId": "demo-session",
        "schemaVersion": 1,
        "steps": [
            {
                "seq": 0,
                "type": "open_app",
                "packageName": "com.android.settings",
                "uiStateBefore": "<hierarchy .../>",
            },
            {
                "seq": 1,
                "type": "click",
                "packageName": "com.android.settings",
                "resourceId": "android:id/title",
                "text": "Connected devices",
                "contentDesc": None,
                "bounds": {"left": 216, "top": 1503, "right": 661, "bottom": 1573},
                "uiStateBefore": "<hierarchy .../>",
            },
        ],
        "_warnings": ["seq 3: scroll event dropped (not extracted in v1)"],
    }
    assert list(json.loads(text)["steps"][1])[-1] == "uiStateBefore"


def test_warnings_are_absent_when_there_are_none(tmp_path: Path) -> None:
    source = write(tmp_path / "a.ndjson", [window(0), back(1), typed(2, "x")])
    assert "warnings" not in parse(source)
    assert "_warnings" not in json.loads((tmp_path / "a.steps.json").read_text())


def test_only_the_first_window_change_opens_an_app_and_every_click_counts(tmp_path: Path) -> None:
    source = write(tmp_path / "a.ndjson", [click(0), window(1), window(2), click(3), window(4)])
    parse(source)
    made = json.loads((tmp_path / "a.steps.json").read_text())["steps"]
    assert [(s["seq"], s["type"]) for s in made] == [(0, "click"), (1, "open_app"), (3, "click")]


def test_steps_stand_in_seq_order_and_missing_snapshots_in_file_order(tmp_path: Path) -> None:
    late = [click(5, snapshot=None), scroll(4), window(0, snapshot=None), back(3), scroll(2), click(1)]
    result = parse(write(tmp_path / "a.ndjson", late))
    made = json.loads((tmp_path / "a.steps.json").read_text())["steps"]
    assert [s["seq"] for s in made] == [0, 1, 5]
    assert [w.split(":")[0] for w in result["warnings"]] == ["seq 5", "seq 0", "seq 2", "seq 4"]


def test_a_missing_snapshot_is_null_and_an_empty_one_is_empty(tmp_path: Path) -> None:
    bare = window(0)
    del bare["snapshot"]
    source = write(tmp_path / "a.ndjson", [bare, click(1, snapshot="")])
    result = parse(source)
    made = json.loads((tmp_path / "a.steps.json").read_text())["steps"]
    assert [s["uiStateBefore"] for s in made] == [None, ""]
    assert len(result["warnings"]) == 1


def test_events_of_equal_seq_keep_the_order_of_the_file(tmp_path: Path) -> None:
    same = [click(7, "a"), click(3, "b"), click(7, "c"), click(3, "d")]
    parse(write(tmp_path / "a.ndjson", same))
    made = json.loads((tmp_path / "a.steps.json").read_text())["steps"]
    assert [s["text"] for s in made] == ["b", "d", "a", "c"]


def test_a_header_alone_is_a_recording_of_no_steps(tmp_path: Path) -> None:
    source = write(tmp_path / "a.ndjson", [])
    assert parse(source)["stepCount"] == 0
    assert json.loads((tmp_path / "a.steps.json").read_text())["steps"] == []


def test_people_get_a_line_per_step_on_stderr(tmp_path: Path) -> None:
    clicks = [window(0), click(1), click(2, None, resourceId=None), click(3, "a\x1b[2Jb\u202e")]
    source = write(tmp_path / "a.ndjson", clicks)
    ran = clawperator("record", "parse", "--input", str(source))
    assert ran.err.splitlines() == [
        "[0] open_app   com.android.settings",
        '[1] click      text="Connected devices" resourceId=android:id/title',
        "[2] click      (no selector)",
        '[3] click      text="a\\x1b[2Jb\\u202e" resourceId=android:id/title',
    ]
    quiet = clawperator("record", "parse", "--input", str(source), "--log-level", "error")
    assert quiet.err == ""


def test_out_is_used_as_it_is_and_other_names_get_the_ending_appended(tmp_path: Path) -> None:
    source = write(tmp_path / "a.txt", [window(0)])
    assert parse(source)["outputFile"] == f"{source}.steps.json"
    assert parse(source, "--out", str(tmp_path / "x"))["outputFile"] == str(tmp_path / "x")
    assert (tmp_path / "x").exists()


def test_many_warnings_are_all_in_the_file_and_capped_in_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parse_module, "MAX_REPORTED", 3)
    source = write(tmp_path / "a.ndjson", [click(0, snapshot=None), *(scroll(i) for i in range(1, 9))])
    result = parse(source)
    assert len(result["warnings"]) == 3
    assert result["warningCount"] == 9
    assert len(json.loads((tmp_path / "a.steps.json").read_text())["_warnings"]) == 9


def test_a_failed_run_leaves_the_old_file(tmp_path: Path) -> None:
    source = write(tmp_path / "a.ndjson", [window(0)])
    parse(source)
    before = (tmp_path / "a.steps.json").read_bytes()
    source.write_bytes(source.read_bytes() + b'{"ts":1')
    ran = clawperator("record", "parse", "--input", str(source))
    assert ran.code == 1
    assert (tmp_path / "a.steps.json").read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.ndjson", "a.steps.json"]


def test_the_recording_itself_is_never_overwritten(tmp_path: Path) -> None:
    source = write(tmp_path / "a.ndjson", [window(0)])
    link = tmp_path / "link"
    link.symlink_to(source)
    for out in (source, link, tmp_path / "." / "a.ndjson"):
        ran = clawperator("record", "parse", "--input", str(source), "--out", str(out))
        assert (ran.code, ran.json["code"]) == (1, "RECORDING_PARSE_FAILED")
    assert b"recording_header" in source.read_bytes()


def test_without_input_it_is_a_usage_error() -> None:
    ran = clawperator("record", "parse")
    assert (ran.code, ran.json["code"]) == (1, "USAGE")
    assert clawperator("record", "parse", "--input").code == 1


@pytest.mark.parametrize("where", ["nowhere.ndjson", "", "a\0b"])
def test_an_input_that_cannot_be_read_is_a_typed_error(tmp_path: Path, where: str) -> None:
    ran = clawperator("record", "parse", "--input", str(tmp_path) + "/" + where)
    assert (ran.code, ran.json["code"]) == (1, "RECORDING_PARSE_FAILED")
    assert ran.json["hint"]


def test_a_folder_that_does_not_exist_is_a_typed_error(tmp_path: Path) -> None:
    source = write(tmp_path / "a.ndjson", [window(0)], HEADER)
    ran = clawperator("record", "parse", "--input", str(source), "--out", str(tmp_path / "no" / "x"))
    assert (ran.code, ran.json["code"]) == (1, "RECORDING_PARSE_FAILED")
    assert "No such file" in ran.json["message"]
