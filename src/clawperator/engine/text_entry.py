"""Text entry into a field, with optional clearing and submitting."""

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from clawperator._base.deadline import command_timeout
from clawperator._base.text import SHORTEST, one_line
from clawperator.contract.action_params import TextSource
from clawperator.contract.actions import EnterTextParams
from clawperator.contract.host_actions import SubmitTextParams
from clawperator.contract.selectors import NodeMatcher, NodeSelector
from clawperator.engine.clicks import Choice, act, press
from clawperator.engine.context import ActionContext, StepData, string_details
from clawperator.engine.driver import KeyTyping, TargetActions
from clawperator.engine.retry import with_retry
from clawperator.engine.settle import ScreenBefore, Settled, evidence, look_for, settle
from clawperator.engine.targets import (
    FOCUSED_FIELD,
    describe_node,
    nearest_self_or_ancestor,
    resolve,
    target_details,
)
from clawperator.errors import ClawError
from clawperator.ui.node import HIDDEN, Hierarchy, Node, is_field
from clawperator.ui.privacy import has_password, mask

_MAX_SHOWN = 120
_SECRET_HINT = "Run 'clawperator type --secret NAME', or call enter_secret of a connected phone."


class TypedText(Struct, frozen=True):
    """The screen before typing, the nodes that matched, and the field with the capture that it was found in."""

    before: ScreenBefore
    found: list[Node]
    field: Node
    screen: Hierarchy


class TextEntry(Struct, frozen=True):
    """What to enter, with the text itself. ``is_secret``: it must not be reported."""

    matcher: NodeMatcher
    text: str
    submit: bool
    clear: bool
    append: bool
    is_secret: bool

    def whole_text(self, field: Node) -> str:
        """The text that the field has afterwards."""
        if not self.append:
            return self.text
        if has_password(field):
            message = "the text of a password field cannot be read, so nothing can be added to it"
            raise ClawError("TEXT_NOT_ACCEPTED", message, hint="Enter the whole text, without append.")
        return field.entered_text + self.text


def enter_text(context: ActionContext, params: EnterTextParams) -> StepData:
    """Enter text. The text of a password field, and a secret, are reported as four dots."""
    matcher = params.matcher if isinstance(params.matcher, NodeMatcher) else FOCUSED_FIELD
    given = params.text if isinstance(params.text, str) else ""
    entry = TextEntry(matcher, given, params.submit, params.clear, params.append, is_secret=False)
    if not isinstance(params.textFrom, TextSource):
        return _enter(context, entry, params)
    if context.secrets is None:
        raise ClawError("EXECUTION_ACTION_UNSUPPORTED", "this driver reads no secrets", hint=_SECRET_HINT)
    secret = replace(entry, text=context.secrets.read(params.textFrom), is_secret=True)
    context.progress.secret = secret.text
    try:
        data = _enter(context, secret, params)
    except ClawError as e:
        raise _without_secret(e, secret.text) from None
    except Exception as e:  # noqa: BLE001 - its message may quote the secret
        raise ClawError("UNKNOWN", f"cannot enter a secret: {type(e).__name__}") from None
    return mask(data, [secret.text]) | {"text": HIDDEN}


def _without_secret(error: ClawError, secret: str) -> ClawError:
    if len(secret.strip()) < SHORTEST:
        # It cannot be told from other parts of a message.
        message = "cannot enter the secret; the message is hidden, because it may quote it"
        return ClawError(error.code, message)
    shown = (error.message, error.own_hint, string_details(error.details))
    message, hint, details = mask(shown, [secret])
    return ClawError(error.code, message, hint=hint, details=details)


def _enter(context: ActionContext, entry: TextEntry, params: EnterTextParams) -> StepData:
    if isinstance(context.driver, TargetActions) and (entry.text or entry.append):
        done = with_retry(context, params.retry, lambda: _type_into_chosen(context, entry))
        if done is not None:
            return done
    method = "set_text"
    if context.has_slow_captures and isinstance(context.driver, KeyTyping):
        typed = with_retry(context, params.retry, lambda: _focused_once(context, entry))
        settled = _type_keys(context, entry, typed)
        if params.submit:
            method += "+" + _submit(context, typed, entered=True)
            if context.settle:
                settled = settle(context, typed.before)
    else:
        typed = with_retry(context, params.retry, lambda: _type(context, entry))
        if params.submit:
            method += "+" + _submit(context, typed, entered=True)
        settled = settle(context, typed.before)
    return {
        "text": HIDDEN if typed.field.flag("password") else entry.text,
        "submit": "true" if params.submit else "false",
        **({"append": "true"} if params.append else {}),
        **evidence(describe_node(typed.found[0]), len(typed.found), method, settled, typed.before),
    }


def _type_into_chosen(context: ActionContext, entry: TextEntry) -> StepData | None:
    """Choose the field, and let the driver type into it as a whole action; None when it cannot."""
    driver = context.driver_or_timeout()
    assert isinstance(driver, TargetActions)
    choice = Choice(context, entry.matcher)
    field = _chosen_field(entry.matcher, [choice.node.node])
    _check_recording(context, entry, field)
    text = entry.whole_text(field)
    done = choice.perform(lambda: driver.type_into(choice.node, text, submit=entry.submit, clear=entry.clear))
    if done is None:
        return None
    shown = {"text": entry.text, "append": "true"} if entry.append else {}
    return {**choice.evidence(done), **shown}


