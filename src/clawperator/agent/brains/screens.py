"""Finding on the live screen what a name means, and saying to the phone which node that is."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from msgspec import Struct

from clawperator.agent.brains.instructions import Target
from clawperator.agent.brains.names import ANY_CASE, DESCRIBED, WAYS, closest, fit, own_label, shown
from clawperator.agent.brains.targets import is_bare
from clawperator.connection.snapshot import Snapshot
from clawperator.contract.errors import ClawError
from clawperator.contract.limits import MAX_MATCHER_VALUE_LENGTH
from clawperator.contract.matcher import NodeMatcher
from clawperator.contract.text import is_blank, utf16_length
from clawperator.engine.targets import nearest
from clawperator.ui.match import find_all
from clawperator.ui.node import Node
from clawperator.ui.roles import role
from clawperator.ui.visible import visible

_FIELDS = ("edittext", "autocompletetextview")
_CHECKABLE = ("switch", "checkbox", "togglebutton", "radiobutton")
_MOST_LISTED = 8
_UNDER_WAY = ("progressbar", "progressindicator")


class Screen(Struct, frozen=True, dict=True):
    """What was on the screen at one moment."""

    snapshot: Snapshot

    @property
    def package(self) -> str:
        return self.snapshot.package or ""

    @cached_property
    def nodes(self) -> list[Node]:
        """What can be seen, depth first."""
        return visible(self.snapshot.hierarchy, self.snapshot.frame)

    @property
    def labels(self) -> list[str]:
        """What can be read, without what is in password fields."""
        return [label for node in self.nodes if not is_blank(label := own_label(node))]

    @property
    def scrolls(self) -> bool:
        return any(node.flag("scrollable") for node in self.nodes)

    @property
    def is_loading(self) -> bool:
        """Whether something on it says that more is to come."""
        return any(part in node.class_name.lower() for node in self.nodes for part in _UNDER_WAY)


def read_screen(data: Mapping[str, str]) -> Screen:
    """The screen a ``snapshot_ui`` step told of. ``HIERARCHY_INVALID`` when that is none."""
    screen = Screen(Snapshot(data.get("text", ""), data.get("foreground_package"), data.get("overlay_package"), 0))
    assert screen.nodes is not None  # parsed here, where its error belongs
    return screen


def is_field(node: Node) -> bool:
    name = node.class_name.lower()
    return node.flag("password") or any(part in name for part in _FIELDS)


def is_checkable(node: Node) -> bool:
    name = node.class_name.lower()
    return node.flag("checkable") or any(part in name for part in _CHECKABLE)


def holder(node: Node) -> Node | None:
    """The node a click on this one goes to, if any."""
    return nearest(node, lambda n: n.flag("clickable") or n.flag("long-clickable"))


def ranked(screen: Screen, target: Target) -> list[list[Node]]:
    """The nodes that a target may mean, those that fit equally well together, the best first.

    The whole phrase counts before its parts: a row called "First name" is no first of those called "name".
    """
    whole = target.words != target.name and not target.exact
    bare = is_bare(target)
    ways: list[list[Node]] = [[] for _ in range(3 * WAYS)]
    for node in screen.nodes:
        if whole:
            way = fit(target.words, node)
            if way is not None:
                ways[way if way <= ANY_CASE else 2 * WAYS + way].append(node)
        way = fit(target.name, node)
        if way is None or (target.exact and way > DESCRIBED) or not (bare or _is_a(node, target.role)):
            continue
        ways[WAYS + way].append(node)
    if bare:
        ways.append([node for node in screen.nodes if _is_a(node, target.role)])
    return [nodes for nodes in ways if nodes]


def _is_a(node: Node, wanted: str) -> bool:
    """Whether a node is what people call by a role. Anything may be called a button that takes a click."""
    match wanted:
        case "textfield":
            return is_field(node)
        case "switch" | "checkbox":
            above = holder(node)
            return is_checkable(node) or (above is not None and any(map(is_checkable, above.walk())))
        case "tab":
            return role(node) == "tab" or any(role(n) == "tab" for n in node.walk())
        case "button":
            return bool(own_label(node) or node.resource_id) and holder(node) is not None
        case _:
            return True


def choose(screen: Screen, target: Target, *, sure: bool = False) -> Node | None:
    """The node to touch; None when there is none. With ``sure`` only one that takes a click will do.

    ``INSTRUCTION_AMBIGUOUS`` when several fit equally well and lead to different places.
    """
    best = next(iter(ranked(screen, target)), [])
    if sure:
        best = [node for node in best if holder(node) is not None]
    return pick(best_to_touch(best, target), target)


def best_to_touch(nodes: Iterable[Node], target: Target) -> list[Node]:
    """One node for each thing that a click would go to; those that take no click only if there are no others."""
    by_holder: dict[int, Node] = {}
    still: list[Node] = []
    for node in nodes:
        above = holder(node)
        if above is None:
            still.append(node)
        else:
            by_holder.setdefault(id(above), node)
    found = list(by_holder.values()) or still
    if target.role == "button" and len(found) > 1:
        found = [node for node in found if "button" in node.class_name.lower()] or found
    return found


def pick(found: list[Node], target: Target) -> Node | None:
    """The one that is meant of those that fit equally well, in the order in which they are read."""
    found = sorted(found, key=lambda node: (node.bounds.top, node.bounds.left))
    if target.ordinal:
        if not found:
            return None
        if target.ordinal > len(found):
            raise ClawError(
                "NODE_NOT_FOUND",
                f"the screen shows {len(found)} called {shown(target.name or target.role)}, not {target.ordinal}",
                hint="Scroll first, or count again.",
                target=target.words,
            )
        return found[target.ordinal - 1 if target.ordinal > 0 else -1]
    if len(found) > 1:
        raise ambiguous(target, found)
    return found[0] if found else None


def ambiguous(target: Target, found: list[Node]) -> ClawError:
    named = [shown(own_label(node) or node.resource_id.rpartition("/")[2]) for node in found]
    told = [f"{name} at {node.bounds.centre}" for name, node in zip(named, found, strict=True)]
    more = f" and {len(told) - _MOST_LISTED} more" if len(told) > _MOST_LISTED else ""
    return ClawError(
        "INSTRUCTION_AMBIGUOUS",
        f"{shown(target.words)} could be {len(found)} things: {', '.join(told[:_MOST_LISTED])}{more}; "
        "none was touched",
        details={"candidates": [{"label": own_label(n), "bounds": str(n.bounds)} for n in found[:50]]},
        operation="find",
        target=target.words,
    )


def missing(target: Target, screen: Screen, where: str = "on the screen") -> ClawError:
    near = [shown(label) for label in closest(target.name or target.words, screen.labels)]
    told = f"; nearest: {', '.join(near)}" if near else "; the screen says nothing"
    return ClawError(
        "NODE_NOT_FOUND",
        f"nothing {where} is called {shown(target.words)}{told}",
        hint="Run 'claw bootstrap \"describe the screen\"' for what is there.",
        operation="find",
        target=target.words,
    )


def aim(screen: Screen, node: Node) -> dict[str, Any]:
    """Parameters that make a click meet this very node: a matcher whose first match it is, else its middle."""
    matcher = find_matcher(screen, node)
    if matcher is not None:
        return {"matcher": matcher}
    x, y = node.bounds.normalised().intersection(screen.snapshot.frame).centre
    return {"coordinate": {"x": x, "y": y}}


def find_matcher(screen: Screen, node: Node) -> dict[str, str] | None:
    """A matcher that only this node fits, or that fits it first; None when there is none."""
    first = None
    for fields in _descriptions(node):
        found = find_all(screen.snapshot.hierarchy, NodeMatcher(**fields), screen.snapshot.frame)
        if len(found) == 1 and found[0] is node:
            return fields
        if first is None and found and found[0] is node:
            first = fields
    return first


def _descriptions(node: Node) -> list[dict[str, str]]:
    """What may be said of a node, the surest first. What a field holds is said of it last."""
    known = {
        "resourceId": node.resource_id,
        "textEquals": "" if node.flag("password") else node.text,
        "contentDescEquals": node.content_desc,
    }
    known = {
        name: value
        for name, value in known.items()
        if not is_blank(value) and utf16_length(value) <= MAX_MATCHER_VALUE_LENGTH
    }
    orders: tuple[tuple[str, ...], ...] = (
        ("resourceId", "textEquals"),
        ("textEquals",),
        ("resourceId", "contentDescEquals"),
        ("contentDescEquals",),
        ("resourceId",),
    )
    if is_field(node):
        orders = (("resourceId",), ("contentDescEquals",), *orders)
    said = [{name: known[name] for name in order} for order in orders if all(name in known for name in order)]
    if is_field(node):
        said.append({"role": "textfield"})
    return said
