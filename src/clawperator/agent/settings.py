"""Settings files: permissions and MCP servers, merged from three layers.

    $CLAW_CONFIG_HOME/settings.json, or ~/.claw/settings.json     the user's
    <folder>/.claw/settings.json                                  the project's
    <folder>/.claw/settings.local.json                            the user's for this project

    {"permissions": {"defaultMode": "act", "allow": [], "deny": [], "ask": []},
     "mcpServers": {"name": {"command": "program", "args": [], "env": {}, "cwd": ".", "timeouts": {"call": 60}},
                    "other": {"url": "https://host/mcp", "headers": {"Authorization": "Bearer ${NAME}"}}}}

The files of a folder that the user has not trusted (``claw trust``) can only restrict: their deny and ask rules
and a stricter mode apply; allow rules, a less strict mode and servers are ignored with a warning.

Rule lists are concatenated, so a deny rule of any layer stays in force. A later layer that sets a server's command
or URL redefines the server; otherwise it overrides single keys. ``disabled`` servers are dropped. Invalid content
becomes a warning and the rest applies; if it could contain restrictions, the mode falls back to read-only. A file
without any known key counts as unreadable: something may have overwritten it.
"""

import os
import stat
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from clawperator._base.files import open_regular, why
from clawperator._base.text import printable
from clawperator._base.trust import CONTROL_FOLDER, SETTINGS_NAMES, Trust, config_home, folder_trust, is_users_own
from clawperator.contract.fields import LEVELS, Level
from clawperator.policy.rules import PolicyRule, read_level, read_rule

_MOST_BYTES = 1024 * 1024
_MOST_RULES = 1_000
_MOST_SERVERS = 64
_MOST_WARNINGS = 100
_LONGEST_SECONDS = 3_600.0
_KEYS = ("permissions", "mcpServers", "$schema")
_SERVER_KEYS = ("command", "args", "env", "cwd", "url", "headers", "timeouts", "disabled")
_SERVER_TYPES = ("stdio", "http", "streamable-http")


class Permissions(Struct, frozen=True):
    """The permissions of the settings files. ``mode_source`` is the path of the file that sets the mode.

    ``unreadable`` is a file that may contain restrictions and cannot be read. Until it is repaired the mode is
    read-only, unless a flag sets another one.
    """

    default_mode: Level | None = None
    mode_source: str = ""
    allow: tuple[PolicyRule, ...] = ()
    deny: tuple[PolicyRule, ...] = ()
    ask: tuple[PolicyRule, ...] = ()
    unreadable: str = ""


class McpTimeouts(Struct, frozen=True, forbid_unknown_fields=True):
    """Time limits of an MCP server in seconds: to initialize, to list its tools, and to run one."""

    initialize: float = 10.0
    list: float = 30.0
    call: float = 60.0


class McpServer(Struct, frozen=True):
    """How to start an MCP server, or the ``url`` of one that runs. ``source`` is the file that sets it.

    ``pass_env`` are further variables of our environment that a program receives. ``headers`` are sent with every
    request; ``${NAME}`` in a value stands for a variable.
    """

    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    cwd: str | None = None
    timeouts: McpTimeouts = McpTimeouts()
    source: str = ""
    pass_env: tuple[str, ...] = ()
    url: str = ""
    headers: Mapping[str, str] = {}


class AgentSettings(Struct, frozen=True):
    permissions: Permissions = Permissions()
    mcp_servers: Mapping[str, McpServer] = {}
    warnings: tuple[str, ...] = ()


def read_settings(folder: str) -> AgentSettings:
    """Read and merge the settings for a folder. Invalid content never raises; it becomes a warning."""
    layers = _Layers(folder)
    trust: Trust | None = None
    for path in settings_files(folder):
        if is_users_own(path):
            layers.add(path)
        elif os.path.lexists(path):
            trust = trust or folder_trust(folder)
            layers.add(path, trust)
    return layers.merge()


def user_settings() -> AgentSettings:
    """The user's own settings, without those of any folder."""
    layers = _Layers(config_home())
    layers.add(os.path.join(config_home(), SETTINGS_NAMES[0]))
    return layers.merge()


def folder_settings(folder: str) -> AgentSettings:
    """The settings of a folder alone, as if it were trusted."""
    layers = _Layers(folder)
    for path in settings_files(folder):
        if not is_users_own(path):
            layers.add(path)
    return layers.merge()


