"""Readers of recordings: parse, export, describe, report, compare, repair, declared checkpoints and cassettes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from clawperator.errors import ClawError
from clawperator.phone.cassette.cassette import load_cassette
from clawperator.recording.compare.checkpoints import read_declaration
from clawperator.recording.compare.compare import compare_recording
from clawperator.recording.describe import describe_recording
from clawperator.recording.events import InvalidLineError, decode_event, trim_line
from clawperator.recording.export import export_recording, read_export
from clawperator.recording.parse import parse_recording
from clawperator.recording.repair import repair_recording
from clawperator.report.write import write_report
from soak.fuzz import Target, reads, reads_file
from soak.runner import require

_XML = '<hierarchy rotation="0"><node text="Display" package="com.a" bounds="[0,0][90,40]" /></hierarchy>'
_HEADER = {
    "type": "recording_header",
    "schemaVersion": 1,
    "sessionId": "demo",
    "startedAt": 1_700_000_000_000,
    "operatorPackage": "com.clawperator.operator",
}
_BASE = {"packageName": "com.android.settings", "snapshot": _XML}
_CLICK = {
    "type": "click",
    "resourceId": "com.a:id/b",
    "text": "Display",
    "contentDesc": None,
    "bounds": {"left": 0, "top": 0, "right": 90, "bottom": 40},
    **_BASE,
}
_EVENTS: tuple[dict[str, Any], ...] = (
    {"type": "window_change", "className": "a.B", "title": "Settings", **_BASE},
    _CLICK,
    {"type": "text_change", "resourceId": None, "text": "hello", **_BASE},
    {"type": "scroll", "resourceId": None, "scrollX": 0, "scrollY": 5, "maxScrollX": 0, "maxScrollY": 9, **_BASE},
    {"type": "press_key", "key": "back", **_BASE},
    {**_CLICK, "text": "Wi-Fi", "snapshot": None},
)
_LINES = [_HEADER, *({"ts": 1_700_000_000_000 + 400 * i, "seq": i, **event} for i, event in enumerate(_EVENTS))]
RECORDING = b"".join(json.dumps(line).encode() + b"\n" for line in _LINES)
_DECLARATION = {
    "checkpoints": [
        {"id": "opened", "type": "window_change", "package": "com.android.*"},
        {"id": "tapped", "type": "click", "text": "Disp*", "after": "opened", "pick": "last"},
    ]
}


def _all_commands(path: str) -> None:
    """Every command reads a recording in the same way: all accept it, with the same events, or all refuse it."""
    export = f"{path}.export.json"
    failed: dict[str, str] = {}
    counts: dict[str, int] = {}

    def attempt(name: str, act: Callable[[], int]) -> None:
        try:
            counts[name] = act()
        except ClawError as e:
            failed[name] = e.code

    attempt("parse", lambda: _parsed(path))
    attempt("export", lambda: export_recording(path, export, snapshots="include").eventCount)
    attempt("describe", lambda: describe_recording(path)[0].eventCount)
    attempt("report", lambda: write_report(path, out=export + ".html").rowCount)
    require(("report" in counts) == ("export" in counts), "report accepts what export accepts")
    require("parse" in counts or "export" in failed, "parse accepts a recording that export accepts")
    require("export" in counts or "parse" in failed, "export accepts a recording that parse accepts")
    if "export" in counts:
        written = read_export(Path(export).read_bytes())
        require(len(written.events) == counts["export"], "an export has as many events as it reports")
        require(counts.get("describe", counts["export"]) == counts["export"], "describe counts what export counts")
        report = compare_recording(export, export)
        require(report.pathMatches or not report.baseline.checkpointIds, "a recording follows its own path")


def _parsed(path: str) -> int:
    parsed, _ = parse_recording(path, f"{path}.steps.json")
    steps = json.loads(Path(f"{path}.steps.json").read_bytes())["steps"]
    require(len(steps) == parsed.stepCount, "a step log has as many steps as it reports")
    return parsed.stepCount


def _repair(path: str) -> None:
    """A repaired recording has every line that is an event, and every command accepts it."""
    out = f"{path}.repaired"
    repaired = repair_recording(path, out)
    header, *kept = Path(out).read_bytes().split(b"\n")[:-1]
    lines = list(map(trim_line, Path(path).read_bytes().split(b"\n")))
    events = [line for line in lines[lines.index(header) + 1 :] if _is_event(line)]
    require(len(kept) == repaired.eventCount, "a repaired recording has as many events as it reports")
    require(events == kept, "a repair keeps every event")


def _is_event(line: bytes) -> bool:
    try:
        decode_event(line)
    except InvalidLineError:
        return False
    return True


def _compare(folder: Path) -> Callable[[bytes], object]:
    source, baseline, result = (folder / name for name in ("a.ndjson", "baseline.json", "result.json"))
    source.write_bytes(RECORDING)
    export_recording(str(source), str(baseline), snapshots="include")

    def call(data: bytes) -> None:
        result.write_bytes(data)
        compare_recording(str(baseline), str(result))

    return call


def _declaration(data: bytes) -> None:
    try:
        read_declaration(data)
    except ValueError:
        return


def exported(folder: Path) -> bytes:
    """The export of the sample recording."""
    (folder / "sample.ndjson").write_bytes(RECORDING)
    export_recording(str(folder / "sample.ndjson"), str(folder / "sample.json"), snapshots="include")
    return (folder / "sample.json").read_bytes()


_RUN = {
    "contractVersion": "1.0.0",
    "skillId": "com.android.settings.overview",
    "status": "success",
    "checkpoints": [{"id": "opened", "status": "ok"}],
    "source": {"kind": "script"},
}

TARGETS = (
    Target("recording", [RECORDING], reads_file("a.ndjson", _all_commands)),
    Target("repair", [RECORDING], reads_file("a.ndjson", _repair)),
    Target("compare", [json.dumps({"skillResult": _RUN}).encode()], _compare),
    Target("declared checkpoints", [json.dumps(_DECLARATION).encode()], reads(_declaration)),
    Target("cassette", [RECORDING], reads_file("a.ndjson", load_cassette)),
)
