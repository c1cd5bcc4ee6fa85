"""Run a command line of ``clawperator``: find the command, call its handler, print one document."""

import io
import os
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec.structs import replace

from clawperator._base.notes import listening
from clawperator._base.settings import default_output
from clawperator._base.text import encodable
from clawperator.cli.command_line import (
    Call,
    CommandResult,
    GlobalOptions,
    Handler,
    HandlerResult,
    LargeResult,
    ReadableResult,
    StreamedResult,
    TextResult,
    find_named,
    read_arguments,
    requested_output,
    split_globals,
)
from clawperator.cli.console import Console, print_bytes, print_pieces
from clawperator.cli.parsing import help_hint, unknown_flag, usage
from clawperator.commands.model import POLICY_VARIABLE, Command, resolve_handler
from clawperator.commands.registry import GLOBALS
from clawperator.errors import ClawError

# These documents are printed on one line whatever format was requested.
_COMPACT = ("USAGE", "MISSING_ARGUMENT")


def run(argv: list[str]) -> int:
    """Run a command line, print one document or text, and return the exit code."""
    text, code = _run_line(argv, _print_result)
    return code if text is None else print_bytes(text, code)


def render_line(argv: list[str]) -> tuple[bytes | None, int]:
    """Run a command line; its output and exit code. The output is None when it was streamed to stdout."""
    return _run_line(argv)


def render_call(call: Call) -> tuple[bytes | None, int, ClawError | None]:
    """Run a parsed command, as ``render_line`` runs a line. Also returns the error that it raised."""
    return _render_work(lambda: run_call(call), call.options)


# Writes a large document or the text of text mode; its exit code.
_Printer = Callable[[LargeResult | ReadableResult], int]


def _print_result(result: LargeResult | ReadableResult) -> int:
    if isinstance(result, LargeResult):
        return print_pieces(result.write_to, result.exit_code)
    code = result.exit_code
    if result.text is not None:
        code = print_bytes(result.text.encode(), code)
    if result.problem is not None:
        Console("error").write(result.problem + "\n")
    return code


def _run_line(argv: list[str], printer: _Printer | None = None) -> tuple[bytes | None, int]:
    try:
        options, rest = split_globals(argv)
        prints_help = options.help or rest[:1] in ([], ["help"])
        if options.default_output and not prints_help and (chosen := default_output()) != "json":
            options = replace(options, pretty=chosen == "pretty", text=chosen == "text")
    except ClawError as e:
        return _render(CommandResult(e.document(), 1), GlobalOptions(text=_wants_text(argv)), printer)
    text, code, _ = _render_work(lambda: _dispatch(options, rest, argv), options, printer)
    return text, code


def _wants_text(argv: list[str]) -> bool:
    """Whether the error of a command line that cannot be parsed is printed as text."""
    chosen = requested_output(argv)
    if chosen is not None:
        return chosen == "text"
    try:
        return default_output() == "text"
    except ClawError:
        return False


def _render_work(
    work: Callable[[], HandlerResult], options: GlobalOptions, printer: _Printer | None = None
) -> tuple[bytes | None, int, ClawError | None]:
    try:
        return (*_render(work(), options, printer), None)
    except ClawError as e:
        error, code = e, 1
    except KeyboardInterrupt:
        error, code = _interrupted(), 130
    except Exception as e:  # noqa: BLE001 - the outermost frame reports every error as a document
        Console(options.log_level).lines("debug", [_trace()])
        hint = "Run again with --verbose for the trace, and report it."
        error, code = ClawError("UNKNOWN", f"{type(e).__name__}: {e}", hint=hint), 1
    if options.text:
        from clawperator.cli.text.render import readable_error

        return (*_render(readable_error(error, code), options, printer), error)
    return (*_render(CommandResult(error.document(), code), options), error)


def _interrupted() -> ClawError:
    """The error of an interrupt, with what a device may still run."""
    from clawperator.device.run.running import still_running

    running = still_running()
    if not running:
        return ClawError("INTERRUPTED", "interrupted from the keyboard")
    return ClawError(
        "INTERRUPTED",
        f"interrupted from the keyboard; {'; '.join(execution.describe() for execution in running)}",
        hint="The next command for this device waits until it has finished.",
        details={"running": [msgspec.to_builtins(execution) for execution in running]},
        after_effect=True,
    )


