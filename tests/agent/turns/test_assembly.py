"""Which MCP servers are started, and how their failures are reported."""

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clawperator._base.trust import trust_folder
from clawperator.agent.cancellation import TurnDeadline
from clawperator.agent.turns.assembly import AgentOptions, assemble, tool_pool
from clawperator.agent.turns.events import EventStream
from clawperator.errors import ClawError
from tests.support.hanging import HANG_SECONDS
from tests.support.paths import REPOSITORY

PYTHON = (sys.executable, "-I", "-S")
PROGRAM = str(REPOSITORY / "tests" / "agent" / "mcp" / "mcp_server.py")


@pytest.fixture(autouse=True)
def no_user_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CLAW_CONFIG_HOME", str(tmp_path / "config"))


def folder_with(tmp_path: Path, **modes: str) -> str:
    """A folder whose servers behave in these ways, and leave a file when they are started."""
    servers: dict[str, Any] = {
        name: {
            "command": "/bin/sh",
            "args": ["-c", f'touch "{tmp_path}/{name}.started"; exec "$@"', "sh", *PYTHON, PROGRAM, mode],
        }
        for name, mode in modes.items()
    }
    (tmp_path / ".claw").mkdir()
    (tmp_path / ".claw" / "settings.json").write_text(json.dumps({"mcpServers": servers}))
    trust_folder(str(tmp_path))
    return str(tmp_path)


def test_an_unknown_key_of_the_configuration_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path))
    (tmp_path / "clawperator.toml").write_text("pass_envs = []\n")
    with assemble(AgentOptions(), TurnDeadline(10), EventStream(""), with_mcp=False) as parts:
        (warning,) = parts.warnings
    assert "unknown key 'pass_envs' ignored; did you mean 'pass_env'?" in warning
    (tmp_path / "clawperator.toml").write_text("pass_env = 1\n")
    with assemble(AgentOptions(), TurnDeadline(10), EventStream(""), with_mcp=False) as parts:
        (warning,) = parts.warnings
    assert "clawperator.toml" in warning


def started(tmp_path: Path) -> list[str]:
    return sorted(path.stem for path in tmp_path.glob("*.started"))


def test_only_the_server_of_a_named_tool_is_started(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, one="good", two="good")
    with tool_pool(folder, name=" MCP__One__Echo ") as pool:
        assert "mcp__one__echo" in [tool.name for tool in pool.tools]
    assert started(tmp_path) == ["one"]


def test_only_the_server_of_an_executed_tool_is_started(tmp_path: Path) -> None:
    options = AgentOptions(folder=folder_with(tmp_path, one="good", two="good"))
    with assemble(options, TurnDeadline(10), EventStream(""), with_mcp=True, tool="mcp__two__pid") as parts:
        assert parts.registry.find("mcp__two__pid").name == "mcp__two__pid"
    assert started(tmp_path) == ["two"]


def test_a_tool_of_no_server_starts_no_server(tmp_path: Path) -> None:
    with tool_pool(folder_with(tmp_path, one="good"), name="mcp__three__echo"):
        pass
    with tool_pool(str(tmp_path), name="click"):
        pass
    assert started(tmp_path) == []


def test_every_server_that_may_provide_the_name_is_started(tmp_path: Path) -> None:
    with tool_pool(folder_with(tmp_path, a="good", a__b="good"), name="mcp__a__b__echo") as pool:
        assert "mcp__a__b__echo" in [tool.name for tool in pool.tools]
    assert started(tmp_path) == ["a", "a__b"]


def test_the_failure_of_a_server_is_the_error_of_its_tool(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, one="dies", two="good")
    with pytest.raises(ClawError) as caught, tool_pool(folder, name="mcp__one__echo"):
        pass
    assert caught.value.code == "MCP_SERVER_FAILED"
    assert caught.value.message.endswith("no licence found")
    assert (caught.value.operation, caught.value.target) == ("mcp.initialize_handshake", "one")
    assert caught.value.hint is not None
    assert "--no-mcp" not in caught.value.hint


def test_without_a_name_a_failed_server_is_a_warning(tmp_path: Path) -> None:
    with tool_pool(folder_with(tmp_path, one="dies", two="good")) as pool:
        assert [server["status"] for server in pool.servers] == ["failed", "ready"]
        assert len(pool.warnings) == 1


def test_without_the_extra_each_server_fails_with_the_command_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "clawperator.agent.mcp.client", raising=False)
    monkeypatch.setitem(sys.modules, "mcp_types", None)
    folder = folder_with(tmp_path, one="good")
    with tool_pool(folder) as pool:
        (report,) = pool.servers
    assert (report["status"], report["code"]) == ("failed", "HOST_DEPENDENCY_MISSING")
    assert "pip install 'clawperator[mcp]'" in report["hint"]
    with pytest.raises(ClawError) as caught, tool_pool(folder, name="mcp__one__echo"):
        pass
    assert caught.value.code == "HOST_DEPENDENCY_MISSING"
    assert started(tmp_path) == []


@pytest.mark.parametrize(
    "argv", ["tool-pool", "route 'open settings'", "exec-tool list_skills {}", "tool-pool --no-mcp"]
)
def test_a_command_that_uses_no_server_does_not_import_the_sdk(tmp_path: Path, argv: str) -> None:
    folder = folder_with(tmp_path, **({} if argv == "tool-pool" else {"one": "good"}))
    script = (
        "import sys; from clawperator.cli.claw.dispatch import run; run(sys.argv[1:])\n"
        "print({'anyio', 'mcp', 'mcp_types', 'pydantic'} & set(sys.modules), file=sys.stderr)"
    )
    ran = subprocess.run(
        [sys.executable, "-P", "-c", script, *shlex.split(argv)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        check=True,
    )
    assert ran.stderr.splitlines()[-1] == "set()"


def test_a_timeout_while_servers_start_is_a_turn_timeout(tmp_path: Path) -> None:
    options = AgentOptions(folder=folder_with(tmp_path, one="silent"))
    with pytest.raises(ClawError) as caught, assemble(options, TurnDeadline(0.2), EventStream(""), with_mcp=True):
        pass
    assert caught.value.code == "TURN_TIMEOUT"
