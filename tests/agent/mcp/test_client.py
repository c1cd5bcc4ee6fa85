"""The MCP client with working and misbehaving servers, and results as text."""

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clawperator.agent.cancellation import TurnCancelledError, TurnDeadline
from clawperator.agent.mcp import client as mcp_client
from clawperator.agent.mcp.tools import Discovery, McpPool, discover, headline, level_of, model_text
from clawperator.agent.ports import ToolContext, ToolResult
from clawperator.agent.settings import McpServer, McpTimeouts
from clawperator.policy.gate import PolicyGate, enforcing
from clawperator.policy.rules import Policy, encode_policy
from tests.support.hanging import HANG_SECONDS, NEVER_SECONDS, wait_until

PROGRAM = str(Path(__file__).parent / "mcp_server.py")
NAMES = ["echo", "fail", "refuse", "huge", "env", "pid", "sleep", "die", "half"]


def server(mode: str, **more: Any) -> McpServer:
    return McpServer(sys.executable, ("-I", "-S", PROGRAM, mode), **more)


def quick(mode: str, seconds: float = 0.4) -> McpServer:
    return server(mode, timeouts=McpTimeouts(seconds, seconds, seconds))


@pytest.fixture
def pool() -> Iterator[McpPool]:
    """A pool that leaves no thread behind."""
    with McpPool(TurnDeadline()) as opened:
        yield opened
    assert not any(thread.name == "mcp" for thread in threading.enumerate())


def found(pool: McpPool, mode: str = "good", **more: Any) -> Discovery:
    return discover({"box": server(mode, **more)}, TurnDeadline(10), pool)


def run(discovered: Discovery, tool: str, deadline: TurnDeadline | None = None, **params: Any) -> ToolResult:
    chosen = next(entry for entry in discovered.tools if entry.name == f"mcp__box__{tool}")
    return chosen.run(params, ToolContext(deadline or TurnDeadline(10)))


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.parametrize("mode", ["good", "slow", "noisy", "paged", "asks"])
def test_the_tools_of_a_server_are_discovered(pool: McpPool, mode: str) -> None:
    discovered = found(pool, mode)
    assert [report.status for report in discovered.servers] == ["ready"]
    assert discovered.servers[0].tool_count == len(NAMES)
    assert [tool.name for tool in discovered.tools] == [f"mcp__box__{name}" for name in NAMES]
    echo, fail = discovered.tools[:2]
    assert echo.responsibility == "Say it again."
    assert echo.source_hint == "mcp/box/echo"
    assert echo.family == "mcp"
    assert echo.schema()["required"] == ["text"]
    assert fail.responsibility == "Tool fail of MCP server box."
    assert fail.schema() == {"type": "object"}
    assert [tool.level for tool in discovered.tools[:4]] == ["read-only", "full", "act", "full"]


@pytest.mark.parametrize("mode", ["good", "noisy"])
def test_a_tool_runs_and_its_content_is_kept(pool: McpPool, mode: str) -> None:
    result = run(found(pool, mode), "echo", text="Grüße 😀")
    assert result.handled
    assert result.message == "Grüße 😀"
    assert result.result["content"] == [{"type": "text", "text": "Grüße 😀\nand more"}]
    assert result.result["structuredContent"] == {"echoed": "Grüße 😀"}


def test_a_failed_tool_keeps_its_content(pool: McpPool) -> None:
    result = run(found(pool), "fail")
    assert not result.handled
    assert result.message == "it went wrong"
    assert result.result["isError"] is True
    assert result.error is not None
    assert (result.error.code, result.error.operation, result.error.target) == (
        "MCP_TOOL_FAILED",
        "mcp.invocation",
        "box/fail",
    )


def test_a_call_the_server_rejects_is_a_failed_tool(pool: McpPool) -> None:
    result = run(found(pool), "refuse")
    assert not result.handled
    assert result.error is not None
    assert result.error.code == "MCP_TOOL_FAILED"
    assert "cannot do refuse" in result.message


