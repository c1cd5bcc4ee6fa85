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


class Proof(Struct, frozen=True):
    """What the screen must have shown in the end; ``{name}`` in it stands for an input."""

    kind: Literal["node_text_matches"]
    matcher: str


class Promises(Struct, frozen=True):
    """The ``contract`` of a skill. ``inputs`` is None when it declares none."""

    inputs: dict[str, str] | None = None
    goal: dict[str, Any] | None = None
    verification: Proof | None = None


def read_promises(skill_id: str, contract: Any) -> Promises:
    """The contract, checked; ``SKILL_VALIDATION_FAILED`` when it breaks its shape."""
    try:
        promises = msgspec.convert(contract if contract is not None else {}, Promises)
    except msgspec.ValidationError as e:
        raise _broken(skill_id, str(e)) from None
    for name, kind in (promises.inputs or {}).items():
        if not _NAME.fullmatch(name) or not _KIND.fullmatch(kind):
            raise _broken(skill_id, f"the input {name!r} has the kind {kind!r}")
    if promises.goal is not None and not isinstance(promises.goal.get("kind"), str):
        raise _broken(skill_id, "the goal has no kind")
    slots = set(_SLOT.findall(promises.verification.matcher)) if promises.verification else set()
    if strange := slots - set(promises.inputs or {}):
        raise _broken(skill_id, f"the verification names {min(strange)!r}, which is no input")
    return promises


def read_inputs(skill_id: str, declared: Mapping[str, str], args: Sequence[str]) -> dict[str, str | int]:
    """The inputs in arguments, by name (``--name value``) or in their order; ``SKILL_INPUT_INVALID`` otherwise."""
    given: dict[str, str] = {}
    plain: list[str] = []
    rest = iter(args)
    for word in rest:
        name, equals, value = word.removeprefix("--").partition("=")
        if not word.startswith("--") or name not in declared:
            plain.append(word)
        elif name in given:
            raise _wrong(skill_id, declared, f"the input {name} is given twice")
        else:
            given[name] = value if equals else next(rest, "")
    free = [name for name in declared if name not in given]
    if len(plain) > len(free):
        raise _wrong(skill_id, declared, f"the argument {plain[len(free)]!r} is no input of this skill")
    given |= dict(zip(free, plain, strict=False))
    missing = [name for name in declared if not given.get(name)]
    if missing:
        raise _wrong(skill_id, declared, f"the input {missing[0]} is missing")
    return {name: _read(skill_id, declared, name, given[name]) for name in declared}


def _read(skill_id: str, declared: Mapping[str, str], name: str, value: str) -> str | int:
    kind = declared[name]
    if kind == "string":
        return value
    bounds = [int(bound) for bound in _INTEGER.findall(kind)]
    number = int(value) if _INTEGER.fullmatch(value) else None
    if number is None or (bounds and not bounds[0] <= number <= bounds[1]):
        asked = f"a whole number from {bounds[0]} to {bounds[1]}" if bounds else "a whole number"
        raise _wrong(skill_id, declared, f"the input {name} must be {asked}, not {value!r}")
    return number


def expected_text(proof: Proof, inputs: Mapping[str, Any]) -> str:
    """What the screen must have shown, for these inputs."""
    return _SLOT.sub(lambda slot: str(inputs.get(slot[1], slot[0])), proof.matcher)


def shows(evidence: Any, expected: str) -> bool:
    """Whether some text of the evidence holds the expected one, as whole words."""
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


def _broken(skill_id: str, reason: str) -> ClawError:
    return ClawError(
        "SKILL_VALIDATION_FAILED",
        f"the contract of {skill_id} breaks its shape: {reason}",
        hint='An input is "string", "integer" or "integer[min,max]"; a goal has a kind.',
        details={"reason": reason},
        target=skill_id,
    )


def _wrong(skill_id: str, declared: Mapping[str, str], message: str) -> ClawError:
    example = " ".join(f"--{name} <{kind}>" for name, kind in declared.items())
    return ClawError(
        "SKILL_INPUT_INVALID",
        message,
        hint=f"Write 'clawperator skills run {skill_id} -- {example}'.".replace(" --'", "'"),
        details={"inputs": dict(declared)},
        target=skill_id,
    )


AGENT_VARIABLE = "CLAWPERATOR_SKILL_AGENT_CLI"
_PROGRAM_NAME = re.compile(r"[A-Za-z0-9._+-]+")


class Agent(Struct, frozen=True):
    """The ``agent`` of a ``skill.json``. ``cliPath`` may be relative to the skill's folder."""

    cli: Annotated[str, Meta(min_length=1)]
    cliPath: str | None = None
    timeoutMs: Annotated[int, Meta(gt=0)] | None = None


def read_agent(block: Any) -> Agent:
    """The agent, or ``ValueError`` that says what is wrong with it."""
    try:
        return msgspec.convert(block, Agent)
    except msgspec.ValidationError as e:
        raise ValueError(str(e)) from None


def find_agent(agent: Agent, folder: str) -> tuple[str, str]:
    """The name and the program of an agent, or ``SKILL_AGENT_CLI_UNAVAILABLE``. The variable goes before it."""
    import shutil

    chosen = os.environ.get(AGENT_VARIABLE)
    if chosen is not None and not _PROGRAM_NAME.fullmatch(chosen):
        raise _unavailable(chosen, f"{AGENT_VARIABLE} is no name of a program: {chosen!r}")
    if chosen is None and agent.cliPath:
        path = os.path.normpath(os.path.join(folder, agent.cliPath))
        runs = os.path.isfile(path) and (path.endswith((".js", ".py")) or os.access(path, os.X_OK))
        if not runs:
            raise _unavailable(agent.cli, f"{path} cannot be run")
        return agent.cli, path
    name = chosen or agent.cli
    found = shutil.which(name)
    if found is None:
        raise _unavailable(name, f"{name} is not on PATH")
    return name, found


def _unavailable(name: str, reason: str) -> ClawError:
    return ClawError(
        "SKILL_AGENT_CLI_UNAVAILABLE",
        f"the agent of this skill cannot be run: {reason}",
        hint=f"Install {name!r}, or name another with {AGENT_VARIABLE}.",
        target=name,
    )
