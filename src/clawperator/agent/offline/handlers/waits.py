"""Waiting: some time, until the screen rests, or until something is so."""

import time

from clawperator.agent.offline.handlers.questions import is_shown, state_on, tell_shown
from clawperator.agent.offline.instructions import Check, Pause, Settle, WaitFor
from clawperator.agent.offline.run import Steps, Work
from clawperator.agent.offline.screens import Screen, missing
from clawperator.errors import ClawError

# A turn may make so many calls only, so a long wait looks less often.
_MOST_LOOKS = 20
_SHORTEST_REST_S = 0.35


def pause(work: Work, asked: Pause) -> Steps[str]:
    yield from work.act("sleep", {"durationMs": round(asked.seconds * 1000)})
    return f"Waited {asked.seconds:g} s."


def settle(work: Work, _: Settle) -> Steps[str]:
    last: list[str] = []

    def rests(screen: Screen) -> bool | None:
        same = last == [screen.snapshot.xml] and not screen.is_loading
        last[:] = [screen.snapshot.xml]
        return same or None

    so, _screen = yield from work.await_on_screen(rests)
    return "The screen rests." if so else "The screen still changes."


def wait_for(work: Work, asked: WaitFor) -> Steps[str]:
    rest = max(_SHORTEST_REST_S, asked.seconds / _MOST_LOOKS)
    end = time.monotonic() + asked.seconds
    screen = yield from work.look()
    for _ in range(_MOST_LOOKS):
        left = end - time.monotonic()
        if _is_so(screen, asked.check) or left <= 0:
            break
        work.watch.sleep(min(rest, left))
        screen = yield from work.look()
    if not _is_so(screen, asked.check):
        raise _in_vain(screen, asked)
    return f"{_tell(screen, asked.check)}."


def _is_so(screen: Screen, check: Check) -> bool:
    if not check.state:
        return is_shown(screen, check)
    now = state_on(screen, check)
    return now is not None and now[0] == (check.state == "on")


def _tell(screen: Screen, check: Check) -> str:
    now = state_on(screen, check) if check.state else None
    return tell_shown(screen, check.target) if now is None else now[1]


def _in_vain(screen: Screen, asked: WaitFor) -> ClawError:
    waited = f"after {asked.seconds:g} s"
    if not asked.check.state and asked.check.holds:
        return missing(asked.check.target, screen, f"on the screen {waited}")
    return ClawError(
        "INSTRUCTION_CHECK_FAILED",
        f"{waited} {_tell(screen, asked.check)}",
        hint="Wait for longer: 'wait up to 60 seconds until …'.",
        operation="wait",
        target=asked.check.target.words,
    )
