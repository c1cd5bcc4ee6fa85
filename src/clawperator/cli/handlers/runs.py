"""What a command line does around ``skills run``: a banner, the output as it comes, and reports."""

import sys
from contextlib import suppress
from typing import Literal

from msgspec import UNSET
from msgspec.structs import replace

from clawperator._base.deadline import Deadline
from clawperator.cli.command_line import Call, CommandResult
from clawperator.cli.handlers.execution import warn_of_config
from clawperator.cli.handlers.replay import keeping_evidence
from clawperator.cli.operation import output_of
from clawperator.cli.signals import interrupt_on_signals
from clawperator.operations.call import ApprovedCall, Caller


def run(line: Call, approved: ApprovedCall, caller: Caller) -> CommandResult:
    """Run a skill, and keep its evidence and its JUnit report if they are asked for."""
    params = approved.params
    warn_of_config(line)
    if line.options.pretty or line.options.text:
        about_operator = _operator_line(caller.device, caller.operator_package)
        line.console.lines("info", [_banner(params.skill), about_operator])
    if line.options.pretty:
        caller = replace(caller, on_output=_relay)
    if line.caller is None:  # --timeout is that of the skill: what comes before it does not count
        caller = replace(caller, deadline=Deadline(None))

    def start() -> CommandResult:
        result = output_of(line, approved.operation, approved.run(caller))
        assert isinstance(result, CommandResult)
        return result

    def reported() -> CommandResult:
        if params.junit is UNSET:
            return start()
        from clawperator.cli.junit import with_report
        from clawperator.cli.junit_suites import SkillRunSuite

        return with_report(line, start, SkillRunSuite(params.skill, caller.device).suite, params.junit)

    with interrupt_on_signals():
        return keeping_evidence(line, approved, caller, "skill-", reported)


def _banner(skill_id: str) -> str:
    from clawperator import __version__
    from clawperator.device.run.host_log import log_file

    return f"clawperator {__version__}: running {skill_id}; log: {log_file()}"


def _operator_line(serial: str | None, named: str | None) -> str:
    """A line about the Operator on the device. Errors are part of the line, never raised."""
    from clawperator.contract.wire import OPERATOR_PACKAGE
    from clawperator.device.discovery import known_device
    from clawperator.device.operators import find_operator
    from clawperator.device.settings import named_operator
    from clawperator.device.setup.version_check import probe_compatibility
    from clawperator.errors import ClawError

    named = named_operator(named)
    package = named or OPERATOR_PACKAGE
    try:
        device = known_device(serial)
    except ClawError as e:
        return f"Operator {package}: {e.message}"
    if device is None:
        return f"Operator {package}: the skill chooses its device"
    package = find_operator(device, named)
    found = probe_compatibility(device, package)
    if found.error:
        return f"Operator {package} on {device.serial}: {found.error.message}"
    return f"Operator {package} on {device.serial}: version {found.apkVersion}"


def _relay(stream: Literal["stdout", "stderr"], data: bytes) -> None:
    """Copy the output of a running skill to ours. A closed stream is ignored."""
    target = sys.stdout if stream == "stdout" else sys.stderr
    with suppress(OSError, ValueError, AttributeError):
        target.buffer.write(data)
        target.buffer.flush()
