"""What came of an action: look until the screen rests, and compare it with what was there before.

Nothing here fails a step. The action has been done by then, and what is not known is said to be unknown.
"""

from msgspec import Struct

from clawperator.contract.results import Effect
from clawperator.engine.context import Scene, StepData
from clawperator.ui.node import Hierarchy

BUDGET_MS = 1_000
POLL_MS = 50
# A screen that answers late looks for a moment as if nothing had happened. Only one that stays the same for
# as long as a transition takes is called unchanged.
PATIENCE_MS = 300


class Settled(Struct, frozen=True):
    """``after_ms`` is how long the screen took to rest, or how long we waited in vain. ``screen`` came last."""

    effect: Effect
    after_ms: float
    screen: Hierarchy | None


def settle(scene: Scene, before: Hierarchy | None, since: float | None = None) -> Settled:
    """Look until two looks in a row agree. Time counts from ``since``, the moment of the action, or from now.

    It looks at once, at least twice if there is time, and gives up after ``BUDGET_MS``.
    """
    start = scene.clock.monotonic() if since is None else since
    last: Hierarchy | None = None
    rested = 0.0
    looks = 0
    while True:
        at = scene.since_ms(start)
        screen = scene.glance()
        looks += 1
        if screen is not None and last is not None and screen.says_the_same(last):
            if before is None:
                return Settled("unknown", rested, screen)
            if not screen.says_the_same(before):
                return Settled("changed", rested, screen)
            if at >= PATIENCE_MS:
                return Settled("unchanged", rested, screen)
        else:
            rested = at
        last = screen
        if (looks > 1 and at >= BUDGET_MS) or not scene.rest(POLL_MS):
            return Settled("unknown", scene.since_ms(start), screen)


def evidence(target: str, candidates: int, method: str, settled: Settled) -> StepData:
    """What every action that changes something reports beside its own data."""
    return {
        "matched_target": target,
        "candidate_count": str(candidates),
        "dispatch_method": method,
        "effect": settled.effect,
        "settled_ms": str(round(settled.after_ms)),
    }
