"""Questions about the screen: what is on it, what a value is, whether something is so."""

from clawperator.agent.brains.controls import Fact, find_value, is_on
from clawperator.agent.brains.instructions import Check, Describe, Pause, Read, Target, WaitFor
from clawperator.agent.brains.names import shown
from clawperator.agent.brains.opening import go_to_place
from clawperator.agent.brains.places import find_place, squash
from clawperator.agent.brains.screens import Screen, missing, ranked
from clawperator.agent.brains.touching import find_control, told
from clawperator.agent.brains.work import Steps, Work
from clawperator.contract.errors import ClawError
from clawperator.contract.text import printable

_MOST_LABELS = 40


def describe(work: Work, _asked: Describe) -> Steps[str]:
    _, screen = yield from work.await_on_screen(lambda screen: None if screen.is_loading else screen)
    labels = list(dict.fromkeys(screen.labels))
    if not labels:
        return f"{screen.package or 'An unknown app'} is in front, and nothing on it can be read."
    more = f", and {len(labels) - _MOST_LABELS} more" if len(labels) > _MOST_LABELS else ""
    return f"{screen.package or 'The screen'} shows: {', '.join(map(shown, labels[:_MOST_LABELS]))}{more}."


def read(work: Work, asked: Read) -> Steps[str]:
    fact = yield from find_fact(work, asked.target)
    return f"{printable(fact.label)}: {printable(fact.value)}."


def find_fact(work: Work, target: Target) -> Steps[Fact]:
    """A value on this screen, further down on it, or in the place that is known for it."""
    place = find_place(target.name)
    screen = yield from work.look()
    fact = find_value(screen, target)
    if fact is None and (place is None or place.app == screen.package):
        fact, screen = yield from work.search(lambda screen: find_value(screen, target))
    if fact is None and place is not None:
        there = Target(place.label, place.label)
        fact, screen = yield from go_to_place(work, place, lambda screen: find_value(screen, there))
    if fact is not None:
        return fact
    if ranked(screen, target):
        raise ClawError(
            "VALUE_NODE_NOT_FOUND",
            f"{shown(target.words)} is on the screen, and no value stands beside it",
            operation="read",
            target=target.words,
        )
    raise missing(target, screen)


def check(work: Work, asked: Check) -> Steps[str]:
    so, sentence = yield from _look_whether(work, asked)
    if asked.must and not so:
        raise ClawError("INSTRUCTION_CHECK_FAILED", sentence, operation="check", target=asked.target.words)
    return f"{'Yes' if so else 'No'}: {sentence}."


def _look_whether(work: Work, asked: Check) -> Steps[tuple[bool, str]]:
    """Whether it is as asked, and what is so, in words."""
    name = shown(asked.target.words)
    if asked.state:
        label, control, target, _ = yield from find_control(work, asked.target)
        state = "on" if is_on(control) else "off"
        return (state == asked.state) == asked.holds, f"{told(label, target)} is {state}"
    if asked.value:
        fact = yield from find_fact(work, asked.target)
        told_so, wanted = squash(fact.value), squash(asked.value)
        same = told_so == wanted if wanted else fact.value == asked.value
        return same == asked.holds, f"{shown(fact.label)} is {shown(fact.value)}"

    def as_asked(screen: Screen) -> bool | None:
        return bool(ranked(screen, asked.target)) == asked.holds or None

    if asked.must:  # what has to be so may need a moment
        so, _ = yield from work.await_on_screen(as_asked)
    else:
        so = as_asked((yield from work.look()))
    return bool(so), f"{name} is {'' if bool(so) == asked.holds else 'not '}on the screen"


def wait_for(work: Work, asked: WaitFor) -> Steps[str]:
    screen = yield from work.look()
    if ranked(screen, asked.target):
        return f"{shown(asked.target.words)} is on the screen."
    matcher = {"textEquals" if asked.target.exact else "textContains": asked.target.name or asked.target.words}
    yield from work.act("wait_for_node", {"matcher": matcher, "timeoutMs": round(asked.seconds * 1000)})
    return f"{shown(asked.target.words)} is on the screen."


def pause(work: Work, asked: Pause) -> Steps[str]:
    yield from work.act("sleep", {"durationMs": round(asked.seconds * 1000)})
    return f"Waited {asked.seconds:g} s."
