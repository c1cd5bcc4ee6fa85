"""Validate skills: their files exist, skill.json agrees with the registry, and artifacts are executions."""

import os
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from clawperator.contract.execution import validate
from clawperator.errors import ClawError
from clawperator.skills.registry import FIELDS, SkillEntry, SkillRegistry, parse_entry, read_json

# The contract and the agent that a skill.json declares, and the reading of a skill's inputs

_NAME = re.compile(r"[A-Za-z0-9_]+")
_KIND = re.compile(r"string|integer(?:\[-?\d{1,15},-?\d{1,15}\])?")
_INTEGER = re.compile(r"-?\d{1,15}")
_SLOT = re.compile(r"\{([A-Za-z0-9_]+)\}")
AGENT_CLI_VARIABLE = "CLAWPERATOR_SKILL_AGENT_CLI"
_PROGRAM_NAME = re.compile(r"[A-Za-z0-9._+-]+")


class VerificationRule(Struct, frozen=True):
    """The text that the final screen must contain; ``{name}`` in it is replaced by an input."""

    kind: Literal["node_text_matches"]
    matcher: str


class SkillContract(Struct, frozen=True):
    """The ``contract`` of a ``skill.json``. ``inputs`` is None when it declares none."""

    inputs: dict[str, str] | None = None
    goal: dict[str, Any] | None = None
    verification: VerificationRule | None = None


def parse_contract(skill_id: str, block: Any) -> SkillContract:
    """Parse and check a contract; ``SKILL_VALIDATION_FAILED`` when it is invalid."""
    try:
        contract = msgspec.convert(block if block is not None else {}, SkillContract)
    except msgspec.ValidationError as e:
        raise _invalid_contract(skill_id, str(e)) from None
    for name, kind in (contract.inputs or {}).items():
        if not _NAME.fullmatch(name) or not _KIND.fullmatch(kind):
            raise _invalid_contract(skill_id, f"input {name!r} has the invalid type {kind!r}")
    if contract.goal is not None and not isinstance(contract.goal.get("kind"), str):
        raise _invalid_contract(skill_id, "the goal has no 'kind'")
    slots = set(_SLOT.findall(contract.verification.matcher)) if contract.verification else set()
    if unknown := slots - set(contract.inputs or {}):
        raise _invalid_contract(skill_id, f"the verification uses {min(unknown)!r}, which is not an input")
    return contract


def parse_inputs(skill_id: str, declared: Mapping[str, str], args: Sequence[str]) -> dict[str, str | int]:
    """Read inputs from arguments, by name (``--name value``) or by position. ``SKILL_INPUT_INVALID`` otherwise."""
    given: dict[str, str] = {}
    plain: list[str] = []
    rest = iter(args)
    for word in rest:
        name, equals, value = word.removeprefix("--").partition("=")
        if not word.startswith("--") or name not in declared:
            plain.append(word)
        elif name in given:
            raise _invalid_input(skill_id, declared, f"input {name} is given twice")
        else:
            given[name] = value if equals else next(rest, "")
    free = [name for name in declared if name not in given]
    if len(plain) > len(free):
        raise _invalid_input(skill_id, declared, f"argument {plain[len(free)]!r} is not an input of this skill")
    given |= dict(zip(free, plain, strict=False))
    missing = [name for name in declared if not given.get(name)]
    if missing:
        raise _invalid_input(skill_id, declared, f"input {missing[0]} is missing")
    return {name: _read(skill_id, declared, name, given[name]) for name in declared}


def _read(skill_id: str, declared: Mapping[str, str], name: str, value: str) -> str | int:
    kind = declared[name]
    if kind == "string":
        return value
    bounds = [int(bound) for bound in _INTEGER.findall(kind)]
    number = int(value) if _INTEGER.fullmatch(value) else None
    if number is None or (bounds and not bounds[0] <= number <= bounds[1]):
        expected = f"an integer from {bounds[0]} to {bounds[1]}" if bounds else "an integer"
        raise _invalid_input(skill_id, declared, f"input {name} must be {expected}, not {value!r}")
    return number


def expected_text(rule: VerificationRule, inputs: Mapping[str, Any]) -> str:
    """The text that the final screen must contain, for these inputs."""
    return _SLOT.sub(lambda slot: str(inputs.get(slot[1], slot[0])), rule.matcher)


def contains_text(evidence: Any, expected: str) -> bool:
    """Whether a text of the evidence contains the expected one, as whole words."""
    pattern = re.compile(rf"(?<!\w){re.escape(' '.join(expected.split()))}(?!\w)")
    return any(pattern.search(" ".join(text.split())) for text in _texts(evidence))


def _texts(evidence: Any) -> list[str]:
    found: list[str] = []
    waiting = [evidence]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, dict):
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
    return found


def _invalid_contract(skill_id: str, reason: str) -> ClawError:
    return ClawError(
        "SKILL_VALIDATION_FAILED",
        f"the contract of {skill_id} is invalid: {reason}",
        hint='An input is "string", "integer" or "integer[min,max]"; a goal has a "kind".',
        details={"reason": reason},
        target=skill_id,
    )


def _invalid_input(skill_id: str, declared: Mapping[str, str], message: str) -> ClawError:
    example = " ".join(f"--{name} <{kind}>" for name, kind in declared.items())
    return ClawError(
        "SKILL_INPUT_INVALID",
        message,
        hint=f"Run 'clawperator skills run {skill_id}{' -- ' if example else ''}{example}'.",
        details={"inputs": dict(declared)},
        target=skill_id,
    )


# Agents


class SkillAgent(Struct, frozen=True):
    """The ``agent`` of a ``skill.json``. ``cliPath`` may be relative to the skill's folder."""

    cli: Annotated[str, Meta(min_length=1)]
    cliPath: str | None = None
    timeoutMs: Annotated[int, Meta(gt=0)] | None = None


def parse_agent(block: Any) -> SkillAgent:
    """Parse the ``agent`` block; ``ValueError`` with the reason when it is invalid."""
    try:
        return msgspec.convert(block, SkillAgent)
    except msgspec.ValidationError as e:
        raise ValueError(str(e)) from None


def resolve_agent(agent: SkillAgent, folder: str) -> tuple[str, str]:
    """The name and the path of an agent's program; the environment variable overrides the skill's own.

    ``SKILL_AGENT_CLI_UNAVAILABLE`` when it cannot be run.
    """
    import shutil

    chosen = os.environ.get(AGENT_CLI_VARIABLE)
    if chosen is not None and not _PROGRAM_NAME.fullmatch(chosen):
        raise _unavailable(chosen, f"{AGENT_CLI_VARIABLE} is not a program name: {chosen!r}")
    if chosen is None and agent.cliPath:
        path = os.path.normpath(os.path.join(folder, agent.cliPath))
        runs = os.path.isfile(path) and (path.endswith((".js", ".py")) or os.access(path, os.X_OK))
        if not runs:
            raise _unavailable(agent.cli, f"{path} is not executable")
        return agent.cli, path
    name = chosen or agent.cli
    found = shutil.which(name)
    if found is None:
        raise _unavailable(name, f"{name} is not on PATH")
    return name, found


def _unavailable(name: str, reason: str) -> ClawError:
    return ClawError(
        "SKILL_AGENT_CLI_UNAVAILABLE",
        f"the skill's agent is not available: {reason}",
        hint=f"Install {name!r}, or set {AGENT_CLI_VARIABLE} to another program.",
        target=name,
    )


# Validation

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
