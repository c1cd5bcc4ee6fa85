"""export: the document, byte for byte, and the way back."""

import json
import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from clawperator.recording.export import export_recording, read_export
from tests.recording.samples import HEADER, back, click, event_lists, scroll, typed, window, write
from tests.support.paths import CAPTURES, GOLDEN
from tests.support.running import clawperator
from tests.support.schema_checks import assert_fits_schema

REAL_EXPORTS = CAPTURES / "exports"
FIVE = [window(0), click(1), scroll(2), back(3), typed(4, "é", "com.google.android.youtube")]


def export(path: Path, *more: str) -> Any:
    ran = clawperator("recording", "export", "--input", str(path), *more)
    assert ran.code == 0, ran.json
    return ran.json


def recording_of(document: Any) -> list[dict[str, Any]]:
    """The raw events an export must have come from."""
    raw = []
    for event in document["events"]:
        snapshot = event["snapshot"]
        kept = {k: v for k, v in event.items() if k not in ("deltaMsSincePrevious", "snapshot")}
        kept["snapshot"] = snapshot["xml"] or ("<hierarchy/>" if snapshot["present"] else None)
        # As a phone writes it: type last.
        raw.append({**{k: v for k, v in kept.items() if k != "type"}, "type": kept["type"]})
    return raw


def test_the_answer_is_a_summary(tmp_path: Path) -> None:
    source = write(tmp_path / "demo-session.ndjson", FIVE)
    assert export(source) == {
        "ok": True,
        "outputFile": str(tmp_path / "demo-session.export.json"),
        "sessionId": "demo-session",
        "eventCount": 5,
        "packageTransitionCount": 1,
        "byType": {"window_change": 1, "click": 1, "scroll": 1, "press_key": 1, "text_change": 1},
    }


def test_the_document_is_the_golden_one(tmp_path: Path) -> None:
    golden = GOLDEN
    for mode in ("omit", "include"):
        source = write(tmp_path / "five.ndjson", FIVE)
        out = tmp_path / f"five.{mode}.export.json"
        export(source, "--snapshots", mode, "--out", str(out))
        assert out.read_bytes() == (golden / f"recording-export.{mode}.json").read_bytes()


@pytest.mark.skipif(not REAL_EXPORTS.is_dir(), reason="the shared captures are not here")
@pytest.mark.parametrize("name", ["energy-usage", "home-climate", "solar-discharge-limit"])
def test_a_reference_export_is_reproduced_byte_for_byte_from_its_recording(tmp_path: Path, name: str) -> None:
    written = (REAL_EXPORTS / f"{name}.export.json").read_bytes()
    document = json.loads(written)
    header = {"type": "recording_header", **document["session"]}
    source = write(tmp_path / "a.ndjson", recording_of(document), header)
    export(source)
    assert (tmp_path / "a.export.json").read_bytes() == written


@pytest.mark.random
@given(items=event_lists)
def test_any_event_list_survives_write_read_export_validate(
    tmp_path_factory: pytest.TempPathFactory, items: list[dict[str, Any]]
) -> None:
    folder = tmp_path_factory.mktemp("r")
    source = write(folder / "a.ndjson", items)
    for mode in ("omit", "include"):
        result = export(source, "--snapshots", mode)
        data = (folder / "a.export.json").read_bytes()
        assert len(read_export(data).events) == len(items) == result["eventCount"]
        document = json.loads(data)
        assert_fits_schema("recording-export", document)
        ordered = sorted(items, key=lambda e: e["seq"])
        for event, exported in zip(ordered, document["events"], strict=True):
            snapshot = event.get("snapshot")
            assert exported.pop("snapshot") == {
                "present": bool(snapshot),
                "xml": (snapshot or None) if mode == "include" else None,
            }
            del exported["deltaMsSincePrevious"]
            assert exported == {k: v for k, v in event.items() if k not in ("snapshot", "extra")}
        fractions: list[str] = []
        json.loads(data, parse_float=fractions.append)
        assert not [text for text in fractions if float(text).is_integer()]
        again = write(folder / "b.ndjson", recording_of(json.loads(data)))
        if mode == "include":
            export(again, "--snapshots", mode)
            assert (folder / "b.export.json").read_bytes() == data


def test_delta_transitions_and_timeline_follow_seq(tmp_path: Path) -> None:
    mixed = [window(3, "b", ts=50), window(1, "a", ts=100), back(2), click(0, package="", ts=70), scroll(4, "b")]
    source = write(tmp_path / "a.ndjson", mixed)
    export(source)
    document = json.loads((tmp_path / "a.export.json").read_text())
    times = [e["ts"] for e in document["events"]]
    deltas = [e["deltaMsSincePrevious"] for e in document["events"]]
    assert deltas == [None, *(b - a for a, b in pairwise(times))]
    assert document["packageTransitions"] == [
        {"seq": 1, "ts": 100, "fromPackageName": "", "toPackageName": "a"},
        {"seq": 3, "ts": 50, "fromPackageName": "a", "toPackageName": "b"},
    ]
    assert document["timeline"]["durationMs"] == times[-1] - times[0]
    assert list(document["counts"]["byType"]) == ["click", "window_change", "press_key", "scroll"]


def test_times_may_lie_further_apart_than_64_bits(tmp_path: Path) -> None:
    export(write(tmp_path / "a.ndjson", [window(0, ts=-(2**63)), window(1, ts=2**63 - 1)]))
    document = read_export((tmp_path / "a.export.json").read_bytes())
    assert document.timeline.durationMs == document.events[1].deltaMsSincePrevious == 2**64 - 1


