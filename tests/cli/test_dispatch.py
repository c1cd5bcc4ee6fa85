"""Dispatch: finding commands, options anywhere, one document, exit codes."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

import clawperator as package
from clawperator.contract.commands import all_commands
from clawperator.contract.results import ExecutionResult, ResultEnvelope, StepResult
from clawperator.errors import CODES
from tests.support.running import claw_json, clawperator

BINARY = str(Path(sys.executable).with_name("clawperator"))
PLAN = {
    "commandId": "settings-nav-1",
    "taskId": "settings-nav-1",
    "source": "docs",
    "expectedFormat": "android-ui-automator",
    "timeoutMs": 30000,
    "actions": [
        {"id": "open", "type": "open_app", "params": {"applicationId": "com.android.settings"}},
        {
            "id": "wait",
            "type": "wait_for_navigation",
            "params": {"expectedPackage": "com.android.settings", "timeoutMs": 5000},
        },
        {"id": "snap", "type": "snapshot_ui"},
    ],
}


def test_no_words_or_help_print_the_overview() -> None:
    for argv in ([], ["help"], ["--help"], ["-h"], ["--verbose", "--help"]):
        ran = clawperator(*argv)
        assert ran.code == 0
        text = ran.out.decode()
        assert text.startswith("clawperator ")
        assert all(text.count(f"\n  {command.name} ") == 1 for command in all_commands())
        assert text.index("clawperator phone start") < text.index("  snapshot ")


def test_help_has_no_wide_lines() -> None:
    names = [[], *([command.name] for command in all_commands()), ["phone", "start"], ["recording", "compare"]]
    for words in names:
        text = clawperator("help", *words).out.decode().partition("\nExamples:")[0]
        assert max(map(len, text.splitlines())) <= 100, words


@pytest.mark.parametrize("words", [["help", "snapsot"], ["snapsot", "--help"]])
def test_help_for_an_unknown_command_is_an_error_with_a_suggestion(words: list[str]) -> None:
    ran = clawperator(*words)

    assert (ran.code, ran.json["code"], ran.json["suggestion"]) == (1, "UNKNOWN_COMMAND", "snapshot")


def test_help_for_an_unknown_subcommand_is_an_error_with_a_suggestion() -> None:
    ran = clawperator("help", "phone", "strat")

    assert (ran.code, ran.json["code"]) == (1, "USAGE")
    assert "did you mean 'start'?" in ran.json["message"]


def test_each_command_has_help_that_names_its_flags() -> None:
    for command in all_commands():
        for verb in command.subcommands or (None,):
            words = [command.name, *([verb.name] if verb else [])]
            if words == ["help"]:
                continue
            by_flag = clawperator(*words, "--help")
            assert by_flag.code == 0
            assert by_flag.out == clawperator("help", *words).out
            text = by_flag.out.decode()
            assert f"Usage: clawperator {' '.join(words)}" in text
            for flag in (verb or command).flags:
                assert flag.name in text
    assert clawperator("record", "parse", "--help").out == clawperator("recording", "parse", "--help").out


def test_options_are_taken_anywhere_before_two_dashes() -> None:
    for argv in (["--json", "version"], ["version", "--json"], ["--device", "x", "version", "--verbose"]):
        assert clawperator(*argv).json == {"cliVersion": package.__version__}
    kept = clawperator("type", "--id", "y", "--dry-run", "--", "--device").json
    assert kept["plan"]["actions"][0]["params"]["text"] == "--device"
    literal = clawperator("click", "--text", "--", "--device", "--dry-run", "--output", "pretty")
    assert literal.out.startswith(b'{\n  "ok": true')
    assert b'"textEquals": "--device"' in literal.out


def test_pretty_is_the_same_document_indented() -> None:
    flat = clawperator("schema", "execution")
    for option in (["--output", "pretty"], ["--format=pretty"]):
        ran = clawperator("schema", "execution", *option)
        assert ran.out.decode() == json.dumps(flat.json, indent=2) + "\n"
    assert clawperator("record", "parse", "--output", "pretty").json["code"] == "USAGE"


@pytest.mark.parametrize(
    "argv",
    [
        ["snapshot", "--operator-package"],
        ["snapshot", "--operator-package", " "],
        ["snapshot", "--operator-package", "-x"],
        ["snapshot", "--timeout"],
        ["snapshot", "--log-level", "loud"],
        ["snapshot", "--device"],
        ["snapshot", "--device", "--json"],
        ["snapshot", "--output", "yaml"],
        ["snapshot", "--output="],
        ["snapshot", "--timeout", ""],
        ["snapshot", "--json=yes"],
        ["--json"],
        ["record"],
        ["packages"],
        ["operator"],
        ["snapshot", "--view", "picture"],
        ["snapshot", "--view", ""],
        ["click", "--text", "a", "--backend", "nope", "--dry-run"],
        ["click", "--text", "a", "--backend=", "--dry-run"],
        ["recording", "compare", "--baseline", "", "--result", "r.json"],
        ["recording", "compare", "--baseline", "a", "--result="],
        ["recording", "export", "--input", "a.ndjson", "--out", ""],
        ["skills", "run", ""],
        ["skills", "run", " "],
        ["report", ""],
        ["phone", "start", ""],
        ["packages", "list", "--user", ""],
        ["snapshot", "--bogus"],
        ["--bogus", "snapshot"],
        ["-x"],
        ["record", "parse", "--input", "--out", "x"],
        ["record", "parse", "--input", "a", "--input", "b"],
        ["snapshot", "--dry-run=yes"],
        ["snapshot", "--dry-run", "extra"],
        ["snapshot", "-v"],
        ["click", "--text", "a", "extra"],
        ["schema", "a", "b"],
        ["exec", "a.json", "b.json"],
        ["open", "a.b", "c.d"],
        ["exec", "--goal", "x"],
    ],
)
def test_a_bad_command_line_is_usage_and_exit_1(argv: list[str]) -> None:
    ran = clawperator(*argv)
    assert (ran.code, ran.json["code"]) == (1, "USAGE")


def test_an_empty_device_is_ignored() -> None:
    assert clawperator("snapshot", "--device", "", "--dry-run").code == 0


def test_a_flag_close_to_a_known_one_is_offered() -> None:
    assert "Did you mean --text-contains?" in clawperator("click", "--text-contain", "x").json["message"]
    assert "Did you mean" not in clawperator("click", "--zzzzz").json["message"]


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["phone", "screenshot", "--out", "x"], "phone screenshot has no option --out. Did you mean --path?"),
        (["scroll", "down", "--id", "x"], "scroll has no option --id. Did you mean --container-id?"),
        (["doctor", "--backend", "operator"], "doctor has no option --backend."),
        (["snapshot", "--file", "x.xml"], "snapshot has no option --file."),
        (["snapshot", "--outline"], "snapshot has no option --outline. Did you mean --view outline?"),
        (["devices", "--text"], "devices has no option --text. Did you mean --output text?"),
        (["report", "--input=x"], "report has no option --input."),
        (["recording", "replay", "--file", "x"], "recording replay has no option --file. Did you mean --input?"),
        (["click", "--txet", "Save"], "click has no option --txet. Did you mean --text?"),
        (["snapshot", "--outptu", "json"], "snapshot has no option --outptu. Did you mean --output?"),
        (["--devcie", "x", "snapshot"], "clawperator has no option --devcie. Did you mean --device?"),
        (
            ["skills", "run", "a.b", "--regsitry", "x"],
            "skills run has no option --regsitry. Did you mean --registry?",
        ),
    ],
)
def test_a_flag_that_the_command_does_not_have_is_a_usage_error(argv: list[str], message: str) -> None:
    ran = clawperator(*argv)
    assert (ran.code, ran.json["code"], ran.json["message"]) == (1, "USAGE", message)
    name = " ".join(word for word in argv[:2] if not word.startswith("-"))
    found = clawperator(*shlex.split(ran.json["hint"].split("'")[1])[1:])
    assert found.code == 0
    assert "Usage: clawperator" in found.out.decode(), name


def test_a_choice_is_taken_in_any_case() -> None:
    assert clawperator("schema", "tools", "--form", "OpenAI").code == 0
    assert clawperator("version", "--output", "PRETTY").out.startswith(b"{\n")


def test_an_invalid_choice_is_refused_with_the_choices() -> None:
    ran = clawperator("recording", "compare", "--baseline", "a", "--result", "b", "--mode", "foo")
    assert (ran.code, ran.json["message"]) == (1, "--mode must be auto, literal or semantic, not 'foo'")
    assert ran.json["hint"] == "Run 'clawperator recording compare --help'."


@pytest.mark.parametrize(
    ("argv", "suggestion"),
    [
        (["snapsot"], "snapshot"),
        (["clik"], "click"),
        (["scroll-untl"], "scroll-until"),
        (["open-ap"], "open-app"),
        (["xyzzy-nothing-like-it"], None),
        (["action", "press-key"], "press"),
        (["action", "open-uri"], "open"),
        (["observe", "screenshot"], "screenshot"),
        (["inspect", "ui"], "snapshot"),
        (["action"], None),
    ],
)
def test_an_unknown_command_suggests_the_closest_one(argv: list[str], suggestion: str | None) -> None:
    ran = clawperator(*argv)
    assert (ran.code, ran.json["code"]) == (1, "UNKNOWN_COMMAND")
    assert ran.json.get("suggestion") == suggestion


def test_a_misspelt_subcommand_is_usage_and_exit_1() -> None:
    ran = clawperator("recording", "exprot", "--input", "x")
    assert (ran.code, ran.json["code"]) == (1, "USAGE")
    assert "did you mean 'export'?" in ran.json["message"]


def test_exec_takes_inline_json_files_and_stdin(tmp_path: Path) -> None:
    text = json.dumps(PLAN)
    path = tmp_path / "plan.json"
    path.write_text("\ufeff" + text, "utf-8")
    for argv in (
        ["exec", text],
        ["execute", "--execution", f" {text} "],
        ["exec", "--payload", str(path)],
        ["exec", str(path)],
        ["exec", "--file", str(path)],
        ["exec", "-"],
    ):
        ran = clawperator(*argv, "--validate-only", stdin=text.encode())
        assert ran.json == {"ok": True, "validated": True, "execution": PLAN}


def test_exec_dry_run_shows_the_plan_and_wins() -> None:
    ran = clawperator("exec", "--dry-run", "--validate-only", "--execution", json.dumps(PLAN))
    plan = {k: PLAN[k] for k in ("commandId", "timeoutMs")} | {"actionCount": 3, "actions": PLAN["actions"]}
    assert ran.json == {"ok": True, "dryRun": True, "plan": plan}


def test_exec_timeout_overrides_the_plan() -> None:
    text = json.dumps(PLAN)
    assert clawperator("exec", text, "--validate-only", "--timeout", "5000").json["execution"]["timeoutMs"] == 5000
    ran = clawperator("exec", text, "--validate-only", "--timeout", "5")
    assert (ran.code, ran.json["code"]) == (1, "EXECUTION_VALIDATION_FAILED")
    assert "details" not in ran.json


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        ([], "MISSING_ARGUMENT"),
        (["nowhere.json"], "EXECUTION_VALIDATION_FAILED"),
        (["--nowhere.json"], "EXECUTION_VALIDATION_FAILED"),
        (["/"], "EXECUTION_VALIDATION_FAILED"),
        (["{"], "EXECUTION_VALIDATION_FAILED"),
        (["[1]"], "EXECUTION_VALIDATION_FAILED"),
        (["{" * 9_000], "EXECUTION_VALIDATION_FAILED"),
        (["{}", "--payload", "{}"], "EXECUTION_VALIDATION_FAILED"),
        (["/dev/zero"], "PAYLOAD_TOO_LARGE"),
        ([json.dumps(PLAN)], "ADB_NOT_FOUND"),
    ],
)
def test_exec_rejects_an_invalid_plan(argv: list[str], code: str) -> None:
    ran = clawperator("exec", *argv)
    assert (ran.code, ran.json["code"]) == (1, code)


def test_exec_best_effort_is_not_implemented() -> None:
    ran = clawperator("exec", "best-effort", "--goal", "buy milk")
    assert (ran.code, ran.json["code"], ran.json["goal"]) == (1, "NOT_IMPLEMENTED", "buy milk")
    by_claw = claw_json("exec-command", "exec", "best-effort").json
    assert (by_claw["exit_code"], by_claw["error"]["code"]) == (1, "NOT_IMPLEMENTED")


def test_schema_lists_and_prints_and_refuses() -> None:
    names = [entry["name"] for entry in clawperator("schema").json["schemas"]]
    assert "execution" in names
    assert clawperator("schema", "recording-export").json["title"] == "recording-export"
    ran = clawperator("schema", "recording-exprt")
    assert (ran.code, ran.json["code"]) == (1, "SCHEMA_NOT_FOUND")
    assert "'recording-export'" in ran.json["message"]


@pytest.mark.parametrize(
    ("status", "success", "code"), [("success", True, 0), ("failed", True, 1), ("success", False, 1)]
)
def test_an_execution_with_a_failed_step_or_status_exits_1(
    status: Literal["success", "failed"],
    success: bool,  # noqa: FBT001 - a column of the table
    code: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    envelope = ResultEnvelope("c", "t", status, [StepResult("a1", "click", success, {})], None)
    result = ExecutionResult(envelope, "emulator-5554", "operator")
    monkeypatch.setattr("clawperator.device.discovery.resolve_device", lambda _serial: None)
    monkeypatch.setattr("clawperator.device.run.run.run_plan", lambda *_, **__: result)
    ran = clawperator("click", "--text", "A")
    assert (ran.code, ran.json["envelope"]["status"]) == (code, status)


@pytest.mark.random
@given(
    argv=st.lists(
        st.sampled_from([c.name for c in all_commands()])
        | st.text(max_size=6)
        | st.sampled_from(
            [
                "--text",
                "--json",
                "--input",
                "--dry-run",
                "--timeout",
                "5",
                "--",
                "-",
                "--coordinate",
                "{}",
                "record",
                "parse",
            ]
        ),
        max_size=7,
    )
)
def test_any_command_line_ends_in_a_document_or_help(argv: list[str]) -> None:
    ran = clawperator(*argv)
    assert ran.code in (0, 1)
    assert "Traceback" not in ran.err
    if ran.out.startswith(b"{"):
        assert ran.json.get("code", "USAGE") in CODES
        assert ran.json.get("code") != "UNKNOWN"


def test_an_internal_error_is_a_document(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clawperator.operations.program.__version__", object())  # no JSON can be made of it
    ran = clawperator("version", "--verbose")
    assert (ran.code, ran.json["code"]) == (1, "UNKNOWN")
    assert "Traceback" in ran.err
    assert "Traceback" not in clawperator("version").err


# As a process ----------------------------------------------------------------------------------------------------


def shell(command: str, **more: Any) -> subprocess.CompletedProcess[bytes]:
    env = {**os.environ, "PATH": f"{Path(BINARY).parent}:{os.environ['PATH']}"}
    return subprocess.run(["bash", "-c", command], capture_output=True, timeout=60, check=False, env=env, **more)


def test_version_is_answered_before_anything_is_imported() -> None:
    done = shell(
        'python -X importtime -c \'import sys; sys.argv[1:] = ["--version"];'
        " from clawperator.cli.main import main; sys.exit(main())'"
    )
    assert done.stdout.decode() == package.__version__ + "\n"
    assert b"msgspec" not in done.stderr
    assert shell("clawperator -- --version").returncode == 1


def test_nothing_heavy_is_imported_for_a_command() -> None:
    done = shell("python -X importtime -m clawperator click --text A --dry-run")
    assert done.returncode == 0
    loaded = {line.split("|")[-1].strip() for line in done.stderr.decode().splitlines()}
    assert "msgspec" in loaded
    heavy = {"argparse", "dataclasses", "pathlib", "tempfile", "random", "subprocess", "asyncio", "json", "shlex"}
    assert not loaded & heavy
    assert not any(name.startswith("clawperator.recording") for name in loaded)


def test_a_closed_pipe_or_stdout_prints_no_traceback() -> None:
    for command in (
        "clawperator schema execution | head -c 1",
        "clawperator schema >&-",
        "clawperator version 2>&-",
    ):
        done = shell(f"set -o pipefail; {command}; exit 0")
        assert b"Traceback" not in done.stderr
        assert b"Exception" not in done.stderr
    assert shell("clawperator version > /dev/full").returncode == 1


def test_an_argument_that_is_not_text_is_a_typed_error() -> None:
    done = shell("clawperator click --text $'\\xff' --dry-run")
    assert json.loads(done.stdout)["code"] == "EXECUTION_VALIDATION_FAILED"
    done = shell("clawperator recording parse --input $'/tmp/\\xff'")
    assert json.loads(done.stdout)["code"] == "RECORDING_PARSE_FAILED"


def test_ctrl_c_leaves_the_old_output_and_a_document(tmp_path: Path) -> None:
    source = tmp_path / "a.ndjson"
    header = '{"type":"recording_header","schemaVersion":1,"sessionId":"a","startedAt":1,"operatorPackage":"p"}\n'
    event = '{"ts":1,"seq":1,"type":"press_key","key":"back","snapshot":"%s"}\n' % ("x" * 100_000)
    source.write_text(header + event * 3_000)
    out = tmp_path / "a.export.json"
    out.write_text("old")
    argv = [BINARY, "recording", "export", "--input", str(source), "--snapshots", "include"]
    child = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while not list(tmp_path.glob(".clawperator-*.part")):
        assert child.poll() is None
        time.sleep(0.001)
    child.send_signal(signal.SIGINT)
    stdout, stderr = child.communicate(timeout=30)
    assert (child.returncode, json.loads(stdout)["code"]) == (130, "INTERRUPTED")
    assert stderr == b""
    assert out.read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.export.json", "a.ndjson"]


@pytest.mark.parametrize("timeout", ["1e15", "99999999999999999999999", "1e300"])
@pytest.mark.parametrize("line", ["version", "devices", "snapshot", "sleep 10"])
def test_a_timeout_beyond_every_limit_is_an_error_about_it(line: str, timeout: str) -> None:
    ran = clawperator(*line.split(), "--timeout", timeout)
    assert (ran.code, ran.json["code"]) == (1, "EXECUTION_VALIDATION_FAILED")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("phone stop --all shop", "<serial> cannot be combined with --all"),
        ("phone start --device shop mill", "shop of --device and mill are two devices"),
        ("phone reset mill --device shop", "shop of --device and mill are two devices"),
    ],
)
def test_a_line_that_names_two_phones_is_refused(line: str, message: str) -> None:
    ran = clawperator(*line.split())
    assert (ran.code, ran.json["code"], ran.json["message"]) == (1, "USAGE", message)
