"""Text entry into a field, with optional clearing and submitting."""

from msgspec import Struct, UnsetType

from clawperator.contract import EnterTextParams, NodeMatcher, SubmitTextParams
from clawperator.engine.chosen import Choice
from clawperator.engine.clicks import press
from clawperator.engine.context import ActionContext, StepData
from clawperator.engine.driver import NodeActions, TargetActions
from clawperator.engine.retry import with_retry
from clawperator.engine.settle import ScreenBefore, evidence, look, settle
from clawperator.engine.targets import describe_node, nearest_self_or_ancestor, resolve
from clawperator.errors import ClawError
from clawperator.ui import HIDDEN, Hierarchy, Node, visible_nodes

_FIELDS = ("edittext", "autocompletetextview")


class TypedText(Struct, frozen=True):
    """The screen before typing, the nodes that matched, and the field."""

    before: ScreenBefore
    found: list[Node]
    field: Node


def enter_text(context: ActionContext, params: EnterTextParams) -> StepData:
    """Enter text. The text of a password field is reported as four dots."""
    if isinstance(context.driver, TargetActions):
        done = with_retry(context, params.retry, lambda: _type_into_chosen(context, params))
        if done is not None:
            return done
    typed = with_retry(context, params.retry, lambda: _type(context, params))
    method = "set_text"
    if params.submit:
        method += "+" + _submit(context, typed, entered=True)
    settled = settle(context, typed.before)
    return {
        "text": HIDDEN if typed.field.flag("password") else params.text,
        "submit": "true" if params.submit else "false",
        **evidence(describe_node(typed.found[0]), len(typed.found), method, settled, typed.before),
    }


def _type_into_chosen(context: ActionContext, params: EnterTextParams) -> StepData | None:
    """Choose the field, and let the driver type into it as a whole action; None when it cannot."""
    driver = context.driver_or_timeout()
    assert isinstance(driver, TargetActions)
    choice = Choice(context, params.matcher)
    try:
        done = driver.type_into(choice.node, params.text, submit=params.submit, clear=params.clear)
    except ClawError as e:
        choice.failed(e)
        raise
    return None if done is None else choice.evidence(done)


def submit_text(context: ActionContext, params: SubmitTextParams) -> StepData:
    """Submit a field, by default the focused one."""
    typed = with_retry(context, params.retry, lambda: _focused(context, params.matcher))
    method = _submit(context, typed, entered=False)
    settled = settle(context, typed.before)
    return evidence(describe_node(typed.found[0]), len(typed.found), method, settled, typed.before)


def _focused(context: ActionContext, selector: NodeMatcher | UnsetType) -> TypedText:
    """The field that matches, focused by a tap if needed; without a selector the focused field."""
    screen = context.capture()
    find_fields(context, screen, selector)
    before = look(context, screen)
    found = find_fields(context, before.screen, selector)
    field = _field(found[0])
    if not field.flag("focused"):
        context.perform(lambda driver: isinstance(driver, NodeActions) and driver.act(field, "focus"))
        press(context, field, "click")
        field = next((_field(node) for node in find_fields(context, context.capture(), selector)), field)
    return TypedText(before, found, field)


def find_fields(context: ActionContext, screen: Hierarchy, selector: NodeMatcher | UnsetType) -> list[Node]:
    """The nodes that match, or without a selector the focused field. ``NODE_NOT_FOUND`` when there is none."""
    if isinstance(selector, NodeMatcher):
        return resolve(context, screen, selector)
    fields = [node for node in visible_nodes(screen, context.driver.frame()) if _is_field(node)]
    focused = [node for node in fields if node.flag("focused")]
    if not focused:
        raise ClawError(
            "NODE_NOT_FOUND",
            "no text field has the input focus",
            hint="Select the field, for example with --role textfield.",
        )
    if context.check_target is not None:
        context.check_target(focused[0])
    return focused


def _type(context: ActionContext, params: EnterTextParams) -> TypedText:
    screen = context.capture()
    resolve(context, screen, params.matcher)
    before = look(context, screen)
    found = resolve(context, before.screen, params.matcher)
    field = _field(found[0])
    if not field.flag("focused"):
        context.perform(lambda driver: isinstance(driver, NodeActions) and driver.act(field, "focus"))
        press(context, field, "click")
        # The click may have moved the field, opened the keyboard, or opened another screen with the real field.
        field = next((_field(node) for node in context.find_all(context.capture(), params.matcher)), field)
    if params.clear and not _set_text(context, field, ""):
        raise _not_accepted(found, field)
    if not _set_text(context, field, params.text):
        raise _not_accepted(found, field)
    return TypedText(before, found, field)


def _field(node: Node) -> Node:
    """The field that is or contains the node, or the node itself."""
    return nearest_self_or_ancestor(node, _is_field) or node


def _is_field(node: Node) -> bool:
    name = node.class_name.lower()
    return any(part in name for part in _FIELDS) or node.flag("password")


def _set_text(context: ActionContext, field: Node, text: str) -> bool:
    """Set the text. Errors for a password field are reported without their message, which may quote the text."""
    try:
        return context.perform(lambda driver: driver.set_text(field, text))
    except Exception as e:
        if not field.flag("password"):
            raise
        code = e.code if isinstance(e, ClawError) else "UNKNOWN"
        raise ClawError(code, f"cannot set the text of a password field: {type(e).__name__}") from None


def _not_accepted(found: list[Node], field: Node) -> ClawError:
    is_field = _is_field(field)
    return ClawError(
        "TEXT_NOT_ACCEPTED",
        "the field did not accept the text" if is_field else "the matched node is not a text field",
        hint=None if is_field else "Select the field itself, for example with --role textfield.",
        details={"matched_target": describe_node(found[0]), "candidate_count": len(found)},
    )


def _submit(context: ActionContext, typed: TypedText, *, entered: bool) -> str:
    """Submit the field. Returns the dispatch method; the step fails when the field accepts none."""
    if context.perform(lambda driver: driver.submit(typed.field)):
        return "submit"
    method = press(context, typed.field, "click")
    if method is not None:
        return method
    raise ClawError(
        "NODE_NOT_CLICKABLE",
        f"{'the text was entered, but ' if entered else ''}the field could not be submitted",
        details={
            "matched_target": describe_node(typed.found[0]),
            "candidate_count": len(typed.found),
            **({"dispatch_method": "set_text"} if entered else {}),
        },
    )
