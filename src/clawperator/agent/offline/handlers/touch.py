"""Handlers for taps, keys, text entry and scrolling."""

from typing import Any

from clawperator.agent.offline.handlers.apps import open_app, open_app_or_link, open_page
from clawperator.agent.offline.instructions import (
    ClearInstruction,
    Direction,
    GoToInstruction,
    OpenInstruction,
    OpenPageInstruction,
    PressKeyInstruction,
    ScrollInstruction,
    ScrollToInstruction,
    SearchInstruction,
    TapAtInstruction,
    TapInstruction,
    TargetPhrase,
    TypeInstruction,
)
from clawperator.agent.offline.known_places import find_titled_page, known_app, parse_link
from clawperator.agent.offline.labels import TO_SEE, display_label, quote, word_set
from clawperator.agent.offline.run import (
    MAX_SCROLLS,
    STABLE_CAPTURES,
    OfflineRun,
    ToolSteps,
    click_params,
    find_matcher,
    has_changed,
)
from clawperator.agent.offline.screens import (
    ANY_FIELD,
    CapturedScreen,
    choose_node,
    describe_node,
    find_candidates,
    find_field,
    is_disabled,
    not_found_error,
    reject_typo,
)
from clawperator.agent.tools.messages import effect
from clawperator.api.results import read_count
from clawperator.errors import ClawError
from clawperator.ui.node import Node, is_field

_MAX_SCROLLS_TO_END = 3 * MAX_SCROLLS
_SEARCH = TargetPhrase("search", "search")
# Names of buttons that clear a field. No other button that begins with "clear" is tapped.
_CLEAR = tuple(
    TargetPhrase(name, name, exact=True) for name in ("clear", "clear text", "clear query", "clear search")
)
_KEYS = {"back": "Pressed Back", "home": "Went to the home screen", "recents": "Opened the recent apps"}
# Names of elements that show a field when tapped.
_FIELD_OPENERS = ("search", "address", "url")


def tap(run: OfflineRun, instruction: TapInstruction) -> ToolSteps[str]:
    screen = yield from run.capture()
    node = _find(screen, instruction.target)
    if node is None:
        reject_typo(screen, instruction.target)
        node, screen = yield from run.scroll_to_find(lambda screen: _find(screen, instruction.target))
    node = node or choose_node(screen, instruction.target)  # an unclickable label is the last choice
    if node is not None and is_disabled(node, hold=instruction.hold):
        node, screen = yield from _wait_until_enabled(run, instruction)
    if node is None:
        raise not_found_error(instruction.target, screen)
    params = click_params(screen, node) | ({"clickType": "long_click"} if instruction.hold else {})
    result = yield from run.run_action("click", params)
    return f"{_describe_tap(describe_node(node, instruction.target), hold=instruction.hold)}; {effect(result)}."


def go_to(run: OfflineRun, instruction: GoToInstruction) -> ToolSteps[str]:
    """Open a known app or link; tap anything else."""
    name = instruction.target.name
    if parse_link(name) or known_app(name):
        return (yield from open_app_or_link(run, OpenInstruction(name)))
    page = None if instruction.target.exact else find_titled_page(name)
    if page is not None and _find((yield from run.capture()), instruction.target) is None:
        return (yield from open_page(run, OpenPageInstruction(page.rows, page.title)))
    return (yield from tap(run, TapInstruction(instruction.target)))


def _find(screen: CapturedScreen, target: TargetPhrase) -> Node | None:
    """The clickable node of a target; for a field also by the names that typing accepts."""
    node = choose_node(screen, target, clickable_only=True)
    return find_field(screen, target) if node is None and target.role == "textfield" else node


def _wait_until_enabled(
    run: OfflineRun, instruction: TapInstruction
) -> ToolSteps[tuple[Node | None, CapturedScreen]]:
    """Wait for a disabled element as long as the screen changes."""

    def find(screen: CapturedScreen) -> Node | None:
        node = _find(screen, instruction.target)
        return None if node is None or is_disabled(node, hold=instruction.hold) else node

    node, screen = yield from run.wait_on_screen(find, stable_captures=STABLE_CAPTURES)
    disabled = _find(screen, instruction.target) if node is None else None
    if disabled is not None:
        raise ClawError(
            "NODE_NOT_CLICKABLE",
            f"{describe_node(disabled, instruction.target)} is disabled and was not tapped",
            hint="Run 'claw bootstrap \"describe the screen\"' to see what the app requires first.",
            operation="tap",
            target=instruction.target.phrase,
        )
    return node, screen


