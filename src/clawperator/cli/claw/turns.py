"""``bootstrap`` and ``turn-loop``: run turns, write their events and report them."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import asdict, replace

from clawperator._base.files import check_links, why
from clawperator._base.typed import given
from clawperator.agent.cancellation import TurnDeadline
from clawperator.agent.confinement import WorkingFolder, is_control_file
from clawperator.agent.sessions.records import Usage, is_session_file, is_session_path
from clawperator.agent.turns.conversation import RunRequest, RunResult, run_request
from clawperator.agent.turns.events import EventStream
from clawperator.agent.turns.results import TurnResult, observe_stop
from clawperator.cli.claw.command_line import acting_options, chosen_session, directory, prints_text, text_of
from clawperator.cli.claw.dispatch import Response, failure, not_found_members
from clawperator.cli.console import ignore_signals, interrupt_on_signals
from clawperator.cli.parsing import ParsedArguments, parse_error
from clawperator.errors import ClawError
from clawperator.operations.turns import BootstrapParams, TurnLoopParams

_HEARTBEAT_SECONDS = 5.0
# How long a full pipe of --events may have no reader.
_READER_SECONDS = 5.0
# The error codes of limits, with --strict.
_LIMITS = {"max_budget_reached": "TURN_BUDGET_REACHED", "max_turns_reached": "SESSION_TURNS_REACHED"}
# The members of a turn in documents.
_TURN_MEMBERS = (
    *("prompt", "output", "stop_reason", "cancel_observed", "matched_commands", "matched_tools", "outcome"),
    *("error_code", "committed", "turn", "permission_denials", "tool_calls", "evidence", "usage", "spent"),
    *("cost_usd", "compacted_turns", "duration_ms"),
)

Params = BootstrapParams | TurnLoopParams


def run_turns(arguments: ParsedArguments, params: Params) -> Response:
    request, beat = _request(arguments, params), _heartbeat(arguments, params)
    call = _Call(arguments, params, request, os.urandom(8).hex(), [])
    return _run(call, beat) if params.evidence is UNSET else _run_with_evidence(call, beat, params.evidence)


def _run_with_evidence(call: "_Call", beat: float, folder: str) -> Response:
    """Run turns and keep their evidence. The captures obey the agent's policy; the document is redacted."""
    from clawperator.agent.envelope import build_envelope
    from clawperator.agent.redaction import Redactor, environment_secrets
    from clawperator.agent.turns.assembly import agent_policy
    from clawperator.cli.evidence import EvidenceRecorder, RunDescription, words_of
    from clawperator.policy.gate import PolicyGate, enforcing

    arguments, options = call.arguments, call.request.options
    about = RunDescription(
        run_id=call.correlation_id,
        command=f"claw {arguments.name}",
        argv=("claw", arguments.name, *words_of(arguments)),
        device=options.device,
        operator_package=options.operator_package,
        backend=options.backend,
    )
    gate = PolicyGate(agent_policy(options))
    recorder = EvidenceRecorder(folder, about)
    with enforcing(gate):
        recorder.before()
    response = _run(call, beat)
    members = {**response.payload, "warnings": list(response.warnings)}
    document = Redactor(environment_secrets()).value(build_envelope(arguments.name, response.exit_code, members))
    interrupted = (response.payload.get("error") or {}).get("code") == "INTERRUPTED"
    text_code = response.text_code if prints_text(arguments) else None
    code = response.exit_code if text_code is None else text_code
    with enforcing(gate):
        recorder.after(document, code, interrupted=interrupted)
    if not recorder.warning:
        return response
    return replace(response, warnings=(*response.warnings, recorder.warning))


def _run(call: "_Call", beat: float) -> Response:
    arguments, request = call.arguments, call.request
    deadline = TurnDeadline(given(call.params.timeout_seconds))
    try:
        with _open_events(call) as events, events.heartbeat(beat), interrupt_on_signals(deadline.cancel):
            result = run_request(request, deadline, events, call.notes, ignore_signals)
        ignore_signals()
    except KeyboardInterrupt:  # before the first turn
        ignore_signals()
        stopped = observe_stop(ended=True)
        error = stopped.error(
            "INTERRUPTED",
            "interrupted before the first turn",
            operation=arguments.name,
            target=request.prompt[:80],
        )
        members = {**_payload(call, None), "cancel_observed": stopped.observed}
        return failure(error, arguments.name, members, warnings=tuple(call.notes))
    except ClawError as e:
        members = {**not_found_members(e, request.session_id), **_payload(call, None)}
        return failure(e, arguments.name, members, warnings=tuple(call.notes))
    return _respond(call, result)


