"""The flags of a server: the device, the backend, and what its clients may do."""

import os

from clawperator._environment import check_names
from clawperator.agent import AgentOptions
from clawperator.cli.command_line import Call
from clawperator.cli.handlers.execution import chosen_backend
from clawperator.cli.parsing import usage
from clawperator.commands import LEVELS, Level
from clawperator.policy import read_level


def server_options(call: Call) -> AgentOptions:
    arguments = call.arguments
    return AgentOptions(
        folder=os.getcwd(),
        device=call.options.device,
        operator_package=call.options.operator_package,
        mode=_mode(call),
        allow_tools=arguments.all("--allow-tool"),
        deny_tools=arguments.all("--deny-tool"),
        deny_prefixes=arguments.all("--deny-prefix"),
        ask_tools=arguments.all("--ask-tool"),
        include_mcp=False,
        backend=chosen_backend(arguments),
        allow_schemes=arguments.all("--allow-scheme"),
        pass_env=check_names(arguments.all("--pass-env")),
    )


def _mode(call: Call) -> Level | None:
    given = call.arguments.get("--permission-mode")
    if given is None:
        return None
    level = read_level(given)
    if level is None:
        raise usage(
            f"--permission-mode must be one of {', '.join(LEVELS)}, not {given!r}",
            "Write --permission-mode read-only.",
        )
    return level
