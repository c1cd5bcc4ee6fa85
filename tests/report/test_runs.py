"""Reports of saved documents (skill runs, replays, executions) and of evidence folders."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from clawperator.contract.execution import single_action
from clawperator.errors import ClawError
from clawperator.report.write import write_report
from tests.report.samples import ReportedFile, node, password, screen, written
from tests.support.routes import Route
from tests.support.running import clawperator

TARGET = {"class": "android.widget.TextView", "resourceId": "a:id/cart", "label": "Cart", "bounds": "[0,4][9,8]"}


def step(kind: str, *, success: bool = True, **data: str) -> dict[str, Any]:
    return {"id": "a1", "actionType": kind, "success": success, "data": data}


def envelope(*steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    ended = {"status": "success", "error": None, **more}
    return {"commandId": "c", "taskId": "t", "stepResults": list(steps), **ended}


def saved(folder: Path, document: Any) -> ReportedFile:
    path = folder / "run.json"
    path.write_text(json.dumps(document))
    return written(str(path))


RESULT: dict[str, Any] = {
    "contractVersion": "1.0.0",
    "skillId": "shop.cart",
    "status": "success",
    "goal": {"kind": "open_cart"},
    "checkpoints": [
        {"id": "opened", "status": "ok", "observedAt": "2026-01-02T03:04:05.000Z", "note": "in front"},
        {
            "id": "cart",
            "status": "failed",
            "observedAt": "2026-01-02T03:04:06.500Z",
            "evidence": {"kind": "result_envelope_ref", "execEnvelopeIndex": 1, "stepResultId": "a1"},
        },
    ],
    "terminalVerification": {
        "status": "failed",
        "expected": {"kind": "text", "text": "2 items"},
        "observed": {"kind": "json", "value": {"count": 1}},
    },
    "execEnvelopes": [
        envelope(step("snapshot_ui", text=screen(node("Cart")))),
        envelope(step("click", matched_target=json.dumps(TARGET), effect="unchanged")),
    ],
    "result": {"kind": "text", "text": "2 items"},
    "source": {"kind": "agent", "agentCli": "codex"},
}
RUN = {
    "status": "success",
    "skillId": "shop.cart",
    "output": "looking\n[Clawperator-Skill-Result]\n{}",
    "exitCode": 0,
    "durationMs": 2_345,
    "skillResult": RESULT,
}


def test_a_skill_run_shows_its_checkpoints_its_result_and_its_output(tmp_path: Path) -> None:
    report = saved(tmp_path, RUN)
    assert (report.result.kind, report.result.title, report.result.outcome) == (
        "Skill run",
        "shop.cart",
        "success",
    )
    assert report.lists == ["Checkpoints", "Actions", "Output"]
    opened, cart, end, result = report.rows("Checkpoints")
    assert (opened.status, opened.note, opened.time) == ("ok", "in front", 0)
    assert (cart.tone, cart.time, cart.link) == ("bad", 1_500, 1)
    assert end.facts == {"Expected": "2 items", "Observed": '{\n  "count": 1\n}'}
    assert result.facts == {"Goal": '{\n  "kind": "open_cart"\n}', "Result": "2 items"}
    assert [row.facts for row in report.rows("Output")] == [{"stdout": "looking"}]
    assert dict(report.data["facts"])["Duration"] == "2.3 s"
    assert report.data["selected"] == [0, 1], "the first failed checkpoint"


def test_an_action_is_marked_on_the_last_screen_that_was_seen(tmp_path: Path) -> None:
    looked, touched = saved(tmp_path, RUN).rows("Actions")
    assert looked.before == touched.before == 0
    assert (touched.title, touched.mark) == ("click Cart", [0, 4, 9, 8])
    assert (touched.status, touched.tone) == ("unchanged", "warn")


def test_a_failed_run_shows_its_error_and_both_outputs(tmp_path: Path) -> None:
    error = {
        "code": "SKILL_EXECUTION_FAILED",
        "message": "skill x exited with 3",
        "hint": "Look.",
        "skillId": "x",
        "stdout": "one",
        "stderr": "two",
        "exitCode": 3,
        "durationMs": 5,
        "skillResult": None,
    }
    report = saved(tmp_path, error)
    assert report.result.outcome == "failed"
    assert report.data["verdict"]["lines"] == ["SKILL_EXECUTION_FAILED", "skill x exited with 3", "Look."]
    assert [(row.title, *row.facts.values()) for row in report.rows("Output")] == [
        ("stdout", "one"),
        ("stderr", "two"),
    ]


def test_a_replay_shows_why_each_step_is_proved(tmp_path: Path, route: Route) -> None:
    route.shell("am force-stop com.android.settings; input keyevent HOME")
    for command in ("recording start --session-id demo", "open com.android.settings", "click --text Display"):
        assert clawperator(*command.split()).code == 0
    for command in ("recording stop", f"recording pull --out {tmp_path}", "close com.android.settings"):
        assert clawperator(*command.split()).code == 0
    out = tmp_path / "replay.json"
    ran = clawperator("recording", "replay", "--input", str(tmp_path / "demo.ndjson"), "--out", str(out))
    assert ran.code == 0
    report = written(str(out))
    assert (report.result.kind, report.result.title, report.result.outcome) == ("Replay", "demo", "proved")
    assert report.lists == ["Steps", "Checkpoints", "Actions"]
    rows = report.rows("Steps")
    assert {row.status for row in rows} == {"proved"}
    assert "is in the foreground" in rows[-1].facts["Evidence"]
    assert rows[-1].facts["Found by"]
    assert [row.title for row in rows] == ["Open com.android.settings", "Click 'Display'"]
    assert [row.title for row in report.rows("Checkpoints")] == [
        "Opened com.android.settings",
        "Clicked 'display'",
        "The end state was verified",
    ]
    assert "Dark theme" in report.labels(rows[-1].after)
    assert "skill" not in json.dumps(report.data).lower()


def test_a_failed_replay_shows_both_screens_without_a_second_command(tmp_path: Path, route: Route) -> None:
    route.shell("am force-stop com.android.settings; input keyevent HOME")
    for command in (
        *("recording start --session-id left", "open com.android.settings", "click --text Display"),
        *("recording stop", f"recording pull --out {tmp_path}"),
    ):
        assert clawperator(*command.split()).code == 0
    out = tmp_path / "replay.json"
    recording = str(tmp_path / "left.ndjson")
    ran = clawperator("recording", "replay", "--input", recording, "--keep-apps", "--out", str(out))
    assert ran.code == 1
    for report in (written(str(out)), written(recording, str(out))):
        (failed,) = [row for row in report.rows(report.lists[0]) if row.tone == "bad" and row.compares]
        assert "Network & internet" in report.labels(failed.before)
        assert "Dark theme" in report.labels(failed.after)
        verdict = report.data["verdict"]
        assert verdict["tone"] == "bad"
        assert verdict["text"].startswith("The replay ")
        assert "another page" in verdict["text"]
        assert "skill" not in json.dumps([verdict["text"], report.data["lists"], report.data["texts"]]).lower()


def test_a_failed_replay_starts_with_the_step_that_failed(tmp_path: Path) -> None:
    error = {"code": "REPLAY_TARGET_NOT_FOUND", "message": "Save is not on the screen", "hint": "Look."}
    steps = [
        {"seq": 1, "action": "click", "description": "click Edit", "status": "proved", "evidence": "it changed"},
        {"seq": 2, "action": "click", "description": "click Save", "status": "failed", "error": error},
        {"seq": 3, "action": "press", "description": "press back", "status": "not_run"},
    ]
    document = {
        "ok": False,
        "sessionId": "demo",
        "deviceId": "claw-1",
        "stepCount": 3,
        "provedCount": 1,
        "steps": steps,
        "skillResult": {**RESULT, "checkpoints": []},
        "error": error,
    }
    report = saved(tmp_path, document)
    assert [(row.status, row.tone) for row in report.rows("Steps")] == [
        ("proved", "good"),
        ("failed", "bad"),
        ("not run", "warn"),
    ]
    assert report.data["selected"] == [0, 1]
    assert report.data["verdict"]["text"] == (
        "The replay stopped at step 2 of 3, Click 'Save': Save is not on the screen."
    )
    assert report.data["verdict"]["lines"] == ["Look."]
    assert dict(report.data["facts"])["Error"] == "REPLAY_TARGET_NOT_FOUND"


def test_an_execution_shows_its_steps(tmp_path: Path, route: Route) -> None:
    route.shell("input keyevent HOME")
    plan = single_action("snapshot_ui", timeout_ms=10_000)
    printed = clawperator("exec", json.dumps(plan)).json
    report = saved(tmp_path, printed)
    (row,) = report.rows("Actions")
    assert (report.result.kind, row.title, row.tone) == ("Execution", "snapshot ui", "good")
    assert "Settings" in report.labels(row.before)
    assert "<hierarchy" not in json.dumps(row.facts)


def test_a_failed_step_shows_its_error(tmp_path: Path) -> None:
    failed = step("click", success=False, error="NODE_NOT_FOUND", message="no visible node matches", hint="Look.")
    document = {
        "envelope": envelope(failed, status="failed", error="step a1 failed"),
        "deviceId": "d",
        "backend": "adb",
    }
    (row,) = saved(tmp_path, document).rows("Actions")
    assert (row.status, row.tone, row.note) == ("NODE_NOT_FOUND", "bad", "no visible node matches")
    assert row.facts["Hint"] == "Look."


def test_passwords_in_the_snapshots_of_a_run_are_masked(tmp_path: Path) -> None:
    looked = envelope(step("snapshot_ui", text=screen(password("hunter2-Zq"))))
    document = {"envelope": looked, "deviceId": "d", "backend": "adb"}
    report = saved(tmp_path, document)
    assert "hunter2-Zq" not in report.html
    assert report.labels(0) == ["••••"]


# Evidence folders


@pytest.fixture
def folder(tmp_path: Path, route: Route) -> Path:
    """The evidence of a click that opens the page Display."""
    route.shell("am force-stop com.android.settings; input keyevent HOME")
    assert clawperator("open", "com.android.settings").code == 0
    assert clawperator("click", "--text", "Display", "--evidence", str(tmp_path / "kept")).code == 0
    (found,) = (tmp_path / "kept").iterdir()
    return found


def test_the_run_is_shown_between_its_screens(folder: Path) -> None:
    report = written(str(folder) + "/")
    assert report.path == folder.with_name(folder.name + ".report.html")
    assert (report.result.kind, report.result.title) == ("Evidence: execution", "clawperator click --text Display")
    assert report.lists == ["Actions", "Screens", "Files"]
    (click,) = report.rows("Actions")
    assert "Network & internet" in report.labels(click.before)
    assert "Dark theme" in report.labels(click.after)
    assert click.mark is not None
    assert [name for name in click.facts if name[0].islower()] == []
    for name in ("Started", "Finished"):
        assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", dict(report.data["facts"])[name])
    assert len(report.data["pictures"]) == 2
    assert {one[3] for one in report.data["screens"]} == {0, 1}
    assert [row.title for row in report.rows("Screens")] == ["Before the run", "After the run"]
    assert {(row.status, row.tone) for row in report.rows("Files")} == {("ok", "good")}


def test_a_file_that_was_changed_is_reported(folder: Path) -> None:
    tree = folder / "after.xml"
    tree.write_text(tree.read_text().replace("Dark theme", "Bright theme"))
    (folder / "before.png").unlink()
    report = written(str(folder))
    status = {row.title: row.status for row in report.rows("Files")}
    assert (status["after.xml"], status["before.png"]) == ("changed", "No such file or directory")
    assert report.data["warnings"] == ["1 file changed since the evidence was kept."]


@pytest.mark.parametrize("name", ["../secret.txt", "/etc/hostname", "..", ""])
def test_a_manifest_cannot_name_files_elsewhere(folder: Path, name: str) -> None:
    (folder.parent / "secret.txt").write_text("top secret")
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"][0]["name"] = name
    (folder / "manifest.json").write_text(json.dumps(manifest))
    report = written(str(folder))
    assert report.rows("Files")[0].status == "not a file of this folder"
    assert "top secret" not in report.html


def test_a_folder_of_evidence_names_the_newest(folder: Path) -> None:
    with pytest.raises(ClawError) as caught:
        write_report(str(folder.parent))
    assert caught.value.code == "REPORT_FAILED"
    assert str(folder) in caught.value.hint


@pytest.mark.parametrize("manifest", ["", "[]", "{}", '{"files": 3}'])
def test_a_damaged_manifest_is_an_error(folder: Path, manifest: str) -> None:
    (folder / "manifest.json").write_text(manifest)
    with pytest.raises(ClawError) as caught:
        write_report(str(folder))
    assert caught.value.code == "REPORT_FAILED"
    assert "manifest.json" in caught.value.message


def test_a_document_of_another_kind_is_shown_as_it_is(folder: Path) -> None:
    (folder / "envelope.json").write_text('{"handled": true, "text": "<b>Done.</b>"}')
    report = written(str(folder))
    (row,) = report.rows("Document")
    assert row.facts == {"handled": "true", "text": "<b>Done.</b>"}
