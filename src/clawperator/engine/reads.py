"""Reading: the labels of nodes, checked if asked for, and the values that stand beside labels."""

import re
from collections.abc import Callable

import msgspec

from clawperator._text import compile_pattern, trim
from clawperator.contract.actions import ReadKeyValuePairParams, ReadTextParams
from clawperator.engine.context import Scene, StepData, failure, plain, sound
from clawperator.engine.privacy import shown_label
from clawperator.engine.retry import retrying
from clawperator.engine.targets import aim, given, tell_matcher
from clawperator.errors import ClawError
from clawperator.ui.node import Node
from clawperator.ui.roles import role
from clawperator.ui.visible import visible

Check = Callable[[str], bool]

_TEMPERATURE = re.compile(r"[-+\u2212]?\d+([.,]\d+)?\s*(°?\s*[CF]?|[℃℉])", re.IGNORECASE)
_VERSION = re.compile(r"\d+(\.\d+)*")
_ROWS = ("row", "listitem", "card")


def read_text(scene: Scene, params: ReadTextParams) -> StepData:
    container = given(params.container)
    told: StepData = {"validator": params.validator if isinstance(params.validator, str) else "none"}
    if container is not None:
        told["container"] = tell_matcher(container)
    try:
        check = _validator(params)
    except ValueError as e:
        return failure("INVALID_REGEX_PATTERN", f"the pattern is not a regular expression: {e}", told)

    def attempt() -> list[str]:
        nodes = aim(scene, scene.capture(), params.matcher, container)
        texts = [sound(shown_label(node)) for node in (nodes if params.all else nodes[:1])]
        for text in texts:
            if not check(text):
                message = "the text read does not satisfy the validator"
                raise ClawError("VALIDATOR_MISMATCH", message, details={"raw_text": text})
        return texts

    try:
        texts = retrying(scene, params.retry, attempt)
    except ClawError as e:
        if params.all and e.code == "NODE_NOT_FOUND":
            texts = []
        elif e.code in ("VALIDATOR_MISMATCH", "CONTAINER_NOT_FOUND") or (container and e.code == "NODE_NOT_FOUND"):
            return failure(e.code, e.message, {**told, **plain(e.details)})
        else:
            raise
    if params.all:
        return {"text": msgspec.json.encode(texts).decode(), "all": "true", "count": str(len(texts)), **told}
    return {"text": texts[0], **told}


def _validator(params: ReadTextParams) -> Check:
    """Whether a text is what was asked for. ``ValueError`` when the pattern is no regular expression."""
    if params.validator == "temperature":
        return lambda text: bool(_TEMPERATURE.fullmatch(trim(text)))
    if params.validator == "version":
        return lambda text: bool(_VERSION.fullmatch(trim(text)))
    if params.validator == "regex":
        pattern = compile_pattern(params.validatorPattern if isinstance(params.validatorPattern, str) else "")
        return lambda text: bool(pattern.fullmatch(text))
    return lambda _: True


def read_key_value_pair(scene: Scene, params: ReadKeyValuePairParams) -> StepData:
    def attempt() -> list[dict[str, str]]:
        screen = scene.capture()
        labels = aim(scene, screen, params.labelMatcher)
        shown = {id(node) for node in visible(screen, scene.driver.frame())}
        pairs = [
            {"label": sound(shown_label(label)), "value": sound(shown_label(value))}
            for label in (labels if params.all else labels[:1])
            if (value := _value_of(label, shown)) is not None
        ]
        if not pairs:
            message = f"nothing stands beside the node that matches {tell_matcher(params.labelMatcher)}"
            raise ClawError("VALUE_NODE_NOT_FOUND", message)
        return pairs

    try:
        pairs = retrying(scene, params.retry, attempt)
    except ClawError as e:
        if e.code in ("NODE_NOT_FOUND", "VALUE_NODE_NOT_FOUND"):
            return failure(e.code, e.message)
        raise
    if not params.all:
        return pairs[0]
    return {**pairs[0], "all": "true", "count": str(len(pairs)), "pairs": msgspec.json.encode(pairs).decode()}


def _value_of(label: Node, shown: set[int]) -> Node | None:
    """The labelled node that follows in the same row: the summary of a setting, or else the first.

    The way up ends at the first node with something after it, and never leaves the row, because what follows
    a row belongs to the next label.
    """
    node = label
    while (parent := node.parent) is not None:
        if node is not label and _is_row(node, parent):
            return None
        after = parent.children[parent.children.index(node) + 1 :]
        if any(id(sibling) in shown for sibling in after):
            values = [n for sibling in after for n in sibling.walk() if id(n) in shown and n.label]
            return next((n for n in values if n.resource_id.endswith("/summary")), values[0] if values else None)
        node = parent
    return None


def _is_row(node: Node, parent: Node) -> bool:
    return role(node) in _ROWS or parent.flag("scrollable") or role(parent) in ("list", "grid")
