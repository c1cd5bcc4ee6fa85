"""A whole call of the agent: everything is put together, the prompt is routed, and turns are taken in a session.

This is what ``bootstrap`` and ``turn-loop`` do, stage by stage. Each stage is an event.
"""

import os
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from clawperator.agent.cancellation import GRACE_SECONDS, TurnDeadline, out_of_time
from clawperator.agent.inventory.inventory import commands, tools
from clawperator.agent.inventory.routing import Match, Router
from clawperator.agent.ports import Brain, Usage
from clawperator.agent.sessions.store import SessionStore
from clawperator.agent.sessions.writer import OpenSession
from clawperator.agent.turns.assembly import MCP_MARK, AgentOptions, Assembly, assemble
from clawperator.agent.turns.engine import Limits, Matched, TurnEngine
from clawperator.agent.turns.events import EventStream
from clawperator.agent.turns.results import TurnResult
from clawperator.agent.turns.runner import run_turns
from clawperator.errors import ClawError

BRAINS = ("offline", "openai", "anthropic")
# A model's service counts tokens of everything it is sent, again with every step.
_MODEL_BUDGET = 200_000
_BUSY_SECONDS = 5.0
_NO_PRICE = 1e12  # from here on, as below 0, it is a slip
_INPUT_PRICE, _OUTPUT_PRICE = "CLAW_INPUT_USD_PER_MILLION", "CLAW_OUTPUT_USD_PER_MILLION"


class RunRequest(Struct, frozen=True, kw_only=True):
    """What is asked for. ``turns`` is how many may be taken now, ``session_turns`` how many a session may have.

    ``session_turns`` of None is 8, or as many as may be taken now.
    """

    prompt: str
    directory: str
    options: AgentOptions
    limit: int = 5
    session_id: str | None = None
    resume: bool = False
    brain: str = "offline"
    model: str | None = None
    turns: int = 1
    continuation: str | None = None
    session_turns: int | None = None
    budget: int | None = None
    steps: int | None = None
    structured: bool = False
    grace: float = GRACE_SECONDS


class RunResult(Struct, frozen=True, kw_only=True):
    """What came of it. ``path`` is None when nothing was committed."""

    session_id: str
    path: str | None
    matches: list[Match]
    turns: list[TurnResult]
    usage: Usage
    cost_usd: float | None
    brain: str
    policy: Mapping[str, Any]
    mcp_servers: list[dict[str, Any]]


class _Scene(Struct, frozen=True):
    """What all turns of a call have in common."""

    request: RunRequest
    parts: Assembly
    events: EventStream
    brain: Brain
    matches: list[Match]


def run_request(
    request: RunRequest,
    deadline: TurnDeadline,
    events: EventStream,
    notes: list[str],
    ended: Callable[[], None] = lambda: None,
) -> RunResult:
    """Take the turns. What keeps the first from being begun is raised; afterwards it is in the turns.

    ``notes`` gets what somebody should know and what kept nothing from being done, as it is found. ``ended`` is
    called when all turns are taken, and nothing is left to be stopped.
    """
    prices = _prices() if request.brain != "offline" else None
    brain = make_brain(request.brain, request.model)  # one that is not set up is told before any server is started
    # The offline brain calls a tool of a server only when the prompt names it.
    foreign = request.brain != "offline" or MCP_MARK in request.prompt
    with assemble(request.options, deadline, events, with_mcp=foreign) as parts:
        notes += parts.warnings
        events.emit("stage", stage="session")
        with _open(request, deadline) as session:
            notes += session.warnings
            events.emit("stage", stage="phone", device_id=request.options.device)
            events.emit("stage", stage="brain", brain=request.brain)
            scene = _Scene(request, parts, events, brain, _route(request, parts, events, notes))
            events.emit("stage", stage="turn")
            turns = run_turns(
                _engine(scene, session),
                request.prompt,
                max_turns=request.turns,
                continuation=request.continuation,
                grace=request.grace,
            )
            ended()
            notes += events.warnings
            return _told(scene, session, turns, prices)


