"""``recording replay``."""

from typing import Any

from clawperator._text import printable, read_number
from clawperator.cli.handler import Call, Verdict, soft_usage
from clawperator.cli.parsing import invalid, usage


def answer(call: Call) -> Any:
    source = call.arguments.get("--input")
    if not source:
        return soft_usage(f"{call.name} needs --input <file>", hint=f"Run 'clawperator {call.name} --help'.")
    last = _last(call.arguments.get("--until"))

    from clawperator.replay import open_demonstration, plan_replay

    demonstration = open_demonstration(source)
    if call.arguments.has("--dry-run"):
        shown = plan_replay(demonstration, last=last)
        call.console.lines("info", [f"[{step.seq}] {printable(step.description)}" for step in shown.steps])
        return _kept(call, source, Verdict(shown, 0))
    return _kept(call, source, _replayed(call, demonstration, last))


def _replayed(call: Call, demonstration: Any, last: int | float | None) -> Verdict:
    from clawperator.commands.model import BACKENDS
    from clawperator.connection import ConnectedPhone
    from clawperator.device.discovery import resolve
    from clawperator.replay import replay

    wanted = call.arguments.get("--backend") or "auto"
    backend = next((name for name in BACKENDS if name == wanted), None)
    if backend is None:
        raise usage(f"--backend is one of {', '.join(BACKENDS)}, not {wanted!r}")
    device = resolve(call.options.device)
    phone = ConnectedPhone(device, operator_package=call.options.operator_package, backend=backend)
    report = replay(
        demonstration,
        phone,
        last=last,
        allow_coordinates=call.arguments.has("--allow-coordinates"),
        on_step=lambda outcome: call.console.lines(
            "info", [f"[{outcome.step.seq}] {outcome.status} {printable(outcome.step.description)}"]
        ),
    )
    return Verdict(report, 0 if report.ok else 1)


def _last(given: str | None) -> int | float | None:
    if given is None:
        return None
    number = read_number(given)
    if number is None or number < 0:
        raise invalid(f"--until is the seq of an event, not {given!r}")
    return number


def _kept(call: Call, source: str, verdict: Verdict) -> Verdict:
    """The answer, also written to the file that was asked for."""
    out = call.arguments.get("--out")
    if out:
        from clawperator.recording.writing import output, pretty

        with output(out, source, "RECORDING_REPLAY_FAILED", make_folders=True) as file:
            file.file.write(pretty(verdict.document))
    return verdict
