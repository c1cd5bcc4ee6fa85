"""Result messages: one line about a step, with its effect, safe to print."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from clawperator._base.text import one_line, printable
from clawperator.api.results import read_count
from clawperator.contract.actions import ACTIONS
from clawperator.contract.execution import Action
from clawperator.contract.results import StepResult
from clawperator.contract.selectors import NodeMatcher, NodeSelector
from clawperator.ui.node import HIDDEN

DOTS = "•••"
_MOST_LISTED = 5
_EFFECTS = {"changed": "the screen changed", "unchanged": "nothing changed on the screen"}
_UNKNOWN_EFFECT = "whether the screen changed is not known"
_CLICKS = {"long_click": "pressed {} long", "focus": "focused {}"}
_NAMING_FIELDS = ("textEquals", "textContains", "contentDescEquals", "role")

Data = Mapping[str, str]


def describe_steps(actions: Sequence[Action], steps: Sequence[StepResult], *, is_secret: bool = False) -> str:
    """The result of one action; of several, their number and the last result. Entered secrets are masked."""
    by_id = {action.id: action for action in actions}
    messages = [_describe(by_id[step.id], step, is_secret=is_secret) for step in steps if step.id in by_id]
    if len(messages) == 1:
        return messages[0]
    return f"did {len(messages)} actions; the last: {messages[-1]}" if messages else "did 0 actions"


def _describe(action: Action, step: StepResult, *, is_secret: bool) -> str:
    data = dict(step.data)
    row = ACTIONS.get(step.actionType)
    if row is None:
        return f"did {one_line(step.actionType)}"
    if is_secret and row.typed_param:
        data[row.typed_param] = HIDDEN
    return MESSAGES[row.name](action, data)


def effect(data: Data) -> str:
    """The effect of an action, with the messages that the app shows after it."""
    known = _EFFECTS.get(data.get("effect", ""), _UNKNOWN_EFFECT)
    notices = " and ".join(_quoted(line) for line in data.get("screen_message", "").splitlines())
    return f"{known} and now shows {notices}" if notices else known


def _quoted(text: str) -> str:
    return f"'{one_line(text)}'"


def _target(action: Action, data: Data) -> str:
    """The target's label, reference, id or class, or else as the selector names it."""
    try:
        target = msgspec.json.decode(data.get("matched_target", "{}"), type=dict[str, str])
    except (msgspec.DecodeError, RecursionError):
        target = {}
    if target.get("label") and target["label"] != HIDDEN:
        return _quoted(target["label"])
    matcher = getattr(action.params, "matcher", None)
    if isinstance(matcher, NodeSelector) and isinstance(matcher.ref, str):  # the caller has seen its label
        return matcher.ref.partition("@")[0]
    if target.get("resourceId"):
        return _quoted(target["resourceId"].rpartition("/")[2])
    if isinstance(matcher, NodeMatcher):
        fields = (getattr(matcher, name) for name in _NAMING_FIELDS)
        name = next((field for field in fields if isinstance(field, str) and field), None)
        if name is not None:
            return _quoted(name)
    if "coordinate" in data:
        return f"the point {one_line(data['coordinate'])}"
    return f"a {one_line(target['class'].rpartition('.')[2])}" if target.get("class") else "the target"


def open_app(_: Action, data: Data) -> str:
    return f"opened {one_line(data.get('application_id', ''))}: {effect(data)}"


def open_uri(_: Action, data: Data) -> str:
    return f"opened {one_line(data.get('uri', ''))}: {effect(data)}"


def close_app(_: Action, data: Data) -> str:
    package = one_line(data.get("application_id", ""))
    return f"{package} was not running" if data.get("was_running") == "false" else f"closed {package}"


def press_key(_: Action, data: Data) -> str:
    return f"pressed {one_line(data.get('key', ''))}: {effect(data)}"


def rotate(_: Action, data: Data) -> str:
    return f"rotated to {one_line(data.get('orientation', ''))}: {effect(data)}"


def start_activity(_: Action, data: Data) -> str:
    named = data.get("component") or data.get("action", "")
    return f"started {one_line(named)}: {effect(data)}"


def install_app(_: Action, data: Data) -> str:
    return f"installed {printable(data.get('path', ''))}"


def uninstall_app(_: Action, data: Data) -> str:
    return f"uninstalled {one_line(data.get('application_id', ''))}"


def clear_app_data(_: Action, data: Data) -> str:
    return f"deleted the data of {one_line(data.get('application_id', ''))}"


def grant_permission(_: Action, data: Data) -> str:
    return f"granted {one_line(data.get('permission', ''))} to {one_line(data.get('application_id', ''))}"


def revoke_permission(_: Action, data: Data) -> str:
    return f"revoked {one_line(data.get('permission', ''))} of {one_line(data.get('application_id', ''))}"


def read_logcat(_: Action, data: Data) -> str:
    return f"read {read_count(data, 'line_count')} log lines of {one_line(data.get('application_id', ''))}"


