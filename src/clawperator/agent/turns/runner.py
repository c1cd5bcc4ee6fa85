"""Several turns under one deadline, and an honest word about work that did not stop in time."""

from msgspec.structs import replace

from clawperator.agent.cancellation import GRACE_SECONDS, LeftBehindError, LeftBehindInterrupt, within_deadline
from clawperator.agent.turns.engine import TurnEngine
from clawperator.agent.turns.results import TurnResult, stopped, timed_out


def run_turns(
    engine: TurnEngine,
    prompt: str,
    *,
    max_turns: int,
    continuation: str | None = None,
    grace: float = GRACE_SECONDS,
) -> list[TurnResult]:
    """Submit the prompt, then the continuation, word by word as given, until a turn is not completed.

    Without a continuation there is one turn. After a turn that could not do its job nothing is tried again.
    """
    results: list[TurnResult] = []
    while len(results) < max_turns:
        text = prompt if not results else continuation
        if text is None:
            break
        results.append(_submit(engine, text, grace))
        if results[-1].stop_reason != "completed" or results[-1].outcome != "done" or engine.deadline.is_cancelled:
            break
    return results


def _submit(engine: TurnEngine, prompt: str, grace: float) -> TurnResult:
    result = _taken(engine, prompt, grace)
    if (
        result.error is not None
        and result.error.code == "TURN_TIMEOUT"
        and any(c.handled for c in result.tool_calls)
    ):
        # Repeating the turn would repeat some of its calls.
        result = replace(result, error=result.error.with_(retryable=False))
    try:
        engine.announce(result)
    except KeyboardInterrupt:
        engine.deadline.cancel()
    return result


def _taken(engine: TurnEngine, prompt: str, grace: float) -> TurnResult:
    deadline = engine.deadline
    if deadline.remaining == 0:
        engine.begin()
        return engine.with_work(timed_out(prompt, observed=True))
    try:
        result = within_deadline(deadline, lambda: engine.submit(prompt), grace)
    except LeftBehindError:
        return engine.with_work(timed_out(prompt, observed=False))
    except KeyboardInterrupt as e:
        deadline.cancel()
        # What was committed before the interrupt came is part of the session, and is told as that.
        ended = engine.committed or stopped(prompt, observed=not isinstance(e, LeftBehindInterrupt))
        return engine.with_work(ended)
    if result.stop_reason != "cancelled" or result.error is not None:
        return result
    # It has stopped and said so: because somebody wanted it, or for want of time.
    somebody = deadline.is_cancelled and deadline.remaining != 0
    return engine.with_work((stopped if somebody else timed_out)(prompt, observed=True))
