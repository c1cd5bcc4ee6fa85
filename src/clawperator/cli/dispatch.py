"""Run a command line of ``clawperator``: find the command, call its handler, print one document."""

import io
from collections.abc import Callable
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from clawperator._base.config import default_output
from clawperator._base.notes import listening
from clawperator._base.typed import encode_document
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
from clawperator.cli.parsing import early_flag, help_hint, usage
from clawperator.contract.commands import Command, resolve_handler
from clawperator.errors import ClawError

# These documents are printed on one line whatever format was requested.
_COMPACT = ("USAGE", "MISSING_ARGUMENT")
T = TypeVar("T")


def run(argv: list[str]) -> int:
    """Run a command line, print one document or text, and return the exit code."""
    try:
        options, rest = split_globals(argv)
        prints_help = options.help or rest[:1] in ([], ["help"])
        if options.default_output and not prints_help and (chosen := default_output()) != "json":
            options = replace(options, pretty=chosen == "pretty", text=chosen == "text")
    except ClawError as e:
        return _print(CommandResult(e.document(), 1), GlobalOptions(text=_wants_text(argv)))
    return _finish(lambda: _dispatch(options, rest, argv), options, _print)[0]


def render_call(call: Call) -> tuple[bytes, int, ClawError | None]:
    """Run a parsed command; its output and exit code, and the error that it raised."""
    (text, code), error = _finish(lambda: run_call(call), call.options, _render)
    return text, code, error


def _wants_text(argv: list[str]) -> bool:
    """Whether the error of a command line that cannot be parsed is printed as text."""
    chosen = requested_output(argv)
    if chosen is not None:
        return chosen == "text"
    try:
        return default_output() == "text"
    except ClawError:
        return False


def _finish(
    work: Callable[[], HandlerResult], options: GlobalOptions, report: Callable[[HandlerResult, GlobalOptions], T]
) -> tuple[T, ClawError | None]:
    """Do the work and report its result, or the error that either of them raises."""
    try:
        return report(work(), options), None
    except ClawError as e:
        error, code = e, 1
    except KeyboardInterrupt:
        error, code = _interrupted(), 130
    except Exception as e:  # noqa: BLE001 - the outermost frame reports every error as a document
        import traceback

        Console(options.log_level).lines("debug", [traceback.format_exc()])
        hint = "Run again with --verbose for the trace, and report it."
        error, code = ClawError("UNKNOWN", f"{type(e).__name__}: {e}", hint=hint), 1
    if options.text:
        from clawperator.cli.text.render import readable_error

        return report(readable_error(error, code), options), error
    return report(CommandResult(error.document(), code), options), error


def _interrupted() -> ClawError:
    """The error of an interrupt, with what a device may still run."""
    from clawperator.device.run.running import still_running

    running = still_running()
    if not running:
        return ClawError("INTERRUPTED", "interrupted from the keyboard")
    message = f"interrupted from the keyboard; {'; '.join(execution.describe() for execution in running)}"
    hint = "The next command for this device waits until it has finished."
    details = {"running": msgspec.to_builtins(running)}
    return ClawError("INTERRUPTED", message, hint=hint, details=details, after_effect=True)


def _dispatch(options: GlobalOptions, rest: list[str], argv: list[str]) -> HandlerResult:
    if not argv or options.help:
        from clawperator.cli.help import help_text

        return TextResult(help_text(rest[1:] if rest[:1] == ["help"] else rest))
    if not rest:
        raise usage("clawperator needs a command", help_hint(""))
    if rest[0].startswith("-"):
        raise early_flag(rest)
    command, subcommand = find_named(rest)
    if not command.family:
        return _call(command, command.name, rest[1:], options)
    if subcommand is None:
        names = ", ".join(one.name for one in command.subcommands)
        raise usage(f"{command.name} needs a subcommand: {names}", help_hint(command.name))
    return _call(subcommand, f"{command.name} {subcommand.name}", rest[2:], options)


def _call(command: Command, name: str, tokens: list[str], options: GlobalOptions) -> HandlerResult:
    console = Console(options.log_level)
    arguments = read_arguments(command, tokens, name, options)
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

    try:
        limit = call.options.timeout_ms or 0
    except ClawError:  # it is invalid, which the handler reports
        limit = 0
    with time_limit(limit):
        return handler(call)


def _print(result: HandlerResult, options: GlobalOptions) -> int:
    """Print a result; its exit code. A large document is written in pieces, the error of text mode to stderr."""
    if options.text:
        result = _readable(result, None)
    if isinstance(result, LargeResult):
        return print_pieces(result.write_to, result.exit_code)
    if isinstance(result, ReadableResult):
        code = result.exit_code
        if result.text is not None:
            code = print_bytes(result.text.encode(), code)
        if result.problem is not None:
            Console("error").write(result.problem + "\n")
        return code
    return 0 if isinstance(result, StreamedResult) else print_bytes(*_render(result, options))


def _render(result: HandlerResult, options: GlobalOptions) -> tuple[bytes, int]:
    """The output of a result, and its exit code. Nothing is left of what was streamed."""
    if isinstance(result, StreamedResult):
        return b"", 0
    if isinstance(result, LargeResult):
        collected = io.BytesIO()
        result.write_to(collected)
        return collected.getvalue(), result.exit_code
    if isinstance(result, TextResult):
        return result.text.encode("utf-8", "replace"), result.exit_code
    assert isinstance(result, CommandResult)
    document, text = result.document, encode_document(result.document)
    if options.pretty and not (isinstance(document, dict) and document.get("code") in _COMPACT):
        text = msgspec.json.format(text, indent=2)
    return text, result.exit_code
