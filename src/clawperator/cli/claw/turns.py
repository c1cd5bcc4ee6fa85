"""``bootstrap`` and ``turn-loop``."""

import os
import sys
from typing import Any

import msgspec
from msgspec import Struct

from clawperator.agent.cancellation import TurnDeadline
from clawperator.agent.envelope import error_object
from clawperator.agent.ports import Usage
from clawperator.agent.turns.conversation import BRAINS, RunRequest, RunResult, run_request
from clawperator.agent.turns.results import TurnResult
from clawperator.cli.claw.event_sinks import open_events
from clawperator.cli.claw.inputs import chosen_session, directory, text_of
from clawperator.cli.claw.options import choices
from clawperator.cli.claw.parsing import Read, parse_error
from clawperator.cli.claw.response import Told, absent, failure
from clawperator.cli.claw.signals import hold_requests
from clawperator.cli.signals import ended_with_us
from clawperator.errors import ClawError

_HEARTBEAT_SECONDS = 5.0
# So long is waited for somebody who reads events from a pipe.
_LOOP_TURNS = 3
# What a limit is called when it counts as an error.
_LIMITS = {"max_budget_reached": "TURN_BUDGET_REACHED", "max_turns_reached": "SESSION_TURNS_REACHED"}


def answer(asked: Read) -> Told:
    request, beat, limit = _order(asked), _heartbeat(asked), asked.seconds("--timeout-seconds")
    call, deadline = _Call(asked, request, limit, os.urandom(8).hex(), []), TurnDeadline(limit)
    try:
        with (
            open_events(asked, call.correlation_id) as events,
            events.heartbeat(beat),
            ended_with_us(deadline.cancel),
        ):
            held = run_request(request, deadline, events, call.notes, hold_requests)
        hold_requests()
    except ClawError as e:
        told = _payload(call, None)
        found = absent(e, request.session_id)
        return failure(e, asked.name, {**found, **told}, warnings=tuple(call.notes))
    return _told(call, held)


class _Call(Struct, frozen=True):
    """What is known of a call before its first turn."""

    asked: Read
    request: RunRequest
    timeout_seconds: float | None
    correlation_id: str
    notes: list[str]


def _order(asked: Read) -> RunRequest:
    session_id, resume = chosen_session(asked)
    is_loop = asked.name == "turn-loop"
    brain = asked.choice("--brain", BRAINS, "offline")
    if brain == "offline" and asked.has("--model"):
        raise parse_error("argument --model: the offline brain has none; add --brain", asked.name)
    limits = ("--max-session-turns", "--max-budget-tokens", "--max-steps")
    session_turns, budget, steps = (asked.whole(f, 0) if asked.has(f) else None for f in limits)
    return RunRequest(
        prompt=text_of(asked.words[0]),
        directory=directory(asked),
        options=choices(asked),
        limit=asked.whole("--limit", 5),
        session_id=session_id,
        resume=resume,
        brain=brain,
        model=asked.get("--model"),
        turns=max(asked.whole("--max-turns", _LOOP_TURNS, least=None), 0) if is_loop else 1,
        continuation=asked.get("--continuation-prompt"),
        session_turns=session_turns,
        budget=budget,
        steps=steps,
        structured=asked.has("--structured-output"),
    )


def _heartbeat(asked: Read) -> float:
    given = asked.seconds("--heartbeat-seconds")
    if given is not None and not asked.has("--events"):
        raise parse_error("argument --heartbeat-seconds: it goes with --events", asked.name)
    if given is not None and given < 0:
        raise parse_error(f"argument --heartbeat-seconds: it must not be below 0, not {given:g}", asked.name)
    return _HEARTBEAT_SECONDS if given is None else given


