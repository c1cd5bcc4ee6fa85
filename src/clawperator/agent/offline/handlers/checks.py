"""Answer questions, check states and wait for them.

A question is answered Yes or No only about an element that was found, a state or a value that was read, or the
app in the foreground. A missing element is not a No, except in "is X on the screen" for a proper name that no
label mentions.
"""

import re

from clawperator._base.deadline import Deadline
from clawperator._base.text import is_blank
from clawperator.agent.offline.handlers.apps import find_installed
from clawperator.agent.offline.handlers.state import find_switch_anywhere, find_value_anywhere
from clawperator.agent.offline.instructions import (
    CheckInstruction,
    IsForegroundInstruction,
    MentionsInstruction,
    PauseInstruction,
    SettleInstruction,
    TargetPhrase,
    WaitForInstruction,
)
from clawperator.agent.offline.known_places import find_place, known_app, normalize_label
from clawperator.agent.offline.labels import (
    DESCRIPTION,
    PREFIX,
    TO_SEE,
    WHOLE_NAME,
    click_target,
    display_label,
    quote,
    row_state,
    share_word,
)
from clawperator.agent.offline.run import OfflineRun, ToolSteps
from clawperator.agent.offline.screens import (
    CapturedScreen,
    choose_node,
    describe_node,
    find_candidates,
    find_field,
    find_switch,
    is_disabled,
    is_on,
    labels_that_mention,
    not_found_error,
)
from clawperator.errors import ClawError
from clawperator.ui.node import Node, is_field

# The calls of a turn are limited, so a long wait captures less often.
_MAX_CAPTURES = 20
_MIN_INTERVAL_S = 0.35
_MAX_MENTIONS = 8
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def check(run: OfflineRun, instruction: CheckInstruction) -> ToolSteps[str]:
    if not (instruction.required or instruction.state or instruction.value):
        return (yield from _answer_visibility(run, instruction))
    passes, sentence = yield from _evaluate(run, instruction)
    if instruction.required and not passes:
        raise ClawError("INSTRUCTION_CHECK_FAILED", sentence, operation="check", target=instruction.target.phrase)
    return f"{sentence}." if instruction.is_plain else f"{'Yes' if passes else 'No'}: {sentence}."


def _evaluate(run: OfflineRun, instruction: CheckInstruction) -> ToolSteps[tuple[bool, str]]:
    """Whether a check passes, and a sentence with the actual state."""
    if instruction.value:
        reading = yield from find_value_anywhere(run, instruction.target, PREFIX)
        sentence = f"{quote(reading.label)} is {quote(reading.value)}"
        if instruction.order:
            return _compare(reading.value, instruction), sentence
        return _same_value(reading.value, instruction.value) == instruction.holds, sentence
    if instruction.state:
        first = yield from _find_state_anywhere(run, instruction)
        on, sentence = yield from run.confirm(first, lambda: _find_state_anywhere(run, instruction))
        return (on == (instruction.state == "on")) == instruction.holds, sentence
    return (yield from _require_shown(run, instruction))


def _same_value(actual: str, wanted: str) -> bool:
    normalized = normalize_label(wanted)
    return normalize_label(actual) == normalized if normalized else actual == wanted


def _compare(actual: str, instruction: CheckInstruction) -> bool:
    """Compare two numbers. Values without a number, or with other units, cannot be compared."""
    numbers = [_NUMBER.search(text) for text in (actual, instruction.value)]
    units = [normalize_label(_NUMBER.sub("", text, count=1)) for text in (actual, instruction.value)]
    if numbers[0] is None or numbers[1] is None or units[1] not in ("", "percent", units[0]):
        raise ClawError(
            "VALUE_NODE_NOT_FOUND",
            f"{quote(actual)} cannot be compared with {quote(instruction.value)}",
            operation="check",
            target=instruction.target.phrase,
        )
    now, limit = float(numbers[0][0]), float(numbers[1][0])
    results = {"above": now > limit, "below": now < limit, "at least": now >= limit, "at most": now <= limit}
    return results[instruction.order]


# Elements on the screen


def _require_shown(run: OfflineRun, instruction: CheckInstruction) -> ToolSteps[tuple[bool, str]]:
    """Check for an element with the whole name, or that no label mentions it. It may appear or disappear late."""

    def passes(screen: CapturedScreen) -> bool | None:
        return is_shown(screen, instruction) or None

    _, screen = yield from run.wait_on_screen(passes)
    return is_shown(screen, instruction), describe_visibility(screen, instruction)


def _answer_visibility(run: OfflineRun, instruction: CheckInstruction) -> ToolSteps[str]:
    """Answer for an element that is found, or for a proper name that labels mention, or that none mentions.

    Otherwise ``NODE_NOT_FOUND``: the element may have another name, or none.
    """
    screen = yield from run.capture()
    target = instruction.target
    node = _find_named(screen, target)
    if node is not None:
        answer = "Yes" if instruction.holds else "No"
        return f"{answer}: {quote(display_label(node) or target.phrase)} is on the screen."
    mentioned = labels_that_mention(screen, target.name)
    if mentioned and (target.exact or target.name[:1].isupper()):
        return _list_mentions(target.name, mentioned)
    is_absent = not any(share_word(target.name, label) for label in screen.labels)
    if not (is_absent and instruction.is_literal) or known_app(target.name):
        raise not_found_error(target, screen)
    return f"{'No' if instruction.holds else 'Yes'}: no label on the screen mentions {quote(target.name)}."


