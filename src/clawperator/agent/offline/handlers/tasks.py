"""Tasks of several steps: set a value, create and delete notes, tap the button of a verb.

Each task reads its result back: it is done only when the screen shows it.
"""

from clawperator.agent.offline.handlers.apps import go_to_place, is_on_page, open_app
from clawperator.agent.offline.handlers.state import set_switch
from clawperator.agent.offline.handlers.tools import find_setting_skill, run_skill
from clawperator.agent.offline.handlers.touch import enter_text, type_text
from clawperator.agent.offline.instructions import (
    CreateInstruction,
    DeleteInstruction,
    PressButtonInstruction,
    RunSkillInstruction,
    SetSwitchInstruction,
    SetValueInstruction,
    TargetPhrase,
    TypeInstruction,
)
from clawperator.agent.offline.known_places import KnownPlace, find_place, normalize_label
from clawperator.agent.offline.labels import (
    WHOLE_NAME,
    click_target,
    display_label,
    in_same_row,
    is_checkable,
    own_label,
    quote,
)
from clawperator.agent.offline.run import OfflineRun, ToolSteps, click_params
from clawperator.agent.offline.screens import (
    CapturedScreen,
    choose_node,
    describe_node,
    find_candidates,
    find_field,
    find_switch,
    find_value,
    group_by_click_target,
    is_disabled,
    is_on,
    not_found_error,
    pick_one,
    reject_typo,
)
from clawperator.agent.tools.messages import effect
from clawperator.errors import ClawError
from clawperator.recording.heuristics import is_launcher
from clawperator.ui.node import Node, is_field

_MAX_OPTIONS = 12
_MAX_CONFIRMATIONS = 2
_NOTES = "notes"
_ADD_NOTE = ("Add note", "New note", "Create note")
_DELETE = ("Delete", "Delete note")


def _exactly(label: str) -> TargetPhrase:
    return TargetPhrase(label, label, exact=True)


def _find_button(screen: CapturedScreen, labels: tuple[str, ...]) -> Node | None:
    """The clickable element with the first of these labels that is on the screen."""
    found = (choose_node(screen, _exactly(label), clickable_only=True) for label in labels)
    return next((node for node in found if node is not None), None)


def press_button(run: OfflineRun, instruction: PressButtonInstruction) -> ToolSteps[str]:
    node, screen = yield from run.wait_on_screen(lambda screen: _find_button(screen, instruction.labels))
    if node is None:
        node, screen = yield from run.scroll_to_find(lambda screen: _find_button(screen, instruction.labels))
    if node is None:
        raise not_found_error(TargetPhrase(instruction.labels[0], instruction.labels[0]), screen)
    return (yield from _press(run, screen, node, instruction.labels[0]))


def _press(run: OfflineRun, screen: CapturedScreen, node: Node, name: str) -> ToolSteps[str]:
    """Tap a button. It fails when it is disabled, and when the app rejects it with a message."""
    label = describe_node(node, TargetPhrase(name, name))
    if is_disabled(node):
        raise _task_error("tap", name, f"{label} is disabled and was not tapped", code="NODE_NOT_CLICKABLE")
    result = yield from run.run_action("click", click_params(screen, node))
    if result.get("screen_message"):
        raise _task_error("tap", name, f"{label} was tapped; {effect(result)}")
    return f"Tapped {label}; {effect(result)}."


def _task_error(
    operation: str, target: str, message: str, *, code: str = "INSTRUCTION_CHECK_FAILED", hint: str | None = None
) -> ClawError:
    hint = hint or "Run 'claw bootstrap \"describe the screen\"' to see the screen."
    return ClawError(code, message, hint=hint, operation=operation, target=target)


# Values


def set_value(run: OfflineRun, instruction: SetValueInstruction) -> ToolSteps[str]:
    """Choose an option on the screen, fill in a field, run a skill, or choose an option behind a row."""
    target = instruction.target
    place = None if target.exact else find_place(target.name)
    if place is not None and place.is_switch:
        raise _task_error("set", target.phrase, f"{quote(place.label)} is a switch", hint="Write 'turn on …'.")
    known = target if place is None else TargetPhrase(place.label, place.label)
    option = TargetPhrase(instruction.value, instruction.value)
    screen = yield from run.capture()
    if _is_choice_on(screen, known, option):
        yield from set_switch(run, SetSwitchInstruction(option, on=True))
        return f"{quote(known.name)} is set to {quote(_option_label((yield from run.capture()), option))}."
    if place is None:
        if find_field(screen, target) is not None:
            return (yield from type_text(run, TypeInstruction(instruction.value, target)))
        if _find_row(screen, known) is None:
            skill = yield from find_setting_skill(run, target.name)
            if skill:
                return (yield from run_skill(run, RunSkillInstruction(skill, instruction.value)))
            reject_typo(screen, target)
    row, screen = yield from _find_row_anywhere(run, screen, known, place)
    return (yield from _choose_option(run, screen, row, known, option))


