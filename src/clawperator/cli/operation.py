"""Commands that are operations: flags and words into parameters, the user as the caller, the result as output."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from clawperator._base.notes import show_status
from clawperator._base.text import encodable, is_blank, printable, read_number
from clawperator._base.typed import convert
from clawperator.cli.command_line import Call, CommandResult, HandlerResult, LargeResult
from clawperator.cli.console import Progress
from clawperator.cli.parsing import ParsedArguments, help_hint, invalid, usage
from clawperator.commands.model import BackendName, resolve_handler
from clawperator.operations.call import CLI, Caller, approve
from clawperator.operations.model import Operation, ParamField, Params, find_operation

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
        value = _value(field, line.arguments, words, hint)
        if value is UNSET and field.use.names_device:
            value = line.options.device or UNSET
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
        from clawperator.contract.issues import struct_issues

        issue = struct_issues(operation.params, encodable(given), "")[0]
        name = issue.path.partition(".")[0].partition("[")[0]
        field = next(field for field in operation.fields if field.name == name)
        raise usage(f"{CLI.spell(field)}: {issue.message}", hint) from None


def _value(field: ParamField, arguments: ParsedArguments, words: list[str], hint: str) -> Any:
    """The value of a field on the line; ``UNSET`` when it is not given. Takes it from the remaining words."""
    if field.is_switch:
        return True if arguments.has(field.flag) else UNSET
    texts = arguments.all(field.flag) if field.has_flag else ()
    if field.use.word and not texts:
        count = len(words) if field.is_list else 1
        texts = tuple(words[:count])
        del words[:count]
    if field.is_mapping and texts:
        return {name: setting or "on" for name, _, setting in (text.partition("=") for text in texts)}
    if field.is_list and texts:
        return list(texts)
    if not texts:
        return UNSET
    text = texts[-1]
    number = read_number(text) if field.takes_number else None
    if number is None and field.type in (int, float):
        raise usage(f"{CLI.spell(field)} must be a number, not {text!r}", hint)
    return text if number is None else number


# The caller


def user_caller(line: Call) -> Caller:
    """The user at a command line, who may name any path."""
    text = line.options.text
    caller = Caller(
        entry=CLI,
        warn=line.console.warn,
        lines=lambda lines: None if text else line.console.lines("info", map(printable, lines)),
        is_terminal=line.console.is_terminal,
        meter=lambda: _meter(line),
        on_step=lambda outcome: show_step(line, outcome),
    )
    return with_options(caller, line)


def with_options(caller: Caller, line: Call) -> Caller:
    """The caller with the device and settings that the line itself names."""
    options, timeout = line.options, line.options.timeout_ms
    if timeout is not None and not 0 < timeout <= _LONGEST_MS:
        limits = f"--timeout must be more than 0 and at most {_LONGEST_MS}, not {timeout}"
        raise invalid(limits, "Write for example --timeout 60000.")
    return replace(
        caller,
        entry=CLI,
        device=options.device or caller.device,
        operator_package=options.operator_package or caller.operator_package,
        backend=_backend(line) or caller.backend,
        timeout_ms=caller.timeout_ms if timeout is None else timeout,
    )


def _backend(line: Call) -> BackendName | None:
    if not line.arguments.has("--backend"):
        return None
    from clawperator.cli.handlers.execution import chosen_backend

    return chosen_backend(line.arguments)


@contextmanager
def _meter(line: Call) -> Iterator[Progress | None]:
    """A progress meter, if one is shown."""
    meter = line.console.progress(line.name)
    try:
        yield meter
    finally:
        if meter:
            meter.done()


def show_step(line: Call, outcome: Any) -> None:
    """Report a replayed step while the replay runs. In text mode the report has all steps."""
    text = f"[{outcome.step.seq}] {outcome.status} {printable(outcome.step.description)}"
    if line.options.text:
        show_status(f"replay: {text}")
    else:
        line.console.lines("info", [text])
