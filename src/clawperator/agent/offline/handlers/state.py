"""Read, check, wait for and change the state of elements on the screen."""

import re
import time

from clawperator._text import one_line
from clawperator.agent.offline.handlers.apps import go_to_place, is_at
from clawperator.agent.offline.handlers.touch import told
from clawperator.agent.offline.instructions import Check, Describe, Pause, Read, Settle, Target, Turn, WaitFor
from clawperator.agent.offline.known_places import find_place, squash
from clawperator.agent.offline.labels import READ, SEEN, WHOLE, holder, label_of, shown, state_beside
from clawperator.agent.offline.run import Steps, Work, aim
from clawperator.agent.offline.screens import (
    Fact,
    Screen,
    choose,
    find_switch,
    find_value,
    is_disabled,
    is_on,
    missing,
    ranked,
)
from clawperator.agent.tools.messages import effect
from clawperator.errors import ClawError
from clawperator.ui.node import Node


def turn(work: Work, asked: Turn) -> Steps[str]:
    label, control, target, screen = yield from find_control(work, asked.target)
    on = not is_on(control) if asked.on is None else asked.on
    name, wanted = told(label, target), "on" if on else "off"
    if is_on(control) == on and (yield from work.agree(on, lambda: _look_at(work, target, on))) == on:
        return f"{name} is already {wanted}."
    if not on and "radiobutton" in control.class_name.lower():
        raise _not_turned(
            f"{name} is one of several, and is off only when another is on; it was not touched",
            asked,
            hint="Tap the one that is to be on.",
        )
    if is_disabled(label):
        raise _not_turned(f"{name} is disabled, and was not touched", asked, code="NODE_NOT_CLICKABLE")
    done = yield from work.act("click", aim(screen, label))
    after, screen = yield from work.await_on_screen(lambda screen: _turned(screen, target, on=on))
    if after is None:
        now = f"is not {wanted}" if find_switch(screen, target) else "is no longer on the screen"
        raise _not_turned(
            f"{name} was tapped and {now}; {effect(done)}",
            asked,
            hint="Run 'claw bootstrap \"describe the screen\"' for what came of it.",
        )
    return f"Turned {name} {wanted}."


def _not_turned(
    message: str, asked: Turn, *, code: str = "INSTRUCTION_CHECK_FAILED", hint: str | None = None
) -> ClawError:
    return ClawError(code, message, hint=hint, operation="turn", target=asked.target.words)


def _look_at(work: Work, target: Target, otherwise: bool) -> Steps[bool]:  # noqa: FBT001 - a switch is on or off
    """Whether the switch is on now; what was known before when it cannot be seen."""
    found = find_switch((yield from work.look()), target)
    return otherwise if found is None else is_on(found[1])


def _turned(screen: Screen, target: Target, *, on: bool) -> Node | None:
    found = find_switch(screen, target)
    return found[1] if found is not None and is_on(found[1]) == on else None


def find_control(work: Work, target: Target) -> Steps[tuple[Node, Node, Target, Screen]]:
    """A label, its switch, the name they have and the screen they are on: this one, or the place known for it."""
    place = None if target.exact else find_place(target.name)
    there = target if place is None else Target(place.label, place.label)
    screen = yield from work.look()
    found = find_switch(screen, target)
    if found is None and (place is None or is_at(screen, place)):
        target = there
        found, screen = yield from work.search(lambda screen: find_switch(screen, there))
    if found is None and place is not None:
        target = there
        found, screen = yield from go_to_place(work, place, lambda screen: find_switch(screen, there))
    if found is None:
        raise missing(target, screen, "that can be on or off")
    return *found, target, screen


_MOST_LABELS = 40
_LONGEST_VALUE = 400
_BETWEEN = re.compile(r"\s*,\s*(?:and\s+)?|\s+and\s+", re.IGNORECASE)


def describe(work: Work, _asked: Describe) -> Steps[str]:
    _, screen = yield from work.await_on_screen(lambda screen: None if screen.is_loading else screen)
    labels = list(dict.fromkeys(screen.labels))
    if not labels:
        return f"{screen.package or 'An unknown app'} is in front, and nothing on it can be read."
    more = f", and {len(labels) - _MOST_LABELS} more" if len(labels) > _MOST_LABELS else ""
    return f"{screen.package or 'The screen'} shows: {', '.join(map(shown, labels[:_MOST_LABELS]))}{more}."


# Values


def read(work: Work, asked: Read) -> Steps[str]:
    told_facts = []
    for target in (yield from _each(work, asked.target)):
        fact = yield from find_fact(work, target)
        told_facts.append(f"{one_line(fact.label)}: {one_line(fact.value, _LONGEST_VALUE)}.")
    return " ".join(told_facts)


