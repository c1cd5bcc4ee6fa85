"""The JSON contract of ``claw``: golden documents, a test over the whole registry, and the same fields everywhere.

After a change that is meant, write a golden document anew, look at its diff and commit it:

    claw <command> --output-format json <args> > tests/fixtures/json/<command>.json

or all of them at once:

    UPDATE_GOLDEN=1 pytest tests/cli/claw/test_cli_parity_audit.py
"""

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clawperator.agent.envelope import CLASSES, COMMON, KINDS, error_object
from clawperator.errors import CODES, ClawError
from clawperator.operations.claw import claw_commands
from tests.device.phone_servers import running_phone_server
from tests.support import golden
from tests.support.hanging import HANG_SECONDS
from tests.support.paths import GOLDEN
from tests.support.running import Ran, claw, claw_json
from tests.support.schema_checks import assert_fits_schema

pytestmark = pytest.mark.usefixtures("folder")

NAMES = [command.name for command in claw_commands()]


# Every command, as a caller would type it. A phone is there for those that act.


def _flush(session_id: str = "sess_abc") -> None:
    assert claw("flush-transcript", "open settings", "--session-id", session_id).code == 0


def _forget_sessions() -> None:
    for session_id in ("sess_abc", "sess_def"):
        claw("delete-session", session_id)


def _list_sessions() -> Ran:
    _flush()
    _flush("sess_def")
    return claw_json("list-sessions")


def _load_session() -> Ran:
    _flush()
    return claw_json("load-session", "sess_abc")


def _delete_session() -> Ran:
    _flush()
    return claw_json("delete-session", "sess_abc")


def _acting(*argv: str) -> Callable[[], Ran]:
    def run() -> Ran:
        with running_phone_server():
            return claw_json(*argv)

    return run


def _asking(*argv: str) -> Callable[[], Ran]:
    return lambda: claw_json(*argv)


def _trust() -> Ran:
    Path(".claw").mkdir(exist_ok=True)
    servers = {"files": {"command": "files-server", "args": ["--read"]}}
    settings = {"permissions": {"defaultMode": "full", "allow": ["click"]}, "mcpServers": servers}
    Path(".claw/settings.json").write_text(json.dumps(settings))
    return claw_json("trust")


SETTINGS = '{"applicationId": "com.android.settings"}'
CASES: dict[str, Callable[[], Ran]] = {
    "list-sessions": _list_sessions,
    "load-session": _load_session,
    "delete-session": _delete_session,
    "flush-transcript": _asking("flush-transcript", "open settings", "--session-id", "sess_abc"),
    "show-command": _asking("show-command", "TAP"),
    "show-tool": _asking("show-tool", "press_key"),
    "exec-command": _acting("exec-command", "open", "com.android.settings"),
    "exec-tool": _acting("exec-tool", "open_app", SETTINGS),
    "route": _asking("route", "take a screenshot", "--limit", "3"),
    "bootstrap": _acting("bootstrap", "open settings", "--session-id", "sess_abc"),
    "command-graph": _asking("command-graph"),
    "tool-pool": _asking("tool-pool", "--simple-mode"),
    "bootstrap-graph": _asking("bootstrap-graph"),
    "turn-loop": _acting(
        "turn-loop",
        "open settings",
        "--continuation-prompt",
        "go back",
        "--max-turns",
        "2",
        "--session-id",
        "sess_abc",
    ),
    "trust": _trust,
}


def test_there_are_fifteen_commands_and_all_are_held_to_the_contract() -> None:
    assert len(NAMES) == 15
    assert sorted(CASES) == sorted(NAMES)
    assert all(any(flag.name == "--output-format" for flag in command.flags) for command in claw_commands())


# How each kind of failure looks as a whole.
FAILING: dict[str, Callable[[], Ran]] = {
    "load-session.not-found": _asking("load-session", "nope"),
    "exec-tool.denied": _asking("exec-tool", "click", "{}", "--permission-mode", "read-only"),
    "exec-tool.failed": _acting("exec-tool", "read_text", '{"matcher": {"textEquals": "Nowhere"}, "retry": {}}'),
    "exec-command.not-found": _asking("exec-command", "frobnicate", "now"),
    "bootstrap.not-understood": _asking("bootstrap", "colourless green ideas", "--session-id", "sess_abc"),
    "turn-loop.timeout": _asking("turn-loop", "hello", "--timeout-seconds", "0", "--session-id", "sess_abc"),
    "route.usage": _asking("route", "x", "--limit", "-1"),
}


