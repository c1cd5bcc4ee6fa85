"""``recording replay``: replay a recording on a device."""

from typing import TYPE_CHECKING

from clawperator._base.notes import show_status
from clawperator._base.text import printable, read_number
from clawperator.cli.command_line import Call, CommandResult
from clawperator.cli.handlers.execution import chosen_backend
from clawperator.cli.parsing import invalid, usage

if TYPE_CHECKING:
    from collections.abc import Callable

    from clawperator.replay.report import Demonstration
    from clawperator.replay.run import StepOutcome


def replay_recording(call: Call) -> CommandResult:
    source = call.require(call.arguments.get("--input"), "--input <file>")
    last = _last(call.arguments.get("--until"))

    from clawperator.replay.demonstration import open_demonstration, plan_replay

    demonstration = open_demonstration(source)
    if call.arguments.has("--dry-run"):
        for flag in ("--junit", "--evidence"):
            if call.arguments.has(flag):
                raise usage(f"{flag} needs a replay; --dry-run replays nothing", f"Leave {flag} or --dry-run out.")
        plan = plan_replay(demonstration, last=last)
        if not call.options.text:
            call.console.lines("info", [f"[{step.seq}] {printable(step.description)}" for step in plan.steps])
        return _written(call, source, CommandResult(plan, 0))
    if not call.arguments.has("--evidence"):
        return _written(call, source, _reported(call, demonstration, last))
    from clawperator.cli.evidence import describe_run, with_evidence
    from clawperator.contract.execution import new_command_id

    about = describe_run(call, new_command_id("replay-"), chosen_backend(call.arguments))
    return with_evidence(call, about, lambda: _written(call, source, _reported(call, demonstration, last)))


def _reported(call: Call, demonstration: "Demonstration", last: int | float | None) -> CommandResult:
    """Replay the recording, and write the JUnit report if there is to be one."""
    if not call.arguments.has("--junit"):
        return _replay(call, demonstration, last)
    from clawperator.cli.junit import with_report
    from clawperator.cli.junit_suites import ReplaySuite

    suite = ReplaySuite(demonstration.session)
    return with_report(call, lambda: _replay(call, demonstration, last, suite.add), suite.suite)


def _replay(
    call: Call,
    demonstration: "Demonstration",
    last: int | float | None,
    collect: "Callable[[StepOutcome], None] | None" = None,
) -> CommandResult:
    from clawperator.api.phone import ConnectedPhone
    from clawperator.device.discovery import resolve_device
    from clawperator.replay.demonstration import replay

    backend = chosen_backend(call.arguments)
    device = resolve_device(call.options.device)
    phone = ConnectedPhone(device, operator_package=call.options.operator_package, backend=backend)

    def on_step(outcome: "StepOutcome") -> None:
        if collect is not None:
            collect(outcome)
        _show_step(call, outcome)

    report = replay(
        demonstration,
        phone,
        last=last,
        keep_apps=call.arguments.has("--keep-apps"),
        allow_coordinates=call.arguments.has("--allow-coordinates"),
        on_step=on_step,
    )
    return CommandResult(report, 0 if report.ok else 1)


def _show_step(call: Call, outcome: "StepOutcome") -> None:
    """Report a replayed step while the replay runs. In text mode the report has all steps."""
    text = f"[{outcome.step.seq}] {outcome.status} {printable(outcome.step.description)}"
    if call.options.text:
        show_status(f"replay: {text}")
    else:
        call.console.lines("info", [text])


def _last(given: str | None) -> int | float | None:
    if given is None:
        return None
    number = read_number(given)
    if number is None or number < 0:
        raise invalid(
            f"--until must be the seq of an event, not {given!r}", "Give a whole number such as --until 5."
        )
    return number


def _written(call: Call, source: str, result: CommandResult) -> CommandResult:
    """The result, also written to the file of --out."""
    out = call.arguments.get("--out")
    if out:
        from clawperator.recording.writing import open_output, pretty_json

        with open_output(out, source, "RECORDING_REPLAY_FAILED", make_folders=True) as file:
            file.file.write(pretty_json(result.document))
    return result
