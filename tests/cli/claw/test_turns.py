"""Whole calls of ``claw`` on a simulated phone, from prompt to evidence, with every kind of brain."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from clawperator.agent.cancellation import TurnDeadline
from clawperator.agent.sessions.store import SessionStore
from clawperator.agent.tools.builtin import builtin_tools
from clawperator.agent.turns import conversation
from tests.agent.inventory.test_plugins import Site, site_at
from tests.agent.models.model_server import model_server
from tests.agent.models.openai_script import call_reply, text_reply
from tests.device.phone_servers import running_phone_server
from tests.support.hanging import HANG_SECONDS, NEVER_SECONDS
from tests.support.running import claw, claw_json

pytestmark = pytest.mark.usefixtures("folder")
PROCESS = "import sys; from clawperator.cli.main import claw; sys.exit(claw())"


@pytest.fixture
def site(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    with site_at(folder, monkeypatch) as site:
        yield site


def test_a_sentence_is_done_and_the_session_has_one_turn_with_its_evidence() -> None:
    with running_phone_server() as phone_server:
        ran = claw_json("bootstrap", "open settings and tell me the Android version", "--session-id", "tour")
        assert phone_server.phone.foreground() == "com.android.settings"
    turn = ran.json["turn"]
    assert (ran.code, turn["stop_reason"], turn["outcome"], turn["committed"]) == (0, "completed", "done", True)
    assert turn["output"].endswith("Android version: 15.")
    loaded = claw_json("load-session", "tour").json
    (kept,) = loaded["turns"]
    assert (kept["prompt"], kept["output"]) == (turn["prompt"], turn["output"])
    assert kept["evidence"] == turn["evidence"]
    assert {link["kind"] for link in kept["evidence"]} == {"execution", "snapshot"}
    for link in kept["evidence"]:
        data = (Path(loaded["directory"]) / link["path"]).read_bytes()
        assert (len(data), sha256(data).hexdigest()) == (link["bytes"], link["sha256"])
        assert json.loads(data)["deviceId"] == link["device_id"] == "claw-1"
    assert len(claw_json("list-sessions").json["sessions"]) == 1


def test_a_session_goes_on_where_it_was() -> None:
    with running_phone_server():
        claw_json("bootstrap", "open settings", "--session-id", "s")
        looped = claw_json(
            *("turn-loop", "tap Display", "--continuation-prompt", "go back", "--max-turns", "2", "--resume", "s")
        ).json
    assert [turn["turn"] for turn in looped["turns"]] == [2, 3]
    assert (looped["turns_completed"], looped["turns_committed"]) == (2, 2)
    assert looped["final_stop_reason"] == "completed"
    loaded = claw_json("load-session", "s").json
    assert [turn["prompt"] for turn in loaded["turns"]] == ["open settings", "tap Display", "go back"]


def test_a_password_is_in_no_file() -> None:
    with running_phone_server():
        ran = claw_json(
            *("bootstrap", 'open notes and tap Account and type "swordfish99" into the password field'),
            *("--session-id", "s", "--events", "events.ndjson"),
        )
    if ran.code != 0:
        pytest.fail(ran.json["turn"]["output"])
    files = [path for path in Path().rglob("*") if path.is_file()]
    assert len(files) > 3
    assert [path for path in files if b"swordfish99" in path.read_bytes()] == []


def test_a_model_acts_through_our_tools_and_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    replies = (
        call_reply("open_app", '{"applicationId": "com.android.settings"}', usage=(900, 20)),
        call_reply("describe_screen", "{}", call_id="c2", usage=(1000, 5)),
        text_reply("Settings ", "is open.", usage=(1100, 6)),
    )
    monkeypatch.setenv("CLAW_INPUT_USD_PER_MILLION", "10")
    monkeypatch.setenv("CLAW_OUTPUT_USD_PER_MILLION", "100")
    with model_server(*replies) as server, running_phone_server() as phone_server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        ran = claw_json(
            *("bootstrap", "please open the settings", "--brain", "openai", "--model", "small"),
            *("--session-id", "s", "--events", "events.ndjson"),
        )
        assert phone_server.phone.foreground() == "com.android.settings"
        results = [message for message in server.bodies[-1]["messages"] if message["role"] == "tool"]
    document = ran.json
    assert (ran.code, document["brain"], document["turn"]["output"]) == (0, "openai", "Settings is open.")
    assert [call["name"] for call in document["turn"]["tool_calls"]] == ["open_app", "describe_screen"]
    counted = {
        "input_tokens": 3000,
        "output_tokens": 31,
        "cached_tokens": 0,
        "cache_write_tokens": 0,
        "requests": 3,
    }
    assert document["usage"] == {**counted, "cost_usd": 0.0331}
    assert (document["turn"]["spent"], document["turn"]["cost_usd"]) == (counted, 0.0331)
    assert len(results) == 2
    assert "com.android.settings" in results[1]["content"]
    events = [json.loads(line) for line in Path("events.ndjson").read_text().splitlines()]
    deltas = [event["text"] for event in events if event["event"] == "message_delta"]
    assert (deltas[0], "".join(deltas)) == ("Settings ", "Settings is open.")
    (kept,) = claw_json("load-session", "s").json["turns"]
    assert kept["usage"] == counted


def test_the_text_of_a_turn_of_a_model_ends_with_its_tokens_and_its_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAW_INPUT_USD_PER_MILLION", "10")
    monkeypatch.setenv("CLAW_OUTPUT_USD_PER_MILLION", "100")
    with model_server(text_reply("hi", usage=(1000, 10))) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        for verb in ("bootstrap", "turn-loop"):
            ran = claw(verb, "x", "--brain", "openai", "--model", "m")
            assert ran.out.decode().splitlines()[-1] == "tokens: 1000 input, 10 output; 1 request; cost $0.011"


def test_a_model_that_exceeds_its_permissions_is_denied(monkeypatch: pytest.MonkeyPatch) -> None:
    replies = (call_reply("press_key", '{"key": "home"}'), text_reply("I was not allowed to."))
    with model_server(*replies) as server, running_phone_server():
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        ran = claw_json(
            *("turn-loop", "go home", "--brain", "openai", "--model", "m", "--permission-mode", "read-only")
        )
        content = server.bodies[-1]["messages"][-1]["content"]
    (turn,) = ran.json["turns"]
    assert [denial["tool_name"] for denial in turn["permission_denials"]] == ["press_key"]
    assert "read-only" in content


def test_denied_tools_are_not_offered_to_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    denied = ("--deny-tool", "click", "--deny-prefix", "recording", "--ask-tool", "run_skill")
    with model_server(text_reply("Nothing to do."), text_reply("Nothing to do.")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        claw_json("bootstrap", "hello", "--brain", "openai", "--model", "m", *denied)
        claw_json("bootstrap", "hello", "--brain", "openai", "--model", "m", "--permission-mode", "read-only")
        acting, looking = (offered_actions(body["tools"]) for body in server.bodies)
    offered = [tool for tool in builtin_tools() if tool.model_tool is not None]
    everything = {tool.name for tool in offered if tool.level != "full"} - COVERED
    recordings = {name for name in everything if "recording" in name}
    clicking = {"click", "double_tap", "drag", "scroll_and_click", "submit_text", "swipe"}
    assert everything - acting == {"run_skill", *clicking, *recordings}
    assert looking == {tool.name for tool in offered if tool.level == "read-only"} - COVERED


# Tools that a model gets no second name for.
COVERED = {"describe_screen"}


def offered_actions(definitions: list[dict[str, Any]]) -> set[str]:
    """The actions that the definitions of a request offer."""
    found: set[str] = set()
    for definition in definitions:
        function = definition["function"]
        described = [
            tool.name
            for tool in builtin_tools()
            if tool.model_tool == function["name"] and function["description"].startswith(tool.responsibility)
        ]
        found |= set(re.findall(r"^(\w+)\(", function["description"], re.MULTILINE) or described)
    return found


def test_a_model_that_is_not_there_leaves_no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TurnDeadline, "sleep", lambda *_: None)  # between two requests
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1")
    ran = claw_json("bootstrap", "hello", "--brain", "openai", "--model", "m", "--timeout-seconds", "20")
    assert ran.json["error"]["code"] == "BRAIN_UNAVAILABLE"
    assert ran.json["error"]["retryable"] is True
    assert ran.json["persisted_session_path"] is None
    assert claw_json("list-sessions").json["sessions"] == []


def test_a_plugin_is_a_command_and_cannot_disturb_the_answer(site: Site) -> None:
    site.add(
        "greeting",
        "greet = @:greet",
        '''
        print("loaded!")

        def greet(prompt, context):
            """Greet a user."""
            print("noise")
            return {"message": f"hello {prompt}", "device": context.device}
        ''',
    )
    graph = claw_json("command-graph").json  # the plugin lies in the working folder
    assert graph["plugin_like"] == []
    assert "the folder is not trusted; run 'claw trust'" in graph["warnings"][0]
    assert claw_json("trust").json["programs"][0]["kind"] == "plugin"
    graph = claw_json("command-graph").json
    assert [entry["name"] for entry in graph["plugin_like"]] == ["greet"]
    ran = claw_json("exec-command", "GREET", "world", "--device", "claw-9")
    assert (ran.json["message"], ran.json["result"]["device"]) == ("hello world", "claw-9")
    shown = claw_json("show-command", "greet").json
    assert (shown["family"], shown["responsibility"]) == ("plugin", "Greet a user.")


def test_a_claw_inside_a_claw_may_do_no_more_than_its_caller() -> None:
    inner = "list_skills '{}'"
    assert claw_json("exec-command", "exec-tool", inner).code == 0
    for flags in (["--deny-tool", "list_skills"], ["--deny-prefix", "list_"], ["--ask-tool", "list_skills"]):
        assert claw_json("exec-command", "exec-tool", inner, *flags).json["error"]["kind"] == "policy"
    widened = claw_json("exec-command", "exec-tool", 'press_key \'{"key": "home"}\' --permission-mode full')
    assert widened.json["error"]["kind"] == "policy"


def test_a_command_that_only_streams_has_no_result() -> None:
    error = claw_json("exec-command", "logs", "").json["error"]
    assert (error["kind"], error["hint"]) == ("usage", "Run 'clawperator logs' in a shell.")


def test_a_skill_is_a_command_with_its_arguments() -> None:
    with running_phone_server():
        ran = claw_json("exec-command", "com.solaxcloud.starter.set-discharge-limit", "35")
        assert ran.json["handled"] is True
        read = claw_json("exec-tool", "read_text", '{"matcher": {"textContains": "Discharge to"}}').json
    assert read["message"] == "read: Discharge to 35%"


def answered(word: str, *argv: str) -> tuple[int, str]:
    """``claw`` at a terminal, where the user answers with this word."""
    master, slave = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-c", PROCESS, *argv], stdin=slave, stdout=subprocess.PIPE, stderr=slave
    )
    os.close(slave)
    shown = b""
    end = time.monotonic() + HANG_SECONDS
    while b"[y/N]" not in shown and time.monotonic() < end:
        shown += os.read(master, 4096)
    os.write(master, word.encode() + b"\n")
    out, _ = child.communicate(timeout=HANG_SECONDS)
    os.close(master)
    return child.returncode, out.decode()


@pytest.mark.parametrize(("word", "code"), [("y", 0), ("n", 1), ("", 1)])
def test_a_person_at_a_terminal_is_asked(word: str, code: int) -> None:
    ended, out = answered(word, "exec-tool", "list_skills", "{}", "--ask-tool", "list_skills")
    assert ended == code
    assert bool(out.strip()) == (code == 0)


def test_the_text_of_a_failed_turn_ends_with_the_hint() -> None:
    ran = claw("bootstrap", "go home")
    assert ran.code == 1
    assert b"clawperator phone start" in ran.out


# What may not run, by whatever name it is called.

DENIED = [
    ("back", "", "press_key"),
    ("press", "home", "press_key"),
    ("exec", "{plan}", "press_key"),
    ("open", "'http://127.0.0.1/'", "open_uri(http://:*)"),
    ("open", "--uri http://127.0.0.1/", "open_uri(http://:*)"),
    ("recording-start", "", "start_recording"),
    ("packages-list", "", "list_packages"),
    ("devices", "", "list_devices"),
    ("skills-run", "com.android.settings.overview", "run_skill"),
    ("com.android.settings.overview", "", "run_skill"),
    ("recording-parse", "--input x.ndjson", "recording_parse"),
    ("phone-screenshot", "", "take_screenshot"),
    ("phone-screenshot", "--path ./x.png", "take_screenshot"),
]


@pytest.mark.parametrize(("command", "prompt", "rule"), DENIED)
def test_a_rule_about_a_tool_holds_for_the_commands_that_do_the_same(command: str, prompt: str, rule: str) -> None:
    plan = {
        "commandId": "c",
        "taskId": "t",
        "source": "s",
        "expectedFormat": "android-ui-automator",
        "timeoutMs": 5000,
        "actions": [{"id": "a", "type": "press_key", "params": {"key": "home"}}],
    }
    prompt = prompt.replace("{plan}", f"--execution '{json.dumps(plan)}'")
    with running_phone_server():
        error = claw_json("exec-command", command, prompt, "--deny-tool", rule).json["error"]
    assert (error["kind"], error["code"]) == ("policy", "PERMISSION_DENIED")


def test_a_plan_runs_as_the_command_was_given_it() -> None:
    with running_phone_server():
        assert claw_json("exec-command", "open", "com.android.settings").code == 0
        read = claw_json("exec-command", "read", '--text "Nowhere"').json
        assert (read["error"]["code"], read["error"]["operation"], read["error"]["target"]) == (
            *("NODE_NOT_FOUND", "read_text"),
            "claw-1",
        )
        assert read["handled"] is False
        assert read["result"]["envelope"]["status"] == "failed"
        clicked = claw_json("exec-command", "click", "--text Display", "--backend", "adb").json
        assert clicked["message"] == "clicked 'Display': the screen changed"
    shown = claw_json("exec-command", "click", "--text Display --dry-run").json
    assert shown["result"]["plan"]["actionCount"] == 1


@pytest.mark.parametrize(("signal_", "seconds"), [(signal.SIGINT, None), (signal.SIGTERM, "300")])
def test_a_stopped_turn_reports_its_completed_calls(signal_: signal.Signals, seconds: str | None) -> None:
    with running_phone_server():
        child = subprocess.Popen(
            [
                *(
                    sys.executable,
                    "-c",
                    PROCESS,
                    "bootstrap",
                    "go home then wait 100 seconds",
                    "--session-id",
                    "s",
                ),
                *("--output-format", "json", "--events", "events.ndjson"),
                *(("--timeout-seconds", seconds) if seconds else ()),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
        )
        end = time.monotonic() + HANG_SECONDS
        while time.monotonic() < end:
            if Path("events.ndjson").exists() and '"tool":"sleep"' in Path("events.ndjson").read_text():
                break
            time.sleep(0.02)
        child.send_signal(signal_)
        out, err = child.communicate(timeout=HANG_SECONDS)
    document = json.loads(out)
    assert (child.returncode, err) == (1, b"")
    assert (document["turn"]["stop_reason"], document["error"]["kind"]) == ("cancelled", "interrupted")
    assert document["turn"]["tool_calls"][0]["name"] == "press_key"
    assert document["persisted_session_path"] is None
    last = json.loads(Path("events.ndjson").read_text().splitlines()[-1])
    assert (last["event"], last["stop_reason"]) == ("turn_ended", "cancelled")
    assert claw_json("list-sessions").json["sessions"] == []


def test_invalid_prices_are_refused_before_anything_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAW_INPUT_USD_PER_MILLION", "abc")
    monkeypatch.setenv("CLAW_OUTPUT_USD_PER_MILLION", "1")
    with model_server(text_reply("hi", usage=(1, 1))) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        ran = claw_json("bootstrap", "x", "--brain", "openai", "--model", "m", "--session-id", "s")
        assert server.received == []
    assert ran.json["error"]["kind"] == "usage"
    assert ran.json["session_id"] == "s"


def test_the_usage_of_a_refused_turn_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    with model_server(text_reply("a long answer", usage=(400, 30))) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        ran = claw_json("bootstrap", "x", "--brain", "openai", "--model", "m", "--max-budget-tokens", "100")
    assert ran.json["turn"]["stop_reason"] == "max_budget_reached"
    used = ran.json["usage"]
    assert (used["input_tokens"], used["output_tokens"], used["requests"], used["cost_usd"]) == (400, 30, 1, None)


def test_a_document_of_a_turn_that_never_began_has_all_its_members() -> None:
    for verb in ("bootstrap", "turn-loop"):
        done = claw_json(verb, "hello").json
        failed = claw_json(verb, "hello", "--resume", "nope").json
        assert set(done) | {"error", "name", "found"} == set(failed)
        assert (failed["name"], failed["found"], failed["persisted_session_path"]) == ("nope", False, None)


def test_a_busy_session_is_not_waited_for_past_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    assert claw_json("flush-transcript", "x", "--session-id", "s").code == 0
    with SessionStore(".claw/sessions").open("s", resume=True):
        monkeypatch.setattr(conversation, "_BUSY_SECONDS", NEVER_SECONDS)
        started = time.monotonic()
        ran = claw_json("bootstrap", "hello", "--resume", "s", "--timeout-seconds", "0.3")
        assert time.monotonic() - started < HANG_SECONDS
    assert (ran.code, ran.json["error"]["kind"]) == (2, "timeout")


@pytest.mark.parametrize(
    ("limit", "code"),
    [("--max-budget-tokens", "TURN_BUDGET_REACHED"), ("--max-session-turns", "SESSION_TURNS_REACHED")],
)
def test_strict_makes_an_error_of_a_limit(limit: str, code: str) -> None:
    assert claw_json("bootstrap", "hello", limit, "0").code == 0
    strict = claw_json("bootstrap", "hello", limit, "0", "--strict").json
    assert (strict["error"]["code"], strict["error"]["retryable"]) == (code, False)


@pytest.mark.parametrize(
    "flags", [["--model", "m"], ["--heartbeat-seconds", "1"], ["--events", "e", "--heartbeat-seconds", "-1"]]
)
def test_an_option_that_would_do_nothing_is_refused(flags: list[str]) -> None:
    assert claw_json("bootstrap", "hello", *flags).json["error"]["kind"] == "parse"


def test_failures_include_warnings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAWPERATOR_SKILLS_REGISTRY", "/nonexistent.json")
    for argv in (["show-command", "nope"], ["exec-command", "nope", ""], ["bootstrap", "hello"], ["route", "x"]):
        assert claw_json(*argv).json["warnings"], argv


def test_structured_output_is_json_also_of_a_turn_that_was_refused() -> None:
    ran = claw_json("turn-loop", "hello", "--structured-output", "--max-budget-tokens", "0").json
    assert json.loads(ran["turns"][0]["output"])["summary"]


def test_quiet_prints_the_answer_only() -> None:
    with running_phone_server():
        quiet = claw("bootstrap", "open settings, then go home", "--quiet")
        assert (quiet.code, quiet.err) == (0, "")
        assert quiet.out.decode().count("\n") == 1
        assert quiet.out.startswith(b"Opened settings.")
        failed = claw("bootstrap", "tap Frobnicate", "-q")
    assert (failed.code, failed.out) == (1, b"")
    assert failed.err.startswith("claw: error: ")


def test_the_help_of_the_offline_brain_has_short_lines() -> None:
    answer = claw("bootstrap", "help", "--quiet").out.decode()
    assert answer.count("\n") > 5
    assert max(map(len, answer.splitlines())) <= 120


@pytest.mark.parametrize("given", ["-1", "0", "2"])
def test_the_turn_limit_is_echoed_as_it_was_given(given: str) -> None:
    document = claw_json("turn-loop", "help", f"--max-turns={given}").json
    assert document["max_turns"] == int(given)
    assert document["turns_completed"] == max(min(int(given), 1), 0)
