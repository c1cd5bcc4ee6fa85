"""How long an action looks for its node: a retry policy for a time."""

import math
from typing import Any

from msgspec.structs import fields

from clawperator.contract.action_params import UI_READINESS
from clawperator.contract.actions import ACTIONS

# Looking for a node: the first pause if the time allows it, how often a device looks, and how pauses grow.
_FIRST_PAUSE_MS = 500
_MAX_ATTEMPTS = 10
_MAX_GROWTH = 1.25
# The end of an execution's time that is left for acting and for the result.
_RESERVED_MS = 1_000
_RESERVED_PART = 0.25


def looks_for_node(action: str) -> bool:
    """Whether the action looks for a node more than once, by its ``retry``."""
    return any(field.name == "retry" and field.default == UI_READINESS for field in fields(ACTIONS[action].params))


def retry_within(timeout_ms: float) -> dict[str, Any]:
    """The retry policy that looks for a node for most of an execution's time."""
    return look_retry(round(timeout_ms - min(_RESERVED_MS, timeout_ms * _RESERVED_PART)))


def look_retry(look_ms: int) -> dict[str, Any]:
    """The retry policy that looks for a node for this long: often at first, then less often."""
    pauses = min(math.ceil(look_ms / _FIRST_PAUSE_MS), _MAX_ATTEMPTS - 1)
    if pauses == 0:
        return {"maxAttempts": 1}
    growth = _growth(look_ms / _FIRST_PAUSE_MS, pauses)
    first = look_ms / sum(growth**i for i in range(pauses))
    return {
        "maxAttempts": pauses + 1,
        "initialDelayMs": first,
        "maxDelayMs": first * growth ** (pauses - 1),
        "backoffMultiplier": growth,
    }


def _growth(total: float, count: int) -> float:
    """The factor by which ``count`` numbers grow from 1 to a sum of ``total``, from 1 to ``_MAX_GROWTH``."""
    low, high = 1.0, _MAX_GROWTH
    for _ in range(30):
        middle = (low + high) / 2
        if sum(middle**i for i in range(count)) < total:
            low = middle
        else:
            high = middle
    return low
