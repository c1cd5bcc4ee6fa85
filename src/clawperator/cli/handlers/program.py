"""``agents init``, ``config``, ``schema``, and the readable report of ``doctor``."""

import errno
import os
from typing import Any

from clawperator._base.files import AtomicFile, file_error, is_inside, open_regular
from clawperator.cli.command_line import Call, CommandResult, GlobalOptions, HandlerResult, TextResult
from clawperator.cli.parsing import usage
from clawperator.operations.call import ApprovedCall, Caller
from clawperator.operations.servers import InstructionFormat

_MOST_BYTES = 1_000_000


def init(line: Call, approved: ApprovedCall, _: Caller) -> CommandResult | TextResult:
    """Print the instructions for agents, or add them to a file."""
    from clawperator.agent.instructions import agent_instructions

    form, path = approved.params.form, approved.params.write
    if path:
        return CommandResult(_write(path, form))
    text = agent_instructions(form)
    return (
        CommandResult({"format": form, "text": text}) if line.options.json else TextResult(text.removesuffix("\n"))
    )


def _write(path: str, form: InstructionFormat) -> dict[str, object]:
    """Add the section to the file, or replace the one that is there. Other text stays as it is."""
    from clawperator.agent.instructions import merge_section

    try:
        _check_link(path)
        existing = _read(path)
        merged = merge_section(existing, form)
        if merged != existing:
            with AtomicFile(path) as out:
                out.file.write(merged.encode())
    except OSError as e:
        hint = f"Run 'clawperator agents init --form {form}' and add the text yourself."
        raise file_error("FILESYSTEM_FAILED", "write", path, e, hint=hint) from e
    except ValueError as e:
        raise usage(f"cannot add a section to {path}: {e}") from e
    status = "unchanged" if merged == existing else "created" if not existing else "updated"
    return {"path": os.path.abspath(path), "format": form, "status": status, "bytes": len(merged.encode())}


def _check_link(path: str) -> None:
    """Refuse a link in the working folder that leads out of it. Many projects have one to a file beside it."""
    folder, target = os.getcwd(), os.path.realpath(path)
    is_below = is_inside(os.path.abspath(path), folder) or is_inside(
        os.path.realpath(os.path.dirname(path)), folder
    )
    if is_below and not is_inside(target, folder):
        raise OSError(errno.ELOOP, f"it leads to {target}, outside the working folder")


def _read(path: str) -> str:
    """The text of the file; empty when there is none."""
    try:
        with open_regular(path) as file:
            data = file.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        return ""
    if len(data) > _MOST_BYTES:
        raise ValueError(f"it is larger than {_MOST_BYTES} bytes")
    return data.decode()


def print_settings(line: Call, _: ApprovedCall, __: Caller) -> CommandResult:
    """Print the settings in force and their origins."""
    from clawperator._base.config import VARIABLES, default_output, read_config
    from clawperator._base.home import config_file
    from clawperator.device.settings import default_backend, default_timeout_ms, named_operator

    in_force = {
        "backend": default_backend(),
        "timeout_ms": default_timeout_ms(),
        "operator_package": named_operator(line.options.operator_package),
        "output": default_output(),
    }
    config = read_config()
    document = {
        "file": config_file(),
        "exists": os.path.exists(config_file()),
        "settings": [_row(name, line.options, in_force.get(name)) for name in VARIABLES],
        **{name: getattr(config, name) for name in ("allow_schemes", "pass_env", "warnings")},
    }
    return CommandResult(document)


def _row(name: str, options: GlobalOptions, in_force: Any) -> dict[str, Any]:
    from clawperator._base.config import VARIABLES, setting

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
    return {
        "device": ("--device", options.device),
        "backend": ("--backend", None),
        "timeout_ms": ("--timeout", options.timeout_ms),
        "operator_package": ("--operator-package", options.operator_package),
        "output": ("--output", chosen_output),
    }[name]


def print_schema(_: Call, approved: ApprovedCall, __: Caller) -> CommandResult:
    """Print the JSON Schema of a document, or of the tools."""
    from clawperator.schemas import list_schemas, schema

    params = approved.params
    if params.name == "tools":
        return CommandResult(_tool_schemas(params.form, compact=not params.all))
    return CommandResult(schema(params.name) if params.name else {"schemas": list_schemas()})


def _tool_schemas(form: Any, *, compact: bool) -> dict[str, Any]:
    """The tools as the requests of model services contain them."""
    from clawperator.agent.model_tools import tool_definitions
    from clawperator.agent.tools.builtin import builtin_tools

    definitions = tool_definitions(builtin_tools(), compact=compact)
    forms = {
        "openai": [definition.openai_form for definition in definitions],
        "anthropic": [definition.anthropic_form for definition in definitions],
    }
    return {"tools": forms[form]} if form else forms


def with_exit_code(line: Call, approved: ApprovedCall, caller: Caller) -> HandlerResult:
    """Run the checks. The exit code is 1 when a critical one fails, unless --check-only is given."""
    report = approved.run(caller)
    if approved.params.report:
        line.console.note(f"compatibility report: {approved.params.report}")
    code = 0 if report.criticalOk or approved.params.check_only else 1
    if not line.options.pretty:
        return CommandResult(report, code)
    from clawperator.device.setup.doctor import report_text

    return TextResult(report_text(report), code)