def _open(request: RunRequest, deadline: TurnDeadline) -> OpenSession:
    """The session. Somebody who holds it is waited for, but not past the deadline."""
    try:
        return SessionStore(request.directory).open(
            request.session_id, resume=request.resume, wait_seconds=deadline.within(_BUSY_SECONDS)
        )
    except ClawError as e:
        if e.code == "SESSION_BUSY" and deadline.remaining == 0:
            raise out_of_time("open_session", request.session_id or "") from e
        raise


def make_brain(kind: str, model: str | None) -> Brain:
    """The brain of that name. Those that talk to a service read its address and key from the environment."""
    if kind == "offline":
        from clawperator.agent.offline.brain import OfflineBrain

        return OfflineBrain()
    from clawperator.agent.models.config import model_config

    if kind == "openai":
        from clawperator.agent.models.openai import OpenAIBrain

        return OpenAIBrain(model_config("openai", model=model, environ=os.environ))
    from clawperator.agent.models.anthropic import AnthropicBrain

    return AnthropicBrain(model_config("anthropic", model=model, environ=os.environ))


def _route(request: RunRequest, parts: Assembly, events: EventStream, notes: list[str]) -> list[Match]:
    """Once for all turns: the same words mean the same entries in every turn."""
    events.emit("stage", stage="route")
    inventory = commands()
    notes += inventory.warnings
    entries = (*inventory.entries, *tools(parts.registry.tools).entries)
    matches = Router(entries).route(request.prompt, request.limit)
    events.emit("routed", matches=[{"kind": match.kind, "name": match.name} for match in matches])
    return matches


def _engine(scene: _Scene, session: OpenSession) -> TurnEngine:
    request, parts = scene.request, scene.parts
    chosen = request.options
    default = Limits()
    return TurnEngine(
        session,
        scene.brain,
        parts.registry,
        chosen.tool_context(parts.deadline),
        events=scene.events,
        limits=Limits(
            max_turns=max(default.max_turns, request.turns)
            if request.session_turns is None
            else request.session_turns,
            max_budget_tokens=_budget(request, default),
            max_steps=default.max_steps if request.steps is None else request.steps,
        ),
        matched=Matched(
            tuple(match.name for match in scene.matches if match.kind == "command"),
            tuple(match.name for match in scene.matches if match.kind == "tool"),
        ),
        structured=request.structured,
    )


def _budget(request: RunRequest, default: Limits) -> int:
    if request.budget is not None:
        return request.budget
    return default.max_budget_tokens if request.brain == "offline" else _MODEL_BUDGET


def _told(
    scene: _Scene, session: OpenSession, turns: list[TurnResult], prices: tuple[float, float] | None
) -> RunResult:
    used = [turn.spent for turn in turns]
    usage = Usage(sum(u.input_tokens for u in used), sum(u.output_tokens for u in used))
    return RunResult(
        session_id=session.session_id,
        path=session.path if session.prompt_count else None,
        matches=scene.matches,
        turns=turns,
        usage=usage,
        cost_usd=0.0 if scene.request.brain == "offline" else _cost(usage, prices),
        brain=scene.brain.name,
        policy=scene.parts.policy.describe(),
        mcp_servers=scene.parts.mcp_servers,
    )


def _prices() -> tuple[float, float] | None:
    """What a million tokens in and out cost, if the environment tells."""
    try:
        prices = float(os.environ[_INPUT_PRICE]), float(os.environ[_OUTPUT_PRICE])
        if not all(0 <= price < _NO_PRICE for price in prices):
            raise ValueError(f"{prices[0]:g} and {prices[1]:g}")  # noqa: TRY301 - told like what is no number
    except KeyError:
        return None
    except ValueError as e:
        raise ClawError(
            "USAGE",
            f"a price is not a number: {e}",
            hint=f"Run 'export {_INPUT_PRICE}=3 {_OUTPUT_PRICE}=15', or unset both.",
            operation="price",
            target=_INPUT_PRICE,
        ) from e
    return prices


def _cost(usage: Usage, prices: tuple[float, float] | None) -> float | None:
    if prices is None:
        return None
    return round((usage.input_tokens * prices[0] + usage.output_tokens * prices[1]) / 1_000_000, 6)
