"""Touching, typing, turning and scrolling: what is done to things on the screen."""

from clawperator.agent.brains.controls import FIELD, find_field, find_switch, is_on
from clawperator.agent.brains.instructions import (
    Clear,
    Press,
    Scroll,
    Search,
    Seek,
    Tap,
    Target,
    Turn,
    Type,
)
from clawperator.agent.brains.names import own_label, shown
from clawperator.agent.brains.opening import go_to_place, open_app
from clawperator.agent.brains.places import find_place
from clawperator.agent.brains.screens import Screen, aim, choose, find_matcher, is_field, missing, ranked
from clawperator.agent.brains.targets import is_bare
from clawperator.agent.brains.work import MOST_SCROLLS, Steps, Work, effect
from clawperator.contract.errors import ClawError
from clawperator.ui.node import Node

_SEARCH = Target("search", "search")
_CLEAR = Target("clear", "clear")
_KEYS = {"back": "Pressed Back", "home": "Went to the home screen", "recents": "Opened the recent apps"}


def told(node: Node, target: Target) -> str:
    """What a node is called in an answer: by its label, or else as it was asked for."""
    return shown(own_label(node) or target.words)


def tap(work: Work, asked: Tap) -> Steps[str]:
    node, screen = yield from work.search(lambda screen: choose(screen, asked.target, sure=True))
    node = node or choose(screen, asked.target)  # a label that takes no click is touched only for want of another
    if node is None:
        raise missing(asked.target, screen)
    params = aim(screen, node) | ({"clickType": "long_click"} if asked.hold else {})
    done = yield from work.act("click", params)
    name = told(node, asked.target)
    return f"{f'Pressed {name} long' if asked.hold else f'Tapped {name}'}; {effect(done)}."


def press(work: Work, asked: Press) -> Steps[str]:
    done = {}
    for _ in range(asked.times):
        done = dict((yield from work.act("press_key", {"key": asked.key})))
    times = f" {asked.times} times" if asked.times > 1 else ""
    return f"{_KEYS[asked.key]}{times}; {effect(done)}."


# Typing


def type_text(work: Work, asked: Type) -> Steps[str]:
    field, screen = yield from work.search(lambda screen: _field_or_way(screen, asked.field))
    if field is None:
        raise missing(asked.field or FIELD, screen)
    before = ""
    if not is_field(field):
        before, field, screen = yield from _open_field(work, screen, field)
    target = asked.field or FIELD
    done = yield from _enter(work, screen, field, asked.text, submit=asked.submit)
    secret = field.flag("password")
    where = shown(field.content_desc or target.words)
    what = "the text" if secret else shown(asked.text)
    return f"{before}Typed {what} into {where}{' and submitted it' * asked.submit}; {effect(done)}."


def _field_or_way(screen: Screen, target: Target | None) -> Node | None:
    """A field, or else something to tap that has its name and may bring the field."""
    field = find_field(screen, target)
    if field is not None or target is None or is_bare(target):
        return field
    way = Target(target.words, target.name, target.ordinal, "button", target.exact)
    return choose(screen, way, sure=True)


def _open_field(work: Work, screen: Screen, node: Node) -> Steps[tuple[str, Node, Screen]]:
    """Tap what brings the field, and give the field."""
    name = told(node, _SEARCH)
    yield from work.act("click", aim(screen, node))
    field, screen = yield from work.await_on_screen(lambda screen: find_field(screen, None))
    if field is None:
        raise ClawError(
            "NODE_NOT_FOUND", f"{name} was tapped, and no text field came", operation="find", target=name
        )
    return f"Tapped {name}. ", field, screen


def _enter(work: Work, screen: Screen, field: Node, text: str, *, submit: bool) -> Steps[dict[str, str]]:
    matcher = find_matcher(screen, field)
    if matcher is None:
        raise ClawError(
            "INSTRUCTION_AMBIGUOUS",
            "the field has nothing that tells it from the others, and nothing was typed",
            operation="find",
            target=field.resource_id,
        )
    params = {"matcher": matcher, "text": text, "clear": True, "submit": submit}
    return dict((yield from work.act("enter_text", params)))