def _dispatch(options: GlobalOptions, rest: list[str], argv: list[str]) -> HandlerResult:
    if not argv or options.help:
        from clawperator.cli.help import help_text

        return TextResult(help_text(rest[1:] if rest[:1] == ["help"] else rest))
    if not rest:
        raise usage("clawperator needs a command", help_hint(""))
    if rest[0].startswith("-"):
        raise unknown_flag(rest[0], "", (), GLOBALS)
    command, subcommand = find_named(rest)
    if not command.subcommands:
        return _call(command, command.name, rest[1:], options)
    if subcommand is None:
        names = ", ".join(one.name for one in command.subcommands)
        raise usage(f"{command.name} needs a subcommand: {names}", help_hint(command.name))
    return _call(subcommand, f"{command.name} {subcommand.name}", rest[2:], options)


def _call(command: Command, name: str, tokens: list[str], options: GlobalOptions) -> HandlerResult:
    console = Console(options.log_level)
    arguments = read_arguments(command, tokens, name)
    if POLICY_VARIABLE in os.environ and not command.is_operation:  # started by a claw: its policy holds here too
        from clawperator.policy.commands import command_entry
        from clawperator.policy.gate import check_calls

        check_calls([(command_entry(command, name, arguments.words, arguments.values), {})])
    call = Call(name, arguments, options, console)
    try:
        with listening(None if options.json else console.note, _tracer(console), console.show_status):
            result = run_call(call)
    finally:
        console.erase_status()
    return _readable(result, call) if options.text else result


def _readable(result: HandlerResult, call: Call | None) -> HandlerResult:
    """The result as text for people, unless it is text already."""
    if not isinstance(result, CommandResult):
        return result
    from clawperator.cli.text.render import readable_result

    return readable_result(result, call)


def _tracer(console: Console) -> Callable[[str], None] | None:
    """Writes what happens, with the time since the start, to stderr and to the host log, if --verbose is given."""
    if not console.is_enabled("debug"):
        return None
    from time import monotonic

    from clawperator._base.deadline import BEGAN
    from clawperator.device.run.host_log import log_event

    def write(text: str) -> None:
        elapsed = round((monotonic() - BEGAN) * 1000)
        console.lines("debug", [f"clawperator: +{elapsed} ms {text}"])
        log_event("trace", text, level="debug", elapsedMs=elapsed)

    return write


def run_call(call: Call) -> HandlerResult:
    """Run the handler of a parsed command, within --timeout if it is given."""
    assert call.arguments.command is not None
    handler: Handler = resolve_handler(call.arguments.command.handler)
    if call.options.timeout is None:
        return handler(call)

    from clawperator.cli.time_limit import time_limit

    with time_limit(_number(call.options)):
        return handler(call)


def _number(options: GlobalOptions) -> float:
    """The timeout in ms; 0 when it is invalid, which the handler reports."""
    try:
        return options.timeout_ms or 0
    except ClawError:
        return 0


def _render(
    result: HandlerResult, options: GlobalOptions, printer: _Printer | None = None
) -> tuple[bytes | None, int]:
    if isinstance(result, StreamedResult):
        return None, 0
    if options.text:
        result = _readable(result, None)
    if isinstance(result, LargeResult | ReadableResult) and printer is not None:
        return None, printer(result)
    if isinstance(result, ReadableResult):
        return (result.text or "").encode(), result.exit_code
    if isinstance(result, LargeResult):
        collected = io.BytesIO()
        result.write_to(collected)
        return collected.getvalue(), result.exit_code
    if isinstance(result, TextResult):
        return result.text.encode("utf-8", "replace"), result.exit_code
    assert isinstance(result, CommandResult)
    return _encode(result.document, options), result.exit_code


def _encode(document: Any, options: GlobalOptions) -> bytes:
    try:
        text = msgspec.json.encode(document)
    except UnicodeEncodeError:  # a file name or argument that is not text
        text = msgspec.json.encode(encodable(msgspec.to_builtins(document)))
    if options.pretty and not (isinstance(document, dict) and document.get("code") in _COMPACT):
        return msgspec.json.format(text, indent=2)
    return text


def _trace() -> str:
    import traceback

    return traceback.format_exc()
