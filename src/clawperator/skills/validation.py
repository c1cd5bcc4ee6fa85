"""Validate skills: their files exist, skill.json agrees with the registry; compile their artifacts."""

import os
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from clawperator._base.files import open_regular, why
from clawperator._base.text import whole
from clawperator._base.typed import decode
from clawperator.contract.execution import validate
from clawperator.errors import ClawError
from clawperator.skills.registry import FIELDS, SkillEntry, SkillRegistry, parse_entry, read_json, skill_error

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
    message = f"the contract of {skill_id} is invalid: {reason}"
    hint = 'An input is "string", "integer" or "integer[min,max]"; a goal has a "kind".'
    return skill_error("SKILL_VALIDATION_FAILED", skill_id, message, hint, reason=reason)


def _invalid_input(skill_id: str, declared: Mapping[str, str], message: str) -> ClawError:
    example = " ".join(f"--{name} <{kind}>" for name, kind in declared.items())
    hint = f"Run 'clawperator skills run {skill_id}{' -- ' if example else ''}{example}'."
    return skill_error("SKILL_INPUT_INVALID", skill_id, message, hint, inputs=dict(declared))


# Agents


class SkillAgent(Struct, frozen=True):
    """The ``agent`` of a ``skill.json``. ``cliPath`` may be relative to the skill's folder."""

    cli: Annotated[str, Meta(min_length=1)]
    cliPath: str | None = None
    timeoutMs: Annotated[int, Meta(gt=0)] | None = None


def parse_agent(block: Any) -> SkillAgent:
    """Parse the ``agent`` block; ``ValueError`` with the reason when it is invalid."""
    return msgspec.convert(block, SkillAgent)


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
    hint = f"Install {name!r}, or set {AGENT_CLI_VARIABLE} to another program."
    message = f"the skill's agent is not available: {reason}"
    return skill_error("SKILL_AGENT_CLI_UNAVAILABLE", name, message, hint)


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
    wanted = [checks.skillJsonPath, checks.skillFilePath, *checks.scriptPaths, *checks.artifactPaths]
    if missing := [path for path in wanted if not os.path.isfile(path)]:
        raise _failed(entry.id, f"{missing[0]} is missing", missingFiles=missing)
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
        message = f"{len(failures)} of {total} skills are not valid"
        counts: dict[str, Any] = {"totalSkills": total, "validCount": len(valid), "invalidCount": len(failures)}
        raise skill_error("SKILL_VALIDATION_FAILED", registry.path, message, **counts, failures=failures)
    return {"valid": True, "totalSkills": total, "registryPath": registry.path, "validSkills": valid}


def read_skill_json(path: str) -> dict[str, Any]:
    """Read a ``skill.json``; ``SKILL_VALIDATION_FAILED`` when that fails."""
    document = read_json(path, _unreadable)
    if not isinstance(document, dict):
        raise _unreadable(path, "it is not an object")
    return document


def _check_agreement(raw: dict[str, Any], description: dict[str, Any], skill_id: str) -> None:
    missing = [name for name in FIELDS if name not in description]
    if missing:
        raise _failed(skill_id, f"its skill.json has no {', '.join(missing)}", missingFields=missing)
    differing = [name for name in FIELDS if description[name] != raw[name]]
    if differing:
        problem = f"its skill.json and the registry differ in {', '.join(differing)}"
        raise _failed(skill_id, problem, mismatchFields=differing)


def _check_artifacts(entry: SkillEntry, checks: CheckedFiles) -> DryRun:
    plans = [path for path in checks.artifactPaths if path.endswith(_PLANS)]
    if not plans:
        has_some = bool(checks.artifactPaths)
        return DryRun("skipped", "no artifact is an execution" if has_some else "the skill has no artifacts")
    for path in plans:
        name = os.path.basename(path)
        document = read_json(path, _unreadable)
        try:
            validate(document)
        except ClawError as e:
            details = {key: value for key, value in (e.details or {}).items() if key in _ACTION_DETAILS}
            if e.own_hint is not None:
                details.setdefault("hint", e.hint)
            problem = f"its artifact {name} is not a valid execution: {e.message}"
            raise _failed(entry.id, problem, artifact=name, path=path, reason=e.message, **details) from e
    return DryRun("passed")


def _unreadable(path: str, reason: str) -> ClawError:
    return skill_error("SKILL_VALIDATION_FAILED", path, f"cannot read {path}: {reason}", path=path, reason=reason)


def _failed(skill_id: str, problem: str, **details: Any) -> ClawError:
    return skill_error("SKILL_VALIDATION_FAILED", skill_id, f"skill {skill_id} is not valid: {problem}", **details)


# Artifacts: execution templates with placeholders, compiled and validated