def click(action: Action, data: Data) -> str:
    verb = _CLICKS.get(data.get("click_types", ""), "clicked {}")
    return f"{verb.format(_target(action, data))}: {effect(data)}"


def enter_text(action: Action, data: Data) -> str:
    text = data.get("text", "")
    shown = DOTS if text == HIDDEN else _quoted(text)
    return f"typed {shown} into {_target(action, data)}: {effect(data)}"


def submit_text(action: Action, data: Data) -> str:
    return f"submitted {_target(action, data)}: {effect(data)}"


def double_tap(action: Action, data: Data) -> str:
    return f"double-tapped {_target(action, data)}: {effect(data)}"


def swipe(_: Action, data: Data) -> str:
    return f"swiped from {one_line(data.get('start', ''))} to {one_line(data.get('end', ''))}: {effect(data)}"


def drag(action: Action, data: Data) -> str:
    return f"dragged {_target(action, data)} to {one_line(data.get('end', ''))}: {effect(data)}"


def scroll(_: Action, data: Data) -> str:
    moved = "the content moved" if data.get("scroll_outcome") == "moved" else "there is nothing more to scroll to"
    return f"scrolled {data.get('direction', 'on')}: {moved}"


def scroll_until(action: Action, data: Data) -> str:
    swipes = read_count(data, "scrolls_executed")
    times = f"after {swipes} scroll{'' if swipes == 1 else 's'}"
    if data.get("click_after") == "true":
        return f"{times} {click(action, data)}" if swipes else click(action, data)
    if data.get("termination_reason", "TARGET_FOUND") == "TARGET_FOUND":
        return f"found {_target(action, data)} {times}"
    return f"stopped scrolling {times}: {data['termination_reason'].lower().replace('_', ' ')}"


def read_text(_: Action, data: Data) -> str:
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


def read_key_value_pair(_: Action, data: Data) -> str:
    more = read_count(data, "count") - 1
    pair = f"read: {one_line(data.get('label', ''))} = {one_line(data.get('value', ''))}"
    return f"{pair}, and {more} more" if more > 0 else pair


def snapshot_ui(_: Action, data: Data) -> str:
    """Nodes are counted, not parsed: callers that need more read the hierarchy."""
    package = data.get("foreground_package")
    text = data.get("text", "")
    captured = "captured the screen" + (f" of {one_line(package)}" if package else "")
    return f"{captured}: {text.count('<node')} nodes" if text.lstrip().startswith("<") else captured


def take_screenshot(_: Action, data: Data) -> str:
    return f"saved the screenshot to {printable(data.get('path', ''))}"


def sleep(_: Action, data: Data) -> str:
    return f"slept {one_line(data.get('duration_ms', ''))} ms"


def wait_for_node(action: Action, data: Data) -> str:
    return f"{_quoted(data['label']) if data.get('label') else _target(action, data)} is on the screen"


def wait_until_gone(action: Action, data: Data) -> str:
    return f"{_target(action, data)} is gone after {read_count(data, 'elapsed_ms')} ms"


def wait_for_text_change(_: Action, data: Data) -> str:
    return f"the text changed to {_quoted(data.get('text', ''))} after {read_count(data, 'elapsed_ms')} ms"


def wait_until_idle(_: Action, data: Data) -> str:
    return f"the screen is idle after {read_count(data, 'elapsed_ms')} ms"


def query(_: Action, data: Data) -> str:
    count = read_count(data, "count")
    return f"{count} element{' matches' if count == 1 else 's match'}"


def wait_for_any(_: Action, data: Data) -> str:
    found = data.get("label") or data.get("resource_id", "").rpartition("/")[2]
    number = read_count(data, "matched_index") + 1
    return f"{_quoted(found) if found else 'a node'} is on the screen (selector {number})"


def wait_for_navigation(action: Action, data: Data) -> str:
    package = data.get("resolved_package") or getattr(action.params, "expectedPackage", None)
    reached = one_line(package) if isinstance(package, str) else "the expected node"
    return f"{reached} is in the foreground after {read_count(data, 'elapsed_ms')} ms"


def start_recording(_: Action, data: Data) -> str:
    return f"started the recording {one_line(data.get('sessionId', ''))}"


def stop_recording(_: Action, data: Data) -> str:
    events = f" with {read_count(data, 'eventCount')} events" if "eventCount" in data else ""
    return f"stopped the recording {one_line(data.get('sessionId', ''))}{events}"


# The message of each action, by its type.
MESSAGES: Mapping[str, Callable[[Action, Data], str]] = {
    message.__name__: message
    for message in (
        *(open_app, open_uri, close_app, press_key, rotate, start_activity),
        *(install_app, uninstall_app, clear_app_data, grant_permission, revoke_permission, read_logcat),
        *(click, enter_text, submit_text, double_tap, swipe, drag),
        *(scroll, scroll_until, read_text, read_key_value_pair, snapshot_ui, take_screenshot),
        *(sleep, wait_for_node, wait_until_gone, wait_for_text_change, wait_until_idle, query),
        *(wait_for_any, wait_for_navigation, start_recording, stop_recording),
    )
} | {"scroll_and_click": scroll_until}