def settings_files(folder: str) -> list[str]:
    """The settings paths, lowest precedence first, without duplicates."""
    own = os.path.join(folder, CONTROL_FOLDER)
    places = [
        os.path.join(config_home(), SETTINGS_NAMES[0]),
        *(os.path.join(own, name) for name in SETTINGS_NAMES),
    ]
    return list({os.path.realpath(path): path for path in places}.values())


class _Layers:
    """The layers read so far."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._mode: tuple[Level | None, str] = (None, "")
        self._rules: dict[str, list[PolicyRule]] = {"allow": [], "deny": [], "ask": []}
        self._servers: dict[str, tuple[dict[str, Any], str]] = {}
        self._warnings: list[str] = []
        self._unreadable = ""

    def add(self, path: str, trust: Trust | None = None) -> None:
        """Read one file. Without ``trust`` it is the user's own."""
        document = self._read(path)
        if document is None:
            return
        is_foreign = bool(document) and not any(key in document for key in _KEYS)
        if trust is not None and not trust.is_trusted:
            document = self._restrictions(document, path, trust)
        for key, value in document.items():
            if key == "permissions":
                self._permissions(value, path)
            elif key == "mcpServers":
                self._mcp_servers(value, path)
            elif key != "$schema":
                self._warn(path, f"unknown key {key[:80]!r}")
        if is_foreign:
            self._restrict(path, "no known key: it may be another file's content")

    def _restrictions(self, document: dict[str, Any], path: str, trust: Trust) -> dict[str, Any]:
        """What counts of an untrusted file. What would allow or start something becomes a warning."""
        kept = {key: value for key, value in document.items() if key != "mcpServers"}
        ignored = ["mcpServers"] if document.get("mcpServers") else []
        permissions = document.get("permissions")
        if isinstance(permissions, dict):
            level = permissions.get("defaultMode")
            named = read_level(level) if isinstance(level, str) else None
            allowing = [key for key in ("allow",) if permissions.get(key)]
            current = self._mode[0] or "act"
            if named is not None and LEVELS.index(named) >= LEVELS.index(current):
                allowing += ["defaultMode"] if named != current else []
                permissions = {key: value for key, value in permissions.items() if key != "defaultMode"}
            kept["permissions"] = {key: value for key, value in permissions.items() if key != "allow"}
            ignored += [f"permissions.{key}" for key in allowing]
        for name in ignored:
            self._warn(path, f"{name} ignored: {trust.advice}")
        return kept

    def merge(self) -> AgentSettings:
        servers = {name: server for name, server in self._parse_servers() if server is not None}
        mode, source = self._mode
        rules = {name: tuple(found) for name, found in self._rules.items()}
        permissions = Permissions(mode, source, **rules, unreadable=self._unreadable)
        return AgentSettings(permissions, servers, tuple(self._warnings))

    def _warn(self, path: str, message: str) -> None:
        if len(self._warnings) < _MOST_WARNINGS:
            self._warnings.append(f"{printable(path)}: {message}")

    def _restrict(self, path: str, message: str) -> None:
        """Warn about invalid content that may have been a restriction, and fall back to read-only."""
        if not self._unreadable:
            self._unreadable = path
            message += "; read-only until it is repaired, unless --permission-mode is given"
        self._warn(path, message)

    def _read(self, path: str) -> dict[str, Any] | None:
        """The JSON object of a file; None for a missing or invalid file."""
        try:
            if not stat.S_ISREG(os.stat(path).st_mode):
                self._restrict(path, "not a regular file")
                return None
            with open_regular(path) as file:
                data = file.read(_MOST_BYTES + 1)
            if len(data) > _MOST_BYTES:
                self._restrict(path, f"larger than {_MOST_BYTES} bytes")
                return None
            document = msgspec.json.decode(data.removeprefix(BOM_UTF8))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError) as e:
            self._restrict(path, f"cannot be read: {why(e)}")
            return None
        except RecursionError:
            self._restrict(path, "nested too deeply")
            return None
        if not isinstance(document, dict):
            self._restrict(path, "not a JSON object")
            return None
        return document

    def _permissions(self, value: Any, path: str) -> None:
        if not isinstance(value, dict):
            self._restrict(path, "permissions must be an object")
            return
        for key, item in value.items():
            if key == "defaultMode":
                level = read_level(item) if isinstance(item, str) else None
                if level is None:
                    self._restrict(path, f"permissions.defaultMode must be one of {', '.join(LEVELS)}")
                else:
                    self._mode = (level, path)
            elif key in self._rules:
                self._rules[key] += self._read_rules(item, f"permissions.{key}", path)
            else:
                self._warn(path, f"unknown key permissions.{key[:80]}")

    def _read_rules(self, value: Any, where: str, path: str) -> Iterator[PolicyRule]:
        warn = self._warn if where.endswith(".allow") else self._restrict
        if not isinstance(value, list):
            warn(path, f"{where} must be a list")
            return
        if len(value) > _MOST_RULES:
            warn(path, f"{where} has more than {_MOST_RULES} rules; the rest is ignored")
        for place, item in enumerate(value[:_MOST_RULES]):
            try:
                if not isinstance(item, str):
                    raise ValueError("a rule must be a string")  # noqa: TRY004, TRY301 - reported like any other invalid rule
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
            if item.get("type", _SERVER_TYPES[0]) not in _SERVER_TYPES:
                if item.get("disabled") is not True:
                    self._warn(path, f"{where}: only stdio and streamable HTTP servers are supported")
                continue
            given = {key: item[key] for key in _SERVER_KEYS if key in item}
            for key in item:
                if key not in (*_SERVER_KEYS, "type"):
                    self._warn(path, f"unknown key {where}.{key[:80]}")
            self._merge_server(name, given, path)

    def _merge_server(self, name: str, given: dict[str, Any], path: str) -> None:
        if given.keys() & {"command", "url"} or name not in self._servers:
            self._servers[name] = (given, path)
            return
        before, source = self._servers[name]
        joined = {
            key: {**before[key], **given[key]}
            for key in ("env", "timeouts")
            if isinstance(before.get(key), dict) and isinstance(given.get(key), dict)
        }
        self._servers[name] = ({**before, **given, **joined}, source)

    def _parse_servers(self) -> Iterator[tuple[str, McpServer | None]]:
        for place, (name, (given, source)) in enumerate(self._servers.items()):
            if given.get("disabled") is True:
                continue
            if place >= _MOST_SERVERS:
                self._warn(source, f"more than {_MOST_SERVERS} MCP servers; the rest is ignored")
                return
            try:
                yield name, self._parse_server(given, source)
            except (msgspec.ValidationError, ValueError) as e:
                self._warn(source, f"mcpServers.{name[:80]}: {str(e).replace('`', '')}")

    def _parse_server(self, given: dict[str, Any], source: str) -> McpServer:
        if not isinstance(given.get("disabled", False), bool):
            raise ValueError("disabled must be true or false")  # noqa: TRY004 - reported like any other invalid value
        server = msgspec.convert(given, McpServer)
        texts = (server.command, server.cwd or "", *server.args, *server.env, *server.env.values())
        if "url" in given:
            _check_url(server)
        elif not server.command.strip() or any("\0" in text for text in texts):
            raise ValueError("command must not be blank, and no argument or variable may contain a NUL character")
        limits = (server.timeouts.initialize, server.timeouts.list, server.timeouts.call)
        if not all(0 < seconds <= _LONGEST_SECONDS for seconds in limits):
            raise ValueError(f"a timeout must be above 0 and at most {_LONGEST_SECONDS:g} seconds")
        if is_users_own(source):
            server = _apart_from_folder(server)
        cwd = None if server.cwd is None else os.path.join(self._folder, server.cwd)
        return msgspec.structs.replace(server, cwd=cwd, source=source)


