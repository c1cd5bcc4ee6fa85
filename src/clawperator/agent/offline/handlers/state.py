"""Read, check, wait for and change the state of elements on the screen."""

import re

from clawperator._deadline import Deadline
from clawperator._text import one_line
from clawperator.agent.offline.handlers.apps import go_to_place, is_on_page
from clawperator.agent.offline.instructions import (
    CheckInstruction,
    DescribeScreenInstruction,
    PauseInstruction,
    ReadInstruction,
    SetSwitchInstruction,
    SettleInstruction,
    TargetPhrase,
    WaitForInstruction,
)
from clawperator.agent.offline.known_places import find_place, normalize_label
from clawperator.agent.offline.labels import (
    TO_READ,
    TO_SEE,
    WHOLE_NAME,
    click_target,
    display_label,
    quote,
    row_state,
)
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
)
from clawperator.agent.tools.messages import effect
from clawperator.errors import ClawError
from clawperator.ui import Node

_MAX_LABELS = 40
_MAX_VALUE_LENGTH = 400
_LIST_SEPARATOR = re.compile(r"\s*,\s*(?:and\s+)?|\s+and\s+", re.IGNORECASE)
# The calls of a turn are limited, so a long wait captures less often.
_MAX_CAPTURES = 20
_MIN_INTERVAL_S = 0.35


# Switches


def set_switch(run: OfflineRun, instruction: SetSwitchInstruction) -> ToolSteps[str]:
    label, control, target, screen = yield from find_switch_anywhere(run, instruction.target)
    on = not is_on(control) if instruction.on is None else instruction.on
    name, wanted = describe_node(label, target), "on" if on else "off"
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
    sentences = []
    for target in (yield from _split_targets(run, instruction.target)):
        reading = yield from find_value_anywhere(run, target)
        sentences.append(f"{one_line(reading.label)}: {one_line(reading.value, _MAX_VALUE_LENGTH)}.")
    return " ".join(sentences)


def _split_targets(run: OfflineRun, target: TargetPhrase) -> ToolSteps[list[TargetPhrase]]:
    """The targets of a question: one, unless the phrase is a list that no element has as its name."""
    names = _LIST_SEPARATOR.split(target.phrase)
    if len(names) == 1 or not all(names) or target.exact or target.ordinal:
        return [target]
    screen = yield from run.capture()
    return [target] if find_candidates(screen, target, TO_READ) else [TargetPhrase(name, name) for name in names]


def find_value_anywhere(run: OfflineRun, target: TargetPhrase) -> ToolSteps[ScreenValue]:
    """A value on the screen, further down on it, or in its known place."""
    place = None if target.exact else find_place(target.name)
    loosest = TO_READ if place is None else WHOLE_NAME
    known_target = target if place is None else TargetPhrase(place.label, place.label)
    screen = yield from run.capture()
    reading = find_value(screen, target, loosest)
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


# Checks


def check(run: OfflineRun, instruction: CheckInstruction) -> ToolSteps[str]:
    passes, sentence = yield from _evaluate(run, instruction)
    if instruction.required and not passes:
        raise ClawError("INSTRUCTION_CHECK_FAILED", sentence, operation="check", target=instruction.target.phrase)
    return f"{'Yes' if passes else 'No'}: {sentence}."


def _evaluate(run: OfflineRun, instruction: CheckInstruction) -> ToolSteps[tuple[bool, str]]:
    """Whether a check passes, and a sentence with the actual state."""
    if instruction.value:
        reading = yield from find_value_anywhere(run, instruction.target)
        actual, wanted = normalize_label(reading.value), normalize_label(instruction.value)
        same = actual == wanted if wanted else reading.value == instruction.value
        return same == instruction.holds, f"{quote(reading.label)} is {quote(reading.value)}"
    if instruction.state:
        first = yield from _find_state_anywhere(run, instruction)
        on, sentence = yield from run.confirm(first, lambda: _find_state_anywhere(run, instruction))
        return (on == (instruction.state == "on")) == instruction.holds, sentence
    screen = yield from run.capture()
    if instruction.required and not is_shown(screen, instruction):  # a required element may appear late
        _, screen = yield from run.wait_on_screen(lambda screen: is_shown(screen, instruction) or None)
    return is_shown(screen, instruction), describe_visibility(screen, instruction.target)


