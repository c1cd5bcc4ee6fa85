"""``config``: the settings in force and their origins."""

import os
from typing import Any

from clawperator.cli.command_line import Call, CommandResult, GlobalOptions
from clawperator.operations.call import ApprovedCall, Caller


def print_settings(line: Call, _: ApprovedCall, __: Caller) -> CommandResult:
    from clawperator._base.config import read_config
    from clawperator._base.home import config_file
    from clawperator._base.settings import VARIABLES, default_output
    from clawperator.device.settings import default_backend, default_timeout_ms, named_operator

    in_force = {
        "backend": default_backend(),
        "timeout_ms": default_timeout_ms(),
        "operator_package": named_operator(line.options.operator_package),
        "output": default_output(),
    }
    config = read_config()
    return CommandResult(
        {
            "file": config_file(),
            "exists": os.path.exists(config_file()),
            "settings": [_row(name, line.options, in_force.get(name)) for name in VARIABLES],
            "allow_schemes": config.allow_schemes,
            "pass_env": config.pass_env,
            "warnings": config.warnings,
        }
    )


def _row(name: str, options: GlobalOptions, in_force: Any) -> dict[str, Any]:
    from clawperator._base.settings import VARIABLES, setting

    flag, given = _given(name, options)
    found = setting(name)
    if given is not None:
        value, origin = given, flag
    elif found is not None:
        value, origin = in_force if in_force is not None else found.value, found.origin
    else:
        value, origin = in_force, "default"
    return {"name": name, "value": value, "origin": origin, "flag": flag, "variables": VARIABLES[name]}


def _given(name: str, options: GlobalOptions) -> tuple[str, Any]:
    """The flag of a setting, and its value on this command line."""
    chosen_output = (
        None if options.default_output else "pretty" if options.pretty else "text" if options.text else "json"
    )
    flags = {
        "device": ("--device", options.device),
        "backend": ("--backend", None),
        "timeout_ms": ("--timeout", options.timeout_ms),
        "operator_package": ("--operator-package", options.operator_package),
        "output": ("--output", chosen_output),
    }
    return flags[name]
