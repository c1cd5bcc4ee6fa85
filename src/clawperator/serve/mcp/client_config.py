"""Configuration of MCP clients: how each starts this server, as the text of its own file."""

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

NAME = "clawperator"
_Form = Literal["mcpServers", "servers", "context_servers", "opencode", "toml"]


class McpClientFormat(Struct, frozen=True):
    """A client and its file. ``form`` is the shape of the entry.

    A client that ``needs_folder`` does not start servers in the folder of a project.
    """

    title: str
    file: str
    form: _Form = "mcpServers"
    needs_folder: bool = False


CLIENTS: Mapping[str, McpClientFormat] = {
    "claude-code": McpClientFormat("Claude Code", ".mcp.json in the project"),
    "claude-desktop": McpClientFormat(
        "Claude Desktop", "claude_desktop_config.json (Settings, Developer, Edit Config)", needs_folder=True
    ),
    "cursor": McpClientFormat("Cursor", ".cursor/mcp.json in the project, or ~/.cursor/mcp.json"),
    "vscode": McpClientFormat("VS Code", ".vscode/mcp.json in the project", "servers"),
    "windsurf": McpClientFormat("Windsurf", "~/.codeium/windsurf/mcp_config.json", needs_folder=True),
    "codex": McpClientFormat("Codex", "~/.codex/config.toml", "toml"),
    "gemini": McpClientFormat("Gemini CLI", "~/.gemini/settings.json, or .gemini/settings.json in the project"),
    "cline": McpClientFormat("Cline", "cline_mcp_settings.json (MCP Servers, Configure)", needs_folder=True),
    "zed": McpClientFormat("Zed", "settings.json of Zed", "context_servers", needs_folder=True),
    "opencode": McpClientFormat("opencode", "opencode.json in the project", "opencode"),
}


def client_configuration(client: McpClientFormat, arguments: Sequence[str]) -> str:
    """The text to add to the client's file: this installation as a server, with these flags."""
    words = [*_program(), "mcp", *arguments]
    if client.needs_folder and "--folder" not in arguments:
        words += ["--folder", os.getcwd()]
    program, *rest = words
    variables = _variables()
    env = {"env": variables} if variables else {}
    entry: dict[str, Any] = {"command": program, "args": rest, **env}
    if client.form == "toml":
        lines = [f"[mcp_servers.{NAME}]", f"command = {_toml(program)}", f"args = [{', '.join(map(_toml, rest))}]"]
        lines += [f"env = {{ {name} = {_toml(value)} }}" for name, value in variables.items()]
        return "\n".join(lines)
    if client.form == "servers":
        entry = {"type": "stdio", **entry}
    if client.form == "opencode":
        named = {"environment": variables} if variables else {}
        return _json({"mcp": {NAME: {"type": "local", "command": words, **named}}})
    return _json({client.form: {NAME: entry}})


def _program() -> list[str]:
    """How to start this installation from any folder: clients have no PATH of a shell."""
    script = os.path.join(os.path.dirname(sys.executable), NAME)
    return [script] if os.path.isfile(script) else [sys.executable, "-m", NAME]


def _variables() -> dict[str, str]:
    """The adb that is found here: for the same reason a client may not find it."""
    from clawperator.device.adb.binary import find_adb

    adb = find_adb()
    return {} if adb is None else {"ADB_PATH": os.path.abspath(adb)}


def _json(document: dict[str, Any]) -> str:
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()


def _toml(text: str) -> str:
    """A basic string of TOML, whose escapes are those of JSON."""
    return msgspec.json.encode(text).decode()