SUFFIX = ".recipe.json"
_PLACEHOLDER = re.compile(r"\{\{([A-Za-z0-9_]+)\}\}")
_MAX_BYTES = 1024 * 1024
_HIGHEST_INDEX = 2**32 - 2
_LONGEST_INDEX = len(str(_HIGHEST_INDEX))


def compile_artifact(
    registry: SkillRegistry, skill_id: str, artifact: str, variables: str | None = None
) -> dict[str, Any]:
    """Compile an artifact to an execution, with values for its placeholders from a JSON object."""
    registry = registry.holding(skill_id)
    entry = parse_entry(registry.entry(skill_id))
    name = artifact.removesuffix(SUFFIX)
    path = registry.file(_artifact_path(entry, name))
    given = read_variables(variables)
    digest = fingerprint(skill_id, name, given)
    values = {"COMMAND_ID": f"cmd-{digest}", "TASK_ID": f"task-{digest}", **{k: v for k, v in given.items() if v}}
    text = _PLACEHOLDER.sub(lambda found: _value(found[1], values), _read_artifact(path))
    try:
        document = decode(text)
        if isinstance(document, dict):
            document["mode"] = "artifact_compiled"
        return validate(document).document
    except ValueError as e:
        raise _invalid_artifact(skill_id, name, f"not valid JSON: {e}") from None
    except ClawError as e:
        details = {"code": e.code, **(e.details or {})}
        raise _invalid_artifact(skill_id, name, e.message, e.hint, details) from e


def read_variables(text: str | None) -> dict[str, str]:
    """The members of a JSON object as texts; ``COMPILE_VARS_PARSE_FAILED`` when it is not an object."""
    try:
        given = decode(text or "{}")
    except ValueError as e:
        raise _invalid_variables(str(e)) from None
    if not isinstance(given, dict):
        raise _invalid_variables("it is not an object")
    return {name: _as_text(value) for name, value in given.items()}


def fingerprint(skill_id: str, artifact: str, variables: dict[str, str]) -> str:
    """Twelve hex digits that depend only on skill, artifact and variables."""
    import hashlib

    in_order = {name: variables[name] for name in sorted(variables, key=_js_key_order)}
    encoded = msgspec.json.encode({"skillId": skill_id, "artifactName": artifact, "vars": in_order})
    return hashlib.sha256(encoded).hexdigest()[:12]


def _js_key_order(name: str) -> tuple[int, int, bytes]:
    """Sort key for the order of sorted keys in a JavaScript object: integers come first."""
    is_number = name.isascii() and name.isdecimal() and (name == "0" or name[0] != "0")
    if is_number and len(name) <= _LONGEST_INDEX and int(name) <= _HIGHEST_INDEX:
        return 0, int(name), b""
    return 1, 0, name.encode("utf-16-be", "surrogatepass")


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        value = whole(value)
    return msgspec.json.encode(value).decode()


def _value(name: str, values: dict[str, str]) -> str:
    if not values.get(name):
        message, hint = f"placeholder {{{{{name}}}}} has no value", f'Add it to the variables: {{"{name}":"..."}}.'
        raise ClawError("COMPILE_VAR_MISSING", message, hint=hint, details={"placeholder": name})
    return msgspec.json.encode(values[name]).decode()[1:-1]


def _artifact_path(entry: SkillEntry, name: str) -> str:
    for path in entry.artifacts:
        if os.path.basename(path) == name + SUFFIX:
            return path
    known = [os.path.basename(path) for path in entry.artifacts]
    message = f"skill {entry.id} has no artifact {name + SUFFIX!r}"
    hint = f"Artifacts: {', '.join(known)}." if known else "The skill has no artifacts."
    raise skill_error("ARTIFACT_NOT_FOUND", name, message, hint, artifacts=known)


def _read_artifact(path: str) -> str:
    try:
        with open_regular(path) as file:
            data = file.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:
            raise OSError(f"it is longer than {_MAX_BYTES} bytes")  # noqa: TRY301 - one error for all
        return data.decode()
    except (OSError, UnicodeDecodeError) as e:
        message = f"cannot read the artifact {path}: {why(e)}"
        raise ClawError("REGISTRY_READ_FAILED", message, target=path) from e


def _invalid_variables(reason: str) -> ClawError:
    return ClawError("COMPILE_VARS_PARSE_FAILED", f"the variables must be a JSON object: {reason}")


def _invalid_artifact(
    skill_id: str, name: str, reason: str, hint: str | None = None, details: dict[str, Any] | None = None
) -> ClawError:
    message = f"artifact {name} of {skill_id} is not a valid execution: {reason}"
    details = {"artifact": name, "reason": reason, **(details or {})}
    return skill_error("COMPILE_VALIDATION_FAILED", name, message, hint, **details)
