"""``claw trust``: trust the files of a folder, list the trusted folders, or end the trust."""

import os
import shlex
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from clawperator._base.environment import parent_process
from clawperator._base.files import why
from clawperator._base.text import one_line, printable
from clawperator._base.trust import (
    BUILD_PROGRAM,
    REGISTRY,
    folder_files,
    folder_trust,
    forget_folder,
    read_store,
    registry_trust,
    trust_folder,
)
from clawperator.agent.settings import McpServer, folder_settings
from clawperator.cli.claw.dispatch import Response
from clawperator.cli.parsing import ParsedArguments, parse_error
from clawperator.errors import ClawError
from clawperator.operations.sessions import TrustParams

_LONGEST_SHOWN = 4_000


def trust(arguments: ParsedArguments, params: TrustParams) -> Response:
    """Trust a folder, by default the working folder. Only a user may: not a skill, an MCP server or an agent."""
    _require_user()
    given = [flag for flag in ("--list", "--remove", "--dry-run") if arguments.has(flag)]
    if len(given) > 1:
        raise parse_error(f"argument {given[1]}: not allowed with argument {given[0]}", arguments.name)
    if params.list:
        return _list()
    if params.folder == "":
        raise parse_error("argument <folder>: it must not be empty", arguments.name)
    folder = os.path.realpath(params.folder or os.curdir)
    if params.remove:
        removed = forget_folder(folder)
        text = f"{'No longer trusted' if removed else 'Was not trusted'}: {printable(folder)}"
        return Response({"folder": folder, "removed": removed}, text)
    if not os.path.isdir(folder):
        message, hint = f"no such folder: {printable(folder)}", "Run 'claw trust' in the folder."
        raise ClawError("FILESYSTEM_FAILED", message, hint=hint, operation="trust", target=folder)
    return _trust(folder, dry_run=params.dry_run)


def _require_user() -> None:
    from clawperator.policy.gate import inherited_policy

    parent = parent_process() or ("a claw command" if inherited_policy() is not None else "")
    if parent:
        message = f"only a user may trust a folder; this command was started by {printable(parent)}"
        hint = "Run 'claw trust' in a terminal."
        raise ClawError("PERMISSION_DENIED", message, hint=hint, operation="trust", target="trust")


def _trust(folder: str, *, dry_run: bool) -> Response:
    found = programs_of_folder(folder)
    if found.files and not dry_run:
        trust_folder(folder)
    is_trusted = bool(found.files) and folder_trust(folder).is_trusted
    payload: dict[str, Any] = {
        "folder": folder,
        "trusted": is_trusted,
        "files": found.files,
        "programs": msgspec.to_builtins(found.programs),
        "permissions": {"default_mode": found.default_mode, "allow": found.allow},
    }
    shown = printable(folder)
    if not found.files:
        return Response(payload, f"Nothing to trust: no file in {shown} names a program.", warnings=found.warnings)
    lines = [f"{'Would trust' if dry_run else 'Trusted'} {shown}"]
    lines += [
        f"  {program.kind.replace('_', ' ')} {program.name}: {program.command}" for program in found.programs
    ]
    lines += [f"  default mode: {found.default_mode}"] if found.default_mode else []
    lines += [f"  allow: {rule}" for rule in found.allow]
    lines += ["The trust ends when one of these files changes:", *(f"  {path}" for path in found.files)]
    return Response(payload, "\n".join(lines), warnings=found.warnings)


def _list() -> Response:
    store = read_store()
    kinds = (("folder", store.folders, folder_trust), ("registry", store.registries, registry_trust))
    rows = [
        {"path": path, "kind": kind, "state": "trusted" if trust_of(path).is_trusted else "changed"}
        for kind, paths, trust_of in kinds
        for path in paths
    ]
    text = "\n".join(f"{row['kind']}\t{printable(row['path'])}\t{row['state']}" for row in rows)
    return Response({"count": len(rows), "trusted": rows}, text or "(no trusted folders)")


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
        path, hint = str(e.filename or folder), "Repair or remove the file, and run the command again."
        message = f"cannot read {printable(path)}: {why(e)}"
        raise ClawError("FILESYSTEM_FAILED", message, hint=hint, operation="trust", target=path) from e
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
    builds = [path for path in files if os.path.basename(path) == BUILD_PROGRAM]
    programs += [FolderProgram("build", BUILD_PROGRAM, BUILD_PROGRAM) for _ in builds]
    permissions = settings.permissions
    allow = [_shown(str(rule)) for rule in permissions.allow]
    return FolderPrograms(
        [_relative(path, folder) for path in files], programs, permissions.default_mode, allow, tuple(warnings)
    )


def _server_line(server: McpServer) -> str:
    """The command line of a server, with its own variables, which can also name programs."""
    variables = (f"{name}={shlex.quote(value)}" for name, value in server.env.items())
    return " ".join((*variables, shlex.join((server.command, *server.args))))


def _skills(folder: str, warnings: list[str]) -> Iterator[FolderProgram]:
    from clawperator.skills.registry import read_registry

    path = os.path.join(folder, REGISTRY)
    if not os.path.lexists(path):
        return
    try:
        entries = read_registry(path).entries
    except ClawError as e:
        warnings.append(e.message)
        return
    for entry in entries:
        name = _shown(str(entry.get("id")))
        scripts = entry.get("scripts")
        command = " ".join(map(str, scripts)) if isinstance(scripts, list) else ""
        yield FolderProgram("skill", name, _shown(command))
        agent = _agent(os.path.join(folder, str(entry.get("path")), "skill.json"))
        if agent:
            yield FolderProgram("skill_agent", name, _shown(agent))


def _agent(path: str) -> str:
    """The agent program of a skill; empty when there is none, or the file cannot be read."""
    from clawperator.skills.validation import read_skill_json

    try:
        agent: Any = read_skill_json(path).get("agent")
    except ClawError:
        return ""
    return str(agent.get("cliPath") or agent.get("cli") or "") if isinstance(agent, dict) else ""


def _relative(path: str, folder: str) -> str:
    return printable(os.path.relpath(path, folder))


def _shown(text: str) -> str:
    return one_line(text, _LONGEST_SHOWN)
