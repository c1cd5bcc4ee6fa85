"""Text entry: into a field, emptied first and submitted afterwards if asked for."""

from msgspec import Struct

from clawperator.contract.actions import EnterTextParams
from clawperator.engine.clicks import press
from clawperator.engine.context import Scene, StepData
from clawperator.engine.privacy import HIDDEN
from clawperator.engine.retry import retrying
from clawperator.engine.settle import evidence, settle
from clawperator.engine.targets import aim, nearest, tell_node
from clawperator.errors import ClawError
from clawperator.ui.node import Hierarchy, Node

_FIELDS = ("edittext", "autocompletetextview")


class Typed(Struct, frozen=True):
    """Where the text went: the screen before, the nodes that matched, and the field."""

    before: Hierarchy
    found: list[Node]
    field: Node


def enter_text(scene: Scene, params: EnterTextParams) -> StepData:
    """The text of a password field is never told: four dots stand for it."""
    typed = retrying(scene, params.retry, lambda: _type(scene, params))
    method = "set_text"
    if params.submit:
        method += "+" + _submit(scene, typed)
    settled = settle(scene, typed.before)
    return {
        "text": HIDDEN if typed.field.flag("password") else params.text,
        "submit": "true" if params.submit else "false",
        **evidence(tell_node(typed.found[0]), len(typed.found), method, settled),
    }


def _type(scene: Scene, params: EnterTextParams) -> Typed:
    before = scene.capture()
    found = aim(scene, before, params.matcher)
    field = _field(found[0])
    if not field.flag("focused"):
        scene.hand().act(field, "focus")
        press(scene, field, "click")
        # The click may have moved the field, brought up a keyboard or opened another screen with the real field.
        field = next((_field(node) for node in scene.find_all(scene.capture(), params.matcher)), field)
    if params.clear and not _set_text(scene, field, ""):
        raise _refused(found, field)
    if not _set_text(scene, field, params.text):
        raise _refused(found, field)
    return Typed(before, found, field)


def _field(node: Node) -> Node:
    """The field a node is or lies in, or the node itself."""
    return nearest(node, _is_field) or node


def _is_field(node: Node) -> bool:
    name = node.class_name.lower()
    return any(part in name for part in _FIELDS) or node.flag("password")


def _set_text(scene: Scene, field: Node, text: str) -> bool:
    """What the driver says. Where a password is at stake its errors are told without their words."""
    try:
        return scene.hand().set_text(field, text)
    except Exception as e:
        if not field.flag("password"):
            raise
        code = e.code if isinstance(e, ClawError) else "UNKNOWN"
        raise ClawError(
            code, f"the phone failed to set the text of a password field: {type(e).__name__}"
        ) from None


def _refused(found: list[Node], field: Node) -> ClawError:
    is_field = _is_field(field)
    return ClawError(
        "TEXT_NOT_ACCEPTED",
        "the field did not take the text" if is_field else "the matched node is no text field and took no text",
        hint=None if is_field else "Select the field itself, for instance with the role textfield.",
        details={"matched_target": tell_node(found[0]), "candidate_count": len(found)},
    )


def _submit(scene: Scene, typed: Typed) -> str:
    """How it was submitted. A field that takes neither way fails the step, though the text is in it."""
    if scene.hand().submit(typed.field):
        return "submit"
    method = press(scene, typed.field, "click")
    if method is not None:
        return method
    raise ClawError(
        "NODE_NOT_CLICKABLE",
        "the text is in the field, but the field could not be submitted",
        details={
            "matched_target": tell_node(typed.found[0]),
            "candidate_count": len(typed.found),
            "dispatch_method": "set_text",
        },
    )
