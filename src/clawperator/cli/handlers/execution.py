"""``exec``, and running the execution that a command builds."""

import os
from codecs import BOM_UTF8
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from clawperator._base.text import trim
from clawperator._base.typed import decode
from clawperator.cli.command_line import Call, CommandResult
from clawperator.cli.console import read_stdin
from clawperator.cli.parsing import ParsedArguments, help_hint, invalid, usage
from clawperator.commands.model import BACKENDS, BackendName, resolve_handler
from clawperator.contract.execution import Plan, validate, with_timeout
from clawperator.contract.limits import MAX_PAYLOAD_BYTES
from clawperator.errors import ClawError

if TYPE_CHECKING:
    from clawperator.contract.results import ExecutionResult

# A document may contain white space; anything longer cannot become a payload.
_MAX_DOCUMENT_BYTES = 16 * MAX_PAYLOAD_BYTES

_BEST_EFFORT = "best-effort"


def run_command(call: Call) -> CommandResult:
    """Build the execution of a command, then run it or print it."""
    command = call.arguments.command
    assert command is not None
    if call.options.timeout is None and call.name != "exec":
        call = _with_default_timeout(call)
    return run_execution(resolve_handler(command.execution)(call), call)


def _with_default_timeout(call: Call) -> Call:
    from clawperator.device.settings import default_timeout_ms

    limit = default_timeout_ms()
    return call if limit is None else replace(call, options=replace(call.options, timeout=f"{limit}"))


def read_execution(call: Call) -> Any:
    """The document given to ``exec``, which may be any JSON value."""
    words = call.arguments.words
    if words == (_BEST_EFFORT,):
        raise ClawError(
            "NOT_IMPLEMENTED",
            "best-effort execution is not implemented: give the actions explicitly",
            hint=help_hint(call.name),
            extra={"goal": call.arguments.get("--goal")},
        )
    if call.arguments.has("--goal"):
        raise usage("--goal is only for 'exec best-effort'", "Run 'clawperator exec --help' for its flags.")
    given = call.arguments.get("--payload")
    if given is not None and words:
        raise invalid("exec takes its payload once: as an argument or with --payload", "Leave --payload out.")
    text = given if given is not None else next(iter(words), "")
    if not text:
        raise ClawError(
            "MISSING_ARGUMENT",
            "exec needs an execution: JSON, a file, or - for stdin",
            hint="Run 'clawperator exec --help' for an example.",
            operation="argparse",
        )
    document = _document(text)
    return with_timeout(document, call.options.timeout_ms) if isinstance(document, dict) else document


def run_execution(document: Any, call: Call) -> CommandResult:
    """Validate an execution, then run it on the device, or print it for --dry-run and --validate-only."""
    plan = validate(document)
    if call.arguments.has("--evidence"):
        return _run_with_evidence(plan, call)
    if call.arguments.has("--dry-run"):
        return CommandResult({"ok": True, "dryRun": True, "plan": _outline(plan)})
    if call.arguments.has("--validate-only"):
        return CommandResult({"ok": True, "validated": True, "execution": plan.document})
    return _result(plan, call)


def _result(plan: Plan, call: Call) -> CommandResult:
    result = _run(plan, call)
    failed = result.envelope.status == "failed" or any(not step.success for step in result.envelope.stepResults)
    return CommandResult(result, int(failed), plan)


def _run_with_evidence(plan: Plan, call: Call) -> CommandResult:
    from clawperator.cli.evidence import describe_run, refuse_without_run, with_evidence

    refuse_without_run(call.arguments, "--dry-run", "--validate-only")
    about = describe_run(call, plan.document["commandId"], chosen_backend(call.arguments), plan)
    return with_evidence(call, about, lambda: _result(plan, call))


def _run(plan: Plan, call: Call) -> "ExecutionResult":
    from clawperator.device.discovery import resolve_device
    from clawperator.device.run.run import run_plan
    from clawperator.device.settings import named_operator
    from clawperator.policy.gate import approve

    backend = chosen_backend(call.arguments)
    package = named_operator(call.options.operator_package)
    schemes = call.arguments.all("--allow-scheme")
    warn_of_config(call)
    return run_plan(
        approve(plan),
        resolve_device(call.options.device),
        package=package,
        backend=backend,
        allow_schemes=schemes,
        timeout_ms=call.options.timeout_ms,
    )


def warn_of_config(call: Call) -> None:
    """Print the warnings about the user's configuration, for a command that reads it."""
    from clawperator._base.home import config_file

    if not os.path.lexists(config_file()):
        return
    from clawperator._base.config import read_config

    for text in read_config().warnings:
        call.console.warn(text)


def chosen_backend(arguments: ParsedArguments) -> BackendName:
    name = arguments.get("--backend")
    if not name:
        from clawperator.device.settings import default_backend

        return default_backend()
    return next(backend for backend in BACKENDS if backend == name)


def _outline(plan: Plan) -> dict[str, Any]:
    document = plan.document
    return {
        "commandId": document["commandId"],
        "timeoutMs": document["timeoutMs"],
        "actionCount": len(document["actions"]),
        "actions": document["actions"],
    }


def is_payload_file(text: str) -> bool:
    """Whether the argument of ``exec`` names a file: it is neither JSON, nor ``-`` for stdin, nor best-effort."""
    inline = trim(text)
    return (
        text not in ("-", _BEST_EFFORT)
        and not inline.startswith("{")
        and (not inline.startswith("[") or os.path.isfile(text))
    )


def _document(text: str) -> Any:
    """JSON from the argument itself, from stdin, or from the file it names."""
    if not is_payload_file(text) and text != "-":
        return _decode(trim(text), "the payload")
    from clawperator._base.files import read_input, why

    if text == "-":
        return _decode(_within_limit(read_stdin(_MAX_DOCUMENT_BYTES + 1)), "stdin")
    try:
        data = read_input(text, _MAX_DOCUMENT_BYTES + 1)
    except (OSError, ValueError) as e:
        reason = why(e)
        raise invalid(
            f"cannot read {text}: {reason}",
            "Pass an existing file, JSON that begins with {, or - for stdin.",
        ) from e
    return _decode(_within_limit(data), text)


def _within_limit(data: bytes) -> bytes:
    if len(data) > _MAX_DOCUMENT_BYTES:
        raise ClawError(
            "PAYLOAD_TOO_LARGE",
            f"the execution is longer than {_MAX_DOCUMENT_BYTES} bytes",
            details={"limit": MAX_PAYLOAD_BYTES},
            operation="read",
        )
    return data


def _decode(data: bytes | str, origin: str) -> Any:
    try:
        return decode(data if isinstance(data, str) else data.removeprefix(BOM_UTF8))
    except ValueError as e:
        raise invalid(f"{origin} is not valid JSON: {e}", "An execution is a JSON object.") from None
