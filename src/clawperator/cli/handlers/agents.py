"""``agents init``: print the instructions for agents, or add them to a file."""

import errno
import os

from clawperator._base.files import AtomicFile, file_error, is_inside, open_regular
from clawperator.agent.instructions import (
    INSTRUCTION_FORMATS,
    InstructionFormat,
    agent_instructions,
    merge_section,
)
from clawperator.cli.command_line import Call, CommandResult, TextResult
from clawperator.cli.parsing import usage

_MOST_BYTES = 1_000_000


def init(call: Call) -> CommandResult | TextResult:
    named = call.arguments.get("--form") or INSTRUCTION_FORMATS[0]
    form = next(form for form in INSTRUCTION_FORMATS if form == named)
    path = call.arguments.get("--write")
    if path is not None:
        return CommandResult(_write(path, form))
    text = agent_instructions(form)
    return (
        CommandResult({"format": form, "text": text}) if call.options.json else TextResult(text.removesuffix("\n"))
    )


def _write(path: str, form: InstructionFormat) -> dict[str, object]:
    """Add the section to the file, or replace the one that is there. Other text stays as it is."""
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
