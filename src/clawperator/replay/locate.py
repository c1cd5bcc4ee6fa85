"""Locating a recorded target on a live screen, as a selector that matches this node only, or as a point."""

from typing import Any, Literal

from msgspec import Struct

from clawperator._base.text import printable
from clawperator.api.snapshot import Snapshot
from clawperator.contract.limits import MAX_MATCHER_VALUE_LENGTH
from clawperator.contract.selectors import NodeMatcher
from clawperator.engine.targets import touch_point
from clawperator.errors import ClawError
from clawperator.replay.planner import ReplayStep
from clawperator.replay.target import RecordedTarget, click_taker, first_label, matching_nodes, text_fields
from clawperator.ui.node import NOWHERE, Node
from clawperator.ui.roles import role_of
from clawperator.ui.select import find_nodes

FoundBy = Literal[
    "id_and_text", "text", "description", "id", "role_and_label", "position", "coordinate", "focus", "only_field"
]
_MAX_CANDIDATES = 8
_MAX_LABEL_LENGTH = 80


class LocatedTarget(Struct, frozen=True):
    """Where to act: a selector that matches one node, or a point. ``node`` is on the screen that was searched."""

    found_by: FoundBy
    matcher: dict[str, Any] | None
    point: tuple[int, int] | None
    description: str
    node: Node | None = None

    @property
    def params(self) -> dict[str, Any]:
        if self.matcher is not None:
            return {"matcher": self.matcher}
        assert self.point is not None
        return {"coordinate": {"x": self.point[0], "y": self.point[1]}}


def find_target(
    step: ReplayStep, screen: Snapshot, *, allow_position: bool = False, best_only: bool = False
) -> LocatedTarget:
    """The node that a recorded click was on.

    ``REPLAY_TARGET_AMBIGUOUS`` when a locator matches several nodes and none matches one;
    ``REPLAY_TARGET_NOT_FOUND`` when none matches any. With ``allow_position`` the position on the screen decides
    where nothing else does. With ``best_only`` only the best locator is tried: a node that is scrolled out of
    sight may match it, while a visible one matches a worse locator.
    """
    target = step.target
    assert target is not None
    candidates: list[Node] = []
    for locator in target.locators[:1] if best_only else target.locators:
        matching = matching_nodes(locator.name, target, screen)
        if len(matching) > 1 and target.role:
            matching = [node for node in matching if role_of(node) == target.role] or matching
        if len(matching) == 1:
            return _located(locator.name, matching[0], screen)
        if allow_position and matching and locator.count == len(matching):
            return _at_position(locator.position, matching, screen)
        candidates = candidates or matching
    if candidates:
        raise _ambiguous(step, candidates)
    if allow_position and not best_only and target.bounds != NOWHERE:
        return _recorded_point(target, screen)
    raise _not_found(step, screen)


def find_field(step: ReplayStep, screen: Snapshot) -> LocatedTarget:
    """The field a text was typed into: the one that was tapped for it, the focused one, or the only one."""
    target = step.target
    found = text_fields(screen, step.package)
    if target is not None and target.resource_id:
        same_id = [node for node in found if node.resource_id == target.resource_id]
        if len(same_id) == 1:
            return _located("id", same_id[0], screen)
    focused = [node for node in found if node.flag("focused")]
    if len(focused) == 1:
        return _located("focus", focused[0], screen)
    if len(found) == 1:
        return _located("only_field", found[0], screen)
    if found:
        raise _ambiguous(step, found)
    raise _not_found(step, screen)


def _located(found_by: FoundBy, node: Node, screen: Snapshot) -> LocatedTarget:
    description = _describe(node)
    for matcher in _matchers(node):
        matched = find_nodes(screen.hierarchy, NodeMatcher(**matcher), screen.frame)
        if matched and all(click_taker(other) is node or other is node for other in matched):
            return LocatedTarget(found_by, matcher, None, description, node)
    return LocatedTarget(found_by, None, _touch_point(node, screen), description, node)


def _matchers(node: Node) -> list[dict[str, Any]]:
    """Selectors for a node, the most specific ones first. The content of a password field is in none."""
    ids = {"resourceId": node.resource_id} if node.resource_id else {}
    label = {"textEquals": node.label} if node.label and not node.flag("password") else {}
    inner = next((n.label for n in node.walk() if n.label and not n.flag("password")), "")
    matchers = [
        {**ids, **label} if ids and label else {},
        ids,
        label,
        {"textEquals": inner} if inner and inner != node.label else {},
        {**ids, "role": role_of(node)} if ids else {},
        {**label, "role": role_of(node)} if label else {},
        {"role": role_of(node)} if role_of(node) == "textfield" else {},
    ]
    return [m for m in matchers if m and all(len(v) <= MAX_MATCHER_VALUE_LENGTH // 2 for v in m.values())]


def _at_position(position: int, matching: list[Node], screen: Snapshot) -> LocatedTarget:
    """The node at the recorded position among its equals, at its own place on the live screen."""
    node = matching[position]
    return LocatedTarget("position", None, _touch_point(node, screen), _describe(node), node)


def _touch_point(node: Node, screen: Snapshot) -> tuple[int, int]:
    return touch_point(screen.hierarchy, node, screen.frame)


def _recorded_point(target: RecordedTarget, screen: Snapshot) -> LocatedTarget:
    """The recorded point, scaled to the size of this display."""
    x, y = target.bounds.centre
    if target.frame.width > 0 and target.frame.height > 0:
        x = round(x * screen.frame.width / target.frame.width)
        y = round(y * screen.frame.height / target.frame.height)
    return LocatedTarget("coordinate", None, (x, y), f"({x},{y})")


def _ambiguous(step: ReplayStep, candidates: list[Node]) -> ClawError:
    return ClawError(
        "REPLAY_TARGET_AMBIGUOUS",
        f"cannot {step.description}: {len(candidates)} nodes on the screen match",
        hint="Nothing was touched. With --allow-coordinates the recorded position among them decides.",
        details={
            "seq": step.seq,
            "candidateCount": len(candidates),
            "candidates": _describe_some(candidates),
        },
        operation="replay",
    )


def _not_found(step: ReplayStep, screen: Snapshot) -> ClawError:
    target = step.target
    similar: list[Node] = []
    if target is not None:
        clickable = (node for node in screen.hierarchy.nodes if node.flag("clickable"))
        nodes = [node for node in clickable if node.package == target.package]
        same_id = [node for node in nodes if target.resource_id and node.resource_id == target.resource_id]
        similar = same_id or [node for node in nodes if target.role and role_of(node) == target.role]
    has_no_locator = target is not None and not target.locators
    reason = "the recording holds no locator for it" if has_no_locator else "it is not on the screen"
    return ClawError(
        "REPLAY_TARGET_NOT_FOUND",
        f"cannot {step.description}: {reason}",
        hint="With --allow-coordinates the recorded point is tapped." if has_no_locator else None,
        details={"seq": step.seq, "candidateCount": len(similar), "candidates": _describe_some(similar)},
        operation="replay",
    )


def _describe_some(nodes: list[Node]) -> list[str]:
    return [_describe(node) for node in nodes[:_MAX_CANDIDATES]]


def _describe(node: Node) -> str:
    label = "" if node.flag("password") else printable(first_label(node))[:_MAX_LABEL_LENGTH]
    parts = [f'"{label}"' if label else "", node.resource_id, str(node.bounds)]
    return " ".join(filter(None, [node.class_name.rpartition(".")[2], *parts]))
