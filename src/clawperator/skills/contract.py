"""The contract and the agent that a ``skill.json`` declares, and the reading of a skill's inputs."""

import os
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from clawperator.errors import ClawError

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
