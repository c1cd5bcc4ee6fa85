"""What all commands of ``claw`` that act have in common: what may run, and on which phone."""

import os
import sys
from collections.abc import Mapping
from typing import Any

from clawperator.agent.policy import read_level
from clawperator.agent.ports import LEVELS, Tool
from clawperator.agent.turns.assembly import AgentOptions
from clawperator.cli.claw.parsing import FORMAT_FLAG, FORMAT_VARIABLE, Read
from clawperator.commands.model import BACKENDS, BackendName


def choices(asked: Read) -> AgentOptions:
    return AgentOptions(
        device=asked.get("--device"),
        operator_package=asked.get("--operator-package"),
        mode=read_level(asked.choice("--permission-mode", LEVELS, "")),
        allow_tools=asked.all("--allow-tool"),
        deny_tools=asked.all("--deny-tool"),
        deny_prefixes=asked.all("--deny-prefix"),
        ask_tools=asked.all("--ask-tool"),
        include_mcp=not asked.has("--no-mcp"),
        asker=_ask if _somebody_is_there(asked) else None,
        backend=_backend(asked),
    )


def _backend(asked: Read) -> BackendName:
    wanted = asked.choice("--backend", BACKENDS, "auto")
    return next(name for name in BACKENDS if name == wanted)


def _somebody_is_there(asked: Read) -> bool:
    """Only a person at a terminal who reads prose can be asked. A program cannot, and silence is no consent."""
    given = asked.get(FORMAT_FLAG) or os.environ.get(FORMAT_VARIABLE) or "text"
    is_terminal = all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))
    return is_terminal and given.casefold() == "text" and "-" not in asked.words


def _ask(tool: Tool, params: Mapping[str, Any], reason: str) -> bool:
    import json

    from clawperator._text import printable

    shown = printable(json.dumps(dict(params), default=str))[:500]
    sys.stderr.write(f"claw: {reason}\nRun {tool.name} {shown}? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().casefold() in ("y", "yes")
