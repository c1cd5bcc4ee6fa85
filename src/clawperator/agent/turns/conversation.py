"""Runs of the agent: assemble the parts, route the prompt, and run turns in a session under one deadline.

This is what ``bootstrap`` and ``turn-loop`` do. Each stage is reported as an event.
"""

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, Struct
from msgspec.structs import replace

from clawperator._base.typed import given
from clawperator.agent.cancellation import (
    GRACE_SECONDS,
    TurnDeadline,
    WorkAbandonedError,
    WorkAbandonedInterrupt,
    run_within,
    timeout_error,
)
from clawperator.agent.inventory.inventory import command_inventory, tool_inventory
from clawperator.agent.inventory.routing import Match, Router
from clawperator.agent.ports import Brain
from clawperator.agent.sessions.records import Usage, sum_usage
from clawperator.agent.sessions.store import SessionStore
from clawperator.agent.sessions.writer import OpenSession
from clawperator.agent.turns.assembly import MCP_PREFIX, AgentOptions, Assembly, assemble
from clawperator.agent.turns.engine import Limits, TurnEngine
from clawperator.agent.turns.events import EventStream
from clawperator.agent.turns.results import TurnResult, observe_stop, stopped_turn
from clawperator.errors import ClawError

if TYPE_CHECKING:
    from clawperator.agent.models.config import Prices
    from clawperator.operations.turns import TurnLoopParams, TurnParams

# A model service counts the tokens of the whole conversation again with every request.
_MODEL_BUDGET = 200_000
_BUSY_SECONDS = 5.0


class RunRequest(Struct, frozen=True, kw_only=True):
    """A run: the parameters of its command, those of its turns, and what the command line makes of them."""

    prompt: str
    directory: str
    options: AgentOptions
    params: "TurnParams"
    loop: "TurnLoopParams"
    session_id: str | None = None
    resume: bool = False


class RunResult(Struct, frozen=True, kw_only=True):
    """The result of a run. ``path`` is None when nothing was committed."""

    session_id: str
    path: str | None
    matches: list[Match]
    turns: list[TurnResult]
    usage: Usage
    prices: "Prices | None"  # None when they are not known
    brain: str
    policy: Mapping[str, Any]
    mcp_servers: list[dict[str, Any]]

    def cost_usd(self, usage: Usage) -> float | None:
        """The cost of a usage; None when the prices are not known."""
        if self.brain == "offline":
            return 0.0
        return None if self.prices is None else self.prices.cost(usage)


def run_request(
    request: RunRequest,
    deadline: TurnDeadline,
    events: EventStream,
    warnings: list[str],
    on_turns_done: Callable[[], None] = lambda: None,
) -> RunResult:
    """Run the turns. Errors before the first turn are raised; later ones are part of the turns.

    ``warnings`` receives non-fatal problems as they are found. ``on_turns_done`` is called after the last turn.
    """
    prices, kind = None, request.params.brain
    if kind != "offline":
        from clawperator.agent.models.config import read_prices

        prices = read_prices(kind, os.environ)
    # Report a missing configuration before any server starts.
    brain = make_brain(kind, given(request.params.model))
    # The offline brain calls an MCP tool only when the prompt names it.
    with_mcp = kind != "offline" or MCP_PREFIX in request.prompt
    with assemble(request.options, deadline, events, with_mcp=with_mcp) as parts:
        warnings += parts.warnings
        events.emit("stage", stage="session")
        with _open_session(request, deadline) as session:
            warnings += session.warnings
            events.emit("stage", stage="phone", device_id=request.options.device)
            events.emit("stage", stage="brain", brain=kind)
            matches = _route(request, parts, events, warnings)
            events.emit("stage", stage="turn")
            turns = run_turns(
                TurnEngine(
                    session,
                    brain,
                    parts.registry,
                    request.options.tool_context(deadline),
                    events=events,
                    limits=_limits(request.params, request.loop.max_turns),
                    matches=matches,
                    structured=request.loop.structured_output,
                ),
                request.prompt,
                max_turns=request.loop.max_turns,
                continuation=given(request.loop.continuation_prompt),
            )
            on_turns_done()
            warnings += events.warnings
            return RunResult(
                session_id=session.session_id,
                path=session.path if session.prompt_count else None,
                matches=matches,
                turns=turns,
                usage=sum_usage(turn.spent for turn in turns),
                prices=prices,
                brain=brain.name,
                policy=parts.policy.describe(),
                mcp_servers=parts.mcp_servers,
            )


