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
    message = MESSAGES[row.name]
    return message.format_map(_Words(action, data)) if isinstance(message, str) else message(action, data)


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


def close_app(_: Action, data: Data) -> str:
    package = one_line(data.get("application_id", ""))
    return f"{package} was not running" if data.get("was_running") == "false" else f"closed {package}"


def start_activity(_: Action, data: Data) -> str:
    named = data.get("component") or data.get("action", "")
    return f"started {one_line(named)}: {effect(data)}"


def click(action: Action, data: Data) -> str:
    verb = _CLICKS.get(data.get("click_types", ""), "clicked {}")
    return f"{verb.format(_target(action, data))}: {effect(data)}"


def enter_text(action: Action, data: Data) -> str:
    text = data.get("text", "")
    shown = DOTS if text == HIDDEN else _quoted(text)
    return f"typed {shown} into {_target(action, data)}: {effect(data)}"


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
    more = ", …" if len(texts) > _MOST_LISTED else ""
    listed = ", ".join(map(one_line, texts[:_MOST_LISTED])) + more
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


def wait_for_node(action: Action, data: Data) -> str:
    return f"{_quoted(data['label']) if data.get('label') else _target(action, data)} is on the screen"


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


def stop_recording(_: Action, data: Data) -> str:
    events = f" with {read_count(data, 'eventCount')} events" if "eventCount" in data else ""
    return f"stopped the recording {one_line(data.get('sessionId', ''))}{events}"


_COUNTS = ("line_count", "elapsed_ms")
# The message of each action, by its type: a text with members of the result, or a function.
MESSAGES: Mapping[str, str | Callable[[Action, Data], str]] = {
    "open_app": "opened {application_id}: {effect}",
    "open_uri": "opened {uri}: {effect}",
    "press_key": "pressed {key}: {effect}",
    "rotate": "rotated to {orientation}: {effect}",
    "install_app": "installed {path}",
    "uninstall_app": "uninstalled {application_id}",
    "clear_app_data": "deleted the data of {application_id}",
    "grant_permission": "granted {permission} to {application_id}",
    "revoke_permission": "revoked {permission} of {application_id}",
    "read_logcat": "read {line_count} log lines of {application_id}",
    "submit_text": "submitted {target}: {effect}",
    "double_tap": "double-tapped {target}: {effect}",
    "swipe": "swiped from {start} to {end}: {effect}",
    "drag": "dragged {target} to {end}: {effect}",
    "take_screenshot": "saved the screenshot to {path}",
    "sleep": "slept {duration_ms} ms",
    "wait_until_gone": "{target} is gone after {elapsed_ms} ms",
    "wait_for_text_change": "the text changed to '{text}' after {elapsed_ms} ms",
    "wait_until_idle": "the screen is idle after {elapsed_ms} ms",
    "start_recording": "started the recording {sessionId}",
    **{
        message.__name__: message
        for message in (
            *(close_app, start_activity, click, enter_text, scroll, scroll_until, read_text, read_key_value_pair),
            *(snapshot_ui, wait_for_node, query, wait_for_any, wait_for_navigation, stop_recording),
        )
    },
    "scroll_and_click": scroll_until,
}


class _Words(dict[str, str]):
    """The words that a message may have: the target, the effect, and the members of the result."""

    def __init__(self, action: Action, data: Data) -> None:
        super().__init__()
        self._action, self._data = action, data

    def __missing__(self, name: str) -> str:
        if name == "effect":
            return effect(self._data)
        if name == "target":
            return _target(self._action, self._data)
        if name in _COUNTS:
            return str(read_count(self._data, name))
        text = self._data.get(name, "")
        return printable(text) if name == "path" else one_line(text)
