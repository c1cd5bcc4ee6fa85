"""Several turns under one deadline, and an honest word about work that did not stop in time."""

from clawperator.agent.turns import TurnEngine, TurnResult, timed_out
from clawperator.agent.watch import GRACE_SECONDS, LeftBehindError, within_deadline


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
        if results[-1].stop_reason != "completed" or results[-1].outcome != "done":
            break
    return results


def _submit(engine: TurnEngine, prompt: str, grace: float) -> TurnResult:
    watch = engine.watch
    if watch.remaining == 0:
        return timed_out(prompt, engine.matched, observed=True)
    try:
        result = within_deadline(watch, lambda: engine.submit(prompt), grace)
    except LeftBehindError:
        return timed_out(prompt, engine.matched, observed=False)
    # A turn that nobody else cancelled has stopped for want of time, and said so.
    out_of_time = watch.remaining == 0 or not watch.is_cancelled
    if result.stop_reason == "cancelled" and result.error is None and out_of_time:
        return timed_out(prompt, engine.matched, observed=True)
    return result
