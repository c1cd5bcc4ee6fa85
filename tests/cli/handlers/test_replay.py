"""``recording replay`` at the command line, on a phone that the command finds by itself."""

import json
import shlex
from pathlib import Path

import pytest

from clawperator.replay import run
from tests.device.phone_servers import running_phone_server
from tests.support.running import clawperator


def test_the_plan_is_shown_without_a_phone(shown: str) -> None:
    ran = clawperator("recording", "replay", "--input", shown, "--dry-run")
    assert ran.code == 0
    plan = ran.json
    assert plan["dryRun"] is True
    assert [step["description"] for step in plan["steps"]] == [
        "press home",
        "click Settings",
        "click Display",
        "click Dark theme",
        "press home",
    ]
    assert plan["steps"][2]["locators"][:2] == ["id_and_text", "text"]
    assert plan["steps"][2]["expects"]["title"] == "Display"


def test_a_proved_replay_is_written_and_compare_accepts_it(shown: str, tmp_path: Path) -> None:
    out = str(tmp_path / "run.json")
    with running_phone_server():
        ran = clawperator("recording", "replay", "--input", shown, "--out", out)
    assert ran.code == 0, ran.json.get("error")
    assert ran.json["ok"] is True
    assert json.loads(Path(out).read_bytes()) == ran.json
    baseline = str(tmp_path / "shown.export.json")
    assert clawperator("recording", "export", "--input", shown, "--out", baseline).code == 0
    verdict = clawperator("recording", "compare", "--baseline", baseline, "--result", out, "--strategy", "derived")
    assert (verdict.code, verdict.json["outcome"]) == (0, "literal_match")


def test_a_replay_that_cannot_be_proved_fails_the_command(shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "POLL_INTERVAL_MS", 10)
    with running_phone_server() as phone_server:
        phone_server.phone.set_fault("dialog", 1)
        ran = clawperator("recording", "replay", "--input", shown)
    assert ran.code == 1
    assert ran.json["ok"] is False
    assert ran.json["error"]["code"].startswith("REPLAY_")
    assert ran.json["skillResult"]["status"] == "failed"


@pytest.mark.parametrize(
    ("more", "code"),
    [
        (("--until", "soon"), "USAGE"),
        (("--until=-1",), "USAGE"),
        (("--backend", "telepathy"), "USAGE"),
        ((), "ADB_NOT_FOUND"),
    ],
)
def test_what_cannot_be_done_is_refused(more: tuple[str, ...], code: str, shown: str) -> None:
    ran = clawperator("recording", "replay", "--input", shown, *more)
    assert (ran.code, ran.json["code"]) == (1, code)


def test_an_end_before_the_first_step_is_refused(shown: str) -> None:
    lines = Path(shown).read_bytes().splitlines(keepends=True)
    Path(shown).write_bytes(lines[0] + b"".join(lines[3:]))
    ran = clawperator("recording", "replay", "--input", shown, "--dry-run", "--until", "0")
    assert (ran.code, ran.json["code"]) == (1, "RECORDING_REPLAY_FAILED")
    assert ran.json["details"] == {"until": 0, "first": 2}


def test_the_recording_is_not_overwritten_by_the_result(shown: str) -> None:
    before = Path(shown).read_bytes()
    ran = clawperator("recording", "replay", "--input", shown, "--dry-run", "--out", shown)
    assert (ran.code, ran.json["code"]) == (1, "RECORDING_REPLAY_FAILED")
    assert Path(shown).read_bytes() == before


def test_without_an_input_it_is_a_usage_error() -> None:
    ran = clawperator("recording", "replay")
    assert (ran.code, ran.json["code"]) == (1, "USAGE")
    hint = clawperator("recording", "replay", "demo.ndjson").json["hint"]
    assert hint == "Run 'clawperator recording replay --input demo.ndjson'."


@pytest.mark.usefixtures("shown")
def test_a_recording_is_replayed_after_going_home(tmp_path: Path) -> None:
    folder = str(tmp_path / "recorded")
    with running_phone_server():
        for words in (
            "press home",
            "recording start --session-id dark",
            "open com.android.settings",
            "click --text Display",
            "click --text 'Dark theme'",
            "recording stop",
            f"recording pull --out {folder}",
            "press home",
        ):
            assert clawperator(*shlex.split(words)).code == 0, words
        ran = clawperator("recording", "replay", "--input", f"{folder}/dark.ndjson")
        text = clawperator("recording", "replay", "--input", f"{folder}/dark.ndjson", "--output", "text").out
    assert ran.code == 0, ran.json["error"]
    assert (ran.json["provedCount"], ran.json["closedApps"]) == (3, ["com.android.settings"])
    assert b"closed first: com.android.settings" in text


def test_the_plan_names_the_apps_that_are_closed(shown: str) -> None:
    assert clawperator("recording", "replay", "--input", shown, "--dry-run").json["closes"] == [
        "com.android.settings"
    ]