def _is_choice_on(screen: CapturedScreen, name: TargetPhrase, option: TargetPhrase) -> bool:
    """Whether the screen shows the name and, as a radio button, the option."""
    found = find_switch(screen, option)
    named = any(not is_field(node) for nodes in find_candidates(screen, name, WHOLE_NAME) for node in nodes)
    return named and found is not None and "radiobutton" in found[1].class_name.lower()


def _find_row(screen: CapturedScreen, name: TargetPhrase) -> Node | None:
    """The clickable row with the whole name."""
    nodes = [node for nodes in find_candidates(screen, name, WHOLE_NAME) for node in nodes]
    return next((node for node in nodes if click_target(node) is not None and not is_field(node)), None)


def _find_row_anywhere(
    run: OfflineRun, screen: CapturedScreen, name: TargetPhrase, place: KnownPlace | None
) -> ToolSteps[tuple[Node, CapturedScreen]]:
    row = _find_row(screen, name)
    if row is None and (place is None or is_on_page(screen, place)):
        row, screen = yield from run.scroll_to_find(lambda screen: _find_row(screen, name))
    if row is None and place is not None:
        row, screen = yield from go_to_place(run, place, lambda screen: _find_row(screen, name))
    if row is None:
        raise not_found_error(name, screen)
    return row, screen


def _choose_option(
    run: OfflineRun, screen: CapturedScreen, row: Node, name: TargetPhrase, option: TargetPhrase
) -> ToolSteps[str]:
    """Open the row's options and choose one. Read back that it is selected, or that the row has its value."""
    now = find_value(screen, name, WHOLE_NAME)
    if now is not None and normalize_label(now.value) == normalize_label(option.name):
        return f"{quote(now.label)} is already {quote(now.value)}."
    if row_is_switch(row):
        raise _task_error("set", name.phrase, f"{quote(name.name)} is a switch", hint="Write 'turn on …'.")
    yield from run.run_action("click", click_params(screen, row))
    found, screen = yield from run.wait_on_screen(lambda screen: find_switch(screen, option))
    if found is None:
        listed = [display_label(node) for node in screen.nodes if _is_option(node)][:_MAX_OPTIONS]
        options = f"; options: {', '.join(map(quote, listed))}" if listed else "; the page has no options"
        yield from run.run_action("press_key", {"key": "back"})
        raise _task_error(
            "set",
            name.phrase,
            f"{describe_node(row, name)} has no option {quote(option.name)}{options}; it was not changed",
            code="NODE_NOT_FOUND",
        )
    label, control = found
    if not is_on(control):
        yield from run.run_action("click", click_params(screen, label))
    chosen, _screen = yield from run.wait_on_screen(lambda screen: _is_chosen(screen, name, option) or None)
    if not chosen:
        raise _task_error("set", name.phrase, f"{describe_node(label, option)} was tapped but is not selected")
    return f"Set {describe_node(row, name)} to {describe_node(label, option)}."


def row_is_switch(row: Node) -> bool:
    clicked = click_target(row)
    return clicked is not None and any(is_checkable(node) for node in clicked.walk())


def _is_option(node: Node) -> bool:
    """Whether a node is the label of an option."""
    found = click_target(node)
    return bool(own_label(node)) and found is not None and any(is_checkable(inside) for inside in found.walk())


def _is_chosen(screen: CapturedScreen, name: TargetPhrase, option: TargetPhrase) -> bool:
    found = find_switch(screen, option)
    if found is not None:
        return is_on(found[1])
    value = find_value(screen, name, WHOLE_NAME)
    return value is not None and normalize_label(value.value) == normalize_label(option.name)


def _option_label(screen: CapturedScreen, option: TargetPhrase) -> str:
    found = find_switch(screen, option)
    return option.name if found is None else display_label(found[0])


# Notes