def search(work: Work, asked: Search) -> Steps[str]:
    before = (yield from open_app(work, asked.app)) + " " if asked.app else ""
    found, screen = yield from work.await_on_screen(lambda screen: _field_or_way(screen, _SEARCH))
    if found is None:
        raise missing(_SEARCH, screen)
    field = found
    if not is_field(field):
        tapped, field, screen = yield from _open_field(work, screen, field)
        before += tapped
    done = yield from _enter(work, screen, field, asked.text, submit=True)
    return f"{before}Searched for {shown(asked.text)}; {effect(done)}."


def clear(work: Work, asked: Clear) -> Steps[str]:
    """A field is emptied by the button the app has for that: an action cannot type nothing."""
    field, screen = yield from work.await_on_screen(lambda screen: find_field(screen, asked.field))
    if field is None:
        raise missing(asked.field, screen)
    button = choose(screen, _CLEAR)
    if button is None:
        raise ClawError(
            "NODE_NOT_FOUND",
            f"the screen has no button that clears {shown(asked.field.words)}; type another text over it instead",
            operation="find",
            target=asked.field.words,
        )
    done = yield from work.act("click", aim(screen, button))
    return f"Cleared {shown(asked.field.words)}; {effect(done)}."


# Switches


def turn(work: Work, asked: Turn) -> Steps[str]:
    label, control, target, screen = yield from find_control(work, asked.target)
    name, wanted = told(label, target), "on" if asked.on else "off"
    if is_on(control) == asked.on:
        return f"{name} is already {wanted}."
    yield from work.act("click", aim(screen, label))
    after, _ = yield from work.await_on_screen(lambda screen: _turned(screen, target, on=asked.on))
    if after is None:
        raise ClawError(
            "INSTRUCTION_CHECK_FAILED",
            f"{name} was tapped and is not {wanted}",
            operation="turn",
            target=asked.target.words,
        )
    return f"Turned {name} {wanted}."


def _turned(screen: Screen, target: Target, *, on: bool) -> Node | None:
    found = find_switch(screen, target)
    return found[1] if found is not None and is_on(found[1]) == on else None


def find_control(work: Work, target: Target) -> Steps[tuple[Node, Node, Target, Screen]]:
    """A label, its switch, the name they have and the screen they are on: this one, or the place known for it."""
    place = find_place(target.name)
    screen = yield from work.look()
    found = find_switch(screen, target)
    if found is None and (place is None or place.app == screen.package):
        found, screen = yield from work.search(lambda screen: find_switch(screen, target))
    if found is None and place is not None:
        there = target = Target(place.label, place.label)
        found, screen = yield from go_to_place(work, place, lambda screen: find_switch(screen, there))
    if found is None:
        raise missing(target, screen, "that can be on or off")
    return *found, target, screen


# Scrolling


def scroll(work: Work, asked: Scroll) -> Steps[str]:
    if asked.times == 0:
        done = yield from work.act("scroll_until", {"direction": asked.direction, "maxScrolls": 3 * MOST_SCROLLS})
        reached = done.get("termination_reason") == "EDGE_REACHED"
        end = "top" if asked.direction == "up" else "end"
        return (
            f"Scrolled to the {end}."
            if reached
            else f"Scrolled {done.get('scrolls_executed', '')} times; there is more."
        )
    for _ in range(asked.times):
        done = yield from work.act("scroll", {"direction": asked.direction})
        if done.get("scroll_outcome") != "moved":
            return f"Scrolled {asked.direction}; that is the end, nothing moved."
    times = f" {asked.times} times" if asked.times > 1 else ""
    return f"Scrolled {asked.direction}{times}; the screen changed."


def seek(work: Work, asked: Seek) -> Steps[str]:
    screen = yield from work.look()
    node = _first(screen, asked.target)
    if node is not None:
        return f"{told(node, asked.target)} is on the screen already."
    node, screen = yield from work.search(lambda screen: _first(screen, asked.target))
    if node is None:
        raise missing(asked.target, screen)
    return f"Scrolled to {told(node, asked.target)}."


def _first(screen: Screen, target: Target) -> Node | None:
    return next((node for nodes in ranked(screen, target) for node in nodes), None)