def _find_state_anywhere(run: OfflineRun, instruction: CheckInstruction) -> ToolSteps[tuple[bool, str]]:
    """Whether an element is on, here or in its known place, and a sentence with its state."""
    here = find_state((yield from run.capture()), instruction)
    if here is not None:
        return here
    label, control, target, _ = yield from find_switch_anywhere(run, instruction.target)
    return is_on(control), f"{describe_node(label, target)} is {'on' if is_on(control) else 'off'}"


def is_shown(screen: CapturedScreen, instruction: CheckInstruction) -> bool:
    """Whether the element is on the screen, or is absent for a negated check."""
    return bool(find_candidates(screen, instruction.target, TO_SEE)) == instruction.holds


def describe_visibility(screen: CapturedScreen, target: TargetPhrase) -> str:
    """A sentence whether the element is on the screen, with its own label."""
    found = next((node for nodes in find_candidates(screen, target, TO_SEE) for node in nodes), None)
    if found is None:
        return f"{quote(target.phrase)} is not on the screen"
    return f"{quote(display_label(found) or target.phrase)} is on the screen"


def find_state(screen: CapturedScreen, instruction: CheckInstruction) -> tuple[bool, str] | None:
    """Whether an element is on, by its switch, its own flags, or the text "on" or "off" in its row."""
    found = find_switch(screen, instruction.target)
    if found is not None:
        label, control = found
        return is_on(control), f"{describe_node(label, instruction.target)} is {'on' if is_on(control) else 'off'}"
    if find_place(instruction.target.name) and not instruction.target.exact:
        return None
    node = choose_node(screen, instruction.target) if instruction.state_kind else None
    if node is not None and instruction.state_kind == "enabled":
        enabled = not is_disabled(node)
        return enabled, f"{describe_node(node, instruction.target)} is {'enabled' if enabled else 'disabled'}"
    if node is not None:
        selected = node.flag("selected") or (
            (clicked := click_target(node)) is not None and clicked.flag("selected")
        )
        return selected, f"{describe_node(node, instruction.target)} is {'' if selected else 'not '}selected"
    for nodes in find_candidates(screen, instruction.target, WHOLE_NAME):
        states = {word for each in nodes if (word := row_state(each))}
        if len(states) == 1:
            word = states.pop()
            return word == "on", f"{describe_node(nodes[0], instruction.target)} is {word}"
    return None


# Waits


def pause(run: OfflineRun, instruction: PauseInstruction) -> ToolSteps[str]:
    yield from run.run_action("sleep", {"durationMs": round(instruction.seconds * 1000)})
    return f"Waited {instruction.seconds:g} s."


def wait_until_idle(run: OfflineRun, _: SettleInstruction) -> ToolSteps[str]:
    last: list[str] = []

    def is_idle(screen: CapturedScreen) -> bool | None:
        same = last == [screen.snapshot.xml] and not screen.is_loading
        last[:] = [screen.snapshot.xml]
        return same or None

    idle, _screen = yield from run.wait_on_screen(is_idle)
    return "The screen stopped changing." if idle else "The screen is still changing."


def wait_for(run: OfflineRun, instruction: WaitForInstruction) -> ToolSteps[str]:
    interval = max(_MIN_INTERVAL_S, instruction.seconds / _MAX_CAPTURES)
    deadline = Deadline(instruction.seconds)
    screen = yield from run.capture()
    for _ in range(_MAX_CAPTURES):
        if _check_holds(screen, instruction.check) or deadline.is_over:
            break
        run.deadline.sleep(deadline.within(interval))
        screen = yield from run.capture()
    if not _check_holds(screen, instruction.check):
        raise _timeout_error(screen, instruction)
    return f"{_describe_check(screen, instruction.check)}."


def _check_holds(screen: CapturedScreen, check: CheckInstruction) -> bool:
    if not check.state:
        return is_shown(screen, check)
    now = find_state(screen, check)
    return now is not None and now[0] == (check.state == "on")


def _describe_check(screen: CapturedScreen, check: CheckInstruction) -> str:
    now = find_state(screen, check) if check.state else None
    return describe_visibility(screen, check.target) if now is None else now[1]


def _timeout_error(screen: CapturedScreen, instruction: WaitForInstruction) -> ClawError:
    waited = f"after {instruction.seconds:g} s"
    if not instruction.check.state and instruction.check.holds:
        return not_found_error(instruction.check.target, screen, f"on the screen {waited}")
    return ClawError(
        "INSTRUCTION_CHECK_FAILED",
        f"{waited} {_describe_check(screen, instruction.check)}",
        hint="Wait longer: 'wait up to 60 seconds until …'.",
        operation="wait",
        target=instruction.check.target.phrase,
    )
