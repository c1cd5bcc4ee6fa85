"""Touching, typing and scrolling: what is done to things on the screen."""

from typing import Any

from clawperator.agent.offline.handlers.apps import open_app, open_named
from clawperator.agent.offline.instructions import (
    Clear,
    Direction,
    GoTo,
    Open,
    Press,
    Scroll,
    Search,
    Seek,
    Tap,
    TapAt,
    Target,
    Type,
)
from clawperator.agent.offline.known_places import as_link, known_app
from clawperator.agent.offline.labels import SEEN, is_field, label_of, shown, words
from clawperator.agent.offline.run import MOST_SCROLLS, STILL_LOOKS, Steps, Work, aim, find_matcher, has_changed
from clawperator.agent.offline.screens import (
    FIELD,
    Screen,
    choose,
    find_field,
    is_disabled,
    missing,
    ranked,
)
from clawperator.agent.tools.messages import effect
from clawperator.connection.results import number
from clawperator.errors import ClawError
from clawperator.ui.node import Node

_MOST_TO_END = 3 * MOST_SCROLLS
_SEARCH = Target("search", "search")
# The names of buttons that empty a field. Nothing else that begins with "clear" is touched for it.
_CLEAR = tuple(Target(name, name, exact=True) for name in ("clear", "clear text", "clear query", "clear search"))
_KEYS = {"back": "Pressed Back", "home": "Went to the home screen", "recents": "Opened the recent apps"}
# Things whose name may stand for a field that comes when they are tapped.
_FIELD_WAYS = ("search", "address", "url")


def told(node: Node, target: Target) -> str:
    """What a node is called in an answer: by its label or the first in it, or else as it was asked for."""
    return shown((node.content_desc if is_field(node) else label_of(node)) or target.words)


def tap(work: Work, asked: Tap) -> Steps[str]:
    node, screen = yield from work.search(lambda screen: _find(screen, asked.target))
    node = node or choose(screen, asked.target)  # a label that takes no click is touched only for want of another
    if node is not None and is_disabled(node, hold=asked.hold):
        node, screen = yield from _await_enabled(work, asked)
    if node is None:
        raise missing(asked.target, screen)
    params = aim(screen, node) | ({"clickType": "long_click"} if asked.hold else {})
    done = yield from work.act("click", params)
    return f"{_touched(told(node, asked.target), hold=asked.hold)}; {effect(done)}."


def go_to(work: Work, asked: GoTo) -> Steps[str]:
    """Open a known app or link; tap anything else."""
    name = asked.target.name
    if as_link(name) or known_app(name):
        return (yield from open_named(work, Open(name)))
    return (yield from tap(work, Tap(asked.target)))


def _find(screen: Screen, target: Target) -> Node | None:
    """What takes a click and is called so; a field may be called as one that is typed into."""
    node = choose(screen, target, sure=True)
    return find_field(screen, target) if node is None and target.role == "textfield" else node


def _await_enabled(work: Work, asked: Tap) -> Steps[tuple[Node | None, Screen]]:
    """What is disabled may be so for a moment only: it is waited for as long as something else changes."""

    def find(screen: Screen) -> Node | None:
        node = _find(screen, asked.target)
        return None if node is None or is_disabled(node, hold=asked.hold) else node

    node, screen = yield from work.await_on_screen(find, still_looks=STILL_LOOKS)
    disabled = _find(screen, asked.target) if node is None else None
    if disabled is not None:
        raise ClawError(
            "NODE_NOT_CLICKABLE",
            f"{told(disabled, asked.target)} is disabled, and was not touched",
            hint="Do first what the app waits for: run 'claw bootstrap \"describe the screen\"' for what it says.",
            operation="tap",
            target=asked.target.words,
        )
    return node, screen


def _touched(name: str, *, hold: bool) -> str:
    return f"Pressed {name} long" if hold else f"Tapped {name}"


def tap_at(work: Work, asked: TapAt) -> Steps[str]:
    params: dict[str, Any] = {"coordinate": {"x": asked.x, "y": asked.y}}
    done = yield from work.act("click", params | ({"clickType": "long_click"} if asked.hold else {}))
    return f"{_touched(f'the point ({asked.x}, {asked.y})', hold=asked.hold)}; {effect(done)}."


