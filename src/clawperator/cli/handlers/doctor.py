"""``doctor``: check the host, the device and the Operator."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from clawperator.cli.command_line import Call, CommandResult, HandlerResult, TextResult
from clawperator.cli.parsing import invalid
from clawperator.contract.limits import MAX_EXECUTION_TIMEOUT_MS, MIN_EXECUTION_TIMEOUT_MS


def check(call: Call) -> HandlerResult:
    from contextlib import ExitStack

    from clawperator.device.settings import named_operator
    from clawperator.device.setup.doctor import report_text, run_doctor

    given = call.arguments
    path = given.get("--report")
    with ExitStack() as stack:
        file = None if path is None else stack.enter_context(_open_report(path))
        report = run_doctor(
            call.options.device,
            named_operator(call.options.operator_package),
            full=given.has("--full"),
            fix=given.has("--fix"),
            timeout_ms=_timeout(call),
        )
        if file is not None:
            from msgspec import json

            from clawperator.device.setup.compatibility_report import make_report

            file.write(json.format(json.encode(make_report(report))) + b"\n")
    if path is not None:
        call.console.note(f"compatibility report: {path}")
    code = 0 if report.criticalOk or given.has("--check-only") else 1
    if call.options.pretty:
        return TextResult(report_text(report), code)
    return CommandResult(report, code)


@contextmanager
def _open_report(path: str) -> Iterator[IO[bytes]]:
    """The file of --report, which appears when it is complete. It must be possible to write it."""
    from clawperator._base.files import AtomicFile, file_error

    try:
        with AtomicFile(path, follow_links=False) as target:
            yield target.file
    except (OSError, ValueError) as e:
        hint = "Pass a file in an existing folder to --report, not a link."
        raise file_error("FILESYSTEM_FAILED", "write", path, e, hint=hint) from e


def _timeout(call: Call) -> float:
    """The timeout of the Operator handshake."""
    from clawperator.device.setup.device_checks import HANDSHAKE_MS

    given = call.options.timeout_ms
    if given is not None and not MIN_EXECUTION_TIMEOUT_MS <= given <= MAX_EXECUTION_TIMEOUT_MS:
        limits = f"from {MIN_EXECUTION_TIMEOUT_MS} to {MAX_EXECUTION_TIMEOUT_MS}"
        raise invalid(f"--timeout must be {limits}, not {given}", "Write --timeout 5000.")
    return HANDSHAKE_MS if given is None else given
