"""Text entry into a field, with optional clearing and submitting."""

from msgspec import Struct
from msgspec.structs import replace

from clawperator._secret_text import SHORTEST
from clawperator.contract import EnterTextParams, NodeMatcher, SubmitTextParams, TextSource
from clawperator.engine.chosen import Choice
from clawperator.engine.clicks import press
from clawperator.engine.context import ActionContext, StepData, string_details
from clawperator.engine.driver import NodeActions, TargetActions
from clawperator.engine.privacy import mask_secrets, mask_step_data
from clawperator.engine.retry import with_retry
from clawperator.engine.settle import ScreenBefore, evidence, look, settle
from clawperator.engine.targets import FOCUSED_FIELD, describe_node, nearest_self_or_ancestor, resolve
from clawperator.errors import ClawError
from clawperator.ui import HIDDEN, Node, has_password

_FIELDS = ("edittext", "autocompletetextview")
_SECRET_HINT = "Use the command 'clawperator type --secret NAME' or the method enter_secret of a connected phone."


class TypedText(Struct, frozen=True):
    """The screen before typing, the nodes that matched, and the field."""

    before: ScreenBefore
    found: list[Node]
    field: Node


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
            raise ClawError(
                "TEXT_NOT_ACCEPTED",
                "the text of a password field cannot be read, so nothing can be added to it",
                hint="Enter the whole text, without append.",
            )
        current = "" if field.text == field.attributes.get("hint") else field.text
        return current + self.text


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
    return mask_step_data(data, [secret.text]) | {"text": HIDDEN}


def _without_secret(error: ClawError, secret: str) -> ClawError:
    if len(secret.strip()) < SHORTEST:
        # It cannot be told from other parts of a message.
        message = "cannot enter the secret; the message is hidden, because it may quote it"
        return ClawError(error.code, message)
    details = {name: mask_secrets(value, [secret]) for name, value in string_details(error.details).items()}
    hint = None if error.own_hint is None else mask_secrets(error.own_hint, [secret])
    return ClawError(error.code, mask_secrets(error.message, [secret]), hint=hint, details=details)


def _enter(context: ActionContext, entry: TextEntry, params: EnterTextParams) -> StepData:
    if isinstance(context.driver, TargetActions) and (entry.text or entry.append):
        done = with_retry(context, params.retry, lambda: _type_into_chosen(context, entry))
        if done is not None:
            return done
    typed = with_retry(context, params.retry, lambda: _type(context, entry))
    method = "set_text"
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
    field = _field(choice.node.node)
    _check_recording(context, entry, field)
    text = entry.whole_text(field)
    try:
        done = driver.type_into(choice.node, text, submit=entry.submit, clear=entry.clear)
    except ClawError as e:
        choice.failed(e)
        raise
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
    screen = context.capture()
    resolve(context, screen, matcher)
    before = look(context, screen)
    found = resolve(context, before.screen, matcher)
    field = _field(found[0])
    if not field.flag("focused"):
        context.perform(lambda driver: isinstance(driver, NodeActions) and driver.act(field, "focus"))
        press(context, field, "click")
        # The click may have moved the field, opened the keyboard, or opened another screen with the real field.
        field = next((_field(node) for node in context.find_all(context.capture(), matcher)), field)
    return TypedText(before, found, field)


def _type(context: ActionContext, entry: TextEntry) -> TypedText:
    if entry.is_secret:  # before the field is touched
        _check_recording(context, entry, _field(resolve(context, context.capture(), entry.matcher)[0]))
    typed = _focused(context, entry.matcher)
    field = typed.field
    _check_recording(context, entry, field)
    text = entry.whole_text(field)
    if (entry.clear or not text) and not _set_text(context, field, ""):
        raise _not_accepted(typed.found, field)
    if text and not _set_text(context, field, text):
        raise _not_accepted(typed.found, field)
    return typed


def _check_recording(context: ActionContext, entry: TextEntry, field: Node) -> None:
    """A recording would keep the secret, except for the text of a password field."""
    if not entry.is_secret or field.flag("password") or context.secrets is None:
        return
    session = context.secrets.active_recording()
    if session is not None:
        raise ClawError(
            "SECRET_REFUSED_WHILE_RECORDING",
            f"the recording {session} would keep the secret: the field is not a password field",
            hint=f"Run 'clawperator recording stop --session-id {session}' first.",
        )


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
