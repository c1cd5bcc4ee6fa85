"""The target nodes of an action: resolve a selector, check the policy, and describe the nodes in results."""

from collections.abc import Callable
from itertools import islice

import msgspec
from msgspec import UnsetType

from clawperator._base.text import printable
from clawperator.contract.actions import ACTIONS
from clawperator.contract.execution import Action
from clawperator.contract.selectors import NodeMatcher, NodeSelector
from clawperator.engine.context import ActionContext
from clawperator.errors import ClawError
from clawperator.policy.gate import check_labelled_action
from clawperator.ui.hit_test import HitTest, takes_touch
from clawperator.ui.node import Bounds, Hierarchy, Node
from clawperator.ui.privacy import has_password, shown_label

# How many levels above a node its clickable ancestor may be.
LEVELS = 8
_MAX_LABEL = 120
_MAX_LABELS = 40
SNAPSHOT_HINT = "Run 'clawperator snapshot' to see what is on the screen."
# What an action types into when it names no field.
FOCUSED_FIELD = NodeSelector(role="textfield", focused=True)


def describe_matcher(matcher: NodeMatcher) -> str:
    return printable(msgspec.json.encode(matcher).decode())


def describe(**facts: str) -> str:
    """A target as compact JSON without control characters. Empty values are left out."""
    return msgspec.json.encode({name: printable(fact) for name, fact in facts.items() if fact}).decode()


def describe_node(node: Node) -> str:
    """Class, resource id, label and bounds of a node. A long label is cut, a password is masked."""
    label = shown_label(node)
    if len(label) > _MAX_LABEL:
        label = label[: _MAX_LABEL - 1] + "…"
    named = {"class": node.class_name, "resourceId": node.resource_id}
    return describe(**named, label=label, bounds=str(node.bounds))


def target_details(found: list[Node]) -> dict[str, str | int]:
    """What an error about the first of these nodes has in its details."""
    return {"matched_target": describe_node(found[0]), "candidate_count": len(found)}


def resolve(
    context: ActionContext,
    screen: Hierarchy,
    matcher: NodeMatcher,
    container: NodeMatcher | None = None,
    *,
    several: bool = False,
) -> list[Node]:
    """The visible nodes that match, in the container if there is one. ``several``: the caller takes all of them.

    ``NODE_NOT_FOUND`` or ``CONTAINER_NOT_FOUND`` when there is none; ``REF_STALE`` or ``NODE_AMBIGUOUS``.
    """
    within = screen if container is None else find_containers(context, screen, container)[0]
    found = context.find_all(within, matcher, several=several)
    if not found:
        raise _not_found("NODE_NOT_FOUND", matcher)
    return found


def find_containers(context: ActionContext, screen: Hierarchy, container: NodeMatcher) -> list[Node]:
    """The visible nodes that match a container selector; ``CONTAINER_NOT_FOUND`` when there is none."""
    found = context.find_all(screen, container)
    if not found:
        raise _not_found("CONTAINER_NOT_FOUND", container)
    return found


def _not_found(code: str, matcher: NodeMatcher) -> ClawError:
    if matcher is FOCUSED_FIELD:
        hint = "Click the field first, or select it, for example by the role textfield."
        return ClawError(code, "no field has the input focus", hint=hint)
    return ClawError(code, f"no visible node matches {describe_matcher(matcher)}", hint=SNAPSHOT_HINT)


def optional_matcher(matcher: NodeMatcher | UnsetType) -> NodeMatcher | None:
    """The matcher; None when it is not set."""
    return matcher if isinstance(matcher, NodeMatcher) else None


def nearest_self_or_ancestor(node: Node, holds: Callable[[Node], bool]) -> Node | None:
    """The node itself, or its closest ancestor, for which ``holds`` is true."""
    return next((n for n in (node, *islice(node.ancestors(), LEVELS)) if holds(n)), None)


def touch_point(
    screen: Hierarchy, node: Node, frame: Bounds, holder: Node | None = None, *, inside: bool = False
) -> tuple[int, int]:
    """Return a point at which a touch reaches the node, or ``holder``, the ancestor that takes touches for it.

    ``NODE_COVERED`` when other elements lie above all of it. With ``inside``, elements inside it are no cover.
    """
    holder = holder or nearest_self_or_ancestor(node, takes_touch)
    found = HitTest(screen, frame).find(node, holder, inside=inside)
    if found.point is None:
        assert found.cover is not None
        raise _covered(node, found.cover)
    return found.point


def stroke_in(
    screen: Hierarchy, node: Node, frame: Bounds, stroke: tuple[tuple[int, int], tuple[int, int]]
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the stroke, moved sideways where another element covers its start; else ``NODE_COVERED``."""
    hits = HitTest(screen, frame)
    (x, y), (to_x, to_y) = stroke
    cover: Node | None = None
    for across in hits.places_across(node, is_vertical=x == to_x):
        start, end = ((across, y), (across, to_y)) if x == to_x else ((x, across), (to_x, across))
        if hits.reaches(node, start):
            return start, end
        cover = cover or hits.topmost(*start)
    assert cover is not None
    raise _covered(node, cover)


def _covered(node: Node, cover: Node) -> ClawError:
    target, above = describe_node(node), describe_node(cover)
    message = f"a touch of {target} would reach {above} instead; nothing was touched"
    return ClawError("NODE_COVERED", message, details={"matched_target": target, "covered_by": above})


def touched_in_place(
    context: ActionContext, node: Node, matcher: NodeMatcher, after: Hierarchy | None
) -> dict[str, str]:
    """Check a touch of a node's place on the screen after it. Elsewhere: ``TARGET_CHANGED``.

    When the node is gone, such as after a new page, the touch cannot be verified, and the step says so.
    """
    try:
        found = resolve(context, after, matcher) if after is not None else []
    except ClawError:
        found = []
    if not found:
        return {"target_verified": "false"}
    if found[0].bounds != node.bounds:
        raise target_moved(node)
    return {}


def target_moved(node: Node) -> ClawError:
    target = describe_node(node)
    return target_changed(f"{target} has moved, so that the touch may have missed it", node, {})


def target_changed(what: str, expected: Node, details: dict[str, str]) -> ClawError:
    message = f"the screen changed while the action was sent: {what}"
    details = {**details, "matched_target": describe_node(expected)}
    return ClawError("TARGET_CHANGED", message, details=details, after_effect=True)


def check_target(action: Action, node: Node) -> None:
    """``PERMISSION_DENIED`` when a rule denies the action on what the node shows.

    A rule about labels sees what the document names. A reference, an index or a pattern may name any node, so the
    rules are asked again about the labels of the node that was found, before it is touched.
    """
    check_labelled_action(action.type, msgspec.to_builtins(action.params), _labels(action, node))


def _labels(action: Action, node: Node) -> tuple[str, ...]:
    """The labels and ids of a node, of what is inside it and, for a touch, of the node that takes the click."""
    top = node
    if not ACTIONS[action.type].read_only:
        top = nearest_self_or_ancestor(node, lambda one: one.flag("clickable")) or node
    found: dict[str, None] = {}
    for one in (node, *node.walk(), *top.walk()):
        label = "" if has_password(one) else one.label
        found |= dict.fromkeys(value for value in (label, one.content_desc, one.resource_id) if value)
        if len(found) >= _MAX_LABELS:
            break
    return tuple(found)
