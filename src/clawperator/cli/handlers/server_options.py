"""The flags of a server: the device, the backend, and what its clients may do."""

import os
from shlex import quote

from clawperator._base.environment import check_names
from clawperator.agent.turns.assembly import AgentOptions
from clawperator.cli.command_line import Call
from clawperator.cli.handlers.execution import chosen_backend
from clawperator.cli.parsing import usage
from clawperator.policy.rules import read_level


def server_options(call: Call) -> AgentOptions:
    arguments = call.arguments
    return AgentOptions(
        folder=_folder(call),
        device=call.options.device,
        operator_package=call.options.operator_package,
        mode=read_level(arguments.get("--permission-mode") or ""),
        allow_tools=arguments.all("--allow-tool"),
        deny_tools=arguments.all("--deny-tool"),
        deny_prefixes=arguments.all("--deny-prefix"),
        ask_tools=arguments.all("--ask-tool"),
        include_mcp=False,
        backend=chosen_backend(arguments),
        allow_schemes=arguments.all("--allow-scheme"),
        pass_env=check_names(arguments.all("--pass-env")),
    )


def _folder(call: Call) -> str:
    folder = os.path.abspath(call.arguments.get("--folder") or os.getcwd())
    if not os.path.isdir(folder):
        raise usage(f"--folder {folder} is not a folder", f"Run 'mkdir -p {quote(folder)}' first.")
    return folder