@pytest.mark.parametrize("name", NAMES)
def test_a_document_is_the_golden_one_and_keeps_the_contract(name: str) -> None:
    ran = CASES[name]()
    document = ran.json
    assert golden.claw_differences(name, document) == []
    assert tuple(document)[:5] == COMMON
    assert list(document)[-1] == "warnings"
    stamp = time.mktime(time.strptime(document["timestamp"], "%Y-%m-%dT%H:%M:%SZ")) - time.timezone
    assert abs(stamp - time.time()) < HANG_SECONDS
    assert document["command"] == name
    assert document["exit_code"] == ran.code == 0
    assert document["output_format"] == "json"
    assert document["schema_version"] == "1.0"
    assert "error" not in document
    assert ran.out.isascii()
    assert ran.out == json.dumps(json.loads(ran.out)).encode() + b"\n"
    assert_fits_schema("claw-envelope", document)
    if name in SEED:
        _fits_seed(name, document)


def test_the_output_as_it_is_can_be_the_golden_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(golden.UPDATE, raising=False)
    first = _load_session()
    (tmp_path / "load-session.json").write_bytes(first.out)
    _forget_sessions()
    assert golden.claw_differences("load-session", _load_session().json, tmp_path) == []
    assert golden.claw_differences("load-session", {**first.json, "another": 1}, tmp_path) != []


def test_the_update_writes_the_golden_document_that_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(golden.UPDATE, "1")
    assert golden.claw_differences("load-session", _load_session().json, tmp_path) == []
    assert (tmp_path / "load-session.json").read_text() == (GOLDEN / "load-session.json").read_text()


@pytest.mark.parametrize("name", FAILING)
def test_the_golden_document_of_a_failure(name: str) -> None:
    assert golden.claw_differences(f"claw.{name}", FAILING[name]().json) == []


