"""Choosing the one node that is meant on a live screen, and saying it so that the phone finds the same one."""

from typing import Any, Literal

from msgspec import Struct

from clawperator._text import printable
from clawperator.connection.snapshot import Snapshot
from clawperator.contract.limits import MAX_MATCHER_VALUE_LENGTH
from clawperator.contract.selectors import NodeMatcher
from clawperator.errors import ClawError
from clawperator.replay.planner import Step
from clawperator.replay.target import Target, acting, fields, fit, words
from clawperator.ui.match import find_all
from clawperator.ui.node import NOWHERE, Node
from clawperator.ui.roles import role

By = Literal[
    "id_and_text", "text", "description", "id", "role_and_label", "position", "coordinate", "focus", "only_field"
]
_MOST_CANDIDATES = 8
_LONGEST_WORDS = 80


class Aim(Struct, frozen=True):
    """Where to act: a matcher that means one node, or a point. ``by`` is the clue that found it.

    ``node`` is the one on the screen that was looked at; a point may have none.
    """

    by: By
    matcher: dict[str, Any] | None
    point: tuple[int, int] | None
    told: str
    node: Node | None = None

    @property
    def params(self) -> dict[str, Any]:
        if self.matcher is not None:
            return {"matcher": self.matcher}
        assert self.point is not None
        return {"coordinate": {"x": self.point[0], "y": self.point[1]}}


def find_target(step: Step, screen: Snapshot, *, by_place: bool = False, by_best: bool = False) -> Aim:
    """The node a click was meant for.

    ``REPLAY_TARGET_AMBIGUOUS`` when a clue fits several and none fits one; ``REPLAY_TARGET_NOT_FOUND`` when none
    fits any. ``by_place`` lets the place on the screen decide where nothing else does. ``by_best`` tries only the
    best clue: what lies out of sight may fit it, when something in sight fits a worse one.
    """
    target = step.target
    assert target is not None
    crowd: list[Node] = []
    for clue in target.clues[:1] if by_best else target.clues:
        fitting = fit(clue.name, target, screen)
        if len(fitting) > 1 and target.role:
            fitting = [node for node in fitting if role(node) == target.role] or fitting
        if len(fitting) == 1:
            return _aim(clue.name, fitting[0], screen)
        if by_place and fitting and clue.count == len(fitting):
            return _at(clue.position, fitting, screen)
        crowd = crowd or fitting
    if crowd:
        raise _ambiguous(step, crowd)
    if by_place and not by_best and target.bounds != NOWHERE:
        return _recorded_point(target, screen)
    raise _missing(step, screen)


def find_field(step: Step, screen: Snapshot) -> Aim:
    """The field a text was typed into: the one that was touched for it, the one in focus, or the only one."""
    target = step.target
    there = fields(screen, step.package)
    if target is not None and target.resource_id:
        named = [node for node in there if node.resource_id == target.resource_id]
        if len(named) == 1:
            return _aim("id", named[0], screen)
    focused = [node for node in there if node.flag("focused")]
    if len(focused) == 1:
        return _aim("focus", focused[0], screen)
    if len(there) == 1:
        return _aim("only_field", there[0], screen)
    if there:
        raise _ambiguous(step, there)
    raise _missing(step, screen)


def _aim(by: By, node: Node, screen: Snapshot) -> Aim:
    told = _tell(node)
    for matcher in _matchers(node):
        meant = find_all(screen.hierarchy, NodeMatcher(**matcher), screen.frame)
        if meant and all(acting(other) is node or other is node for other in meant):
            return Aim(by, matcher, None, told, node)
    return Aim(by, None, node.bounds.normalised().intersection(screen.frame).centre, told, node)


def _matchers(node: Node) -> list[dict[str, Any]]:
    """Ways to say which node is meant, the most telling ones first."""
    ids = {"resourceId": node.resource_id} if node.resource_id else {}
    # What a password field says is told to nobody the same way.
    label = {"textEquals": node.label} if node.label and not node.flag("password") else {}
    inner = next((n.label for n in node.walk() if n.label and not n.flag("password")), "")
    said = [
        {**ids, **label} if ids and label else {},
        ids,
        label,
        {"textEquals": inner} if inner and inner != node.label else {},
        {**ids, "role": role(node)} if ids else {},
        {**label, "role": role(node)} if label else {},
        {"role": role(node)} if role(node) == "textfield" else {},
    ]
    return [m for m in said if m and all(len(v) <= MAX_MATCHER_VALUE_LENGTH // 2 for v in m.values())]


def _at(position: int, fitting: list[Node], screen: Snapshot) -> Aim:
    """The node at the same place among its equals; its own place on the live screen is touched."""
    node = fitting[position]
    return Aim("position", None, node.bounds.normalised().intersection(screen.frame).centre, _tell(node), node)


def _recorded_point(target: Target, screen: Snapshot) -> Aim:
    """Where the recorded node was, on a display of this size."""
    x, y = target.bounds.centre
    if target.frame.width > 0 and target.frame.height > 0:
        x = round(x * screen.frame.width / target.frame.width)
        y = round(y * screen.frame.height / target.frame.height)
    return Aim("coordinate", None, (x, y), f"({x},{y})")


def _ambiguous(step: Step, crowd: list[Node]) -> ClawError:
    return ClawError(
        "REPLAY_TARGET_AMBIGUOUS",
        f"{len(crowd)} nodes on the screen could be meant: {step.told}",
        hint="Nothing was touched. With --allow-coordinates the place among them decides.",
        details={"seq": step.seq, "candidateCount": len(crowd), "candidates": _tell_all(crowd)},
        operation="replay",
    )


def _missing(step: Step, screen: Snapshot) -> ClawError:
    target = step.target
    alike: list[Node] = []
    if target is not None:
        able = (node for node in screen.hierarchy.nodes if node.flag("clickable"))
        nodes = [node for node in able if node.package == target.package]
        same_id = [node for node in nodes if target.resource_id and node.resource_id == target.resource_id]
        alike = same_id or [node for node in nodes if target.role and role(node) == target.role]
    bare = target is not None and not target.clues
    reason = "the recording says nothing it could be found by" if bare else "it is not on the screen"
    return ClawError(
        "REPLAY_TARGET_NOT_FOUND",
        f"cannot {step.told}: {reason}",
        hint="With --allow-coordinates the recorded place is touched." if bare else None,
        details={"seq": step.seq, "candidateCount": len(alike), "candidates": _tell_all(alike)},
        operation="replay",
    )


def _tell_all(nodes: list[Node]) -> list[str]:
    return [_tell(node) for node in nodes[:_MOST_CANDIDATES]]


def _tell(node: Node) -> str:
    said = "" if node.flag("password") else printable(words(node))[:_LONGEST_WORDS]
    named = [f'"{said}"' if said else "", node.resource_id, str(node.bounds)]
    return " ".join(filter(None, [node.class_name.rpartition(".")[2], *named]))
