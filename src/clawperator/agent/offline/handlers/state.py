"""Read values, describe the screen, and set switches."""

from clawperator._base.text import is_blank, one_line
from clawperator.agent.offline.grammar import SentenceError, is_role_only, parse_target, split_list
from clawperator.agent.offline.handlers.apps import go_to_place, is_on_page
from clawperator.agent.offline.instructions import (
    DescribeScreenInstruction,
    ReadInstruction,
    SetSwitchInstruction,
    TargetPhrase,
)
from clawperator.agent.offline.known_places import KnownPlace, find_place
from clawperator.agent.offline.labels import TO_READ, WHOLE_NAME, display_label, enclosing_rows, quote
from clawperator.agent.offline.run import OfflineRun, ToolSteps, click_params
from clawperator.agent.offline.screens import (
    CapturedScreen,
    ScreenValue,
    choose_node,
    describe_node,
    find_candidates,
    find_switch,
    find_value,
    is_disabled,
    is_on,
    not_found_error,
    reject_typo,
)
from clawperator.agent.tools.messages import effect
from clawperator.errors import ClawError
from clawperator.ui.node import Node

_MAX_LABELS = 40
_MAX_VALUE_LENGTH = 400


# Switches


def set_switch(run: OfflineRun, instruction: SetSwitchInstruction) -> ToolSteps[str]:
    label, control, target, screen = yield from find_switch_anywhere(run, instruction.target)
    on = not is_on(control) if instruction.on is None else instruction.on
    name, wanted = _describe_switch(label, target), "on" if on else "off"
    if is_on(control) == on and (yield from run.confirm(on, lambda: _reread_switch(run, target, on))) == on:
        return f"{name} is already {wanted}."
    if not on and "radiobutton" in control.class_name.lower():
        raise _switch_error(
            f"{name} is a radio button and cannot be turned off; it was not tapped",
            instruction,
            hint="Tap the option that should be on.",
        )
    if is_disabled(label):
        raise _switch_error(f"{name} is disabled and was not tapped", instruction, code="NODE_NOT_CLICKABLE")
    result = yield from run.run_action("click", click_params(screen, label))
    after, screen = yield from run.wait_on_screen(lambda screen: _switch_in_state(screen, target, on=on))
    if after is None:
        now = f"is not {wanted}" if find_switch(screen, target) else "is no longer on the screen"
        raise _switch_error(
            f"{name} was tapped but {now}; {effect(result)}",
            instruction,
            hint="Run 'claw bootstrap \"describe the screen\"' to see the result.",
        )
    return f"Turned {name} {wanted}."


def _describe_switch(label: Node, target: TargetPhrase) -> str:
    """The name of a switch; of one without a label, the first label of its row."""
    if is_blank(display_label(label)):
        named = next((nodes[0] for _, nodes in enclosing_rows(label) if nodes), label)
        return describe_node(named, target)
    return describe_node(label, target)


def _switch_error(
    message: str,
    instruction: SetSwitchInstruction,
    *,
    code: str = "INSTRUCTION_CHECK_FAILED",
    hint: str | None = None,
) -> ClawError:
    return ClawError(code, message, hint=hint, operation="turn", target=instruction.target.phrase)


def _reread_switch(run: OfflineRun, target: TargetPhrase, otherwise: bool) -> ToolSteps[bool]:  # noqa: FBT001 - a switch is on or off
    """Whether the switch is on now; ``otherwise`` when it is not on the screen."""
    found = find_switch((yield from run.capture()), target)
    return otherwise if found is None else is_on(found[1])


def _switch_in_state(screen: CapturedScreen, target: TargetPhrase, *, on: bool) -> Node | None:
    found = find_switch(screen, target)
    return found[1] if found is not None and is_on(found[1]) == on else None


def find_switch_anywhere(
    run: OfflineRun, target: TargetPhrase
) -> ToolSteps[tuple[Node, Node, TargetPhrase, CapturedScreen]]:
    """A label, its switch, the matching target and the screen: the current one, or the known place's."""
    place = None if target.exact else find_place(target.name)
    known_target = target if place is None else TargetPhrase(place.label, place.label)
    screen = yield from run.capture()
    found = find_switch(screen, target)
    if found is None and place is None:
        reject_typo(screen, target)
    if found is None and (place is None or is_on_page(screen, place)):
        target = known_target
        found, screen = yield from run.scroll_to_find(lambda screen: find_switch(screen, known_target))
    if found is None and place is not None:
        target = known_target
        found, screen = yield from go_to_place(run, place, lambda screen: find_switch(screen, known_target))
    if found is None:
        raise not_found_error(target, screen, "with a switch")
    return *found, target, screen