def run_turns(
    engine: TurnEngine,
    prompt: str,
    *,
    max_turns: int,
    continuation: str | None = None,
    grace: float = GRACE_SECONDS,
) -> list[TurnResult]:
    """Submit the prompt, then the continuation verbatim, until a turn does not complete its task.

    Without a continuation there is one turn. A failed turn is not repeated.
    """
    results: list[TurnResult] = []
    while len(results) < max_turns:
        text = prompt if not results else continuation
        if text is None:
            break
        result = _run_turn(engine, text, grace)
        results.append(result)
        try:
            engine.emit_turn_ended(result)
        except KeyboardInterrupt:
            engine.deadline.cancel()
        if result.stop_reason != "completed" or result.outcome != "done" or engine.deadline.is_cancelled:
            break
    return results


def _run_turn(engine: TurnEngine, prompt: str, grace: float) -> TurnResult:
    """Run one turn and classify how it was stopped, if it was."""
    deadline = engine.deadline
    if deadline.remaining == 0:
        engine.start_turn()
        return engine.with_progress(stopped_turn(prompt, observe_stop(ended=True), by_user=False))
    try:
        result = run_within(deadline, lambda: engine.submit(prompt), grace)
    except WorkAbandonedError:
        return engine.with_progress(stopped_turn(prompt, observe_stop(ended=False), by_user=False))
    except KeyboardInterrupt as e:
        deadline.cancel()
        # A turn that was committed before the interrupt is part of the session and is reported as such.
        if engine.committed is not None:
            return engine.with_progress(engine.committed)
        stopped = observe_stop(ended=not isinstance(e, WorkAbandonedInterrupt))
        return engine.with_progress(stopped_turn(prompt, stopped, by_user=True))
    if result.stop_reason != "cancelled" or result.error is not None:
        return result
    # The turn acknowledged the cancellation: by the user, or at the deadline.
    by_user = deadline.is_cancelled and deadline.remaining != 0
    return engine.with_progress(stopped_turn(prompt, observe_stop(ended=True), by_user=by_user))


def _open_session(request: RunRequest, deadline: TurnDeadline) -> OpenSession:
    """Open the session, waiting for another writer but not past the deadline."""
    try:
        return SessionStore(request.directory).open(
            request.session_id, resume=request.resume, wait_seconds=deadline.within(_BUSY_SECONDS)
        )
    except ClawError as e:
        if e.code == "SESSION_BUSY" and deadline.remaining == 0:
            raise timeout_error("open_session", request.session_id or "") from e
        raise


def make_brain(kind: str, model: str | None) -> Brain:
    """Create a brain. Those of model services read base URL and key from the environment."""
    if kind == "offline":
        from clawperator.agent.offline.brain import OfflineBrain

        return OfflineBrain()
    from clawperator.agent.models.config import model_config

    if kind == "openai":
        from clawperator.agent.models.openai import OpenAIBrain

        return OpenAIBrain(model_config("openai", model=model, environ=os.environ))
    from clawperator.agent.models.anthropic import AnthropicBrain

    return AnthropicBrain(model_config("anthropic", model=model, environ=os.environ))


def _route(request: RunRequest, parts: Assembly, events: EventStream, warnings: list[str]) -> list[Match]:
    """Route the prompt once: all turns report the same matches."""
    events.emit("stage", stage="route")
    inventory = command_inventory()
    warnings += inventory.warnings
    entries = (*inventory.entries, *tool_inventory(parts.registry.tools).entries)
    matches = Router(entries).route(request.prompt, request.params.limit)
    events.emit("routed", matches=[{"kind": match.kind, "name": match.name} for match in matches])
    return matches


def _limits(params: "TurnParams", turns: int) -> Limits:
    """The limits of a run of so many turns. A session has 8, or as many if that is more, unless it is limited."""
    limits = Limits()
    limits = replace(limits, max_turns=max(limits.max_turns, turns))
    if params.brain != "offline":
        limits = replace(limits, max_budget_tokens=_MODEL_BUDGET)
    names = {
        "max_turns": params.max_session_turns,
        "max_budget_tokens": params.max_budget_tokens,
        "max_steps": params.max_steps,
    }
    return replace(limits, **{name: value for name, value in names.items() if value is not UNSET})
