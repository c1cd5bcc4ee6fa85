"""``doctor``: check the host, the device and the Operator."""

from clawperator.cli.command_line import Call, CommandResult, HandlerResult, TextResult
from clawperator.cli.parsing import invalid
from clawperator.contract.limits import MAX_EXECUTION_TIMEOUT_MS, MIN_EXECUTION_TIMEOUT_MS


def check(call: Call) -> HandlerResult:
    from clawperator.device import named_operator, report_text, run_doctor

    given = call.arguments
    report = run_doctor(
        call.options.device,
        named_operator(call.options.operator_package),
        full=given.has("--full"),
        fix=given.has("--fix"),
        timeout_ms=_timeout(call),
    )
    code = 0 if report.criticalOk or given.has("--check-only") else 1
    if call.options.pretty:
        return TextResult(report_text(report), code)
    return CommandResult(report, code)


def _timeout(call: Call) -> float:
    """The timeout of the Operator handshake."""
    from clawperator.device import HANDSHAKE_MS

    given = call.options.timeout_ms
    if given is not None and not MIN_EXECUTION_TIMEOUT_MS <= given <= MAX_EXECUTION_TIMEOUT_MS:
        limits = f"from {MIN_EXECUTION_TIMEOUT_MS} to {MAX_EXECUTION_TIMEOUT_MS}"
        raise invalid(f"--timeout must be {limits}, not {given}", "Write --timeout 5000.")
    return HANDSHAKE_MS if given is None else given