def _describe_tap(name: str, *, hold: bool) -> str:
    return f"Long-pressed {name}" if hold else f"Tapped {name}"


def tap_at(run: OfflineRun, instruction: TapAtInstruction) -> ToolSteps[str]:
    params: dict[str, Any] = {"coordinate": {"x": instruction.x, "y": instruction.y}}
    result = yield from run.run_action("click", params | ({"clickType": "long_click"} if instruction.hold else {}))
    point = f"the point ({instruction.x}, {instruction.y})"
    return f"{_describe_tap(point, hold=instruction.hold)}; {effect(result)}."


def press(run: OfflineRun, instruction: PressKeyInstruction) -> ToolSteps[str]:
    result = yield from run.run_action("press_key", {"key": instruction.key})
    if instruction.times == 1:
        return f"{_KEYS[instruction.key]}; {effect(result)}."
    changes = int(has_changed(result))
    for _ in range(instruction.times - 1):
        result = yield from run.run_action("press_key", {"key": instruction.key})
        changes += has_changed(result)
    outcome = f"the screen changed {changes} times" if 0 < changes < instruction.times else effect(result)
    return f"{_KEYS[instruction.key]} {instruction.times} times; {outcome}."


# Typing


def type_text(run: OfflineRun, instruction: TypeInstruction) -> ToolSteps[str]:
    field, screen = yield from run.scroll_to_find(lambda screen: _field_or_opener(screen, instruction.field))
    if field is None:
        raise _no_field_error(instruction.field, screen)
    before = ""
    if not is_field(field):
        before, field, screen = yield from _open_field(run, screen, field)
    target = instruction.field or ANY_FIELD
    result = yield from enter_text(run, screen, field, instruction.text, submit=instruction.submit)
    secret = field.flag("password")
    where = quote(field.content_desc or target.phrase)
    what = "the text" if secret else quote(instruction.text)
    return f"{before}Typed {what} into {where}{' and submitted it' * instruction.submit}; {effect(result)}."


def _field_or_opener(screen: CapturedScreen, target: TargetPhrase | None) -> Node | None:
    """A field, or an element of that name that shows a field when tapped."""
    field = find_field(screen, target)
    if field is not None or target is None or word_set(target.name).isdisjoint(_FIELD_OPENERS):
        return field
    opener = TargetPhrase(target.phrase, target.name, target.ordinal, "button", target.exact)
    return choose_node(screen, opener, clickable_only=True)


def _no_field_error(target: TargetPhrase | None, screen: CapturedScreen) -> ClawError:
    fields = [node for node in screen.nodes if is_field(node)]
    if target is None or not fields:
        return ClawError(
            "NODE_NOT_FOUND",
            "the screen has no text field",
            hint="First open the page or tap the icon that shows the field.",
            operation="find",
            target=ANY_FIELD.phrase,
        )
    error = not_found_error(target, screen, "that takes text", [display_label(field) for field in fields])
    return error.with_(hint="Write 'into' and the name of the field, and quote a text that contains 'in' or 'as'.")


def _open_field(
    run: OfflineRun, screen: CapturedScreen, node: Node
) -> ToolSteps[tuple[str, Node, CapturedScreen]]:
    """Tap the element that shows a field. Returns the answer so far, the field and the screen."""
    name = describe_node(node, _SEARCH)
    yield from run.run_action("click", click_params(screen, node))
    field, screen = yield from run.wait_on_screen(lambda screen: find_field(screen, None))
    if field is None:
        raise ClawError(
            "NODE_NOT_FOUND", f"no text field appeared after tapping {name}", operation="find", target=name
        )
    return f"Tapped {name}. ", field, screen


def enter_text(
    run: OfflineRun, screen: CapturedScreen, field: Node, text: str, *, submit: bool
) -> ToolSteps[dict[str, str]]:
    matcher = find_matcher(screen, field)
    if matcher is None:
        raise ClawError(
            "INSTRUCTION_AMBIGUOUS",
            "the field cannot be distinguished from the others; nothing was typed",
            operation="find",
            target=field.resource_id,
        )
    params = {"matcher": matcher, "text": text, "clear": True, "submit": submit}
    return dict((yield from run.run_action("enter_text", params)))