def _check_url(server: McpServer) -> None:
    """``ValueError`` for a server that cannot be reached, or that would receive a key in the clear."""
    from urllib.parse import urlsplit

    parts = urlsplit(server.url)
    if parts.scheme not in ("http", "https") or not parts.hostname or server.command:
        raise ValueError("url must be an http or https address, without a command")
    if not all(text.isascii() and text.isprintable() for pair in server.headers.items() for text in pair):
        raise ValueError("headers must be printable ASCII")
    if server.headers and parts.scheme == "http" and parts.hostname not in ("127.0.0.1", "::1", "localhost"):
        raise ValueError("headers are not sent over plain http to another computer; use https")


def _apart_from_folder(server: McpServer) -> McpServer:
    """A server of the user's own settings, which must not run programs of the working folder.

    A relative path of its program starts at the settings. ``python -m`` does not look in the working folder,
    unless the settings choose a folder for the server.
    """
    if os.sep in server.command:
        server = msgspec.structs.replace(server, command=os.path.join(config_home(), server.command))
    is_python = os.path.basename(server.command).startswith("python")
    if server.cwd is None and is_python and any(word in ("-m", "-c") for word in server.args):
        server = msgspec.structs.replace(server, env={"PYTHONSAFEPATH": "1", **server.env})
    return server
