"""Switches: finding the one that is meant, on this screen or where it is known to be, and turning it."""

from clawperator.agent.offline.controls import find_switch, is_on
from clawperator.agent.offline.handlers.apps import go_to_place, is_at
from clawperator.agent.offline.handlers.touch import told
from clawperator.agent.offline.instructions import Target, Turn
from clawperator.agent.offline.known_places import find_place
from clawperator.agent.offline.run import Steps, Work
from clawperator.agent.offline.screens import Screen, aim, is_disabled, missing
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
