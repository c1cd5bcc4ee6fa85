"""``claw trust``: trust the files of a folder, list the trusted folders, or end the trust."""

import os
from typing import Any

import msgspec

from clawperator._base.environment import parent_process
from clawperator._base.text import printable
from clawperator._base.trust import (
    folder_trust,
    forget_folder,
    read_store,
    registry_trust,
    trust_folder,
)
from clawperator.cli.claw.response import Response
from clawperator.cli.parsing import ParsedArguments, parse_error
from clawperator.errors import ClawError

_ACTIONS = ("--list", "--remove", "--dry-run")


def trust(arguments: ParsedArguments) -> Response:
    """Trust a folder, by default the working folder. Only a user may: not a skill, an MCP server or an agent."""
    _require_user()
    given = [flag for flag in _ACTIONS if arguments.has(flag)]
    if len(given) > 1:
        raise parse_error(f"argument {given[1]}: not allowed with argument {given[0]}", arguments.name)
    if given == ["--list"]:
        return _list()
    folder = os.path.realpath(arguments.words[0] if arguments.words else os.curdir)
    if given == ["--remove"]:
        return _remove(folder)
    if not os.path.isdir(folder):
        raise ClawError(
            "FILESYSTEM_FAILED",
            f"no such folder: {printable(folder)}",
            hint="Run 'claw trust' in the folder.",
            operation="trust",
            target=folder,
        )
    return _trust(folder, dry_run=bool(given))


def _require_user() -> None:
    from clawperator.policy.gate import inherited_policy

    parent = parent_process() or ("a claw command" if inherited_policy() is not None else "")
    if parent:
        raise ClawError(
            "PERMISSION_DENIED",
            f"only a user may trust a folder; this command was started by {printable(parent)}",
            hint="Run 'claw trust' in a terminal.",
            operation="trust",
            target="trust",
        )


def _trust(folder: str, *, dry_run: bool) -> Response:
    from clawperator.agent.folder_programs import programs_of_folder

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


def _remove(folder: str) -> Response:
    removed = forget_folder(folder)
    text = f"{'No longer trusted' if removed else 'Was not trusted'}: {printable(folder)}"
    return Response({"folder": folder, "removed": removed}, text)


def _list() -> Response:
    store = read_store()
    rows = [_row(path, "folder", trusted=folder_trust(path).is_trusted) for path in store.folders]
    rows += [_row(path, "registry", trusted=registry_trust(path).is_trusted) for path in store.registries]
    text = "\n".join(f"{row['kind']}\t{printable(row['path'])}\t{row['state']}" for row in rows)
    return Response({"count": len(rows), "trusted": rows}, text or "(no trusted folders)")


def _row(path: str, kind: str, *, trusted: bool) -> dict[str, Any]:
    return {"path": path, "kind": kind, "state": "trusted" if trusted else "changed"}
