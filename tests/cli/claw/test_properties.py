"""Twenty-five properties that automation relies on, each with its own test.

The numbers and the order are those of the contract. Where a property holds for the whole process and not only for
an answer, the command is run as a process.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from clawperator.operations.claw import claw_commands
from tests.device.phone_servers import running_phone_server
from tests.support.hanging import HANG_SECONDS, NEVER_SECONDS
from tests.support.running import Ran, claw, claw_json, cut_off

pytestmark = pytest.mark.usefixtures("folder")

LOCAL = [
    ["list-sessions"],
    ["load-session", "nope"],
    ["delete-session", "nope"],
    ["flush-transcript", "x", "--session-id", "local"],
    ["show-command", "click"],
    ["show-tool", "click"],
    ["exec-command", "schema", ""],
    ["exec-tool", "list_skills", "{}"],
    ["route", "open settings"],
    ["bootstrap", "hello", "--session-id", "hello"],
    ["turn-loop", "hello"],
    ["command-graph"],
    ["tool-pool"],
    ["bootstrap-graph"],
]
WRONG = [
    [],
    ["frobnicate"],
    ["route"],
    ["route", "x", "--limit", "many"],
    ["list-sessions", "--nope"],
    ["load-session", "nope"],
    ["load-session", "broken"],
    ["show-tool", "nope"],
    ["show-command", "nope"],
    ["exec-tool", "nope", "{}"],
    ["exec-tool", "click", "[1]"],
    ["exec-tool", "press_key", '{"key": "home"}'],
    ["exec-command", "recording-parse", "--input none.ndjson"],
    ["exec-command", "open", "'unclosed"],
    ["flush-transcript", "x", "--directory", "/proc/none"],
    ["flush-transcript", "x", "--session-id", "../../x"],
    ["bootstrap", "colourless green ideas"],
    ["bootstrap", "tap Display"],
    ["turn-loop", "hello", "--timeout-seconds", "-1"],
]
PROCESS = "import sys; from clawperator.cli.main import claw; sys.exit(claw())"


def process(*argv: str, **more: Any) -> subprocess.Popen[bytes]:
    """``claw`` as a process of its own, in JSON mode."""
    return subprocess.Popen(
        [sys.executable, "-c", PROCESS, *argv, "--output-format", "json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **{"stdin": subprocess.DEVNULL, **more},
    )


def finished(child: subprocess.Popen[bytes], seconds: float = HANG_SECONDS) -> Ran:
    out, err = child.communicate(timeout=seconds)
    return Ran(child.returncode, out, err.decode())


def write_settings(**settings: Any) -> None:
    Path(".claw").mkdir(exist_ok=True)
    Path(".claw/settings.json").write_text(json.dumps(settings))


def break_a_session() -> None:
    Path(".claw/sessions").mkdir(parents=True, exist_ok=True)
    Path(".claw/sessions/broken.jsonl").write_bytes(b'{"type":"session_meta"\nnot json at all\n')


def stored(session_id: str) -> list[str]:
    return [turn["prompt"] for turn in claw_json("load-session", session_id).json["turns"]]


def events_of(path: str = "events.ndjson") -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


@pytest.mark.parametrize("argv", WRONG, ids=" ".join)
def test_01_every_outcome_is_on_stdout_also_every_failure(argv: list[str]) -> None:
    break_a_session()
    ran = claw_json(*argv)
    assert ran.code in (1, 2)
    assert ran.json["error"]["message"]


def test_01_also_when_the_program_itself_has_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def fault(*_: object) -> None:
        raise ZeroDivisionError("a fault")

    monkeypatch.setattr("clawperator.agent.sessions.store.SessionStore.list", fault)
    error = claw_json("list-sessions").json["error"]
    assert (error["kind"], error["code"]) == ("runtime", "UNKNOWN")
    assert "ZeroDivisionError" in error["message"]


@pytest.mark.parametrize("argv", [*LOCAL, *WRONG], ids=" ".join)
def test_02_there_is_exactly_one_document(argv: list[str]) -> None:
    ran = claw(*argv, "--output-format", "json")
    assert ran.out.count(b"\n") == 1
    json.loads(ran.out)


def test_03_warnings_are_a_field_and_no_prose() -> None:
    break_a_session()
    write_settings(nonsense=1, permissions={"deny": [7]})
    listed = claw_json("list-sessions").json
    assert any("broken" in warning for warning in listed["warnings"])
    done = claw_json("bootstrap", "hello").json
    assert any("nonsense" in warning for warning in done["warnings"])
    assert claw_json("bootstrap-graph").json["warnings"] == []


def test_04_kinds_are_specific_and_stable() -> None:
    break_a_session()
    kinds = {" ".join(argv): claw_json(*argv).json["error"]["kind"] for argv in WRONG}
    assert kinds == {
        "": "parse",
        "frobnicate": "parse",
        "route": "parse",
        "route x --limit many": "parse",
        "list-sessions --nope": "parse",
        "load-session nope": "session_not_found",
        "load-session broken": "session_load_failed",
        "show-tool nope": "tool_not_found",
        "show-command nope": "command_not_found",
        "exec-tool nope {}": "tool_not_found",
        "exec-tool click [1]": "parse",
        'exec-tool press_key {"key": "home"}': "device_not_found",
        "exec-command recording-parse --input none.ndjson": "parse",
        "exec-command open 'unclosed": "parse",
        "flush-transcript x --directory /proc/none": "filesystem",
        "flush-transcript x --session-id ../../x": "usage",
        "bootstrap colourless green ideas": "not_understood",
        "bootstrap tap Display": "device_not_found",
        "turn-loop hello --timeout-seconds -1": "timeout",
    }


@pytest.mark.parametrize("argv", WRONG, ids=" ".join)
def test_05_every_error_has_operation_target_and_retryable(argv: list[str]) -> None:
    break_a_session()
    error = claw_json(*argv).json["error"]
    assert error["operation"]
    assert error["target"]
    assert type(error["retryable"]) is bool


@pytest.mark.parametrize("argv", WRONG, ids=" ".join)
def test_06_every_error_has_a_hint_that_names_something_to_do(argv: list[str]) -> None:
    break_a_session()
    hint = claw_json(*argv).json["error"]["hint"]
    assert "'claw " in hint or "'clawperator " in hint or "--" in hint or "quote" in hint or "mkdir" in hint, hint


def test_06_the_hint_about_a_missing_phone_is_a_command_that_works() -> None:
    hint = claw_json("bootstrap", "open settings").json["error"]["hint"]
    assert "'clawperator phone start'" in hint


@pytest.mark.parametrize(
    "argv", [["list-sessions"], ["show-tool", "no"], ["turn-loop", "x", "--timeout-seconds", "0"], []]
)
def test_07_the_exit_code_in_the_document_is_that_of_the_process(argv: list[str]) -> None:
    ran = finished(process(*argv))
    assert ran.err == ""
    assert ran.json["exit_code"] == ran.code
    assert ("error" in ran.json) == (ran.code != 0)


@pytest.mark.parametrize(
    ("argv", "own"),
    [
        (["show-command", "nope"], "found"),
        (["show-tool", "nope"], "found"),
        (["load-session", "nope"], "loaded"),
        (["exec-command", "nope", ""], "handled"),
        (["exec-tool", "nope", "{}"], "handled"),
    ],
)
def test_08_a_missing_entry_is_not_found(argv: list[str], own: str) -> None:
    document = claw_json(*argv).json
    assert document["exit_code"] == 1
    assert (document["name"], document["found"], document[own]) == ("nope", False, False)
    assert document["error"]["retryable"] is False


@pytest.mark.parametrize("argv", [*LOCAL, *WRONG], ids=" ".join)
def test_09_every_document_has_the_common_fields_and_a_version(argv: list[str]) -> None:
    break_a_session()
    document = claw_json(*argv).json
    assert list(document)[:5] == ["timestamp", "command", "exit_code", "output_format", "schema_version"]
    assert document["schema_version"] == "1.0"


def test_10_the_same_thing_has_the_same_name_everywhere() -> None:
    flushed = claw_json("flush-transcript", "a b", "--session-id", "s").json
    loaded = claw_json("load-session", "s").json
    (listed,) = claw_json("list-sessions").json["sessions"]
    done = claw_json("bootstrap", "hello", "--resume", "s").json
    deleted = claw_json("delete-session", "s").json
    for documents in ((flushed, loaded, listed), (flushed, loaded, deleted, done)):
        assert {document["session_id"] for document in documents} == {"s"}
    assert flushed["path"] == loaded["path"] == listed["path"] == done["persisted_session_path"]
    assert flushed["messages_count"] == loaded["messages_count"] == listed["messages_count"] == 1
    assert loaded["directory"] == deleted["directory"] == flushed["directory"] == ".claw/sessions"
    assert flushed["input_tokens"] == loaded["input_tokens"] == 2
    by_name = {command.name: {flag.name for flag in command.flags} for command in claw_commands()}
    for name in ("list-sessions", "load-session", "delete-session", "flush-transcript", "bootstrap", "turn-loop"):
        assert "--directory" in by_name[name]
    for name in ("exec-tool", "exec-command", "bootstrap", "turn-loop"):
        assert {"--device", "--permission-mode", "--deny-tool", "--timeout-seconds"} <= by_name[name]


def test_11_local_commands_need_no_key_and_never_call_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """A service listens and keys are set, but no request arrives."""
    with socket.create_server(("127.0.0.1", 0)) as trap:
        address = f"http://127.0.0.1:{trap.getsockname()[1]}"
        for name in ("OPENAI", "ANTHROPIC"):
            monkeypatch.setenv(f"{name}_BASE_URL", address)
            monkeypatch.setenv(f"{name}_API_KEY", "a-key")
        monkeypatch.setenv("CLAW_MODEL", "some-model")
        for argv in [*LOCAL, *WRONG]:
            claw_json(*argv)
        trap.settimeout(0.05)
        with pytest.raises(TimeoutError):
            trap.accept()


def test_12_nothing_hangs_for_ever() -> None:
    mute = {"command": sys.executable, "args": ["-c", f"import time; time.sleep({NEVER_SECONDS})"]}
    write_settings(mcpServers={"mute": mute})
    assert claw_json("trust").json["trusted"]
    with running_phone_server():
        started = time.monotonic()
        ran = claw_json(
            *("exec-tool", "wait_for_node", '{"matcher": {"textEquals": "never there"}, "timeoutMs": 110000}'),
            *("--timeout-seconds", "1.2"),
        )
        assert time.monotonic() - started < HANG_SECONDS
        assert ran.code in (1, 2)
        started = time.monotonic()
        assert claw_json("exec-tool", "mcp__mute__x", "{}", "--timeout-seconds", "0.5").code in (1, 2)
        assert time.monotonic() - started < HANG_SECONDS


def test_13_no_confirmation_is_requested_without_a_terminal() -> None:
    """An open stdin without input is not a terminal."""
    read, write = os.pipe()
    try:
        child = process("exec-tool", "list_skills", "{}", "--ask-tool", "list_skills", stdin=read)
        error = finished(child).json["error"]
    finally:
        os.close(read)
        os.close(write)
    assert (error["kind"], error["code"]) == ("policy", "PERMISSION_DENIED")
    assert "no terminal to ask on" in error["message"]


def test_14_the_deadline_has_its_own_exit_code_and_is_awaited_with_heartbeats() -> None:
    with running_phone_server():
        ran = claw_json(
            *("turn-loop", "open settings then wait for Atlantis", "--timeout-seconds", "1.5"),
            *("--events", "events.ndjson", "--heartbeat-seconds", "0.1"),
        )
    assert ran.code == 2
    assert ran.json["final_stop_reason"] == "timeout"
    assert ran.json["error"]["kind"] == "timeout"
    beats = [event for event in events_of() if event["event"] == "heartbeat"]
    assert beats
    assert all(beat["phase"] for beat in beats)


def test_15_a_cancelled_turn_leaves_nothing_and_the_session_can_be_used_again() -> None:
    claw_json("flush-transcript", "first", "--session-id", "s")
    with running_phone_server():
        late = claw_json(
            "turn-loop", "open settings then wait for Atlantis", "--resume", "s", "--timeout-seconds", "1"
        )
        assert late.json["final_cancel_observed"] is True
        assert stored("s") == ["first"]
        assert claw_json("bootstrap", "go home", "--resume", "s").code == 0
    assert stored("s") == ["first", "go home"]


def test_15_the_process_ends_although_a_worker_is_stuck(tmp_path: Path) -> None:
    stuck = tmp_path / "stuck.py"
    stuck.write_text(
        "import sys, time\n"
        "from clawperator.agent.offline import brain as offline\n"
        "def respond(self, request):\n"
        "    open('begun', 'w').close()\n"
        "    time.sleep(600)\n"
        "    yield\n"
        "offline.OfflineBrain.respond = respond\n"
        "from clawperator.cli.main import claw\n"
        "sys.exit(claw())\n"
    )

    def run(seconds: str) -> Ran:
        child = subprocess.Popen(
            [
                sys.executable,
                str(stuck),
                "turn-loop",
                "hello",
                "--timeout-seconds",
                seconds,
                "--output-format",
                "json",
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
        )
        return finished(child)

    ran = cut_off(run, lambda _: Path("begun").exists())
    assert (ran.code, ran.err) == (2, "")
    assert ran.json["final_cancel_observed"] is False
    assert not list(Path(".claw/sessions").glob("*.jsonl"))


def test_16_refused_work_leaves_everything_as_it_was() -> None:
    claw_json("flush-transcript", "first", "--session-id", "s")
    before = Path(".claw/sessions/s.jsonl").read_bytes()
    full = claw_json("bootstrap", "hello", "--resume", "s", "--max-session-turns", "1").json
    assert (full["turn"]["stop_reason"], full["turn"]["committed"]) == ("max_turns_reached", False)
    poor = claw_json("bootstrap", "hello", "--resume", "s", "--max-budget-tokens", "1").json
    assert poor["turn"]["stop_reason"] == "max_budget_reached"
    assert Path(".claw/sessions/s.jsonl").read_bytes() == before
    strict = claw_json("turn-loop", "hello", "--max-budget-tokens", "0", "--strict")
    assert strict.code == 1


def test_17_changing_something_twice_succeeds_and_reports_the_change() -> None:
    claw_json("flush-transcript", "x", "--session-id", "s")
    first, second = claw_json("delete-session", "s"), claw_json("delete-session", "s")
    assert (first.code, first.json["deleted"], first.json["status"]) == (0, True, "deleted")
    assert (second.code, second.json["deleted"], second.json["status"]) == (0, False, "not_found")
    assert "error" not in second.json
    claw_json("flush-transcript", "x", "--session-id", "s")
    again = claw_json("flush-transcript", "y", "--session-id", "s")
    assert again.json["error"]["kind"] == "session_exists"
    assert stored("s") == ["x"]


def test_18_a_session_can_be_made_listed_loaded_resumed_and_deleted_anywhere() -> None:
    where = ("--directory", "elsewhere/deep")
    assert (
        claw_json("flush-transcript", "one", "--session-id", "mine", *where).json["path"]
        == "elsewhere/deep/mine.jsonl"
    )
    assert claw_json("flush-transcript", "two", "--resume", "mine", *where).json["messages_count"] == 2
    assert claw_json("bootstrap", "hello", "--resume", "mine", *where).json["turn"]["turn"] == 3
    assert [s["session_id"] for s in claw_json("list-sessions", *where).json["sessions"]] == ["mine"]
    assert claw_json("load-session", "mine", *where).json["prompt_count"] == 3
    assert claw_json("delete-session", "mine", *where).json["deleted"] is True
    assert claw_json("list-sessions", *where).json["sessions_count"] == 0
    assert not Path(".claw").exists()


def test_19_a_session_knows_when_it_was_made_and_what_it_holds() -> None:
    claw_json("bootstrap", "hello", "--session-id", "s")
    (listed,) = claw_json("list-sessions").json["sessions"]
    assert Path(listed["path"]).stem == listed["session_id"] == "s"
    assert listed["created_at"] <= listed["last_modified"]
    assert (listed["prompt_count"], listed["messages_count"]) == (1, 2)
    assert listed["size_bytes"] == Path(listed["path"]).stat().st_size
    assert listed["valid"] is True
    assert listed["stopped"] is True


def test_20_every_event_has_the_correlation_id_and_the_next_number() -> None:
    document = claw_json("bootstrap", "hello", "--events", "events.ndjson", "--session-id", "s").json
    events = events_of()
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert {event["correlation_id"] for event in events} == {document["correlation_id"]}
    (turn,) = claw_json("load-session", "s").json["turns"]
    assert turn["correlation_id"] == document["correlation_id"]


def test_21_events_are_a_stream_of_their_own_and_the_answer_stays_one_line() -> None:
    with running_phone_server():
        ran = claw("bootstrap", "open settings", "--events", "-", "--output-format", "json")
    *lines, last = [json.loads(line) for line in ran.out.splitlines()]
    assert ran.err == ""
    assert last["command"] == "bootstrap"
    names = [line["event"] for line in lines]
    stages = [line["stage"] for line in lines if line["event"] == "stage"]
    graph = claw_json("bootstrap-graph").json
    assert stages == [stage["id"] for stage in graph["stage_details"]]
    for name in ("turn_started", "tool_called", "tool_result", "committed", "turn_ended"):
        assert name in names
    assert names[-1] == "turn_ended"


def test_22_usage_and_cost_are_numbers_in_the_answer() -> None:
    usage = claw_json("bootstrap", "hello").json["usage"]
    assert usage["input_tokens"] == 1
    assert usage["output_tokens"] > 5
    assert usage["cost_usd"] == 0.0


def test_23_a_denial_reports_the_tool_the_rule_and_the_reason() -> None:
    write_settings(permissions={"defaultMode": "read-only"})
    with running_phone_server():
        ran = claw_json("bootstrap", "go home")
    (denial,) = ran.json["turn"]["permission_denials"]
    assert (denial["tool_name"], denial["status"]) == ("press_key", "blocked")
    assert "read-only" in denial["reason"]
    assert ran.json["error"]["kind"] == "policy"
    assert ran.json["permissions"]["mode"] == "read-only"
    assert ran.json["permissions"]["mode_source"].endswith(".claw/settings.json")
    allowed = claw_json("bootstrap", "hello", "--permission-mode", "full").json["permissions"]
    assert (allowed["mode"], allowed["mode_source"]) == ("full", "flag")


def test_24_what_is_broken_is_listed_and_hides_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_a_session()
    claw_json("flush-transcript", "x", "--session-id", "good")
    listed = claw_json("list-sessions")
    assert listed.code == 0
    assert {s["session_id"]: s["valid"] for s in listed.json["sessions"]} == {"broken": False, "good": True}
    assert listed.json["invalid_count"] == 1
    write_settings(mcpServers={"gone": {"command": str(tmp_path / "no-such-program")}})
    assert claw_json("trust").json["trusted"]
    pool = claw_json("tool-pool").json
    assert pool["tool_count"] > 20
    assert [(server["name"], server["status"]) for server in pool["mcp_servers"]] == [("gone", "failed")]
    assert any("gone" in warning for warning in pool["warnings"])
    monkeypatch.setenv("CLAWPERATOR_SKILLS_REGISTRY", str(tmp_path / "none.json"))
    graph = claw_json("command-graph").json
    assert graph["skill_like_count"] == 0
    assert graph["builtins_count"] > 50
    assert graph["warnings"]


def test_25_two_writers_never_mix_or_lose_a_turn() -> None:
    claw_json("flush-transcript", "0", "--session-id", "s")
    children = [process("flush-transcript", f"writer {n}", "--resume", "s") for n in range(4)]
    codes = {f"writer {n}": finished(child).code for n, child in enumerate(children)}
    committed = {prompt for prompt, code in codes.items() if code == 0}
    assert set(stored("s")) == committed | {"0"}
    assert len(stored("s")) == len(committed) + 1


def test_25_a_locked_session_is_busy_and_running() -> None:
    claw_json("flush-transcript", "0", "--session-id", "s")
    with running_phone_server():
        child = process("bootstrap", "wait 3 seconds", "--resume", "s")
        try:
            end = time.monotonic() + HANG_SECONDS
            while claw_json("list-sessions").json["sessions"][0]["stopped"] and time.monotonic() < end:
                time.sleep(0.02)
            child.send_signal(signal.SIGSTOP)  # so that it does not end while it is looked at
            assert claw_json("list-sessions").json["sessions"][0]["stopped"] is False
            assert claw_json("delete-session", "s").json["error"]["kind"] == "session_busy"
        finally:
            child.send_signal(signal.SIGCONT)
            ran = finished(child)
    assert ran.code == 0
    assert stored("s") == ["0", "wait 3 seconds"]


def test_25_a_killed_writer_loses_nothing_that_was_committed() -> None:
    for n in range(3):
        claw_json("flush-transcript", f"turn {n}", *(("--resume", "s") if n else ("--session-id", "s")))
        child = process("flush-transcript", "killed", "--resume", "s")
        time.sleep(0.02 * n)
        child.send_signal(signal.SIGKILL)
        child.communicate(timeout=HANG_SECONDS)
    kept = [prompt for prompt in stored("s") if prompt != "killed"]
    assert kept == ["turn 0", "turn 1", "turn 2"]


def test_25_secrets_are_not_written_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "very-secret-key-0123456789")
    claw_json("flush-transcript", "the key is very-secret-key-0123456789 ok", "--session-id", "s")
    written = Path(".claw/sessions/s.jsonl").read_text()
    assert "very-secret-key" not in written
    assert "[redacted]" in written