def _find_named(screen: CapturedScreen, target: TargetPhrase) -> Node | None:
    """An element with exactly this label or description; a field also by the names that typing accepts."""
    found = next(iter(find_candidates(screen, target, DESCRIPTION)), [])
    if not found and target.role == "textfield":
        field = find_field(screen, target)
        found = [] if field is None else [field]
    return found[0] if found else None


def is_shown(screen: CapturedScreen, instruction: CheckInstruction) -> bool:
    """Whether an element has the whole name; for a negated check, whether no label mentions it."""
    if instruction.holds:
        return _find_named(screen, instruction.target) is not None
    return not find_candidates(screen, instruction.target, TO_SEE)


def describe_visibility(screen: CapturedScreen, instruction: CheckInstruction) -> str:
    """A sentence whether the element is on the screen, with its own label."""
    target = instruction.target
    node = _find_named(screen, target)
    if node is None:
        node = next((node for nodes in find_candidates(screen, target, TO_SEE) for node in nodes), None)
    if node is None:
        return f"{quote(target.phrase)} is not on the screen"
    label = display_label(node) or target.phrase
    if instruction.holds and _find_named(screen, target) is None:
        return f"{quote(target.phrase)} is not on the screen, but {quote(label)} is"
    return f"{quote(label)} is on the screen"


def mentions(run: OfflineRun, instruction: MentionsInstruction) -> ToolSteps[str]:
    screen = yield from run.capture()
    found = labels_that_mention(screen, instruction.text)
    if found:
        return _list_mentions(instruction.text, found)
    target = TargetPhrase(instruction.text, instruction.text)
    if instruction.is_literal and not instruction.required:
        return f"No: no label on the screen mentions {quote(instruction.text)}."
    raise not_found_error(target, screen)


def _list_mentions(text: str, labels: list[str]) -> str:
    listed = ", ".join(map(quote, labels[:_MAX_MENTIONS]))
    more = f", and {len(labels) - _MAX_MENTIONS} more" if len(labels) > _MAX_MENTIONS else ""
    return f"These labels on the screen mention {quote(text)}: {listed}{more}."


def is_foreground(run: OfflineRun, instruction: IsForegroundInstruction) -> ToolSteps[str]:
    package = yield from find_installed(run, instruction.name)
    front = (yield from run.capture()).package
    if not front or (instruction.may_run_behind and front != package):
        raise ClawError(
            "INSTRUCTION_CHECK_FAILED",
            f"{front or 'an unknown app'} is in the foreground; whether {package} runs behind it is not known",
            operation="check",
            target=instruction.name,
        )
    return f"{'Yes' if front == package else 'No'}: {front} is in the foreground."


# States


def _find_state_anywhere(run: OfflineRun, instruction: CheckInstruction) -> ToolSteps[tuple[bool, str]]:
    """Whether an element is on, here or in its known place, and a sentence with its state."""
    here = find_state((yield from run.capture()), instruction)
    if here is not None:
        return here
    label, control, target, _ = yield from find_switch_anywhere(run, instruction.target)
    return is_on(control), f"{describe_node(label, target)} is {'on' if is_on(control) else 'off'}"


def find_state(screen: CapturedScreen, instruction: CheckInstruction) -> tuple[bool, str] | None:
    """Whether an element is on, by its switch, its own flags, or the text "on" or "off" in its row."""
    found = find_switch(screen, instruction.target)
    if found is not None:
        label, control = found
        return is_on(control), f"{describe_node(label, instruction.target)} is {'on' if is_on(control) else 'off'}"
    if find_place(instruction.target.name) and not instruction.target.exact:
        return None
    for nodes in find_candidates(screen, instruction.target, WHOLE_NAME):
        states = {word for each in nodes if (word := row_state(each))}
        if len(states) == 1:
            word = states.pop()
            return word == "on", f"{describe_node(nodes[0], instruction.target)} is {word}"
    node = choose_node(screen, instruction.target) if instruction.state_kind else None
    if node is not None and instruction.state_kind == "enabled":
        if not (is_field(node) or "button" in node.class_name.lower() or instruction.target.role == "button"):
            return None  # an app or a row that is "enabled" is not a control that can be tapped
        enabled = not is_disabled(node)
        return enabled, f"{describe_node(node, instruction.target)} is {'enabled' if enabled else 'disabled'}"
    if node is not None:
        selected = node.flag("selected") or (
            (clicked := click_target(node)) is not None and clicked.flag("selected")
        )
        return selected, f"{describe_node(node, instruction.target)} is {'' if selected else 'not '}selected"
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
        return bool(find_candidates(screen, check.target, TO_SEE)) == check.holds
    now = find_state(screen, check)
    return now is not None and now[0] == (check.state == "on")


def _describe_check(screen: CapturedScreen, check: CheckInstruction) -> str:
    now = find_state(screen, check) if check.state else None
    if now is not None:
        return now[1]
    seen = next((node for nodes in find_candidates(screen, check.target, TO_SEE) for node in nodes), None)
    if seen is None:
        return f"{quote(check.target.phrase)} is not on the screen"
    label = display_label(seen)
    return f"{quote(check.target.phrase if is_blank(label) else label)} is on the screen"


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
