"""The exit code and the readable report of ``doctor``."""

from clawperator.cli.command_line import Call, CommandResult, HandlerResult, TextResult
from clawperator.operations.call import ApprovedCall, Caller


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