def create(run: OfflineRun, instruction: CreateInstruction) -> ToolSteps[str]:
    """Fill in the form of a new note, save it, and check that the list shows its title."""
    screen = yield from _open_note_form(run)
    if not instruction.title:
        return "Opened the form of a new note."
    texts = {"title": instruction.title, "body": instruction.body}
    for name, text in texts.items():
        if text:
            field = find_field(screen, TargetPhrase(name, name))
            if field is None:
                raise _task_error("create", name, f"the form has no field {quote(name)}; the note was not saved")
            yield from enter_text(run, screen, field, text, submit=False)
            screen = yield from run.capture()
    save, screen = yield from run.scroll_to_find(lambda screen: _find_button(screen, ("Save", "Done")))
    if save is None:
        raise _task_error("create", "Save", "the form has no button 'Save'; the note was not saved")
    yield from _press(run, screen, save, "Save")
    title = _exactly(instruction.title)
    saved, _screen = yield from run.wait_on_screen(lambda screen: _has_entry(screen, title) or None)
    if not saved:
        raise _task_error("create", title.name, f"'Save' was tapped, but no entry {quote(title.name)} is shown")
    return f"Created the note {quote(instruction.title)}."


def _open_note_form(run: OfflineRun) -> ToolSteps[CapturedScreen]:
    title = TargetPhrase("title", "title")
    screen = yield from run.capture()
    if _has_entry(screen, _exactly("New note")) and find_field(screen, title) is not None:
        return screen
    add = _find_button(screen, _ADD_NOTE)
    if add is None:
        yield from open_app(run, _NOTES)
        add, screen = yield from run.wait_on_screen(lambda screen: _find_button(screen, _ADD_NOTE))
    if add is None:
        raise not_found_error(_exactly(_ADD_NOTE[0]), screen)
    yield from _press(run, screen, add, _ADD_NOTE[0])
    _field, screen = yield from run.wait_on_screen(lambda screen: find_field(screen, title))
    return screen


def delete(run: OfflineRun, instruction: DeleteInstruction) -> ToolSteps[str]:
    """Delete an entry by the Delete button of its row or of its menu, and check that there is one less.

    ``INSTRUCTION_AMBIGUOUS`` when several entries match: nothing is touched.
    """
    target = instruction.target
    screen = yield from run.capture()
    if instruction.is_note and not _has_entry(screen, target) and not _find_button(screen, _ADD_NOTE):
        yield from open_app(run, _NOTES)
        screen = yield from run.capture()
    if is_launcher(screen.package):
        raise _task_error(
            "delete", target.phrase, "the home screen is open; apps are not removed", hint="Open the app first."
        )
    node = _find_entry(screen, target)
    if node is None:
        reject_typo(screen, target)
        node, screen = yield from run.scroll_to_find(lambda screen: _find_entry(screen, target))
    if node is None:
        raise not_found_error(target, screen)
    name, left = describe_node(node, target), len(_find_entries(screen, target)) - 1
    yield from _press_delete(run, screen, node, name)
    gone, screen = yield from run.wait_on_screen(lambda now: len(_find_entries(now, target)) == left or None)
    if not gone:
        now = len(_find_entries(screen, target))
        problem = (
            f"{name} is still on the screen" if now == 1 else f"{now} of {name} are on the screen, not {left}"
        )
        raise _task_error("delete", target.phrase, f"'Delete' was tapped, but {problem}")
    return f"Deleted {name}."


def _press_delete(run: OfflineRun, screen: CapturedScreen, node: Node, name: str) -> ToolSteps[None]:
    """Tap Delete beside the entry; otherwise long-press the entry, and tap Delete and its confirmation."""
    clickable = [each for label in _DELETE for nodes in find_candidates(screen, _exactly(label)) for each in nodes]
    beside = [each for each in in_same_row(clickable, [node]) if each is not node]
    if len(beside) == 1:
        yield from _press(run, screen, beside[0], _DELETE[0])
        return
    clicked = click_target(node)
    if clicked is None or clickable or not clicked.flag("long-clickable"):
        raise _task_error("delete", name, f"how to delete {name} is not clear; nothing was deleted")
    yield from run.run_action("click", click_params(screen, node) | {"clickType": "long_click"})
    for tapped in range(_MAX_CONFIRMATIONS):
        button, screen = yield from run.wait_on_screen(lambda screen: _find_button(screen, _DELETE))
        if button is None and not tapped:
            raise _task_error("delete", name, f"no 'Delete' appeared for {name}; nothing was deleted")
        if button is None:
            return
        yield from _press(run, screen, button, _DELETE[0])


def _find_entry(screen: CapturedScreen, target: TargetPhrase) -> Node | None:
    """The element with this whole label that is not a field. ``INSTRUCTION_AMBIGUOUS`` when there are several."""
    return pick_one(_find_entries(screen, target), target)


def _find_entries(screen: CapturedScreen, target: TargetPhrase) -> list[Node]:
    for nodes in find_candidates(screen, target, WHOLE_NAME):
        entries = [node for node in nodes if not is_field(node) and own_label(node)]
        if entries:
            return group_by_click_target(entries, target)
    return []


def _has_entry(screen: CapturedScreen, target: TargetPhrase) -> bool:
    return bool(_find_entries(screen, target))