def search(run: OfflineRun, instruction: SearchInstruction) -> ToolSteps[str]:
    before = (yield from open_app(run, instruction.app)) + " " if instruction.app else ""
    found, screen = yield from run.wait_on_screen(lambda screen: _field_or_opener(screen, _SEARCH))
    if found is None:
        raise not_found_error(_SEARCH, screen)
    field = found
    if not is_field(field):
        tapped, field, screen = yield from _open_field(run, screen, field)
        before += tapped
    result = yield from enter_text(run, screen, field, instruction.text, submit=True)
    return f"{before}Searched for {quote(instruction.text)}; {effect(result)}."


def clear(run: OfflineRun, instruction: ClearInstruction) -> ToolSteps[str]:
    """Clear a field by the app's own button: an action cannot type an empty text."""
    field, screen = yield from run.wait_on_screen(lambda screen: find_field(screen, instruction.field))
    if field is None:
        raise _no_field_error(instruction.field, screen)
    name, old_text = quote(instruction.field.phrase), field.text
    button = next((node for names in _CLEAR if (node := choose_node(screen, names)) is not None), None)
    if button is None:
        raise ClawError(
            "NODE_NOT_FOUND",
            f"the screen has no button that clears {name}; type a new text instead",
            operation="find",
            target=instruction.field.phrase,
        )
    result = yield from run.run_action("click", click_params(screen, button))
    after, _ = yield from run.wait_on_screen(
        lambda screen: _is_cleared(screen, instruction.field, old_text), stable_captures=STABLE_CAPTURES
    )
    if after is None:
        raise ClawError(
            "INSTRUCTION_CHECK_FAILED",
            f"{describe_node(button, instruction.field)} was tapped, but {name} kept its text; {effect(result)}",
            operation="clear",
            target=instruction.field.phrase,
        )
    return f"Cleared {name}; {effect(result)}."


def _is_cleared(screen: CapturedScreen, target: TargetPhrase, old_text: str) -> bool | None:
    """True when the field's text is gone; None while it is there. A cleared field may no longer match its name."""
    field = find_field(screen, target)
    return None if field is not None and field.text == old_text else True


# Scrolling


def scroll(run: OfflineRun, instruction: ScrollInstruction) -> ToolSteps[str]:
    if instruction.times == 0:
        return (yield from _scroll_to_end(run, instruction.direction))
    for count in range(instruction.times):
        if not (yield from run.scroll_once(instruction.direction, {})):
            return _describe_scrolls(instruction.direction, count)
    return f"Scrolled {instruction.direction}{_times(instruction.times)}; the screen changed."


def _times(count: int) -> str:
    return f" {count} times" if count > 1 else ""


def _describe_scrolls(direction: Direction, count: int) -> str:
    """The answer when nothing moves any more: the end is reached, or gestures get lost."""
    if not count:
        return f"Scrolled {direction}; nothing changed on the screen."
    return f"Scrolled {direction}{_times(count)}, until nothing changed on the screen any more."


def _scroll_to_end(run: OfflineRun, direction: Direction) -> ToolSteps[str]:
    moves = 0
    while moves < _MAX_SCROLLS_TO_END:
        result = yield from run.run_action(
            "scroll_until", {"direction": direction, "maxScrolls": _MAX_SCROLLS_TO_END - moves}
        )
        at_edge = result.get("termination_reason") == "EDGE_REACHED"
        moves += max(read_count(result, "scrolls_executed") - at_edge, 0)  # the last scroll moved nothing
        if not at_edge:
            break
        if not (yield from run.scroll_once(direction, {})):
            return _describe_scrolls(direction, moves)
        moves += 1
    return f"Scrolled {direction}{_times(moves)}; the end was not reached."


def scroll_to(run: OfflineRun, instruction: ScrollToInstruction) -> ToolSteps[str]:
    screen = yield from run.capture()
    node = _first_candidate(screen, instruction.target)
    if node is not None:
        return f"{describe_node(node, instruction.target)} is already on the screen."
    node, screen = yield from run.scroll_to_find(lambda screen: _first_candidate(screen, instruction.target))
    if node is None:
        raise not_found_error(instruction.target, screen)
    return f"Scrolled to {describe_node(node, instruction.target)}."


def _first_candidate(screen: CapturedScreen, target: TargetPhrase) -> Node | None:
    return next((node for nodes in find_candidates(screen, target, TO_SEE) for node in nodes), None)
