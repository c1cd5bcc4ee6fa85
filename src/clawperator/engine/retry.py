"""How often to look again, and how long to wait in between."""

from collections.abc import Callable, Iterable, Iterator
from random import Random
from typing import TypeVar

from clawperator.contract.actions import Retry
from clawperator.engine.context import Scene
from clawperator.errors import ClawError

T = TypeVar("T")

POLL_MS = 200
# What another look may cure. Each of these means that the phone did not do what was asked, so that trying again
# never does it twice.
CURABLE = frozenset(
    {
        "NODE_NOT_FOUND",
        "NODE_NOT_CLICKABLE",
        "CONTAINER_NOT_FOUND",
        "TARGET_NOT_FOUND",
        "VALUE_NODE_NOT_FOUND",
        "VALIDATOR_MISMATCH",
        "TEXT_NOT_ACCEPTED",
        "GESTURE_FAILED",
        "SNAPSHOT_HIERARCHY_UNAVAILABLE",
        "APP_NOT_FOUND",
        "URI_NOT_HANDLED",
        "UNSUPPORTED_RUNTIME_SCREENSHOT",
    }
)


def pauses(retry: Retry, random: Random) -> Iterator[float]:
    """The pauses in ms between the tries: one fewer than there are tries."""
    initial = retry.initialDelayMs
    longest = retry.maxDelayMs if isinstance(retry.maxDelayMs, float | int) else initial
    pause: float = initial
    for _ in range(retry.maxAttempts - 1):
        chance = random.uniform(-retry.jitterRatio, retry.jitterRatio) if retry.jitterRatio else 0.0
        yield min(pause, longest) * (1 + chance)
        pause = min(pause * retry.backoffMultiplier, longest)


def polls(scene: Scene, timeout_ms: float) -> Iterator[float]:
    """Pauses in ms that end when ``timeout_ms`` have passed from now."""
    return _polls(scene, scene.clock.monotonic(), timeout_ms)


def _polls(scene: Scene, start: float, timeout_ms: float) -> Iterator[float]:
    while (left := timeout_ms - scene.since_ms(start)) > 0:
        yield min(POLL_MS, left)


def persist(scene: Scene, waits: Iterable[float], attempt: Callable[[], T]) -> T:
    """What ``attempt`` gives, tried again after each pause while it fails in a way another look may cure."""
    for wait in waits:
        try:
            return attempt()
        except ClawError as e:
            if e.code not in CURABLE:
                raise
            scene.pause(wait, e)
    return attempt()


def retrying(scene: Scene, retry: Retry, attempt: Callable[[], T]) -> T:
    return persist(scene, pauses(retry, scene.random), attempt)
