"""MCP servers that break the protocol: a typed error within the time limit, and no wrong success."""

import sys
import textwrap
import tracemalloc
from typing import Any

import pytest

from clawperator._base.typed import read_json
from clawperator.agent.cancellation import TurnDeadline
from clawperator.agent.mcp.tools import Discovery, McpPool, discover
from clawperator.agent.ports import ToolContext, ToolResult
from clawperator.agent.settings import McpServer, McpTimeouts

HANDSHAKE = '{"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}'
# Answers the handshake and the list of tools; a line of the test answers the call.
SERVER = """
import json, sys, time
def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    number, method = request["id"], request["method"]
    if method == "initialize":
        send(id=number, result={"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}})
    elif method == "tools/list":
        send(id=number, result={"tools": TOOLS})
    else:
        CALL
"""


def server(call: str = "pass", tools: str = '[{"name": "t"}]', seconds: float = 1.0) -> McpServer:
    body = textwrap.indent(textwrap.dedent(call).strip(), " " * 8).strip()
    code = SERVER.replace("TOOLS", tools).replace("CALL", body)
    limits = McpTimeouts(initialize=10, list=10, call=seconds)
    return McpServer(sys.executable, ("-I", "-S", "-c", code), timeouts=limits)


def call(code: str, **more: Any) -> ToolResult:
    with McpPool(TurnDeadline(30)) as pool:
        (tool,) = discover({"s": server(code, **more)}, TurnDeadline(30), pool).tools
        return tool.run({}, ToolContext(TurnDeadline(30)))


def found(tools: str) -> Discovery:
    with McpPool(TurnDeadline(30)) as pool:
        return discover({"s": server(tools=tools)}, TurnDeadline(30), pool)


@pytest.mark.parametrize("flag", ['"maybe"', "1", "None", "[]"])
def test_a_result_that_is_neither_success_nor_error_fails(flag: str) -> None:
    result = call(f'send(id=number, result={{"content": [{{"type": "text", "text": "ok"}}], "isError": {flag}}})')
    assert not result.handled
    assert result.error is not None
    assert result.error.code == "MCP_SERVER_FAILED"


@pytest.mark.parametrize(
    "code",
    [
        "send(id=number + 1, result={})",
        "send(id=str(number), result={})",
        "send(id=number, result=[1])",
        "send(id=number)",
        "send(id=number, error={})",
        "print('[' * 100000, flush=True)",
        "print('{\"id\": ' + '9' * 100000 + '}', flush=True)",
        "sys.stdout.buffer.write(bytes([255]) * 1000); sys.stdout.flush()",
        "while True: sys.stdout.write('x' * 65536)",
        "while True: sys.stderr.write('x' * 65536)",
        "while True: send(id='p', method='ping')",
        "while True: send(method='notifications/message')",
        "sys.exit(0)",
    ],
)
def test_a_broken_answer_is_a_typed_failure_within_the_limit(code: str) -> None:
    result = call(code)
    assert not result.handled
    assert result.error is not None
    assert result.error.code in ("MCP_SERVER_FAILED", "MCP_TOOL_FAILED")


def test_a_server_that_does_not_read_a_call_has_failed() -> None:
    listing = 'send(id=number, result={"tools": [{"name": "t"}]})'
    closing = SERVER.replace(
        'send(id=number, result={"tools": TOOLS})', f"{listing}; os.close(0); time.sleep(600)"
    )
    program = McpServer(
        sys.executable, ("-I", "-S", "-c", closing.replace("CALL", "pass").replace("json,", "json, os,"))
    )
    with McpPool(TurnDeadline(30)) as pool:
        (tool,) = discover({"s": program}, TurnDeadline(30), pool).tools
        result = tool.run({"text": "x" * 1_000_000}, ToolContext(TurnDeadline(30)))
    assert "stopped reading before answering tools/call" in result.message


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ('{"protocolVersion": "2025-06-18", "capabilities": {}}', "serverInfo Field required"),
        ('{"capabilities": {}}', "protocolVersion Field required"),
        ("[]", "no answer to initialize"),
    ],
)
def test_an_invalid_answer_in_the_handshake_is_a_failure_that_names_the_field(answer: str, problem: str) -> None:
    program = server()
    code = program.args[-1].replace(HANDSHAKE, answer)
    program = McpServer(program.command, (*program.args[:-1], code), timeouts=McpTimeouts(initialize=2))
    with McpPool(TurnDeadline(30)) as pool:
        (failure,) = discover({"s": program}, TurnDeadline(30), pool).failures
    assert (failure.code, failure.operation) == ("MCP_SERVER_FAILED", "mcp.initialize_handshake")
    assert problem in failure.message
    assert "http" not in failure.message


def test_too_many_tools_are_a_failure_also_on_one_page() -> None:
    discovered = found('[{"name": f"t{i}"} for i in range(1001)]')
    assert discovered.tools == ()
    assert discovered.servers[0].error is not None
    assert "1000 tools" in discovered.servers[0].error


def test_a_tool_with_a_huge_schema_is_ignored_with_a_warning() -> None:
    tools = '[{"name": "t", "inputSchema": {"type": "object", "description": "x" * 70000}}, {"name": "u"}]'
    discovered = found(tools)
    assert [tool.name for tool in discovered.tools] == ["mcp__s__u"]
    assert any("schema" in warning for warning in discovered.warnings)


def test_many_small_values_are_refused_in_little_memory() -> None:
    line = b"[" + b"{}," * 1_500_000 + b"{}]"
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="values"):
            read_json(line)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4 * len(line)


def test_punctuation_in_texts_is_not_counted_as_values() -> None:
    assert read_json('["' + "{,[" * 300_000 + '\\""]') == ["{,[" * 300_000 + '"']