def press(work: Work, asked: Press) -> Steps[str]:
    done = yield from work.act("press_key", {"key": asked.key})
    if asked.times == 1:
        return f"{_KEYS[asked.key]}; {effect(done)}."
    changes = int(has_changed(done))
    for _ in range(asked.times - 1):
        done = yield from work.act("press_key", {"key": asked.key})
        changes += has_changed(done)
    came = f"the screen changed {changes} times" if 0 < changes < asked.times else effect(done)
    return f"{_KEYS[asked.key]} {asked.times} times; {came}."


# Typing


def type_text(work: Work, asked: Type) -> Steps[str]:
    field, screen = yield from work.search(lambda screen: _field_or_way(screen, asked.field))
    if field is None:
        raise _no_field(asked.field, screen)
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
    """A field, or else something to tap that has its name and is known to bring a field."""
    field = find_field(screen, target)
    if field is not None or target is None or words(target.name).isdisjoint(_FIELD_WAYS):
        return field
    way = Target(target.words, target.name, target.ordinal, "button", target.exact)
    return choose(screen, way, sure=True)


def _no_field(target: Target | None, screen: Screen) -> ClawError:
    fields = [node for node in screen.nodes if is_field(node)]
    if target is None or not fields:
        return ClawError(
            "NODE_NOT_FOUND",
            "the screen has no text field",
            hint="Open the page or tap the icon that has it first.",
            operation="find",
            target=FIELD.words,
        )
    error = missing(target, screen, "that takes text", [label_of(field) for field in fields])
    return error.with_(hint="Say 'into' and the name of a field, and quote a text with 'in' or 'as' in it.")


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
        raise _no_field(asked.field, screen)
    name, held = shown(asked.field.words), field.text
    button = next((node for names in _CLEAR if (node := choose(screen, names)) is not None), None)
    if button is None:
        raise ClawError(
            "NODE_NOT_FOUND",
            f"the screen has no button that clears {name}; type another text over it instead",
            operation="find",
            target=asked.field.words,
        )
    done = yield from work.act("click", aim(screen, button))
    after, _ = yield from work.await_on_screen(
        lambda screen: _emptied(screen, asked.field, held), still_looks=STILL_LOOKS
    )
    if after is None:
        raise ClawError(
            "INSTRUCTION_CHECK_FAILED",
            f"{told(button, asked.field)} was tapped, and {name} says what it said before; {effect(done)}",
            operation="clear",
            target=asked.field.words,
        )
    return f"Cleared {name}; {effect(done)}."


def _emptied(screen: Screen, target: Target, held: str) -> bool | None:
    """Whether a field no longer says what it held; None while it does. Emptied, it may have lost its name too."""
    field = find_field(screen, target)
    return None if field is not None and field.text == held else True


# Scrolling


def scroll(work: Work, asked: Scroll) -> Steps[str]:
    if asked.times == 0:
        return (yield from _scroll_to_end(work, asked.direction))
    for done in range(asked.times):
        if not (yield from work.swipe(asked.direction, {})):
            return _told_scrolls(asked.direction, done)
    return f"Scrolled {asked.direction}{_times(asked.times)}; the screen changed."


def _times(count: int) -> str:
    return f" {count} times" if count > 1 else ""


def _told_scrolls(direction: Direction, count: int) -> str:
    """What can be said when nothing moves any more: it is the end, or swipes get lost."""
    if not count:
        return f"Scrolled {direction}; nothing changed on the screen."
    return f"Scrolled {direction}{_times(count)}, until nothing changed on the screen any more."


def _scroll_to_end(work: Work, direction: Direction) -> Steps[str]:
    moves = 0
    while moves < _MOST_TO_END:
        done = yield from work.act("scroll_until", {"direction": direction, "maxScrolls": _MOST_TO_END - moves})
        at_edge = done.get("termination_reason") == "EDGE_REACHED"
        moves += max(number(done, "scrolls_executed") - at_edge, 0)  # the last one moved nothing
        if not at_edge:
            break
        if not (yield from work.swipe(direction, {})):
            return _told_scrolls(direction, moves)
        moves += 1
    return f"Scrolled {direction}{_times(moves)}; there is more."


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
    return next((node for nodes in ranked(screen, target, SEEN) for node in nodes), None)
