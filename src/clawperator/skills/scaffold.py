"""A new skill: the four files it begins with, and its place in the registry."""

import os
import re
from typing import Any

import msgspec
from msgspec import Struct

from clawperator._files import AtomicFile, why
from clawperator.errors import ClawError
from clawperator.skills.registry import (
    SkillRegistry,
    configured_registry,
    home_registry,
    local_registry,
    read_json,
    read_registry,
)
from clawperator.skills.templates import Page, script, shell_script, skill_page

_ID = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)+")
_LONGEST_ID = 200


class Created(Struct, frozen=True):
    """What ``skills new`` answers."""

    created: bool
    skillId: str
    registryPath: str
    skillPath: str
    files: list[str]
    next: str


def new_skill(
    skill_id: str, *, summary: str | None = None, context: str | None = None, registry: str | None = None
) -> Created:
    """Write a new skill into the registry that counts; a first registry is made in this folder.

    ``context`` is a recording's export: what was shown there becomes evidence in the skill's page.
    """
    app, _, intent = skill_id.rpartition(".")
    if not _ID.fullmatch(skill_id) or len(skill_id) > _LONGEST_ID:
        raise ClawError(
            "SKILL_ID_INVALID",
            f"{skill_id!r} is no id of a skill",
            hint="Write the app's package name, a dot and the intent, as in com.android.settings.overview.",
            target=skill_id,
        )
    place = _place(registry)
    known = read_registry(place) if os.path.exists(place) else SkillRegistry(place, [])
    relative = f"skills/{skill_id}"
    folder = known.file(relative)
    if os.path.lexists(folder) or any(entry.get("id") == skill_id for entry in known.entries):
        raise ClawError("SKILL_ALREADY_EXISTS", f"there is a skill {skill_id} already", target=skill_id)
    page = Page(skill_id, app, intent, summary or f"TODO: say what {intent} does", _shown(context))
    entry = {
        "id": skill_id,
        "applicationId": app,
        "intent": intent,
        "summary": page.summary,
        "path": relative,
        "skillFile": f"{relative}/SKILL.md",
        "scripts": [f"{relative}/scripts/run.py", f"{relative}/scripts/run.sh"],
        "artifacts": [],
    }
    files = {
        "SKILL.md": skill_page(page),
        "skill.json": _json(entry),
        "scripts/run.py": script(page),
        "scripts/run.sh": shell_script(),
    }
    try:
        _write(folder, files)
        _register(place, entry)
    except OSError as e:
        _remove(folder, files)
        raise ClawError(
            "SKILLS_SCAFFOLD_FAILED", f"the skill cannot be written: {why(e)}", target=folder, operation="write"
        ) from e
    return Created(
        created=True,
        skillId=skill_id,
        registryPath=place,
        skillPath=folder,
        files=[os.path.join(folder, name) for name in files],
        next=f"Write {relative}/scripts/run.py, then run 'clawperator skills validate {skill_id} --dry-run'.",
    )


def _place(given: str | None) -> str:
    """Where a new skill goes: never among those that came with the product."""
    configured = configured_registry(given)
    if configured is not None:
        return configured
    places = (local_registry(), home_registry())
    return next((path for path in places if os.path.exists(path)), places[0])


def _shown(context: str | None) -> Any:
    if context is None:
        return None
    from clawperator.skills.templates import read_context

    return read_context(context)


def _write(folder: str, files: dict[str, str]) -> None:
    os.makedirs(os.path.join(folder, "scripts"))
    for name, text in files.items():
        path = os.path.join(folder, name)
        with open(path, "x", encoding="utf-8") as file:
            file.write(text)
        if name.endswith((".sh", ".py")):
            os.chmod(path, 0o755)  # noqa: S103 - a script that others may run too


def _register(path: str, entry: dict[str, Any]) -> None:
    document: dict[str, Any] = {"schemaVersion": "1.0", "skills": []}
    if os.path.exists(path):
        document = read_json(path, lambda where, reason: OSError(f"{where}: {reason}"))
    skills = sorted([*document["skills"], entry], key=lambda each: str(each.get("id")))
    with AtomicFile(path) as out:
        out.file.write(_json({**document, "skills": skills}).encode())


def _remove(folder: str, files: dict[str, str]) -> None:
    """Take back what was written of a skill that could not be finished."""
    from contextlib import suppress

    for name in files:
        with suppress(OSError):
            os.unlink(os.path.join(folder, name))
    for part in (os.path.join(folder, "scripts"), folder):
        with suppress(OSError):
            os.rmdir(part)


def _json(document: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"