def test_a_large_result_is_complete(pool: McpPool) -> None:
    result = run(found(pool), "huge", size=3_000_000)
    assert len(result.result["content"][0]["text"]) == 3_000_000
    assert len(result.message) <= 301


def test_an_endless_line_is_rejected(pool: McpPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clawperator.agent.mcp.client.LONGEST_LINE", 100_000)
    result = run(found(pool), "huge", size=1_000_000)
    assert result.error is not None
    assert result.error.code == "MCP_SERVER_FAILED"


def test_large_arguments_reach_the_server(pool: McpPool) -> None:
    result = run(found(pool), "echo", text="y" * 1_000_000)
    assert len(result.result["structuredContent"]["echoed"]) == 1_000_000


def test_a_lone_surrogate_in_an_answer_is_accepted(pool: McpPool) -> None:
    result = run(found(pool), "half")
    assert result.handled
    msgspec.json.encode(result.result)


def test_a_server_gets_only_basic_environment_variables(pool: McpPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("LANG", "C.UTF-8")
    result = run(found(pool, env={"TOKEN": "mine"}), "env")
    seen = json.loads(result.result["content"][0]["text"])
    assert {"PATH", "HOME", "LANG", "TOKEN"} <= set(seen)
    assert "OPENAI_API_KEY" not in seen
    assert (seen["TOKEN"], seen["CLAWPERATOR_PARENT"]) == ("mine", "mcp box")


def test_a_server_inherits_the_policy_of_the_thread_that_starts_it(pool: McpPool) -> None:
    policy = Policy("read-only")
    with enforcing(PolicyGate(policy)):
        seen = json.loads(run(found(pool), "env").result["content"][0]["text"])
    assert seen["CLAWPERATOR_POLICY"] == encode_policy(policy)


def test_a_server_gets_a_variable_that_the_user_names_and_its_value_is_hidden_in_errors(
    pool: McpPool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "hunter2-hunter2")
    seen = json.loads(run(found(pool, pass_env=("SECRET_TOKEN",)), "env").result["content"][0]["text"])
    assert seen["SECRET_TOKEN"] == "hunter2-hunter2"
    error = run(found(pool, pass_env=("SECRET_TOKEN",)), "die").error
    assert error is not None
    assert "token [SECRET_TOKEN] is bad" in str(error.details)


def failed(pool: McpPool, broken: McpServer) -> Any:
    discovered = discover({"box": broken}, TurnDeadline(10), pool)
    (report,) = discovered.servers
    assert report.status == "failed"
    assert discovered.tools == ()
    return report


def test_a_missing_program_is_an_error(pool: McpPool) -> None:
    report = failed(pool, McpServer("no-such-program-anywhere", source="settings.json"))
    assert report.code == "MCP_SERVER_FAILED"
    assert report.details["phase"] == "spawn_connect"
    assert "no-such-program-anywhere" in report.error
    assert report.hint == "Correct mcpServers.box in settings.json, or add --no-mcp."


def test_a_missing_working_folder_is_an_error(pool: McpPool, tmp_path: Path) -> None:
    report = failed(pool, server("good", cwd=str(tmp_path / "nowhere")))
    assert report.details["phase"] == "spawn_connect"
    assert "nowhere" in report.error


def test_a_crash_in_the_handshake_is_reported_with_stderr(pool: McpPool) -> None:
    report = failed(pool, server("dies"))
    assert report.details["phase"] == "initialize_handshake"
    assert report.details["exit_code"] == 7
    assert report.details["stderr"] == "no licence found"
    assert report.error.endswith("exited before answering initialize: no licence found")
    json.dumps(msgspec.to_builtins(report))


@pytest.mark.parametrize(
    ("mode", "phase"),
    [("mute", "initialize_handshake"), ("silent", "initialize_handshake"), ("strange", "initialize_handshake")],
)
def test_a_failed_handshake_is_an_error(pool: McpPool, mode: str, phase: str) -> None:
    report = failed(pool, quick(mode))
    assert report.details["phase"] == phase
    assert report.details["server"] == "box"


def test_the_hint_names_the_timeout_setting(pool: McpPool) -> None:
    assert failed(pool, quick("mute", 0.1)).hint == (
        "Raise mcpServers.box.timeouts.initialize in the settings, or add --no-mcp."
    )


def test_stateless_servers_get_client_info_with_each_request(pool: McpPool) -> None:
    discovered = found(pool, "stateless")
    assert [tool.name for tool in discovered.tools] == ["mcp__box__echo", "mcp__box__wants", "mcp__box__wrong"]
    assert run(discovered, "echo", text="hello").message == "hello"


@pytest.mark.parametrize(("mode", "reason"), [("refuses", "unknown method initialize"), ("newest", "2999-01-01")])
def test_an_unsupported_protocol_version_is_an_error(pool: McpPool, mode: str, reason: str) -> None:
    report = failed(pool, server(mode))
    assert report.details["phase"] == "initialize_handshake"
    assert reason in report.error


def test_a_tool_that_requires_input_failed(pool: McpPool) -> None:
    result = run(found(pool, "stateless"), "wants")
    assert result.error is not None
    assert result.error.code == "MCP_TOOL_FAILED"


def test_a_tool_that_requires_task_support_is_ignored_with_a_warning(pool: McpPool) -> None:
    (note,) = found(pool, "stateless").warnings
    assert "later" in note
    assert "task" in note


def test_the_message_contains_all_lines_of_an_error(pool: McpPool) -> None:
    result = run(found(pool, "stateless"), "wrong")
    assert result.message == "2 errors the city is missing"
    assert result.error is not None
    assert result.message in result.error.message


def test_an_endless_tool_list_is_an_error(pool: McpPool) -> None:
    assert failed(pool, server("endless")).details["phase"] == "tool_discovery"


def test_servers_are_started_in_parallel_and_fail_independently(pool: McpPool) -> None:
    mute = {name: quick("mute", seconds=3) for name in "ace"}
    started = time.monotonic()
    discovered = discover({"b": server("good"), "d": server("paged"), **mute}, TurnDeadline(HANG_SECONDS), pool)
    seconds = time.monotonic() - started
    assert [(report.name, report.status) for report in discovered.servers] == [
        ("b", "ready"),
        ("d", "ready"),
        ("a", "failed"),
        ("c", "failed"),
        ("e", "failed"),
    ]
    assert len(discovered.tools) == 2 * len(NAMES)
    assert seconds < 9, "each mute server is waited for 3 s, but not one after the other"


def test_names_are_made_valid_and_unique(pool: McpPool) -> None:
    discovered = discover({"my server": server("old")}, TurnDeadline(10), pool)
    by_source = {tool.source_hint.removeprefix("mcp/my server/"): tool.name for tool in discovered.tools}
    assert by_source == {
        "get.it": "mcp__my_server__get_it",
        "get_it": "mcp__my_server__get_it_2",
        "GET_IT": "mcp__my_server__GET_IT_3",
        "wéird name": "mcp__my_server__w_ird_name",
    }
    assert discovered.tools[-1].responsibility == "A title"
    assert len({tool.name.casefold() for tool in discovered.tools}) == 4
    assert len(discovered.warnings) == 5


def test_valid_names_take_precedence_over_changed_ones(pool: McpPool) -> None:
    discovered = discover({"box": server("old")}, TurnDeadline(10), pool)
    names = {tool.source_hint: tool.name for tool in discovered.tools}
    assert names["mcp/box/get_it"] == "mcp__box__get_it"
    assert names["mcp/box/get.it"] == "mcp__box__get_it_3"


@pytest.mark.parametrize(
    ("annotations", "level"),
    [
        ({"readOnlyHint": True}, "read-only"),
        ({"readOnlyHint": True, "openWorldHint": False, "destructiveHint": False}, "read-only"),
        ({"readOnlyHint": True, "openWorldHint": True}, "full"),
        ({"destructiveHint": True}, "full"),
        ({"readOnlyHint": "yes"}, "act"),
        ({}, "act"),
        (None, "act"),
    ],
)
def test_the_level_comes_from_the_annotations(annotations: Any, level: str) -> None:
    assert level_of(annotations) == level


def test_a_tool_timeout_stops_the_server(pool: McpPool) -> None:
    limits = McpTimeouts(HANG_SECONDS, HANG_SECONDS, 0.4)
    result = run(discover({"box": server("good", timeouts=limits)}, TurnDeadline(HANG_SECONDS), pool), "sleep")
    assert result.error is not None
    assert result.error.code == "MCP_SERVER_FAILED"
    assert result.error.details is not None
    assert result.error.details["phase"] == "invocation"
    assert "within 0.4 s" in result.message
    assert result.error.hint == "Raise mcpServers.box.timeouts.call in the settings."


def test_a_crash_in_a_call_is_reported_without_secrets(pool: McpPool) -> None:
    result = run(found(pool, env={"SECRET_TOKEN": "hunter2-hunter2"}), "die")
    assert result.error is not None
    assert result.error.details is not None
    assert result.error.details["stderr"] == "panic: token [SECRET_TOKEN] is bad"
    assert result.error.details["exit_code"] == 3


def test_a_server_keeps_running_until_the_pool_is_closed() -> None:
    with McpPool(TurnDeadline()) as pool:
        discovered = found(pool)
        pids = {run(discovered, "pid").message for _ in range(3)}
        assert len(pids) == 1
    assert is_gone(int(pids.pop()))


def test_a_crashed_server_is_restarted(pool: McpPool) -> None:
    discovered = found(pool)
    before = run(discovered, "pid").message
    assert not run(discovered, "die").handled
    assert run(discovered, "pid").message != before


def test_a_server_that_ignores_termination_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    deadline = TurnDeadline(HANG_SECONDS)
    with McpPool(deadline) as pool:
        pid = int(run(found(pool, "stubborn"), "pid").message)
        deadline.cancel()
        monkeypatch.setattr(mcp_client, "_GRACE_SECONDS", NEVER_SECONDS)  # with no time left the grace is short
        started = time.monotonic()
    assert time.monotonic() - started < HANG_SECONDS
    assert is_gone(pid)


def test_an_interrupt_while_servers_are_stopped_kills_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_client, "_GRACE_SECONDS", NEVER_SECONDS)
    with pytest.raises(KeyboardInterrupt), McpPool(TurnDeadline()) as pool:  # noqa: PT012
        pid = int(run(found(pool, "stubborn"), "pid").message)
        interrupt = threading.Timer(0.2, signal.pthread_kill, (threading.get_ident(), signal.SIGINT))
        interrupt.start()
    interrupt.join()
    wait_until(lambda: _has_ended(pid))
    wait_until(lambda: not any(thread.name == "mcp" for thread in threading.enumerate()))


def test_children_of_a_server_are_stopped_with_it(tmp_path: Path) -> None:
    script = tmp_path / "parent.sh"
    script.write_text(f'sleep 60 &\necho $! > {tmp_path}/child\nexec "{sys.executable}" -I -S {PROGRAM} good\n')
    with McpPool(TurnDeadline()) as pool:
        discover({"box": McpServer("/bin/sh", (str(script),))}, TurnDeadline(10), pool)
        child = int((tmp_path / "child").read_text())
    wait_until(lambda: _has_ended(child))


def _has_ended(pid: int) -> bool:
    """Gone, or a zombie."""
    if is_gone(pid):
        return True
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z"


def test_a_cancellation_during_a_call_stops_the_server(pool: McpPool) -> None:
    deadline = TurnDeadline()
    discovered = found(pool)
    pid = int(run(discovered, "pid").message)
    threading.Timer(0.1, deadline.cancel).start()
    started = time.monotonic()
    with pytest.raises(TurnCancelledError):
        run(discovered, "sleep", deadline)
    assert time.monotonic() - started < HANG_SECONDS
    assert is_gone(pid)


def test_the_deadline_ends_the_discovery(pool: McpPool) -> None:
    started = time.monotonic()
    with pytest.raises(TurnCancelledError):
        discover({"box": server("mute", timeouts=McpTimeouts(*[NEVER_SECONDS] * 3))}, TurnDeadline(0.2), pool)
    assert time.monotonic() - started < HANG_SECONDS


def test_discovery_without_servers_is_empty(pool: McpPool) -> None:
    assert discover({}, TurnDeadline(1), pool) == Discovery((), ())


def test_a_failure_is_a_claw_error(pool: McpPool) -> None:
    (failure,) = found(pool, "dies").failures
    assert failure.kind == "mcp"
    assert failure.retryable
    assert failure.operation == "mcp.initialize_handshake"
    assert failure.target == "box"


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


IMAGE = {"type": "image", "mimeType": "image/png", "data": "A" * 8_000}
NOTE = {"type": "resource", "resource": {"uri": "file:///n.txt", "mimeType": "text/plain", "text": "a note"}}
BLOB = {"type": "resource", "resource": {"uri": "file:///n.gz", "mimeType": "application/gzip", "blob": "AAAA"}}
LINK = {"type": "resource_link", "name": "n", "uri": "file:///n.txt", "description": "the note"}


@pytest.mark.parametrize(
    ("result", "line"),
    [
        ({"content": [text("first\nsecond")]}, "first"),
        ({"content": [text('{\n  "city": "Bern",\n  "degrees": 21.5\n}')]}, '{ "city": "Bern", "degrees": 21.5 }'),
        ({"content": [text("[\n  1\n]")]}, "[ 1 ]"),
        ({"content": [text("2 errors\n  city\n    is missing")], "isError": True}, "2 errors city is missing"),
        ({"content": [NOTE]}, "a note"),
        ({"content": [IMAGE]}, "look returned an image (image/png, 6 kB)"),
        ({"content": [BLOB]}, "look returned a resource (file:///n.gz, application/gzip, 1 kB)"),
        ({"content": [LINK]}, "look returned a link (n, file:///n.txt, the note)"),
        ({"content": [{"type": "hologram"}]}, "look returned content (hologram)"),
        ({"content": [], "structuredContent": {"n": 1}}, '{"n":1}'),
        ({"content": []}, "look returned no text"),
        ({"content": "none", "structuredContent": None}, "look returned no text"),
        ({"content": [5, {"type": "text"}, {"type": "resource", "resource": 5}]}, "look returned a resource"),
        ({"content": [text("\x1b[31mred")]}, "\\x1b[31mred"),
        ({"content": [text("x" * 400)]}, "x" * 300 + "…"),
    ],
)
def test_the_headline_of_a_result(result: dict[str, Any], line: str) -> None:
    assert headline("look", result) == line


@pytest.mark.parametrize(
    ("result", "content"),
    [
        ({"content": [text("first\nsecond"), text("third")]}, "first\nsecond\nthird"),
        ({"content": [text('{\n  "n": 1\n}')], "structuredContent": {"n": 1}}, '{"n":1}'),
        ({"content": [text("hello")], "structuredContent": {"result": "hello"}}, "hello"),
        ({"content": [text("42")], "structuredContent": {"result": 42}}, "42"),
        ({"content": [text("a"), text("b")], "structuredContent": {"result": ["a", "b"]}}, "a\nb"),
        ({"content": [text("[\n 1\n]")], "structuredContent": {"numbers": [1]}}, "[1]"),
        ({"content": [text("It is warm.")], "structuredContent": {"degrees": 21}}, 'It is warm.\n{"degrees":21}'),
        ({"content": [text("See:"), IMAGE]}, "See:\n[an image (image/png, 6 kB)]"),
        (
            {"content": [NOTE, LINK]},
            "[a resource (file:///n.txt, text/plain)]\na note\n[a link (n, file:///n.txt, the note)]",
        ),
        ({"content": [text("{no json")]}, "{no json"),
        ({"content": []}, "(nothing)"),
        ({}, "(nothing)"),
    ],
)
def test_the_model_text_of_a_result(result: dict[str, Any], content: str) -> None:
    assert model_text(result) == content
