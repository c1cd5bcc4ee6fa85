"""Read labels of nodes, with optional validation, and the values beside labels."""

import re
from collections.abc import Callable

import msgspec

from clawperator._base.text import compile_pattern, trim
from clawperator.contract.actions import ReadKeyValuePairParams, ReadTextParams
from clawperator.engine.context import ActionContext, StepData, failure, string_details, valid_text
from clawperator.engine.privacy import shown_label
from clawperator.engine.retry import with_retry
from clawperator.engine.targets import describe_matcher, optional_matcher, resolve
from clawperator.errors import ClawError
from clawperator.ui.node import Node
from clawperator.ui.roles import role_of
from clawperator.ui.visible import visible_nodes

Check = Callable[[str], bool]

_TEMPERATURE = re.compile(r"[-+\u2212]?\d+([.,]\d+)?\s*((?:°\s*)?[CF]?|[℃℉])", re.IGNORECASE)
_VERSION = re.compile(r"\d+(\.\d+)*")
_ROWS = ("row", "listitem", "card")


def read_text(context: ActionContext, params: ReadTextParams) -> StepData:
    container = optional_matcher(params.container)
    data: StepData = {"validator": params.validator if isinstance(params.validator, str) else "none"}
    if container is not None:
        data["container"] = describe_matcher(container)
    try:
        check = _validator(params, backtracking=context.backtracking)
    except ClawError as e:
        hint = {} if e.own_hint is None else {"hint": e.own_hint}
        return failure(e.code, e.message, {**data, **hint})

    def attempt() -> list[str]:
        nodes = resolve(context, context.capture(), params.matcher, container, several=params.all)
        texts = [valid_text(shown_label(node)) for node in (nodes if params.all else nodes[:1])]
        for text in texts:
            if not check(text):
                message = "the text read does not satisfy the validator"
                raise ClawError("VALIDATOR_MISMATCH", message, details={"raw_text": text})
        return texts

    try:
        texts = with_retry(context, params.retry, attempt)
    except ClawError as e:
        if params.all and e.code == "NODE_NOT_FOUND":
            texts = []
        elif e.code in ("VALIDATOR_MISMATCH", "CONTAINER_NOT_FOUND") or (container and e.code == "NODE_NOT_FOUND"):
            return failure(e.code, e.message, {**data, **string_details(e.details)})
        else:
            raise
    if params.all:
        return {"text": msgspec.json.encode(texts).decode(), "all": "true", "count": str(len(texts)), **data}
    return {"text": texts[0], **data}


def _validator(params: ReadTextParams, *, backtracking: bool) -> Check:
    """The check of the requested validator. ``INVALID_REGEX_PATTERN`` for a pattern that cannot be run here."""
    if params.validator == "temperature":
        return lambda text: bool(_TEMPERATURE.fullmatch(trim(text)))
    if params.validator == "version":
        return lambda text: bool(_VERSION.fullmatch(trim(text)))
    if params.validator == "regex":
        pattern = params.validatorPattern if isinstance(params.validatorPattern, str) else ""
        return _pattern_check(pattern, backtracking=backtracking)
    return lambda _: True


def _pattern_check(pattern: str, *, backtracking: bool) -> Check:
    """Whether a whole text matches, in linear time. ``re`` runs only what needs backtracking, where allowed."""
    from clawperator._base.patterns import compile_linear

    try:
        return compile_linear(pattern).fullmatch
    except ValueError as e:
        refused = str(e)
    try:
        compiled = compile_pattern(pattern)
    except ValueError as e:
        raise ClawError("INVALID_REGEX_PATTERN", f"the pattern is not a regular expression: {e}") from None
    if backtracking:
        return lambda text: bool(compiled.fullmatch(text))
    raise ClawError(
        "INVALID_REGEX_PATTERN",
        f"the pattern cannot be run on the host: {refused}",
        hint="Write the pattern without look-around and backreferences, or use the Operator and a selector by "
        "--text, --desc, --id or --role.",
    )


def read_key_value_pair(context: ActionContext, params: ReadKeyValuePairParams) -> StepData:
    def attempt() -> list[dict[str, str]]:
        screen = context.capture()
        labels = resolve(context, screen, params.labelMatcher, several=params.all)
        shown = {id(node) for node in visible_nodes(screen, context.driver.frame())}
        pairs = [
            {"label": valid_text(shown_label(label)), "value": valid_text(shown_label(value))}
            for label in (labels if params.all else labels[:1])
            if (value := _value_of(label, shown)) is not None
        ]
        if not pairs:
            message = f"no value beside the node that matches {describe_matcher(params.labelMatcher)}"
            raise ClawError("VALUE_NODE_NOT_FOUND", message)
        return pairs

    try:
        pairs = with_retry(context, params.retry, attempt)
    except ClawError as e:
        if e.code in ("NODE_NOT_FOUND", "VALUE_NODE_NOT_FOUND"):
            return failure(e.code, e.message)
        raise
    if not params.all:
        return pairs[0]
    return {**pairs[0], "all": "true", "count": str(len(pairs)), "pairs": msgspec.json.encode(pairs).decode()}


def _value_of(label: Node, shown: set[int]) -> Node | None:
    """The labelled node that follows in the same row: the summary of a setting, or else the first.

    The search goes up to the first node with a visible sibling after it, and never leaves the row: what follows a
    row belongs to the next label.
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
    return role_of(node) in _ROWS or parent.flag("scrollable") or role_of(parent) in ("list", "grid")