def test_json_envelope_field_consistency() -> None:
    """A member has one type in the documents of all commands, and no command lacks a common one."""
    types: dict[str, set[str]] = {}
    for path in sorted(GOLDEN.glob("*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        if path.stem not in NAMES and not path.stem.startswith("claw."):
            continue
        assert tuple(document)[:5] == COMMON, path.stem
        assert document["exit_code"] == (0 if "error" not in document else document["exit_code"]), path.stem
        assert ("error" in document) == (document["exit_code"] != 0), path.stem
        for name, member in (*document.items(), *document.get("error", {}).items()):
            if member is not None and name != "result":  # the result of a tool has the shape of that tool
                types.setdefault(name, set()).add(type(member).__name__)
    assert {name: found for name, found in types.items() if len(found) > 1} == {}
    assert {name for name in types if name.endswith("_count")} <= {
        n for n, found in types.items() if found == {"int"}
    }


def test_a_failure_matches_the_schema() -> None:
    document = claw_json("load-session", "nope").json
    assert_fits_schema("claw-envelope", document)
    assert_fits_schema("claw-error", document["error"])


def test_the_lines_of_a_session_match_their_schemas() -> None:
    assert claw_json("bootstrap", "hello", "--session-id", "s").code == 0
    meta, turn = map(json.loads, Path(".claw/sessions/s.jsonl").read_text(encoding="utf-8").splitlines())
    assert_fits_schema("session-meta", meta)
    assert_fits_schema("session-turn", turn)


# The examples of the seed, as far as their shape goes.

SEED: dict[str, dict[str, Any]] = {
    "list-sessions": {"directory": str, "sessions_count": int, "sessions": list},
    "delete-session": {"session_id": str, "deleted": bool, "directory": str},
    "load-session": {"session_id": str, "loaded": bool, "directory": str, "path": str},
    "flush-transcript": {
        "session_id": str,
        "path": str,
        "flushed": bool,
        "messages_count": int,
        "input_tokens": int,
        "output_tokens": int,
    },
    "show-command": {"name": str, "found": bool, "source_hint": str, "responsibility": str},
    "show-tool": {"name": str, "found": bool, "source_hint": str},
    "exec-command": {"name": str, "prompt": str, "handled": bool, "message": str, "source_hint": str},
    "exec-tool": {"name": str, "payload": str, "handled": bool, "message": str, "source_hint": str},
    "route": {"prompt": str, "limit": int, "match_count": int, "matches": list},
    "bootstrap": {
        "prompt": str,
        "setup": dict,
        "routed_matches": list,
        "turn": dict,
        "persisted_session_path": str,
    },
    "command-graph": {
        "builtins_count": int,
        "plugin_like_count": int,
        "skill_like_count": int,
        "total_count": int,
        "builtins": list,
        "plugin_like": list,
        "skill_like": list,
    },
    "tool-pool": {"simple_mode": bool, "include_mcp": bool, "tool_count": int, "tools": list},
    "bootstrap-graph": {"stages": list, "note": str},
}
SEED_PARTS: dict[tuple[str, str], dict[str, Any]] = {
    ("list-sessions", "sessions"): {
        "session_id": str,
        "created_at": str,
        "last_modified": str,
        "prompt_count": int,
        "stopped": bool,
    },
    ("route", "matches"): {"kind": str, "name": str, "score": float, "source_hint": str},
    ("bootstrap", "routed_matches"): {"kind": str, "name": str, "score": float, "source_hint": str},
    ("bootstrap", "setup"): {
        "python_version": str,
        "implementation": str,
        "platform_name": str,
        "test_command": str,
    },
    ("bootstrap", "turn"): {"prompt": str, "output": str, "stop_reason": str, "cancel_observed": bool},
    ("turn-loop", "turns"): {"prompt": str, "output": str, "stop_reason": str, "cancel_observed": bool},
    ("command-graph", "builtins"): {"name": str, "source_hint": str},
    ("tool-pool", "tools"): {"name": str, "source_hint": str},
}


def _fits(document: dict[str, Any], shape: dict[str, Any]) -> None:
    for field, kind in shape.items():
        assert type(document[field]) is kind, field


def _fits_seed(name: str, document: dict[str, Any]) -> None:
    """The seed's example of the command is reproduced in shape."""
    _fits(document, SEED[name])
    # The seed's own fields come in the seed's order, ours after them or between.
    assert [field for field in document if field in SEED[name]] == list(SEED[name])
    for (command, field), shape in SEED_PARTS.items():
        if command == name:
            part = document[field]
            for item in part if isinstance(part, list) else [part]:
                _fits(item, shape)


def test_hello_needs_no_phone_and_is_answered() -> None:
    document = claw_json("bootstrap", "hello").json
    assert document["exit_code"] == 0
    assert document["turn"]["stop_reason"] == "completed"
    assert document["persisted_session_path"].startswith(".claw/sessions/")


# Errors.

FAILURES: dict[str, tuple[list[str], str, str]] = {
    "no command": ([], "parse", "ARGUMENTS_INVALID"),
    "unknown command": (["frobnicate"], "parse", "ARGUMENTS_INVALID"),
    "missing argument": (["route"], "parse", "ARGUMENTS_INVALID"),
    "bad number": (["route", "x", "--limit", "-1"], "parse", "ARGUMENTS_INVALID"),
    "abbreviation": (["list-sessions", "--direct", "x"], "parse", "ARGUMENTS_INVALID"),
    "command not found": (["show-command", "nope-nope"], "command_not_found", "COMMAND_NOT_FOUND"),
    "tool not found": (["show-tool", "nope-nope"], "tool_not_found", "TOOL_NOT_FOUND"),
    "exec of no command": (["exec-command", "nope-nope", ""], "command_not_found", "COMMAND_NOT_FOUND"),
    "exec of no tool": (["exec-tool", "nope-nope", "{}"], "tool_not_found", "TOOL_NOT_FOUND"),
    "bad payload": (["exec-tool", "click", "{"], "parse", "TOOL_PAYLOAD_INVALID"),
    "payload of another shape": (["exec-tool", "press_key", '{"key": 5}'], "parse", "EXECUTION_VALIDATION_FAILED"),
    "denied": (["exec-tool", "click", "{}", "--permission-mode", "read-only"], "policy", "PERMISSION_DENIED"),
    "no phone": (["exec-tool", "press_key", '{"key": "home"}'], "device_not_found", "ADB_NOT_FOUND"),
    "no phone for a verb": (["exec-command", "back", ""], "device_not_found", "ADB_NOT_FOUND"),
    "session not found": (["load-session", "nope"], "session_not_found", "SESSION_NOT_FOUND"),
    "no session to resume": (["bootstrap", "hello", "--resume", "nope"], "session_not_found", "SESSION_NOT_FOUND"),
    "bad session id": (["load-session", "../x"], "usage", "SESSION_ID_INVALID"),
    "directory is a file": (
        ["flush-transcript", "x", "--directory", "a-file"],
        "filesystem",
        "SESSION_WRITE_FAILED",
    ),
    "not understood": (["bootstrap", "colourless green ideas"], "not_understood", "INSTRUCTION_NOT_UNDERSTOOD"),
    "brain without address": (["bootstrap", "x", "--brain", "openai"], "auth", "BRAIN_NOT_CONFIGURED"),
    "events nowhere": (["bootstrap", "hello", "--events", "no/such/f"], "filesystem", "EVENTS_WRITE_FAILED"),
    "no time": (["turn-loop", "hello", "--timeout-seconds", "0"], "timeout", "TURN_TIMEOUT"),
}


@pytest.mark.parametrize("what", FAILURES)
def test_each_failure_has_its_kind_and_all_fields(what: str) -> None:
    Path("a-file").write_text("")
    argv, kind, code = FAILURES[what]
    ran = claw_json(*argv)
    error = ran.json["error"]
    assert (error["kind"], error["code"]) == (kind, code)
    assert list(error)[:8] == ["kind", "operation", "target", "retryable", "message", "hint", "class", "code"]
    assert all(type(error[name]) is str and error[name] for name in error if name not in ("retryable", "details"))
    assert type(error["retryable"]) is bool
    assert error["class"] in CLASSES
    assert ran.code == (2 if kind == "timeout" else 1)
    assert list(ran.json)[:5] == list(COMMON)
    assert ran.json["command"] == (argv[0] if argv else "<missing>")


@pytest.mark.parametrize("code", CODES)
def test_every_code_there_is_becomes_a_whole_error_with_a_hint_that_can_be_followed(code: str) -> None:
    error = error_object(ClawError(code, "something is wrong"), "bootstrap")
    assert error["kind"] in {*CLASSES, *KINDS.values()} - {"unknown"}
    assert error["class"] in set(CLASSES) - {"unknown"}
    assert error["operation"]
    assert error["target"]
    # A command in quotes, an option, a thing to install or do: never a sigh.
    assert re.search(r"'[a-z]+ [^']+'|--[a-z]|Stop here|Install|Split|Look at|Export", error["hint"]), error[
        "hint"
    ]


@pytest.mark.parametrize("name", NAMES)
def test_help_and_version_are_documents_too(name: str) -> None:
    document = claw_json(name, "--help").json
    assert document["command"] == document["name"] == name
    assert document["help"].startswith(document["responsibility"])
    assert claw_json(name, "--version").json["command"] == name


def test_help_and_version_without_a_command() -> None:
    assert claw_json("--help").json["command"] == "help"
    assert len(claw_json("--help").json["commands"]) == 15
    assert claw_json("help").json["help"] == claw_json("--help").json["help"]
    assert claw_json("-V").json["command"] == "version"


@pytest.mark.parametrize("name", NAMES)
def test_help_of_a_command_may_be_asked_for_by_name(name: str) -> None:
    assert claw("help", name) == claw(name, "--help")
    assert claw_json("help", name).json["help"] == claw_json(name, "--help").json["help"]


def test_help_starts_with_bootstrap_and_has_an_example_of_it() -> None:
    lines = claw("help").out.decode().splitlines()
    assert lines[lines.index("Commands:") + 1].split()[0] == "bootstrap"
    assert any(line.startswith('  claw bootstrap "') for line in lines[lines.index("Examples:") :])


def test_help_for_an_unknown_command_suggests_a_name() -> None:
    ran = claw_json("help", "bootstrp")
    assert (ran.code, ran.json["error"]["kind"]) == (1, "parse")
    assert ran.json["error"]["hint"] == "Did you mean 'bootstrap'? Run 'claw bootstrap --help'."


# Text mode.

TEXTS: dict[str, tuple[list[str], int, str]] = {
    "no sessions": (["list-sessions"], 0, "(no sessions)\n"),
    "deleted already": (["delete-session", "x"], 0, "not found: x\n"),
    "tool": (
        ["show-tool", "SLEEP"],
        0,
        (
            "sleep\nclawperator/agent/tools/builtin.py\nWait for a number of milliseconds.\n\nParameters:\n"
            "  durationMs (number, required): duration in ms\n"
        ),
    ),
    "no tool": (["show-tool", "nope-nope"], 1, "Tool not found: nope-nope\n"),
    "no command": (["show-command", "nope-nope"], 1, "Command not found: nope-nope\n"),
    "no match": (["route", "qqqq"], 0, "No command or tool matches.\n"),
}


@pytest.mark.parametrize("what", TEXTS)
def test_prose_for_people(what: str) -> None:
    argv, code, text = TEXTS[what]
    ran = claw(*argv)
    assert (ran.code, ran.out.decode(), ran.err) == (code, text, "")


def test_prose_of_a_session() -> None:
    flushed = claw("flush-transcript", "one two three", "--session-id", "s")
    assert flushed.out == b".claw/sessions/s.jsonl\nflushed=True\n"
    assert claw("load-session", "s").out == b"s\n1 messages\nin=3 out=0\n"
    assert claw("list-sessions").out == b"s\n"
    assert claw("delete-session", "s").out == b"deleted: s\n"


def test_prose_of_a_turn_loop_and_of_a_usage_error() -> None:
    ran = claw("turn-loop", "hello")
    assert ran.out.startswith(b"## Turn 1\n")
    assert b"stop_reason=completed" in ran.out
    wrong = claw("frobnicate")
    assert (wrong.code, wrong.out) == (2, b"")
    assert wrong.err.startswith("claw: error: argument command: invalid choice")
    assert claw().code == 2


def test_the_variable_chooses_the_format_and_an_option_overrules_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAW_OUTPUT_FORMAT", "JSON")
    assert claw("list-sessions").json["sessions"] == []
    assert claw("list-sessions", "--output-format", "text").out == b"(no sessions)\n"
    assert claw("frobnicate").json["error"]["kind"] == "parse"
