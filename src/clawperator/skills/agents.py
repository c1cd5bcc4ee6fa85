"""Skills that an agent carries out: which agent, and where its program is."""

import os
import re
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from clawperator.errors import ClawError

VARIABLE = "CLAWPERATOR_SKILL_AGENT_CLI"
_NAME = re.compile(r"[A-Za-z0-9._+-]+")


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

    chosen = os.environ.get(VARIABLE)
    if chosen is not None and not _NAME.fullmatch(chosen):
        raise _unavailable(chosen, f"{VARIABLE} is no name of a program: {chosen!r}")
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
        hint=f"Install {name!r}, or name another with {VARIABLE}.",
        target=name,
    )