def submit_text(context: ActionContext, params: SubmitTextParams) -> StepData:
    """Submit a field, by default the focused one."""
    matcher = params.matcher if isinstance(params.matcher, NodeMatcher) else FOCUSED_FIELD
    typed = with_retry(context, params.retry, lambda: _focused(context, matcher))
    method = _submit(context, typed, entered=False)
    settled = settle(context, typed.before)
    return evidence(describe_node(typed.found[0]), len(typed.found), method, settled, typed.before)


def _focused(context: ActionContext, matcher: NodeMatcher) -> TypedText:
    """The field that matches, focused by a tap if needed."""
    before, found = look_for(context, matcher)
    field = _chosen_field(matcher, found)
    if not field.flag("focused"):
        act(context, field, "focus")
        press(context, before.screen, field, "click")
        # The click may have moved the field, opened the keyboard, or opened another screen with the real field.
        after = context.capture()
        matching = _found_after_touch(context, after, matcher)
        if matching:
            return TypedText(before, found, _field(matching[0]), after)
    return TypedText(before, found, field, before.screen)


def _type(context: ActionContext, entry: TextEntry) -> TypedText:
    if entry.is_secret:  # before the field is touched
        _check_recording(context, entry, _field(resolve(context, context.capture(), entry.matcher)[0]))
    typed = _focused(context, entry.matcher)
    field = typed.field
    _check_recording(context, entry, field)
    text = entry.whole_text(field)
    # Keys replace the old text by themselves. To delete it first would lose it if the new one cannot be typed.
    is_cleared_first = entry.clear and not isinstance(context.driver, KeyTyping)
    if (is_cleared_first or not text) and not _set_text(context, entry, field, ""):
        raise _not_accepted(typed.found, field)
    if text and not _set_text(context, entry, field, text):
        raise _not_accepted(typed.found, field)
    return typed


def _focused_once(context: ActionContext, entry: TextEntry) -> TypedText:
    """The field that matches, tapped if it does not have the focus. Needs one capture.

    A second one confirms the focus where another field had it, or where the node is not a field itself: otherwise
    the text could go elsewhere.
    """
    screen = context.capture()
    found = resolve(context, screen, entry.matcher)
    field = _chosen_field(entry.matcher, found)
    typed = TypedText(ScreenBefore(screen, (screen,)), found, field, screen)
    _check_recording(context, entry, field)
    entry.whole_text(field)  # before the field is touched
    if field.flag("focused"):
        return typed
    if press(context, screen, field, "click") is None:
        raise _not_accepted(found, field)
    if is_field(field) and not any(node.flag("focused") and is_field(node) for node in screen.nodes):
        return typed
    after = context.capture()
    seen = _focused_field(context, after, entry.matcher, field)
    if seen is None:
        raise _not_accepted(found, field)
    _check_recording(context, entry, seen)
    return TypedText(typed.before, found, seen, after)


def _focused_field(context: ActionContext, screen: Hierarchy, matcher: NodeMatcher, field: Node) -> Node | None:
    """The field that was tapped, if it has the focus now. The tap may have opened a screen with the real field."""
    driver = context.driver
    assert isinstance(driver, KeyTyping)
    matching = [_field(node) for node in _found_after_touch(context, screen, matcher)]
    after = driver.field_after(field, screen)
    return next((node for node in (*matching, after) if node and is_field(node) and node.flag("focused")), None)


def _type_keys(context: ActionContext, entry: TextEntry, typed: TypedText) -> Settled:
    """Type once, and check with one capture that the field has the text."""
    field, text, driver = typed.field, entry.whole_text(typed.field), context.driver
    assert isinstance(driver, KeyTyping)
    if not _typing(context, entry, field, lambda: driver.type_keys(field, entry.text, append=entry.append)):
        raise _not_accepted(typed.found, field)
    settled = settle(context, typed.before)
    if text:
        _check_typed(context, entry, field, text, settled.screen)
    return settled


def _check_typed(
    context: ActionContext, entry: TextEntry, field: Node, text: str, screen: Hierarchy | None
) -> None:
    """``TEXT_NOT_ACCEPTED`` when the field has another text: apps capitalise, cut and format what is typed."""
    driver = context.driver
    assert isinstance(driver, KeyTyping)
    if screen is None:
        raise _not_checked(context.execution.error or command_timeout())
    seen = driver.field_after(field, screen)
    if seen is None:
        raise _typed_otherwise("the text was typed, but the field is gone, so that it cannot be checked")
    # Without the attribute for it, the hint of an empty field looks like its text. It is gone after typing.
    if driver.has_text(seen, text) or (entry.append and driver.has_text(seen, entry.text)):
        return
    if _is_private(entry, field, seen):
        raise _typed_otherwise("the field does not have the typed text; what it has is not shown")
    message = f"the text was typed, but the field has '{one_line(seen.text, _MAX_SHOWN)}'"
    raise _typed_otherwise(message, field_text=seen.text)