@contextmanager
def _open_events(call: "_Call") -> Iterator[EventStream]:
    """Open the sink of --events: a file or pipe, line by line, or stdout."""
    target, correlation_id = given(call.params.events), call.correlation_id
    if target is None:
        yield EventStream(correlation_id)
    elif target == "-":
        yield EventStream(correlation_id, _to_stdout)
    else:
        try:
            descriptor = _open_to_append(target, call.request.directory)
        except (OSError, ValueError) as e:
            message = f"cannot write events to {target}: {why(e)}"
            hint = "Pass a file in a writable folder, or - for stdout."
            raise ClawError("EVENTS_WRITE_FAILED", message, hint=hint, operation="open", target=target) from e
        try:
            yield EventStream(correlation_id, _to_file(descriptor))
        finally:
            os.close(descriptor)


def _open_to_append(path: str, folder: str) -> int:
    """Open a file for appending. Files that control the agent are refused, and so is a pipe without a reader."""
    if is_session_path(path, folder) or is_session_file(path):
        raise ValueError("it is in a session folder")
    if is_control_file(WorkingFolder(sessions=folder), path):
        raise ValueError("it is a settings file or describes skills")
    check_links(path, os.path.realpath(path))
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK | os.O_CLOEXEC
    return os.open(path, flags, 0o600)


def _to_file(descriptor: int) -> Callable[[bytes], None]:
    def write(line: bytes) -> None:
        while line:
            try:
                line = line[os.write(descriptor, line) :]
            except BlockingIOError:  # a pipe that is full
                _wait_for_reader(descriptor)

    return write


def _wait_for_reader(descriptor: int) -> None:
    import select

    if not select.select([], [descriptor], [], _READER_SECONDS)[1]:
        raise TimeoutError("the pipe has no reader")


def _to_stdout(line: bytes) -> None:
    if sys.stdout is None:
        raise ValueError("stdout is closed")
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


class _Call(Struct, frozen=True):
    """The parts of a call that are known before its first turn."""

    arguments: ParsedArguments
    params: Params
    request: RunRequest
    correlation_id: str
    notes: list[str]


def _request(arguments: ParsedArguments, params: Params) -> RunRequest:
    session_id, resume = chosen_session(params, arguments.name)
    loop = params if isinstance(params, TurnLoopParams) else TurnLoopParams(prompt="", max_turns=1)
    if params.brain == "offline" and params.model is not UNSET:
        raise parse_error("argument --model: the offline brain has no model; add --brain", arguments.name)
    return RunRequest(
        prompt=text_of(params.prompt),
        directory=directory(params, arguments.name),
        options=acting_options(arguments, params),
        params=params,
        loop=loop,
        session_id=session_id,
        resume=resume,
    )


def _heartbeat(arguments: ParsedArguments, params: Params) -> float:
    beat = params.heartbeat_seconds
    if beat is UNSET:
        return _HEARTBEAT_SECONDS
    if params.events is UNSET:
        raise parse_error("argument --heartbeat-seconds: it needs --events", arguments.name)
    if beat < 0:
        raise parse_error(f"argument --heartbeat-seconds: it must not be below 0, not {beat:g}", arguments.name)
    return beat


