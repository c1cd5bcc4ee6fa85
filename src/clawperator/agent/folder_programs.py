"""The programs and permissions of a working folder's files, for the user to read before trusting it."""

import os
import shlex
from typing import Any

from msgspec import Struct

from clawperator._base.files import why
from clawperator._base.text import one_line, printable
from clawperator._base.trust import BUILD_PROGRAM, REGISTRY, folder_files
from clawperator.agent.settings import McpServer, folder_settings
from clawperator.errors import ClawError

_LONGEST_SHOWN = 4_000


class FolderProgram(Struct, frozen=True):
    """A program that a file of the folder names."""

    kind: str  # mcp_server, skill, skill_agent, plugin or build
    name: str
    command: str


class FolderPrograms(Struct, frozen=True):
    """The files that name programs, the programs, and the permissions that the settings give."""

    files: list[str]
    programs: list[FolderProgram]
    default_mode: str | None
    allow: list[str]
    warnings: tuple[str, ...] = ()


def programs_of_folder(folder: str) -> FolderPrograms:
    """Everything that ``claw trust`` would trust. Files that cannot be read become warnings."""
    try:
        files = folder_files(folder)
    except OSError as e:
        raise ClawError(
            "FILESYSTEM_FAILED",
            f"cannot read {printable(str(e.filename or folder))}: {why(e)}",
            hint="Repair or remove the file, and run the command again.",
            operation="trust",
            target=str(e.filename or folder),
        ) from e
    settings = folder_settings(folder)
    programs = [
        FolderProgram("mcp_server", _shown(name), _shown(_server_line(server)))
        for name, server in settings.mcp_servers.items()
    ]
    warnings = [*settings.warnings]
    programs += _skills(folder, warnings)
    manifests = [path for path in files if path.endswith("entry_points.txt")]
    programs += [
        FolderProgram("plugin", _shown(os.path.basename(os.path.dirname(path))), _relative(path, folder))
        for path in manifests
    ]
    programs += [FolderProgram("build", BUILD_PROGRAM, BUILD_PROGRAM) for path in files if _is_build(path)]
    permissions = settings.permissions
    allow = [_shown(str(rule)) for rule in permissions.allow]
    return FolderPrograms(
        [_relative(path, folder) for path in files], programs, permissions.default_mode, allow, tuple(warnings)
    )


def _server_line(server: McpServer) -> str:
    """The command line of a server, with its own variables, which can also name programs."""
    variables = (f"{name}={shlex.quote(value)}" for name, value in server.env.items())
    return " ".join((*variables, shlex.join((server.command, *server.args))))


def _skills(folder: str, warnings: list[str]) -> list[FolderProgram]:
    from clawperator.skills.registry import read_registry

    path = os.path.join(folder, REGISTRY)
    if not os.path.lexists(path):
        return []
    try:
        entries = read_registry(path).entries
    except ClawError as e:
        warnings.append(e.message)
        return []
    found = []
    for entry in entries:
        name = _shown(str(entry.get("id")))
        scripts = entry.get("scripts")
        command = " ".join(map(str, scripts)) if isinstance(scripts, list) else ""
        found.append(FolderProgram("skill", name, _shown(command)))
        agent = _agent(os.path.join(folder, str(entry.get("path")), "skill.json"))
        if agent:
            found.append(FolderProgram("skill_agent", name, _shown(agent)))
    return found


def _agent(path: str) -> str:
    """The agent program of a skill; empty when there is none, or the file cannot be read."""
    from clawperator.skills.validation import read_skill_json

    try:
        agent: Any = read_skill_json(path).get("agent")
    except ClawError:
        return ""
    return str(agent.get("cliPath") or agent.get("cli") or "") if isinstance(agent, dict) else ""


def _is_build(path: str) -> bool:
    return os.path.basename(path) == BUILD_PROGRAM


def _relative(path: str, folder: str) -> str:
    return printable(os.path.relpath(path, folder))


def _shown(text: str) -> str:
    return one_line(text, _LONGEST_SHOWN)
