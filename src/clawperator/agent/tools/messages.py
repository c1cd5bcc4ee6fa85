"""One line on what came of each action, from what its step told. Honest about the effect, safe to show."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from clawperator._text import one_line, printable
from clawperator.connection.results import number
from clawperator.contract.execution import Action
from clawperator.contract.results import StepResult
from clawperator.contract.selectors import NodeMatcher
from clawperator.engine.privacy import HIDDEN

DOTS = "•••"
_MOST_LISTED = 5
_EFFECTS = {"changed": "the screen changed", "unchanged": "nothing changed on the screen"}
_UNKNOWN_EFFECT = "whether the screen changed is not known"
_CLICKS = {"long_click": "pressed {} long", "focus": "gave the focus to {}"}


def tell_plan(actions: Sequence[Action], steps: Sequence[StepResult], *, is_secret: bool = False) -> str:
    """What was done. For several actions: how many, and what the last one came to."""
    by_id = {action.id: action for action in actions}
    told = [_tell(by_id[step.id], step, is_secret=is_secret) for step in steps if step.id in by_id]
    if len(told) == 1:
        return told[0]
    return f"did {len(told)} actions; the last: {told[-1]}" if told else "did what was asked"


def _tell(action: Action, step: StepResult, *, is_secret: bool) -> str:
    if step.actionType == "enter_text":
        return _entered(action, step.data, is_secret=is_secret)
    if step.actionType == "snapshot_ui":
        return _captured(step)
    teller = _TELLERS.get(step.actionType)
    return teller(action, step.data) if teller else f"did {step.actionType}"


def _quoted(text: str) -> str:
    return f"'{one_line(text)}'"


def effect(data: Mapping[str, str]) -> str:
    """What came of an action, in words."""
    return _EFFECTS.get(data.get("effect", ""), _UNKNOWN_EFFECT)


def _target(action: Action, data: Mapping[str, str]) -> str:
    """What was touched, by its label, its id or its class; or what was asked for, when the phone does not say."""
    try:
        target = msgspec.json.decode(data.get("matched_target", "{}"), type=dict[str, str])
    except (msgspec.DecodeError, RecursionError):
        target = {}
    if target.get("label") and target["label"] != HIDDEN:
        return _quoted(target["label"])
    if target.get("resourceId"):
        return _quoted(target["resourceId"].rpartition("/")[2])
    matcher = getattr(action.params, "matcher", None)
    if isinstance(matcher, NodeMatcher):
        marks = (getattr(matcher, name) for name in ("textEquals", "textContains", "contentDescEquals", "role"))
        named = next((mark for mark in marks if isinstance(mark, str) and mark), None)
        if named is not None:
            return _quoted(named)
    if "coordinate" in data:
        return f"the point {one_line(data['coordinate'])}"
    return f"a {one_line(target['class'].rpartition('.')[2])}" if target.get("class") else "what was meant"


def _clicked(action: Action, data: Mapping[str, str]) -> str:
    told = _CLICKS.get(data.get("click_types", ""), "clicked {}")
    return f"{told.format(_target(action, data))}: {effect(data)}"


def _entered(action: Action, data: Mapping[str, str], *, is_secret: bool) -> str:
    text = data.get("text", "")
    shown = DOTS if is_secret or text == HIDDEN else _quoted(text)
    return f"typed {shown} into {_target(action, data)}: {effect(data)}"


def _scrolled(_: Action, data: Mapping[str, str]) -> str:
    moved = "the content moved" if data.get("scroll_outcome") == "moved" else "there is nothing more to scroll to"
    return f"scrolled {data.get('direction', 'on')}: {moved}"


def _sought(action: Action, data: Mapping[str, str]) -> str:
    swipes = number(data, "scrolls_executed")
    times = f"after {swipes} scroll{'' if swipes == 1 else 's'}"
    if data.get("click_after") == "true":
        return f"{times} {_clicked(action, data)}" if swipes else _clicked(action, data)
    if data.get("termination_reason", "TARGET_FOUND") == "TARGET_FOUND":
        return f"found {_target(action, data)} {times}"
    return f"stopped scrolling {times}: {data['termination_reason'].lower().replace('_', ' ')}"


def _read(_: Action, data: Mapping[str, str]) -> str:
    if data.get("all") != "true":
        return f"read: {one_line(data.get('text', ''))}"
    try:
        texts = msgspec.json.decode(data.get("text", "[]"), type=list[str])
    except (msgspec.DecodeError, RecursionError):
        texts = []
    listed = ", ".join(one_line(text) for text in texts[:_MOST_LISTED]) + (
        ", …" if len(texts) > _MOST_LISTED else ""
    )
    return f"read {len(texts)} texts" + (f": {listed}" if texts else "")


def _read_pair(_: Action, data: Mapping[str, str]) -> str:
    more = number(data, "count") - 1
    told = f"read: {one_line(data.get('label', ''))} = {one_line(data.get('value', ''))}"
    return f"{told}, and {more} more" if more > 0 else told


def _captured(step: StepResult) -> str:
    """Counted, not parsed: whoever wants to know more reads the hierarchy itself."""
    where = step.data.get("foreground_package")
    count = step.data.get("text", "").count("<node")
    return "captured the screen" + (f" of {one_line(where)}" if where else "") + f": {count} nodes"


def _arrived(action: Action, data: Mapping[str, str]) -> str:
    where = data.get("resolved_package") or getattr(action.params, "expectedPackage", None)
    what = one_line(where) if isinstance(where, str) else "what was waited for"
    return f"{what} is in front after {number(data, 'elapsed_ms')} ms"


def _began(_: Action, data: Mapping[str, str]) -> str:
    return f"the recording {one_line(data.get('sessionId', ''))} began"


def _ended(_: Action, data: Mapping[str, str]) -> str:
    events = f" with {number(data, 'eventCount')} events" if "eventCount" in data else ""
    return f"the recording {one_line(data.get('sessionId', ''))} ended{events}"


_TELLERS: Mapping[str, Callable[[Action, Mapping[str, str]], str]] = {
    "open_app": lambda _, data: f"opened {one_line(data.get('application_id', ''))}: {effect(data)}",
    "open_uri": lambda _, data: f"opened {one_line(data.get('uri', ''))}: {effect(data)}",
    "close_app": lambda _, data: f"closed {one_line(data.get('application_id', ''))}",
    "press_key": lambda _, data: f"pressed {one_line(data.get('key', ''))}: {effect(data)}",
    "click": _clicked,
    "scroll": _scrolled,
    "scroll_until": _sought,
    "scroll_and_click": _sought,
    "read_text": _read,
    "read_key_value_pair": _read_pair,
    "wait_for_node": lambda action, data: (
        f"{_quoted(data.get('label', '')) if data.get('label') else _target(action, data)} is on the screen"
    ),
    "wait_for_navigation": _arrived,
    "take_screenshot": lambda _, data: f"the picture of the screen is in {printable(data.get('path', ''))}",
    "sleep": lambda _, data: f"slept {one_line(data.get('duration_ms', ''))} ms",
    "start_recording": _began,
    "stop_recording": _ended,
}
