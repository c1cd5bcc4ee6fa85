"""The command ``clawperator mcp`` over stdin and stdout, with the official client and with an unrelated one."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chuk_mcp.protocol.messages import send_initialize, send_tools_call, send_tools_list
from chuk_mcp.transports.stdio import StdioParameters, stdio_client

from clawperator.agent.model_tools import COMPACT_TOOLS
from tests.device.phone_servers import running_phone_server
from tests.serve.mcp.mcp_clients import (
    COMMAND,
    call,
    call_every_tool,
    cancel_running_sleep,
    done,
    record_twice_and_compare,
    run,
    stdio,
    text_of,
)
from tests.support.hanging import HANG_SECONDS
from tests.support.running import clawperator

SETTINGS = "com.android.settings"
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


@pytest.fixture
def _phone() -> Iterator[None]:
    with running_phone_server():
        yield


@pytest.mark.usefixtures("_phone")
def test_a_whole_task_from_looking_to_comparing(tmp_path: Path) -> None:
    async def test() -> None:
        async with stdio(tmp_path) as client:
            await record_twice_and_compare(client)

    run(test)


@pytest.mark.usefixtures("_phone")
def test_every_tool_runs_over_stdio(tmp_path: Path) -> None:
    async def test() -> None:
        async with stdio(tmp_path) as client:
            await call_every_tool(client)

    run(test)


@pytest.mark.usefixtures("_phone")
def test_flags_set_the_permissions(tmp_path: Path) -> None:
    async def test() -> None:
        async with stdio(tmp_path, "--permission-mode", "read-only", "--device", "claw-1") as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert "snapshot" in names
            assert "tap" not in names
            denied = await call(client, "tap", label="Settings")
            assert denied.is_error
            assert "PERMISSION_DENIED" in text_of(denied)
            await done(client, "snapshot")

    run(test)


@pytest.mark.usefixtures("_phone")
def test_an_unrelated_client_lists_the_tools_and_calls_three(tmp_path: Path) -> None:
    program, *rest = COMMAND
    parameters = StdioParameters(command=program, args=[*rest, "--folder", str(tmp_path)], env=dict(os.environ))

    async def test() -> None:
        async with stdio_client(parameters) as (read, write):
            await send_initialize(read, write)
            listed = await send_tools_list(read, write)
            assert [tool.name for tool in listed.tools] == list(COMPACT_TOOLS)
            for name, arguments, expected in (
                ("devices", {}, "claw-1"),
                ("app", {"do": "open_app", "applicationId": SETTINGS}, "the screen changed"),
                ("snapshot", {}, '"Display"'),
            ):
                result = await send_tools_call(read, write, name, arguments)
                assert not result.isError
                assert expected in "".join(block["text"] for block in _blocks(result))

    run(test)


def _blocks(result: Any) -> list[dict[str, Any]]:
    return [block if isinstance(block, dict) else block.model_dump() for block in result.content]


def test_the_server_ends_when_its_client_closes_stdin(tmp_path: Path) -> None:
    ended = subprocess.run(
        COMMAND, cwd=tmp_path, input=b"", capture_output=True, timeout=HANG_SECONDS, check=False
    )
    assert (ended.returncode, ended.stdout) == (0, b"")


def test_odd_lines_do_not_end_the_server(tmp_path: Path) -> None:
    lines = [
        b"\xff\xfe not json",
        b"[]",
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}',
        json.dumps({"jsonrpc": "2.0", "id": 2, "method": "initialize", "params": HELLO}).encode(),
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
        b'{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":5}}',
        b'{"jsonrpc":"2.0","id":4,"method":"tools/list"}',
    ]
    child = subprocess.Popen(COMMAND, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        child.stdin.write(b"\n".join(lines) + b"\n")
        child.stdin.flush()
        answer: dict[str, Any] = {}
        while answer.get("id") != 4:
            answer = json.loads(child.stdout.readline())
        assert len(answer["result"]["tools"]) == len(COMPACT_TOOLS)
    finally:
        child.stdin.close()
        child.stdout.close()
        assert child.wait(HANG_SECONDS) == 0


def test_a_missing_extra_is_an_error_with_the_command_to_install_it(tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules['mcp'] = sys.modules['mcp_types'] = None\n"
        "from clawperator.cli.dispatch import run; sys.exit(run(['mcp']))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, timeout=HANG_SECONDS, check=False
    )
    document = json.loads(ended.stdout)
    assert (ended.returncode, document["code"]) == (1, "HOST_DEPENDENCY_MISSING")
    assert "pip install 'clawperator[mcp]'" in document["hint"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--permission-mode", "root"), "--permission-mode must be"),
        (("--folder", "/nowhere"), "is not a folder"),
        (("confg",), "the argument must be config, not 'confg'"),
        (("config", "emacs"), "unknown MCP client 'emacs'"),
    ],
)
def test_wrong_arguments_are_usage_errors(arguments: tuple[str, ...], message: str) -> None:
    ran = clawperator("mcp", *arguments)
    assert (ran.code, ran.json["code"]) == (1, "USAGE")
    assert message in ran.json["message"]
    assert ran.json["hint"]


def test_progress_a_cancellation_and_a_dead_phone_over_stdio(tmp_path: Path) -> None:
    async def test() -> None:
        async with stdio(tmp_path) as client:
            with running_phone_server() as server:
                assert await cancel_running_sleep(client, server)
                noted = text_of(await call(client, "devices"))
                assert noted.startswith("A cancelled call was not stopped: claw-1 may still run sleep")
            dead = await call(client, "snapshot")
            assert dead.is_error
            assert "code: " in text_of(dead)

    run(test)
