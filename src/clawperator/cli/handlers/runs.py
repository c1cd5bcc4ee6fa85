"""What a command line does around ``recording replay`` and ``skills run``.

A banner and the output as it comes; ``--junit`` and ``--evidence``.
"""

import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Literal

from msgspec import UNSET
from msgspec.structs import replace

from clawperator._base.deadline import Deadline
from clawperator.cli.actions import warn_of_config
from clawperator.cli.command_line import Call, CommandResult
from clawperator.cli.console import interrupt_on_signals
from clawperator.cli.operation import output_of
from clawperator.operations.call import ApprovedCall, Caller


def replay(line: Call, approved: ApprovedCall, caller: Caller) -> CommandResult:
    """Replay a recording, and keep its evidence and its JUnit report if they are asked for."""
    return _keeping_evidence(line, approved, caller, "replay-", lambda: _reported_replay(line, approved, caller))


def _reported_replay(line: Call, approved: ApprovedCall, caller: Caller) -> CommandResult:
    if approved.params.junit is UNSET:
        return _run(line, approved, caller)
    from clawperator.cli.junit import ReplaySuite, with_report
    from clawperator.replay.demonstration import open_demonstration

    suite = ReplaySuite(open_demonstration(approved.params.input).session)

    def on_step(outcome: Any) -> None:
        suite.add(outcome)
        caller.on_step(outcome)

    own = replace(caller, on_step=on_step)
    return with_report(line, lambda: _run(line, approved, own), suite.suite, approved.params.junit)


def _run(line: Call, approved: ApprovedCall, caller: Caller) -> CommandResult:
    result = output_of(line, approved.operation, approved.run(caller))
    assert isinstance(result, CommandResult)
    return result


def _keeping_evidence(
    line: Call, approved: ApprovedCall, caller: Caller, kind: str, run: Callable[[], CommandResult]
) -> CommandResult:
    """Run, and keep the evidence if ``--evidence`` is given. The id of the run begins with its ``kind``."""
    if approved.params.evidence is UNSET:
        return run()
    from clawperator.cli.evidence import describe_run, with_evidence
    from clawperator.contract.execution import new_command_id
    from clawperator.device.settings import default_backend

    about = describe_run(line, new_command_id(kind), caller.backend or default_backend())
    return with_evidence(line, about, run, approved.params.evidence)


def run_skill(line: Call, approved: ApprovedCall, caller: Caller) -> CommandResult:
    """Run a skill, and keep its evidence and its JUnit report if they are asked for."""
    params = approved.params
    warn_of_config(line)
    if line.options.pretty or line.options.text:
        from clawperator import __version__
        from clawperator.device.run.host_log import log_file

        banner = f"clawperator {__version__}: running {params.skill}; log: {log_file()}"
        line.console.lines("info", [banner, _operator_line(caller.device, caller.operator_package)])
    if line.options.pretty:
        caller = replace(caller, on_output=_relay)
    if line.caller is None:  # --timeout is that of the skill: what comes before it does not count
        caller = replace(caller, deadline=Deadline(None))

    def reported() -> CommandResult:
        if params.junit is UNSET:
            return _run(line, approved, caller)
        from datetime import UTC, datetime

        from clawperator.cli.junit import skill_run_suite, with_report

        suite = partial(skill_run_suite, params.skill, caller.device, datetime.now(UTC))
        return with_report(line, lambda: _run(line, approved, caller), suite, params.junit)

    with interrupt_on_signals():
        return _keeping_evidence(line, approved, caller, "skill-", reported)


def _operator_line(serial: str | None, named: str | None) -> str:
    """A line about the Operator on the device. Errors are part of the line, never raised."""
    from clawperator.contract.wire import OPERATOR_PACKAGE
    from clawperator.device.discovery import known_device
    from clawperator.device.settings import find_operator, named_operator
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
