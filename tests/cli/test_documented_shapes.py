"""The commands of the contract's documents, typed as shown, print the documented shapes."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.recording.compare.test_compare import FLOW, FOUR, run_of
from tests.recording.samples import back, click, scroll, typed, window, write
from tests.support.running import Ran, clawperator

NAVIGATION = (
    '{"commandId":"settings-nav-1","taskId":"settings-nav-1","source":"docs","expectedFormat":"android-ui-automator",'
    '"timeoutMs":30000,"actions":[{"id":"open","type":"open_app","params":{"applicationId":"com.android.settings"}},'
    '{"id":"wait","type":"wait_for_navigation","params":{"expectedPackage":"com.android.settings","timeoutMs":5000}},'
    '{"id":"snap","type":"snapshot_ui"}]}'
)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recordings").mkdir()


def typed_in(line: str) -> Ran:
    program, *argv = shlex.split(line)
    assert program == "clawperator"
    return clawperator(*argv)


def test_record_parse() -> None:
    write(Path("recordings/demo-session.ndjson"), [window(0), click(1), typed(2, "a"), scroll(3)])
    ran = typed_in("clawperator record parse --input ./recordings/demo-session.ndjson --json")
    assert ran.json == {
        "ok": True,
        "outputFile": "./recordings/demo-session.steps.json",
        "stepCount": 2,
        "warnings": ["seq 3: scroll event dropped (not extracted in v1)"],
    }
    log = json.loads(Path("recordings/demo-session.steps.json").read_text())
    assert list(log) == ["sessionId", "schemaVersion", "steps", "_warnings"]
    assert (log["schemaVersion"], log["steps"][0]["type"]) == (1, "open_app")


def test_recording_export() -> None:
    five = [window(0), click(1), scroll(2), back(3), typed(4, "a", "com.android.settings")]
    write(Path("recordings/export-demo.ndjson"), five)
    ran = typed_in("clawperator recording export --input ./recordings/export-demo.ndjson --json")
    assert ran.json == {
        "ok": True,
        "outputFile": "./recordings/export-demo.export.json",
        "sessionId": "demo-session",
        "eventCount": 5,
        "packageTransitionCount": 0,
        "byType": {"window_change": 1, "click": 1, "scroll": 1, "press_key": 1, "text_change": 1},
    }
    export = json.loads(Path("recordings/export-demo.export.json").read_text())
    assert export["counts"] == {"totalEvents": 5, "byType": ran.json["byType"]}
    assert typed_in("clawperator record export --input ./recordings --output pretty").code == 0


def test_the_smallest_recording_of_the_format_page() -> None:
    Path("recordings/a.ndjson").write_text(
        '{"type":"recording_header","schemaVersion":1,"sessionId":"demo-session","startedAt":1710000000000,'
        '"operatorPackage":"com.clawperator.operator.dev"}\n'
        '{"ts":1710000000001,"seq":0,"type":"window_change","packageName":"com.android.settings",'
        '"className":"com.android.settings.Settings","title":"Settings","snapshot":"<hierarchy .../>"}\n'
    )
    assert typed_in("clawperator record parse --input recordings/a.ndjson").json["stepCount"] == 1
    typed_in("clawperator record export --input recordings/a.ndjson")
    export = json.loads(Path("recordings/a.export.json").read_text())
    assert export["events"] == [
        {
            "seq": 0,
            "ts": 1710000000001,
            "deltaMsSincePrevious": None,
            "type": "window_change",
            "packageName": "com.android.settings",
            "className": "com.android.settings.Settings",
            "title": "Settings",
            "snapshot": {"present": True, "xml": None},
        }
    ]
    assert export["timeline"]["durationMs"] == 0


@pytest.mark.parametrize(
    ("run", "shape", "code"),
    [
        (
            run_of(["app_opened", "device_discharging_card_opened", *FOUR[1:]]),
            {
                "compareMode": "semantic",
                "outcome": "outcome_matches_path_differs",
                "pathMatches": False,
                "terminalVerificationStatus": "verified",
            },
            0,
        ),
        (
            run_of(verification="failed"),
            {
                "compareMode": "semantic",
                "outcome": "verification_failed",
                "summary": "checkpoint sequence matched the recording baseline but terminal verification did not "
                "match the requested outcome",
                "pathMatches": True,
                "terminalVerificationStatus": "failed",
            },
            1,
        ),
    ],
)
def test_recording_compare(run: Any, shape: dict[str, Any], code: int) -> None:
    folder = Path("skills/com.solaxcloud.starter.set-discharge-to-limit-orchestrated/references")
    folder.mkdir(parents=True)
    write(Path("recordings/solar.ndjson"), FLOW)
    typed_in(f"clawperator recording export --input recordings --out {folder}/compare-baseline.export.json")
    Path("runs").mkdir()
    Path("runs/demo.skills-run.json").write_text(json.dumps(run))
    ran = typed_in(
        f"clawperator recording compare --baseline ./{folder}/compare-baseline.export.json "
        "--result ./runs/demo.skills-run.json --json"
    )
    assert ran.code == code
    assert ran.json | shape == ran.json


@pytest.mark.parametrize(
    ("lines", "error"),
    [
        (["{"], {"code": "RECORDING_PARSE_FAILED", "message": "Malformed NDJSON at line 1"}),
        (
            ["HEADER", "", "EVENT", "{"],
            {"code": "RECORDING_PARSE_FAILED", "message": "Malformed NDJSON at line 3"},
        ),
        (
            ["OTHER"],
            {
                "code": "RECORDING_SCHEMA_VERSION_UNSUPPORTED",
                "message": "Unsupported recording schema version: 2",
            },
        ),
    ],
)
def test_the_documented_failures(lines: list[str], error: dict[str, str]) -> None:
    header, event = write(Path("a"), [window(0)]).read_text().splitlines()
    known = {"HEADER": header, "EVENT": event, "OTHER": header.replace('"schemaVersion":1', '"schemaVersion":2')}
    Path("a").write_text("\n".join(known.get(line, line) for line in lines))
    for verb in ("parse", "export"):
        ran = typed_in(f"clawperator record {verb} --input a")
        assert ran.code == 1
        assert ran.json | error == ran.json


def test_a_plan_is_previewed_without_dispatching() -> None:
    ran = typed_in(f"clawperator exec --dry-run --execution '{NAVIGATION}'")
    plan = json.loads(NAVIGATION)
    assert ran.json == {
        "ok": True,
        "dryRun": True,
        "plan": {
            "commandId": "settings-nav-1",
            "timeoutMs": 30000,
            "actionCount": 3,
            "actions": plan["actions"],
        },
    }
    checked = typed_in(f"clawperator exec --validate-only --execution '{NAVIGATION}'")
    assert checked.json == {"ok": True, "validated": True, "execution": plan}


def test_wait_for_nav_is_validated() -> None:
    ran = typed_in("clawperator wait-for-nav --app com.android.settings --timeout 5000 --validate-only")
    execution = ran.json["execution"]
    assert (ran.json["ok"], ran.json["validated"]) == (True, True)
    assert (execution["source"], execution["timeoutMs"]) == ("clawperator-action", 30000)
    assert execution["actions"] == [
        {
            "id": "wait-for-nav",
            "type": "wait_for_navigation",
            "params": {"expectedPackage": "com.android.settings", "timeoutMs": 5000},
        }
    ]
