"""Validate skills: their files exist, skill.json agrees with the registry, and artifacts are executions."""

import os
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from clawperator.contract.execution import validate
from clawperator.errors import ClawError
from clawperator.skills.contract import parse_agent, parse_contract
from clawperator.skills.registry import FIELDS, SkillEntry, SkillRegistry, parse_entry, read_json

_PLANS = (".json",)
# Details of an execution's validation error that identify the action.
_ACTION_DETAILS = ("actionId", "actionType", "invalidKeys", "hint")


class CheckedFiles(Struct, frozen=True):
    """The files that were checked."""

    skillJsonPath: str
    skillFilePath: str
    scriptPaths: list[str]
    artifactPaths: list[str]


class DryRun(Struct, frozen=True, omit_defaults=True):
    payloadValidation: str
    reason: str | UnsetType = UNSET


class ValidatedSkill(Struct, frozen=True):
    """The document of ``skills validate`` for one skill."""

    valid: bool
    skill: dict[str, Any]
    registryPath: str
    checks: CheckedFiles
    dryRun: DryRun | UnsetType = UNSET


def validate_skill(registry: SkillRegistry, skill_id: str, *, dry_run: bool = False) -> ValidatedSkill:
    """Validate one skill; ``SKILL_VALIDATION_FAILED`` with the problem otherwise."""
    raw = registry.entry(skill_id)
    entry = parse_entry(raw)
    checks = CheckedFiles(
        registry.file(os.path.join(entry.path, "skill.json")),
        registry.file(entry.skillFile),
        [registry.file(path) for path in entry.scripts],
        [registry.file(path) for path in entry.artifacts],
    )
    _check_files(entry, checks)
    description = read_skill_json(checks.skillJsonPath)
    _check_agreement(raw, description, skill_id)
    parse_contract(skill_id, description.get("contract"))
    if description.get("agent") is not None:
        try:
            parse_agent(description["agent"])
        except ValueError as e:
            raise _failed(skill_id, f"its agent is invalid: {e}", reason=str(e)) from None
    run = _check_artifacts(entry, checks) if dry_run else UNSET
    return ValidatedSkill(True, raw, registry.path, checks, run)


def validate_all(registry: SkillRegistry, *, dry_run: bool = False) -> dict[str, Any]:
    """Validate every skill; the error lists all failures."""
    valid, failures = [], []
    seen: set[str] = set()
    for raw in registry.entries:
        skill_id = str(raw.get("id", ""))
        try:
            if skill_id in seen:
                raise _failed(skill_id, "its id is not unique", reason="duplicate id")
            seen.add(skill_id)
            checked = validate_skill(registry, skill_id, dry_run=dry_run)
        except ClawError as e:
            failures.append({"skillId": skill_id, **e.document()})
        else:
            valid.append({"skill": checked.skill, "checks": checked.checks})
    total = len(registry.entries)
    if failures:
        raise ClawError(
            "SKILL_VALIDATION_FAILED",
            f"{len(failures)} of {total} skills are not valid",
            details={
                "totalSkills": total,
                "validCount": len(valid),
                "invalidCount": len(failures),
                "failures": failures,
            },
            target=registry.path,
        )
    return {"valid": True, "totalSkills": total, "registryPath": registry.path, "validSkills": valid}


def read_skill_json(path: str) -> dict[str, Any]:
    """Read a ``skill.json``; ``SKILL_VALIDATION_FAILED`` when that fails."""
    document = read_json(path, _unreadable)
    if not isinstance(document, dict):
        raise _unreadable(path, "it is not an object")
    return document


def _check_files(entry: SkillEntry, checks: CheckedFiles) -> None:
    wanted = [checks.skillJsonPath, checks.skillFilePath, *checks.scriptPaths, *checks.artifactPaths]
    missing = [path for path in wanted if not os.path.isfile(path)]
    if missing:
        raise _failed(entry.id, f"{missing[0]} is missing", missingFiles=missing)


def _check_agreement(raw: dict[str, Any], description: dict[str, Any], skill_id: str) -> None:
    missing = [name for name in FIELDS if name not in description]
    if missing:
        raise _failed(skill_id, f"its skill.json has no {', '.join(missing)}", missingFields=missing)
    differing = [name for name in FIELDS if description[name] != raw[name]]
    if differing:
        raise _failed(
            skill_id,
            f"its skill.json and the registry differ in {', '.join(differing)}",
            mismatchFields=differing,
        )


def _check_artifacts(entry: SkillEntry, checks: CheckedFiles) -> DryRun:
    plans = [path for path in checks.artifactPaths if path.endswith(_PLANS)]
    if not plans:
        return DryRun(
            "skipped", "the skill has no artifacts" if not checks.artifactPaths else "no artifact is an execution"
        )
    for path in plans:
        name = os.path.basename(path)
        document = read_json(path, _unreadable)
        try:
            validate(document)
        except ClawError as e:
            details = {key: value for key, value in (e.details or {}).items() if key in _ACTION_DETAILS}
            if e.own_hint is not None:
                details.setdefault("hint", e.hint)
            raise _failed(
                entry.id,
                f"its artifact {name} is not a valid execution: {e.message}",
                artifact=name,
                path=path,
                reason=e.message,
                **details,
            ) from e
    return DryRun("passed")


def _unreadable(path: str, reason: str) -> ClawError:
    return ClawError(
        "SKILL_VALIDATION_FAILED",
        f"cannot read {path}: {reason}",
        details={"path": path, "reason": reason},
        target=path,
    )


def _failed(skill_id: str, problem: str, **details: Any) -> ClawError:
    return ClawError(
        "SKILL_VALIDATION_FAILED",
        f"skill {skill_id} is not valid: {problem}",
        details=details,
        target=skill_id,
    )
