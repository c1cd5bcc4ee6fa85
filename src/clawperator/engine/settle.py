"""The effect of an action: capture until the screen settles, and compare it with the screen before.

Nothing here fails a step: the action has been performed, and an effect that cannot be determined is ``unknown``.
"""

from msgspec import Struct

from clawperator._text import printable
from clawperator.contract import Effect
from clawperator.engine.context import ActionContext, StepData
from clawperator.ui import Hierarchy, appeared_notices

BUDGET_MS = 1_000
POLL_MS = 50
# A slow screen looks unchanged for a moment. Only one that stays the same for the length of a transition is
# reported as unchanged.
UNCHANGED_MS = 300


class Settled(Struct, frozen=True):
    """``after_ms`` is the time until the screen settled, or the time waited. ``screen`` is the last capture."""

    effect: Effect
    after_ms: float
    screen: Hierarchy | None


def settle(context: ActionContext, before: Hierarchy | None, since: float | None = None) -> Settled:
    """Capture until two captures in a row agree. Time counts from ``since``, the time of the action, or from now.

    The first capture is immediate; there are at least two if time allows; the limit is ``BUDGET_MS``.
    """
    start = context.clock.monotonic() if since is None else since
    last: Hierarchy | None = None
    settled_at = 0.0
    captures = 0
    while True:
        at = context.since_ms(start)
        screen = context.try_dump()
        captures += 1
        if screen is not None and last is not None and screen.has_same_content(last):
            if before is None:
                return Settled("unknown", settled_at, screen)
            if not screen.has_same_content(before):
                return Settled("changed", settled_at, screen)
            if at >= UNCHANGED_MS:
                return Settled("unchanged", settled_at, screen)
        else:
            settled_at = at
        last = screen
        if (captures > 1 and at >= BUDGET_MS) or not context.sleep_within(POLL_MS):
            return Settled("unknown", context.since_ms(start), screen)


def evidence(
    target: str, candidates: int, method: str, settled: Settled, before: Hierarchy | None = None
) -> StepData:
    """The fields that every mutating action reports beside its own data.

    With ``before``, the messages that the app shows after an input are among them, one on each line.
    """
    after = settled.screen if settled.effect != "unchanged" else None
    notices = appeared_notices(before, after) if before is not None and after is not None else []
    return {
        "matched_target": target,
        "candidate_count": str(candidates),
        "dispatch_method": method,
        "effect": settled.effect,
        "settled_ms": str(round(settled.after_ms)),
        **({"screen_message": "\n".join(printable(notice) for notice in notices)} if notices else {}),
    }
