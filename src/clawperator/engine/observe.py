"""Observation: labels and values, queries, snapshots, screenshots and recordings."""

import re
from collections.abc import Callable

import msgspec

from clawperator._base.text import compile_pattern, trim
from clawperator.contract.action_params import UNSETTLED, unsettles
from clawperator.contract.actions import (
    ReadKeyValuePairParams,
    ReadTextParams,
    RecordingParams,
    SnapshotUiParams,
    TakeScreenshotParams,
)
from clawperator.contract.host_actions import QueryParams
from clawperator.contract.results import snapshot_id
from clawperator.contract.selectors import NodeSelector
from clawperator.engine.context import ActionContext, StepData, failure, string_details, valid_text
from clawperator.engine.driver import RecordingControl, RecordingInfo, ScreenshotSource
from clawperator.engine.retry import with_retry
from clawperator.engine.settle import SETTLED_MS, await_settled
from clawperator.engine.targets import describe_matcher, optional_matcher, resolve
from clawperator.errors import ClawError
from clawperator.ui.node import Hierarchy, Node, role_of, visible_nodes
from clawperator.ui.outline import Outline, outline_of, render_outline, screen_frame
from clawperator.ui.privacy import mask_passwords, shown_label
from clawperator.ui.suggest import describe_matches, query_nodes
from clawperator.ui.write import write_hierarchy

Check = Callable[[str], bool]

_TEMPERATURE = re.compile(r"[-+\u2212]?\d+([.,]\d+)?\s*((?:°\s*)?[CF]?|[℃℉])", re.IGNORECASE)
_VERSION = re.compile(r"\d+(\.\d+)*")
_ROWS = ("row", "listitem", "card")
NEVER_SETTLED = f"the screen was still changing after {SETTLED_MS} ms"
_NO_SCREENSHOT = "this driver cannot take screenshots"


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
    hint = "Write the pattern without look-around and backreferences, or use the Operator and a selector by "
    hint += "text, description, id or role."
    raise ClawError("INVALID_REGEX_PATTERN", f"the pattern cannot be run on the host: {refused}", hint=hint)


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


def query(context: ActionContext, params: QueryParams) -> StepData:
    """List the matches. None at all is a result, not a failure."""
    screen = with_retry(context, params.retry, context.capture)
    frame = context.driver.frame()
    if isinstance(params.matcher, NodeSelector):
        nodes = context.find_all(screen, params.matcher, several=True)
    else:
        nodes = query_nodes(screen, None, frame)
    numbered, named = _numbered(context, screen)
    matches = describe_matches(screen, nodes[: params.limit], frame, suggest=params.suggest, numbered=numbered)
    return {"count": str(len(nodes)), "matches": msgspec.json.encode(matches).decode(), **named}


def _numbered(context: ActionContext, screen: Hierarchy) -> tuple[Outline | None, StepData]:
    """The outline of the screen with references, and the id of its snapshot. None where they cannot be kept.

    There is no XML here: the id stands for the outline.
    """
    if context.references is None:
        return None, {}
    outline = outline_of(screen, screen_frame(screen))
    named = snapshot_id(render_outline(outline))
    try:
        context.references.assign(outline, named)
    except ClawError:
        return None, {}
    return outline, {"snapshot_id": named}


def snapshot_ui(context: ActionContext, params: SnapshotUiParams) -> StepData:
    screen = with_retry(context, params.retry, context.capture)
    is_settled = not unsettles(context.previous)
    if params.settle:
        screen, is_settled = await_settled(context, screen)
    windows = context.driver.windows()
    data = {"actual_format": "hierarchy_xml"}
    if windows.foreground_package is not None:
        data["foreground_package"] = windows.foreground_package
    data["has_overlay"] = "false" if windows.overlay_package is None else "true"
    if windows.overlay_package is not None:
        data["overlay_package"] = windows.overlay_package
    data["window_count"] = str(windows.count)
    data["text"] = write_hierarchy(mask_passwords(screen)).rstrip("\n")
    if not is_settled:
        data["warn"] = NEVER_SETTLED if params.settle else UNSETTLED
    return data


def take_screenshot(context: ActionContext, params: TakeScreenshotParams) -> StepData:
    save, driver = context.save_screenshot, context.driver
    if save is None or not isinstance(driver, ScreenshotSource):
        return failure("UNSUPPORTED_RUNTIME_SCREENSHOT", _NO_SCREENSHOT)

    def capture() -> bytes:
        png = driver.screenshot()
        if not png:
            raise ClawError("UNSUPPORTED_RUNTIME_SCREENSHOT", _NO_SCREENSHOT)
        return png

    try:
        png = with_retry(context, params.retry, capture)
    except ClawError as e:
        if e.code != "UNSUPPORTED_RUNTIME_SCREENSHOT":
            raise
        return failure(e.code, e.message)
    return {"path": save(params.path if isinstance(params.path, str) else None, png)}


def start_recording(context: ActionContext, params: RecordingParams) -> StepData:
    return _record(context, lambda recorder: recorder.start_recording(_session(params)))


def stop_recording(context: ActionContext, params: RecordingParams) -> StepData:
    return _record(context, lambda recorder: recorder.stop_recording(_session(params)))


def _record(context: ActionContext, act: Callable[[RecordingControl], RecordingInfo]) -> StepData:
    driver = context.driver_or_timeout()
    if not isinstance(driver, RecordingControl):
        return _recording_failure(ClawError("RECORDING_UNAVAILABLE", "this backend cannot record"))
    try:
        recorded = act(driver)
    except ClawError as e:
        return _recording_failure(e)
    data = {"sessionId": recorded.session_id, "filePath": recorded.file_path}
    return data if recorded.events is None else {**data, "eventCount": str(recorded.events)}


def _session(params: RecordingParams) -> str | None:
    return params.sessionId if isinstance(params.sessionId, str) else None


def _recording_failure(e: ClawError) -> StepData:
    """An error of the recorder fails only its own step; any other error ends the execution."""
    if not e.code.startswith("RECORDING_"):
        raise e
    details = string_details(e.details)
    if e.own_hint is not None:
        details["hint"] = e.own_hint
    elif e.code == "RECORDING_ALREADY_IN_PROGRESS" and "sessionId" in details:
        stop = f"clawperator recording stop --session-id {details['sessionId']}"
        details["hint"] = f"Run '{stop}' before starting a new recording."
    return failure(e.code, e.message, details)
