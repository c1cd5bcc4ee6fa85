"""What a user does on the page, as an action of an execution and as a command line.

A touch is named by the best selector of the element under it, else by its point.
"""

import shlex
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

import msgspec
from msgspec import Struct

from clawperator.contract.limits import MAX_MATCHER_VALUE_LENGTH
from clawperator.contract.selectors import NodeSelector
from clawperator.device.serials import device_flag
from clawperator.ui.describe import selector_flags
from clawperator.ui.hit_test import HitTest
from clawperator.ui.node import Hierarchy, Node
from clawperator.ui.outline import screen_frame
from clawperator.ui.privacy import has_password
from clawperator.ui.suggest import plain_selector, suggest_selectors
from clawperator.ui.visible import visible_nodes

Point = tuple[int, int]
_MAX_LABELS = 12
_TOUCHABLE = ("clickable", "long-clickable", "checkable")
# The variable in a command line for text that must not be in it.
_SECRET = "PASSWORD"


class DoneAction(Struct, frozen=True):
    """An action of the page: as it is run, and as it is best written down."""

    action: dict[str, Any]
    command: str


def node_at(screen: Hierarchy, x: int, y: int) -> Node | None:
    """The visible node under a point: the one drawn last, and there the innermost."""
    found = None
    for node in visible_nodes(screen, screen_frame(screen)):
        if node.bounds.normalised().contains(x, y):
            found = node
    return found


def touched_node(screen: Hierarchy, x: int, y: int) -> Node | None:
    """The node that takes a touch at a point, else the one under it."""
    return HitTest(screen, screen_frame(screen)).topmost(x, y) or node_at(screen, x, y)


def focused_field(screen: Hierarchy) -> Node | None:
    fields = [node for node in screen.nodes if node.flag("focused") and node.role == "textfield"]
    return fields[0] if len(fields) == 1 else None


def best_selector(screen: Hierarchy, node: Node) -> NodeSelector | None:
    """A selector whose click reaches this node: its own, or that of a label in it that takes no click itself."""
    frame = screen_frame(screen)
    for one in chain((node,), _labels_inside(node)):
        found = plain_selector(screen, one, frame)
        if found is not None:
            return found
    # A relation to another element, or a position, takes many searches of the screen.
    return next(iter(suggest_selectors(screen, node, frame, most=1)), None)


def _labels_inside(node: Node) -> Iterator[Node]:
    count = 0
    for inner in node.walk():
        if inner is node or not inner.label or has_password(inner):
            continue
        taker = next(one for one in (inner, *inner.ancestors()) if one is node or one.flag("clickable"))
        if taker is node:
            yield inner
            count += 1
            if count == _MAX_LABELS:
                return


# What is run


def touch_params(kind: str, at: Point, to: Point | None, milliseconds: int) -> tuple[str, dict[str, Any]]:
    """The type and parameters of a touch as an action."""
    if kind == "tap":
        return "click", {"coordinate": _point(at)}
    if kind == "long_press":
        return "click", {"coordinate": _point(at), "clickType": "long_click", "durationMs": milliseconds}
    assert to is not None
    return kind, {"start": _point(at), "end": _point(to), "durationMs": milliseconds}


def _point(point: Point) -> dict[str, int]:
    return {"x": point[0], "y": point[1]}


# What is written down


def describe_touch(
    serial: str, action: str, params: Mapping[str, Any], screen: Hierarchy | None, touched: Node | None
) -> DoneAction:
    """A touch, with the selector of the node that it touches on the screen."""
    if action != "click":
        start, end = (params[name] for name in ("start", "end"))
        words = ["--from", start["x"], start["y"], "--to", end["x"], end["y"], "--duration", params["durationMs"]]
        return _done(serial, action, params, [action, *words])
    is_long = params.get("clickType") == "long_click"
    long = ["--long"] if is_long else []
    point = params["coordinate"]
    selector = None
    if screen is not None and touched is not None and any(map(touched.flag, _TOUCHABLE)):
        selector = best_selector(screen, touched)
    if selector is None:
        return _done(serial, action, params, ["click", "--coordinate", point["x"], point["y"], *long])
    written = {"matcher": msgspec.to_builtins(selector)} | ({"clickType": "long_click"} if is_long else {})
    return _done(serial, action, written, ["click", *long], selector_flags(selector))


def describe_key(serial: str, key: str) -> DoneAction:
    return _done(serial, "press_key", {"key": key}, ["back"] if key == "back" else ["press", key])


def describe_close(serial: str, package: str) -> DoneAction:
    return _done(serial, "close_app", {"applicationId": package}, ["close", package])


def describe_text(serial: str, typed: str, screen: Hierarchy | None, *, is_typed: bool) -> DoneAction:
    """Typing into the focused field; a password is not shown.

    A screen on which the text is typed already gives the whole text of the field.
    """
    field = None if screen is None else focused_field(screen)
    if screen is None or field is None:
        return _done(serial, "enter_text", {"text": typed, "append": True}, ["type", *_text(typed), "--append"])
    # What was typed names no field.
    found = [
        one
        for one in suggest_selectors(screen, field, screen_frame(screen))
        if "textEquals" not in msgspec.to_builtins(one)
    ]
    where = {"matcher": msgspec.to_builtins(found[0])} if found else {}
    flags = selector_flags(found[0]) if found else ""
    if has_password(field):
        params = {**where, "textFrom": {"env": _SECRET}}
        return _done(serial, "enter_text", params, ["type", "--secret", _SECRET], flags)
    if not is_typed:
        params = {**where, "text": typed, "append": True}
        return _done(serial, "enter_text", params, ["type", *_text(typed), "--append"], flags)
    text = field.text[:MAX_MATCHER_VALUE_LENGTH] or typed
    return _done(serial, "enter_text", {**where, "text": text}, ["type", *_text(text)], flags)


def _text(text: str) -> list[str]:
    return [f"--text={text}"] if text.startswith("-") else [text]


def _done(serial: str, action: str, params: Mapping[str, Any], words: list[Any], flags: str = "") -> DoneAction:
    parts = (shlex.join(["clawperator", *map(str, words)]), flags, device_flag(serial))
    return DoneAction({"id": "a1", "type": action, "params": dict(params)}, " ".join(filter(None, parts)))