def _payload(call: _Call, held: RunResult | None) -> dict[str, Any]:
    """The members of a document. What did not come to be is null, and lists are empty."""
    request = call.request
    turns = held.turns if held else []
    matches = [msgspec.to_builtins(match) for match in held.matches] if held else []
    path = held.path if held else None
    if call.asked.name == "bootstrap":
        calls = turns[0].tool_calls if turns else ()
        own: dict[str, Any] = {
            "prompt": request.prompt,
            "setup": _setup(),
            "routed_matches": matches,
            "turn": _turn(turns[0]) if turns else None,
            "persisted_session_path": path,
            "limit": request.limit,
            "command_execution_messages": [c.message for c in calls if c.name == "run_skill"],
            "tool_execution_messages": [c.message for c in calls if c.name != "run_skill"],
        }
    else:
        last = turns[-1] if turns else None
        own = {
            "prompt": request.prompt,
            "max_turns": request.turns,
            "turns_completed": len(turns),
            "turns_committed": sum(turn.committed for turn in turns),
            "timeout_seconds": call.timeout_seconds,
            "continuation_prompt": request.continuation,
            "turns": [_turn(turn) for turn in turns],
            "final_stop_reason": last.stop_reason if last else None,
            "final_cancel_observed": last.cancel_observed if last else False,
            "routed_matches": matches,
            "persisted_session_path": path,
        }
    return {**own, **_common(call, held)}


def _common(call: _Call, held: RunResult | None) -> dict[str, Any]:
    used = held.usage if held else Usage()
    return {
        "session_id": held.session_id if held else call.request.session_id,
        "correlation_id": call.correlation_id,
        "brain": call.request.brain,
        "permissions": dict(held.policy) if held else None,
        "usage": {
            "input_tokens": used.input_tokens,
            "output_tokens": used.output_tokens,
            "cost_usd": held.cost_usd if held else None,
        },
        "mcp_servers": held.mcp_servers if held else [],
    }


def _told(call: _Call, held: RunResult) -> Told:
    """The exit code is the last turn's: 2 when its time ran out, 1 when it was not done. A limit is no error."""
    payload, text = _payload(call, held), _prose(call, held)
    last = held.turns[-1] if held.turns else None
    error = last.error if last else None
    if error is None and last and call.asked.has("--strict") and last.stop_reason in _LIMITS:
        error = ClawError(_LIMITS[last.stop_reason], last.output, operation="turn", target=held.session_id)
    warnings = tuple(call.notes)
    if error is None:
        return Told(payload, text, warnings=warnings)
    payload["error"] = error_object(error, call.asked.name)
    code = 2 if last and last.stop_reason == "timeout" else 1
    return Told(payload, f"{text}\n{payload['error']['hint']}", code, warnings)


def _prose(call: _Call, held: RunResult) -> str:
    if call.asked.name == "bootstrap":
        return _report(held)
    parts = (f"## Turn {k}\n{turn.output}\n{_stopped(turn)}" for k, turn in enumerate(held.turns, 1))
    return "\n".join(parts) or "(no turns)"


def _turn(turn: TurnResult) -> dict[str, Any]:
    out: dict[str, Any] = {
        "prompt": turn.prompt,
        "output": turn.output,
        "stop_reason": turn.stop_reason,
        "cancel_observed": turn.cancel_observed,
        "matched_commands": turn.matched_commands,
        "matched_tools": turn.matched_tools,
        "outcome": turn.outcome,
        "error_code": turn.error.code if turn.error else None,
        "committed": turn.committed,
        "turn": turn.turn,
        "permission_denials": turn.permission_denials,
        "tool_calls": turn.tool_calls,
        "evidence": turn.evidence,
        "usage": turn.usage,
        "spent": turn.spent,
        "compacted_turns": turn.compacted_turns,
        "duration_ms": turn.duration_ms,
    }
    built: dict[str, Any] = msgspec.to_builtins(out)
    return built


def _setup() -> dict[str, str]:
    import platform

    return {
        "python_version": platform.python_version(),
        "implementation": platform.python_implementation(),
        "platform_name": sys.platform,
        "test_command": "make test",
    }


def _report(held: RunResult) -> str:
    turn = held.turns[0]
    lines = ["# Bootstrap", "", "## Setup", *(f"- {name}: {value}" for name, value in _setup().items())]
    lines += ["", "## Routed matches"]
    lines += [f"- {match.kind} {match.name} ({match.score:.2f})" for match in held.matches] or ["- none"]
    lines += ["", "## Tools"]
    lines += [f"- {call.name}: {call.message}" for call in turn.tool_calls] or ["- none were called"]
    lines += ["", "## Turn", turn.output, "", _stopped(turn), f"session={held.path or 'not saved'}"]
    return "\n".join(lines)


def _stopped(turn: TurnResult) -> str:
    return f"stop_reason={turn.stop_reason} outcome={turn.outcome}"
