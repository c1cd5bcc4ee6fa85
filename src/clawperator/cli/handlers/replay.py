"""The reports of ``recording replay``: ``--junit`` and ``--evidence``."""

from collections.abc import Callable
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from clawperator.cli.command_line import Call, CommandResult
from clawperator.cli.operation import output_of
from clawperator.operations.call import ApprovedCall, Caller


def with_reports(line: Call, approved: ApprovedCall, caller: Caller) -> CommandResult:
    """Replay a recording, and keep its evidence and its JUnit report if they are asked for."""
    return keeping_evidence(line, approved, caller, "replay-", lambda: _reported(line, approved, caller))


def keeping_evidence(
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


def _reported(line: Call, approved: ApprovedCall, caller: Caller) -> CommandResult:
    def run(caller: Caller) -> CommandResult:
        result = output_of(line, approved.operation, approved.run(caller))
        assert isinstance(result, CommandResult)
        return result

    if approved.params.junit is UNSET:
        return run(caller)
    from clawperator.cli.junit import with_report
    from clawperator.cli.junit_suites import ReplaySuite
    from clawperator.replay.demonstration import open_demonstration

    suite = ReplaySuite(open_demonstration(approved.params.input).session)

    def on_step(outcome: Any) -> None:
        suite.add(outcome)
        caller.on_step(outcome)

    return with_report(line, lambda: run(replace(caller, on_step=on_step)), suite.suite, approved.params.junit)