def _typing(context: ActionContext, entry: TextEntry, field: Node, type_text: Callable[[], bool]) -> bool:
    """Type. An error after keys were sent states what the field has now."""
    try:
        return _guarded(field, lambda: context.perform(type_text))
    except ClawError as e:
        if e.code != "TEXT_NOT_ACCEPTED" or not e.after_effect or not isinstance(context.driver, KeyTyping):
            raise
        error = e
    screen = context.try_dump()
    seen = None if screen is None else context.driver.field_after(field, screen)
    raise _with_field_text(error, entry, field, seen)


def _with_field_text(error: ClawError, entry: TextEntry, field: Node, seen: Node | None) -> ClawError:
    details: dict[str, str] = {}
    if seen is None:
        now = "what the field has now is unknown"
    elif seen.text == field.text:
        now = "the field has the same text as before" if field.entered_text else "the field is empty, as before"
    elif _is_private(entry, field, seen):
        now = "the field has another text now, which is not shown"
    elif not seen.entered_text:
        now = "the field is empty now"
    else:
        now = f"the field has '{one_line(seen.text, _MAX_SHOWN)}' now"
        details["field_text"] = seen.text
    return error.with_(
        message=f"{error.message}; {now}",
        details={**(error.details or {}), **details},
        retryable=None,
        after_effect=seen is None or seen.text != field.text,
    )


def _is_private(entry: TextEntry, field: Node, seen: Node) -> bool:
    return entry.is_secret or has_password(field) or has_password(seen)


def _typed_otherwise(message: str, **details: str) -> ClawError:
    hint = "It was typed once. The app may change what is typed: enter the text as the app keeps it, or use "
    hint += "the backend operator."
    return ClawError("TEXT_NOT_ACCEPTED", message, hint=hint, details=details, after_effect=True)


def _not_checked(cause: ClawError) -> ClawError:
    message = f"the text was typed, but the field was not checked: {cause.message}"
    return ClawError(cause.code, message, hint=cause.hint, details=cause.details, after_effect=True)


def _check_recording(context: ActionContext, entry: TextEntry, field: Node) -> None:
    """A recording would keep the secret, except for the text of a password field."""
    if not entry.is_secret or field.flag("password") or context.secrets is None:
        return
    session = context.secrets.active_recording()
    if session is not None:
        message = f"the recording {session} would keep the secret: the field is not a password field"
        hint = f"Run 'clawperator recording stop --session-id {session}' first."
        raise ClawError("SECRET_REFUSED_WHILE_RECORDING", message, hint=hint)


def _field(node: Node) -> Node:
    """The field that is or contains the node, or the node itself."""
    return nearest_self_or_ancestor(node, is_field) or node


def _chosen_field(matcher: NodeMatcher, found: list[Node]) -> Node:
    """The field to use. ``TEXT_NOT_ACCEPTED`` for a reference to another element, which is not touched."""
    field = _field(found[0])
    by_reference = isinstance(matcher, NodeSelector) and isinstance(matcher.ref, str)
    if by_reference and not (is_field(field) or field.flag("focused")):
        raise _not_accepted(found, field).with_(retryable=False)
    return field


def _found_after_touch(context: ActionContext, screen: Hierarchy, matcher: NodeMatcher) -> list[Node]:
    """The nodes that match after the touch. An error is not retried: the field would be touched again."""
    try:
        return context.find_all(screen, matcher)
    except ClawError as e:
        raise e.with_(after_effect=True) from e


def _set_text(context: ActionContext, entry: TextEntry, field: Node, text: str) -> bool:
    return _typing(context, entry, field, lambda: context.driver.set_text(field, text))


def _guarded(field: Node, type_text: Callable[[], bool]) -> bool:
    """Errors for a password field are reported without their message, which may quote the text."""
    try:
        return type_text()
    except Exception as e:
        if not field.flag("password"):
            raise
        code = e.code if isinstance(e, ClawError) else "UNKNOWN"
        effect = isinstance(e, ClawError) and e.after_effect
        message = f"cannot set the text of a password field: {type(e).__name__}"
        raise ClawError(code, message, after_effect=effect) from None


def _not_accepted(found: list[Node], field: Node) -> ClawError:
    message, hint = "the field did not accept the text", None
    if not is_field(field):
        message = "the matched node is not a text field"
        hint = "Select the field itself, for example by the role textfield."
    return ClawError("TEXT_NOT_ACCEPTED", message, hint=hint, details=target_details(found))


def _submit(context: ActionContext, typed: TypedText, *, entered: bool) -> str:
    """Submit the field. Returns the dispatch method; the step fails when the field accepts none."""
    if context.perform(lambda: context.driver.submit(typed.field)):
        return "submit"
    method = press(context, typed.screen, typed.field, "click")
    if method is not None:
        return method
    message = f"{'the text was entered, but ' if entered else ''}the field could not be submitted"
    details = target_details(typed.found) | ({"dispatch_method": "set_text"} if entered else {})
    raise ClawError("NODE_NOT_CLICKABLE", message, details=details)
