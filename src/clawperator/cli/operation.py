"""Commands that are operations: flags and words into parameters, the user as the caller, the result as output."""

from typing import Any

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from clawperator._base.notes import show_status
from clawperator._base.text import encodable, is_blank, printable
from clawperator._base.typed import convert
from clawperator.cli.command_line import Call, CommandResult, HandlerResult, LargeResult
from clawperator.cli.parsing import choice_hint, help_hint, invalid, not_a_choice, usage
from clawperator.contract.commands import BACKENDS, resolve_handler
from clawperator.contract.fields import read_field
from clawperator.errors import ClawError
from clawperator.operations.call import CLI, Caller, approve
from clawperator.operations.model import Operation, Params, find_operation

_LONGEST_MS = 24 * 3_600_000


def run_operation(line: Call) -> HandlerResult:
    """Run the operation that a command line names."""
    operation = find_operation(line.name)
    params = read_params(operation, line)
    caller = line.caller or user_caller(line)
    approved = approve(operation, params, caller)
    if operation.around:
        result: HandlerResult = resolve_handler(operation.around)(line, approved, caller)
        return result
    return output_of(line, operation, approved.run(caller))


def output_of(line: Call, operation: Operation, result: Any) -> HandlerResult:
    """The output of a result, and its exit code. A large one is written in pieces."""
    code = 0 if operation.ok(result) else 1
    if not hasattr(result, "write_to"):
        return CommandResult(result, code)
    if not line.options.text:
        return LargeResult(lambda file: result.write_to(file, pretty=line.options.pretty), code)
    if isinstance(result, Struct):
        return CommandResult(result, code)
    from clawperator.cli.text.render import write_lines

    return LargeResult(lambda file: write_lines(file, resolve_handler(operation.text)(result)), code)


# Parameters


def read_params(operation: Operation, line: Call) -> Params:
    """The parameters of a command line. ``USAGE`` names the flags that are missing, or the one that is wrong."""
    hint = help_hint(operation.name)
    given: dict[str, Any] = {}
    missing = []
    words = list(line.arguments.words)  # a word that is given by its flag leaves them to the fields after it
    for field in operation.fields:
        value = read_field(field, line.arguments.values.get(field.flag) if field.has_flag else None, words)
        if isinstance(value, str) and field.type in (int, float):
            raise usage(f"{CLI.spell(field)} must be a number, not {value!r}", hint)
        if isinstance(value, str) and field.choices and value not in field.choices:
            name = field.metavar if field.choices[1:] else "the argument"
            raise usage(
                not_a_choice(name, field.choices, value), choice_hint(field.choices, value, operation.name)
            )
        if field.use.names_device and line.options.device:
            value = _named_device(value, line.options.device, hint)
        if value is not UNSET and not (field.required and isinstance(value, str) and is_blank(value)):
            given[field.name] = value
        elif field.required:
            missing.append(field.metavar if field.use.word else f"{field.flag} {field.metavar}")
    if missing:
        raise usage(f"{operation.name} needs {' and '.join(missing)}", hint)
    if words:
        twice = next(field for field in operation.fields if field.use.word and field.has_flag)
        raise usage(f"give {twice.metavar} once: as an argument or with {twice.flag}", hint)
    try:
        return convert(given, operation.params)
    except (msgspec.ValidationError, UnicodeEncodeError):
        raise _invalid_value(operation, given) from None


def _invalid_value(operation: Operation, given: dict[str, Any]) -> ClawError:
    """``USAGE`` about the first value that a field does not accept, with what it accepts."""
    from clawperator.contract.issues import struct_issues, value_hint

    issue = struct_issues(operation.params, encodable(given), "")[0]
    name = issue.path.partition(".")[0].partition("[")[0]
    field = next(field for field in operation.fields if field.name == name)
    spelled = CLI.spell(field)
    hint = value_hint(operation.params, name, spelled)
    if hint and field.default and isinstance(field.default, str):
        hint = f"{hint.removesuffix('.')}, such as {field.default}."
    return usage(f"{spelled}: {issue.message}", hint or help_hint(operation.name))


def _named_device(word: Any, device: str, hint: str) -> str:
    """The device that a line names by --device, and perhaps by a word as well."""
    if word not in (UNSET, device):
        raise usage(f"{device} of --device and {word} are two devices", hint)
    return device


# The caller


def user_caller(line: Call) -> Caller:
    """The user at a command line, who may name any path."""
    text = line.options.text
    caller = Caller(
        entry=CLI,
        warn=line.console.warn,
        lines=lambda lines: None if text else line.console.lines("info", map(printable, lines)),
        is_terminal=line.console.is_terminal,
        meter=lambda: line.console.progress(line.name),
        on_step=lambda outcome: show_step(line, outcome),
    )
    return with_options(caller, line)


def with_options(caller: Caller, line: Call) -> Caller:
    """The caller with the device and settings that the line itself names."""
    options, timeout = line.options, line.options.timeout_ms
    if timeout is not None and not 0 < timeout <= _LONGEST_MS:
        limits = f"--timeout must be more than 0 and at most {_LONGEST_MS}, not {timeout}"
        raise invalid(limits, "Write for example --timeout 60000.")
    named = line.arguments.get("--backend")
    return replace(
        caller,
        entry=CLI,
        device=options.device or caller.device,
        operator_package=options.operator_package or caller.operator_package,
        backend=next((backend for backend in BACKENDS if backend == named), caller.backend),
        timeout_ms=caller.timeout_ms if timeout is None else timeout,
    )


def show_step(line: Call, outcome: Any) -> None:
    """Report a replayed step while the replay runs. In text mode the report has all steps."""
    text = f"[{outcome.step.seq}] {outcome.status} {printable(outcome.step.description)}"
    if line.options.text:
        show_status(f"replay: {text}")
    else:
        line.console.lines("info", [text])
