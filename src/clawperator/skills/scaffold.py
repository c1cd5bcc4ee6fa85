"""Create a skill: write its four files and add it to a registry."""

import os
import re
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Struct

from clawperator._base.environment import parent_process
from clawperator._base.files import AtomicFile, why
from clawperator._base.trust import folder_trust, registry_trust, trust_folder, trust_registry
from clawperator.errors import ClawError
from clawperator.policy.enforcement import inherited_policy
from clawperator.skills.registry import (
    SkillRegistry,
    configured_registry,
    home_registry,
    local_registry,
    read_json,
    read_registry,
    shipped_registry,
)
from clawperator.skills.script_template import render_script
from clawperator.skills.templates import (
    SkillTemplate,
    read_context,
    render_shell_script,
    render_skill_md,
)

_ID = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)+")
_MAX_ID_LENGTH = 200


class CreatedSkill(Struct, frozen=True):
    """The document of ``skills new``."""

    created: bool
    skillId: str
    registryPath: str
    skillPath: str
    files: list[str]
    next: str


def new_skill(
    skill_id: str, *, summary: str | None = None, context: str | None = None, registry: str | None = None
) -> CreatedSkill:
    """Write a new skill into the current registry; the first one is created in the current folder.

    ``context`` is the export of a recording: its steps become the script, and evidence in SKILL.md.
    """
    app, _, intent = skill_id.rpartition(".")
    if not _ID.fullmatch(skill_id) or len(skill_id) > _MAX_ID_LENGTH:
        raise ClawError(
            "SKILL_ID_INVALID",
            f"invalid skill id {skill_id!r}",
            hint="Use the app's package name, a dot and the intent: com.android.settings.overview.",
            target=skill_id,
        )
    path = _target_registry(registry)
    before = _trust_before(path)
    known = read_registry(path) if os.path.exists(path) else SkillRegistry(path, [])
    relative = f"skills/{skill_id}"
    folder = known.file(relative)
    if os.path.lexists(folder) or any(entry.get("id") == skill_id for entry in known.entries):
        raise ClawError("SKILL_ALREADY_EXISTS", f"skill {skill_id} already exists", target=skill_id)
    recording = None if context is None else read_context(context)
    template = SkillTemplate(skill_id, app, intent, summary or f"TODO: describe {intent}", recording)
    entry = _registry_entry(template, relative)
    files = {
        "SKILL.md": render_skill_md(template),
        "skill.json": _json(entry),
        "scripts/run.py": render_script(template),
        "scripts/run.sh": render_shell_script(),
    }
    try:
        _write(folder, files)
        _register(path, entry)
    except OSError as e:
        _remove(folder, files)
        raise ClawError(
            "SKILLS_SCAFFOLD_FAILED", f"cannot write skill {skill_id}: {why(e)}", target=folder, operation="write"
        ) from e
    _remember(path, before)
    return CreatedSkill(
        created=True,
        skillId=skill_id,
        registryPath=path,
        skillPath=folder,
        files=[os.path.join(folder, name) for name in files],
        next=f"Edit {relative}/scripts/run.py, then run 'clawperator skills validate {skill_id} --dry-run'."
        + _advice(skill_id, path),
    )


class _TrustBefore(Struct, frozen=True):
    """Whether the folder and the registry were trusted before a skill was added."""

    folder: bool
    registry: bool


def _trust_before(path: str) -> _TrustBefore:
    """A registry that does not exist yet is trusted: the user creates it."""
    folder = folder_trust(os.path.dirname(os.path.dirname(path))).is_trusted
    return _TrustBefore(folder, not os.path.lexists(path) or registry_trust(path).is_trusted)


def _remember(path: str, before: _TrustBefore) -> None:
    """Keep the trust of a registry that we have changed. An agent cannot make a registry trusted."""
    if parent_process() or inherited_policy() is not None:
        return
    with suppress(ClawError):  # the skill exists; running it will name the problem
        if before.folder:
            trust_folder(os.path.dirname(os.path.dirname(path)))
        if before.registry:
            trust_registry(path)


def _advice(skill_id: str, path: str) -> str:
    shipped = read_registry(shipped_registry()).entries
    if not any(entry.get("id") == skill_id for entry in shipped):
        return ""
    return f" A shipped skill has this id: run yours with '--registry {path}'."


def _registry_entry(template: SkillTemplate, path: str) -> dict[str, Any]:
    return {
        "id": template.skill_id,
        "applicationId": template.app,
        "intent": template.intent,
        "summary": template.summary,
        "path": path,
        "skillFile": f"{path}/SKILL.md",
        "scripts": [f"{path}/scripts/run.py", f"{path}/scripts/run.sh"],
        "artifacts": [],
    }


def _target_registry(given: str | None) -> str:
    """The registry for a new skill: never the shipped one, unless configured."""
    configured = configured_registry(given)
    if configured is not None:
        return configured
    places = (local_registry(), home_registry())
    return next((path for path in places if os.path.exists(path)), places[0])


def _write(folder: str, files: dict[str, str]) -> None:
    os.makedirs(os.path.join(folder, "scripts"))
    for name, text in files.items():
        path = os.path.join(folder, name)
        with open(path, "x", encoding="utf-8") as file:
            file.write(text)
        if name.endswith((".sh", ".py")):
            os.chmod(path, 0o755)  # noqa: S103 - executable by all


def _register(path: str, entry: dict[str, Any]) -> None:
    document: dict[str, Any] = {"schemaVersion": "1.0", "skills": []}
    if os.path.exists(path):
        document = read_json(path, lambda where, reason: OSError(f"{where}: {reason}"))
    skills = sorted([*document["skills"], entry], key=lambda each: str(each.get("id")))
    with AtomicFile(path) as out:
        out.file.write(_json({**document, "skills": skills}).encode())


def _remove(folder: str, files: dict[str, str]) -> None:
    """Remove the files of a skill that could not be completed."""
    for name in files:
        with suppress(OSError):
            os.unlink(os.path.join(folder, name))
    for part in (os.path.join(folder, "scripts"), folder):
        with suppress(OSError):
            os.rmdir(part)


def _json(document: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"
