"""Options of the ``claw`` commands that act: device, backend, policy and confirmation."""

import os
import sys
from collections.abc import Mapping
from typing import Any

from clawperator._base.environment import check_names
from clawperator.agent.sessions.store import DEFAULT_DIRECTORY
from clawperator.agent.turns.assembly import AgentOptions
from clawperator.cli.claw.command_line import FORMAT_FLAG, FORMAT_VARIABLE
from clawperator.cli.handlers.execution import chosen_backend
from clawperator.cli.parsing import ParsedArguments
from clawperator.policy.rules import Governed, read_level


def agent_options(arguments: ParsedArguments) -> AgentOptions:
    return AgentOptions(
        device=arguments.get("--device"),
        operator_package=arguments.get("--operator-package"),
        mode=read_level(arguments.get("--permission-mode") or ""),
        allow_tools=arguments.all("--allow-tool"),
        deny_tools=arguments.all("--deny-tool"),
        deny_prefixes=arguments.all("--deny-prefix"),
        ask_tools=arguments.all("--ask-tool"),
        include_mcp=not arguments.has("--no-mcp"),
        asker=_confirm if _can_confirm(arguments) else None,
        backend=chosen_backend(arguments),
        allow_schemes=arguments.all("--allow-scheme"),
        pass_env=check_names(arguments.all("--pass-env")),
        sessions=arguments.get("--directory") or DEFAULT_DIRECTORY,
    )


def _can_confirm(arguments: ParsedArguments) -> bool:
    """Whether a user at a terminal in text mode can confirm a call."""
    given = arguments.get(FORMAT_FLAG) or os.environ.get(FORMAT_VARIABLE) or "text"
    is_terminal = all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))
    return is_terminal and given.casefold() == "text" and "-" not in arguments.words


def _confirm(tool: Governed, params: Mapping[str, Any], reason: str) -> bool:
    import json

    from clawperator._base.text import printable

    shown = printable(json.dumps(dict(params), default=str))[:500]
    sys.stderr.write(f"claw: {reason}\nRun {tool.name} {shown}? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().casefold() in ("y", "yes")
