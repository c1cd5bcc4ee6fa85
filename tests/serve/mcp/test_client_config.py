"""The configuration of MCP clients: each starts this server with the flags that were given."""

import json
import os
import subprocess
import tomllib
from pathlib import Path

import pytest

from clawperator.serve.mcp.client_config import CLIENTS
from tests.support.hanging import HANG_SECONDS
from tests.support.running import clawperator


@pytest.mark.parametrize("name", list(CLIENTS))
def test_the_configuration_of_a_client_starts_this_server(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = clawperator("mcp", "config", name, "--permission-mode", "read-only", "--device", "claw-1")
    assert ran.code == 0
    command = _command(name, ran.out.decode())
    assert command[-len(_flags(tmp_path, name)) :] == _flags(tmp_path, name)
    program = command[: command.index("mcp")]
    assert os.path.isabs(program[0])
    assert subprocess.run([*program, "--version"], capture_output=True, timeout=HANG_SECONDS, check=True).stdout
    assert clawperator("mcp", "config", name, "--json").json["text"]


def _flags(folder: Path, name: str) -> list[str]:
    folder_flags = ["--folder", str(folder)] if CLIENTS[name].needs_folder else []
    return ["mcp", "--permission-mode", "read-only", "--device", "claw-1", *folder_flags]


def _command(name: str, text: str) -> list[str]:
    """The command line that a client would start."""
    if CLIENTS[name].form == "toml":
        entry = tomllib.loads(text)["mcp_servers"]["clawperator"]
    else:
        document = json.loads(text)
        entry = next(iter(document.values()))["clawperator"]
    if isinstance(entry["command"], list):
        return list(entry["command"])
    return [entry["command"], *entry["args"]]


@pytest.mark.parametrize("name", list(CLIENTS))
def test_the_configuration_names_the_adb_that_is_found(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Desktop clients do not have the PATH of a shell, where a package manager puts adb."""
    adb = tmp_path / "my tools" / "adb"
    adb.parent.mkdir()
    adb.write_text("#!/bin/sh\n")
    adb.chmod(0o755)
    monkeypatch.delenv("ADB_PATH")
    monkeypatch.setenv("PATH", str(adb.parent))
    text = clawperator("mcp", "config", name).out.decode()
    document = tomllib.loads(text) if CLIENTS[name].form == "toml" else json.loads(text)
    entry = next(iter(document.values()))["clawperator"]
    assert entry.get("env", entry.get("environment")) == {"ADB_PATH": str(adb)}


def test_the_clients_are_listed() -> None:
    listed = clawperator("mcp", "config").json["clients"]
    assert [client["name"] for client in listed] == list(CLIENTS)
