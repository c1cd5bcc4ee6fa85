"""``bootstrap`` and ``turn-loop``."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from clawperator.agent.conversation import BRAINS, Conversation, Order, converse
from clawperator.agent.envelope import error_object
from clawperator.agent.events import Events
from clawperator.agent.routing import Match
from clawperator.agent.turns import TurnResult
from clawperator.cli.claw.answer import Told, failure
from clawperator.cli.claw.choosing import choices
from clawperator.cli.claw.inputs import chosen_session, text_of
from clawperator.cli.claw.reading import Read
from clawperator.cli.claw.sessions import directory
from clawperator.cli.ending import ended_with_us
from clawperator.contract.errors import ClawError
from clawperator.files import why

_HEARTBEAT_SECONDS = 5.0
_LOOP_TURNS, _SESSION_TURNS = 3, 8
_LIMITS = ("max_budget_reached", "max_turns_reached", "cancelled")


def answer(asked: Read) -> Told:
    order = _order(asked)
    correlation_id = os.urandom(8).hex()
    with _events(asked, correlation_id) as events:
        beat = asked.seconds("--heartbeat-seconds")
        with events.heartbeat(_HEARTBEAT_SECONDS if beat is None else beat), ended_with_us():
            try:
                held = converse(order, events)
            except ClawError as e:
                return failure(e, asked.name, _unbegun(asked, order, correlation_id))
    return (_bootstrapped if asked.name == "bootstrap" else _looped)(asked, order, held, correlation_id)


def _order(asked: Read) -> Order:
    session_id, resume = chosen_session(asked)
    is_loop = asked.name == "turn-loop"
    turns = asked.whole("--max-turns", _LOOP_TURNS, least=None) if is_loop else 1
    return Order(
        prompt=text_of(asked.words[0]),
        directory=directory(asked),
        choices=choices(asked),
        limit=asked.whole("--limit", 5),
        session_id=session_id,
        resume=resume,
        brain=asked.choice("--brain", BRAINS, "offline"),
        model=asked.get("--model"),
        timeout_seconds=asked.seconds("--timeout-seconds"),
        turns=max(turns, 0),
        continuation=asked.get("--continuation-prompt"),
        session_turns=asked.whole("--max-session-turns", max(_SESSION_TURNS, turns)),
        budget=asked.whole("--max-budget-tokens", 0) if asked.has("--max-budget-tokens") else None,
        steps=asked.whole("--max-steps", 0) if asked.has("--max-steps") else None,
        structured=asked.has("--structured-output"),
    )


@contextmanager
def _events(asked: Read, correlation_id: str) -> Iterator[Events]:
    """Events go to a file, line by line, or before the answer on stdout."""
    target = asked.get("--events")
    if target is None:
        yield Events(correlation_id)
    elif target == "-":
        yield Events(correlation_id, _to_stdout)
    else:
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            descriptor = os.open(target, flags, 0o600)
        except (OSError, ValueError) as e:
            raise ClawError(
                "EVENTS_WRITE_FAILED",
                f"cannot write events to {target}: {why(e)}",
                hint="Name a file in a folder that can be written, or - for stdout.",
                operation="open",
                target=target,
            ) from e
        try:
            yield Events(correlation_id, _to_file(descriptor))
        finally:
            os.close(descriptor)


def _to_file(descriptor: int) -> Callable[[bytes], None]:
    def write(line: bytes) -> None:
        while line:
            line = line[os.write(descriptor, line) :]

    return write


def _to_stdout(line: bytes) -> None:
    if sys.stdout is None:
        raise ValueError("there is no stdout")
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


def _unbegun(asked: Read, order: Order, correlation_id: str) -> dict[str, Any]:
    """What can be said when not even the first turn could be begun."""
    out: dict[str, Any] = {"prompt": order.prompt, "correlation_id": correlation_id}
    if asked.name == "turn-loop":
        out |= {"max_turns": order.turns, "turns_completed": 0, "turns_committed": 0, "turns": []}
    return out | {"persisted_session_path": None}


def _bootstrapped(asked: Read, order: Order, held: Conversation, correlation_id: str) -> Told:
    turn = held.turns[0]
    payload = {
        "prompt": order.prompt,
        "setup": _setup(),
        "routed_matches": [_match(match) for match in held.matches],
        "turn": _turn(turn),
        "persisted_session_path": held.path,
        "limit": order.limit,
        "command_execution_messages": [c.message for c in turn.tool_calls if c.name == "run_skill"],
        "tool_execution_messages": [c.message for c in turn.tool_calls if c.name != "run_skill"],
        **_common(held, correlation_id),
    }
    return _told(asked, held, payload, _report(held))


def _looped(asked: Read, order: Order, held: Conversation, correlation_id: str) -> Told:
    last = held.turns[-1] if held.turns else None
    payload = {
        "prompt": order.prompt,
        "max_turns": order.turns,
        "turns_completed": len(held.turns),
        "turns_committed": sum(turn.committed for turn in held.turns),
        "timeout_seconds": order.timeout_seconds,
        "continuation_prompt": order.continuation,
        "turns": [_turn(turn) for turn in held.turns],
        "final_stop_reason": last.stop_reason if last else None,
        "final_cancel_observed": last.cancel_observed if last else False,
        "routed_matches": [_match(match) for match in held.matches],
        "persisted_session_path": held.path,
        **_common(held, correlation_id),
    }
    parts = (f"## Turn {k}\n{turn.output}\n{_stopped(turn)}" for k, turn in enumerate(held.turns, 1))
    return _told(asked, held, payload, "\n".join(parts) or "(no turns)")


def _common(held: Conversation, correlation_id: str) -> dict[str, Any]:
    usage = {"input_tokens": held.usage.input_tokens, "output_tokens": held.usage.output_tokens}
    return {
        "session_id": held.session_id,
        "correlation_id": correlation_id,
        "brain": held.brain,
        "permissions": dict(held.policy),
        "usage": {**usage, "cost_usd": held.cost_usd},
        "mcp_servers": held.mcp_servers,
    }


def _told(asked: Read, held: Conversation, payload: dict[str, Any], text: str) -> Told:
    """The exit code is the last turn's: 2 when its time ran out, 1 when it was not done. A limit is no error."""
    last = held.turns[-1] if held.turns else None
    error = last.error if last else None
    if error is None and last and asked.has("--strict") and last.stop_reason in _LIMITS:
        error = ClawError(
            "TURN_STEPS_REACHED" if last.stop_reason == "max_turns_reached" else "INTERRUPTED",
            f"the last turn ended with {last.stop_reason}",
            hint="Run it again with a larger limit, or without --strict.",
            operation="turn",
        )
    if error is None:
        return Told(payload, text, warnings=held.warnings)
    payload["error"] = error_object(error, asked.name)
    code = 2 if last and last.stop_reason == "timeout" else 1
    return Told(payload, f"{text}\n{payload['error']['hint']}", code, held.warnings)


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
        "compacted_turns": turn.compacted_turns,
        "duration_ms": turn.duration_ms,
    }
    built: dict[str, Any] = msgspec.to_builtins(out)
    return built


def _match(match: Match) -> dict[str, Any]:
    built: dict[str, Any] = msgspec.to_builtins(match)
    return built


def _setup() -> dict[str, str]:
    import platform

    return {
        "python_version": platform.python_version(),
        "implementation": platform.python_implementation(),
        "platform_name": sys.platform,
        "test_command": "make test",
    }


def _report(held: Conversation) -> str:
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