def test_an_empty_recording_has_an_empty_timeline(tmp_path: Path) -> None:
    export(write(tmp_path / "a.ndjson", []))
    text = (tmp_path / "a.export.json").read_text()
    document = json.loads(text)
    assert document["timeline"] == {"firstEventTs": None, "lastEventTs": None, "durationMs": None}
    assert text == json.dumps(document, indent=2)


@pytest.mark.parametrize(
    ("spelling", "text"),
    [(r"\u0041\/b", "A/b"), (r"<a b=\"\u00e9\"\/>", '<a b="é"/>'), (r"\\u0041", r"\u0041"), (r"\u001f", "\x1f")],
)
def test_snapshots_are_spelled_as_the_reference_spells_them(tmp_path: Path, spelling: str, text: str) -> None:
    source = write(tmp_path / "a.ndjson", [window(0, snapshot="HERE")])
    source.write_text(source.read_text().replace("HERE", spelling))
    export(source, "--snapshots", "include")
    written = (tmp_path / "a.export.json").read_text("utf-8")
    assert written == json.dumps(json.loads(written), indent=2, ensure_ascii=False)
    assert json.loads(written)["events"][0]["snapshot"]["xml"] == text


def test_a_folder_resolves_to_its_newest_recording(tmp_path: Path) -> None:
    for age, name in ((30, "old"), (10, "b"), (10, "a"), (20, "middle")):
        path = write(tmp_path / f"{name}.ndjson", [], {**HEADER, "sessionId": name})
        os.utime(path, (1_000_000 - age, 1_000_000 - age))
    (tmp_path / "newer.txt").write_text("x")
    (tmp_path / "z.ndjson").mkdir()
    result = export(tmp_path)
    assert result["sessionId"] == "a"
    assert result["outputFile"] == str(tmp_path / "a.export.json")


def test_out_folders_are_made(tmp_path: Path) -> None:
    source = write(tmp_path / "a.ndjson", [])
    export(source, "--out", str(tmp_path / "x" / "y" / "z.json"))
    assert (tmp_path / "x" / "y" / "z.json").is_file()


def test_what_cannot_be_read_or_written_is_an_export_failure(tmp_path: Path) -> None:
    source = write(tmp_path / "a.ndjson", [])
    (tmp_path / "empty").mkdir()
    for argv in (
        ["--input", str(tmp_path / "nowhere")],
        ["--input", str(tmp_path / "empty")],
        ["--input", str(source), "--out", str(source / "x")],
        ["--input", str(source), "--out", str(tmp_path / "empty")],
        ["--input", str(source), "--out", str(source)],
        ["--input", str(source), "--out", "/dev/full"],
    ):
        ran = clawperator("recording", "export", *argv)
        assert (ran.code, ran.json["code"]) == (1, "RECORDING_EXPORT_FAILED"), argv
        assert ran.json["hint"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.ndjson", "empty"]


def test_a_bad_snapshots_option_and_no_input_are_usage_errors(tmp_path: Path) -> None:
    source = write(tmp_path / "a.ndjson", [])
    ran = clawperator("recording", "export", "--input", str(source), "--snapshots", "maybe")
    assert (ran.code, ran.json["code"]) == (1, "USAGE")
    ran = clawperator("recording", "export")
    assert (ran.code, ran.json["code"]) == (1, "USAGE")


def test_a_bad_recording_keeps_the_old_export(tmp_path: Path) -> None:
    source = write(tmp_path / "a.ndjson", FIVE)
    export(source)
    before = (tmp_path / "a.export.json").read_bytes()
    write(source, [*FIVE, {"ts": 1}])
    ran = clawperator("recording", "export", "--input", str(source))
    assert (ran.code, ran.json["code"]) == (1, "RECORDING_PARSE_FAILED")
    assert (tmp_path / "a.export.json").read_bytes() == before


def test_many_transitions_outgrow_memory_and_are_all_there(tmp_path: Path) -> None:
    many = [typed(i, "x", f"p{i % 2}") for i in range(12_000)]
    source = write(tmp_path / "a.ndjson", many)
    result = export_recording(str(source))
    document = json.loads((tmp_path / "a.export.json").read_text())
    assert result.packageTransitionCount == len(document["packageTransitions"]) == 11_999
    assert [t["seq"] for t in document["packageTransitions"]] == list(range(1, 12_000))


def damaged(document: dict[str, Any], path: str, value: Any) -> bytes:
    place: Any = document
    *steps, last = path.split(".")
    for step in steps:
        place = place[int(step) if step.isdigit() else step]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return json.dumps(document).encode()


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("exportVersion", 2),
        ("snapshotMode", "all"),
        ("session.startedAt", "now"),
        ("events.0.ts", True),
        ("events.0.type", "swipe"),
        ("events.0.snapshot", "x"),
        ("events.0.deltaMsSincePrevious", "0"),
        ("events.1.bounds", None),
        ("events.1.text", None),
        ("events.3.key", "home"),
        ("counts.totalEvents", "5"),
        ("counts.byType", []),
        ("packageTransitions", {}),
        ("timeline.durationMs", "1"),
        ("timeline", None),
    ],
)
def test_an_invalid_export_is_rejected(path: str, value: Any) -> None:
    golden = GOLDEN / "recording-export.omit.json"
    with pytest.raises(ValueError):
        read_export(damaged(json.loads(golden.read_text()), path, value))
