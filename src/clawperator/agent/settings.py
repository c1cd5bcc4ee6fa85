"""Settings files: permissions and MCP servers, in three layers.

    $CLAW_CONFIG_HOME/settings.json, or ~/.claw/settings.json     the person's
    <folder>/.claw/settings.json                                  the project's
    <folder>/.claw/settings.local.json                            the person's, in this project

    {"permissions": {"defaultMode": "act", "allow": [], "deny": [], "ask": []},
     "mcpServers": {"name": {"command": "program", "args": [], "env": {}, "cwd": ".", "timeouts": {"call": 60}}}}

Lists of rules are joined, so that what one layer denies stays denied. A later layer that names a server's command
defines the server anew; one that does not only amends it. A ``disabled`` server is as if it were not there.
What cannot be read is a warning, and all else counts.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from clawperator._files import why
from clawperator.agent.policy import Rule, read_level, read_rule
from clawperator.commands.levels import LEVELS, Level

_MOST_BYTES = 1024 * 1024
_MOST_RULES = 1_000
_MOST_SERVERS = 64
_MOST_WARNINGS = 100
_LONGEST_SECONDS = 3_600.0
_SERVER_KEYS = ("command", "args", "env", "cwd", "timeouts", "disabled")


class Permissions(Struct, frozen=True):
    """``mode_source`` is the path of the file that has the mode.

    ``doubtful`` is a file that may have meant to forbid something and cannot be read. Until it is mended nothing
    but looking is allowed, unless somebody says otherwise on the command line.
    """

    default_mode: Level | None = None
    mode_source: str = ""
    allow: tuple[Rule, ...] = ()
    deny: tuple[Rule, ...] = ()
    ask: tuple[Rule, ...] = ()
    doubtful: str = ""


class Timeouts(Struct, frozen=True, forbid_unknown_fields=True):
    """How long an MCP server may take to begin, to list its tools, and to run one, in seconds."""

    initialize: float = 10.0
    list: float = 30.0
    call: float = 60.0


class McpServer(Struct, frozen=True):
    """A program that offers tools. ``source`` is the file that names its command."""

    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    cwd: str | None = None
    timeouts: Timeouts = Timeouts()
    source: str = ""


class Settings(Struct, frozen=True):
    """What the files say together."""

    permissions: Permissions = Permissions()
    mcp_servers: Mapping[str, McpServer] = {}
    warnings: tuple[str, ...] = ()


def read_settings(folder: str) -> Settings:
    """The settings for work in a folder. Never raises for what the files hold."""
    reading = _Reading(folder)
    for path in settings_files(folder):
        reading.take(path)
    return reading.settings()


def settings_files(folder: str) -> list[str]:
    """Where settings may be, the weakest first; each file once."""
    home = os.environ.get("CLAW_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".claw")
    own = os.path.join(folder, ".claw")
    places = [
        os.path.join(home, "settings.json"),
        os.path.join(own, "settings.json"),
        os.path.join(own, "settings.local.json"),
    ]
    return list({os.path.realpath(path): path for path in places}.values())


class _Reading:
    """The layers that were taken in so far."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._mode: tuple[Level | None, str] = (None, "")
        self._rules: dict[str, list[Rule]] = {"allow": [], "deny": [], "ask": []}
        self._servers: dict[str, tuple[dict[str, Any], str]] = {}
        self._warnings: list[str] = []
        self._doubtful = ""

    def take(self, path: str) -> None:
        document = self._read(path)
        if document is None:
            return
        for key, value in document.items():
            if key == "permissions":
                self._permissions(value, path)
            elif key == "mcpServers":
                self._mcp_servers(value, path)
            elif key != "$schema":
                self._warn(path, f"unknown key {key[:80]!r}")

    def settings(self) -> Settings:
        servers = {name: server for name, server in self._made() if server is not None}
        mode, source = self._mode
        rules = {name: tuple(found) for name, found in self._rules.items()}
        permissions = Permissions(mode, source, **rules, doubtful=self._doubtful)
        return Settings(permissions, servers, tuple(self._warnings))

    def _warn(self, path: str, message: str) -> None:
        if len(self._warnings) < _MOST_WARNINGS:
            self._warnings.append(f"{path}: {message}")

    def _doubt(self, path: str, message: str) -> None:
        """Warn of something that may have been meant to forbid."""
        if not self._doubtful:
            self._doubtful = path
            message += "; until it is mended only looking is allowed, unless --permission-mode says otherwise"
        self._warn(path, message)

    def _read(self, path: str) -> dict[str, Any] | None:
        """The object in a file; None when there is no such file, or no such object in it."""
        try:
            if not stat.S_ISREG(os.stat(path).st_mode):
                self._doubt(path, "it is no file")
                return None
            with open(path, "rb") as file:
                data = file.read(_MOST_BYTES + 1)
            if len(data) > _MOST_BYTES:
                self._doubt(path, f"it is longer than {_MOST_BYTES} bytes")
                return None
            document = msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError) as e:
            self._doubt(path, f"it cannot be read: {why(e)}")
            return None
        except RecursionError:
            self._doubt(path, "it is nested too deeply")
            return None
        if not isinstance(document, dict):
            self._doubt(path, "it holds no JSON object")
            return None
        return document

    def _permissions(self, value: Any, path: str) -> None:
        if not isinstance(value, dict):
            self._doubt(path, "permissions must be an object")
            return
        for key, item in value.items():
            if key == "defaultMode":
                level = read_level(item) if isinstance(item, str) else None
                if level is None:
                    self._doubt(path, f"permissions.defaultMode must be one of {', '.join(LEVELS)}")
                else:
                    self._mode = (level, path)
            elif key in self._rules:
                self._rules[key] += self._read_rules(item, f"permissions.{key}", path)
            else:
                self._warn(path, f"unknown key permissions.{key[:80]}")

    def _read_rules(self, value: Any, where: str, path: str) -> Iterator[Rule]:
        warn = self._warn if where.endswith(".allow") else self._doubt
        if not isinstance(value, list):
            warn(path, f"{where} must be a list")
            return
        if len(value) > _MOST_RULES:
            warn(path, f"{where} has more than {_MOST_RULES} rules; only those count")
        for place, item in enumerate(value[:_MOST_RULES]):
            try:
                if not isinstance(item, str):
                    raise ValueError("a rule is a text")  # noqa: TRY004, TRY301 - told like any other fault of a rule
                yield read_rule(item, path)
            except ValueError as e:
                warn(path, f"{where}[{place}]: {e}")

    def _mcp_servers(self, value: Any, path: str) -> None:
        if not isinstance(value, dict):
            self._warn(path, "mcpServers must be an object")
            return
        for name, item in value.items():
            where = f"mcpServers.{name[:80]}"
            if not name.strip() or not isinstance(item, dict):
                self._warn(path, f"{where} must be an object with a name")
                continue
            if item.get("type", "stdio") != "stdio" or "url" in item:
                if item.get("disabled") is not True:
                    self._warn(path, f"{where}: only servers that are programs (stdio) can be used")
                continue
            given = {key: item[key] for key in _SERVER_KEYS if key in item}
            for key in item:
                if key not in (*_SERVER_KEYS, "type"):
                    self._warn(path, f"unknown key {where}.{key[:80]}")
            self._amend(name, given, path)

    def _amend(self, name: str, given: dict[str, Any], path: str) -> None:
        if "command" in given or name not in self._servers:
            self._servers[name] = (given, path)
            return
        before, source = self._servers[name]
        joined = {
            key: {**before[key], **given[key]}
            for key in ("env", "timeouts")
            if isinstance(before.get(key), dict) and isinstance(given.get(key), dict)
        }
        self._servers[name] = ({**before, **given, **joined}, source)

    def _made(self) -> Iterator[tuple[str, McpServer | None]]:
        for place, (name, (given, source)) in enumerate(self._servers.items()):
            if given.get("disabled") is True:
                continue
            if place >= _MOST_SERVERS:
                self._warn(source, f"there are more than {_MOST_SERVERS} MCP servers; only those count")
                return
            try:
                yield name, self._server(given, source)
            except (msgspec.ValidationError, ValueError) as e:
                self._warn(source, f"mcpServers.{name[:80]}: {str(e).replace('`', '')}")

    def _server(self, given: dict[str, Any], source: str) -> McpServer:
        if not isinstance(given.get("disabled", False), bool):
            raise ValueError("disabled must be true or false")  # noqa: TRY004 - told like any other fault
        server = msgspec.convert(given, McpServer)
        texts = (server.command, server.cwd or "", *server.args, *server.env, *server.env.values())
        if not server.command.strip() or any("\0" in text for text in texts):
            raise ValueError("the command, its arguments and its environment must be texts a program can be given")
        limits = (server.timeouts.initialize, server.timeouts.list, server.timeouts.call)
        if not all(0 < seconds <= _LONGEST_SECONDS for seconds in limits):
            raise ValueError(f"a timeout is more than 0 and at most {_LONGEST_SECONDS:g} seconds")
        cwd = None if server.cwd is None else os.path.join(self._folder, server.cwd)
        return msgspec.structs.replace(server, cwd=cwd, source=source)