def _payload(call: _Call, result: RunResult | None) -> dict[str, Any]:
    """The members of a document. Without a run, values are null and lists are empty."""
    request = call.request
    turns = result.turns if result else []
    matches = [msgspec.to_builtins(match) for match in result.matches] if result else []
    path = result.path if result else None
    if isinstance(call.params, BootstrapParams):
        calls = turns[0].tool_calls if turns else ()
        own: dict[str, Any] = {
            "prompt": request.prompt,
            "setup": _setup(),
            "routed_matches": matches,
            "turn": _turn(turns[0], result) if result and turns else None,
            "persisted_session_path": path,
            "limit": call.params.limit,
            "command_execution_messages": [c.message for c in calls if c.name == "run_skill"],
            "tool_execution_messages": [c.message for c in calls if c.name != "run_skill"],
        }
    else:
        last = turns[-1] if turns else None
        own = {
            "prompt": request.prompt,
            "max_turns": call.params.max_turns,
            "turns_completed": len(turns),
            "turns_committed": sum(turn.committed for turn in turns),
            "timeout_seconds": given(call.params.timeout_seconds),
            "continuation_prompt": given(call.params.continuation_prompt),
            "turns": [_turn(turn, result) for turn in turns] if result else [],
            "final_stop_reason": last.stop_reason if last else None,
            "final_cancel_observed": last.cancel_observed if last else False,
            "routed_matches": matches,
            "persisted_session_path": path,
        }
    used = result.usage if result else Usage()
    return {
        **own,
        "session_id": result.session_id if result else request.session_id,
        "correlation_id": call.correlation_id,
        "brain": call.params.brain,
        "permissions": dict(result.policy) if result else None,
        "usage": {**msgspec.to_builtins(used), "cost_usd": result.cost_usd(used) if result else None},
        "mcp_servers": result.mcp_servers if result else [],
    }


def _respond(call: _Call, result: RunResult) -> Response:
    """The exit code is that of the last turn: 2 for a timeout, 1 for an error. A limit is one with --strict."""
    payload, text = _payload(call, result), _text(call, result)
    last = result.turns[-1] if result.turns else None
    error = last.error if last else None
    if error is None and last and call.params.strict and last.stop_reason in _LIMITS:
        error = ClawError(_LIMITS[last.stop_reason], last.output, operation="turn", target=result.session_id)
    warnings = tuple(call.notes)
    if error is None:
        return Response(payload, text, warnings=warnings)
    failed = failure(error, call.arguments.name, payload, warnings=warnings)
    if isinstance(call.params, BootstrapParams) and call.params.quiet:
        return failed
    return replace(failed, text=f"{text}\n{failed.payload['error']['hint']}", to_stderr=False)


def _text(call: _Call, result: RunResult) -> str:
    if isinstance(call.params, BootstrapParams):
        return result.turns[0].output if call.params.quiet else _report(result)
    parts = [f"## Turn {k}\n{turn.output}\n{_stopped(turn)}" for k, turn in enumerate(result.turns, 1)]
    return "\n".join([*parts, *_usage_line(result)]) if parts else "(no turns)"


def _turn(turn: TurnResult, result: RunResult) -> dict[str, Any]:
    code, cost = turn.error.code if turn.error else None, result.cost_usd(turn.spent)
    members = {**asdict(turn), "error_code": code, "cost_usd": cost}
    built: dict[str, Any] = msgspec.to_builtins({name: members[name] for name in _TURN_MEMBERS})
    return built


def _setup() -> dict[str, str]:
    import platform

    return {
        "python_version": platform.python_version(),
        "implementation": platform.python_implementation(),
        "platform_name": sys.platform,
        "test_command": "make test",
    }


def _report(result: RunResult) -> str:
    turn = result.turns[0]
    lines = ["# Bootstrap", "", "## Setup", *(f"- {name}: {value}" for name, value in _setup().items())]
    lines += ["", "## Routed matches"]
    lines += [f"- {match.kind} {match.name} ({match.score:.2f})" for match in result.matches] or ["- none"]
    lines += ["", "## Tools"]
    lines += [f"- {call.name}: {call.message}" for call in turn.tool_calls] or ["- none were called"]
    lines += ["", "## Turn", turn.output, "", _stopped(turn), f"session={result.path or 'not saved'}"]
    return "\n".join([*lines, *_usage_line(result)])


def _usage_line(result: RunResult) -> list[str]:
    """What a model service counted. The offline brain uses none."""
    if result.brain == "offline":
        return []
    used, cost = result.usage, result.cost_usd(result.usage)
    cached = f" ({used.cached_tokens} cached)" if used.cached_tokens else ""
    price = "not known" if cost is None else f"${cost:.6f}".rstrip("0").rstrip(".")
    requests = f"{used.requests} request{'' if used.requests == 1 else 's'}"
    return [f"tokens: {used.input_tokens} input{cached}, {used.output_tokens} output; {requests}; cost {price}"]


def _stopped(turn: TurnResult) -> str:
    return f"stop_reason={turn.stop_reason} outcome={turn.outcome}"