def _each(work: Work, target: Target) -> Steps[list[Target]]:
    """The things that are asked for: one, unless the name is a list and nothing has it as a whole."""
    names = _BETWEEN.split(target.words)
    if len(names) == 1 or not all(names) or target.exact or target.ordinal:
        return [target]
    screen = yield from work.look()
    return [target] if ranked(screen, target, READ) else [Target(name, name) for name in names]


def find_fact(work: Work, target: Target) -> Steps[Fact]:
    """A value on this screen, further down on it, or in the place that is known for it."""
    place = None if target.exact else find_place(target.name)
    most = READ if place is None else WHOLE
    there = target if place is None else Target(place.label, place.label)
    screen = yield from work.look()
    fact = find_value(screen, target, most)
    if fact is None and (place is None or is_at(screen, place)):
        fact, screen = yield from work.search(lambda screen: find_value(screen, there, most))
    if fact is None and place is not None:
        fact, screen = yield from go_to_place(work, place, lambda screen: find_value(screen, there, most))
    if fact is not None:
        return fact
    if ranked(screen, target, READ):
        raise ClawError(
            "VALUE_NODE_NOT_FOUND",
            f"{shown(target.words)} is on the screen, and no value stands beside it",
            operation="read",
            target=target.words,
        )
    raise missing(target, screen)


# Whether it is so


def check(work: Work, asked: Check) -> Steps[str]:
    so, sentence = yield from _look_whether(work, asked)
    if asked.must and not so:
        raise ClawError("INSTRUCTION_CHECK_FAILED", sentence, operation="check", target=asked.target.words)
    return f"{'Yes' if so else 'No'}: {sentence}."


def _look_whether(work: Work, asked: Check) -> Steps[tuple[bool, str]]:
    """Whether it is as asked, and what is so, in words."""
    if asked.value:
        fact = yield from find_fact(work, asked.target)
        told_so, wanted = squash(fact.value), squash(asked.value)
        same = told_so == wanted if wanted else fact.value == asked.value
        return same == asked.holds, f"{shown(fact.label)} is {shown(fact.value)}"
    if asked.state:
        first = yield from _find_state(work, asked)
        on, sentence = yield from work.agree(first, lambda: _find_state(work, asked))
        return (on == (asked.state == "on")) == asked.holds, sentence
    screen = yield from work.look()
    if asked.must and not is_shown(screen, asked):  # what has to be so may need a moment
        _, screen = yield from work.await_on_screen(lambda screen: is_shown(screen, asked) or None)
    return is_shown(screen, asked), tell_shown(screen, asked.target)


def _find_state(work: Work, asked: Check) -> Steps[tuple[bool, str]]:
    """Whether something is on, on this screen or where it is known to be, and that in words."""
    here = state_on((yield from work.look()), asked)
    if here is not None:
        return here
    label, control, target, _ = yield from find_control(work, asked.target)
    return is_on(control), f"{told(label, target)} is {'on' if is_on(control) else 'off'}"


def is_shown(screen: Screen, asked: Check) -> bool:
    """Whether something is on the screen, or is not, as asked."""
    return bool(ranked(screen, asked.target, SEEN)) == asked.holds


def tell_shown(screen: Screen, target: Target) -> str:
    """What is on the screen, by its own label, or what is not."""
    found = next((node for nodes in ranked(screen, target, SEEN) for node in nodes), None)
    if found is None:
        return f"{shown(target.words)} is not on the screen"
    return f"{shown(label_of(found) or target.words)} is on the screen"


def state_on(screen: Screen, asked: Check) -> tuple[bool, str] | None:
    """Whether something on this screen is on, by its switch, by what it is itself, or by what stands beside it."""
    found = find_switch(screen, asked.target)
    if found is not None:
        label, control = found
        return is_on(control), f"{told(label, asked.target)} is {'on' if is_on(control) else 'off'}"
    if find_place(asked.target.name) and not asked.target.exact:
        return None
    node = choose(screen, asked.target) if asked.sense else None
    if node is not None and asked.sense == "enabled":
        able = not is_disabled(node)
        return able, f"{told(node, asked.target)} is {'enabled' if able else 'disabled'}"
    if node is not None:
        chosen = node.flag("selected") or ((above := holder(node)) is not None and above.flag("selected"))
        return chosen, f"{told(node, asked.target)} is {'' if chosen else 'not '}selected"
    for nodes in ranked(screen, asked.target, WHOLE):
        said = {word for each in nodes if (word := state_beside(each))}
        if len(said) == 1:
            word = said.pop()
            return word == "on", f"{told(nodes[0], asked.target)} is {word}"
    return None


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
        work.deadline.sleep(min(rest, left))
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