# Values


def describe(run: OfflineRun, _: DescribeScreenInstruction) -> ToolSteps[str]:
    _found, screen = yield from run.wait_on_screen(lambda screen: None if screen.is_loading else screen)
    labels = list(dict.fromkeys(screen.labels))
    if not labels:
        return f"{screen.package or 'An unknown app'} is in the foreground and shows no labels."
    more = f", and {len(labels) - _MAX_LABELS} more" if len(labels) > _MAX_LABELS else ""
    return f"{screen.package or 'The screen'} shows: {', '.join(map(quote, labels[:_MAX_LABELS]))}{more}."


def read(run: OfflineRun, instruction: ReadInstruction) -> ToolSteps[str]:
    if instruction.target.ordinal and (is_role_only(instruction.target) or not instruction.target.exact):
        row = yield from _read_row(run, instruction.target)
        if row:
            return row
    sentences = []
    for target in (yield from _split_targets(run, instruction.target)):
        reading = yield from find_value_anywhere(run, target)
        sentences.append(f"{one_line(reading.label)}: {one_line(reading.value, _MAX_VALUE_LENGTH)}.")
    return " ".join(sentences)


def _read_row(run: OfflineRun, target: TargetPhrase) -> ToolSteps[str]:
    """The label of "the first video"; empty when no such row is on the screen."""
    screen = yield from run.capture()
    node = choose_node(screen, target, clickable_only=True)
    label = "" if node is None else display_label(node)
    return f"The {one_line(target.phrase)} is {quote(label)}." if label else ""


def _split_targets(run: OfflineRun, target: TargetPhrase) -> ToolSteps[list[TargetPhrase]]:
    """The targets of a question: one, unless the phrase is a list that no element has as its name."""
    names = split_list(target.phrase)
    if len(names) == 1 or not all(names) or target.exact or target.ordinal:
        return [target]
    screen = yield from run.capture()
    if find_candidates(screen, target, TO_READ):
        return [target]
    try:
        return [parse_target(name) for name in names]
    except SentenceError:
        return [target]


def find_value_anywhere(run: OfflineRun, target: TargetPhrase, loosest: int = TO_READ) -> ToolSteps[ScreenValue]:
    """A value on the screen, further down on it, or in its known place."""
    place = _place_of(target)
    if place is not None:
        loosest = WHOLE_NAME
    known_target = target if place is None else TargetPhrase(place.label, place.label)
    screen = yield from run.capture()
    reading = None
    if not target.of_device or screen.package == (place.app if place else ""):
        reading = find_value(screen, known_target, loosest) or find_value(screen, target, loosest)
    elif place is None:
        raise ClawError(
            "VALUE_NODE_NOT_FOUND",
            f"the page on which the phone shows {quote(target.name)} is not known",
            hint="Open the page that shows it, and ask for the label there.",
            operation="read",
            target=target.phrase,
        )
    if reading is None and place is None:
        reject_typo(screen, target)
    if reading is None and (place is None or is_on_page(screen, place)):
        reading, screen = yield from run.scroll_to_find(lambda screen: find_value(screen, known_target, loosest))
    if reading is None and place is not None:
        reading, screen = yield from go_to_place(
            run, place, lambda screen: find_value(screen, known_target, loosest)
        )
    if reading is not None:
        return reading
    if find_candidates(screen, target, TO_READ):
        raise ClawError(
            "VALUE_NODE_NOT_FOUND",
            f"{quote(target.phrase)} is on the screen but has no value",
            operation="read",
            target=target.phrase,
        )
    raise not_found_error(target, screen)


def _place_of(target: TargetPhrase) -> KnownPlace | None:
    if target.exact:
        return None
    place = find_place(target.name)
    return find_place(f"phone {target.name}") if place is None and target.of_device else place
